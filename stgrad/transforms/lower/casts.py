"""Scalar statements with the dtypes that NumPy would compute.

Before (x float32): `y = x * 0.5`; after: `y = x * np.float32(0.5)`. A weak variable (a Python number) is cast in a
statement of its own. Small integer powers become products.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def half(x):
    ...     return (x * 0.5) ** 3
    >>> show_pass("casts", stgrad.jit(half), np.float32(3.0))
    return (x * 0.5) ** 3
    ->
    t = x * np.float32(0.5)
    return t * t * t
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stgrad.ir import (
    Assign,
    Block,
    Const,
    Function,
    If,
    Operand,
    Stmt,
    Type,
    Var,
    map_blocks,
    rename,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.nest import Call, Expr, Load
from stgrad.transforms.lower.numeric import WIDE, element, literal
from stgrad.transforms.lower.scalarise import literal_of


def casts(fn: Function) -> Function:
    """Insert casts into the scalar statements of a function."""
    state = Casts(dict(fn.types), Names([*fn.types, *(getattr(s, "name", "") for s in walk(fn.body))]))
    body = state.block(fn.body)
    return replace(fn, body=body, types=state.types)


@dataclass
class Casts:
    types: dict[str, Type]
    names: Names

    def block(self, statements: Block) -> Block:
        return tuple(s for stmt in statements for s in self.statement(map_blocks(self.block, stmt)))

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Assign) and stmt.op == "alias":
            return [self.constant(stmt)]
        if not isinstance(stmt, Assign) or not operation(stmt.op).fused or stmt.kwargs or stmt.op == "np.clip" and Const(None) in stmt.args:
            return [stmt]
        args = [self.scalar(a) for a in stmt.args]
        exprs = tuple(a for a in args if a is not None)
        type_ = self.types[stmt.target.name]
        if len(exprs) != len(args) or type_.array:
            return [stmt]
        expr = element(stmt.op, exprs, type_.dtype)
        if expr is None or type_.weak and stmt.op not in ("np.power", "np.where"):
            return [stmt]
        out: list[Stmt] = []
        final = self.write(expr, out)
        if not out:
            return [replace(stmt, op="alias", args=(final,))]
        target = {final.name: stmt.target.name} if isinstance(final, Var) else {}
        (last,) = rename((out.pop(),), target)
        return [*out, replace(last, loc=stmt.loc, note=stmt.note)]

    def constant(self, stmt: Assign) -> Assign:
        """A number for a variable of a narrow dtype takes that dtype."""
        (value,), type_ = stmt.args, self.types[stmt.target.name]
        if type_.array or type_.weak or type_.dtype in WIDE or not isinstance(value, Const) or literal_of(value) is None:
            return stmt
        return replace(stmt, args=(literal(value.value, type_.dtype),))

    def scalar(self, operand: Operand) -> Expr | None:
        if isinstance(operand, Const):
            return literal_of(operand)
        if isinstance(operand, Var) and not self.types[operand.name].array:
            return Load(operand.name, (), self.types[operand.name].dtype, self.types[operand.name].weak)
        return None

    def write(self, expr: Expr, out: list[Stmt]) -> Operand:
        if isinstance(expr, Load):
            return Var(expr.buffer)
        if not isinstance(expr, Call):
            return expr.operand  # type: ignore[union-attr]
        args: list[Operand] = []
        for k, arg in enumerate(expr.args):
            args.append(args[0] if k and arg == expr.args[0] else self.write(arg, out))
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = Type(expr.dtype)
        if expr.op == "select":  # Numba's `np.where` makes an array, of scalars too
            then, orelse = (Assign((target,), "alias", (a,)) for a in args[1:])
            out.append(If(args[0], (then,), (orelse,)))
        else:
            out.append(Assign((target,), expr.op, tuple(args)))
        return target
