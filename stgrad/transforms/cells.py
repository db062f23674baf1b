"""Arrays without axes as variables: what a program changes in place in one cell of memory, it assigns to a name.

    total = np.full((), 0.0)            total = 0.0
    same = total                ->
    for i in range(n):                  for i in range(n):
        same[()] += x[i]                    total = total + x[i]

All names of one array become one variable. That is right where no other name of it is read again behind a new array: then all names that are read mean
the same one. Names of arrays that nothing changes become a variable each. Else, and where other arrays look into it, the program is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

import numpy as np

from stgrad import errors
from stgrad.analysis.alias import sharing
from stgrad.analysis.liveness import Liveness
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Effect,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigns,
    map_blocks,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import operation

_CASTS = {"float64": "float", "int64": "int", "bool": "bool", "complex128": "complex"}


def cells(fn: Function, results: set[str]) -> tuple[Function, dict[str, str]]:
    """The program with variables in place of its arrays without axes.

    Args:
        fn: the program.
        results: names that are read behind it.

    Returns:
        The program, and the variable that stands for each name of such an array.

    Raises:
        AliasingError: one variable would not be the same.
    """
    names = {n for n, t in fn.types.items() if t.array and not t.rank}
    if not names:
        return fn, {}
    classes = sharing(fn)
    groups: dict[str, set[str]] = {}
    for n in fn.types:
        groups.setdefault(classes.find(n), set()).add(n)
    changed = {s.target.name for s in walk(fn.body) if isinstance(s, Store)}
    found = [g for g in groups.values() if g & names and (g & changed or not g & set(fn.constants))]  # captured ones stay arrays: nothing changes them
    one: dict[str, str] = {}
    for group in found:
        if group <= names and _is_one_variable(fn, group, results):
            one |= {n: min(group) for n in group}
        elif not group & changed and _are_numbers(fn, group & names):
            one |= {n: n for n in group & names}
        else:
            _refuse(fn, group & names)
    types = {**fn.types, **{n: Type(fn.types[n].dtype) for n in one}}
    body = rename(_rewritten(fn, one, types), {n: to for n, to in one.items() if n != to})
    return replace(fn, body=body, types=types), one


def check_looks(fn: Function, looks: Mapping[str, str], results: set[str]) -> None:
    """Refuse to read a number that is a view of an array, `x[0, ...]`, behind a write to the array.

    Args:
        fn: the program.
        looks: such numbers, and the arrays that they look into.
        results: names that are read behind it.

    Raises:
        AliasingError: at the write.
    """
    if not looks:
        return
    classes, live = sharing(fn), Liveness(fn.body, results)
    for stmt in walk(fn.body):
        if not isinstance(stmt, Store):
            continue
        if any(n in looks and looks[n] in fn.types and classes.same(looks[n], stmt.target.name) for n in live.after[id(stmt)]):
            raise errors.AliasingError(
                "an array is written to, and a view of one item of it is read later",
                stmt.loc,
                reason="`x[0, ...]` and `x.reshape(())` are views in NumPy, and are read as numbers here",
                hint="index without `...`: x[0]",
            )


def _refuse(fn: Function, group: set[str]) -> NoReturn:
    made = next((s for s in walk(fn.body) if group.intersection(assigns(s))), None)
    raise errors.AliasingError(
        "an array without axes is changed in place, and several names or arrays look at it",
        getattr(made, "loc", None),
        reason="it is kept in a variable, which has one name",
        hint="use an array with an axis, np.zeros(1), or numbers",
    )


def _is_one_variable(fn: Function, group: set[str], results: set[str]) -> bool:
    if any(p.name in group for p in fn.params):
        return False
    live = Liveness(fn.body, results)
    for stmt in walk(fn.body):
        if isinstance(stmt, (If, For, While)):
            continue
        made = group.intersection(assigns(stmt))
        used = group.intersection(reads(stmt))
        if (made or used) and not isinstance(stmt, (Assign, Store, Effect)):
            return False
        if made and not _is_alias(stmt, group) and (not _makes(fn, stmt) or (live.after[id(stmt)] & group) - made):
            return False
        if used and not _reads_value(fn, stmt, group):
            return False
    return True


def _are_numbers(fn: Function, group: set[str]) -> bool:
    """Whether arrays of one number, which nothing changes, are made of numbers: what looks into them may look at these."""
    makers = [s for s in walk(fn.body) if group.intersection(assigns(s))]
    return not any(p.name in group for p in fn.params) and all(_makes(fn, s) or _is_alias(s, group) for s in makers)


def _is_alias(stmt: Stmt, group: set[str]) -> bool:
    """Whether a statement gives an array another name: `b = a`, `b = a[...]`."""
    if not isinstance(stmt, Assign) or stmt.op not in ("alias", "getitem") or stmt.targets[0].name not in group:
        return False
    return isinstance(stmt.args[0], Var) and stmt.args[0].name in group


def _makes(fn: Function, stmt: Stmt) -> bool:
    """Whether a statement makes a new array from a number."""
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
        return False
    made = operation(stmt.op)
    if made.filled is not None:
        return len(stmt.args) > made.filled and _is_number(fn, stmt.args[made.filled])
    return made.fill is not None or stmt.op == "np.copy"


def _reads_value(fn: Function, stmt: Stmt, group: set[str]) -> bool:
    if isinstance(stmt, Store):
        return stmt.mode in ("set", "add") and (stmt.target.name not in group or _is_number(fn, stmt.value))
    if isinstance(stmt, Assign) and stmt.op == "getitem" and isinstance(stmt.args[0], Var) and stmt.args[0].name in group:
        return not fn.types[stmt.targets[0].name].rank
    return isinstance(stmt, Effect) or isinstance(stmt, Assign) and not _looks(stmt.op)


def _looks(op: str) -> bool:
    """Whether an operation asks an array for its form, or gives a view of it."""
    known = operation(op)
    return known.kind == "extent" or known.kind == "move" and known.views is not None


def _is_number(fn: Function, operand: Operand) -> bool:
    return isinstance(operand, Const) or isinstance(operand, Var) and not fn.types[operand.name].rank


def _rewritten(fn: Function, one: dict[str, str], types: dict[str, Type]) -> Block:
    def block(b: Block) -> Block:
        return tuple(new for s in b for new in ((map_blocks(block, s),) if isinstance(s, (If, For, While)) else statement(s)))

    def statement(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Store) and stmt.target.name in one:
            return stored(stmt)
        if not isinstance(stmt, Assign):
            return (stmt,)
        first = stmt.args[0] if stmt.args else None
        target = stmt.targets[0].name
        if target not in one:
            number = stmt.op == "getitem" and isinstance(first, Var) and first.name in one
            return (replace(stmt, op="alias", args=stmt.args[:1]) if number else stmt,)
        if stmt.op in ("alias", "getitem"):
            return () if one[target] == one[first.name] else (_assigned(target, first, stmt, types),)  # type: ignore[union-attr,arg-type]
        made = operation(stmt.op)
        if made.fill is not None:
            return (_assigned(target, Const(np.dtype(types[target].dtype).type(made.fill).item()), stmt, types),)
        return (_assigned(target, stmt.args[made.filled or 0], stmt, types),)

    def stored(stmt: Store) -> tuple[Stmt, ...]:
        target = stmt.target.name
        if stmt.mode == "set":
            return (_assigned(target, stmt.value, stmt, types),)
        if _dtype(stmt.value, types) == types[target].dtype:
            return (Assign((stmt.target,), "np.add", (stmt.target, stmt.value), (), stmt.loc, stmt.note),)
        wide = f"{one[target]}_sum"
        while wide in types:
            wide += "_"
        types[wide] = Type(str(np.result_type(types[target].dtype, _dtype(stmt.value, types))))
        return (Assign((Var(wide),), "np.add", (stmt.target, stmt.value), (), stmt.loc, stmt.note), _assigned(target, Var(wide), stmt, types))

    return block(fn.body)


def _assigned(target: str, value: Operand, stmt: Stmt, types: dict[str, Type]) -> Stmt:
    """A number gets a value, in its dtype."""
    dtype = types[target].dtype
    if isinstance(value, Const):
        return Assign((Var(target),), "alias", (Const(np.dtype(dtype).type(value.value).item()),), (), stmt.loc, stmt.note)
    if _dtype(value, types) == dtype:
        return Assign((Var(target),), "alias", (value,), (), stmt.loc, stmt.note)
    cast = _CASTS.get(dtype)
    return Assign((Var(target),), cast or "cast", (value,) if cast else (value, Const(dtype)), (), stmt.loc, stmt.note)


def _dtype(value: Operand, types: dict[str, Type]) -> str:
    return types[value.name].dtype if isinstance(value, Var) else str(np.asarray(value.value).dtype) if isinstance(value, Const) else ""
