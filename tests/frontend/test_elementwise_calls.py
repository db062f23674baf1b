"""Functions that mean one call an element or a row: `numba.vectorize`, `numba.guvectorize`, `np.vectorize`; and callables that wrap others."""

import functools
import math

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.3, 0.7, -0.4, 1.1])
A = np.outer(X, X)[:3]


@numba.vectorize
def branching(x, y):
    if x > y:
        z = x * y
    else:
        z = x + 2.0 * y
    return z * x


@numba.vectorize(["float64(float64)"])
def constant(x):
    return 3.0


@numba.vectorize(["float32(float32)", "float64(float64)"])
def squared(x):
    return x * x


@numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def scaled(x, a, y):
    for i in range(len(x)):
        y[i] = x[i] * a


@numba.guvectorize([(numba.float64[:], numba.float64[:], numba.float64[:])], "(n),()->(n)")
def summed_up(x, a, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s * a[0]


@numba.guvectorize("(n)->()")
def norm(x, y):
    y[0] = (x * x).sum()


@np.vectorize
def chosen(x, y):
    return math.sin(x) * y if x > 0.0 else y * 2.0


@np.vectorize
def step(x):
    return 1 if x > 0.5 else 0


class Doubled:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args):
        return 2.0 * self.function(*args)


@Doubled
def doubled_square(x):
    return x * x


@functools.lru_cache
def remembered(x):
    return x * x


def with_number(x, c):
    return np.sum(branching(x, c) * x)


def of_numbers(x, c):
    return branching(c, 0.7) * c + branching(x[0], x[1])


def of_constant(x, c):
    return np.sum(constant(x) * x) * c


def of_two_ranks(x, c):
    return np.sum(branching(np.outer(x, x)[:3], x) ** 2) * c


def with_signatures(x, c):
    return np.sum(squared(x) * np.arange(4)) * c


def rows(x, c):
    a = np.outer(x, x)[:3]
    return np.sum(scaled(a, x[:3]) * a) * c


def rows_and_number(x, c):
    a = np.outer(x, x)[:3]
    return np.sum(scaled(a, c) * a)


def rows_and_array_of_one(x, c):
    return np.sum(summed_up(np.outer(x, x)[:3], x[:3]) ** 2) * c


def into_array(x, c):
    out = np.zeros(3)
    norm(np.outer(x, x)[:3], out)
    return np.sum(out * out) * c


def elements_into_array(x, c):
    out = np.zeros_like(x)
    branching(x, c, out)
    return np.sum(out * x)


def by_numpy(x, c):
    return np.sum(chosen(x, c) * x)


def of_integers(x, c):
    return np.sum(step(x) * x) * c


def wrapped(x, c):
    return doubled_square(c) * x[0] + remembered(c)


@numba.njit
def in_loop(x, c):
    s = 0.0
    for i in range(len(x)):
        s += branching(x[i], c)
    return s


PROGRAMS = [
    with_number, of_numbers, of_constant, of_two_ranks, with_signatures, rows, rows_and_number, rows_and_array_of_one, into_array,
    elements_into_array, by_numpy, of_integers, wrapped, in_loop,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_call_an_element(program, jit):
    value, (x_bar, c_bar) = stgrad.value_and_grad(program, argnums=(0, 1), jit=jit)(X, 0.6)
    assert value == pytest.approx(program(X, 0.6), rel=1e-12)
    h = 1e-6
    expected = [(program(X + e, 0.6) - program(X - e, 0.6)) / (2 * h) for e in h * np.eye(4)]
    np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-8)
    assert c_bar == pytest.approx((program(X, 0.6 + h) - program(X, 0.6 - h)) / (2 * h), rel=1e-6, abs=1e-8)


def test_dtypes_of_signatures():
    x = X.astype(np.float32)
    assert stgrad.jit(lambda x: squared(x))(x).dtype == np.float32
    assert stgrad.jit(lambda x: constant(x))(x).dtype == np.float64


def test_arguments_without_a_signature_are_refused():
    with pytest.raises(errors.TypeInferenceError, match="`constant` does not take these arguments: complex"):
        stgrad.grad(lambda z: np.real(constant(z * 1j)))(1.0)
    with pytest.raises(errors.TypeInferenceError, match="`norm` has no signature"):
        stgrad.grad(lambda x: np.sum(norm(x)))(X)


def products_of_rows(x):
    rows = np.vectorize(lambda u, v, s: np.dot(u, v) * s, signature="(n),(n),()->()")
    return np.sum(rows(np.reshape(x, (2, 4)), x[:4], x[:2]) ** 2) + rows(x[:4], x[4:], 2.0)


def factors_of_each(x):
    a = np.reshape(x, (2, 2, 2))
    q, r = np.vectorize(np.linalg.qr, signature="(m,n)->(m,k),(k,n)")(a)
    return np.sum(q * a) + np.sum(r[:, 0, 1])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [products_of_rows, factors_of_each])
def test_vectorize_with_a_signature(f, jit):
    check_gradient(f, (np.array([0.3, 1.7, 2.2, -0.4, 0.5, 0.6, -1.2, 0.9]),), jit=jit)


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def part(x, out):
    out[0] = np.sin(x[0])
    out[1] *= x[1]


@numba.guvectorize("(n),()->()")
def grown(x, by, out):
    out[0] = out[0] * by + x.sum()


def kept(x, y):
    return np.sum(part(np.outer(x, x), np.outer(y, y))) + np.sum(part(x, np.outer(y, y)) ** 2)


def read(x, y):
    out = y * 1.0
    grown(np.outer(x, x), 2.0, out)
    return np.sum(out**2)


@pytest.mark.parametrize("program", [kept, read])
@pytest.mark.parametrize("jit", [False, True])
def test_what_stands_in_the_result_counts(program, jit):
    x, y = np.array([0.3, 0.5, 0.7]), np.array([1.0, 2.0, 4.0])
    check_gradient(program, (x, y), jit=jit)
