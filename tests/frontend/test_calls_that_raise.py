"""What a call of known arguments raises is raised by the path that comes to it, with Python's class; other paths go on."""

import math

import numpy as np
import pytest

import stgrad

CALLS = {
    "domain": lambda x: math.sqrt(-1.0),
    "text": lambda x: int("q"),
    "number": lambda x: float("q"),
    "extent": lambda x: np.zeros(-5).sum(),
    "extents": lambda x: np.ones((2, -1)).sum(),
    "filled": lambda x: np.full(-2, 1.0).sum(),
    "rows": lambda x: np.eye(-1).sum(),
    "samples": lambda x: np.linspace(0.0, 1.0, -3).sum(),
    "step": lambda x: sum(range(0, 3, 0)),
    "steps": lambda x: len(range(0, 3, 0)),
    "factorial": lambda x: math.factorial(-1),
    "shift": lambda x: 1 << -1,
    "quotient": lambda x: 1 // 0,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("jit", [False, True])
def test_on_a_path(call, jit):
    def f(x, n):
        if n > 2:
            return x * x
        return x * call(x)

    with pytest.raises(Exception) as plain:  # noqa: B017, PT011
        f(1.5, 1)
    gradient = stgrad.grad(f, jit=jit)
    assert gradient(1.5, 3) == 3.0
    with pytest.raises(plain.type):
        gradient(1.5, 1)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("call", [CALLS["domain"], CALLS["extent"], CALLS["step"]], ids=["domain", "extent", "step"])
def test_in_an_attempt(call, jit):
    def f(x, n):
        y = x
        try:
            if n > 2:
                y = x * call(x)
            y = y * x
        except ValueError:
            y = 3.0 * x
        return y

    gradient = stgrad.grad(f, jit=jit)
    assert gradient(1.5, 1) == 3.0 and gradient(1.5, 3) == 3.0
    assert stgrad.grad(lambda x: f(x, 3) * x, jit=jit)(1.5) == 9.0


def met(long, short):
    m, n = len(short), len(long) - len(short) + 1
    y = np.zeros(n)
    for k in range(m):
        y += short[k] * long[m - 1 - k : m - 1 - k + n]
    return y


@pytest.mark.parametrize("jit", [False, True])
def test_extents_that_are_negative_where_no_run_comes(jit):
    def f(x, w):
        a, u = np.ones(12) * x[0], np.arange(6.0) * x[1]
        c = met(a, u) if w > 0.0 else met(u, a)
        return np.sum(c[:1] ** 2)

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(np.array([1.0, 2.0]), 1.0), [1800.0, 900.0])
    with pytest.raises(ValueError, match="negative dimensions"):
        stgrad.grad(f, jit=jit)(np.array([1.0, 2.0]), -1.0)


@pytest.mark.parametrize("jit", [False, True])
def test_extents_that_a_test_has_told(jit):
    """Behind the sum the compiler knows that there are three, and that no array has three less five."""

    def f(x, w):
        last = x[-3:]
        s = np.sum(last * np.arange(3.0))
        if w > 0.0:
            return s * x[0]
        z = np.zeros(len(last) - 5)
        z[:] += x[0]
        return np.sum(z) + s

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(np.ones(4), 1.0), [3.0, 0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="negative dimensions"):
        stgrad.grad(f, jit=jit)(np.ones(4), -1.0)


def fills_a_row_with_a_matrix(y):
    rows = np.zeros((3, 2))
    if y.shape[0] == 2:
        rows[0] = np.ones((4, 2))
    return np.sum(rows) + np.sum(y**2)


@pytest.mark.parametrize("jit", [False, True])
def test_a_store_that_does_not_fit_raises_on_its_path(jit):
    gradient = stgrad.grad(fills_a_row_with_a_matrix, jit=jit)
    assert gradient(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="cannot store an array of rank 2"):
        gradient(np.ones(2))
