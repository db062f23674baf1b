"""What statements may be made of: operations that exist, ranks and dtypes that fit, conditions and bounds that are numbers.

`complaint(stmt, types)` gives the first thing that is wrong with one statement, apart from what stands around it. Names without a
type are not looked at: `stgrad.verify` says that they have none.

    complaint(Assign((Var("y"),), "np.nothing", (Var("x"),)), {})          'there is no operation `np.nothing`'
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np

from stgrad.ir.core import Assign, Const, For, If, Operand, Slice, Stmt, Store, Var, While
from stgrad.ir.ops import Operation, operation
from stgrad.ir.walks import entries_of
from stgrad.types import Type

Types = Mapping[str, Type]
_TRUTHS = ("comparison", "logical", "predicate")


def complaint(stmt: Stmt, types: Types) -> str | None:
    """What is wrong with a statement itself; None where nothing is."""
    return next(_complaints(stmt, types), None)


def _complaints(stmt: Stmt, types: Types) -> Iterator[str]:
    match stmt:
        case Assign():
            yield from _assignment(stmt, types)
        case Store():
            yield from _store(stmt, types)
        case If() | While():
            if _is_array(stmt.cond, types):
                yield f"the condition `{_name(stmt.cond)}` is an array"
        case For():
            yield from _bounds(stmt, types)


def type_of(operand: Operand, types: Types) -> Type | None:
    return types.get(operand.name) if isinstance(operand, Var) else None


def _name(operand: Operand) -> str:
    return operand.name if isinstance(operand, Var) else repr(operand.value) if isinstance(operand, Const) else repr(operand)


def _is_array(operand: Operand, types: Types) -> bool:
    known = type_of(operand, types)
    return known is not None and known.array and known.rank > 0


def _is_whole(operand: Operand, types: Types) -> bool:
    """Whether an operand may be an integer."""
    if isinstance(operand, Const):
        return isinstance(operand.value, (int, np.integer))
    known = type_of(operand, types)
    return known is None or known.dtype.startswith(("int", "uint", "bool"))


def _bounds(stmt: For, types: Types) -> Iterator[str]:
    for what, bound in (("start", stmt.start), ("stop", stmt.stop), ("step", stmt.step)):
        if _is_array(bound, types) or not _is_whole(bound, types):
            yield f"the {what} of a loop, `{_name(bound)}`, is no integer"
    if stmt.step == Const(0):
        yield "the step of a loop is 0"


# --------------------------------------------------------------------------- assignments


def _is_ufunc(op: str) -> bool:
    """Whether an operation without a row or a rule is a universal function, which has its meaning from NumPy: derivatives go around it."""
    module, _, name = op.rpartition(".")
    return isinstance(getattr(sys.modules.get({"np": "numpy"}.get(module, module)), name, None), np.ufunc)


def _assignment(stmt: Assign, types: Types) -> Iterator[str]:
    known = operation(stmt.op)
    if not known.known and not _is_ufunc(stmt.op):
        yield f"there is no operation `{stmt.op}`"
    if known.arity is not None and len(stmt.args) != known.arity:
        yield f"`{stmt.op}` takes {known.arity} operands, not {len(stmt.args)}"
        return
    if len(stmt.targets) != 1:
        return
    target = types.get(stmt.target.name)
    if target is not None and known.kind in _TRUTHS and target.dtype != "bool":
        yield f"`{stmt.op}` gives a truth value, and `{stmt.target.name}` is {target}"
    if target is not None and known.fused:
        yield from _elementwise(stmt, target, types)
    if known.name == "shape":
        yield from _extent(stmt, types)
    if known.kind == "element":
        yield from _element(stmt, known, target, types)


def _elementwise(stmt: Assign, target: Type, types: Types) -> Iterator[str]:
    ranks = [t.rank for a in stmt.args if (t := type_of(a, types)) is not None]
    if ranks and len(ranks) == sum(isinstance(a, Var) for a in stmt.args) and not stmt.kwargs and target.rank != max(ranks):
        yield f"`{stmt.op}` of rank {max(ranks)} is given to `{stmt.target.name}`, which is {target}"


def _extent(stmt: Assign, types: Types) -> Iterator[str]:
    array, axis = type_of(stmt.args[0], types), stmt.args[1]
    if array is None or not isinstance(axis, Const):
        return
    if not array.array:
        yield f"the extent of `{_name(stmt.args[0])}`, which is no array"
    elif type(axis.value) is not int or not -array.rank <= axis.value < array.rank:
        yield f"the extent of axis {axis.value!r} of `{_name(stmt.args[0])}`, which is {array}"


# --------------------------------------------------------------------------- elements


def region_rank(array: Type, index: Operand, types: Types) -> int | str | None:
    """The rank of `array[index]`; what is wrong with the index; None where arrays in it decide."""
    rank, taken = array.rank, 0
    for item in entries_of(index):
        known = type_of(item, types)
        if isinstance(item, Var) and (known is None or known.array):
            return None
        if item == Const(None):
            rank += 1
        elif isinstance(item, Slice):
            taken += 1
        elif isinstance(item, Const) and not isinstance(item.value, (int, np.integer)):
            if item.value is not Ellipsis and not isinstance(item.value, slice):
                return f"the position {item.value!r} is no integer"
            taken += item.value is not Ellipsis
        elif isinstance(item, (Var, Const)) and _is_whole(item, types):
            rank, taken = rank - 1, taken + 1
        else:
            return f"the position `{_name(item)}` is no integer"
    return rank if taken <= array.rank else f"{taken} positions in an array of rank {array.rank}"


def _element(stmt: Assign, known: Operation, target: Type | None, types: Types) -> Iterator[str]:
    array = type_of(stmt.args[0], types)
    if array is None:
        return
    if not array.array:
        yield f"an element of `{_name(stmt.args[0])}`, which is no array"
        return
    rank = region_rank(array, stmt.args[1], types)
    if isinstance(rank, str):
        yield rank
    elif rank is not None and target is not None and rank != target.rank:
        yield f"a part of rank {rank} is given to `{stmt.target.name}`, which is {target}"


def _store(stmt: Store, types: Types) -> Iterator[str]:
    array, value = types.get(stmt.target.name), type_of(stmt.value, types)
    if array is None or not array.array:
        return
    rank = region_rank(array, stmt.index, types)
    if isinstance(rank, str):
        yield rank
    elif rank == 0 and value is not None and value.rank:
        yield f"`{_name(stmt.value)}`, which is {value}, is stored into one element of `{stmt.target.name}`"
    if value is not None and value.dtype.startswith("complex") and not array.dtype.startswith(("complex", "object")):
        yield f"`{_name(stmt.value)}`, which is complex, is stored into `{stmt.target.name}`, which is {array}"


__all__ = ["complaint", "region_rank", "type_of"]
