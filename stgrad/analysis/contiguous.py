"""Arrays that are certainly stored row after row: what a reshape gives of them is a view, never a copy.

    x = np.empty((2, 3))       contiguous
    y = x[1:]                  contiguous: whole rows
    z = x[:, 1:]               not
    s = np.sin(x)              contiguous as `x` is: NumPy keeps the layout of its operands

Parameters are not: callers pass arrays of any layout. But for those that the program tests first (`check_rows`). Assumed of all names, and taken
back until nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection

from stgrad.analysis.alias import viewed
from stgrad.analysis.manager import kept
from stgrad.ir import (
    NONE,
    Assign,
    Const,
    Custom,
    Effect,
    Function,
    Operand,
    Pop,
    Push,
    Slice,
    Stmt,
    Type,
    Var,
    assigns,
    entries_of,
    gathers,
    operand_vars,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.rules import lookup


def contiguous(fn: Function, trusted: Collection[str] = ()) -> frozenset[str]:
    """Names of arrays (and of stacks of arrays) whose memory is in the order of rows wherever they are bound; `trusted` parameters are."""
    return _contiguous(fn, frozenset(trusted))


@kept
def _contiguous(fn: Function, trusted: frozenset[str]) -> frozenset[str]:
    taken = {p.name for p in fn.params} - trusted - _tested(fn)
    statements = list(walk(fn.body))
    if any(isinstance(s, Custom) for s in statements):
        return frozenset()
    while True:
        lost = {n for s in statements for n in _scattered(s, fn, taken)} - taken
        if not lost:
            return frozenset(n for n in fn.types if n not in taken) | frozenset(s.stack for s in statements if isinstance(s, Push)) - taken
        taken |= lost


def _tested(fn: Function) -> set[str]:
    return {n for s in fn.body if isinstance(s, Effect) and s.op == "check_rows" for n in operand_vars(s.args[0])}


def rowwise(stmt: Assign) -> bool:
    """Whether a reshape reads and writes in the order of rows."""
    orders = [v for k, v in stmt.kwargs if k == "order"] + list(stmt.args[2 if stmt.op == "np.reshape" else 1 :])
    return all(o == Const("C") for o in orders) and all(k in ("order", "shape", "newshape") for k, _ in stmt.kwargs)


def _scattered(stmt: Stmt, fn: Function, taken: set[str]) -> set[str]:
    """What a statement binds to memory that may be in another order."""
    if isinstance(stmt, Push):
        return {stmt.stack} if isinstance(stmt.value, Var) and stmt.value.name in taken else set()
    if isinstance(stmt, Pop):
        return {stmt.target.name} if stmt.stack in taken else set()
    if not isinstance(stmt, Assign):
        return set()
    arrays = [t for t in assigns(stmt) if fn.types[t].array]
    return set() if not arrays or _in_order(stmt, fn.types[arrays[0]], fn, taken) else set(arrays)


def _in_order(stmt: Assign, type_: Type, fn: Function, taken: set[str]) -> bool:
    ordered = all(n not in taken for a in stmt.args for n in operand_vars(a) if fn.types[n].array)
    made = operation(stmt.op)
    if made.made == "rows":
        return all(k == "dtype" for k, _ in stmt.kwargs) and not any(isinstance(a, Const) and isinstance(a.value, str) and a.value == "F" for a in stmt.args)
    if made.kind == "identity":
        return ordered
    if made.made == "reshaped":
        return ordered and rowwise(stmt)
    if made.made == "rowwise":
        return ordered
    if stmt.op == "getitem":
        return type_.rank == 1 if gathers(stmt.args[1], fn.types) else ordered and _rows(stmt.args[1])
    return viewed(stmt, fn.types) is None and (type_.rank == 1 or ordered and _keeps(stmt.op))


def _keeps(op: str) -> bool:
    rule = lookup(op)
    return operation(op).made == "follows" or rule is not None and rule.kind == "partials"


def _rows(index: Operand) -> bool:
    """Whether an index gives whole rows of what is left: positions, then at most one slice of step 1."""
    entries = entries_of(index)
    for k, entry in enumerate(entries):
        if isinstance(entry, Slice):
            return k == len(entries) - 1 and entry.step == NONE
        if isinstance(entry, Const) and type(entry.value) is not int:
            return False
    return True
