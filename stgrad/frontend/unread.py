"""Expressions that stand alone (`np.linalg.cholesky(a)`, `x[k]`): nobody reads what they give, and they are run for what they raise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stgrad.frontend.builder import Builder
from stgrad.frontend.escapes import tested
from stgrad.frontend.exceptions import in_the_place_of
from stgrad.frontend.values import Sym, Value
from stgrad.ir import Assign, Block, Const, Effect, Stmt, map_blocks


def keep_what_it_raises(builder: Builder, value: Value) -> None:
    """Put the tests of the operation that made a value before it: without a reader it is left out, and they are not."""
    last = builder.out[-1] if builder.out else None
    if isinstance(value, Sym) and isinstance(last, Assign) and value.operand in last.targets:
        builder.out[-1:] = _by_python(tested((last,), builder, lambda _: True), builder)


def _by_python(block: Block, builder: Builder) -> Block:
    """Exceptions of NumPy under the names of those of Python that they are."""
    return tuple(_one_by_python(s, builder) for s in block)


def _one_by_python(stmt: Stmt, builder: Builder) -> Stmt:
    if isinstance(stmt, Effect) and stmt.op == "raise" and stmt.args[0] == Const("LinAlgError") and isinstance(stmt.args[1], Const):
        says = str(stmt.args[1].value)
        shown = f"LinAlgError: {says}"
        in_the_place_of(builder, "ValueError", shown, np.linalg.LinAlgError(says))
        return replace(stmt, args=(Const("ValueError"), Const(shown)))
    return map_blocks(lambda block: _by_python(block, builder), stmt)


__all__ = ["keep_what_it_raises"]
