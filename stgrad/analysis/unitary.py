"""Which matrices are unitary: eigenvectors of Hermitian matrices, and what else a factorisation gives so; their inverse is their adjoint.

A fact of a name holds for every value that it ever has: each assignment gives such a matrix, and nothing stores into its memory.
"""

from __future__ import annotations

from stgrad.analysis.alias import sharing
from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Function, Stmt, Var, assigns, stored, walk
from stgrad.ir.ops import operation


@kept
def unitary(fn: Function) -> frozenset[str]:
    """The names of unitary matrices, as far as they are square."""
    found = {name for s in walk(fn.body) for name in _given(s, frozenset())}
    if not found:
        return frozenset()
    more = True
    while more:
        before = frozenset(found)
        found |= {name for s in walk(fn.body) for name in _given(s, before)}
        more = found != before
    classes = sharing(fn)
    written = {classes.find(name) for name in stored(fn.body)}
    other = {name for s in walk(fn.body) for name in set(assigns(s)) - _given(s, frozenset(found))} | {p.name for p in fn.params}
    return frozenset(name for name in found - other if classes.find(name) not in written)


def _given(stmt: Stmt, known: frozenset[str]) -> set[str]:
    """The results of a statement that are unitary, where those of `known` are."""
    if not isinstance(stmt, Assign):
        return set()
    fact = operation(stmt.op).unitary
    source = stmt.args[0] if stmt.args else None
    if fact == "kept":
        return {stmt.target.name} if isinstance(source, Var) and source.name in known and len(stmt.args) == 1 else set()
    return {stmt.targets[k].name for k in fact if k < len(stmt.targets)} if isinstance(fact, tuple) and len(stmt.targets) > 1 else set()


__all__ = ["unitary"]
