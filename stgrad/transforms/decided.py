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

from dataclasses import dataclass

from stgrad.analysis.following import Following
from stgrad.analysis.known import Known, at_start
from stgrad.ir import Block, Function, If, raises, walk

ROUNDS = 4  # what one round decides lets others be decided


def decide(fn: Function) -> Function:
    """The program without branches that are never taken, and with those that always are in the place of their conditions."""
    for _ in range(ROUNDS):
        if not any(isinstance(s, If) for s in walk(fn.body)):
            return fn
        walker = _Walk(at_start(fn))
        body = walker.block(fn.body)
        if not walker.decided:
            return fn
        fn = fn.with_body(body)
    return fn


@dataclass
class _Walk(Following[Known]):
    decided: int = 0

    def branch(self, stmt: If) -> Block:
        for block, holds in ((stmt.then, True), (stmt.orelse, False)):
            if self.known.excludes(stmt.cond, not holds) and not raises(block):
                self.decided += 1
                self.known = self.known.where(stmt.cond, holds)
                return self.block(block)
        return super().branch(stmt)
