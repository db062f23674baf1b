"""Linear systems of a few rows, on numbers: code that is compiled into the program, with nothing in memory."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from stgrad.runtime.solving import SINGULAR

__all__ = ["solve_few"]


def solve_few(a: Any, b: Any) -> Any:
    """The solutions of `a x = b`, row by row, where `a` has n * n elements and `b` n * m.

    Elimination with partial pivoting (Golub & Van Loan 2013, algorithm 3.4.1), as LAPACK does it: the same accuracy, and a pivot of exactly 0 raises.

    >>> [float(x) for x in solve_few((2.0, 1.0, 0.0, 4.0), (4.0, 8.0))]
    [1.0, 2.0]
    """
    n = isqrt(len(a))
    return tuple(np.linalg.solve(np.reshape(a, (n, n)), np.reshape(b, (n, -1))).ravel())


@overload(solve_few, strict=False)
def _solve_few(a: Any, b: Any) -> Any:
    if not (isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple)):
        return None
    n = isqrt(len(a))
    scope = {"LinAlgError": np.linalg.LinAlgError, "SINGULAR": SINGULAR}
    exec(written_out(n, len(b) // n), scope)  # noqa: S102  (the text below)
    return scope["solve"]


def written_out(n: int, m: int) -> str:
    """The text of a function that solves a system of n rows with m right sides.

    >>> print(written_out(1, 1))
    def solve(a, b):
        (a0_0,) = a
        (b0_0,) = b
        if a0_0 == 0.0:
            raise LinAlgError(SINGULAR)
        s0 = 1.0 / a0_0
        b0_0 = b0_0 * s0
        return (b0_0,)
    """
    rows = [[f"a{i}_{j}" for j in range(n)] for i in range(n)]
    sides = [[f"b{i}_{j}" for j in range(m)] for i in range(n)]
    names = [[x for row in part for x in row] for part in (rows, sides)]
    lines = [f"({', '.join(part)},) = {given}" for part, given in zip(names, "ab", strict=True)]
    for k in range(n):
        for i in range(k + 1, n):
            mine, other = (", ".join(rows[r][k:] + sides[r]) for r in (k, i))
            lines += [f"if abs({rows[i][k]}) > abs({rows[k][k]}):", f"    {mine}, {other} = {other}, {mine}"]
        lines += [f"if {rows[k][k]} == 0.0:", "    raise LinAlgError(SINGULAR)", f"s{k} = 1.0 / {rows[k][k]}"]
        for i in range(k + 1, n):
            lines.append(f"f = {rows[i][k]} * s{k}")
            lines += [f"{x} = {x} - f * {y}" for x, y in zip(rows[i][k + 1 :] + sides[i], rows[k][k + 1 :] + sides[k], strict=True)]
    for k in reversed(range(n)):
        for j in range(m):
            known = "".join(f" - {rows[k][i]} * {sides[i][j]}" for i in range(k + 1, n))
            value = f"({sides[k][j]}{known})" if known else sides[k][j]
            lines.append(f"{sides[k][j]} = {value} * s{k}")
    return "\n    ".join(["def solve(a, b):", *lines, f"return ({', '.join(names[1])},)"])
