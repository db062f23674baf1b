"""What a `while` loop counts is counted down in its reversal, where it is known from the number of trips, and not kept.

A `for` with a `break` is such a loop: it counts by itself.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def first_above(x):
    ...     total = 0.0
    ...     for i in range(x.shape[0]):
    ...         if x[i] > 1.0:
    ...             break
    ...         total += x[i] * x[i]
    ...     return total
    >>> show_pass("countdown", stgrad.grad(first_above), np.ones(3))
    v_k_1_stack = []
    break_2 = False
    n_x = x.shape[0]
    v_k_1 = 0
    trips = 0
    while v_k_1 < n_x and not break_2:
        v_k_1_stack.append(v_k_1)
        if x[v_k_1] > 1.0:
            break_2 = True
        v_k_1 += 1
        trips += 1
    x_bar = np.zeros_like(x)
    for k in range(trips):
        v_k_1_2 = v_k_1_stack.pop()
        if not x[v_k_1_2] > 1.0:
            x_i = x[v_k_1_2]
            # grad of line 6: total += x[i] * x[i]
            x_bar[v_k_1_2] += x[v_k_1_2]
            x_bar[v_k_1_2] += x_i
    return x_bar
    ->
    break_2 = False
    n_x = x.shape[0]
    v_k_1 = 0
    trips = 0
    while v_k_1 < n_x and not break_2:
        if x[v_k_1] > 1.0:
            break_2 = True
        v_k_1 += 1
        trips += 1
    x_bar = np.zeros_like(x)
    for k in range(trips):
        v_k_1_2 = trips - 1 - k
        if not x[v_k_1_2] > 1.0:
            x_i = x[v_k_1_2]
            # grad of line 6: total += x[i] * x[i]
            x_bar[v_k_1_2] += x[v_k_1_2]
            x_bar[v_k_1_2] += x_i
    return x_bar
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    Assign,
    Block,
    Const,
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
    blocks,
    map_blocks,
    walk,
)
from stgrad.names import Names

_INT = Type("int64", weak=True)


@dataclass(frozen=True)
class _Count:
    """A counter that a loop pushes in each trip, in front of its step: it is `first + step * trip` there."""

    loop: While
    first: int
    step: int


def countdown(fn: Function) -> Function:
    """The program without stacks of counters."""
    counts = dict(_counts(fn.body))
    if not counts:
        return fn
    pushes, pops = (Counter(s.stack for s in walk(fn.body) if isinstance(s, kind)) for kind in (Push, Pop))
    counts = {stack: count for stack, count in counts.items() if pushes[stack] == pops[stack] == 1}
    trips = _kept_trips(fn, pushes, pops)
    taken = {p.stack for loop in walk(fn.body) if isinstance(loop, For) for p in _popped(loop, counts, trips)}
    if not taken:
        return fn
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)

    def one(stmt: Stmt) -> Block:
        if isinstance(stmt, (Push, Stack)) and (stmt.stack if isinstance(stmt, Push) else stmt.name) in taken:
            return ()
        if isinstance(stmt, For):
            known = {id(p): counts[p.stack] for p in _popped(stmt, counts, trips)}
            loop = stmt
            taken_off = ((_counted(s, known[id(s)], loop, names, types) if isinstance(s, Pop) and id(s) in known else (s,)) for s in stmt.body)
            stmt = replace(stmt, body=tuple(new for part in taken_off for new in part))
        return (map_blocks(lambda block: tuple(new for s in block for new in one(s)), stmt),)

    return replace(fn, body=tuple(new for s in fn.body for new in one(s)), types=types)


def _counts(block: Block) -> Iterator[tuple[str, _Count]]:
    """The stacks of a block on which a loop of it pushes what it counts."""
    known: dict[str, int] = {}
    for stmt in block:
        for inner in blocks(stmt):
            yield from _counts(inner)
        if isinstance(stmt, While) and stmt.trips is not None:
            yield from _pushed(stmt, known)
        for name in assigned((stmt,)):
            known.pop(name, None)
        if isinstance(stmt, Assign) and stmt.op == "alias" and isinstance(stmt.args[0], Const) and type(stmt.args[0].value) is int:
            known[stmt.target.name] = stmt.args[0].value


def _pushed(loop: While, known: dict[str, int]) -> Iterator[tuple[str, _Count]]:
    """What a loop pushes of names that have these values before it, and that each trip moves on once, by as much."""
    bound = Counter(name for s in walk((*loop.head, *loop.body)) for name in assigns(s))
    steps: dict[str, int] = {}
    for stmt in reversed(loop.body):
        if isinstance(stmt, Push) and isinstance(stmt.value, Var) and stmt.value.name in steps:
            yield stmt.stack, _Count(loop, known[stmt.value.name], steps[stmt.value.name])
        elif isinstance(stmt, Assign) and stmt.op == "np.add" and bound[stmt.target.name] == 1 and stmt.target.name in known:
            own, by = stmt.args
            if own == stmt.target and isinstance(by, Const) and type(by.value) is int:
                steps[stmt.target.name] = by.value


def _kept_trips(fn: Function, pushes: Counter[str], pops: Counter[str]) -> dict[str, str]:
    """By the name of a number of trips, or of what is popped where one was pushed, the name that the loop has for it."""
    own = {s.trips.name for s in walk(fn.body) if isinstance(s, While) and s.trips is not None}
    kept = {s.stack: s.value.name for s in walk(fn.body) if isinstance(s, Push) and isinstance(s.value, Var) and s.value.name in own}
    once = definitions(fn).once
    again = {s.target.name: kept[s.stack] for s in walk(fn.body) if isinstance(s, Pop) and s.stack in kept and pushes[s.stack] == pops[s.stack] == 1}
    return {name: name for name in own} | {name: trips for name, trips in again.items() if name in once}


def _popped(loop: For, counts: dict[str, _Count], trips: dict[str, str]) -> Iterator[Pop]:
    """What the reversal of a loop takes from the stacks on which that has pushed its counter."""
    if loop.start != Const(0) or loop.step != Const(1) or not isinstance(loop.stop, Var):
        return
    for stmt in loop.body:
        if isinstance(stmt, Pop) and stmt.stack in counts:
            own = counts[stmt.stack].loop.trips
            if own is not None and trips.get(loop.stop.name) == own.name:
                yield stmt


def _counted(pop: Pop, count: _Count, loop: For, names: Names, types: dict[str, Type]) -> Block:
    """The counter of the trip that is reversed: `first + step * (trips - 1 - k)`, with as little arithmetic as it takes."""
    out: list[Stmt] = []

    def make(op: str, a: Operand, b: Operand, target: Var | None = None) -> Var:
        if target is None:
            target = Var(names.fresh("_t"))
            types[target.name] = _INT
        out.append(Assign((target,), op, (a, b), (), pop.loc, pop.note))
        return target

    last = make("np.subtract", loop.stop, Const(1))
    if count.step == 1 and count.first == 0:
        make("np.subtract", last, loop.var, pop.target)
        return tuple(out)
    trip = make("np.subtract", last, loop.var)
    moved = trip if count.step == 1 else make("np.multiply", trip, Const(count.step))
    make("np.add", moved, Const(count.first), pop.target)
    return tuple(out)


__all__ = ["countdown"]
