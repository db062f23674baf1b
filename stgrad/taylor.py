"""Taylor mode: derivatives of high order along a curve."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from math import factorial
from typing import Any

import numpy as np

from stgrad import errors, pushforwards, tangent_calls
from stgrad.api import named, parameter_names
from stgrad.as_python import as_python
from stgrad.points import kept
from stgrad.request import Around, options
from stgrad.transformed import Transformed
from stgrad.values import map_leaves


def jet(
    f: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], *, jit: bool | str = "auto", precise: bool = False,
    without: Collection[str] = (), checked: bool | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """The value of a function and its derivatives of the orders 1 to K along a curve: `(value, [y1, ..., yK])`, as `jax.experimental.jet`.

    Args:
        f: a function of floats and arrays of them, with any result.
        primals: its arguments: where the curve is at 0.
        series: for each argument the derivatives of the curve at 0, of the orders 1 to K, each like the argument. The other options are those of `grad`.

    Returns:
        The value, and the derivatives of `f(curve(t))` in t at 0, each with the structure of the value. For a straight line, `[[1.0, 0.0, ..., 0.0]]`, they are
        those of f. Order K costs about K*K/2 times the function.

    Raises:
        ShapeError: the series are not as many as the arguments, not of one length, or of other shapes than the arguments.
        NotDifferentiableError: f uses an operation without a rule.

    >>> import math
    >>> value, found = jet(math.sin, (0.0,), ([1.0, 0.0, 0.0],), jit=False)
    >>> value, [float(d) for d in found]
    (0.0, [1.0, 0.0, -1.0])
    """
    orders = {len(s) for s in series}
    if len(series) != len(primals) or len(orders) != 1 or not all(orders):
        raise errors.ShapeError("jet takes a series for each argument, all with the same number of derivatives")
    if not all(isinstance(x, float) or isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in primals):
        raise errors.NotDifferentiableError("jet takes floats and arrays of them", hint="bind the other arguments: lambda x: f(x, n)")
    (count,), f = orders, as_python(f)
    chosen = options(jit, False, precise, named(without), checked)

    def program(f: Any) -> Transformed:
        names = parameter_names(f, tuple(range(len(primals))))
        return Transformed(Around(_expansion, "power series", "jet", f, names, (names,)).request(), chosen)

    run = kept(f, ("series", len(primals), count, chosen), program)
    given = tuple(tuple(_like(s[k], x) / factorial(k + 1) for s, x in zip(series, primals, strict=True)) for k in range(count))
    value, found = run(tuple(primals), given)
    return value, [_scaled(y, factorial(k + 1)) for k, y in enumerate(found)]


def _expansion(f: Any, names: tuple[str, ...]) -> Callable[..., Any]:
    return pushforwards.series_of(tangent_calls.Series(f, names, False))


def _scaled(coefficients: Any, factor: int) -> Any:
    """The derivatives that belong to coefficients."""
    return map_leaves(lambda leaf, _: None if leaf is None else leaf * factor, coefficients)


def _like(derivative: Any, x: Any) -> Any:
    """A derivative in the shape of its argument."""
    if np.shape(derivative) not in ((), np.shape(x)):
        raise errors.ShapeError(f"a derivative of shape {np.shape(derivative)} for an argument of shape {np.shape(x)}")
    return np.zeros_like(x) + derivative if isinstance(x, np.ndarray) else float(derivative)


def _inside(frame: Any, f: Any, primals: Any, series: Any, **_: Any) -> Any:
    """What `jet` means in a program that is read: its options are those of the program."""
    orders = {len(s) for s in series}
    if len(series) != len(primals) or len(orders) != 1 or not all(orders):
        raise errors.ShapeError("jet takes a series for each argument, all with the same number of derivatives", frame.builder.loc)
    (count,), f = orders, as_python(f)
    expansion = _expansion(f, parameter_names(f, tuple(range(len(primals)))))
    given = tuple(tuple(frame.call(_coefficient, (s[k], x, factorial(k + 1)), {}) for s, x in zip(series, primals, strict=True)) for k in range(count))
    value, found = frame.call(expansion, (tuple(primals), given), {})

    def scaled(y: Any, factor: int) -> Any:
        return map_leaves(lambda leaf, _: None if leaf is None else frame.call(operator.mul, (leaf, factor), {}), y)

    return value, [scaled(y, factorial(k + 1)) for k, y in enumerate(found)]


def _coefficient(derivative: Any, x: Any, factor: int) -> Any:
    return np.zeros_like(x) + derivative / factor if np.ndim(x) else derivative / factor


jet._stgrad_inside_ = _inside  # type: ignore[attr-defined]

__all__ = ["jet"]
