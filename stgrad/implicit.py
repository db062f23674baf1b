"""Functions that are given by an equation: `custom_root`, `fixed_point`, `custom_linear_solve`, `custom_minimum`.

The value is what a solver finds, in whatever way; the derivative follows from the equation at the solution, by one linear solve:

    f(x, a) = 0    ->    x_dot = -(df/dx)^-1 (df/da a_dot)

Names and arguments are those of `jax.lax` and jaxopt. Called as they stand, they only solve; the compiler reads them in `stgrad.implicit_calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class CustomRoot:
    """See `custom_root`."""

    __name__ = "custom_root"

    def __call__(
        self, f: Callable[[Any], Any], initial_guess: Any, solve: Callable[[Any, Any], Any], tangent_solve: Callable[[Any, Any], Any] | None = None,
        has_aux: bool = False,
    ) -> Any:  # fmt: skip
        """The root of f as `solve` finds it, differentiated by the equation `f(x) = 0`, as `jax.lax.custom_root`.

        Args:
            f: a function of x, a number, an array or a structure of them, which returns the same. Derivatives are in what it sees around it.
            initial_guess: where to start; the root does not depend on it.
            solve: `solve(f, initial_guess)` -> the root; with `has_aux`, a pair of it and auxiliary data.
            tangent_solve: `tangent_solve(g, y)` -> the v with `g(v) = y`, for the linear g; by default a dense solve with the matrix of g.
            has_aux: whether `solve` returns auxiliary data.

        >>> def newton(f, x):
        ...     for _ in range(20):
        ...         x = x - f(x) / (2.0 * x)
        ...     return x
        >>> round(custom_root(lambda x: x * x - 2.0, 1.0, newton), 6)
        1.414214
        """
        return solve(f, initial_guess)


class CustomLinearSolve:
    """See `custom_linear_solve`."""

    __name__ = "custom_linear_solve"

    def __call__(
        self, matvec: Callable[[Any], Any], b: Any, solve: Callable[[Any, Any], Any], transpose_solve: Callable[[Any, Any], Any] | None = None,
        symmetric: bool = False, has_aux: bool = False,
    ) -> Any:  # fmt: skip
        """The x with `matvec(x) = b` as `solve` finds it, differentiated by this equation, as `jax.lax.custom_linear_solve`.

        Args:
            matvec: a linear function of x. Derivatives are in b, and in what it sees around it.
            b: a number or an array. solve: `solve(matvec, b)` -> x, of the shape of b; with `has_aux`, a pair of it and auxiliary data.
            transpose_solve: `transpose_solve(vecmat, b)`: the same for the transposed function; without it, and unless `symmetric`, `solve` itself is
                transposed for reverse mode, which it must allow (no loop whose end depends on b).
            symmetric: whether matvec is its own transpose, so that `solve` serves for both.
            has_aux: whether `solve` returns auxiliary data.

        >>> custom_linear_solve(lambda x: 2.0 * x, 3.0, lambda matvec, b: b / matvec(1.0))
        1.5
        """
        return solve(matvec, b)


custom_root = CustomRoot()
custom_linear_solve = CustomLinearSolve()


def fixed_point(f: Callable[[Any], Any], x0: Any, tol: float = 1e-12, maxiter: int = 10000) -> Any:
    """The x with `f(x) = x`, by iteration from x0 until no number changes by more than `tol * max(1, |x|)`; differentiated by this equation.

    Args:
        f: a function of x, a number, an array, or a tuple, list or dict of them, which contracts. Derivatives are in what it sees around it.
        x0: where to start.

    Raises ArithmeticError where `maxiter` iterations do not do.

    >>> import math
    >>> round(fixed_point(math.cos, 1.0), 9)
    0.739085133
    """

    def residual(x: Any) -> Any:
        return difference(f(x), x)

    def iterate(_: Any, x: Any) -> Any:
        count = 0
        change = np.inf
        while change > tol:
            if count >= maxiter:
                raise ArithmeticError("fixed_point: the iteration does not converge")
            new = f(x)
            change = largest_change(new, x)
            x = new
            count += 1
        return x

    return custom_root(residual, x0, iterate)


def difference(a: Any, b: Any) -> Any:
    """`a - b`, part by part."""
    if isinstance(a, dict):
        return {key: difference(a[key], b[key]) for key in a}
    if isinstance(a, tuple):
        return tuple([difference(u, v) for u, v in zip(a, b)])  # noqa: B905
    return [difference(u, v) for u, v in zip(a, b)] if isinstance(a, list) else a - b  # noqa: B905


def largest_change(a: Any, b: Any) -> Any:
    """The largest of `|a - b| / max(1, |a|)`."""
    if isinstance(a, dict):
        return max([largest_change(a[key], b[key]) for key in a])
    if isinstance(a, (tuple, list)):
        return max([largest_change(u, v) for u, v in zip(a, b)])  # noqa: B905
    return np.max(np.abs(a - b) / np.maximum(1.0, np.abs(a)))


def flat(parts: list[Any]) -> Any:
    """All numbers of some numbers and arrays."""
    return np.concatenate([np.reshape(part, (np.size(part),)) for part in parts])


def split(numbers: Any, parts: list[Any]) -> list[Any]:
    """Numbers in the shapes of some numbers and arrays: `flat`, the other way."""
    found, at = [], 0
    for part in parts:
        n = np.size(part)
        found.append(np.reshape(numbers[at : at + n], np.shape(part)) if np.ndim(part) else numbers[at])
        at += n
    return found


def dense_solve(g: Callable[[Any], Any], y: Any) -> Any:
    """The v with `g(v) = y`, for a linear function g of numbers or arrays of the shape of y, by its matrix.

    >>> dense_solve(lambda v: np.array([v[0] + v[1], 2.0 * v[1]]), np.array([3.0, 4.0]))
    array([1., 2.])
    """
    if np.ndim(y) == 0:
        return y / g(1.0)
    n = np.size(y)
    matrix = np.zeros((n, n), np.asarray(y).dtype)
    for i in range(n):
        e = np.zeros(n, np.asarray(y).dtype)
        e[i] = 1.0
        matrix[:, i] = np.reshape(g(np.reshape(e, np.shape(y))), (n,))
    return np.reshape(np.linalg.solve(matrix, np.reshape(y, (n,))), np.shape(y))


__all__ = ["CustomLinearSolve", "CustomRoot", "custom_linear_solve", "custom_root", "dense_solve", "fixed_point"]
