"""Random numbers that compiled programs draw themselves: from NumPy's global generator, or from Numba's own.

    draws = np.zeros(1)                          what was drawn last: it lets nothing change the order of draws
    z = runtime.random_normal(draws)
    draws[0] = z

Numba's generator is NumPy's of old (MT19937 of Matsumoto and Nishimura, 1998, with the polar method for normal numbers) with a state of its own for each
thread. A function of Python draws from NumPy's: `synchronised` lends its state to the program for a call, so that the numbers are the same, bit for bit.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import _helperlib
from numba.extending import overload

__all__ = [
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
