"""`with insert_grad_of(x) as dx:` -> a function of the adjoint, and a call that takes it along.

    with insert_grad_of(x) as dx:           def _adjoint(dx):
        dx = np.clip(dx, -1.0, 1.0)    ->       dx = np.clip(dx, -1.0, 1.0)
                                                return (dx,)
                                            (x,) = insert_grad_of((x,), _adjoint)

The block runs in the reverse sweep alone, so what it binds is its own: names that the function uses outside of it are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.errors import UnsupportedSyntaxError
from stgrad.ir import Loc
from stgrad.names import Names
from stgrad.syntax.assigned import binders, own, parameters
from stgrad.syntax.build import assign, at, called_name, load
from stgrad.syntax.jumps import jumps

Locate = Callable[[Any], Loc] | None


def inserted_blocks(tree: gast.FunctionDef, names: Names, locate: Locate) -> gast.FunctionDef:
    """Blocks of adjoint code as functions. Changes the tree.

    Raises:
        UnsupportedSyntaxError: a block is left by a jump, shares names with the function around it, or is not about variables of that.
    """
    for function in [n for n in gast.walk(tree) if isinstance(n, gast.FunctionDef)]:
        blocks = [n for n in own(function.body) if is_block(n)]
        if blocks:
            _check(function, blocks, locate)
            function.body = _Rewriter(names).block(function.body)
    return tree


def is_block(node: Any) -> bool:
    """Whether it is `with insert_grad_of(x) as dx:`, of one variable or several."""
    return isinstance(node, gast.With) and all(_is_item(item) for item in node.items)


def _is_item(item: Any) -> bool:
    return called_name(item.context_expr) == "insert_grad_of"


def _check(function: Any, blocks: list[Any], locate: Locate) -> None:
    local = {name for name, _ in binders(function.body)} | parameters(function)
    within = {id(n) for block in blocks for part in (*block.body, *(i.optional_vars for i in block.items if i.optional_vars)) for n in gast.walk(part)}
    outside = {n.id for n in gast.walk(function) if isinstance(n, gast.Name) and id(n) not in within}
    for block in blocks:
        for item in block.items:
            call, name = item.context_expr, item.optional_vars
            if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], gast.Name) or call.args[0].id not in local:
                raise _error("`insert_grad_of` of something else than a variable of the function", "", "give the value a name first", item.context_expr, locate)
            if name is not None and not isinstance(name, gast.Name):
                raise _error("an adjoint with a name that is none", "", "write: with insert_grad_of(x) as dx", block, locate)
        bound = dict(binders([*block.body, *(i.optional_vars for i in block.items if i.optional_vars)]))
        for name, node in bound.items():
            if name in outside:
                raise _error(f"`{name}`, which a block of `insert_grad_of` binds, outside of it", _WHEN, "use another name in the block", node, locate)
        if jumps(block.body) or any(isinstance(n, (gast.Yield, gast.YieldFrom)) for n in own(block.body)):
            raise _error("a jump out of a block of `insert_grad_of`", _WHEN, "use `if`", block, locate)


_WHEN = "the block runs in the reverse sweep, when the function is done"


def _error(what: str, why: str, instead: str, node: Any, locate: Locate) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(f"{what} is not supported", locate(node) if locate is not None else None, reason=why, hint=instead)


class _Rewriter:
    def __init__(self, names: Names) -> None:
        self.names = names

    def block(self, stmts: list[Any]) -> list[Any]:
        return [new for stmt in stmts for new in self.statement(stmt)]

    def statement(self, stmt: Any) -> list[Any]:
        if isinstance(stmt, gast.FunctionDef):
            return [stmt]
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(stmt, part, None), list):
                setattr(stmt, part, self.block(getattr(stmt, part)))
        for handler in getattr(stmt, "handlers", ()):
            handler.body = self.block(handler.body)
        return self.inserted(stmt) if is_block(stmt) else [stmt]

    def inserted(self, stmt: Any) -> list[Any]:
        name = self.names.fresh("_adjoint")
        variables = [item.context_expr.args[0].id for item in stmt.items]
        named = [item.optional_vars for item in stmt.items]
        adjoints = [n.id if n is not None else self.names.fresh(f"_d{v}") for n, v in zip(named, variables, strict=True)]
        function = gast.parse(f"def {name}({', '.join(adjoints)}):\n    return ({', '.join(adjoints)},)").body[0]
        for node in gast.walk(function):  # at the place of the block
            node.lineno, node.end_lineno = stmt.lineno, stmt.lineno
        function.body = [*stmt.body, *function.body]
        values = gast.Tuple([load(v) for v in variables], gast.Load())
        call = gast.Call(stmt.items[0].context_expr.func, [values, load(name)], [])
        targets = gast.Tuple([gast.Name(v, gast.Store(), None, None) for v in variables], gast.Store())
        return [function, assign(stmt, at(stmt, targets), at(stmt, call))]


__all__ = ["inserted_blocks"]
