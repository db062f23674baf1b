"""What a program needs beside what its loops keep: the arrays that it makes. Known once it is lowered, it is tested against the budget of memory."""

from __future__ import annotations

from dataclasses import replace

from stgrad.analysis.residence import Size, resident
from stgrad.ir import Assign, Const, Effect, Function, Operand, Stmt, map_blocks, walk
from stgrad.names import Names
from stgrad.transforms.tallies import Tally, told


def settle_budget(fn: Function, lists: frozenset[str], budget: int | None) -> Function:
    """Fill in what a lowered program needs besides, where its loops share what is left of a budget; in other programs with a budget, test it at their entry.

    Args:
        fn: the program.
        lists: what loops keep, which they count themselves.
        budget: its bytes.
    """
    at = next((i for i, s in enumerate(fn.body) if any(_is_left(inner) for inner in walk((s,)))), None)
    if at is None and budget is None:
        return fn
    there = {symbol: (name, axis, offset) for p in fn.params for symbol, name, axis, offset in told(p.name, fn.types)}
    tally = Tally(Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types), there, frozenset(p.name for p in fn.params))
    base = _most(fn, lists, tally)
    if at is None:
        test = () if base == Const(0) else (*tally.out, Effect("runtime.budget_check", (base, Const(budget))))
        return replace(fn, body=(*test, *fn.body), types=tally.types)
    return replace(fn, body=(*fn.body[:at], *tally.out, *(_with_base(s, base) for s in fn.body[at:])), types=tally.types)


def _most(fn: Function, lists: frozenset[str], tally: Tally) -> Operand:
    """The bytes of the arrays that are there where most are; those of which nobody can tell the size do not count."""
    sizes: dict[Size, Operand | None] = {}
    found: Operand = Const(0)
    for place in resident(fn, lists):
        total: Operand = Const(0)
        for size, count in place.items():
            if size not in sizes:
                sizes[size] = tally.product(size[0], [tally.extent(dim) for dim in size[1]])
            one = sizes[size]
            total = total if one is None else tally.plus(total, tally.times(Const(count), one))
        found = total if found == Const(0) else found if total == Const(0) else tally.make("max", found, total)
    return found


def _is_left(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and stmt.op == "runtime.budget_left"


def _with_base(stmt: Stmt, total: Operand) -> Stmt:
    if isinstance(stmt, Assign) and _is_left(stmt):
        return replace(stmt, args=(stmt.args[0], total))
    return map_blocks(lambda block: tuple(_with_base(s, total) for s in block), stmt)


__all__ = ["settle_budget"]
