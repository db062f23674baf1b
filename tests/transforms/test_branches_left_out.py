"""What a branch does not read has a zero cotangent there, also behind a pole: a quotient by zero, the logarithm of a negative number."""

import numpy as np
import pytest

import stgrad
from stgrad.plain import recorded
from tests.thorough import check_gradient

ZERO = np.zeros(2)


def judged_before(x):
    n = np.sum(x * x)
    inv = 1.0 / n
    return x[0] * inv if n > 0 else x[0]


def normalised(x):
    r = x / np.linalg.norm(x)
    if np.isnan(r).any():
        return np.sum(x)
    return r[0]


def early(x):
    q = np.log(x)
    if x[0] > 0:
        return q[0] * q[1]
    return x[0] * 2 + x[1]


def bound_again(x):
    n = np.sum(x * x)
    inv = 1.0 / n
    if n == 0:
        inv = 0.0
    return inv * x[0] + x[1]


def replaced(x):
    r = x**0.25 * np.log(x)
    if not np.isfinite(r).all():
        r = x * 3
    return r.sum()


def skipped(x):
    s = 0.0
    for v in x:
        w = 1.0 / v
        if v == 0:
            continue
        s += w
    return s + x[0]


def broken_power(x):
    a = (x[0] - 0.2) ** 1.5
    return x[1] if np.isnan(a) else a


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [judged_before, normalised, early, bound_again, replaced, skipped, broken_power])
def test_it_is_zero_in_every_mode(function, jit):
    with np.errstate(all="ignore"):
        (wanted,) = recorded(function, (ZERO,), {}, ((0, 0),)).pullback(1.0)
        gradient = stgrad.grad(function, jit=jit)(ZERO)
        _, tangent = stgrad.jvp(function, (ZERO,), (np.array([1.0, 2.0]),), jit=jit)
        hessian = stgrad.hessian(function, jit=jit)(ZERO)
    np.testing.assert_array_equal(gradient, wanted)
    assert tangent == wanted @ [1.0, 2.0]
    np.testing.assert_array_equal(hessian, np.zeros((2, 2)))


def softplus(x, _):
    e = np.exp(x[0])
    if x[0] > 30.0:
        return x[0] + x[1]
    return np.log(1.0 + e) + x[1]


def softplus_of_each(x, _):
    s = 0.0
    for v in x:
        e = np.expm1(v)
        s += v if v > 30.0 else np.log(2.0 + e)
    return s


def gates(x, n):
    s = x[0] + x[1]
    c = np.cosh(x) * np.sinh(x)
    for i in range(len(x)):
        w = np.exp2(x[i])
        if n:
            s += w + c[i]
    return s


def in_no_trip(x, n):
    """Each trip goes by what the loop never reads: that another trip may read it makes it no less left out."""
    e, s = np.exp(x[0]), x[0] + x[1]
    for _ in range(3):
        if n:
            s += np.log(1.0 + e)
    return s


def in_no_trip_of_a_while(x, n):
    e, s, k = np.cosh(x[0]), x[0] + x[1], 0
    while k < 2:
        for _ in range(2):
            if n:
                s += np.log(e)
        k += 1
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [softplus, softplus_of_each, gates, in_no_trip, in_no_trip_of_a_while])
def test_of_what_overflows_before_the_branch(function, jit):
    with np.errstate(all="ignore"):
        large = np.array([2000.0, 3000.0])
        gradient = stgrad.grad(function, jit=jit)(large, 0)
        _, tangent = stgrad.jvp(function, (large, 0), (np.array([1.0, 2.0]), None), jit=jit)
        hessian = stgrad.hessian(function, jit=jit)(large, 0)
    np.testing.assert_array_equal(gradient, np.ones(2))
    assert tangent == 3.0
    np.testing.assert_array_equal(hessian, np.zeros((2, 2)))
    check_gradient(function, (np.array([0.5, -0.2]), 1), jit=jit)


def test_functions_of_python_raise_at_their_poles_and_pay_nothing():
    def f(x, y):
        q = y / x
        return q if x > 1.0 else y

    assert "isfinite" not in stgrad.grad(f, (0, 1), jit=False).lowered(2.0, 1.0)


def scaled_before(x, n):
    r = x / np.linalg.norm(x)
    s = np.sum(x)
    for i in range(n):
        s += r[i]
    return s


def inverse_before(x, n):
    inv = 1.0 / np.sum(x * x)
    s, i = 2.0 * x[0] + x[1], 0
    while i < n:
        s += inv * i
        i += 1
    return s


def logs_before(x, n):
    logs = np.log(x) * x
    s = x @ x
    for v in range(n):
        for w in range(v):
            s += logs[w]
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [scaled_before, inverse_before, logs_before])
def test_of_a_loop_without_trips_too(function, jit):
    with np.errstate(all="ignore"):
        (wanted,) = recorded(function, (ZERO, 0), {}, ((0, 0),)).pullback(1.0)
        gradient = stgrad.grad(function, jit=jit)(ZERO, 0)
        _, tangent = stgrad.jvp(function, (ZERO, 0), (np.array([1.0, 2.0]), None), jit=jit)
        hessian = stgrad.hessian(function, jit=jit)(ZERO, 0)
    np.testing.assert_array_equal(gradient, wanted)
    assert tangent == wanted @ [1.0, 2.0]
    np.testing.assert_array_equal(hessian, 2.0 * np.eye(2) if function is logs_before else np.zeros((2, 2)))
    assert np.isfinite(stgrad.grad(function, jit=jit)(np.array([0.5, 2.0]), 2)).all()


def one_element(x):
    y = 1.0 / x
    return y[1] * x[0]


def a_slice(x):
    y = np.log(x * x)
    return np.sum(y[1:]) + x[0]


def in_turn(x):
    y = (x - 1.0) / x
    s = 0.0
    for i in range(1, len(x)):
        s += y[i]
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [one_element, a_slice, in_turn])
def test_of_elements_that_no_subscript_reads(function, jit):
    x = np.array([0.0, 2.0])
    with np.errstate(all="ignore"):
        gradient, forward = stgrad.grad(function, jit=jit)(x), stgrad.jacfwd(function, jit=jit)(x)
        hessian, pushed = stgrad.hessian(function, jit=jit)(x), stgrad.hvp(function, jit=jit)(x, np.ones(2))
    np.testing.assert_allclose(gradient, forward, rtol=1e-12)
    np.testing.assert_allclose(hessian @ np.ones(2), pushed, rtol=1e-12)
    assert np.isfinite([*gradient, *pushed]).all()


def divided_before(x, w):
    q = np.sin(x / w)
    return np.sum(q) if w != 0 else np.sum(x)


def scaled_by_an_inverse(x, w):
    inv = 1.0 / np.float64(w)
    y = np.cos(x * inv)
    s = 0.0
    for i in range(len(x)):
        s += y[i] * x[0] if w != 0.0 else x[i]
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [divided_before, scaled_by_an_inverse])
def test_divisors_without_a_derivative(function, jit):
    x = np.array([1.0, 2.0])
    with np.errstate(all="ignore"):
        gradient = stgrad.grad(function, jit=jit)(x, np.float64(0.0))
        hessian = stgrad.hessian(function, jit=jit)(x, np.float64(0.0))
    np.testing.assert_array_equal(gradient, np.ones(2))
    np.testing.assert_array_equal(hessian, np.zeros((2, 2)))
    check_gradient(function, (x, np.float64(0.7)), argnums=0, jit=jit)


def decayed(x):
    return np.sum(np.where(x > 0.0, np.exp(-1.0 / x) * x[1], 0.0))


def decayed_by_trips(x):
    s = 0.0
    for i in range(len(x)):
        e = np.exp(-1.0 / x[i])
        if x[i] > 0.0:
            s += e * x[1]
    return s


def steep_before(x):
    s = 0.0
    for i in range(len(x)):
        e = np.exp(900.0 * x[i])
        y = e / (1.0 + e)
        s += x[i] ** 2 * x[0] if x[i] > 0.9 or x[i] == 0.0 else y * x[i]
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [decayed, decayed_by_trips, steep_before])
def test_twice_by_every_way(function, jit):
    """The tangent of a partial may be infinite where the partial is not, and rows of a Jacobian have cotangents of zero, too."""
    x, v, step = np.array([0.0, 2.0, 3.0]), np.array([0.0, -0.2, 0.7]), 1e-6
    with np.errstate(all="ignore"):
        gradient = stgrad.grad(function, jit=False)
        wanted = (gradient(x + step * v) - gradient(x - step * v)) / (2.0 * step)
        found = [stgrad.hvp(function, (x,), (v,), jit=jit)[0], stgrad.grad(lambda x: np.sum(stgrad.grad(function)(x) * v), jit=jit)(x)]
        found += [stgrad.hessian(function, mode=mode, jit=jit)(x) @ v for mode in ("forward", "reverse")]
    for product in found:
        np.testing.assert_allclose(product, wanted, rtol=1e-5, atol=1e-7)
