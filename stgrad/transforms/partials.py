"""The partial derivatives of an elementwise operation, written into a program from its rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym, Value
from stgrad.ir.ops import operation
from stgrad.ir.ops.domains import RAISES
from stgrad.rules.core import Rule

Splice = Callable[[Builder, Any, tuple[Value, ...], dict[str, Value]], Value]


def partials_of(splice: Splice, builder: Builder, rule: Rule, y: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[Value, ...]:
    """What the rule gives for each argument, `None` for those that it leaves out at the end.

    An operation takes integers beside floats for floats. Its rule has to, too: `b - 1` of an unsigned 0, `a * a` of a byte, or the difference of truth
    values is another number or an exception. Those of 64 bits stay what they are (exponents!) unless the rule says otherwise. Operations that are linear
    in an argument only multiply by the others.

    A rule divides as NumPy does, by zero too. Where the operation on Python's numbers has raised for that, it divides as Python does: `1.0 / b` of `a / b`.
    """
    if not operation(rule.name).linear:
        args = tuple(splice(builder, _as_float, (a,), {}) if _narrow(a) or rule.floats and _integer(a) else a for a in args)
    before, builder.refused = builder.refused, _refuses(rule.name, y)
    try:
        found = splice(builder, rule.partials, (y, *args), kwargs)
    finally:
        builder.refused = before
    return found if isinstance(found, tuple) else (found,)


def _refuses(name: str, y: Value) -> bool:
    """Whether an operation on Python's numbers raises where its partial derivatives do not exist."""
    return isinstance(y, Sym) and y.type.weak and (name in RAISES or operation(name).symbol in ("/", "//", "%", "**"))


def _integer(value: Value) -> bool:
    return isinstance(value, Sym) and np.dtype(value.type.dtype).kind in "biu"


def _narrow(value: Value) -> bool:
    """Whether a value is of a type of NumPy's in which arithmetic wraps early, or is none."""
    if not isinstance(value, Sym) or value.type.weak and value.type.dtype != "bool":
        return False
    dtype = np.dtype(value.type.dtype)
    return dtype.kind in "bu" or dtype.kind == "i" and dtype.itemsize < 8


def _as_float(a: Any) -> Any:
    return a * 1.0


__all__ = ["partials_of"]
