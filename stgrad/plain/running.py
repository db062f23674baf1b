"""Derivatives of programs that the compiler does not take, by running them in plain Python: the last resort.

`derivative(function, ...)` runs a function once by itself and once recorded, compares what both gave, and goes back over the record. It is slow,
tens of microseconds for each operation, and right or refused: see `stgrad.plain.tracked` for why nothing is lost in silence.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad import source
from stgrad.errors import NotDifferentiableError, RunsPlainlyWarning, StgradError
from stgrad.plain import holders
from stgrad.plain.calls import called
from stgrad.plain.operations import made, places_of, tracked_in
from stgrad.plain.tape import Tape
from stgrad.plain.tracked import _RUNNING, Tracked, plain
from stgrad.plain.twins import Twins, twins
from stgrad.values import closed, leaves, map_leaves, opened, rebuild


@dataclass(frozen=True)
class Recorded:
    """A run: its value, and what gives the cotangents of the chosen arguments for those of the value."""

    value: Any
    pullback: Callable[[Any], tuple[Any, ...]]


def run(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The value of a function in plain Python, of copies of its arguments."""
    return _run(function, twins((positional, keywords)))


def _run(function: Any, copies: Twins) -> Any:
    unwrapped = source.unwrap(function)
    args, kwargs = copies.value
    return _without_numba(unwrapped.function(*unwrapped.args, *args, **{**unwrapped.kwargs, **kwargs}))


def _without_numba(value: Any) -> Any:
    """Numba's typed lists and dicts as Python's."""
    if type(value).__module__.startswith("numba.typed"):
        value = dict(value) if hasattr(value, "items") else list(value)
    if isinstance(value, (list, tuple)):
        return rebuild(value, [_without_numba(v) for v in value])
    return {k: _without_numba(v) for k, v in value.items()} if type(value) is dict else value


def recorded(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any], chosen: tuple[tuple[Any, ...], ...]) -> Recorded:
    """Run a function and record what it does with the arguments at `chosen`, paths into `(positional, keywords)`."""
    tape = Tape()
    _RUNNING.append(tape)
    try:
        given = opened((positional, keywords))
        given = map_leaves(lambda leaf, _: _array(leaf), given)
        inputs = []
        for path in chosen:
            given, own = _started(given, path)
            inputs.append(own)
        args, kwargs = closed(given)
        try:
            found = called(function, *args, **kwargs)
        except StgradError:
            raise
        except Exception as error:  # noqa: BLE001  (the program's own, or about tracked values: the run by itself tells)
            run(function, positional, keywords)
            raise tape.refuse(f"{type(error).__name__}: {error}") from error
        if isinstance(found, types.GeneratorType):
            raise tape.refuse("the result is a generator")
        if tape.refused is not None:
            raise tape.refused
        value = opened(_without_numba(found))
        if any(map(holders.is_holder, leaves(value))):
            raise tape.refuse("the result is an array of objects or of records")
    finally:
        _RUNNING.pop()
        _restore(tape)
    copies = twins((positional, keywords))
    try:  # afterwards: what the program keeps for later calls must not be there when it is recorded
        expected = _run(function, copies)
    except Exception as error:  # noqa: BLE001  (Numba's own types, for one, refuse what Python takes)
        raise tape.refuse(f"the program by itself raised {type(error).__name__}") from error
    if copies.shows_sharing():  # the record is of arguments that share nothing
        raise tape.refuse("the program changes what stands at two places of its arguments")
    _compare(plain_leaves(value), opened(expected), tape)
    return Recorded(expected, lambda cotangents: _pulled(tape, value, inputs, cotangents))


def _array(leaf: Any) -> Any:
    copy = twins(leaf).value
    return made(copy) if type(leaf) is np.ndarray and leaf.dtype.kind in "fc" else copy


def _started(given: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """The arguments with the leaves at a path active; and these leaves, in the structure of the argument."""
    inside = given
    for key in path[:-1]:
        inside = inside[key]
    own = map_leaves(lambda leaf, _: _start(leaf), inside[path[-1]])
    if not any(type(leaf) is Tracked for leaf in leaves(own)):
        raise NotDifferentiableError("the argument has no floats")
    return _replaced(given, path, own), own


def _start(leaf: Any) -> Any:
    if type(leaf) is not Tracked and isinstance(leaf, (float, complex, np.inexact)):
        leaf = made(leaf)
    if type(leaf) is Tracked:
        leaf.buffer.active = True
    return leaf


def _replaced(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if isinstance(tree, dict):
        return {k: _replaced(v, path[1:], value) if k == path[0] else v for k, v in tree.items()}
    return tuple([_replaced(v, path[1:], value) if i == path[0] else v for i, v in enumerate(tree)])


def plain_leaves(value: Any) -> Any:
    return map_leaves(lambda leaf, _: plain(leaf), value)


def _compare(found: Any, expected: Any, tape: Tape) -> None:
    """Both runs must have come to the same: else the record is not of this program."""
    one, other = list(leaves(found)), list(leaves(expected))
    if len(one) != len(other) or not all(_equal(a, b) for a, b in zip(one, other, strict=True)):
        raise tape.refuse("the program gave another result when it was recorded")


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(b, (float, complex, np.generic, np.ndarray)) or isinstance(a, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":
            return a.shape == b.shape and a.dtype == b.dtype and bool(np.all(a == b))
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-300, equal_nan=True))
    return type(a) is type(b) and (isinstance(a, types.FunctionType) or not isinstance(a, (int, str)) or a == b)


def _restore(tape: Tape) -> None:
    """Objects and containers from outside that the program changed hold numbers again."""
    for owner, name in tape.changed:
        if isinstance(owner, dict) and name is None:
            items = [(plain(k), plain(v)) for k, v in owner.items()] if tracked_in([*owner.keys(), *owner.values()]) else None
            if items is not None:
                owner.clear()
                owner.update(items)
        elif name is None:
            owner[:] = plain(list(owner))
        elif isinstance(owner, type):
            if tracked_in(value := getattr(owner, name)):
                setattr(owner, name, plain(value))
        else:
            _restore_object(owner)


def _restore_object(owner: Any) -> None:
    """All that an object stores, where it stores it: a descriptor may keep what is set elsewhere, and its code is not to run again."""
    stored = getattr(owner, "__dict__", {})
    for name, value in list(stored.items()):
        if tracked_in(value):
            stored[name] = plain(value)
    for slot in (s for cls in type(owner).__mro__ for s in vars(cls).values() if isinstance(s, types.MemberDescriptorType)):
        with contextlib.suppress(AttributeError):  # it is empty
            if tracked_in(value := slot.__get__(owner)):
                slot.__set__(owner, plain(value))


def _pulled(tape: Tape, value: Any, inputs: list[Any], cotangents: Any) -> tuple[Any, ...]:
    seeds: list[Any] = []
    _seed(value, opened(cotangents), seeds)
    look = tape.pulled_back(seeds)
    return tuple([closed(map_leaves(lambda leaf, _: _gradient(leaf, look), own)) for own in inputs])


def _seed(value: Any, bar: Any, seeds: list[Any]) -> None:
    """The cotangents beside the places of the results; the structures are equal where there are floats."""
    if bar is None:
        return
    if isinstance(value, (tuple, list)):
        for v, b in zip(value, bar, strict=True):
            _seed(v, b, seeds)
    elif isinstance(value, dict):
        for k, v in value.items():
            _seed(v, bar.get(k), seeds)
    elif hasattr(value, "fields"):
        _seed(value.fields, getattr(bar, "fields", bar), seeds)
    elif type(value) is Tracked:
        shape = np.shape(value.value)
        seeds.append((places_of(value), np.reshape(bar, shape) if np.size(bar) == np.size(value.value) else np.broadcast_to(bar, shape)))


def _gradient(leaf: Any, look: Callable[..., Any]) -> Any:
    """What the start of the program tells of a leaf; an array may hold something else by now, but its places are the same."""
    if type(leaf) is not Tracked:
        return None
    bar = look(places_of(leaf))
    return bar if type(leaf.value) is np.ndarray else type(leaf.value)(bar)


__all__ = ["Recorded", "RunsPlainlyWarning", "StgradError", "recorded", "run"]
