"""Branches of which only one can ever be taken.

    if c.shape[0] == 0: raise ...                 c.shape[0] is at least 1 from here on
    if c.shape[0] == 0: failed = True             never
    elif -1 < -c.shape[0]: failed = True          never, so that `failed` stays False, and what asks for it is decided, too

Code of libraries asks the same of its arguments again in each function, and an index inside of a `try` is a branch. What is decided here is neither
differentiated nor compiled, and names that two branches assigned are what the one says. A condition on integers and extents is decided by what is known
where it stands (`analysis.known`); one on numbers of the program never is.

    >>> import numpy as np
    >>> import stgrad
    >>> def last(x):
    ...     if len(x) == 0:
    ...         raise ValueError("no items")
    ...     return x[-1] * 2.0 if len(x) > 0 else 0.0
    >>> print(stgrad.jit(last).lowered(np.ones(5)))
    def last(x):
        if x.shape[0] == 0:
            raise ValueError('no items')
        return x[-1] * 2.0
    <BLANKLINE>
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import Extents, parameter_extents
from stgrad.analysis.integers import Integers
from stgrad.analysis.intervals import intervals
from stgrad.analysis.known import Known
from stgrad.ir import Assign, Block, Custom, Effect, For, Function, If, Stmt, While, assigned, raises, walk
from stgrad.names import Names

ROUNDS = 4  # what one round decides lets others be decided


def decide(fn: Function) -> Function:
    """The program without branches that are never taken, and with those that always are in the place of their conditions."""
    for _ in range(ROUNDS):
        if not any(isinstance(s, If) for s in walk(fn.body)):
            return fn
        sources = dict(parameter_extents(fn))
        integers = Integers(fn.types, definitions(fn), Extents(Names(), dict(fn.types), sources, frozenset(sources)))
        walker = _Walk(Known(integers, intervals(fn)))
        body = walker.block(fn.body)
        if not walker.decided:
            return fn
        fn = fn.with_body(body)
    return fn


@dataclass
class _Walk:
    known: Known
    decided: int = 0

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Block:
        match stmt:
            case If():
                return self.branch(stmt)
            case For():
                return (self.loop(stmt),)
            case While():
                return (self.while_loop(stmt),)
            case Custom():
                return (self.custom(stmt),)
            case Assign():
                self.known.assign(stmt)
            case _ if not isinstance(stmt, Effect):
                self.known.forget(assigned((stmt,)))
        return (stmt,)

    def branch(self, stmt: If) -> Block:
        for block, holds in ((stmt.then, True), (stmt.orelse, False)):
            if self.known.excludes(stmt.cond, not holds) and not raises(block):
                self.decided += 1
                self.known = self.known.where(stmt.cond, holds)
                return self.block(block)
        around, ends, blocks = self.known, [], []
        for block, holds in ((stmt.then, True), (stmt.orelse, False)):
            self.known = around.where(stmt.cond, holds)
            blocks.append(self.block(block))
            ends.append(self.known)
        self.known = around
        new = replace(stmt, then=blocks[0], orelse=blocks[1])
        around.behind(new, ends)
        return (new,)

    def loop(self, loop: For) -> Stmt:
        around, loops = self.known, self.known.integers.loops
        self.known = around.body(loop, assigned((loop,)))
        self.known.integers.loops = (*loops, loop)
        body = self.block(loop.body)
        self.known.integers.loops = loops
        self.known = around
        return replace(loop, body=body)

    def while_loop(self, loop: While) -> Stmt:
        self.known.forget(assigned((loop,)))
        around, self.known = self.known, self.known.copy()
        head = self.block(loop.head)
        after, self.known = self.known.where(loop.cond, False), self.known.where(loop.cond, True)
        body = self.block(loop.body)
        self.known = around
        around.take(after)
        return replace(loop, head=head, body=body)

    def custom(self, stmt: Custom) -> Stmt:
        around = self.known
        self.known = around.copy()
        body = self.block(stmt.body)
        self.known = Known(around.integers, around.ranges)
        pullback = self.block(stmt.pullback)
        self.known = around
        around.forget(assigned((stmt,)))
        return replace(stmt, body=body, pullback=pullback)
