"""Products in which a zero cotangent wins over an infinite partial (`picked`), known by what they are made of.

    zero = g == 0.0
    far = np.logical_not(np.isfinite(p))              ->   y = runtime.safe_product(g, p)
    y = g * np.where(np.logical_and(zero, far), 0.0, p)

What runs keeps the operations, which passes fuse and leave out one by one; what people read has one name. In a tangent the zero wins over
the tangent of the partial, too, which may be infinite where the partial is not (`exp(-1 / x)` at 0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from stgrad.analysis.alias import sharing
from stgrad.analysis.definitions import definitions
from stgrad.ir import Assign, Block, Const, Function, If, Operand, Stmt, Var, assigned, blocks, operand_vars, stored, walk
from stgrad.ir.ops import operation

Made = Mapping[str, Assign]  # by the name that a statement makes, where nothing else binds it


def guarded(stmt: Assign, before: Sequence[Stmt], made: Made, settled: Set[str]) -> Assign:
    """A product of a cotangent and a partial under one name, if it is guarded.

    `before` are the statements of its block in front of it, `settled` the names whose values never change.
    """
    for g, kept in (stmt.args, stmt.args[::-1]):
        p = _replaced(g, kept, before, made, settled)
        if p is not None:
            return replace(stmt, op="runtime.safe_product", args=(g, p))
    return stmt


def partials_of_products(fn: Function) -> dict[int, tuple[int, Operand]]:
    """Of each guarded product, by its identity, which factor stands for the partial, and the partial."""
    known = definitions(fn)
    made = {n: s for n, s in known.once.items() if isinstance(s, Assign) and len(s.targets) == 1}
    if not any(s.op == "np.isfinite" for s in made.values()):
        return {}
    made |= choices(fn.body, known.counts)
    classes = sharing(fn)
    written = {classes.find(n) for n in stored(fn.body)}
    settled = {n for n, count in known.counts.items() if count == 1 and classes.find(n) not in written}
    found: dict[int, tuple[int, Operand]] = {}
    for block in _blocks(fn.body):
        for at, stmt in enumerate(block):
            if isinstance(stmt, Assign) and stmt.op == "np.multiply":
                for k in (k for k, factor in enumerate(stmt.args) if _of(factor, "np.where", made) is not None):
                    p = _replaced(stmt.args[1 - k], stmt.args[k], block[:at], made, settled)
                    if p is not None:
                        found[id(stmt)] = k, p
    return found


def choices(body: Block, counts: Mapping[str, int]) -> dict[str, Assign]:
    """The choices between two numbers by the name that they make, where nothing else binds it; `counts` says how often names are bound."""
    return {s.target.name: s for s in map(_chosen, walk(body)) if s is not None and counts[s.target.name] == 2}


def _chosen(stmt: Stmt) -> Assign | None:
    """A choice between two numbers, as a choice between two arrays is written."""
    match stmt:
        case If(test, (Assign((w,), "alias", (a,)),), (Assign((v,), "alias", (b,)),)) if w == v:
            return Assign((w,), "np.where", (test, a, b), loc=stmt.loc)
    return None


def _blocks(body: Block) -> Iterator[Block]:
    yield body
    for stmt in walk(body):
        yield from blocks(stmt)


def _replaced(g: Operand, kept: Operand, before: Sequence[Stmt], made: Made, settled: Set[str]) -> Operand | None:
    """The partial that a factor stands for, with a zero in its place where the other factor is zero."""
    found = _partial(g, kept, made)
    if found is not None and (_in(settled, g, found[1]) or _undisturbed(before, found[0], g, found[1])):
        return found[1]
    return None


def _in(settled: Set[str], *operands: Operand) -> bool:
    return all(isinstance(o, Const) or isinstance(o, Var) and o.name in settled for o in operands)


def _undisturbed(before: Sequence[Stmt], first: Assign, *operands: Operand) -> bool:
    """Whether the statements from the test on compute only, and bind none of some names."""
    kept = {n for o in operands for n in operand_vars(o)}
    for stmt in reversed(before):
        if stmt is first:
            return True
        if not isinstance(stmt, Assign) and _chosen(stmt) is None or not kept.isdisjoint(assigned((stmt,))):
            break
    return False


def _partial(g: Operand, kept: Operand, made: Made) -> tuple[Assign, Operand] | None:
    """Of `np.where(g is zero and p is not finite, 0.0, p)`: the test whether g is zero, and p."""
    choice = _of(kept, "np.where", made)
    if choice is None or choice.args[1] != Const(0.0):
        return None
    test, p = _of(choice.args[0], "np.logical_and", made), choice.args[2]
    far = _of(test.args[1], "np.logical_not", made) if test is not None else None
    finite = _of(far.args[0], "np.isfinite", made) if far is not None else None
    zero = _of(test.args[0], "np.equal", made) if test is not None else None
    if zero is None or finite is None or finite.args[0] != p or zero.args[1] != Const(0.0):
        return None
    return (zero, p) if g in _holding(zero.args[0], made) else None


def _of(operand: Operand, op: str, made: Made) -> Assign | None:
    found = made.get(operand.name) if isinstance(operand, Var) else None
    return found if found is not None and found.op == op and not found.kwargs else None


def _holding(operand: Operand, made: Made) -> list[Operand]:
    """An operand and what it is a copy of, or filled with."""
    found = [operand]
    while isinstance(found[-1], Var) and found[-1].name in made:
        source = made[found[-1].name]
        known = operation(source.op)
        if source.kwargs or not (known.kind == "copy" or known.filled is not None or source.op == "np.broadcast_to"):
            break
        found.append(source.args[known.filled or 0])
    return found


__all__ = ["choices", "guarded", "partials_of_products"]
