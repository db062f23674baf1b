"""Operations that Numba lacks, as what they are made of: `np.sort(a, axis=0)` as a loop over rows, where it would be a call into Python.

`stgrad.rules.expansions` says what that is. Derivatives have been taken before: they come from the operation's own rule.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def steps(a):
    ...     return np.heaviside(a, 0.5)
    >>> show_pass("expand", stgrad.jit(steps), np.ones(3))
    return np.heaviside(a, 0.5)
    ->
    return np.where(np.isnan(a), a, np.where(a == 0.0, 0.5, np.where(a < 0.0, 0.0, 1.0)))
"""

from __future__ import annotations

from dataclasses import replace

from stgrad import errors
from stgrad.analysis.native import Natives
from stgrad.frontend import splice
from stgrad.frontend.builder import continuing
from stgrad.frontend.values import Value, leaves, operand_of, type_of
from stgrad.ir import Assign, Block, Function, Stmt, map_blocks
from stgrad.rules import EXPANSIONS
from stgrad.transforms.located import located
from stgrad.transforms.tangents import value_of


def expand(fn: Function) -> Function:
    """The program with every operation that has an expansion, and no native form, expanded, and masks beside other items of an index as positions."""
    fn = located(fn)
    builder = continuing(fn)
    natives = Natives(builder.types)
    value = value_of(builder)

    def expanded(stmt: Assign) -> Block:
        body, always = EXPANSIONS.get(stmt.op, (None, False))
        if body is None or not always and natives.has(natives.settled(stmt)):
            return (stmt,)
        builder.out, builder.loc, builder.note = [], stmt.loc, stmt.note
        mark = builder.mark()
        try:
            found: Value = splice(builder, body, tuple(map(value, stmt.args)), {k: value(v) for k, v in stmt.kwargs})
            results = [] if found is NotImplemented else list(leaves(found))
        except errors.StgradError:  # what the compiler cannot say in other words stays a call
            results = []
        wanted = [builder.types[t.name] for t in stmt.targets]
        if [(t.dtype, t.rank) for t in map(type_of, results)] != [(t.dtype, t.rank) for t in wanted]:
            mark()
            return (stmt,)
        inner = tuple(builder.out)
        named = [Assign((t,), "alias", (operand_of(result),), (), stmt.loc, stmt.note) for t, result in zip(stmt.targets, results, strict=True)]
        return (*block(inner), *named)

    def block(statements: Block) -> Block:
        return tuple(s for stmt in statements for s in one(map_blocks(block, stmt)))

    def one(stmt: Stmt) -> Block:
        return expanded(stmt) if isinstance(stmt, Assign) else (stmt,)

    body = block(fn.body)
    return replace(fn, body=body, types=builder.types)
