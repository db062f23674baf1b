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
from stgrad.ir import Assign, Block, Custom, For, Function, Pop, Push, Stmt, Var, While, assigned, assigns, blocks, map_blocks, walk

Loop = For | While


@dataclass(frozen=True)
class _Site:
    """A push or a pop that every trip of a loop makes once."""

    stmt: Stmt
    loop: Loop
    around: Block  # the statements that the loop is one of
    kinds: tuple[str, ...]  # what the loop is inside of

    @property
    def before(self) -> Block:
        """The statements of a trip before this one."""
        return self.loop.body[: self._at]

    @property
    def behind(self) -> Block:
        return self.loop.body[self._at + 1 :]

    @property
    def _at(self) -> int:
        return next(k for k, s in enumerate(self.loop.body) if s is self.stmt)


@dataclass(frozen=True)
class _Kept:
    """What is kept of a number for a reversed loop."""

    push: Push
    pop: Pop
    forward: _Site
    reverse: _Site


def handed_over(fn: Function) -> Function:
    """The program without what is kept of numbers that the next trip begins with, where that is kept."""
    found = list(_kept(fn))
    if len(found) < 2:
        return fn
    counts = definitions(fn).counts
    edit = _Edit()
    ends = [k for k in found if counts[k.pop.target.name] == 1 and _end_of(k) is not None]
    for end in ends:
        for begin in found:
            if begin is not end and not edit.without(begin) and counts[begin.pop.target.name] == 1 and _follows(begin, end):
                edit.keep_one(begin, end)
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


def _end_of(kept: _Kept) -> str | None:
    """The variable in which the next trip finds the number that is kept."""
    value, behind = kept.push.value, kept.forward.behind
    later = [name for s in walk(behind) for name in assigns(s)]
    if not isinstance(value, Var) or value.name in later:
        return None
    handed = [s.target.name for s in behind if isinstance(s, Assign) and s.op == "alias" and s.args == (value,) and later.count(s.target.name) == 1]
    return handed[-1] if handed else value.name


def _follows(begin: _Kept, end: _Kept) -> bool:
    """Whether one keeps what a variable holds as a trip begins, the other what the same variable holds as it ends."""
    site, name = begin.forward, _end_of(end)
    if name is None or site.loop is not end.forward.loop or begin.reverse.loop is not end.reverse.loop or begin.push.value != Var(name):
        return False
    head = site.loop.head if isinstance(site.loop, While) else ()
    return name not in assigned((*head, *site.before)) and name in assigned(site.loop.body)


@dataclass
class _Edit:
    """Statements that go, and those that come before and behind others and at the end of loops; by their id."""

    removed: set[int] = field(default_factory=set)
    before: dict[int, list[Stmt]] = field(default_factory=dict)
    behind: dict[int, list[Stmt]] = field(default_factory=dict)
    last: dict[int, list[Stmt]] = field(default_factory=dict)

    def without(self, kept: _Kept) -> bool:
        return id(kept.push) in self.removed

    def keep_one(self, begin: _Kept, end: _Kept) -> None:
        self.removed |= {id(end.push), id(end.pop)}
        variable, carried = Var(_end_of(end) or ""), end.pop.target
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
