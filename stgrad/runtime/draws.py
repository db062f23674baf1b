"""Random numbers that compiled programs draw themselves: from NumPy's global generator, from Numba's own, or from one that is passed in.

    draws = np.zeros(1)                          what was drawn last: it lets nothing change the order of draws
    z = runtime.random_normal(draws)
    draws[0] = z

Numba's generator is NumPy's of old (MT19937 of Matsumoto and Nishimura, 1998, with the polar method for normal numbers) with a state of its own for each
thread. A function of Python draws from NumPy's: `synchronised` lends its state to the program for a call, so that the numbers are the same, bit for bit.
From a `np.random.Generator` words are drawn by its own native functions, and made normal and exponential numbers by the ziggurats of Numba, which are NumPy's.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import _helperlib, types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable
from numba.np.random.distributions import random_standard_exponential, random_standard_normal
from numba.np.random.generator_core import next_double
from numba.np.random.random_methods import random_bounded_uint64_fill, random_interval

from stgrad.runtime.generators import address_of, generator_of
from stgrad.runtime.generators import in_state as generator_in
from stgrad.runtime.generators import of_module as module_generator

__all__ = [
    "generator_random_exponential", "generator_random_integer", "generator_random_interval", "generator_random_normal",
    "generator_random_uniform", "in_state", "of_module", "seeded",
    "numba_random_integer", "numba_random_normal", "numba_random_seed", "numba_random_uniform", "random_integer", "random_normal", "random_seed",
    "random_uniform", "synchronised",
]  # fmt: skip

_WORDS = 624
_LOCK = threading.RLock()


def random_uniform(draws: Any) -> float:
    """A number of [0, 1)."""
    return float(np.random.random())


def random_normal(draws: Any) -> float:
    """A standard normal number."""
    return float(np.random.standard_normal())


def random_integer(draws: Any, low: int, high: int) -> int:
    """An integer of [low, high)."""
    return int(np.random.randint(low, high))


def random_seed(draws: Any, seed: int) -> float:
    """Begin anew; what is returned stands for the last draw."""
    np.random.seed(seed)
    return 0.0


def numba_random_uniform(draws: Any) -> float:
    return random_uniform(draws)


def numba_random_normal(draws: Any) -> float:
    return random_normal(draws)


def numba_random_integer(draws: Any, low: int, high: int) -> int:
    return random_integer(draws, low, high)


def numba_random_seed(draws: Any, seed: int) -> float:
    return random_seed(draws, seed)


@overload(random_uniform, strict=False)
@overload(numba_random_uniform, strict=False)
def _uniform_overload(draws: Any) -> Any:
    return lambda draws: np.random.random()


@overload(random_normal, strict=False)
@overload(numba_random_normal, strict=False)
def _normal_overload(draws: Any) -> Any:
    return lambda draws: np.random.standard_normal()


@overload(numba_random_integer, strict=False)
def _numba_integer_overload(draws: Any, low: Any, high: Any) -> Any:
    return lambda draws, low, high: np.random.randint(low, high)


@overload(random_integer, strict=False)
def _integer_overload(draws: Any, low: Any, high: Any) -> Any:
    """As NumPy's generator of old does it: words, with as many bits as needed, until one is not too large."""

    def integer(draws: Any, low: Any, high: Any) -> int:
        if low >= high:
            raise ValueError("low >= high")
        most = np.uint64(high - 1 - low)
        mask = np.uint64(0)
        while mask < most:
            mask = (mask << np.uint64(1)) | np.uint64(1)
        found = np.uint64(0)
        while mask > 0:
            found = np.uint64(np.random.randint(0, 1 << 32))
            if mask > np.uint64(0xFFFFFFFF):
                found = (found << np.uint64(32)) | np.uint64(np.random.randint(0, 1 << 32))
            found &= mask
            if found <= most:
                break
        result: int = low + np.int64(found)
        return result

    return integer


@overload(random_seed, strict=False)
@overload(numba_random_seed, strict=False)
def _seed_overload(draws: Any, seed: Any) -> Any:
    def seeded(draws: Any, seed: Any) -> float:
        np.random.seed(seed)
        return 0.0

    return seeded


# --------------------------------------------------------------------------- generators that are passed in


def in_state(state: dict[str, Any]) -> Any:
    """The address of a new generator in a state."""
    return address_of(generator_in(state))


def of_module(module: str, name: str) -> Any:
    """The address of a generator that a module has."""
    return address_of(module_generator(module, name))


def seeded(seed: int | None) -> Any:
    """The address of a new generator with a seed; None: one from the operating system."""
    return address_of(np.random.default_rng(seed))


def generator_random_uniform(draws: Any, address: Any) -> float:
    """A number of [0, 1) from the generator of an address."""
    return float(generator_of(address).random())


def generator_random_normal(draws: Any, address: Any) -> float:
    return float(generator_of(address).standard_normal())


def generator_random_exponential(draws: Any, address: Any) -> float:
    return float(generator_of(address).standard_exponential())


def generator_random_interval(draws: Any, address: Any, most: int) -> int:
    """An integer from 0 to `most`, as shuffles draw it: words with as many bits as needed, until one is not too large."""
    native = generator_of(address).bit_generator.ctypes
    following = native.next_uint32 if most <= 0xFFFFFFFF else native.next_uint64
    mask = (1 << int(most).bit_length()) - 1
    while mask:
        found = int(following(native.state)) & mask
        if found <= most:
            return found
    return 0


def generator_random_integer(draws: Any, address: Any, low: int, high: int) -> int:
    return int(generator_of(address).integers(low, high))


@intrinsic
def _generator(typingctx: Any, address: Any) -> Any:
    """Numba's view of a generator, of the four words of its address."""
    kind = types.NumPyRandomBitGeneratorType("bit_generator")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = cgutils.create_struct_proxy(kind)(context, builder)
        made.state, made.fnptr_next_uint64, made.fnptr_next_uint32, made.fnptr_next_double = cgutils.unpack_tuple(builder, args[0], 4)
        return made._getvalue()

    return kind(types.UniTuple(types.uintp, 4)), codegen


@register_jitable
def _at(address: Any) -> Any:
    return _generator((np.uintp(address[0]), np.uintp(address[1]), np.uintp(address[2]), np.uintp(address[3])))


@overload(generator_random_uniform, strict=False)
def _generator_uniform_overload(draws: Any, address: Any) -> Any:
    return lambda draws, address: next_double(_at(address))


@overload(generator_random_normal, strict=False)
def _generator_normal_overload(draws: Any, address: Any) -> Any:
    return lambda draws, address: random_standard_normal(_at(address))


@overload(generator_random_exponential, strict=False)
def _generator_exponential_overload(draws: Any, address: Any) -> Any:
    return lambda draws, address: random_standard_exponential(_at(address))


@overload(generator_random_integer, strict=False)
def _generator_integer_overload(draws: Any, address: Any, low: Any, high: Any) -> Any:
    def integer(draws: Any, address: Any, low: Any, high: Any) -> Any:
        if low >= high:
            raise ValueError("low >= high")
        return np.int64(random_bounded_uint64_fill(_at(address), np.int64(low), np.uint64(high - 1 - low), (1,), np.int64)[0])

    return integer


@overload(generator_random_interval, strict=False)
def _generator_interval_overload(draws: Any, address: Any, most: Any) -> Any:
    return lambda draws, address, most: np.int64(random_interval(_at(address), most))


class _State(ctypes.Structure):
    """Numba's state of a thread (`rnd_state_t`)."""

    _fields_ = (
        ("index", ctypes.c_int), ("words", ctypes.c_uint32 * _WORDS), ("has_gauss", ctypes.c_int), ("gauss", ctypes.c_double),
        ("is_initialized", ctypes.c_int),
    )  # fmt: skip


def synchronised(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled program that draws from NumPy's global generator; Numba's is as it was before.

    Where the program raises, NumPy's generator is as it was, too: another program may do the same again.
    """

    def called(*flat: Any) -> Any:
        with _LOCK:
            state = _State.from_address(_helperlib.rnd_get_np_state_ptr())  # type: ignore[attr-defined]
            kept = bytes(state)
            try:
                _lend(state)
                result = compiled(*flat)
                _take_back(state)
            finally:
                ctypes.memmove(ctypes.addressof(state), kept, len(kept))
        return result

    return called


def _lend(state: _State) -> None:
    kind, words, index, has_gauss, gauss = np.random.get_state(legacy=True)
    if kind != "MT19937":
        raise NotImplementedError(f"compiled programs draw from MT19937, and NumPy's generator was replaced by {kind}")
    held = np.ascontiguousarray(words, np.uint32)
    ctypes.memmove(state.words, held.ctypes.data, held.nbytes)
    state.index, state.has_gauss, state.gauss, state.is_initialized = index, has_gauss, gauss, 1


def _take_back(state: _State) -> None:
    words = np.frombuffer(bytes(state.words), np.uint32)
    np.random.set_state(("MT19937", words, state.index, state.has_gauss, state.gauss))
