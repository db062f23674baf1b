"""What a gradient keeps for its reverse sweep: a static report, read off the program before and after its lowering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stgrad.budgets import spoken
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    For,
    Function,
    Loc,
    Operand,
    Pack,
    Push,
    Stack,
    Stmt,
    Store,
    Var,
    While,
    assigns,
    blocks,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.peak import predicted
from stgrad.transforms.countdown import countdown


@dataclass(frozen=True)
class Kept:
    """One thing that is kept. `bytes_per_step` and `steps` are expressions in the names of the arguments; '?' is known at run time alone."""

    name: str
    line: int | None  # of the source
    place: str  # 'array', 'growable stack', 'list of arrays', 'variable'
    dtype: str
    bytes_per_step: str
    steps: str
    file: str = ""  # that the line is of, where it is known


@dataclass(frozen=True)
class MemoryReport:
    """Everything that is kept, in the order of the program; prints as a table.

    `peak`: the bytes that a call takes at most beside its arguments, results included; None where they are known only as it runs, as a `while` keeps
    something, and `least` is what it takes at least.
    `modes`: which mode was chosen where that was left open, and why. Where there is a budget, they are no more than that.
    `raises`: such a call ends in an exception. `disk`: the bytes of snapshots on disk.
    """

    kept: tuple[Kept, ...]
    peak: int | None = None
    least: int | None = None
    raises: bool = False
    modes: tuple[str, ...] = ()
    disk: int = 0

    def __str__(self) -> str:
        table = self._table() if self.kept else "nothing is stored for the reverse sweep"
        table = "\n".join((*self.modes, table))
        if self.peak is not None:
            disk = f", and {spoken(self.disk)} on disk" if self.disk else ""
            return f"{table}\npeak: {'' if self.peak == self.least else 'at most '}{spoken(self.peak)} beside the arguments{disk}"
        if self.least is not None:
            return f"{table}\npeak: more than {spoken(self.least)} beside the arguments, by what loops keep of which the trips are not known before"
        return table

    def _table(self) -> str:
        head = ("name", "line", "where", "dtype", "bytes per step", "steps")
        rows = [(k.name, str(k.line or ""), k.place, k.dtype, k.bytes_per_step, k.steps) for k in self.kept]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows))


def memory_report(fn: Function, lowered: Function, arguments: Sequence[Any] | None = None, budget: int | None = None) -> MemoryReport:
    """The report of a gradient program.

    Args:
        fn: the program at array level, with stacks.
        lowered: the program that runs.
        arguments: numbers and arrays that it takes, in order; without them no peak is told.
        budget: the bytes that it may take.
    """
    report = MemoryReport(_everything(countdown(fn), lowered))
    if arguments is None:
        return report
    peak = predicted(lowered, arguments)
    return replace(report, peak=peak.bytes if peak.exact else budget, least=peak.bytes, raises=peak.raises, disk=peak.disk)


def _everything(fn: Function, lowered: Function) -> tuple[Kept, ...]:
    """What is kept, by statement."""
    stacks = [s.name for s in walk(fn.body) if isinstance(s, Stack)]
    places = {name: _place(name, lowered) for name in stacks}
    definitions = _definitions(fn)
    pushes = [(path, loc) for path, loc in _paths(fn.body, None) if isinstance(path[-1], Push)]
    kept = []
    for path, loc in pushes:
        push = path[-1]
        assert isinstance(push, Push)
        type_ = fn.types[push.stack]
        size = [str(np.dtype(type_.dtype).itemsize), *(_extent(d) for d in type_.dims)]
        place = places.get(push.stack) or ("list of arrays" if type_.array else "variable")
        at = push.loc or loc
        line = at.line if at is not None else None
        kept.append(Kept(push.stack, line, place, str(type_.dtype), " * ".join(size), _steps(path, definitions), at.file if at is not None else ""))
    return (*kept, *_rows(fn, lowered))


def _rows(fn: Function, lowered: Function) -> Iterator[Kept]:
    """The factors of products that are done after a loop: one row for each trip."""
    filled = {path[-1].target.name: loc for path, loc in _paths(lowered.body, None) if isinstance(path[-1], Store) and loc is not None}
    definitions = _definitions(lowered)
    for stmt in walk(lowered.body):
        if isinstance(stmt, Assign) and stmt.op in ("np.empty", "runtime.empty") and "_rows" in stmt.target.name and stmt.target.name not in fn.types:
            name, shape = stmt.target.name, stmt.args[0]
            assert isinstance(shape, Pack)
            dtype = lowered.types[name].dtype
            steps, width = (_text(o, definitions) for o in shape.items)
            at = filled.get(name)
            place = (None, "") if at is None else (at.line, at.file)
            yield Kept(name, place[0], "array", dtype, f"{np.dtype(dtype).itemsize} * {width}", steps, place[1])



def _place(stack: str, lowered: Function) -> str:
    """How a stack ended up; empty where it keeps its form or is gone."""
    for stmt in walk(lowered.body):
        if isinstance(stmt, Assign) and stmt.targets == (Var(stack),):
            return {"creation": "array", "stack": "growable stack"}.get(operation(stmt.op).kind, "variable")
        if isinstance(stmt, Stack) and stmt.name == stack:
            return ""
    return "variable"


def _paths(block: Block, loc: Loc | None) -> Iterator[tuple[tuple[Stmt, ...], Loc | None]]:
    """Every statement with those around it, and the last place in the source before it."""
    for stmt in block:
        loc = stmt.loc or loc
        yield (stmt,), loc
        for inner in blocks(stmt):
            for path, place in _paths(inner, loc):
                yield (stmt, *path), place


def _definitions(fn: Function) -> dict[str, Assign]:
    """The statement that defines each name which is assigned once."""
    found: dict[str, Stmt] = {}
    often = {p.name for p in fn.params}
    for stmt in walk(fn.body):
        for name in assigns(stmt):
            often |= {name} & found.keys()
            found[name] = stmt
    return {name: stmt for name, stmt in found.items() if name not in often and isinstance(stmt, Assign)}


def _steps(path: tuple[Stmt, ...], definitions: dict[str, Assign]) -> str:
    factors = [_trips(s, definitions) for s in path if isinstance(s, (For, While))]
    factors = [f for f in factors if f != "1"] or ["1"]
    return " * ".join(f"({f})" if " " in f and len(factors) > 1 else f for f in factors)


def _trips(loop: Stmt, definitions: dict[str, Assign]) -> str:
    if not isinstance(loop, For):
        return "?"
    start, stop = (_text(o, definitions) for o in (loop.start, loop.stop))
    if "?" in (start, stop):
        return "?"
    if loop.step == Const(1):
        span = stop if start == "0" else f"{stop} - {start}" if " " not in start else f"{stop} - ({start})"
        return str(int(stop) - int(start)) if stop.isdecimal() and start.isdecimal() else span
    return f"len(range({start}, {stop}, {_text(loop.step, definitions)}))"


def _text(operand: Operand, definitions: dict[str, Assign]) -> str:
    """An integer as an expression of the arguments."""
    if isinstance(operand, Const):
        return repr(operand.value)
    if not isinstance(operand, Var):
        return "?"
    made = definitions.get(operand.name)
    if made is None:
        return operand.name
    if made.op == "shape":
        return f"{_text(made.args[0], {})}.shape[{_text(made.args[1], {})}]"
    symbol = operation(made.op).symbol
    if symbol and len(made.args) == 2:
        left, right = (_text(a, definitions) for a in made.args)
        return f"{left} {symbol} {right}" if " " not in right else f"{left} {symbol} ({right})"
    counts = made.op == "alias" or made.op == "max" and made.args[1] == Const(0)  # as many as that, and none where it is negative
    return _text(made.args[0], definitions) if counts else operand.name


def _extent(dim: Dim) -> str:
    """An extent, or '?' where it is no argument's."""
    if dim.symbol is None:
        return str(dim.offset)
    name, dot, axis = dim.symbol.rpartition(".")
    if not dot:
        return "?"
    plain = f"{name}.shape[{axis}]"
    return plain if not dim.offset else f"({plain} {'+' if dim.offset > 0 else '-'} {abs(dim.offset)})"
