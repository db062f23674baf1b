"""Adds to a program what its reverse sweep will need, without changing what it computes.

Parameters whose memory is written are copied first, so that callers' arrays stay as they are. `while` loops count their trips.
Arrays of shadowed classes get their shadow where the array is made, and views, swaps and stacks of them run in
lockstep on the shadows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from stgrad import errors
from stgrad.analysis.alias import Classes, sharing, viewed, views_of
from stgrad.analysis.conditions import line_of
from stgrad.analysis.contiguous import contiguous, rowwise
from stgrad.analysis.shadows import changed, shadowed, updated, updates_seen
from stgrad.ir import (
    ALL,
    Assign,
    Block,
    Const,
    Effect,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stack,
    Stmt,
    Type,
    Var,
    While,
    assigned,
    assigns,
    map_blocks,
    rename,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.checkpoints import isolated


@dataclass(frozen=True)
class Instrumented:
    """The program, its alias classes, the shadow of each shadowed name and the trip counter of each `while`."""

    function: Function
    classes: Classes
    shadows: Mapping[str, str]
    trips: Mapping[int, str]  # by the position of the `while` among all `while`s


def instrument(fn: Function, active: Iterable[str], names: Names) -> Instrumented:
    """The program with copies, trip counters and shadows."""
    fn, active = _own_views(rotate(fn, frozenset(active)), names), frozenset(active)
    classes = sharing(fn)
    need = shadowed(fn)
    fn, new = _copy_parameters(fn, classes, updated(fn) | need, names)
    active |= {new[n] for n in new if n in active}
    classes = sharing(fn)
    need = shadowed(fn)
    types = dict(fn.types)
    lockstep = _Lockstep(types, classes, need, active, names, contiguous(fn))
    body = lockstep.block(fn.body)
    body, trips = _count_trips(body, types, names)
    fn = isolated(replace(fn, body=body, types=types), lockstep.shadows, names)
    return Instrumented(fn, sharing(fn), lockstep.shadows, trips)


def own_memory(fn: Function, names: Names) -> Function:
    """The program on copies of the parameters that it writes to; what may be a view is one or is none for certain, where it can be had."""
    fn = _own_views(fn, names)
    classes = sharing(fn)
    return _copy_parameters(fn, classes, updated(fn), names)[0]


def _own_views(fn: Function, names: Names) -> Function:
    """Copies of what may be a view, or is one that compiled code copies, where nobody can tell which: what is overwritten is not read through it."""
    if not any(map(_may_view, walk(fn.body))):
        return fn
    classes, rows = sharing(fn), contiguous(fn)
    followed, targets, seen = updated(fn) | shadowed(fn), stored(fn.body), updates_seen(fn)
    types = dict(fn.types)
    unknown: list[Assign] = []  # what is overwritten is read through them

    def block(b: Block) -> Block:
        return tuple(new for s in b for new in own(map_blocks(block, s)))

    def own(stmt: Stmt) -> tuple[Stmt, ...]:
        source = viewed(stmt, fn.types)
        if source is None or not isinstance(stmt, Assign) or not _may_view(stmt) or classes.find(source) not in followed:
            return (stmt,)
        target, reshaped = stmt.target, operation(stmt.op).made == "reshaped"
        views = views_of(target.name, fn)
        if reshaped and source in rows and rowwise(stmt):
            return (stmt,)
        if views & targets or any((a in views) != (b in views) for a, b in seen):
            unknown.extend([stmt] if reshaped else [])
            return (stmt,)
        view = names.fresh(target.name)
        types[view] = types[target.name]
        return replace(stmt, targets=(Var(view),)), Assign((target,), "np.copy", (Var(view),), (), stmt.loc)

    body = block(fn.body)
    return replace(fn, body=(*_tests_of_rows(fn, unknown), *body), types=types)


def _may_view(stmt: Stmt) -> bool:
    """Whether a statement looks into an array or makes a new one, by its layout or by who runs it; or looks into one without passing derivatives on."""
    if not isinstance(stmt, Assign):
        return False
    known = operation(stmt.op)
    return known.kind == "move" and known.sharing == "maybe" and known.room is None or known.sharing == "always" and not known.differentiable


def _tests_of_rows(fn: Function, reshapes: list[Assign]) -> Block:
    """Tests of the parameters on whose layout it depends alone whether these are views: they are in the order of rows nearly always."""
    given = {p.name for p in fn.params if fn.types[p.name].rank}
    sources = {viewed(s, fn.types) for s in reshapes}
    if not reshapes or not all(map(rowwise, reshapes)) or sources - contiguous(fn, given):
        return ()
    asked = [p for p in fn.params if p.name in given and sources - contiguous(fn, given - {p.name})]
    why = "is not stored row after row, and an array that is reshaped and written to is stored as it is: pass np.ascontiguousarray"
    return tuple(Effect("check_rows", (p, Const(f"`{p.name}` {why}({p.name}){line_of(reshapes[0].loc)}")), (), reshapes[0].loc) for p in asked)


def _copy_parameters(fn: Function, classes: Classes, written: frozenset[str], names: Names) -> tuple[Function, dict[str, str]]:
    copies: list[Stmt] = []
    new: dict[str, str] = {}
    types = dict(fn.types)
    for param in fn.params:
        if not types[param.name].array or classes.find(param.name) not in written:
            continue
        if param.name in fn.constants and param.name in changed(fn):
            raise errors.AliasingError(
                f"the function writes to `{param.name}`, an array from outside of it",
                next((s.loc for s in walk(fn.body) if getattr(s, "target", None) == param), None),
                reason="what other code would see of the change cannot be differentiated",
                hint=f"pass `{param.name}` as an argument, or write to a copy of it",
            )
        new[param.name] = names.fresh(param.name)
        types[new[param.name]] = types[param.name]
        copies.append(Assign((Var(new[param.name]),), "np.copy", (param,)))
    given = set(fn.params)  # tests of what callers pass, not of its copies; those of programs read in place stay there
    tests = tuple(s for s in fn.body if isinstance(s, Effect) and s.op == "check_rows" and s.args[0] in given)
    body = rename(tuple(s for s in fn.body if s not in tests), new)
    written = frozenset(n for n in new if classes.find(n) in updated(fn))
    return replace(fn, body=(*tests, *copies, *body), types=types, result=_renamed(fn.result, new), written=fn.written | written), new


def _renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    from stgrad.ir import map_operand

    return map_operand(lambda o: Var(names.get(o.name, o.name)) if isinstance(o, Var) else o, operand)


def rotate(fn: Function, active: frozenset[str]) -> Function:
    """Move the head of a `while` that does active work before the loop and to the end of its body."""

    def block(b: Block) -> Block:
        out: list[Stmt] = []
        for stmt in b:
            stmt = map_blocks(block, stmt)
            if isinstance(stmt, While) and assigned(stmt.head) & active:
                out.extend(stmt.head)
                stmt = replace(stmt, head=(), body=(*stmt.body, *stmt.head))
            out.append(stmt)
        return tuple(out)

    return replace(fn, body=block(fn.body))


def _count_trips(body: Block, types: dict[str, Type], names: Names) -> tuple[Block, dict[int, str]]:
    trips: dict[int, str] = {}

    def block(b: Block) -> Block:
        out: list[Stmt] = []
        for stmt in b:
            if isinstance(stmt, While) and stmt.trips is not None and assigns(stmt.body[-1]) == (stmt.trips.name,):
                trips[len(trips)] = stmt.trips.name
                out.append(map_blocks(block, stmt))
            elif isinstance(stmt, While):
                counter = names.fresh("trips")
                trips[len(trips)] = counter
                types[counter] = Type("int64", weak=True)
                stmt = map_blocks(block, stmt)
                assert isinstance(stmt, While)
                step = Assign((Var(counter),), "np.add", (Var(counter), Const(1)))
                out += [Assign((Var(counter),), "alias", (Const(0),)), replace(stmt, body=(*stmt.body, step), trips=Var(counter))]
            else:
                out.append(map_blocks(block, stmt))
        return tuple(out)

    return block(body), trips


class _Lockstep:
    """Follows every statement on arrays of shadowed classes with the same statement on their shadows."""

    def __init__(
        self, types: dict[str, Type], classes: Classes, need: frozenset[str], active: frozenset[str], names: Names, rows: frozenset[str]
    ) -> None:
        self.types, self.classes, self.need, self.active, self.names = types, classes, need, active, names
        self.shadows: dict[str, str] = {}
        self.rows = rows

    def shadow(self, name: str) -> str | None:
        """The shadow of a name; None where it needs none."""
        if self.classes.find(name) not in self.need or name not in self.active:
            return None
        if name not in self.shadows:
            self.shadows[name] = self.names.fresh(f"{name}_bar")
            self.types[self.shadows[name]] = self.types[name]
        return self.shadows[name]

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            stmt = map_blocks(self.block, stmt)
            out += [stmt, *self.follow(stmt)]
        return tuple(out)

    def follow(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Assign):
            return [s for target in stmt.targets for s in self._assign(stmt, target.name)]
        if isinstance(stmt, Stack):
            bar = self.shadow(stmt.name)
            return [Stack(bar)] if bar is not None else []
        if isinstance(stmt, Push) and isinstance(stmt.value, Var):
            bar, value = self.shadow(stmt.stack), self.shadow(stmt.value.name)
            return [Push(bar, Var(value))] if bar is not None and value is not None else []
        if isinstance(stmt, Pop):
            bar, target = self.shadow(stmt.stack), self.shadow(stmt.target.name)
            return [Pop(Var(target), bar)] if bar is not None and target is not None else []
        return []

    def _assign(self, stmt: Assign, target: str) -> list[Stmt]:
        bar = self.shadow(target) if self.types[target].array else None
        if bar is None:
            return []
        source = viewed(stmt, self.types)
        if source is None:
            return [Assign((Var(bar),), "np.zeros_like", (Var(target),))]
        source_bar = self.shadow(source)
        if source_bar is None:
            raise errors.AliasingError(
                "an array that is overwritten may share memory with one that has no derivative", stmt.loc, hint="write `.copy()` here"
            )
        known = operation(stmt.op)
        certain = known.sharing == "always" and known.differentiable or known.room is not None  # a buffer's shadow grows where the buffer does
        if not certain and not (known.made == "reshaped" and source in self.rows and rowwise(stmt)):
            raise errors.AliasingError(
                f"`{stmt.op}` may return a view or a copy, and its memory is overwritten later",
                stmt.loc,
                reason="which of the two depends on strides that are known only at run time",
                hint=f"write `{stmt.op}(...).copy()`",
            )
        return [replace(stmt, targets=(Var(bar),), args=(Var(source_bar), *stmt.args[1:]))]


__all__ = ["ALL", "For", "Instrumented", "instrument", "own_memory"]
