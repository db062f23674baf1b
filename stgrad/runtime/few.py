"""Linear systems and Cholesky factors of a few rows, on numbers: code that is compiled into the program, with nothing in memory."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from stgrad.runtime.factors import cholesky_bar
from stgrad.runtime.solving import SINGULAR

__all__ = ["cholesky_bar_few", "cholesky_few", "solve_few"]


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


# --------------------------------------------------------------------------- Cholesky's factors

INDEFINITE = "Matrix is not positive definite"


def cholesky_few(a: Any) -> Any:
    """The lower factor of a symmetric matrix with n * n elements, row by row; its lower triangle is read.

    >>> [float(x) for x in cholesky_few((4.0, 2.0, 2.0, 5.0))]
    [2.0, 0.0, 1.0, 2.0]
    """
    n = isqrt(len(a))
    return tuple(np.linalg.cholesky(np.reshape(a, (n, n))).ravel())


def cholesky_bar_few(low: Any, low_bar: Any) -> Any:
    """The cotangent of the matrix that `low` is the factor of, as `cholesky_bar` has it.

    >>> [float(x) for x in cholesky_bar_few((2.0, 0.0, 1.0, 2.0), (1.0, 0.0, 0.0, 1.0))]
    [0.3125, -0.125, -0.125, 0.25]
    """
    n = isqrt(len(low))
    return tuple(cholesky_bar(np.reshape(low, (n, n)), np.reshape(low_bar, (n, n))).ravel())


@overload(cholesky_few, strict=False)
def _cholesky_few(a: Any) -> Any:
    scope = {"LinAlgError": np.linalg.LinAlgError, "INDEFINITE": INDEFINITE, "sqrt": np.sqrt}
    exec(factor_written_out(isqrt(len(a))), scope)  # noqa: S102  (the text below)
    return scope["factor"]


@overload(cholesky_bar_few, strict=False)
def _cholesky_bar_few(low: Any, low_bar: Any) -> Any:
    scope: dict[str, Any] = {}
    exec(factor_bar_written_out(isqrt(len(low))), scope)  # noqa: S102  (the text below)
    return scope["factor_bar"]


def factor_written_out(n: int) -> str:
    """The text of a function that factorises a matrix of n rows.

    >>> print(factor_written_out(1))
    def factor(a):
        (l0_0,) = a
        if not l0_0 > 0.0:
            raise LinAlgError(INDEFINITE)
        l0_0 = sqrt(l0_0)
        return (l0_0,)
    """
    names = [[f"l{i}_{j}" for j in range(n)] for i in range(n)]
    lines = [f"({', '.join(x for row in names for x in row)},) = a"]
    for j in range(n):
        for i in range(j, n):
            known = "".join(f" - {names[i][k]} * {names[j][k]}" for k in range(j))
            if known:
                lines.append(f"{names[i][j]} = {names[i][j]}{known}")
            if i == j:
                lines += [f"if not {names[j][j]} > 0.0:", "    raise LinAlgError(INDEFINITE)", f"{names[j][j]} = sqrt({names[j][j]})"]
            else:
                lines.append(f"{names[i][j]} = {names[i][j]} / {names[j][j]}")
    found = ", ".join(names[i][j] if j <= i else "0.0" for i in range(n) for j in range(n))
    return "\n    ".join(["def factor(a):", *lines, f"return ({found},)"])


def factor_bar_written_out(n: int) -> str:
    """The text of a function that goes back through that of `factor_written_out`, statement by statement.

    >>> print(factor_bar_written_out(1))
    def factor_bar(low, low_bar):
        (l0_0,) = low
        (b0_0,) = low_bar
        r0 = 1.0 / l0_0
        b0_0 = 0.5 * b0_0 * r0
        return (b0_0,)
    """
    low, bar = ([[f"{letter}{i}_{j}" for j in range(n)] for i in range(n)] for letter in "lb")
    lines = [f"({', '.join(x for row in part for x in row)},) = {given}" for part, given in ((low, "low"), (bar, "low_bar"))]
    for j in reversed(range(n)):
        lines.append(f"r{j} = 1.0 / {low[j][j]}")
        for i in reversed(range(j + 1, n)):
            lines += [f"{bar[i][j]} = {bar[i][j]} * r{j}", f"{bar[j][j]} = {bar[j][j]} - {bar[i][j]} * {low[i][j]}"]
            for k in range(j):
                lines += [f"{bar[i][k]} = {bar[i][k]} - {bar[i][j]} * {low[j][k]}", f"{bar[j][k]} = {bar[j][k]} - {bar[i][j]} * {low[i][k]}"]
            lines.append(f"{bar[i][j]} = 0.5 * {bar[i][j]}")
        lines.append(f"{bar[j][j]} = 0.5 * {bar[j][j]} * r{j}")
        lines += [f"{bar[j][k]} = {bar[j][k]} - 2.0 * {bar[j][j]} * {low[j][k]}" for k in range(j)]
    found = ", ".join(bar[max(i, j)][min(i, j)] for i in range(n) for j in range(n))
    return "\n    ".join(["def factor_bar(low, low_bar):", *lines, f"return ({found},)"])
