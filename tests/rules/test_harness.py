"""Wrong rules, planted on purpose: `check_rule` must catch each, and say what is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from stgrad.rules import core
from stgrad.testing import RuleError, check_rule


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    """Rules planted in a test are gone after it."""
    before, names = dict(core.TABLE), dict(core._NAMES)
    yield
    core.TABLE.clear()
    core.TABLE.update(before)
    core._NAMES.clear()
    core._NAMES.update(names)


def double(x: Any) -> Any:
    return 2.0 * x


def cube(x: Any) -> Any:
    return x**3


def product(a: Any, b: Any) -> Any:
    return a * b


def total(x: Any) -> Any:
    return np.sum(x)


def plant(op: Callable[..., Any], kind: str, **forms: Any) -> None:
    core._register((op,), kind, **forms)


X = np.array([0.5, -1.0, 2.0])


def test_a_right_rule_passes() -> None:
    plant(cube, "partials", partials=lambda y, x: 3.0 * x * x)
    plant(product, "partials", partials=lambda y, a, b: (b, a))
    plant(total, "linear", adjoint=lambda y, y_bar, x: np.broadcast_to(y_bar, np.shape(x)))
    check_rule(cube, X)
    check_rule(cube, 1.5)
    check_rule(cube, X + 1j)
    check_rule(product, X, X[:, None])
    check_rule(total, X)


def test_no_rule() -> None:
    with pytest.raises(RuleError, match="there is no rule"):
        check_rule(double, X)


def test_wrong_factor() -> None:
    plant(cube, "partials", partials=lambda y, x: 2.0 * x * x)
    with pytest.raises(RuleError, match=r"cube\(float64\[3\]\): reverse rule, argument 0: the rule gives .*, differences .*off by"):
        check_rule(cube, X)


def test_wrong_by_little() -> None:
    plant(cube, "partials", partials=lambda y, x: 3.00001 * x * x)
    with pytest.raises(RuleError, match="reverse rule, argument 0"):
        check_rule(cube, X)


def test_wrong_in_one_element() -> None:
    plant(cube, "partials", partials=lambda y, x: np.where(np.arange(x.size) == 1, 0.0, 3.0 * x * x))
    with pytest.raises(RuleError, match="reverse rule"):
        check_rule(cube, X)


def test_swapped_arguments() -> None:
    plant(product, "partials", partials=lambda y, a, b: (a, b))
    with pytest.raises(RuleError, match="argument 0"):
        check_rule(product, X, X + 3.0)


def test_wrong_second_argument() -> None:
    plant(product, "partials", partials=lambda y, a, b: (b, -a))
    with pytest.raises(RuleError, match="argument 1"):
        check_rule(product, X, X + 3.0)


def test_missing_conjugate() -> None:
    plant(cube, "adjoint", adjoint=lambda y, y_bar, x: y_bar * 3.0 * x * x, tangent=lambda y, x, x_dot: 3.0 * x * x * x_dot)
    check_rule(cube, X)
    with pytest.raises(RuleError, match="reverse rule"):
        check_rule(cube, X + 1j)


def test_wrong_shape_of_a_cotangent() -> None:
    plant(total, "linear", adjoint=lambda y, y_bar, x: y_bar)
    with pytest.raises(RuleError, match=r"argument 0 has shape \(3,\), its cotangent \(\)"):
        check_rule(total, X)


def test_forgotten_unbroadcast() -> None:
    plant(product, "adjoint", adjoint=lambda y, y_bar, a, b: (y_bar * b, y_bar * a))
    with pytest.raises(RuleError, match="argument 0 has shape"):
        check_rule(product, X, np.ones((2, 3)))


def test_wrong_dtype_of_a_cotangent() -> None:
    plant(double, "linear", adjoint=lambda y, y_bar, x: np.float64(2.0) * y_bar)
    with pytest.raises(RuleError, match="argument 0 is float32, its cotangent float64"):
        check_rule(double, X)


def test_no_tangent() -> None:
    plant(cube, "adjoint", adjoint=lambda y, y_bar, x: y_bar * 3.0 * x * x)
    with pytest.raises(RuleError, match="needs a tangent rule"):
        check_rule(cube, X)


def test_wrong_tangent() -> None:
    plant(cube, "adjoint", adjoint=lambda y, y_bar, x: y_bar * 3.0 * x * x, tangent=lambda y, x, x_dot: 3.0 * x * x_dot)
    with pytest.raises(RuleError, match="forward rule"):
        check_rule(cube, X)


def test_wrong_shape_of_a_tangent() -> None:
    plant(total, "adjoint", adjoint=lambda y, y_bar, x: np.broadcast_to(y_bar, np.shape(x)), tangent=lambda y, x, x_dot: x_dot)
    with pytest.raises(RuleError, match=r"the result has shape \(\), its tangent \(3,\)"):
        check_rule(total, X)


def test_reverse_and_forward_that_differ_by_less_than_differences_show() -> None:
    plant(
        cube,
        "adjoint",
        adjoint=lambda y, y_bar, x: y_bar * 3.0 * x * x * (1.0 + 3e-9),
        tangent=lambda y, x, x_dot: 3.0 * x * x * x_dot,
    )
    with pytest.raises(RuleError, match="dot-product identity"):
        check_rule(cube, X)


def test_not_linear_in_the_cotangent() -> None:
    def adjoint(y: Any, y_bar: Any, x: Any) -> Any:
        return np.where(np.abs(y_bar) > LIMIT, y_bar * 3.0 * x * x, 0.0)

    LIMIT = 0.0
    plant(cube, "adjoint", adjoint=adjoint, tangent=lambda y, x, x_dot: 3.0 * x * x * x_dot)
    check_rule(cube, X)
    seen = []

    def forgetful(y: Any, y_bar: Any, x: Any) -> Any:
        seen.append(y_bar)
        return (y_bar if len(seen) == 1 else np.abs(y_bar)) * 3.0 * x * x

    plant(cube, "adjoint", adjoint=forgetful)
    with pytest.raises(RuleError, match="not linear in y_bar"):
        check_rule(cube, X)


def test_value_that_is_not_finite() -> None:
    plant(double, "partials", partials=lambda y, x: 2.0)
    with pytest.raises(RuleError, match="the value is not finite"):
        check_rule(double, np.array([1.0, np.inf]))


def test_rule_that_gives_nan() -> None:
    plant(cube, "partials", partials=lambda y, x: 3.0 * y / x)
    with pytest.raises(RuleError, match="the rule gives nan"):
        check_rule(cube, np.array([0.0, 1.0]))


def test_rule_that_writes_its_arguments() -> None:
    def adjoint(y: Any, y_bar: Any, x: Any) -> Any:
        bar = y_bar * 3.0 * x * x
        x *= 1.0 + 1e-14
        return bar

    plant(cube, "adjoint", adjoint=adjoint, tangent=lambda y, x, x_dot: 3.0 * x * x * x_dot)
    with pytest.raises(RuleError, match="argument 0 was changed"):
        check_rule(cube, X.copy())


def test_second_order_that_is_not_symmetric() -> None:
    """Right at the point of the check, wrong beside it: the first order does not see it."""

    def dot(a: Any) -> Any:
        return a[0] * a[1]

    def adjoint(y: Any, y_bar: Any, a: Any) -> Any:
        return y_bar * np.array([1.0, a[0]])

    plant(dot, "adjoint", adjoint=adjoint, tangent=lambda y, a, a_dot: 1.0 * a_dot[0] + a[0] * a_dot[1])
    with pytest.raises(RuleError, match="second order"):
        check_rule(dot, np.array([2.0, 1.0]))


def test_wrong_composition() -> None:
    plant(cube, "composite", composite=lambda x: x * x)
    with pytest.raises(RuleError, match="the composition gives"):
        check_rule(cube, X)


def test_composition_with_another_dtype() -> None:
    plant(double, "composite", composite=lambda x: np.float64(2.0) * x)
    with pytest.raises(RuleError, match="the composition gives float64, the operation float32"):
        check_rule(double, X.astype(np.float32))
