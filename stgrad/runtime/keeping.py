"""What generated code calls and has no text: functions that stgrad cannot read, by a key.

A key is `module:name`, by which another process finds the same, or a number of this process.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

KEPT: dict[str, Any] = {}


def kept(key: str) -> Any:
    """What a key of generated code stands for."""
    if key not in KEPT:  # the program comes from a cache on disk
        module, _, name = key.partition(":")
        KEPT[key] = attribute(importlib.import_module(module), name)
    return KEPT[key]


def call_kept(key: str, dtypes: str, *args: Any, **kwargs: Any) -> Any:
    """Call a foreign function; its numbers and arrays in order, each of the dtype that the program was made for.

    Raises TypeError where it returns something else.
    """
    found = list(numbers_of(kept(key)(*args, **kwargs)))
    expected = dtypes.split()
    kinds = [np.result_type(v) for v in found]
    if len(found) != len(expected) or not all(np.can_cast(k, e, "same_kind") for k, e in zip(kinds, expected, strict=True)):
        raise TypeError(f"{key.lstrip('#')} returned {', '.join(map(str, kinds))}, where its program was made for {', '.join(expected)}: give `abstract`")
    return found[0] if len(found) == 1 else tuple(found)


def numbers_of(value: Any) -> Any:
    """The numbers and arrays in a structure, in order.

    Raises TypeError for anything else in it.
    """
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from numbers_of(item)
    elif isinstance(value, (bool, int, float, complex, np.generic)) or isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
        yield value
    else:
        raise TypeError(f"a foreign function returned a {type(value).__name__}, not numbers, arrays or tuples of them")


def attribute(owner: Any, name: str) -> Any:
    """What a qualified name means there; None for nothing."""
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner


__all__ = ["KEPT", "attribute", "call_kept", "kept", "numbers_of"]
