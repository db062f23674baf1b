"""Inverses of unitary matrices as their adjoints: `np.linalg.inv(v)` as `v.T`, `np.linalg.solve(v, b)` as `v.T @ b`, where `w, v = np.linalg.eigh(a)`.

That is less work, and its derivative tells more. At equal eigenvalues what comes back to v from `v @ diag(f(w)) @ inv(v)` cancels, as if the vectors did not
matter, and a derivative in which they do would come out finite and wrong; from `v @ diag(f(w)) @ v.T` it does not.
"""

from __future__ import annotations

from dataclasses import replace

from stgrad.analysis.unitary import unitary
from stgrad.ir import Assign, Block, Function, Stmt, Type, Var, assigns, map_blocks
from stgrad.ir.ops import operation
from stgrad.names import Names


def inverses(fn: Function) -> Function:
    """The program without inverses of unitary matrices."""
    known = unitary(fn)
    if not known:
        return fn
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)

    def adjoint(v: Var, stmt: Assign, target: Var | None) -> list[Stmt]:
        """`target = v^H`, under a new name where there is none."""
        of = types[v.name]
        turned = Type(of.dtype, of.dims[::-1], array=True)
        made: list[Stmt] = []
        conjugates = of.dtype.startswith("complex")
        last = target or Var(names.fresh(f"_{v.name}_T"))
        types.setdefault(last.name, turned)
        first = Var(names.fresh(f"_{v.name}_T")) if conjugates or target is not None else last
        types.setdefault(first.name, turned)
        made.append(Assign((first,), "np.transpose", (v,), (), stmt.loc, stmt.note))
        if first != last:  # an inverse is an array of its own
            made.append(Assign((last,), "np.conjugate" if conjugates else "np.copy", (first,), (), stmt.loc, stmt.note))
        return made

    def block(body: Block) -> Block:
        out: list[Stmt] = []
        for stmt in body:
            stmt = map_blocks(block, stmt)
            v = _inverted(stmt, known, types)
            if v is None or not isinstance(stmt, Assign):
                out.append(stmt)
            elif len(stmt.args) == 1:
                out += adjoint(v, stmt, stmt.target)
            else:
                made = adjoint(v, stmt, None)
                out += [*made, replace(stmt, op="np.matmul", args=(*map(Var, assigns(made[-1])), stmt.args[1]))]
        return tuple(out)

    return replace(fn, body=block(fn.body), types=types)


def _inverted(stmt: Stmt, known: frozenset[str], types: dict[str, Type]) -> Var | None:
    """The unitary matrix that a statement inverts, or whose system of equations it solves."""
    if not isinstance(stmt, Assign) or not operation(stmt.op).inverts or stmt.kwargs or not isinstance(stmt.args[0], Var):
        return None
    v = stmt.args[0]
    same = all(isinstance(a, Var) and types[a.name].rank in (1, 2) and types[a.name].dtype == types[v.name].dtype for a in stmt.args)
    return v if v.name in known and types[v.name].rank == 2 and same else None


__all__ = ["inverses"]
