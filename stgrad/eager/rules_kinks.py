"""Operations whose derivative at a kink or singular point is TensorFlow's, where that of `stgrad.rules` is another.

maximum and minimum: a tie goes to the first argument. sqrt: inf at 0, but 0 where the cotangent is 0. power: y x^(y-1) even at
0 ** 0 (nan), log x taken as 0 for x <= 0. arctan2: nan at the origin. They are written as all rules are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.rules.core import adjoint, partials, tangent


def maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b)


@partials(maximum)
def maximum_partials(y: Any, a: Any, b: Any) -> Any:
    return a >= b, a < b


def minimum(a: Any, b: Any) -> Any:
    return np.minimum(a, b)


@partials(minimum)
def minimum_partials(y: Any, a: Any, b: Any) -> Any:
    return a <= b, a > b


def sqrt(x: Any) -> Any:
    return np.sqrt(x)


@adjoint(sqrt)
def sqrt_adjoint(y: Any, y_bar: Any, x: Any) -> Any:
    return np.where(y_bar == 0, 0.0 * y_bar, 0.5 * y_bar / np.conj(np.where(y_bar == 0, 1.0, y)))


@tangent(sqrt)
def sqrt_dot(y: Any, x: Any, x_dot: Any) -> Any:
    return 0.5 * x_dot / y


def power(a: Any, b: Any) -> Any:
    return a**b


@partials(power)
def power_partials(y: Any, a: Any, b: Any) -> Any:
    safe = a != 0 if np.iscomplexobj(a) else a > 0
    return b * a ** (b - 1.0), y * np.where(safe, np.log(np.where(safe, a, 1.0)), 0.0)


def power_number(x: Any, p: Any) -> Any:
    return x**p


@partials(power_number)
def power_number_partials(y: Any, x: Any, p: Any) -> Any:
    return (p * x if p == 2 else p * x ** (p - 1)), None


def arctan2(a: Any, b: Any) -> Any:
    return np.arctan2(a, b)


@partials(arctan2)
def arctan2_partials(y: Any, a: Any, b: Any) -> Any:
    square = a * a + b * b
    return b / square, -a / square
