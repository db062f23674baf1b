"""Arrays that hold one number everywhere are that number, where it is exact; what is guarded else has one name in the text that people read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import runtime
from stgrad.testing import check_gradient


def masked_pairs(w, y):
    z = y[w > 0.2]
    return np.sum(z[1:] * z[:-1])


def roots(x):
    return np.sum(np.sqrt(x[x > 0.5])) + np.sum(np.where(x > 0.5, np.log(x + 1.0), x))


def scaled_in_a_loop(x, w):
    """The number that fills the cotangent is another one in each iteration."""
    total = 0.0
    for k in range(3):
        y = x * (k + 1.0)
        y[y < 0.3] = 0.0
        total += w[k] * np.sum(np.sqrt(y + 1.0) * x)
    return total


def diagonal(x):
    """Elements among zeros are not one number everywhere."""
    return np.sum(np.sin(np.diag(np.ones(3)) * x + x[0])) + np.sum(np.eye(3)[:, ::-1] * x**0 * x)


def overwritten(x):
    """An array that held one number, and does no more."""
    y = np.ones(x.shape[0])
    y[1] = x[0] * 2.0
    z = np.full(x.shape[0], 2.0)
    view = z[1:]
    view[0] = x[2]
    return np.sum(y * x) + np.sum(z * x**2)


X = np.array([0.7, 1.3, 0.2])
CASES: list[tuple[Any, tuple[Any, ...], int]] = [
    (masked_pairs, (np.array([0.1, 0.5, 0.7, 0.9]), np.array([1.0, 2.0, 4.0, 7.0])), 1), (roots, (X,), 0),
    (scaled_in_a_loop, (X, np.array([0.5, 2.0, 1.0])), 0),
    (diagonal, (X,), 0), (overwritten, (X,), 0),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "argnum"), CASES, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("order", [1, 2])
def test_against_differences(function: Any, arguments: tuple[Any, ...], argnum: int, order: int) -> None:
    check_gradient(function, arguments, argnums=argnum, order=order)


@pytest.mark.parametrize(("function", "arguments", "argnum"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_the_text_for_people_runs(function: Any, arguments: tuple[Any, ...], argnum: int) -> None:
    gradient = stgrad.grad(function, argnum)
    namespace: dict[str, Any] = {}
    exec(gradient.source(*arguments), namespace)  # noqa: S102
    np.testing.assert_allclose(namespace[gradient.__name__](*arguments), gradient(*arguments), rtol=1e-12)


def test_no_test_of_a_number_that_is_known() -> None:
    gradient = stgrad.grad(masked_pairs, 1)
    for text in (gradient.source(*CASES[0][1]), gradient.lowered(*CASES[0][1])):
        assert "isfinite" not in text
        assert "1.0 *" not in text
        assert "== 0.0" not in text
    assert "isfinite" not in stgrad.grad(lambda x: np.sum(np.sqrt(np.maximum(x, 0.5) * 1.0)[1:])).lowered(X).split("for")[0]
    assert "pow" not in stgrad.hessian(lambda x: np.sum(np.sin(x) ** 2)).lowered(X)


def test_a_guarded_product_has_one_name() -> None:
    gradient = stgrad.grad(lambda x: np.sum(np.where(x > 0.0, 1.0 / x, 0.0)))
    text = gradient.source(X)
    assert "runtime.safe_product(" in text
    assert "isfinite" not in text
    assert "isfinite" in gradient.lowered(X)
    with np.errstate(divide="ignore"):
        assert gradient(np.array([0.0, 2.0])).tolist() == [0.0, -0.25]


def test_safe_product() -> None:
    np.testing.assert_array_equal(runtime.safe_product(np.array([0.0, 0.0, 2.0]), np.array([np.inf, np.nan, 3.0])), [0.0, 0.0, 6.0])
    assert np.isnan(runtime.safe_product(1.0, np.nan))
    assert runtime.safe_product(0.0, 5.0) == 0.0
