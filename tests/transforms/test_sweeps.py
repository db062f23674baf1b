"""Loops of independent trips run forward and reverse in one; all others stay apart."""

import math
import re

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def prices(s, k, v):
    total = 0.0
    for i in range(len(s)):
        root = v * math.sqrt(0.5)
        d1 = (math.log(s[i] / k) + 0.25 * v * v) / root
        d2 = d1 - root
        if d1 > 0.1:
            total += s[i] * math.erf(d1) - k * math.erf(d2)
        else:
            total += d2 * d2
    return total / len(s)


def nested(a):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += math.exp(a[i, j]) * math.sin(a[i, 0])
    return total


def inner_product(a):
    total = 0.0
    for i in range(a.shape[0]):
        r = 1.0
        for j in range(a.shape[1]):
            r *= math.sin(a[i, j])
        total += math.exp(r)
    return total


def recurrence(x):
    s = 0.5
    for i in range(len(x)):
        s = math.sin(s) + x[i]
    return s


def squared_after(x):
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i])
    return s * s


def overwritten(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += math.exp(x[i])
        x[i + 1] = x[i] * s
    return s


def descending(x):
    s = 0.0
    for i in range(len(x) - 1, 0, -1):
        s += math.exp(x[i]) * x[i - 1]
    return s


X = np.array([1.1, 0.4, 2.0, 0.7])
A = np.array([[0.3, 1.2, 0.4], [0.8, 0.1, 0.9]])


def returns_early(x, n):
    if n < 0.0:
        return x[0]
    total = 0.0
    for i in range(len(x)):
        total += n * math.exp(x[i])
    return total


def in_one_arm(x, a):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            for j in range(a.shape[1]):
                total += math.exp(x[i] * a[0, j])
        else:
            total += x[i] * x[i]
    return total


def changed_between(x, a):
    """The condition of the second sweep is about an array that the first has changed."""
    y = x.copy()
    total = 0.0
    for i in range(len(x)):
        if y[i] > 0.5:
            for j in range(a.shape[1]):
                total += math.exp(y[i] * a[0, j])
            y[i] = -1.0
        else:
            y[i] = total * x[i]
    return total + np.sum(y * y)


def minors(m):
    n = m.shape[0]
    if n == 1:
        return m[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        total += sign * m[0, j] * minors(np.concatenate((m[1:, :j], m[1:, j + 1 :]), axis=1))
        sign = -sign
    return total


@pytest.mark.parametrize(("f", "args"), [(prices, (X, 1.0, 0.3)), (nested, (A,)), (descending, (X,)), (returns_early, (X, 2.0)), (in_one_arm, (X, A))])
def test_independent_trips_store_nothing(f, args):
    text = stgrad.grad(f).lowered(*args)
    assert "stack" not in text, text
    check_gradient(f, args)


@pytest.mark.parametrize("f", [recurrence, overwritten])
def test_trips_that_depend_on_each_other_keep_their_storage(f):
    text = stgrad.grad(f).lowered(X)
    assert "stack" in text, text
    check_gradient(f, (X,))


def test_an_adjoint_that_needs_the_sum_waits_for_it():
    text = stgrad.grad(squared_after).lowered(X)
    assert text.count("for i in range") >= 2, text
    check_gradient(squared_after, (X,))


def test_inner_loops_keep_a_stack_of_one_trip():
    check_gradient(inner_product, (A,))


@pytest.mark.parametrize(("f", "args"), [(prices, (X, 1.0, 0.3)), (inner_product, (A,))])
def test_compiled(f, args):
    names = tuple(range(len(args)))
    for compiled, plain in zip(stgrad.grad(f, names)(*args), stgrad.grad(f, names, jit=False)(*args), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-12)


@pytest.mark.parametrize(("f", "args"), [(returns_early, (X, -1.0)), (changed_between, (X, A)), (in_one_arm, (X, A))])
def test_branches_of_both_sweeps(f, args):
    check_gradient(f, args)


def test_each_call_of_a_recursion_goes_through_its_trips_once():
    m = np.random.default_rng(0).standard_normal((4, 4))
    text = stgrad.grad(minors).lowered(m)
    assert "stack" not in text, text
    np.testing.assert_allclose(stgrad.grad(minors, jit=False)(m), np.linalg.det(m) * np.linalg.inv(m).T)
    check_gradient(minors, (m,))


@pytest.mark.parametrize(("f", "x"), [(nested, A), (descending, X)])
def test_products_with_the_hessian_store_nothing(f, x):
    """The tangent of the cotangent has the extents of a cotangent that nothing else reads."""
    text = stgrad.hvp(f).lowered(x, np.ones_like(x))
    assert "stack" not in text, text
    check_gradient(lambda x: np.sum(stgrad.grad(f)(x) ** 2), (x,), order=1)


def rates(x, a):
    """Each path changes an array of its own in place."""
    total = 0.0
    for p in range(a.shape[0]):
        y = x.copy()
        for t in range(a.shape[1]):
            for i in range(t, len(y)):
                y[i] *= math.exp(0.1 * y[i] * a[p, t])
        total += np.sum(y) ** 2
    return total


def recursions(x, a):
    """And hands arrays from one inner trip to the next."""
    total = 0.0
    for p in range(a.shape[0]):
        y = x * a[p, 0]
        for t in range(1, a.shape[1]):
            new = y.copy()
            for i in range(1, len(y)):
                new[i] = y[i] + a[p, t] * y[len(y) - i]
            y = new
        total += np.sum(y * y)
    return total


def carried(x, a):
    """What a path leaves, the next one starts from."""
    total = 0.0
    y = x.copy()
    for p in range(a.shape[0]):
        for i in range(len(y)):
            y[i] = y[i] * math.sin(y[i]) + a[p, 0]
        total += np.sum(y) ** 2
    return total


def last_of(x, a):
    """What the last path leaves is read behind the loop."""
    total = 0.0
    y = x.copy()
    for p in range(a.shape[0]):
        y = x * a[p, 0]
        for i in range(len(y)):
            y[i] *= y[i]
        total += np.sum(y * y)
    return total + np.sum(np.exp(y))


@pytest.mark.parametrize(("f", "united"), [(rates, True), (recursions, True), (carried, False), (last_of, False)])
def test_arrays_that_a_trip_makes_and_changes(f, united):
    text = stgrad.grad(f, (0, 1)).lowered(X, A)
    assert (len(re.findall(r"for p\w* in range\(", text)) == 1) == united, text
    check_gradient(f, (X, A), jit=False)
    check_gradient(f, (X, A), jit=True, order=1)
