"""On which numbers of its parameters each number of a result depends: by running a program on sets in place of numbers.

Contract. What does not depend on the parameters asked for (positions, bounds, tables) has its value, so loops and positions are exact. A float that
does is the set of the numbers that it may depend on; arrays of floats are arrays of sets, and views of them are views. Where a condition
depends on the parameters, both sides run, and what they write is added to what was there: the pattern holds for all values. An operation without an entry
here depends on all its operands hold. `Dynamic` is raised where not even that can be said: positions, extents or trips that depend on floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad.analysis.activity import differentiable
from stgrad.analysis.alias import sharing
from stgrad.analysis.influence import influenced
from stgrad.analysis.sets import (
    NOTHING,
    Dynamic,
    Sets,
    Unknown,
    cleaned,
    either,
    evaluated,
    example_of,
    full,
    gathered,
    is_sets,
    is_unknown,
    put,
    sets_in,
    shrunk,
    single,
    stacked,
    union,
    unknown_place,
    wrapped,
)
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Stmt,
    Store,
    Var,
    While,
    entries_of,
    stored,
)
from stgrad.ir.ops import operation
from stgrad.rules import lookup

LONGEST = 10_000  # rounds of a loop whose end depends on floats


class _Raised(Exception):  # noqa: N818
    """The program raises here."""


def dependence(fn: Function, values: Mapping[str, Any], starts: Mapping[str, int], unknown: frozenset[str]) -> list[Any]:
    """For each leaf of the result an array of sets.

    Args:
        fn: a program. values: its parameters by name.
        starts: for those asked for, the number of their first element. unknown: others whose values are not to be relied on.
    """
    return _Run(fn, influenced(fn, {*starts, *unknown})).run(values, starts)


@dataclass
class _Run:
    fn: Function
    moving: frozenset[str]
    env: dict[str, Any] = field(default_factory=dict)
    maybe: int = 0  # conditions around that are not known

    def run(self, values: Mapping[str, Any], starts: Mapping[str, int]) -> list[Any]:
        self.classes = sharing(self.fn)
        self.stored = {self.classes.find(n) for n in stored(self.fn.body)}
        for param in self.fn.params:
            value = values[param.name]
            if param.name in starts:
                sets = full(np.shape(value))
                sets[...] = np.array([*map(single, range(starts[param.name], starts[param.name] + sets.size)), None], dtype=object)[:-1].reshape(sets.shape)
                self.env[param.name] = sets
            elif param.name in self.moving:
                self.env[param.name] = full(np.shape(value)) if self.fn.types[param.name].is_float else Unknown(np.shape(value))
            else:
                self.env[param.name] = np.array(value) if isinstance(value, np.ndarray) else value
        try:
            self.block(self.fn.body)
        except _Raised:
            raise Dynamic from None
        leaves = entries_of(self.fn.result)
        found = [self.value(leaf) for leaf in leaves]
        return [v if is_sets(v) else full(np.shape(v)) if not isinstance(v, Unknown) else full(v.shape) for v in found]

    # ------------------------------------------------------------- statements

    def block(self, block: Block) -> None:
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign():
                self.assign(stmt)
            case Store():
                self.store(stmt)
            case If():
                self.branch(stmt)
            case For():
                bounds = [self.value(b) for b in (stmt.start, stmt.stop, stmt.step)]
                if any(isinstance(b, Unknown) for b in bounds):
                    raise Dynamic
                for k in range(*map(int, bounds)):
                    self.env[stmt.var.name] = k
                    self.block(stmt.body)
            case While():
                self.unbounded(stmt)
            case Custom():
                self.block(stmt.body)
                self.spread(stmt)
            case Stack():
                self.env[stmt.name] = []
            case Push():
                self.env[stmt.stack].append(self.value(stmt.value))
            case Pop():
                self.env[stmt.target.name] = self.env[stmt.stack].pop()
            case Effect(op="raise"):
                raise _Raised

    def spread(self, stmt: Custom) -> None:
        """The derivative of such a region is its own: each output depends on all inputs."""
        every = frozenset().union(*(union(v) for v in map(self.value, stmt.inputs) if is_sets(v)))
        for output in stmt.outputs:
            found = self.env[output.name]
            self.env[output.name] = full(np.shape(found) if not isinstance(found, Unknown) else found.shape, every)

    def branch(self, stmt: If) -> None:
        condition = self.value(stmt.cond)
        if not is_unknown(condition):
            self.block(stmt.then if condition else stmt.orelse)
            return
        before, ends = self.env, []
        self.maybe += 1
        for block in (stmt.then, stmt.orelse):
            self.env = dict(before)
            try:
                self.block(block)
                ends.append(self.env)
            except _Raised:
                continue
        self.maybe -= 1
        if not ends:
            raise _Raised
        self.env = ends[0] if len(ends) == 1 else self.merged(*ends)

    def merged(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return {name: self.joined(name, one[name], other[name]) for name in one if name in other}

    def joined(self, name: str, a: Any, b: Any) -> Any:
        if a is b:
            return a
        if is_sets(a) and is_sets(b):
            if a.shape != b.shape or a.ndim and self.classes.find(name) in self.stored:
                raise Dynamic
            return either(a, b)
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return Unknown(a.shape if isinstance(a, Unknown) else np.shape(b) if not isinstance(b, Unknown) else b.shape)
        if isinstance(a, list) or not np.array_equal(a, b):
            raise Dynamic
        return a

    def unbounded(self, stmt: While) -> None:
        for _ in range(LONGEST):
            self.block(stmt.head)
            condition = self.value(stmt.cond)
            if is_unknown(condition):
                self.until_settled(stmt)
                return
            if not condition:
                return
            self.block(stmt.body)
        raise Dynamic

    def until_settled(self, stmt: While) -> None:
        """Any number of rounds may run: what they may write is added until nothing is new."""
        self.maybe += 1
        for _ in range(LONGEST):
            before, held = dict(self.env), {n: v.copy() for n, v in self.env.items() if is_sets(v)}
            self.block(stmt.body)
            self.block(stmt.head)
            self.env = self.merged(before, self.env)
            if all(n in self.env and np.array_equal(v, self.env[n]) for n, v in held.items()):
                self.maybe -= 1
                return
        raise Dynamic

    def store(self, stmt: Store) -> None:
        target, index, value = self.env[stmt.target.name], self.value(stmt.index), self.value(stmt.value)
        if isinstance(target, Unknown):
            return
        if not is_sets(target):
            if is_unknown(index) or is_unknown(value):
                raise Dynamic
            put(target, index, value, stmt.mode)
            return
        value = value if is_sets(value) else full(np.shape(value) if not isinstance(value, Unknown) else value.shape)
        if is_unknown(index):
            target[...] = either(target, full((), union(value)))
        elif stmt.mode == "add_at":
            at = np.arange(target.size).reshape(target.shape)[index]
            for place, item in zip(at.ravel(), np.broadcast_to(value, at.shape).ravel(), strict=True):
                target.flat[place] = target.flat[place] | item
        else:
            kept = stmt.mode == "add" or self.maybe
            new = either(wrapped(target[index]), value) if kept else value
            target[index] = new[()] if new.ndim == 0 else new

    # ------------------------------------------------------------- operations

    def assign(self, stmt: Assign) -> None:
        args, kwargs = [self.value(a) for a in stmt.args], {k: self.value(v) for k, v in stmt.kwargs}
        if stmt.op == "shape":
            array, axis = args
            self.env[stmt.target.name] = np.shape(array)[axis] if not isinstance(array, Unknown) else array.shape[axis]
            return
        if not any(t.name in self.moving for t in stmt.targets):
            if any(map(is_unknown, (*args, *kwargs.values()))):
                args = [example_of(a) for a in args]  # what only looks at extents and dtypes
            results = evaluated(stmt.op, args, kwargs)
        elif len(stmt.targets) == 1 and self.fn.types[stmt.target.name].is_float and differentiable(stmt.op):
            results = self.sets_of(stmt.op, args, kwargs)
        else:
            results = self.general(stmt, args, kwargs)
        for target, result in zip(stmt.targets, results if len(stmt.targets) > 1 else (results,), strict=True):
            self.env[target.name] = result

    def general(self, stmt: Assign, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Every number of the results depends on all there is."""
        every = self.all_of((*args, *kwargs.values())) if differentiable(stmt.op) else NOTHING
        examples = evaluated(stmt.op, [example_of(a) for a in args], {k: example_of(v) for k, v in kwargs.items()})
        rule = lookup(stmt.op)
        if rule is not None and rule.fresh_shape:
            raise Dynamic
        found = []
        for target, example in zip(stmt.targets, examples if len(stmt.targets) > 1 else (examples,), strict=True):
            found.append(full(np.shape(example), every) if self.fn.types[target.name].is_float else Unknown(np.shape(example)))
        return found if len(found) > 1 else found[0]

    def all_of(self, values: Any) -> frozenset[int]:
        found = NOTHING
        for v in values:
            if is_sets(v):
                found |= union(v)
            elif isinstance(v, (tuple, list)):
                found |= self.all_of(v)
        return found

    def sets_of(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Sets:
        rule = lookup(op)
        known = operation(op)
        if op == "np.array":
            return stacked(args[0]).copy()
        if known.kind in ("identity", "cast", "copy", "part"):
            first = sets_in(args[0])
            return first.copy() if known.views is None else first
        if op == "getitem":
            return self.item(*args)
        if op == "np.where" and len(args) == 3:
            a, b = sets_in(args[1]), sets_in(args[2])
            return either(a, b) if is_unknown(args[0]) else wrapped(np.where(args[0], a, b))
        if rule is not None and rule.partials is not None:
            return self.elementwise(args)
        if not known.contents:
            return full(np.shape(example_of(args[0])))
        if op == "np.full_like":
            return wrapped(np.broadcast_to(sets_in(args[1]), np.shape(example_of(args[0]))).copy())
        return self.structural(op, args, kwargs)

    def elementwise(self, args: list[Any]) -> Sets:
        total = full(())
        for a in args:
            total = either(total, sets_in(a))
        return total

    def item(self, array: Any, index: Any) -> Sets:
        array = sets_in(array)
        if is_unknown(index):
            example = np.zeros(array.shape)[example_of(index)]
            return full(np.shape(example), union(array))
        return wrapped(array[index])

    def structural(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Sets:
        kind = operation(op).kind
        if any(map(unknown_place, (*args[1:], *kwargs.values()))):
            return self.all_operands(op, args, kwargs)
        if op == "unbroadcast":
            return shrunk(sets_in(args[0]), np.shape(example_of(args[1])))
        if op == "stretch":
            return wrapped(np.broadcast_to(sets_in(args[0]), args[1]))
        if kind == "move":
            first = tuple(map(sets_in, args[0])) if isinstance(args[0], (tuple, list)) else sets_in(args[0])
            return cleaned(wrapped(evaluated(op, [first, *args[1:]], kwargs)))
        if kind == "reduction" and not isinstance(args[0], (tuple, list)) and kwargs.keys() <= {"axis", "keepdims", "ddof"} and len(args) == 1:
            return gathered(sets_in(args[0]), kwargs.get("axis"), bool(kwargs.get("keepdims", False)))
        if op in ("np.cumsum", "np.cumprod") and kwargs.keys() <= {"axis"} and len(args) == 1:
            a, axis = sets_in(args[0]), kwargs.get("axis")
            return wrapped(np.bitwise_or.accumulate(a.ravel() if axis is None else a, axis=axis or 0))
        if op == "np.matmul" and np.ndim(example_of(args[0])) <= 2 and np.ndim(example_of(args[1])) <= 2:
            a, b = gathered(sets_in(args[0]), -1, False), gathered(sets_in(args[1]), -2 if sets_in(args[1]).ndim > 1 else 0, False)
            return either(a[:, None], b[None, :]) if a.ndim and b.ndim else either(a, b)
        if op in ("np.outer", "np.linalg.outer"):
            return either(sets_in(args[0]).ravel()[:, None], sets_in(args[1]).ravel()[None, :])
        return self.all_operands(op, args, kwargs)

    def all_operands(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Sets:
        rule = lookup(op)
        if rule is not None and rule.fresh_shape:
            raise Dynamic
        example = evaluated(op, [example_of(a) for a in args], {k: example_of(v) for k, v in kwargs.items()})
        return full(np.shape(example), self.all_of((*args, *kwargs.values())))

    # ------------------------------------------------------------- operands

    def value(self, operand: Operand) -> Any:
        match operand:
            case Var():
                return self.env[operand.name]
            case Pack():
                return tuple(self.value(i) for i in operand.items)
            case Slice():
                parts = [self.value(p) for p in (operand.lower, operand.upper, operand.step)]
                if any(isinstance(p, Unknown) for p in parts):
                    raise Dynamic
                return slice(*parts)
        return operand.value


__all__ = ["Dynamic", "dependence", "full"]
