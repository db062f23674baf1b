"""Linear systems, inverses, determinants and Cholesky factors of a few rows over single elements, as `stgrad.transforms.small_forms` has other operations.

A determinant is the polynomial that it is, and so is its derivative: right for matrices without an inverse, too. Systems are solved by elimination with
pivots, in a function over numbers that the compiler inlines (`runtime.solve_few`); in programs of which no derivative is taken any more, as it has no rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from stgrad.ir import Assign, Const, Operand, Pack, Type, Var
from stgrad.ir.ops import operation

MOST_ROWS = 3
Cells = Any  # an object array: the operand of each element


class State(Protocol):
    """What these forms know of the program at work; `last`: whether no derivative of it is taken any more."""

    types: dict[str, Type]
    last: bool

    def read(self, operand: Operand, shape: tuple[int, ...] = ()) -> Cells: ...

    def number(self, operand: Var | Const, stored: bool = False) -> Operand: ...

    def emit(self, op: str, args: tuple[Operand, ...]) -> Operand: ...

    def emit_all(self, op: str, args: tuple[Operand, ...], count: int) -> list[Var]: ...


def solves(stmt: Assign, last: bool) -> bool:
    """Whether a statement has such a form: any but determinants in the `last` program alone."""
    known = operation(stmt.op)
    return last if known.few else known.kind == "solver" and (last or not known.inverts)


def solution(state: State, stmt: Assign) -> Cells | None:
    """The elements of the result; None where matrices are no square ones of a few rows."""
    if stmt.kwargs or not all(isinstance(a, Var) and _real(state.types[a.name]) for a in stmt.args):
        return None
    a, *others = (state.read(arg) for arg in stmt.args)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[0] > MOST_ROWS:
        return None
    if function := operation(stmt.op).few:
        return _factor(state, stmt, function, [a, *others])
    if not operation(stmt.op).inverts:
        result = np.empty((), object)
        result[()] = _determinant(state.emit, a)
        return result
    b = others[0] if others else np.vectorize(lambda one: Const(float(one)), otypes=[object])(np.eye(len(a)))
    if len(b) != len(a) or b.size == 1:  # a function with one result gives a tuple all the same
        return None
    sides = tuple(Pack(tuple(state.number(v, stored=True) for v in part.flat)) for part in (a, b))
    return np.array([*state.emit_all("runtime.solve_few", sides, b.size), None], object)[:-1].reshape(b.shape)


def _factor(state: State, stmt: Assign, function: str, parts: list[Cells]) -> Cells | None:
    """A square matrix that a function makes of the elements of others of its size."""
    shape = parts[0].shape
    if shape == (1, 1) or any(part.shape != shape for part in parts):  # a function with one result gives a tuple all the same
        return None
    given = tuple(Pack(tuple(state.number(v, stored=True) for v in part.flat)) for part in parts)
    return np.array([*state.emit_all(function, given, parts[0].size), None], object)[:-1].reshape(shape)


def _real(t: Type) -> bool:
    return t.dtype == "float64" and 0 < t.rank <= 2


def _determinant(emit: Callable[[str, tuple[Operand, ...]], Operand], a: Cells) -> Operand:
    """By the first row."""
    if len(a) == 1:
        return a[0, 0]  # type: ignore[no-any-return]
    terms = [emit("np.multiply", (a[0, j], _determinant(emit, np.delete(a[1:], j, axis=1)))) for j in range(len(a))]
    total = terms[0]
    for j, term in enumerate(terms[1:]):
        total = emit("np.add" if j % 2 else "np.subtract", (total, term))
    return total
