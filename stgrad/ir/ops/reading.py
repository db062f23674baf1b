"""What a statement reads of its operands and what it gives, by what the table says of its operation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stgrad.ir.core import Assign, Effect, Operand, Stmt, Type, Var
from stgrad.ir.ops.core import operation
from stgrad.ir.walks import gathers, operand_vars, operands, reads


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


def readonly(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether an operation gives an array that NumPy does not let anybody write to: a broadcast one, a diagonal, windows.

    >>> from stgrad.ir import Dim
    >>> vector, matrix = Type("float64", (Dim("n"),), True), Type("float64", (Dim("n"), Dim("n")), True)
    >>> readonly(Assign((Var("y"),), "np.diag", (Var("x"),)), {"x": matrix, "y": vector})
    True
    >>> readonly(Assign((Var("y"),), "np.diag", (Var("x"),)), {"x": vector, "y": matrix})
    False
    """
    said, first = operation(stmt.op).readonly, stmt.args[0] if stmt.args else None
    return said == "always" or (said == "smaller" and isinstance(first, Var) and types[stmt.targets[0].name].rank < types[first.name].rank)


def may_view(stmt: Assign) -> bool:
    """Whether the results of a statement may share memory with its arguments."""
    known = operation(stmt.op)
    return known.views is not None or not known.known or stmt.op == "runtime.matmul" and bool(stmt.kwargs)


def sources(stmt: Stmt, types: Mapping[str, Type], *, moved: bool = True) -> tuple[str, ...]:
    """Arrays whose memory the arrays that a statement binds may share. `moved`: also where they take it over, as sums that have nothing to add do."""
    if not isinstance(stmt, Assign) or not may_view(stmt):
        return ()
    known = operation(stmt.op)
    if stmt.op == "runtime.matmul":
        read = tuple(v for _, v in stmt.kwargs)
    elif known.views is None:
        read = operands(stmt)
    elif known.sharing == "moves" and not moved or known.kind == "element" and gathers(stmt.args[1], types):
        return ()  # arrays in an index make a new array
    elif adds_zeros(stmt, types):
        return ()  # a matrix with a vector on its diagonal
    else:
        read = stmt.args[known.views : known.views + 1]
    return tuple(n for operand in read for n in operand_vars(operand) if n in types and types[n].array)


def viewed(stmt: Stmt, types: Mapping[str, Type]) -> str | None:
    """The array whose memory the result of an assignment shares, or may share; None where it is fresh or a scalar."""
    if not isinstance(stmt, Assign) or not types[stmt.targets[0].name].array:
        return None
    return next(iter(sources(stmt, types, moved=False)), None)


def adds_zeros(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether an operation puts elements among zeros: a triangle of a matrix, a matrix with a row on its diagonal.

    >>> from stgrad.ir import Dim
    >>> vector, matrix = Type("float64", (Dim("n"),), True), Type("float64", (Dim("n"), Dim("n")), True)
    >>> adds_zeros(Assign((Var("y"),), "np.diag", (Var("x"),)), {"x": vector, "y": matrix})
    True
    >>> adds_zeros(Assign((Var("y"),), "np.diag", (Var("x"),)), {"x": matrix, "y": vector})
    False
    """
    said, first = operation(stmt.op).zeros, stmt.args[0] if stmt.args else None
    return said == "always" or (said == "larger" and isinstance(first, Var) and types[stmt.targets[0].name].rank > types[first.name].rank)


def makes_an_object(name: str) -> bool:
    """Whether what an operation gives is an object that was not there before, if it is an array: new memory, or a new view.

    >>> makes_an_object("np.exp"), makes_an_object("getitem"), makes_an_object("np.asarray"), makes_an_object("alias")
    (True, True, False, False)
    """
    known = operation(name)
    if known.kind in ("move", "element") or known.kind == "copy" and known.like:
        return True
    return known.known and known.kind not in ("copy", "identity", "call", "choice") and known.views is None and not known.sharing


def hands_on_at_most(name: str) -> bool:
    """Whether what an operation gives is a new object or one of its arguments, if it is an array.

    >>> hands_on_at_most("np.asarray"), hands_on_at_most("runtime.call_python")
    (True, False)
    """
    known = operation(name)
    return known.known and known.kind != "call"


def counts_from(start: Any) -> bool:
    """Whether `np.arange(start, n)` counts as positions do: from a whole number, not below 0.

    >>> counts_from(1), counts_from(2.0), counts_from(0.5), counts_from(-1), counts_from(float("inf"))
    (True, True, False, False, False)
    """
    whole = isinstance(start, int) or isinstance(start, float) and start.is_integer()
    return whole and math.copysign(1.0, start) > 0.0
