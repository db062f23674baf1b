"""Bytes that a derivative keeps, for arguments that are known: the expressions of a memory report, worked out."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

from stgrad.memory import Kept
from stgrad.values import map_leaves, opened

_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}


def names_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The leaves of arguments by the names that programs give them."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        map_leaves(lambda leaf, path: found.setdefault(path, leaf), opened(value), name)
    return found


def total(row: Kept, names: Mapping[str, Any]) -> int | None:
    """How many bytes a row of the report takes in all; None where that is known at run time alone.

    >>> import numpy as np
    >>> total(Kept("s", 3, "array", "float64", "8 * x.shape[0]", "n"), {"x": np.ones(5), "n": 10})
    400
    """
    each, steps = _worked_out(row.bytes_per_step, names), _worked_out(row.steps, names)
    return None if each is None or steps is None else each * max(steps, 0)


def _worked_out(text: str, names: Mapping[str, Any]) -> int | None:
    try:
        return _value(ast.parse(text, mode="eval").body, names)
    except SyntaxError:  # `?`, what nobody knows yet
        return None


def _value(node: ast.expr, names: Mapping[str, Any]) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            found = names.get(name)
            return int(found) if isinstance(found, int) else None
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int() as axis)):
            shape = getattr(names.get(name), "shape", ())
            return int(shape[axis]) if axis < len(shape) else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _value(left, names), _value(right, names)
            return None if a is None or b is None else int(_BINARY[type(op)](a, b))
        case ast.Call(func=ast.Name(id="len"), args=[ast.Call(func=ast.Name(id="range"), args=bounds)]):
            ends = [_value(bound, names) for bound in bounds]
            return len(range(*[e for e in ends if e is not None])) if None not in ends else None
    return None


def spoken(size: int) -> str:
    """A number of bytes for people.

    >>> spoken(96), spoken(81920)
    ('96 B', '80.0 kB')
    """
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
