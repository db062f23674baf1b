"""Zero cotangents that meet infinite partial derivatives: the product is zero, in plain Python, compiled, recorded, and twice."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient


def inverse(x):
    return np.sum(np.where(x > 0.0, 1.0 / x, 0.0))


def entropy(x):
    return np.sum(np.where(x > 0.0, x * np.log(x), 0.0))


def log_above(x):
    return np.sum(np.maximum(np.log(x), -3.0))


def inverse_between(x):
    return np.sum(np.clip(1.0 / x, -3.0, 4.0))


def selected(x):
    return np.sum(np.select([x > 0.0], [1.0 / x], 0.0))


def finite(x):
    return np.sum(np.nan_to_num(1.0 / x, posinf=0.0))


def overwritten(x):
    r = 1.0 / x
    r[x == 0.0] = 0.0
    return np.sum(r * r)


def masked(x):
    r = np.log(x)
    return np.sum(r[np.isfinite(r)] ** 2)


def smallest(x):
    return np.min(1.0 / x)


def sigmoid(x):
    z = 900.0 * (x - 1.0)
    return np.sum(np.where(z > 0.0, 1.0 / (1.0 + np.exp(-z)), np.exp(z) / (1.0 + np.exp(z))) * x)


def soft_warping(x):
    n, gamma = len(x), 0.7 * x[1]
    r = np.full((n + 1, n + 1), np.inf)
    r[0, 0] = 0.0
    for i in range(n):
        for j in range(n):
            a, b, c = -r[i, j] / gamma, -r[i, j + 1] / gamma, -r[i + 1, j] / gamma
            m = max(a, b, c)
            r[i + 1, j + 1] = (x[i] - 0.5 * j) ** 2 - gamma * (m + math.log(math.exp(a - m) + math.exp(b - m) + math.exp(c - m)))
    return r[n, n]


def distances(x):
    return sum(np.sum((x[i] - x[j]) ** 2) ** 0.5 for i in range(3) for j in range(3))


def broken_power(x):
    return np.sum(np.abs(x) ** (0.3 * x[2]) * x[1]) + np.sum(np.cbrt(x * x * x * x))


def clipped_angles(x):
    return np.sum(x * np.arcsin(np.minimum(x, 1.0)) * np.arccos(np.clip(x, -1.0, 1.0))) + np.arccos(np.clip(x[1] - 0.5, 0.2, 1.0))


PROGRAMS = (
    clipped_angles, inverse, entropy, log_above, inverse_between, selected, finite, overwritten, masked, smallest, sigmoid, soft_warping, distances,
    broken_power,
)  # fmt: skip
X = np.array([0.0, 2.0, 2.5])


def quotients(f):
    """Differences, one-sided at 0, where some of the programs are not defined on the other side."""
    steps = 1e-6 * np.eye(3)
    with np.errstate(all="ignore"):
        return np.array([0.0 if i == 0 and f is not soft_warping else (f(X + s) - f(X - s)) / 2e-6 for i, s in enumerate(steps)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_zero_cotangent_gives_zero(f, jit):
    gradient = stgrad.grad(f, jit=jit)(X)
    wanted = quotients(f)
    if f is distances:
        wanted[0] = gradient[0]
        assert gradient[0] == -4.0
    if f is sigmoid:
        wanted[0] = 0.0
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", (inverse, entropy, overwritten), ids=lambda f: f.__name__)
def test_twice(f):
    v = np.array([0.0, 1.0, -0.5])
    (product,) = stgrad.hvp(f, (X,), (v,), jit=False)
    again = stgrad.grad(lambda x: np.sum(stgrad.grad(f)(x) * v), jit=False)(X)  # reverse over reverse
    gradient = stgrad.grad(f, jit=False)
    with np.errstate(all="ignore"):
        wanted = (gradient(X + 1e-6 * v) - gradient(X - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(product, wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(again, wanted, rtol=1e-5, atol=1e-7)


def zero_slope_inside(x):
    return np.sum(np.where(x > 0.0, (x - 2.0) * np.sin(x) * np.exp(x - 2.0), 0.0))


@pytest.mark.parametrize("jit", [False, True])
def test_zero_cotangents_that_are_not_zero_beside_the_point(jit):
    """The cotangent of the sine is 0 at 2, and its slope is not: finite partials stay."""
    x, e = np.array([1.0, 2.0, 2.5]), 1e-6
    gradient = stgrad.grad(zero_slope_inside, jit=False)
    wanted = (gradient(x + e) - gradient(x - e)) / (2.0 * e)
    np.testing.assert_allclose(stgrad.hvp(zero_slope_inside, (x,), (np.ones(3),), jit=jit)[0], wanted, rtol=1e-7)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(stgrad.hessian(zero_slope_inside, mode=mode, jit=jit)(x), np.diag(wanted), rtol=1e-7)
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(gradient(x)), jit=jit)(x), wanted, rtol=1e-7)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_of_choices(mode):
    found = stgrad.jacobian(lambda x: np.where(x > 1.0, x**2 * np.sin(x), -x), mode=mode, jit=False)(X)
    np.testing.assert_allclose(found, np.diag(np.where(X > 1.0, 2.0 * X * np.sin(X) + X**2 * np.cos(X), -1.0)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_left_out_keeps_its_infinity():
    assert stgrad.grad(lambda x: np.sum(np.log(x)), jit=False)(X)[0] == np.inf
    assert stgrad.grad(lambda x: np.sum(np.where(x >= 0.0, np.log(x), 0.0)), jit=False)(X)[0] == np.inf


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_recorded_programs_do_the_same(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def looked_up(x):
        table = {}
        for i in range(3):
            table[str(x[i])] = i
        return np.sum(np.where(x > 0.0, x * np.log(x) + 1.0 / x, 0.0))

    with pytest.warns(UserWarning):
        gradient = stgrad.grad(looked_up)(X)
    np.testing.assert_allclose(gradient, [0.0, 1.0 + math.log(2.0) - 0.25, 1.0 + math.log(2.5) - 0.16])


def test_other_programs_pay_nothing():
    text = stgrad.grad(lambda x: np.sum(np.exp(-x) / (1.0 + x)), jit=False).lowered(X)
    assert "if" not in text.replace("stgrad", "")


def without_itself(x):
    with np.errstate(all="ignore"):
        inverse = 1.0 / np.abs(x[:, None] - x[None, :]) ** 3
    np.fill_diagonal(inverse, 0.0)
    return np.sum(inverse * x)


def log_of_a_border(x):
    with np.errstate(all="ignore"):
        y = np.log(x - 1.0)
    y[0] = 0.0
    return np.sum(y * x)


def copied_and_cut(x):
    y = np.sqrt(x - 1.0)
    z = y.copy()
    z[:1] = 2.0
    y = x * np.exp(1000.0 * (2.0 - x[::-1]))
    y[-1] = 1.0
    return np.sum(z * x) + np.sum(y)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [without_itself, log_of_a_border, copied_and_cut])
def test_constants_over_what_was_computed(f, jit, mode):
    """An element that is replaced has a zero cotangent, whatever its partial."""
    x, step = np.array([1.0, 2.5, 4.0]), 1e-6
    ahead = [(f(x + e) - f(x)) / step for e in np.eye(3) * step]  # the first element is at the border
    np.testing.assert_allclose(stgrad.grad(f, mode=mode, jit=jit)(x), ahead, rtol=1e-4, atol=1e-7)


def test_a_replaced_element_of_a_polynomial_is_not_guarded():
    def f(x):
        y = x * x + 2.0 * x
        y[0] = 0.0
        return np.sum(y)

    assert "isfinite" not in stgrad.grad(f).source(np.ones(3))


def coupled(theta, lengths, spring, steps):
    """Sums that branches add to: nothing of what they hold before is left out."""
    theta, omega, n = theta.copy(), np.zeros_like(theta), len(theta)
    for _ in range(steps):
        for i in range(n):
            a = -9.81 / lengths[i] * math.sin(theta[i])
            if i > 0:
                a += spring * (theta[i - 1] - theta[i])
            if i < n - 1:
                a += spring * (theta[i + 1] - theta[i])
            omega[i] += 0.01 * a
        for i in range(n):
            theta[i] += 0.01 * omega[i]
    return np.sum(theta * omega)


def cut_short(x, w, last):
    """A sum that is not read where the branch sets it anew."""
    a = 0.0
    for i in range(len(x)):
        a += x[i] / w[i]
        if i < last:
            a = x[i]
    return a


def test_sums_under_conditions_are_not_guarded():
    args = (np.array([0.1, 0.4, -0.2]), np.array([1.0, 2.0, 1.5]), 2.0, 3)
    assert "safe_product" not in stgrad.grad(coupled, (0, 1, 2)).source(*args)
    check_gradient(coupled, args, argnums=(0, 1, 2))


@pytest.mark.parametrize("jit", [False, True])
def test_sums_that_are_set_anew_are_guarded(jit):
    with np.errstate(divide="ignore", invalid="ignore"):
        x_bar, w_bar = stgrad.grad(cut_short, (0, 1), jit=jit)(np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 4.0]), 2)
    np.testing.assert_allclose(x_bar, [0.0, 1.0, 0.25])
    np.testing.assert_allclose(w_bar, [0.0, 0.0, -0.1875])


def differences(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = 1.0 / (x[i] - x[0])
    return y


def behind_a_loop(x):
    return np.sum(differences(x)[1:])


def of_a_list(x):
    return sum([1.0 / (v - x[0]) for v in x][1:])


def overwritten_behind_a_loop(x):
    y = differences(x)
    y[0] = 3.0
    return y @ x


def of_a_triangle(x):
    y = 1.0 / (x[:, None] - x[None, :])
    return np.sum(np.triu(y, 1)) + np.sum(np.tril(y, -1) * x)


def of_a_filled_triangle(x):
    y = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        y[i] = 1.0 / (x[i] - x)
    return np.sum(np.triu(y, 1) * x)


def where_it_is_finite(x):
    return np.sum(1.0 / (x - x[0]), where=x != x[0])


def in_the_middle(x):
    return np.median(1.0 / (x - x[0]))


LEFT_OUT = (behind_a_loop, of_a_list, overwritten_behind_a_loop, of_a_triangle, of_a_filled_triangle, where_it_is_finite, in_the_middle)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", LEFT_OUT, ids=lambda f: f.__name__)
def test_what_is_left_out_by_its_place(f, jit):
    x, step = np.array([1.0, 2.5, 4.0]), 1e-6
    wanted = [(f(x + e) - f(x - e)) / (2.0 * step) for e in np.eye(3) * step]
    if f is where_it_is_finite:
        wanted[0] = 1.0 / 1.5**2 + 1.0 / 9.0  # a difference moves the element that is left out
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), wanted, rtol=1e-5, atol=1e-7)
    assert np.isfinite(stgrad.hessian(f, jit=jit)(x)).all()


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_jacobians_of_what_is_left_out(mode, jit):
    found = stgrad.jacobian(lambda x: np.where(x > 0.0, np.sqrt(2.0) / x, 0.0), mode=mode, jit=jit)(X)
    np.testing.assert_allclose(found, np.diag([0.0, *(-np.sqrt(2.0) / X[1:] ** 2)]))
    assert stgrad.jacobian(lambda x: np.where(x >= 0.0, np.log(x), 0.0), mode=mode, jit=jit)(X)[0, 0] == np.inf
