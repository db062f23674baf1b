"""`try` around what may raise as the program runs: what is refused, and what is raised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import UnsupportedSyntaxError

JIT = pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])


def finally_on_the_way_out(x):
    n = 1.0
    try:
        try:
            y = math.log(x)
        finally:
            n = n + x
    except ValueError:
        y = n
    return y * n


def changed_and_failed(x):
    found = {"n": 0.0}

    def note(v):
        found["n"] += 1.0
        return math.log(v)

    try:
        y = note(x)
    except ValueError:
        y = found["n"]
    return y * x


def other_ranks(x):
    v = x
    try:
        for k in range(3):
            v = np.array([x, math.sqrt(x - k)])
    except ValueError:
        return v * 2.0
    return np.sum(v)


@pytest.mark.parametrize(
    ("function", "text"),
    [(finally_on_the_way_out, "`finally`"), (changed_and_failed, "changes a list, dict or object"), (other_ranks, "`v`")],
)
def test_what_a_handler_would_find_is_known_or_refused(function, text):
    with pytest.raises(stgrad.errors.StgradError, match=text):
        stgrad.grad(function, jit=False)(0.5)


def kinds(x, k):
    try:
        y = 1.0 / math.sqrt(x)
    except ZeroDivisionError:
        if k == 0:
            raise
        y = x
    except ValueError as problem:
        raise KeyError("none") from problem
    return y


@JIT
@pytest.mark.parametrize(("x", "k"), [(0.0, 0), (-1.0, 0)])
def test_handlers_raise_what_python_raises(x, k, jit):
    with pytest.raises(Exception) as expected:  # noqa: PT011  (asked of Python)
        kinds(x, k)
    with pytest.raises(type(expected.value)):
        stgrad.grad(kinds, jit=jit)(x, k)
    assert stgrad.grad(kinds, jit=jit)(4.0, k) == pytest.approx(-1.0 / 16.0)


def limits(x):
    try:
        n = int(x)
    except OverflowError:
        return 2.0 * x
    return n * x


@JIT
def test_limits_of_ours_are_not_caught(jit):
    assert stgrad.grad(limits, jit=jit)(3.5) == 3.0
    assert stgrad.grad(limits, jit=jit)(math.inf) == 2.0
    with pytest.raises(OverflowError, match="64 bits"):
        stgrad.grad(limits, jit=jit)(1e300)


def unwritten(x, k):
    try:
        a = 1.0 / x
        b = math.sqrt(k)
    except ZeroDivisionError:
        b = 1.0
    except ValueError:
        a, b = 1.0, 1.0
    return a * b * x


@JIT
def test_names_that_the_body_did_not_reach(jit):
    assert stgrad.grad(unwritten, jit=jit)(2.0, -1.0) == 1.0
    with pytest.raises(UnboundLocalError):
        unwritten(0.0, 1.0)
    with pytest.raises(UnboundLocalError):
        stgrad.grad(unwritten, jit=jit)(0.0, 1.0)


def quotient_of_an_item(x, w, z):
    t = w
    try:
        t = t * x[1]
        u = t / z
    except ZeroDivisionError:
        return t * 3.0
    return t + u


def quotients_of_items(x, w, z):
    t = w
    u = 0.0
    try:
        for i in range(3):
            t = t * x[i]
            u = t / z
    except ZeroDivisionError:
        return 3.0
    return t + u


def quotient_before_an_item(x, w, z):
    t = w
    try:
        u = t / z
        t = t * x[1]
    except ZeroDivisionError:
        return t * 3.0
    return t + u


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [quotient_of_an_item, quotients_of_items, quotient_before_an_item])
@pytest.mark.parametrize("z", [0.0, 2.0])
def test_a_name_that_holds_a_number_of_python_and_then_one_of_numpy(f, z):
    """NumPy's numbers divide by zero without an exception: no handler runs."""
    x = np.array([0.5, 1.7, 0.3])
    assert stgrad.jit(f)(x, 0.7, z) == f(x, 0.7, z)


def has_a_dtype(x):
    try:
        kind = x.dtype
    except AttributeError:
        return False
    return kind == np.float64


@JIT
def test_what_no_attribute_can_be_added_to_raises_for_certain(jit):
    def f(x):
        return x * (2.0 if has_a_dtype(...) or has_a_dtype(slice(3)) else 3.0)

    assert stgrad.grad(f, jit=jit)(2.0) == 3.0


@pytest.mark.parametrize("jit", [False, True])
def test_a_number_that_a_loop_begins_with_is_known_in_the_handler(jit):
    def total(x):
        s, k = 0.0, 0
        try:
            for v in x:
                s += v
                k += 1
                if s > 3:
                    raise OverflowError
        except OverflowError:
            s = s * k
        return s

    check_gradient(total, (np.array([0.7, 1.3, 2.1, 0.4]),), jit=jit)
    check_gradient(total, (np.array([0.7, 1.3]),), jit=jit)


def counted(x, n):
    try:
        return np.sum(x) * len(np.arange(n))
    except ValueError:
        return x[0] * 7


def cut_in_a_branch(x, n):
    if n > 0:
        try:
            return np.mean(x[1:]) + len(x[5:]) * x[0] * n
        except ValueError:
            return x[0] * 7
    return x[0]


def stretched(x, n):
    try:
        return np.sum(x[:n] * np.arange(1.0, 4.0)) + x[1]
    except ValueError:
        return x[1] * 7


def joined(x, n):
    try:
        return np.sum(np.concatenate((np.outer(x, x)[:n], np.outer(x, x)), axis=1)) + x[1]
    except ValueError:
        return x[1] * 7


@JIT
@pytest.mark.parametrize("f", [counted, cut_in_a_branch, stretched, joined])
@pytest.mark.parametrize("n", [-2, 1, 3, 4])
def test_a_handler_does_not_take_what_the_compiler_tests(f, n, jit, monkeypatch):
    """Python cuts and stretches where a program is first read as if extents were as they look."""
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    check_gradient(f, (np.array([0.7, 1.3, -0.4, 2.1]), n), 0, jit=jit)


def test_stacked_extents_that_may_differ_are_refused(monkeypatch):
    def f(x):
        try:
            return np.sum(np.stack([x[x > 0], x]))
        except ValueError:
            return x[0]

    monkeypatch.setenv("STGRAD_PLAIN", "0")
    with pytest.raises(UnsupportedSyntaxError, match="`np.stack` may raise the ValueError"):
        stgrad.grad(f)(np.ones(3))
