"""Random numbers from a generator that is seeded in the program: the same in every call, so they are constants.

    rng = np.random.default_rng(7)          z becomes a parameter of the program that is not passed by the caller,
    z = rng.normal(size=n)           ->     with the numbers that NumPy draws

Draws from a generator of the caller, or in a loop or branch of the running program, are refused: they would be made while compiling.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from stgrad import errors
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value, is_static, static_of
from stgrad.lookups import Lookup

_GENERATORS = (np.random.Generator, np.random.RandomState)


def _seeded(make: Callable[[Any], Any]) -> Callable[..., Value]:
    """A generator that starts anew in every call."""

    def handler(frame: Frame, seed: Value = None) -> Value:
        known = static_of(seed)
        if known is None:
            _refuse(frame, "it is seeded by the operating system")
        if not is_static(known):
            raise errors.NeedStaticError("a seed must be known at compile time", frame.builder.loc)
        generator = make(known)
        frame.builder.generators[id(generator)] = generator
        return generator

    return handler


handles(np.random.default_rng)(_seeded(np.random.default_rng))
handles(np.random.RandomState)(_seeded(np.random.RandomState))


@handles(np.random.seed)
def _seed(frame: Frame, seed: Value = None) -> None:
    _refuse(frame, "`np.random.seed` changes the state of all of NumPy")


def draw(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A draw, for a method of a generator; anything else gives NotImplemented."""
    owner = getattr(function, "__self__", None)
    if not isinstance(owner, (*_GENERATORS, random.Random)):
        return NotImplemented
    if id(owner) not in frame.builder.generators:
        _refuse(frame, "they would be drawn once, while it is compiled")
    if frame.builder.regions:
        _refuse(frame, "the loop or branch around it would draw while it is compiled")
    known, options = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
    if not is_static(known) or not is_static(tuple(options.values())):
        raise errors.NeedStaticError("the arguments of a draw must be known at compile time", frame.builder.loc, hint="scale standard draws instead")
    drawn = function(*known, **options)
    if not isinstance(drawn, np.ndarray):
        return drawn
    return frame.captured.take(frame.builder, Lookup("item", {"draw": drawn}, "draw", drawn))


def _refuse(frame: Frame, why: str) -> NoReturn:
    raise errors.UnsupportedSyntaxError(
        "random numbers are drawn inside a compiled function",
        frame.builder.loc,
        reason=why,
        hint="draw them outside and pass the array in, or from np.random.default_rng(seed) before any loop",
    )
