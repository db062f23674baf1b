"""Branches of which only one can ever be taken.

    if c.shape[0] == 0: raise ...                 c.shape[0] is at least 1 from here on
    if c.shape[0] == 0: failed = True             never
    elif -1 < -c.shape[0]: failed = True          never, so that `failed` stays False, and what asks for it is decided, too

Code of libraries asks the same of its arguments again in each function, and an index inside of a `try` is a branch. What is decided here is neither
differentiated nor compiled, and names that two branches assigned are what the one says. A condition on integers and extents is decided by what is known
where it stands (`analysis.known`); one on numbers of the program never is. Behind a line that always raises, nothing is left (`end_where_it_raises`).

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

import numpy as np

from stgrad.analysis.following import Following
from stgrad.analysis.known import Known, at_start
from stgrad.ir import Assign, Block, Const, For, Function, If, Pack, Stmt, Type, Var, certain, map_blocks, operand_vars, raises, walk
from stgrad.types import Dim

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


def end_where_it_raises(fn: Function) -> Function:
    """The program without what stands behind a line that always raises. What would have been its result is an empty one, which nobody gets."""
    body = _ended(fn.body)
    if not raises(body):
        return fn if body is fn.body else fn.with_body(body)
    bound = certain(body) | {p.name for p in fn.params} | set(fn.constants)
    lost = sorted(set(operand_vars(fn.result)) - bound)
    types = dict(fn.types) | {name: replace(fn.types[name], dims=(Dim(None, 0),) * fn.types[name].rank, value=None) for name in lost}
    return fn.with_body((*body, *(_empty(name, types[name]) for name in lost)), types=types)


def _ended(block: Block) -> Block:
    """A block up to the first statement that always raises; the same object where there is none."""
    out: list[Stmt] = []
    for stmt in block:
        out.append(map_blocks(_ended, stmt) if isinstance(stmt, If | For) else stmt)  # a `while` counts at its end, a region has outputs
        if raises((stmt,)):
            break
    same = len(out) == len(block) and all(a is b for a, b in zip(out, block, strict=True))
    return block if same else tuple(out)


def _empty(name: str, type_: Type) -> Assign:
    dtype = Const(type_.dtype)
    if type_.array:
        return Assign((Var(name),), "np.zeros", (Pack((Const(0),) * type_.rank),), (("dtype", dtype),))
    return Assign((Var(name),), "alias" if type_.weak else "cast", (Const(np.dtype(type_.dtype).type(0).item()),) + (() if type_.weak else (dtype,)))
