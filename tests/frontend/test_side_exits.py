"""Sides of branches that cannot be compiled: the program ends where it comes to one, and the call goes to plain Python or is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.3, 1.7, 2.2, -0.4])
JIT = pytest.mark.parametrize("jit", [True, False])


def opaque(x):
    return np.frompyfunc(lambda v: v * 2.0, 1, 1)(x).astype(float).sum() if open(__file__).close() is None else 0.0


def returns_early(x):
    if np.sum(x) > 100.0:
        return opaque(x)
    return np.sum(x**2)


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 50.0:
            total += opaque(x)
        else:
            total += x[i] ** 2
    return total


def loop_on_the_side(x):
    total = x[1]
    if x[0] > 50.0:
        for i in range(3):
            total += opaque(x) * i
    return total * x[0]


def in_a_helper(x):
    def half(v):
        return opaque(x) if v > 100.0 else v * v

    return half(x[0]) + half(x[1])


def index_that_never_is(x, k):
    if np.sum(x) > 100.0:
        y = np.zeros((3, 2))
        for i in range(k):
            y[:, i] = x[:, i]
        return np.sum(y)
    return np.sum(x**2)


def one_or_many(x):
    return 3.0 * x[0] if x[0] > 5.0 else x * 2.0


def whole_or_not(m):
    if np.abs(m).max() < 1e-9:
        v = np.array([np.nan, np.nan])
    elif abs(m[0, 1]) < 1e-9:
        v = np.array([1, 0])
    else:
        v = np.array([m[0, 0], m[0, 1]])
        v = v / np.sqrt(v[0] ** 2 + v[1] ** 2)
    return v


def dict_or_list(x):
    return {"a": x[0]} if x[0] > 5.0 else [x[1], x[2]]


PROGRAMS = [returns_early, in_a_loop, loop_on_the_side, in_a_helper]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_call_that_never_comes_there(program):
    check_gradient(program, (X,), order=2)


@JIT
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_call_that_comes_there_is_refused(program, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    gradient = stgrad.grad(program, jit=jit)
    first = gradient(X)
    with pytest.raises(errors.StgradError, match="open"):
        gradient(X * 1000.0)
    np.testing.assert_array_equal(gradient(X), first)


def test_a_call_that_comes_there_runs_in_plain_python(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    gradient = stgrad.value_and_grad(one_or_many_summed := lambda x: np.sum(one_or_many(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (X, X * 30.0, X):
            value, found = gradient(x)
            assert value == pytest.approx(one_or_many_summed(x), rel=1e-12)
            np.testing.assert_allclose(found, np.eye(4)[0] * 3.0 if x[0] > 5.0 else np.full(4, 2.0))


def test_pythons_own_exception_where_it_is_reached(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    check_gradient(index_that_never_is, (X, 2), order=2)
    with pytest.raises(IndexError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stgrad.grad(index_that_never_is)(X * 1000.0, 2)


@JIT
def test_a_result_of_one_kind_or_another(jit):
    value, pullback = stgrad.vjp(one_or_many, X, jit=jit)
    np.testing.assert_allclose(value, X * 2.0)
    np.testing.assert_allclose(pullback(X)[0], X * 2.0)
    value, pullback = stgrad.vjp(whole_or_not, np.array([[3.0, 4.0], [4.0, 1.0]]), jit=jit)
    np.testing.assert_allclose(value, [0.6, 0.8])
    np.testing.assert_allclose(pullback(np.array([1.0, 0.0]))[0], [[0.128, -0.096], [0.0, 0.0]])
    value, pullback = stgrad.vjp(dict_or_list, X, jit=jit)
    np.testing.assert_allclose(value, X[1:3])
    np.testing.assert_allclose(pullback([1.0, 2.0])[0], [0.0, 1.0, 2.0, 0.0])


def test_a_handler_does_not_take_it_for_an_exception_of_pythons():
    def caught(x):
        try:
            t = opaque(x) if x[0] > 100.0 else x[0] * 3.0
        except ValueError:
            t = 0.0
        return t * x[1]

    with pytest.raises(errors.StgradError, match="open"):
        stgrad.grad(caught, jit=True)(X)


def test_what_the_caller_would_see_twice():
    def prints(x):
        print("begins")
        return opaque(x) if x[0] > 100.0 else x[0] * 3.0

    with pytest.raises(errors.StgradError, match="open"):
        stgrad.grad(prints, jit=True)(X)


def test_a_program_that_would_get_too_long_for_its_extents():
    def written_out(x):
        y = 0.0
        for i in range(len(x)):
            for j in range(len(x)):
                y = np.sum(x * x[j]) * 0.01 if (i + j) % 2 else y * 0.5 + np.sin(x) * x[i]
        return np.sum(y)

    check_gradient(written_out, (np.linspace(0.1, 0.9, 6),), 1)
    with pytest.raises(errors.TypeInferenceError, match="on one path"):
        stgrad.grad(written_out, jit=False)(np.linspace(0.1, 0.9, 40))
