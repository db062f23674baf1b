"""Integers of Python's beside NumPy's narrow ones (NEP 50): they fit, or NumPy's exception; what NumPy itself wraps is wrapped."""

import numpy as np
import pytest

import stgrad

X = np.array([1.0, 2.0, 3.0])
BYTES = np.array([250, 3], dtype=np.uint8)


def scalar_plus(x, n):
    return x[0] * (np.uint8(5) + n)


def array_plus(x, n):
    return x[0] * (BYTES + n)[0]


def stored(x, n):
    y = np.zeros(2, np.uint8)
    y[0] = n
    return x[0] * y[0]


def filled(x, n):
    return x[0] * np.full(3, n, np.uint8)[1]


def listed(x, n):
    return x[0] * np.array([n, 1], dtype=np.uint8)[0]


def cast(x, n):
    return x[0] * np.uint8(n) + x[1] * np.int16(n)


def cast_float(x, n):
    return x[0] * np.uint8(n + 0.75)


def in_place(x, n):
    k = np.uint8(5)
    for _ in range(2):
        k += n
    return x[0] * k


def raised_to(x, n):
    return x[0] * np.int64(2) ** n + x[1] * np.sum(np.arange(1, 4) ** n)


def base_of(x, n):
    return x[0] * np.sum(2 ** (np.arange(3) + n))


PROGRAMS = [scalar_plus, array_plus, stored, filled, listed, cast, cast_float, in_place, raised_to, base_of]


@pytest.mark.parametrize("n", [3, 300, -2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy(program, n):
    runs = (stgrad.jit(program), stgrad.value_and_grad(program, jit=True), stgrad.value_and_grad(program, jit=False))
    try:
        value = program(X, n)
    except (OverflowError, ValueError) as error:
        for run in runs:
            with pytest.raises(type(error)):
                run(X, n)
        return
    for run in runs:
        found = run(X, n)
        assert (found[0] if isinstance(found, tuple) else found) == value


def wraps(x, k, n):
    y = np.array([n, 1]).astype(np.uint8)
    return x[0] * (k[0] + k[1]) + x[1] * (k * 2)[0] + x[2] * (k[0] - 251) + x[0] * y[0] + x[1] * np.uint8(np.int64(300)) + x[2] * k.sum()


def compared(x, k, n):
    return x[0] * (k[0] < 300) + x[1] * np.sum(k == n) + x[2] * np.sum(k < n) + x[0] * (k[1] > n) + x[1] * np.sum(-1 < k)


@pytest.mark.parametrize("program", [wraps, compared])
@pytest.mark.parametrize("n", [3, 300, -2])
@pytest.mark.filterwarnings("ignore:overflow")
def test_right(program, n):
    value = program(X, BYTES, n)
    derivative = [program(e, BYTES, n) for e in np.eye(3)]  # they are linear
    for jit in (True, False):
        found, gradient = stgrad.value_and_grad(program, jit=jit)(X, BYTES, n)
        assert found == value
        assert np.array_equal(gradient, derivative)
    assert stgrad.jit(program)(X, BYTES, n) == value


def test_a_branch_that_does_not_run():
    def f(x, k, n):
        return x[0] * (k + 300)[0] if n > 5 else x[0] * k[0]

    assert stgrad.jit(f)(X, BYTES, 1) == 250.0
    with pytest.raises(OverflowError):
        stgrad.jit(f)(X, BYTES, 6)
