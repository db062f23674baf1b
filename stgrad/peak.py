"""How much memory a gradient program takes at most, told from the sizes of its arguments before it runs.

The program that is compiled is walked through with integers and extents alone: what asks for memory adds to it, what nothing reads any more is given
back, and may leave a hole (`stgrad.heap`). Of a long loop a few trips are walked, the first two, one in the middle and the last, and what its lists grow
by in all trips follows by Simpson's rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad import runtime
from stgrad.analysis.alias import viewed
from stgrad.analysis.liveness import Liveness, result_names
from stgrad.errors import MemoryBudgetError
from stgrad.heap import Heap
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pop,
    Push,
    Stack,
    Stmt,
    Type,
    Var,
    While,
    assigned,
    entries_of,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.runtime.memory import mapped_from

FEW = 6  # trips of a loop that are all walked
TWICE = 2  # trips of a loop of which nobody knows how many there are
PURE = {"budget_left", "budget_cut", "budget_rest", "budget_length", "budget_slots", "budget_trips", "budget_far", "open_length", "open_slots", "segment"}
ENOUGH = float(1 << 50)  # bytes of a list from which a trip may take


@dataclass(frozen=True)
class Peak:
    """Bytes at the peak, beside the arguments; `exact`: no loop of an unknown number of trips keeps more; `raises`: such a call ends in an exception.

    `disk`: bytes of snapshots there.
    """

    bytes: int
    exact: bool
    raises: bool = False
    disk: int = 0


def predicted(fn: Function, arguments: Sequence[Any]) -> Peak:
    """The peak of a program for its arguments: numbers and arrays in the order of its parameters."""
    walked = _Walk(fn)
    for param, value in zip(fn.params, arguments, strict=True):
        walked.give(param.name, value)
    walked.block(fn.body)
    return Peak(walked.peak, walked.exact, walked.raises, walked.disk)


@dataclass
class _State:
    """Integers that are known, extents by their symbols, the block that each array is in, the bytes of blocks and lists, and where blocks lie."""

    numbers: dict[str, Any] = field(default_factory=dict)
    extents: dict[str, int] = field(default_factory=dict)
    held: dict[str, object] = field(default_factory=dict)
    sizes: dict[object, int] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)
    heap: Heap = field(default_factory=lambda: Heap(mapped_from()))

    def copy(self) -> _State:
        return _State(dict(self.numbers), dict(self.extents), dict(self.held), dict(self.sizes), dict(self.lists), self.heap.copy())

    def total(self) -> float:
        return self.heap.size + sum(self.lists.values())

    def free(self) -> None:
        """Blocks that no array is in any more."""
        held = set(self.held.values())
        for block in [block for block in self.sizes if block not in held]:
            del self.sizes[block]
            self.heap.give(block)


class _Walk:
    def __init__(self, fn: Function) -> None:
        self.fn, self.types = fn, fn.types
        self.live = Liveness(fn.body, result_names(fn)).after
        self.state = _State()
        self.given: dict[str, tuple[int, ...]] = {}  # extents of arguments, whatever the program takes to be equal
        self.peak, self.exact, self.raises = 0, True, False
        self.disk = 0

    def give(self, name: str, value: Any) -> None:
        """An argument, whose memory does not count."""
        if self.types[name].array:
            self.given[name] = np.shape(value)
            self.sized(self.types[name], np.shape(value))
            self.hold(name, 0)
        elif isinstance(value, (bool, int, np.integer)):
            self.state.numbers[name] = int(value)
            known = self.types[name].value
            if known is not None and known.symbol is not None:
                self.state.extents[known.symbol] = int(value) - known.offset

    def sized(self, type_: Type, shape: Sequence[int]) -> None:
        for dim, extent in zip(type_.dims, shape, strict=True):
            if dim.symbol is not None:
                self.state.extents[dim.symbol] = extent - dim.offset

    def hold(self, name: str, size: int) -> None:
        block = object()
        self.state.free()
        self.state.heap.take(block, size)
        self.state.held[name], self.state.sizes[block] = block, size
        self.peak = max(self.peak, math.ceil(self.state.total()))

    # ------------------------------------------------------------- what is known

    def number(self, operand: Operand) -> Any:
        if isinstance(operand, Const):
            return operand.value
        return self.state.numbers.get(operand.name) if isinstance(operand, Var) else None

    def extent(self, type_: Type, axis: int) -> int | None:
        dim = type_.dims[axis]
        if dim.symbol is None:
            return dim.offset
        return max(self.state.extents[dim.symbol] + dim.offset, 0) if dim.symbol in self.state.extents else None

    def computed(self, stmt: Assign) -> Any:
        """The value of an integer or truth value; None where it is not known."""
        if stmt.op == "shape":
            array, axis = stmt.args
            assert isinstance(array, Var) and isinstance(axis, Const)
            return self.given[array.name][axis.value] if array.name in self.given else self.extent(self.types[array.name], axis.value)
        args = [self.number(a) for a in stmt.args]
        call = operation(stmt.op).python
        if operation(stmt.op).kind == "identity":
            return args[0]
        if stmt.op.startswith("runtime.") and operation(stmt.op).kind == "call" and stmt.op.split(".")[1] in PURE:
            call = getattr(runtime, stmt.op.split(".")[1])
        if call is None or any(a is None for a in args) or not all(isinstance(a, (bool, int)) for a in args):
            return None
        try:
            return call(*args)
        except MemoryBudgetError:
            self.raises = True
            return None
        except (ArithmeticError, TypeError):
            return None

    # ------------------------------------------------------------- statements

    def block(self, block: Block) -> None:
        for stmt in block:
            self.statement(stmt)
            live = self.live.get(id(stmt))
            if live is not None:
                self.state.held = {n: b for n, b in self.state.held.items() if n in live}
                self.state.lists = {n: b for n, b in self.state.lists.items() if n in live}

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign():
                self.assign(stmt)
            case Effect(op="runtime.push"):
                self.push(_name(stmt.args[0]), stmt.args[1])
            case Stack():
                self.state.lists[stmt.name] = 0
            case Push():
                self.push(stmt.stack, stmt.value)
            case Pop():
                self.pop(stmt.stack, stmt.target)
            case If():
                self.branch(stmt)
            case For() if asks(stmt.body, self.types):
                self.loop(stmt)
            case While() if asks((*stmt.head, *stmt.body), self.types):
                self.unbounded(stmt)
            case Custom():
                self.block(stmt.body)
            case Effect(op="raise"):
                self.raises = True
            case Effect(op="check_equal"):
                one, other = map(self.number, stmt.args[:2])
                self.raises |= one is not None and other is not None and one != other
            case Effect(op="runtime.budget_check"):
                size, room = map(self.number, stmt.args)
                self.raises |= size is not None and room is not None and size > room
            case For():
                self.added_up(stmt)
            case While():
                self.forget(assigned((stmt,)))

    def forget(self, names: set[str]) -> None:
        for name in names:
            self.state.numbers.pop(name, None)

    def assign(self, stmt: Assign) -> None:
        if operation(stmt.op).kind == "stack":
            self.state.lists[stmt.target.name] = 0
        elif stmt.op == "runtime.pop":
            self.pop(_name(stmt.args[0]), stmt.target)
        for target in stmt.targets:
            type_ = self.types[target.name]
            if not type_.array:
                self.state.numbers[target.name] = self.computed(stmt) if len(stmt.targets) == 1 else None
                continue
            given = dict(stmt.kwargs).get("out")
            source = viewed(stmt, self.types) or (given.name if isinstance(given, Var) else None)
            if source is not None and source in self.state.held:
                self.state.held[target.name] = self.state.held[source]
            else:
                self.hold(target.name, self.bytes(stmt, type_))

    def bytes(self, stmt: Assign, type_: Type) -> int:
        """The size of a new array; 0, and no exact answer, where it is not known."""
        if stmt.op in ("runtime.span", "runtime.unspan"):
            return self.spanned(stmt)
        if operation(stmt.op).shape == 0:
            shape = entries_of(stmt.args[0])
            known = [self.number(o) for o in shape]
            if len(known) == type_.rank and all(isinstance(k, int) for k in known):
                self.sized(type_, known)
        extents = [self.extent(type_, axis) for axis in range(type_.rank)]
        if any(e is None for e in extents):
            self.exact = False
        size = math.prod(e or 0 for e in extents) * np.dtype(type_.dtype).itemsize
        if stmt.op == "runtime.new_snapshots" and self.number(stmt.args[1]) is not False:
            self.disk += size
            return 0
        return size

    def push(self, stack: str, value: Operand) -> None:
        type_ = self.types[stack]
        block = self.state.held.get(value.name) if isinstance(value, Var) else None
        size = self.state.sizes.get(block, 0) if block is not None else 0 if type_.array else np.dtype(type_.dtype).itemsize
        self.state.lists[stack] = self.state.lists.get(stack, 0) + size
        if isinstance(value, Var) and block is not None:
            self.state.held[value.name] = kept = object()  # the list has it now, and counts it
            self.state.sizes[kept] = 0
            self.state.held.update({n: kept for n, b in self.state.held.items() if b is block})
            self.state.free()
        self.peak = max(self.peak, math.ceil(self.state.total()))

    def pop(self, stack: str, target: Var) -> None:
        type_ = self.types[target.name]
        extents = [self.extent(type_, axis) for axis in range(type_.rank)]
        size = math.prod(e or 0 for e in extents) * np.dtype(type_.dtype).itemsize
        self.state.lists[stack] = max(self.state.lists.get(stack, 0) - size, 0)
        self.state.numbers.pop(target.name, None)
        if type_.array:
            self.hold(target.name, size)

    def spanned(self, stmt: Assign) -> int:
        """Items on a stack, which are no memory of their own."""
        stack, count = _name(stmt.args[0]), self.number(stmt.args[1])
        size = max(count or 0, 0) * np.dtype(self.types[stack].dtype).itemsize
        self.exact &= count is not None
        self.state.lists[stack] = max(self.state.lists.get(stack, 0) + (size if stmt.op == "runtime.span" else -size), 0)
        self.peak = max(self.peak, math.ceil(self.state.total()))
        return 0

    def branch(self, stmt: If) -> None:
        cond = self.number(stmt.cond)
        if cond is not None:
            self.block(stmt.then if cond else stmt.orelse)
            return
        before, after, raises = self.state.copy(), [], self.raises
        for arm in (stmt.then, stmt.orelse):
            self.state = before.copy()
            self.block(arm)
            after.append(self.state)
        self.state, self.raises = max(after, key=_State.total), raises
        self.forget(assigned((stmt,)))

    # ------------------------------------------------------------- loops

    def loop(self, stmt: For) -> None:
        bounds = [self.number(o) for o in (stmt.start, stmt.stop, stmt.step)]
        if not all(isinstance(b, int) for b in bounds):
            self.repeat(lambda: self.trip(stmt, None))
            return
        trips = range(*bounds)
        if len(trips) <= FEW:
            for at in trips:
                self.trip(stmt, at)
            return
        self.trip(stmt, trips[0])
        middle, last = (self.grown(stmt, trips[at]) for at in (len(trips) // 2, -1))
        second = self.grown(stmt, trips[1])
        self.trip(stmt, trips[1])
        for name in {*second, *middle, *last}:
            each = (second.get(name, 0) + 4 * middle.get(name, 0) + last.get(name, 0)) / 6
            self.state.lists[name] = max(self.state.lists.get(name, 0) + each * (len(trips) - 3), 0)
        self.trip(stmt, trips[-1])

    def added_up(self, stmt: For) -> None:
        """A loop that asks for nothing: what it adds up is known where each trip's share is."""
        bounds = [self.number(o) for o in (stmt.start, stmt.stop, stmt.step)]
        sums = {s.target.name: s.args[1] for s in stmt.body if isinstance(s, Assign) and s.op == "np.add" and s.args[0] == s.target}
        before = {name: self.number(Var(name)) for name in sums}
        self.forget(assigned((stmt,)))
        trips = range(*bounds) if all(isinstance(b, int) for b in bounds) else range(0)
        if not sums or not trips or len(assigned(stmt.body)) != sum(isinstance(s, Assign) for s in walk(stmt.body)):
            if trips:  # what does not fit is said in the first one
                self.trip(stmt, trips[0])
                self.forget(assigned((stmt,)))
            return
        shares = []
        for at in (trips[0], trips[len(trips) // 2], trips[-1]):
            self.state.numbers[stmt.var.name] = at
            self.block(stmt.body)
            shares.append({name: self.number(share) for name, share in sums.items()})
        self.forget(assigned((stmt,)))
        for name, start in before.items():
            first, middle, last = (s[name] for s in shares)
            if all(isinstance(v, int) for v in (start, first, middle, last)):
                self.state.numbers[name] = start + round(len(trips) * (first + 4 * middle + last) / 6)

    def trip(self, stmt: For, at: int | None) -> None:
        self.forget(assigned(stmt.body))
        self.state.numbers[stmt.var.name] = at
        self.block(stmt.body)

    def grown(self, stmt: For, at: int) -> dict[str, float]:
        """What lists grow by in one trip, which is not kept."""
        before, peak = self.state, self.peak
        self.state = before.copy()
        self.state.lists = dict.fromkeys(before.lists, ENOUGH)
        self.trip(stmt, at)
        found = {name: size - ENOUGH for name, size in self.state.lists.items() if name in before.lists}
        self.state, self.peak = before, peak
        return found

    def unbounded(self, stmt: While) -> None:
        def trip() -> bool:
            self.block(stmt.head)
            if self.number(stmt.cond) is False:
                return False
            self.block(stmt.body)
            return True

        self.forget(assigned((stmt,)))
        self.repeat(trip)

    def repeat(self, trip: Callable[[], Any]) -> None:
        """A loop of which nobody knows the trips: its lists may grow by more."""
        before = dict(self.state.lists)
        for _ in range(TWICE):
            if trip() is False:
                break
        if any(size > before.get(name, 0) for name, size in self.state.lists.items()):
            self.exact = False


def asks(block: Block, types: Mapping[str, Type]) -> bool:
    """Whether a block makes arrays, or fills lists."""
    for stmt in walk(block):
        if isinstance(stmt, (Push, Pop, Stack)) or isinstance(stmt, Effect) and stmt.op == "runtime.push":
            return True
        if isinstance(stmt, Assign) and (stmt.op == "runtime.pop" or operation(stmt.op).kind == "stack"):
            return True
        if isinstance(stmt, Assign) and any(types[t.name].array for t in stmt.targets):
            return True
    return False


def _name(operand: Operand) -> str:
    assert isinstance(operand, Var)
    return operand.name


__all__ = ["Peak", "predicted"]
