"""SciPy's optimisers and solvers on structured parameters: `minimize`, `least_squares` and `root` with exact derivatives.

Parameters are numbers, arrays, and tuples, lists, dicts and dataclasses of them (`stgrad.flatten`): they come to your function, and go back to you, as they
are. Results are SciPy's, with `x` (and `jac` of `minimize`) in the structure of the parameters; `x_vector` is the vector that SciPy saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from stgrad.api import value_and_grad
from stgrad.calls.flat import Vector, flatten
from stgrad.directional import hvp, jvp
from stgrad.errors import NotDifferentiableError, ShapeError
from stgrad.values import leaves, opened

WITH_PRODUCTS = frozenset(("newton-cg", "trust-ncg", "trust-krylov", "trust-constr"))  # methods that take products with the Hessian
Bounds = tuple[Any, Any]


def minimize(
    f: Callable[..., Any], params: Any, args: tuple[Any, ...] = (), *, method: str | None = None, bounds: Bounds | None = None, **options: Any
) -> optimize.OptimizeResult:
    """The parameters for which a function is least.

    Args:
        f: `f(params, *args)`, one real number. params: where to begin. args: what else f takes.
        method: one of SciPy's; those that take products with the Hessian ('newton-cg', 'trust-krylov'...) get exact ones.
        bounds: `(lower, upper)`: each None, or a structure like that of the parameters, whose entries may be None or one number for an array.
        options: the other arguments of `scipy.optimize.minimize`.

    >>> def rosenbrock(p, a):
    ...     return (a - p["x"]) ** 2 + 100.0 * (p["y"] - p["x"] ** 2) ** 2
    >>> found = minimize(rosenbrock, {"x": -1.0, "y": 2.0}, (1.0,))
    >>> round(found.x["x"], 4), round(found.x["y"], 4)
    (1.0, 1.0)
    """
    start, unflatten = flatten(params)
    both = value_and_grad(f)

    def objective(vector: Vector) -> tuple[float, Vector]:
        value, gradient = both(unflatten(vector), *args)
        return float(value), flatten(gradient)[0]

    if method is not None and method.lower() in WITH_PRODUCTS and "hess" not in options:
        product = hvp(f)
        options["hessp"] = lambda vector, direction: flatten(product(unflatten(vector), *args, _direction(unflatten, direction)))[0]
    limits = None if bounds is None else optimize.Bounds(*_limits(bounds, params, len(start)))
    found = optimize.minimize(objective, start, jac=True, method=method, bounds=limits, **options)
    return _structured(found, unflatten, gradient=True)


def least_squares(
    residuals: Callable[..., Any], params: Any, args: tuple[Any, ...] = (), *, bounds: Bounds | None = None, **options: Any
) -> optimize.OptimizeResult:
    """The parameters for which the sum of squares of residuals is least; the Jacobian is exact.

    Args:
        residuals: `residuals(params, *args)`: an array of any shape, or a structure of arrays. params, args, bounds: as for `minimize`.
        options: the other arguments of `scipy.optimize.least_squares`.

    >>> t = np.arange(5.0)
    >>> found = least_squares(lambda p, t, y: p["a"] * np.exp(-p["k"] * t) - y, {"a": 1.0, "k": 0.1}, (t, 2.0 * np.exp(-0.5 * t)))
    >>> round(found.x["a"], 6), round(found.x["k"], 6)
    (2.0, 0.5)
    """
    start, unflatten = flatten(params)
    function, columns = _system(residuals, unflatten, args)
    limits = (-np.inf, np.inf) if bounds is None else _limits(bounds, params, len(start))
    return _structured(optimize.least_squares(function, start, jac=columns, bounds=limits, **options), unflatten)


def root(f: Callable[..., Any], params: Any, args: tuple[Any, ...] = (), *, method: str = "hybr", **options: Any) -> optimize.OptimizeResult:
    """The parameters for which all numbers of a result are zero: as many as the parameters have; the Jacobian is exact.

    >>> found = root(lambda p: (p[0] + p[1] - 3.0, p[0] * p[1] - 2.0), (0.0, 5.0))
    >>> round(found.x[0], 6), round(found.x[1], 6)
    (1.0, 2.0)
    """
    start, unflatten = flatten(params)
    function, columns = _system(f, unflatten, args)
    exact = {"jac": columns} if method in ("hybr", "lm") else {}
    return _structured(optimize.root(function, start, method=method, **exact, **options), unflatten)


def _system(f: Callable[..., Any], unflatten: Callable[[Any], Any], args: tuple[Any, ...]) -> tuple[Callable[[Vector], Vector], Callable[[Vector], Any]]:
    """A function of a vector with a vector as result, and its Jacobian, by columns."""
    push = jvp(lambda params: f(params, *args))

    def function(vector: Vector) -> Vector:
        return flatten(f(unflatten(vector), *args))[0]

    def columns(vector: Vector) -> Any:
        params = unflatten(vector)
        tangents = [flatten(push((params,), (_direction(unflatten, row),))[1])[0] for row in np.eye(len(vector))]
        return np.stack(tangents, axis=1)

    return function, columns


def _direction(unflatten: Callable[[Any], Any], vector: Vector) -> Any:
    return unflatten(vector)


def _structured(found: optimize.OptimizeResult, unflatten: Callable[[Any], Any], gradient: bool = False) -> optimize.OptimizeResult:
    found["x_vector"] = found.x
    found["x"] = unflatten(found.x)
    if gradient and found.get("jac") is not None:
        found["jac"] = unflatten(found["jac"])
    return found


def _limits(bounds: Bounds, params: Any, count: int) -> tuple[Vector, Vector]:
    """Lower and upper bounds as vectors."""
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise NotDifferentiableError("bounds are a pair (lower, upper)", hint="each is None or a structure like that of the parameters")
    return _limit(bounds[0], params, count, -np.inf), _limit(bounds[1], params, count, np.inf)


def _limit(bound: Any, params: Any, count: int, otherwise: float) -> Vector:
    if bound is None or isinstance(bound, (int, float)):
        return np.full(count, otherwise if bound is None else float(bound))
    given, own = list(leaves(opened(bound))), list(leaves(opened(params)))
    if len(given) != len(own):
        raise ShapeError(f"the bounds have {len(given)} entries, the parameters {len(own)}", hint="write None for an entry without a bound")
    parts = []
    for limit, leaf in zip(given, own, strict=True):
        size = len(flatten(leaf)[0])
        parts.append(np.broadcast_to(otherwise if limit is None else limit, np.shape(leaf)).ravel().astype(float) if size else np.zeros(0))
    return np.concatenate([np.zeros(0), *parts])
