"""Generators of random numbers as arguments: what a compiled program needs to draw from one itself.

    rng = np.random.default_rng(7)   ->   Draws(address=[state, next 64 bits, next 32 bits, next double])

The addresses are those of `rng.bit_generator.ctypes`, by which NumPy lets native code draw; the generator goes on from where the program stops.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any

import numpy as np


class _Held(ctypes.Array[ctypes.c_int64]):
    """The memory of an address, which keeps the generator: it lives as long as an array that looks into it."""

    _type_, _length_ = ctypes.c_int64, 4
    generator: np.random.Generator


_KNOWN: weakref.WeakValueDictionary[int, _Held] = weakref.WeakValueDictionary()  # by the first word, for programs in plain Python


class Draws:
    """What stands for a generator in a program; its methods are those of `stgrad.frontend.distributions`."""

    __module__ = "np"
    stands_for, instead = np.random.Generator, "draw with it outside, and pass the numbers in"

    def __init__(self, address: Any) -> None:
        self.address = address


def draws_of(generator: np.random.Generator) -> Draws:
    """What stands for a generator.

    >>> draws_of(np.random.default_rng(7)).address.dtype
    dtype('int64')
    """
    return Draws(address_of(generator))


def address_of(generator: np.random.Generator) -> Any:
    """The address of a generator, which lives as long as that array."""
    native = generator.bit_generator.ctypes
    functions = [ctypes.cast(f, ctypes.c_void_p).value for f in (native.next_uint64, native.next_uint32, native.next_double)]
    held = _Held(native.state.value, *functions)
    held.generator = generator
    _KNOWN[int(native.state.value)] = held
    return np.frombuffer(held, np.int64)  # type: ignore[call-overload]


def in_state(state: dict[str, Any]) -> np.random.Generator:
    """A generator in a state, as `rng.bit_generator.state` tells it."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def generator_of(address: Any) -> np.random.Generator:
    """The generator that an address is of."""
    return _KNOWN[int(address[0])].generator


def is_address(array: Any) -> bool:
    """Whether an array is the address of a generator."""
    return type(array.base) is _Held


def of_module(module: str, name: str) -> np.random.Generator:
    """A generator that a module has."""
    found: np.random.Generator = getattr(sys.modules[module], name)
    return found
