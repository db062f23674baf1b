"""What one statement does, whoever asks: whether it stands still, can fail, or multiplies matrices."""

from __future__ import annotations

from collections.abc import Mapping, Set

from stgrad.ir import Assign, Const, Stmt, Type, Var, reads
from stgrad.ir.ops import operation


def still(stmt: Stmt, moving: Set[str]) -> bool:
    """Whether a statement reads no name that its loop binds."""
    return moving.isdisjoint(reads(stmt))


def total(op: str) -> bool:
    """Whether an operation is arithmetic that never raises, for numbers."""
    known = operation(op)
    return known.kind == "arithmetic" and known.total


def never_fails(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether a statement makes a number from numbers, and cannot fail."""
    names = [t.name for t in stmt.targets]
    if len(names) != 1 or stmt.kwargs or any(types[n].array for n in (*names, *reads(stmt))):
        return False
    if operation(stmt.op).symbol in ("//", "%"):  # raise for 0 alone
        divisor = stmt.args[1]
        return isinstance(divisor, Const) and isinstance(divisor.value, int) and divisor.value != 0 and types[names[0]].dtype == "int64"
    return total(stmt.op)


def multiplies(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether a statement is a product of real matrices or stacks of them, or of one matrix with a vector, of one type."""
    if operation(stmt.op).kind != "product" or stmt.kwargs or len(stmt.args) != 2 or not all(isinstance(a, Var) for a in stmt.args):
        return False
    a, b = (types[n] for n in reads(stmt))
    return a.dtype == b.dtype in ("float64", "float32") and (min(a.rank, b.rank) > 1 or (a.rank, b.rank) in ((2, 1), (1, 2)))
