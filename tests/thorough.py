"""`check_gradient` as our own tests use it: to the second order, in plain Python unless they ask for compiled code, and not each program by every way.

Reverse over reverse and forward over reverse take most of the time of a test, and the mechanisms under them are the same for all programs. Where a test names
no modes, a program takes its turn by its code: each way is taken by hundreds of programs, and each program goes the same ways at each run.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

from stgrad import testing
from stgrad.testing.gradients import check_orders

PLAIN = ((("reverse", "forward"), ("reverse",)), (("reverse", "forward"), ("forward",)))  # the modes of the first order, and those of the second
COMPILED = ((("reverse",), ("forward",)), (("reverse",), ("reverse",)), (("reverse", "forward"), ()))


def check_gradient(f: Callable[..., Any], args: Sequence[Any], order: int = 2, modes: Sequence[str] | None = None, *, jit: bool = False, **kwargs: Any) -> None:
    """As `stgrad.testing.check_gradient`, by the ways whose turn it is."""
    if modes is not None:
        testing.check_gradient(f, args, order, modes, jit=jit, **kwargs)
        return
    ways = COMPILED if jit else PLAIN
    first, second = ways[turn(f) % len(ways)]
    check_orders(f, args, first, second if order >= 2 else (), jit=jit, **kwargs)


def turn(f: Callable[..., Any]) -> int:
    """A number of a function that depends on what it says alone."""
    code = getattr(getattr(f, "py_func", f), "__code__", None)
    said = (code.co_name, code.co_names, code.co_varnames) if code is not None else getattr(f, "__qualname__", "")
    return zlib.crc32(repr(said).encode())
