"""Sides of branches that end by raising, and `try` around what is certain to raise."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


class PackageError(Exception):
    """As packages define them."""


def raised_and_caught(a):
    y = a
    try:
        y = 2.0 * a
        raise ValueError("u")
    except ValueError:
        return y * y


def raised_and_caught_in_a_branch(a):
    y = a
    if a > 0.1:
        try:
            y = 3.0 * a
            raise ValueError("u")
        except ValueError:
            y = y * y
    return y


def one_kind_where_it_goes_on(a):
    if a > 5:
        y = "text"
        raise ValueError(y)
    elif a > 0:
        y = np.array([a, a])
    else:
        raise TypeError("not positive")
    return np.sum(y * y)


TEMPLATE, OLD = "bad {}: {:.3f}", "bad %s %d"


def messages(a):
    if a > 10:
        raise PackageError(TEMPLATE.format(a, a))
    if a > 11:
        raise PackageError(f"bad {a:.3f} {a!r}", a)
    if a > 12:
        raise PackageError(OLD % (a, 3) + " and " + str(a))
    if a > 13:
        raise PackageError("".join(["a", str(a)]), a.not_there)
    warnings.warn(TEMPLATE.format(a, math.ceil(a)), RuntimeWarning)
    return a * a


class ErrorWithState(Exception):
    """It gets an attribute as it is made, which the compiler does not know of."""

    def __init__(self, text):
        self.kept = None
        super().__init__(text)

    def told(self):
        return "nothing" if self.kept is None else "something"


def asks_an_error(a):
    if a > 0.1:
        found = ErrorWithState("u").told()
        a = a * 2.0 if found == "nothing" else a
    return a * a


def test_what_only_the_running_program_knows_is_refused():
    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="carries"):
        stgrad.grad(asks_an_error, jit=True)(3.0)


def raised_by_the_types(a):
    known = {"u": a}
    if a > 10.0:
        return known["v"]
    if a > 9.0:
        return np.no_such_function(a)
    b = a % 7.0
    if np.any(b > 6.0):
        b[b > 6.0] = 6.0 - b[b > 6.0]
    try:
        b[abs(b) < 1e-3] = 0.0
    except TypeError:
        if abs(b) < 1e-3:
            b = 0.0
    try:
        total = np.no_such_function
    except AttributeError:
        total = np.sum
    return total(b * b) * a


@pytest.mark.parametrize(("a", "kind"), [(11.0, KeyError), (9.5, AttributeError), (6.5, TypeError)])
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_what_the_types_say_is_raised_where_the_program_comes_to_it(a, kind, jit):
    with pytest.raises(kind):
        raised_by_the_types(a)
    with pytest.raises(kind):
        stgrad.grad(raised_by_the_types, jit=jit)(a)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("function", [raised_and_caught, raised_and_caught_in_a_branch, one_kind_where_it_goes_on, raised_by_the_types])
def test_gradient(function, jit):
    check_gradient(function, (0.6,), order=1 if jit else 2, jit=jit)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_what_a_message_is_made_of_does_not_matter(jit):
    assert stgrad.grad(messages, jit=jit)(0.6) == pytest.approx(1.2)
    with pytest.raises(PackageError):
        stgrad.grad(messages, jit=jit)(12.5)


def test_a_key_that_is_missing_on_one_path_alone_is_caught_there():
    known = {"u": 1.0}

    def f(a):
        y = a
        try:
            if a > 5:
                y = known["v"] * a
        except KeyError:
            y = 7.0 * a
        return y

    gradient = stgrad.grad(f, jit=False)
    assert (gradient(0.6), gradient(6.0)) == (1.0, 7.0)


def test_code_that_no_trip_comes_to_is_not_read():
    def f(x):
        for _ in range(0):
            x = unknown_name(x)  # noqa: F821
        return x * x

    assert stgrad.grad(f, jit=False)(3.0) == 6.0


class Named(dict):
    """A dict whose entries are attributes, as packages write it."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


CONSTANTS = Named(alpha=lambda precise: 3.0 if precise else 2.0)


def test_a_function_in_a_dict_is_read_and_not_called():
    def f(x, precise=False):
        return CONSTANTS.alpha(precise) * x

    assert stgrad.grad(f, jit=False)(1.0) == 2.0
    assert stgrad.grad(f, jit=False)(1.0, True) == 3.0


def divides_behind_a_name(x):
    if x > 0.0:
        a = x
    y = a * 2.0
    k = 4 // 0
    return y * k


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
@pytest.mark.parametrize("x, kind", [(1.0, ZeroDivisionError), (-1.0, UnboundLocalError)])
def test_what_is_certain_to_raise_comes_after_what_may(x, kind, jit):
    with pytest.raises(kind):
        divides_behind_a_name(x)
    with pytest.raises(kind):
        stgrad.grad(divides_behind_a_name, jit=jit)(x)
