"""Quotients of the derivative by one number are products with its reciprocal, which is computed once.

    a_bar = g * (1.0 / b)                     r = 1.0 / b
    b_bar = g * (-y / b)            ->        a_bar = g * r
    c_bar = h / b                             b_bar = g * (-y * r)
                                              c_bar = h * r

A division takes as long as ten products. What the user's own lines compute stays as it is, to the last digit.

    >>> import stgrad
    >>> def share(x, n):
    ...     s = 0.0
    ...     for i in range(n):
    ...         s += x / (x + i) * (x * x)
    ...     return s
    >>> texts = [stgrad.grad(share, mode="reverse", **more).lowered(1.5, 3) for more in ({}, {"without": "reciprocals"})]
    >>> [text.count(" / ") - 1 for text in texts]  # the user's own line stands in a comment
    [2, 3]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from stgrad.ir import Assign, Block, Const, Function, Stmt, Type, Var, assigned, map_blocks
from stgrad.ir.ops import operation
from stgrad.names import Names

ONE = Const(1.0)


def reciprocals(fn: Function) -> Function:
    """The program with one division in place of several by the same number."""
    names = Names([*fn.types, *(p.name for p in fn.params)])
    types = dict(fn.types)

    def block(statements: Block, around: Mapping[str, Var]) -> Block:
        result: list[Stmt] = []
        known = dict(around)  # reciprocals by their divisors
        waiting = _in_runs(statements, types)
        for stmt in statements:
            divisor = _divisor(stmt, types)
            if divisor is None or divisor not in known and waiting[id(stmt)] < 2:
                inner = {n: r for n, r in known.items() if n not in assigned((stmt,)) and r.name not in assigned((stmt,))}
                result.append(map_blocks(lambda b, inner=inner: block(b, inner), stmt))  # type: ignore[misc]
            else:
                assert isinstance(stmt, Assign)
                if divisor not in known:
                    made = _reciprocal(stmt, names)
                    known[divisor] = made[-1].target
                    types.update({s.target.name: types[stmt.target.name] for s in made})
                    result += made
                product = ("alias", (known[divisor],)) if stmt.args[0] == ONE else ("np.multiply", (stmt.args[0], known[divisor]))
                result.append(replace(stmt, op=product[0], args=product[1]))
            for name in assigned((stmt,)):
                known = {n: r for n, r in known.items() if name not in (n, r.name)}
        return tuple(result)

    body = block(fn.body, {})
    return replace(fn, body=body, types=types) if len(types) > len(fn.types) else fn


def _reciprocal(stmt: Assign, names: Names) -> list[Assign]:
    """What computes the reciprocal of a divisor: infinite for zero, where the quotient is; of two numbers of Python's it would raise."""
    one = Var(names.fresh("_t"))
    cast = [] if stmt.args[0] == ONE else [replace(stmt, targets=(one,), op="cast", args=(ONE, Const("float64")))]
    return [*cast, replace(stmt, targets=(Var(names.fresh("_t")),), args=(one if cast else ONE, stmt.args[1]))]


def _in_runs(statements: Block, types: Mapping[str, Type]) -> dict[int, int]:
    """Of each division, how many there are by the same number before that changes."""
    runs: Counter[tuple[str, int]] = Counter()
    found: dict[int, tuple[str, int]] = {}
    version: Counter[str] = Counter()
    for stmt in statements:
        divisor = _divisor(stmt, types)
        if divisor is not None:
            found[id(stmt)] = divisor, version[divisor]
            runs[found[id(stmt)]] += 1
        version.update(assigned((stmt,)))
    return {place: runs[run] for place, run in found.items()}


def _divisor(stmt: Stmt, types: Mapping[str, Type]) -> str | None:
    """The number by which a statement of the derivative divides another one."""
    if not isinstance(stmt, Assign) or stmt.note is None or operation(stmt.op).symbol != "/" or len(stmt.args) != 2 or not isinstance(stmt.args[1], Var):
        return None
    numbers = [types[v.name] for v in (stmt.target, *stmt.args) if isinstance(v, Var)]
    return stmt.args[1].name if all(t.dtype == "float64" and not t.array for t in numbers) else None
