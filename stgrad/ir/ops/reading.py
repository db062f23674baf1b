"""What a statement reads of its operands, by what the table says of its operation."""

from __future__ import annotations

from stgrad.ir.core import Assign, Effect, Operand, Stmt
from stgrad.ir.ops.core import operation
from stgrad.ir.walks import operand_vars, reads


def read_operands(stmt: Assign | Effect) -> tuple[Operand, ...]:
    """Operands of which more than the extents matter."""
    extents = operation(stmt.op).extents
    return (*(a for i, a in enumerate(stmt.args) if i not in extents), *(v for _, v in stmt.kwargs))


def contents(stmt: Stmt) -> set[str]:
    """Names that a statement reads, but for arrays that it asks for their extents alone.

    >>> from stgrad.ir import Const, Var
    >>> contents(Assign((Var("y"),), "np.full_like", (Var("x"), Var("c"))))
    {'c'}
    """
    if isinstance(stmt, (Assign, Effect)):
        return {name for operand in read_operands(stmt) for name in operand_vars(operand)}
    return set(reads(stmt))
