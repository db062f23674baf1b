"""What operations are over single elements: the forms that `stgrad.transforms.small` takes small arrays apart by.

A form gets the elements of its operands, as arrays of operands, and gives those of its result; what it computes on the way, it emits.
An operation without one is computed in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from stgrad.analysis.alias import Classes
from stgrad.ir import NONE, Assign, Const, Function, Operand, Pack, Slice, Type, Var, assigns, operand_vars, reads, walk
from stgrad.ir.ops import operation
from stgrad.transforms.small_solvers import solution, solves
from stgrad.transforms.unroll import is_small

PRODUCTS_WRITTEN_OUT = 27  # multiplications
FLOAT, BOOL = Type("float64"), Type("bool")
ELEMENTS = {"float64": FLOAT, "bool": BOOL}  # of arrays that are taken apart
_TRUTH = frozenset({"comparison", "logical", "predicate"})
Cells = Any  # an object array: the operand of each element


class Unsupported(Exception):
    """A statement has no form over single elements."""


class State(Protocol):
    """What forms know of the program at work."""

    types: dict[str, Type]
    candidates: frozenset[str]
    choices: frozenset[str]
    last: bool

    def shape(self, name: str) -> tuple[int, ...]: ...

    def read(self, operand: Operand, shape: tuple[int, ...] = ()) -> Cells: ...

    def number(self, operand: Var | Const, stored: bool = False) -> Operand: ...

    def emit(self, op: str, args: tuple[Operand, ...], target: Var | None = None, type_: Type = FLOAT) -> Operand: ...

    def emit_all(self, op: str, args: tuple[Operand, ...], count: int) -> list[Var]: ...


def value_of(state: State, stmt: Assign) -> Cells:
    """The elements of the result; raises Unsupported where the operation has no form."""
    known, t = operation(stmt.op), state.types[stmt.target.name]
    if known.kind == "reduction":
        return _reduction(state, stmt)
    if known.kind == "solver" or known.few:
        return _solution(state, stmt)
    shape = state.shape(stmt.target.name)
    if stmt.op == "np.multiply" and not state.choices.isdisjoint(operand_vars(Pack(stmt.args))):
        raise Unsupported
    if known.fill is not None:
        return np.full(shape, Const(known.fill) if t.dtype == "float64" else Const(bool(known.fill)), object)
    if known.filled is not None and t.dtype == "float64" and isinstance(stmt.args[known.filled], (Const, Var)):
        return np.broadcast_to(each(lambda v: state.number(v, stored=True), state.read(stmt.args[known.filled])), shape)
    if stmt.op == "np.copy":
        return state.read(stmt.args[0])
    if stmt.op in ("np.eye", "np.identity") and len(stmt.args) == 1:
        return each(lambda one: Const(float(one)), np.eye(shape[0], shape[1]))
    if stmt.op == "np.outer" and not stmt.kwargs and len(stmt.args) == 2:
        a, b = (state.read(arg).ravel() for arg in stmt.args)
        return each(lambda *at: state.emit("np.multiply", at), *np.broadcast_arrays(a[:, None], b[None]))
    if not stmt.kwargs and _by_element(stmt, t):
        parts = [np.broadcast_to(state.read(a, shape), shape) for a in stmt.args]
        return each(lambda *at: _element(state, stmt.op, ELEMENTS[t.dtype], *at), *parts)
    if known.kind == "product" and not stmt.kwargs and len(stmt.args) == 2:
        return _product(state, *_factors(state, *stmt.args))
    raise Unsupported


def _solution(state: State, stmt: Assign) -> Cells:
    cells = solution(state, stmt) if solves(stmt, state.last) else None
    return refuse() if cells is None else cells


def computed(fn: Function, candidates: set[str], last: bool) -> set[str]:
    """Arrays with elements of which something is computed, under any name: what is made and handed on as a whole keeps what is known of it as a matrix."""
    handed_on, worth = [], set()
    for stmt in walk(fn.body):
        met = candidates.intersection((*reads(stmt), *assigns(stmt)))
        if met and isinstance(stmt, Assign) and (operation(stmt.op).reorders or operation(stmt.op).kind in ("identity", "copy")):
            handed_on.append(replace(stmt, op="alias", args=stmt.args[:1], kwargs=()))
        elif met and (not isinstance(stmt, Assign) or has_form(stmt, last)):
            worth |= met
    names = Classes(tuple(handed_on), fn.types)
    classes = {names.find(n) for n in worth}
    return {n for n in candidates if names.find(n) in classes}


def has_form(stmt: Assign, last: bool) -> bool:
    """Whether an operation computes something of single elements, if its operands are what they need to be.

    Some have a form in the `last` program alone, of which no derivative is taken any more.
    """
    known = operation(stmt.op)
    if solves(stmt, last):
        return True
    return known.kind in ("element", "product") or known.joined != "" or known.unrolled or known.scalar and known.fused or stmt.op == "np.outer"


def _by_element(stmt: Assign, t: Type) -> bool:
    known = operation(stmt.op)
    if t.dtype == "bool":
        return known.kind in _TRUTH or known.truths != ""
    return t.dtype == "float64" and (known.unrolled or known.fused and known.kind == "function" or stmt.op == "np.where" and len(stmt.args) == 3)


def _element(state: State, op: str, type_: Type, *args: Operand) -> Operand:
    """An operation on elements. They may be Python's floats, which raise where NumPy's give inf: not so if the first one is NumPy's."""
    if op == "np.square" or op == "np.power" and args[1] in (Const(2), Const(2.0)):
        return state.emit("np.multiply", (args[0], args[0]))
    if type_ == BOOL and operation(op).truths:
        op = operation(op).truths
    if operation(op).poles and not (op == "np.divide" and isinstance(args[1], Const) and args[1].value != 0):
        args = (state.emit("cast", (args[0], Const("float64"))), *args[1:])
    if op == "np.where":
        args = (args[0], *(state.number(a, stored=True) for a in args[1:]))  # type: ignore[arg-type]
    return state.emit(op, args, type_=type_)


def _reduction(state: State, stmt: Assign) -> Cells:
    """Sums and the like of all elements, or along one axis."""
    known, said = operation(stmt.op), {k: v for k, v in stmt.kwargs if v != NONE}
    axis = said.pop("axis", NONE)
    joined = known.joined
    if not joined or said or len(stmt.args) != 1 or not isinstance(axis, Const):
        raise Unsupported
    cells = state.read(stmt.args[0])
    numbers = not isinstance(stmt.args[0], Var) or state.types[stmt.args[0].name].dtype == "float64"
    if cells.ndim == 0 or numbers is (operation(joined).kind == "logical"):
        raise Unsupported
    lanes = cells.reshape(1, -1) if axis == NONE else np.moveaxis(cells, axis.value, -1)  # type: ignore[call-overload]
    result = np.empty(lanes.shape[:-1], object)
    for at in np.ndindex(result.shape):
        result[at] = reduce(lambda a, b: state.emit(joined, (a, b), type_=FLOAT if numbers else BOOL), lanes[at])
    return result.reshape(()) if axis == NONE else result


def _factors(state: State, *args: Operand) -> list[Cells]:
    """The operands of a product, of which one may be in memory: a vector has the extent of the other's inner axis."""
    small = [isinstance(a, Var) and (a.name in state.candidates or is_small(state.types[a.name])) for a in args]
    if not any(small) or not all(isinstance(a, Var) and (own or state.types[a.name].rank == 1) for a, own in zip(args, small, strict=True)):
        raise Unsupported
    if not all(isinstance(a, Var) and state.types[a.name].dtype == "float64" for a in args):
        raise Unsupported
    inner = [state.shape(a.name)[axis if state.types[a.name].rank > 1 else 0] for a, axis, own in zip(args, (1, 0), small, strict=True) if own]  # type: ignore[union-attr]
    return [state.read(a, () if own else (inner[0],)) for a, own in zip(args, small, strict=True)]


def _product(state: State, a: Cells, b: Cells) -> Cells:
    rows = a if a.ndim == 2 else a[None]
    columns = b.T if b.ndim == 2 else b[None]
    if len(rows) * len(columns) * rows.shape[1] > PRODUCTS_WRITTEN_OUT or rows.shape[1] != columns.shape[1]:
        raise Unsupported
    result = np.empty((len(rows), len(columns)), object)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            terms = [state.emit("np.multiply", pair) for pair in zip(row, column, strict=True)]
            result[i, j] = reduce(lambda a, b: state.emit("np.add", (a, b)), terms)
    return result.reshape(a.shape[:-1] + (b.shape[1:] if b.ndim == 2 else ()))


# ------------------------------------------------------------------- elements


def each(f: Callable[..., Operand], *parts: Cells) -> Cells:
    result = np.empty(parts[0].shape, object)
    for at in np.ndindex(result.shape):
        result[at] = f(*(p[at] for p in parts))
    return result


def at_places(elements: Any, index: Any) -> Any:
    """The elements at constant positions."""
    try:
        return np.asarray(elements[_static(index)], object)
    except IndexError:  # the program raises it there, if it comes there at all
        raise Unsupported from None


def _static(index: Operand) -> Any:
    """An index of constants, as Python writes it."""
    if isinstance(index, Const):
        return index.value
    if isinstance(index, Pack):
        return tuple(map(_static, index.items))
    return slice(*map(_static, (index.lower, index.upper, index.step))) if isinstance(index, Slice) else refuse()


def refuse() -> Any:
    raise Unsupported
