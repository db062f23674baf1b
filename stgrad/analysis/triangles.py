"""Which matrices have nothing but zeros on one side of their diagonal: factors of Cholesky's, cut-out triangles, what is made of them.

A fact of a name holds for every value that it ever has: each assignment gives such a matrix, and nothing stores into its memory.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def whitened(a, b):
    ...     return np.linalg.solve(np.linalg.cholesky(a), b)
    >>> show_pass("foreign", stgrad.jit(whitened), np.eye(2), np.ones(2))
    return np.linalg.solve(np.linalg.cholesky(a), b)
    ->
    return scipy.linalg.solve_triangular(np.linalg.cholesky(a), b, lower=True, check_finite=False)
"""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.analysis.alias import sharing
from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Const, Function, Type, Var, assigns, stored, walk
from stgrad.ir.ops import operation

_OTHER = {"lower": "upper", "upper": "lower", "": ""}


@kept
def triangles(fn: Function) -> Mapping[str, str]:
    """'lower' or 'upper' for the names of triangular matrices."""
    suspects = [s for s in walk(fn.body) if isinstance(s, Assign) and operation(s.op).triangle]
    if not any(operation(s.op).triangle in _OTHER for s in suspects):
        return {}
    classes = sharing(fn)
    written = {classes.find(name) for name in stored(fn.body)}
    known = {s.targets[0].name: "" for s in suspects}
    for stmt in walk(fn.body):
        for name in assigns(stmt) if not (isinstance(stmt, Assign) and operation(stmt.op).triangle) else ():
            known.pop(name, None)
    known = {name: "" for name in known if classes.find(name) not in written and not any(p.name == name for p in fn.params)}
    changed = True
    while changed:  # from nothing known to what follows from it
        changed = False
        for name in known:
            kinds = {_kind(s, known, fn.types) for s in suspects if s.targets[0].name == name}
            found = kinds.pop() if len(kinds) == 1 else ""
            changed |= found != known[name]
            known[name] = found
    return {name: kind for name, kind in known.items() if kind}


def _kind(stmt: Assign, known: Mapping[str, str], types: Mapping[str, Type]) -> str:
    how = operation(stmt.op).triangle
    source = stmt.args[0] if stmt.args else None
    if not isinstance(source, Var) or types[source.name].rank != 2 or stmt.kwargs:
        return ""
    if how in ("lower", "upper"):  # `np.tril(a, k)` beyond the diagonal is none
        return how if len(stmt.args) == 1 or isinstance(stmt.args[1], Const) and stmt.args[1].value == 0 else ""
    if len(stmt.args) > 1:
        return ""
    return _OTHER[known.get(source.name, "")] if how == "turned" else known.get(source.name, "")


__all__ = ["triangles"]
