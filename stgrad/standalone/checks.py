"""What a built module asks of its arguments: each function here is written into the modules that use it.

They return what compiled code takes, or raise TypeError: code for one type of arguments is all that such a module has.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def array_of(value: Any, place: str, dtype: str, extents: tuple[int | None, ...]) -> Any:
    """The array itself, of this dtype and rank; `extents` tells for each axis its extent; None is any but 1.

    >>> array_of(np.ones(3, int), "x", "float64", (None,))
    Traceback (most recent call last):
    TypeError: `x` must be an array of float64 and rank 1, not an array of int64 and rank 1
    """
    if type(value) is not np.ndarray or value.dtype != dtype or value.ndim != len(extents) or not value.dtype.isnative:
        kind = f"an array of {value.dtype} and rank {value.ndim}" if type(value) is np.ndarray else type(value).__name__
        raise TypeError(f"`{place}` must be an array of {dtype} and rank {len(extents)}, not {kind}")
    if any(n == 1 if extent is None else n != extent for n, extent in zip(value.shape, extents, strict=True)):
        wanted = " and ".join(f"another extent than 1 in axis {i}" if n is None else f"extent {n} in axis {i}" for i, n in enumerate(extents))
        raise TypeError(f"`{place}` has shape {value.shape}; this code was built for {wanted}")
    return value


def float_of(value: Any, place: str) -> float:
    """A float; integers become one.

    >>> float_of(2, "x")
    2.0
    """
    if not isinstance(value, (float, int, np.floating, np.integer)) or isinstance(value, bool):
        raise TypeError(f"`{place}` must be a float, not {type(value).__name__}")
    return float(value)


def int_of(value: Any, place: str) -> int:
    """An integer; a float is refused, and a bool."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"`{place}` must be an int, not {type(value).__name__}")
    return int(value)


def bool_of(value: Any, place: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"`{place}` must be a bool, not {type(value).__name__}")
    return bool(value)


def complex_of(value: Any, place: str) -> complex:
    """A complex number; real ones become one."""
    if not isinstance(value, (complex, float, int, np.number)) or isinstance(value, bool):
        raise TypeError(f"`{place}` must be a complex number, not {type(value).__name__}")
    return complex(value)


def number_of(value: Any, place: str, dtype: str) -> Any:
    """A NumPy number of exactly this dtype."""
    if not isinstance(value, np.generic) or value.dtype != dtype:
        raise TypeError(f"`{place}` must be a np.{dtype}, not {type(value).__name__}")
    return value


def items_of(value: Any, place: str, kind: Any, count: int) -> Any:
    """A tuple or list of so many items."""
    if type(value) is not kind or len(value) != count:
        raise TypeError(f"`{place}` must be a {kind.__name__} of {count} items, not {type(value).__name__}")
    return value


def dict_of(value: Any, place: str, keys: tuple[Any, ...]) -> Any:
    """A dict with these keys in this order, which is that of the gradient too."""
    if type(value) is not dict or tuple(value) != keys:
        raise TypeError(f"`{place}` must be a dict with the keys {', '.join(map(repr, keys))} in this order")
    return value


def fixed(value: Any, place: str, known: Any) -> None:
    """A value that was compiled in."""
    if type(value) is not type(known) or value != known:
        raise TypeError(f"`{place}` must be {known!r}: the code was built for it")


def apart(written: Any, other: Any, names: str) -> None:
    """Of two arrays the program writes to one: they must not share memory."""
    if np.shares_memory(written, other):
        raise ValueError(f"{names} share memory, and the function writes to the first: pass a copy")
