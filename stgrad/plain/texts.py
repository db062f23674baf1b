"""Texts of a recorded run: once one was made of a number that is followed, no text may become a number again.

That is asked of every call that leaves the program: native code that gets a text may give texts, truth values, what finds places in texts, and nothing else.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from stgrad.plain.tracked import running

_TEXTS = (str, bytes, bytearray, memoryview)
_WITHOUT_NUMBERS = (*_TEXTS, bool, np.bool_, type(None), type, re.Pattern, re.Match, np.dtype)


_NAME = re.compile(r"[<>=|]?(?!nan$|inf)[a-z_]\w*", re.IGNORECASE)  # also of element types: "float64", "<f8"


def is_textual(value: Any) -> bool:
    """Whether a text in which a number may be written is in there."""
    if isinstance(value, str):
        return (any(map(str.isdigit, value)) or "n" in value.lower()) and _NAME.fullmatch(value) is None
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(is_textual, value))
    if isinstance(value, dict):
        return any(map(is_textual, value.values()))
    return isinstance(value, _TEXTS) or isinstance(value, np.ndarray) and value.dtype.kind in "USO" and value.size > 0


def has_no_numbers(value: Any) -> bool:
    """Whether nothing that a call gave is a number, or may hold one."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(has_no_numbers, value))
    if isinstance(value, dict):
        return all(has_no_numbers(v) for item in value.items() for v in item)
    return isinstance(value, _WITHOUT_NUMBERS) or isinstance(value, np.ndarray) and value.dtype.kind in "USb"


def read(value: Any) -> Any:
    """A text, or what holds some, that numbers are made of."""
    if running().texts and is_textual(value):
        raise running().refuse("a number is made of a text")
    return value


def left(given: Any, value: Any) -> Any:
    """What a call that leaves the program gave for what it was given."""
    if running().texts and is_textual(given) and not has_no_numbers(value):
        raise running().refuse("a number may be made of a text")
    return value
