"""Calls that Numba cannot compile go to Python: `y = runtime.call_python("lambda a: np.fft.ifft(a)", "complex128[:]", a)`.

The last pass: what lowering left as a NumPy or SciPy call is asked of the measured table in `stgrad.ir.ops.support`. The result
of such a call is always fresh memory, so a view that is written to later while its source is still in use is refused. A reshape is
a view or a copy, whichever Numba can, unless its source is known to be contiguous: the same is refused there.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def spectrum(a):
    ...     return np.fft.fft(a)
    >>> show_pass("foreign", stgrad.jit(spectrum), np.ones(3))
    return np.fft.fft(a)
    ->
    return runtime.call_python('lambda x0: np.fft.fft(x0)', 'complex128[:]', a)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.analysis.alias import viewed, views_of
from stgrad.analysis.contiguous import contiguous, rowwise
from stgrad.analysis.native import TRIANGULAR, Natives
from stgrad.analysis.shadows import updates_seen
from stgrad.analysis.triangles import triangles
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Effect,
    Function,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    gathers,
    map_blocks,
    operand_vars,
)
from stgrad.ir.ops import operation
from stgrad.ir.ops.support import Value, supported


def foreign(fn: Function) -> Function:
    """The program with every call that Numba lacks as a call into Python."""
    return _Foreign(fn).run()


class _Foreign:
    def __init__(self, fn: Function) -> None:
        self.fn, self.types, self.natives = fn, fn.types, Natives(fn.types)
        self.seen: frozenset[tuple[str, str]] | None = None
        self.rows: frozenset[str] | None = None
        self.triangles: Mapping[str, str] | None = None

    def run(self) -> Function:
        return self.fn.with_body(self.block(self.fn.body))

    def block(self, block: Block) -> Block:
        return tuple(self.stmt(map_blocks(self.block, s), s) for s in block)

    def stmt(self, stmt: Stmt, original: Stmt) -> Stmt:
        if isinstance(stmt, Assign):
            stmt = self.natives.settled(stmt)
        if isinstance(stmt, Assign) and not self.natives.has(stmt):
            new = reshaped(stmt, self.types)
            if new is not None and self.in_rows(stmt):
                return replace(new, op="np.reshape")
            self.check_view(stmt)
            if stmt.op == "getitem" and self.masks(stmt.args[0], stmt.args[1]):
                return replace(stmt, op="runtime.take_where")
            return new or self.summed_exponentials(stmt) or self.call(stmt)
        if isinstance(stmt, Assign) and operation(stmt.op).copied:
            self.check_view(stmt)
        if isinstance(stmt, Store) and not self.storable(stmt):
            if self.masks(stmt.target, stmt.index) and self.plain(stmt):
                op = "runtime.put_where" if stmt.mode == "set" else "runtime.add_where"
                return Effect(op, (stmt.target, stmt.index, stmt.value), (), stmt.loc, stmt.note)
            body = "np.add.at(a, i, v)" if stmt.mode == "add_at" else f"{'a.__setitem__(i, v)' if stmt.mode == 'set' else 'np.add.at(a, i, v)'}"
            return self.effect(stmt, body)
        return self.native(stmt) if isinstance(stmt, Assign) else stmt

    def native(self, stmt: Assign) -> Assign:
        """What Numba has, by a function of ours where that does more, or is faster."""
        for other in (solved, convolved, searched, divided, wrapped):
            stmt = other(stmt, self.types)
        return self.by_triangle(stmt)

    def by_triangle(self, stmt: Assign) -> Assign:
        """`scipy.linalg.solve_triangular(a, b, lower=...)` for a matrix that is known to be triangular."""
        if stmt.op != "runtime.solve":
            return stmt
        if self.triangles is None:
            self.triangles = triangles(self.fn)
        matrix = stmt.args[0]
        kind = self.triangles.get(matrix.name, "") if isinstance(matrix, Var) else ""
        if not kind:
            return stmt
        return replace(stmt, op=TRIANGULAR, kwargs=(("lower", Const(kind == "lower")), ("check_finite", Const(False))))

    def storable(self, stmt: Store) -> bool:
        if not gathers(stmt.index, self.types):
            return True
        if stmt.mode == "add_at":
            return False
        described = [self.natives.describe(stmt.target), self.natives.describe(stmt.index), self.natives.describe(stmt.value)]
        if stmt.mode == "add":  # read and write
            return supported("getitem", described[:2]) and supported("setitem", [*described[:2], Value(self.types[stmt.target.name].dtype, 1, True)])
        return supported("setitem", described, contiguous=False)

    def summed_exponentials(self, stmt: Assign) -> Assign | None:
        """`scipy.special.logsumexp` of all of an array, or along an axis of a matrix."""
        if stmt.op != "scipy.special.logsumexp" or not isinstance(stmt.args[0], Var) or self.types[stmt.args[0].name].dtype != "float64":
            return None
        given = dict(zip(("a", "axis"), stmt.args, strict=False)) | dict(stmt.kwargs)
        axis, rank = given.get("axis", NONE), self.types[stmt.args[0].name].rank
        if len(stmt.args) > 2 or not given.keys() <= {"a", "axis"} or rank == 0 or not isinstance(axis, Const):
            return None
        ends = {None: ""} if rank > 2 else {None: "", 0: "_columns", 1: "_rows", -1: "_rows"} if rank == 2 else {None: "", 0: "", -1: ""}
        if axis.value not in ends or isinstance(axis.value, bool):
            return None
        return replace(stmt, op=f"runtime.logsumexp{ends[axis.value]}", args=stmt.args[:1], kwargs=())

    def masks(self, array: Operand, index: Operand) -> bool:
        """Whether an index is one mask of the shape of the array."""
        if not isinstance(array, Var) or not isinstance(index, Var):
            return False
        mask, whole = self.types[index.name], self.types[array.name]
        return mask.array and mask.dtype == "bool" and mask.rank == whole.rank > 0

    def plain(self, store: Store) -> bool:
        """Whether a number or a vector is stored, of a kind that the array can hold."""
        target, value = self.types[store.target.name], store.value
        if isinstance(value, Const):
            return isinstance(value.value, (bool, int, float)) and (target.dtype != "bool" or isinstance(value.value, bool))
        return isinstance(value, Var) and self.types[value.name].rank <= 1 and self.types[value.name].dtype == target.dtype

    # ------------------------------------------------------------- the call

    def in_rows(self, stmt: Assign) -> bool:
        """Whether the source of a reshape is contiguous, so that Numba, too, gives a view."""
        if self.rows is None:
            self.rows = contiguous(self.fn)
        return isinstance(stmt.args[0], Var) and stmt.args[0].name in self.rows

    def check_view(self, stmt: Assign) -> None:
        source = viewed(stmt, self.types)
        if source is None:
            return
        if self.seen is None:
            self.seen = updates_seen(self.fn)
        if any(self.seen_later(v.name) for v in stmt.targets):
            raise errors.AliasingError(
                f"`{stmt.op}` gives a view of an array that is overwritten later",
                stmt.loc,
                reason="compiled code can only copy here",
                hint="write `.copy()` behind it",
            )

    def seen_later(self, view: str) -> bool:
        """Whether a write through one of a view and its source would be seen through the other."""
        assert self.seen is not None
        derived = views_of(view, self.fn)
        return any((written in derived) != (read in derived) for written, read in self.seen)

    def call(self, stmt: Assign) -> Assign:
        writer = _Writer(self.types)
        args = [writer.text(a) for a in stmt.args]
        keywords = [f"{k}={writer.text(v)}" for k, v in stmt.kwargs]
        body = f"{args[0]}[{args[1]}]" if stmt.op == "getitem" else f"{stmt.op}({', '.join(args + keywords)})"
        results = [describe_type(self.types[t.name]) for t in stmt.targets]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        operands = (Const(f"lambda {', '.join(writer.names)}: {body}"), Const(result), *writer.operands)
        return Assign(stmt.targets, "runtime.call_python", operands, (), stmt.loc, stmt.note)

    def effect(self, stmt: Store, body: str) -> Effect:
        writer = _Writer(self.types)
        places: dict[str, Callable[[], str]] = {
            "a": lambda: writer.text(stmt.target),
            "i": lambda: writer.index(stmt.index),
            "v": lambda: writer.text(stmt.value),
        }
        text = re.sub(r"\b[aiv]\b", lambda m: places[m.group()](), body)
        return Effect("runtime.call_python", (Const(f"lambda {', '.join(writer.names)}: {text}"), Const("None"), *writer.operands), (), stmt.loc, stmt.note)


def solved(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.solve(a, b)` and its like for one real matrix, which do the smallest without LAPACK."""
    tuned = operation(stmt.op).tuned
    if operation(stmt.op).kind != "solver" or not tuned or stmt.kwargs or not all(isinstance(a, Var) and types[a.name].rank for a in stmt.args):
        return stmt
    kinds = [types[n] for n in operand_vars(Pack(stmt.args))]
    if kinds[0].rank != 2 or kinds[-1].rank > 2 or {t.dtype for t in kinds} not in ({"float64"}, {"float32"}):
        return stmt
    return replace(stmt, op=tuned)


def convolved(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.convolve(a, v, mode)` of two real vectors of one type."""
    if stmt.op != "np.convolve" or not all(isinstance(a, Var) and types[a.name].rank == 1 for a in stmt.args[:2]):
        return stmt
    mode = dict(stmt.kwargs).get("mode", Const("full")) if len(stmt.args) == 2 else stmt.args[2]
    real = {types[n].dtype for n in operand_vars(Pack(stmt.args[:2]))} in ({"float64"}, {"float32"})
    return replace(stmt, op=operation(stmt.op).tuned, args=(*stmt.args[:2], mode), kwargs=()) if real and isinstance(mode, Const) else stmt


def searched(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.isin(x, among)` of two vectors of one type."""
    if stmt.op != "np.isin" or stmt.kwargs or len(stmt.args) != 2 or not all(isinstance(a, Var) and types[a.name].rank == 1 for a in stmt.args):
        return stmt
    known = {types[n].dtype for n in operand_vars(Pack(stmt.args))} in ({"float64"}, {"float32"}, {"int64"})
    return replace(stmt, op=operation(stmt.op).tuned) if known else stmt


def divided(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.divide(a, b)` of complex numbers of NumPy's; Python's own raise where the divisor is zero, and so does Numba."""
    type_ = types[stmt.targets[0].name]
    if stmt.op not in ("np.divide", "np.true_divide") or not type_.dtype.startswith("complex") or type_.array or type_.weak:
        return stmt
    return replace(stmt, op="runtime.divide")


def wrapped(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """`runtime.wrapped(k, n)` of Python's integers, where the divisor is known as the program runs."""
    numbers = [types[n] for n in (*operand_vars(Pack(stmt.args)), stmt.target.name)] if len(stmt.targets) == 1 else []
    if stmt.op != "np.remainder" or not isinstance(stmt.args[1], Var) or any(t.array or t.dtype != "int64" or not t.weak for t in numbers):
        return stmt
    return replace(stmt, op=operation(stmt.op).tuned)


def reshaped(stmt: Assign, types: Mapping[str, Type]) -> Assign | None:
    """`runtime.reshape(x, shape)` for a reshape in the order of rows."""
    if stmt.op != "np.reshape" or len(stmt.args) < 2 or not isinstance(stmt.args[0], Var):
        return None
    if not rowwise(stmt) or not types[stmt.args[0].name].rank or stmt.args[1] == Pack(()):
        return None
    return Assign(stmt.targets, "runtime.reshape", stmt.args[:2], (), stmt.loc, stmt.note)


class _Writer:
    """The text of a call, and the run-time values that it takes as arguments."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types
        self.names: list[str] = []
        self.operands: list[Operand] = []

    def text(self, operand: Operand) -> str:
        if isinstance(operand, Var):
            self.operands.append(operand)
            self.names.append(f"x{len(self.names)}")
            t = self.types[operand.name]
            # compiled code hands scalars over as Python numbers, which would not raise the dtype of what they meet
            return self.names[-1] if t.array or t.weak else f"np.{np.dtype(t.dtype).name}({self.names[-1]})"
        if isinstance(operand, Pack):
            items = ", ".join(self.text(o) for o in operand.items)
            return f"({items},)" if len(operand.items) == 1 else f"({items})"
        if isinstance(operand, Slice):
            return f"slice({', '.join(self.text(o) for o in (operand.lower, operand.upper, operand.step))})"
        return literal(operand.value)

    def index(self, operand: Operand) -> str:
        return self.text(operand)


def literal(value: Any) -> str:
    """A static value as Python text."""
    if isinstance(value, type) and issubclass(value, np.generic) or isinstance(value, np.dtype):
        return f"np.{np.dtype(value).name}" if np.dtype(value) != np.bool_ else "np.bool_"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({value.item()!r})"
    if value is Ellipsis:
        return "..."
    return "float('nan')" if value != value else f"float('{value}')" if value in (float("inf"), float("-inf")) else repr(value)


def describe_type(t: Type) -> str:
    """A type as `runtime.call_python` writes it: 'float64[:, :]', 'int64'."""
    if not t.array:
        return t.dtype
    return f"{t.dtype}[{', '.join(':' * t.rank)}]" if t.rank else f"{t.dtype}[()]"


__all__ = ["foreign", "operand_vars"]
