"""What a trip of a loop ends with is what the next one begins with: where the reverse sweep needs both, one of them is kept.

    for i in range(n):                         for i in range(n):
        x_stack.append(x)                          x_stack.append(x)
        x = f(x)                                   x = f(x)
        x_stack_2.append(x)            ->      ...
    ...                                        x_3 = x
    for i in range(n - 1, -1, -1):             for i in range(n - 1, -1, -1):
        x_3 = x_stack_2.pop()                      x_2 = x_stack.pop()
        x_2 = x_stack.pop()                        ...
        ...                                        x_3 = x_2

That holds for numbers; rows of arrays are wanted side by side, for one matrix product of all trips.

    >>> import numpy as np
    >>> import stgrad
    >>> def relax(w, n):
    ...     x = 0.5
    ...     for _ in range(n):
    ...         x = np.tanh(w * x)
    ...     return x
    >>> print(stgrad.grad(relax).source(0.5, 3).partition("with respect to w.")[2][3:].strip("\\n"))
        x_stack = []
        x = 0.5
        for t in range(n):
            x_stack.append(x)
            x = np.tanh(w * x)
        x_bar = 1.0
        w_bar = 0.0
        for t in range(n - 1, -1, -1):
            # grad of line 4: x = np.tanh(w * x)
            x_part_bar = x_bar * (1.0 - x * x)
            x = x_stack.pop()
            x_bar = x_part_bar * w
            w_bar += x_part_bar * x
        return w_bar
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stmt,
    Var,
    While,
    assigned,
    assigns,
    blocks,
    map_blocks,
    walk,
)

Loop = For | While


class _Trip:
    """Where the body of a loop binds names: the places of its statements, one for each time."""

    def __init__(self, loop: Loop) -> None:
        self.at = {id(s): k for k, s in enumerate(loop.body)}
        self.first = assigned(loop.head) if isinstance(loop, While) else set()
        self.bound: dict[str, list[int]] = {}
        self.aliases: dict[str, list[tuple[int, str]]] = {}
        for k, stmt in enumerate(loop.body):
            for name in (n for s in walk((stmt,)) for n in assigns(s)):
                self.bound.setdefault(name, []).append(k)
            if isinstance(stmt, Assign) and stmt.op == "alias" and isinstance(stmt.args[0], Var):
                self.aliases.setdefault(stmt.args[0].name, []).append((k, stmt.target.name))

    def end_of(self, push: Push) -> str | None:
        """The variable in which the next trip finds the number that is kept."""
        value, at = push.value, self.at[id(push)]
        if not isinstance(value, Var) or self.bound.get(value.name, (-1,))[-1] > at:
            return None
        handed = [name for k, name in self.aliases.get(value.name, ()) if k > at and sum(b > at for b in self.bound[name]) == 1]
        return handed[-1] if handed else value.name

    def begins_with(self, name: str, push: Push) -> bool:
        """Whether a push in the trip, of a variable that the trip changes, keeps what it began with."""
        return name not in self.first and name in self.bound and self.bound[name][0] >= self.at[id(push)]


@dataclass(frozen=True)
class _Site:
    """A push or a pop that every trip of a loop makes once."""

    stmt: Stmt
    loop: Loop
    around: Block  # the statements that the loop is one of
    kinds: tuple[str, ...]  # what the loop is inside of


@dataclass(frozen=True)
class _Kept:
    """What is kept of a number for a reversed loop."""

    push: Push
    pop: Pop
    forward: _Site
    reverse: _Site

    def holds(self, name: Operand) -> tuple[int, int, Operand]:
        """What another one has in common that keeps this variable, in the same loops."""
        return id(self.forward.loop), id(self.reverse.loop), name


def handed_over(fn: Function) -> Function:
    """The program without what is kept of numbers that the next trip begins with, where that is kept."""
    found = list(_kept(fn))
    if len(found) < 2:
        return fn
    counts = definitions(fn).counts
    trips = {key: _Trip(loop) for key, loop in {id(k.forward.loop): k.forward.loop for k in found}.items()}
    begins: dict[tuple[int, int, Operand], list[_Kept]] = {}
    for kept in found:
        if counts[kept.pop.target.name] == 1:
            begins.setdefault(kept.holds(kept.push.value), []).append(kept)
    edit = _Edit()
    for end in found:
        trip = trips[id(end.forward.loop)]
        name = trip.end_of(end.push)
        if name is None or counts[end.pop.target.name] != 1:
            continue
        for begin in begins.get(end.holds(Var(name)), ()):
            if begin is not end and not edit.without(begin) and trip.begins_with(name, begin.push):
                edit.keep_one(begin, end, name)
                break
    return replace(fn, body=edit.block(fn.body)) if edit.removed else fn


def _kept(fn: Function) -> Iterator[_Kept]:
    """The stacks of numbers that one statement of a loop pushes and one of another loop pops, once in each trip."""
    used: dict[str, list[Stmt]] = {}
    for stmt in walk(fn.body):
        if isinstance(stmt, (Push, Pop)):
            used.setdefault(stmt.stack, []).append(stmt)
    homes = {id(site.stmt): site for site in _sites(fn.body, ())}
    for stack, statements in used.items():
        if len(statements) != 2 or fn.types[stack].array:
            continue
        push, pop = statements
        forward, reverse = homes.get(id(push)), homes.get(id(pop))
        if isinstance(push, Push) and isinstance(pop, Pop) and forward and reverse and forward.kinds == reverse.kinds:
            yield _Kept(push, pop, forward, reverse)


def _sites(block: Block, kinds: tuple[str, ...]) -> Iterator[_Site]:
    for stmt in block:
        if isinstance(stmt, Custom):
            continue
        if isinstance(stmt, (For, While)):
            yield from (_Site(s, stmt, block, kinds) for s in stmt.body if isinstance(s, (Push, Pop)))
        kind = "loop" if isinstance(stmt, (For, While)) else type(stmt).__name__
        for inner in blocks(stmt):
            yield from _sites(inner, (*kinds, kind))


@dataclass
class _Edit:
    """Statements that go, and those that come before and behind others and at the end of loops; by their id."""

    removed: set[int] = field(default_factory=set)
    before: dict[int, list[Stmt]] = field(default_factory=dict)
    behind: dict[int, list[Stmt]] = field(default_factory=dict)
    last: dict[int, list[Stmt]] = field(default_factory=dict)

    def without(self, kept: _Kept) -> bool:
        return id(kept.push) in self.removed

    def keep_one(self, begin: _Kept, end: _Kept, name: str) -> None:
        self.removed |= {id(end.push), id(end.pop)}
        variable, carried = Var(name), end.pop.target
        loop, back = end.forward.loop, end.reverse.loop
        first: Stmt = replace(end.pop)
        around = end.forward.around
        if around is end.reverse.around and variable.name not in assigned(_between(around, loop, back)):
            first = Assign((carried,), "alias", (variable,), loc=end.pop.loc)
        else:
            self.behind.setdefault(id(loop), []).append(replace(end.push, value=variable))
        self.before.setdefault(id(back), []).append(first)
        self.last.setdefault(id(back), []).append(Assign((carried,), "alias", (begin.pop.target,), loc=begin.pop.loc))

    def block(self, statements: Block) -> Block:
        return tuple(new for stmt in statements for new in self._changed(stmt))

    def _changed(self, stmt: Stmt) -> Iterator[Stmt]:
        if id(stmt) in self.removed:
            return
        yield from self.before.get(id(stmt), ())
        inner = map_blocks(self.block, stmt)
        if isinstance(inner, (For, While)):
            inner = replace(inner, body=(*inner.body, *self.last.get(id(stmt), ())))
        yield inner
        yield from self.behind.get(id(stmt), ())


def _between(block: Block, first: Stmt, last: Stmt) -> Block:
    places = {id(s): k for k, s in enumerate(block)}
    return block[places[id(first)] + 1 : places[id(last)]]
