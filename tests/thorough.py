"""`check_gradient` as our own tests use it: to the second order, and in plain Python unless they ask for compiled code."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

from stgrad import testing

COMPILED_FORWARD = 3  # one program in so many


def check_gradient(f: Callable[..., Any], args: Sequence[Any], order: int = 2, modes: Sequence[str] | None = None, *, jit: bool = False, **kwargs: Any) -> None:
    """As `stgrad.testing.check_gradient`; tangents of compiled programs, which take half of the time, for one program in three where no modes are named.

    In plain Python, where most tests check the same programs, all of them are checked.
    """
    if modes is None:
        name = f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', '')}"
        modes = ("reverse", "forward") if not jit or zlib.crc32(name.encode()) % COMPILED_FORWARD == 0 else ("reverse",)
    testing.check_gradient(f, args, order, modes, jit=jit, **kwargs)
