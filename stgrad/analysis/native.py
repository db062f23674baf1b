"""Which calls Numba compiles, and the forms in which it does: `np.swapaxes(x, 0, 1)` is `np.transpose(x, (1, 0))` there.

What NumPy functions it has is the measured table in `stgrad.ir.ops.support`; a call is asked of it with the types of its operands.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad.analysis.statements import multiplies
from stgrad.ir import NONE, Assign, Const, Operand, Pack, Slice, Type, Var, entries_of, gathers, operand_vars
from stgrad.ir.ops import operation
from stgrad.ir.ops.support import BY_SHAPE, MATH, MATH_ARGUMENTS, NATIVE, Value, supported

TRIANGULAR = "scipy.linalg.solve_triangular"
_MAY_TURN_COMPLEX = frozenset({"np.linalg.eig", "np.linalg.eigvals"})  # NumPy's result decides: refused at run time where it is complex


class Natives:
    """The calls of a program with some types."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types

    def settled(self, stmt: Assign) -> Assign:
        """A call in the form that Numba has, if it has one."""
        if stmt.kwargs:
            stmt = without_defaults(stmt)
        known = operation(stmt.op)
        if stmt.op == "np.expand_dims":
            stmt = with_new_axes(stmt, self.types)
        if stmt.op == "np.squeeze":
            stmt = without_axes(stmt, self.types)
        if stmt.op == "np.diagonal":
            stmt = diagonal_of_one(stmt, self.types)
        if known.kind == "order":
            stmt = ordered(stmt, self.types)
        if known.reorders:
            stmt = reordered(stmt, self.types)
        if stmt.op == "np.matmul" and self.types[stmt.target.name].rank > 2 and multiplies(stmt, self.types):
            stmt = replace(stmt, op="runtime.matmul")
        return stmt if self.has(stmt) else next(filter(self.has, reworded(stmt, self.types)), stmt)

    def has(self, stmt: Assign) -> bool:
        """Whether Numba compiles a call as it stands, with NumPy's result."""
        if stmt.op == "getitem":
            index = stmt.args[1]
            return not gathers(index, self.types) or self.supported("getitem", stmt)
        if stmt.op.startswith("math."):
            return stmt.op[5:] in MATH and len(stmt.args) == MATH_ARGUMENTS.get(stmt.op[5:], len(stmt.args))
        if stmt.op.startswith("scipy.special.") and self.called_by_address(stmt):
            return True
        if stmt.op == TRIANGULAR:
            return self.triangular(stmt)
        if operation(stmt.op).kind == "part" and operation(stmt.op).sharing and self.complex(stmt.args[0]):
            return True  # a view for every layout, as in NumPy
        if stmt.op in _MAY_TURN_COMPLEX and not self.complex(stmt.args[0]):
            return False
        if not stmt.op.startswith(("np.", "scipy.")) or (stmt.op in NATIVE and not self.odd(stmt)):
            return True
        return self.supported(stmt.op, stmt)

    def called_by_address(self, stmt: Assign) -> bool:
        """Whether a function of SciPy is called with real numbers, as compiled code can."""
        from stgrad.runtime.special import ARITY

        described = [self.describe(a) for a in stmt.args]
        kinds = [np.dtype(d.dtype).kind if isinstance(d, Value) else np.asarray(d).dtype.kind for d in described]
        numbers = all(not isinstance(d, Value) or not d.rank for d in described) and all(kind in "fiub" for kind in kinds)
        return numbers and not stmt.kwargs and ARITY.get(stmt.op.rpartition(".")[2]) == len(kinds)

    def triangular(self, stmt: Assign) -> bool:
        """Whether a triangular system is one real matrix, and its options are such as compiled code takes."""
        kinds = [self.types[a.name] for a in stmt.args[:2] if isinstance(a, Var)]
        options = [*stmt.args[2:], *(v for _, v in stmt.kwargs)]
        plain = all(isinstance(o, Const) and type(o.value) in (bool, int) for o in options)
        return len(kinds) == 2 and plain and kinds[0].rank == 2 and kinds[1].rank in (1, 2) and {t.dtype for t in kinds} in ({"float64"}, {"float32"})

    def odd(self, stmt: Assign) -> bool:
        """Options, or arithmetic of arrays and scalars of two dtypes, where Numba promotes in its own way."""
        types = [self.types[a.name] if isinstance(a, Var) else None for a in stmt.args]
        if any(k not in ("dtype",) for k, _ in stmt.kwargs):
            return True
        if stmt.op in BY_SHAPE or not any(t is not None and t.array for t in types):
            return False
        wanted = {t.dtype for t in types if t is not None and t.array}
        scalars = {t.dtype for t in types if t is not None and not t.array}
        scalars |= {str(np.result_type(a.value)) for a in stmt.args if isinstance(a, Const) and isinstance(a.value, (float, complex, np.inexact))}
        return len(wanted | scalars) > 1

    def complex(self, operand: Operand) -> bool:
        return isinstance(operand, Var) and self.types[operand.name].dtype.startswith("complex")

    def supported(self, op: str, stmt: Assign) -> bool:
        kwargs = {k: self.describe(v) for k, v in stmt.kwargs}
        try:
            return supported(op, [self.describe(a) for a in stmt.args], kwargs, contiguous=False)
        except TypeError:
            return False

    def describe(self, operand: Operand) -> Any:
        if isinstance(operand, Var):
            t = self.types[operand.name]
            return Value(t.dtype, t.rank, t.array)
        if isinstance(operand, Pack):
            return tuple(self.describe(o) for o in operand.items)
        if isinstance(operand, Slice):
            return slice(None)
        return operand.value


def reworded(stmt: Assign, types: Mapping[str, Type]) -> Iterator[Assign]:
    """The same call with options by keyword, and with axes counted from the first, or left out where there is one axis: Numba is particular."""
    names = [] if stmt.op.startswith("runtime.") else list(_parameters(stmt.op))
    for k in range(len(stmt.args), 0, -1):
        if k == len(stmt.args) or len(names) >= len(stmt.args):
            by_keyword = tuple(zip(names[k:], stmt.args[k:], strict=False))
            yield with_axis(replace(stmt, args=stmt.args[:k], kwargs=(*by_keyword, *stmt.kwargs)), types)


def with_axis(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """A call whose axis is counted from the first."""
    axis, first = dict(stmt.kwargs).get("axis"), stmt.args[0]
    source = next(iter(operand_vars(first)), None)
    if not isinstance(axis, Const) or type(axis.value) is not int or source is None or not types[source].rank:
        return stmt
    added = operation(stmt.op).kind == "stack" and types[stmt.target.name].rank > types[source].rank
    rank = types[source].rank + added
    kept = tuple((k, Const(axis.value % rank) if k == "axis" else v) for k, v in stmt.kwargs if k != "axis" or rank > 1)
    return replace(stmt, kwargs=kept) if -rank <= axis.value < rank else stmt


def _parameters(op: str) -> Mapping[str, inspect.Parameter]:
    """What a function of NumPy is called with, where Python can tell."""
    module, _, name = op.rpartition(".")
    function = getattr({"np": np, "np.linalg": np.linalg}.get(module), name, None)
    try:
        return inspect.signature(function).parameters if function is not None else {}
    except (TypeError, ValueError):  # of C functions
        return {}


def without_defaults(stmt: Assign) -> Assign:
    """The call without options that say what NumPy does anyway: `np.sum(x, axis=None, keepdims=False)`."""
    parameters = _parameters(stmt.op)

    def is_default(name: str, value: Operand) -> bool:
        if name not in parameters or not isinstance(value, Const):
            return False
        default = False if name == "keepdims" else parameters[name].default
        return type(value.value) is type(default) and type(default) in (bool, int, str, type(None)) and value.value == default

    return replace(stmt, kwargs=tuple([(k, v) for k, v in stmt.kwargs if not is_default(k, v)]))


def with_new_axes(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`np.expand_dims(x, -1)` as `x[:, None]`, which is native code for every axis."""
    source, axis = stmt.args[0], stmt.args[1] if len(stmt.args) > 1 else stmt.kwargs[0][1]
    rank = types[stmt.target.name].rank
    axes = entries_of(axis)
    if not isinstance(source, Var) or not types[source.name].array or not all(isinstance(a, Const) and type(a.value) is int for a in axes):
        return stmt
    new = {a.value % rank for a in axes if isinstance(a, Const)}
    whole = Slice(NONE, NONE, NONE)
    index = Pack(tuple(NONE if k in new else whole for k in range(rank)))
    return replace(stmt, op="getitem", args=(source, index), kwargs=()) if len(new) == rank - types[source.name].rank else stmt


def without_axes(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`np.squeeze(x)` as `x[:, 0]`, which is a view in native code, too."""
    source, options = stmt.args[0], [*stmt.args[1:], *(v for _, v in stmt.kwargs)]
    if not isinstance(source, Var):
        return stmt
    dims, axes = types[source.name].dims, options[0] if options else NONE
    if dims and not types[stmt.target.name].rank and all(d.constant == 1 for d in dims):
        return replace(stmt, op="getitem", args=(source, Pack((Const(0),) * len(dims)) if len(dims) > 1 else Const(0)), kwargs=())
    if not types[stmt.target.name].rank:
        return stmt
    if axes == NONE:
        gone = {k for k, d in enumerate(dims) if d.constant == 1}
    else:
        given = entries_of(axes)
        gone = {a.value % len(dims) for a in given if isinstance(a, Const) and type(a.value) is int}
    index = Pack(tuple(Const(0) if k in gone else Slice(NONE, NONE, NONE) for k in range(len(dims))))
    return replace(stmt, op="getitem", args=(source, index), kwargs=()) if len(dims) - len(gone) == types[stmt.target.name].rank else stmt


def diagonal_of_one(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`np.diagonal(a, offset=1)` of one matrix as `np.diag(a, 1)`."""
    given = dict(zip(("offset", "axis1", "axis2"), stmt.args[1:], strict=False)) | dict(stmt.kwargs)
    source, offset = stmt.args[0], given.pop("offset", Const(0))
    if not isinstance(source, Var) or types[source.name].rank != 2 or given not in ({}, {"axis1": Const(0), "axis2": Const(1)}):
        return stmt
    return replace(stmt, op="np.diag", args=(source,) if offset == Const(0) else (source, offset), kwargs=())


def reordered(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`np.swapaxes(x, axis1=0, axis2=-1)` and its like as `np.transpose(x, (2, 1, 0))`, which is a view in native code, too."""
    source, options = stmt.args[0], Pack((*stmt.args[1:], *(v for _, v in stmt.kwargs)))
    if not isinstance(source, Var) or types[source.name].rank < 1 or list(operand_vars(options)):
        return stmt
    given = [tuple(i.value for i in o.items if isinstance(i, Const)) if isinstance(o, Pack) else o.value for o in options.items if isinstance(o, (Pack, Const))]
    shape = tuple(range(types[source.name].rank))  # tells which axis is which
    order = getattr(np, stmt.op[3:])(np.empty(shape), *given).shape
    axes = () if order == shape[::-1] else (Pack(tuple(map(Const, order))),)
    return replace(stmt, args=(source, *axes), op="np.transpose", kwargs=())


def ordered(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.sort(x)` and its like for a vector of real numbers, whatever axis is said."""
    source, options = stmt.args[0], dict(zip(("axis", "kind", "order"), stmt.args[1:], strict=False)) | dict(stmt.kwargs)
    if not isinstance(source, Var) or types[source.name].rank != 1 or types[source.name].dtype not in ("float64", "float32", "int64"):
        return stmt
    said = {k: v for k, v in options.items() if v != NONE and not (k == "axis" and v in (Const(0), Const(-1)))}
    return stmt if said else replace(stmt, op=operation(stmt.op).tuned, args=(source,), kwargs=())
