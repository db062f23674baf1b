"""What is refused says where, why and what to write instead."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import stgrad
from stgrad import errors


def returns_a_growing_list(x):
    xs = []
    for v in x:
        xs.append(v)
    return xs


def deletes_every_second(x):
    xs = []
    for v in x:
        xs.append(v)
    del xs[::2]
    return xs[0]


def new_keys_in_a_loop(x):
    d = {}
    for v in x:
        d["last"] = v
    return d["last"]


def mixes_kinds(x):
    xs = []
    for v in x:
        xs.append(v)
        xs.append(x)
    return np.sum(xs[0])


def kinds_that_differ(x):
    y = 0.0
    for i in range(x.shape[0]):
        y = np.sum(x) if i % 2 else y + x
    return np.sum(y)


def list_with_two_names(x):
    a = [x[0]]
    b = a
    for v in x:
        a[0] = a[0] * v
        a = [v]
    return b[0]


class Point:
    __slots__ = ("a",)


def unknown_attribute(x):
    p = stgrad_point(x)
    return p.missing


class Plain:
    def __init__(self, a):
        self.a = a


def stgrad_point(x):
    return Plain(x[0])


def attribute_of_an_array(x):
    return np.sum(x.foo)


def method_in_arithmetic(x):
    return x.sum + 1.0


def returns_a_method(x):
    return x.sum


def indexes_a_method(x):
    return x.sum[0]


def reads_a_printed_number(x):
    return float(f"{x[0]:.2f}")


def asks_for_the_layout(x):
    return x[0] if x.flags.c_contiguous else x[1]


CASES = [
    (asks_for_the_layout, errors.UnsupportedSyntaxError, "known to the running program alone"),
    (returns_a_growing_list, errors.NotDifferentiableError, "stgrad.vjp"),
    (deletes_every_second, errors.UnsupportedSyntaxError, "a slice with a step"),
    (unknown_attribute, errors.UndefinedNameError, "missing"),
    (reads_a_printed_number, errors.NeedStaticError, "used for more than printing"),
    (attribute_of_an_array, errors.UndefinedNameError, "an array of float64 has no attribute `foo`"),
    (method_in_arithmetic, errors.UndefinedNameError, "instead: call it: `.sum(...)`"),
    (returns_a_method, errors.UndefinedNameError, "the method `sum` is used as a value"),
    (indexes_a_method, errors.UndefinedNameError, "the method `sum` is used as a value"),
]


@pytest.mark.parametrize(("f", "error", "words"), CASES, ids=lambda v: getattr(v, "__name__", None))
def test_refused(f, error, words):
    with pytest.raises(error) as found:
        stgrad.grad(f, jit=False)(np.array([1.0, 2.0]))
    assert words in str(found.value)
    assert found.value.loc.file == __file__  # never a line of what reads it


def test_kinds_that_differ():
    """Where the loop is short its extent is compiled in, and each trip has a kind of its own."""
    with pytest.raises(errors.TypeInferenceError, match="on one path"):
        stgrad.grad(kinds_that_differ, jit=False)(np.ones(70))
    np.testing.assert_array_equal(stgrad.grad(kinds_that_differ, jit=False)(np.array([1.0, 2.0])), [1.0, 1.0])


UNLIKE_TRIPS = [
    (new_keys_in_a_loop, errors.TypeInferenceError, "in the loop", [0.0, 1.0]),
    (mixes_kinds, errors.TypeInferenceError, "one kind", [1.0, 0.0]),
    (list_with_two_names, errors.UnsupportedSyntaxError, "several names", [2.0, 0.0]),
]


@pytest.mark.parametrize(("f", "error", "words", "gradient"), UNLIKE_TRIPS, ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.parametrize("jit", [False, True])
def test_loops_over_arrays_whose_trips_differ(f, error, words, gradient, jit):
    """A short loop is written out; what cannot be is refused, with its own reason and place."""
    with pytest.raises(error) as found:
        stgrad.grad(f, jit=jit)(np.ones(70))
    assert words in str(found.value)
    assert found.value.loc.file == __file__
    x = np.array([1.0, 2.0])
    value, slopes = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == f(x)
    np.testing.assert_allclose(slopes, gradient)


def test_star_element_that_is_not_there():
    def f(x, *rest):
        return x * x

    with pytest.raises(errors.NotDifferentiableError, match="rest"):
        stgrad.grad(f, argnums=1, jit=False)(1.0)


def test_gradient_of_a_dataclass_is_one():
    g = stgrad.grad(lambda p: p.a * p.a, jit=False)(Plain(3.0))
    assert type(g) is Plain
    assert g.a == 6.0


@dataclass(frozen=True)
class Frozen:
    a: Any


class Named(NamedTuple):
    a: Any


def updates_an_item_of_a_tuple(x):
    pair = (x * 1.0, x * 2.0)
    pair[0] -= 1.0
    return np.sum(pair[1])


def updates_a_named_tuple(x):
    p = Named(x * 1.0)
    p.a *= 2.0
    return np.sum(p.a)


def updates_a_frozen_object(x):
    p = Frozen(x * 1.0)
    p.a *= 2.0
    return np.sum(p.a)


def updates_a_transpose(x):
    y = x * 1.0
    y.T *= 2.0
    return np.sum(y)


UPDATES = [
    (updates_an_item_of_a_tuple, errors.TypeInferenceError, "'tuple' object does not support item assignment"),
    (updates_a_named_tuple, errors.UnsupportedSyntaxError, "attribute `a`"),
    (updates_a_frozen_object, errors.TypeInferenceError, "`Frozen` is frozen"),
    (updates_a_transpose, errors.UnsupportedSyntaxError, "`.T`"),
]


@pytest.mark.parametrize(("f", "kind", "words"), UPDATES, ids=lambda v: getattr(v, "__name__", None))
def test_what_python_cannot_put_back(f, kind, words):
    with pytest.raises((TypeError, AttributeError)):
        f(np.array([1.0, 2.0]))
    with pytest.raises(kind, match=words):
        stgrad.grad(f, jit=False)(np.array([1.0, 2.0]))


def test_no_inside_words():
    """A message speaks of what the program has, not of the classes by which the compiler knows it."""

    def joined(x, n):
        knots = [x]
        for _ in range(n):
            knots.append(x)
        return x * operator.index(knots)

    def called(x):
        return np.sum(np.convolve(lambda y: y, x))

    with pytest.raises(errors.StgradError, match="a list"):
        stgrad.grad(joined, jit=True)(1.5, 3)
    with pytest.raises(errors.StgradError, match="a function") as caught:
        stgrad.grad(called, jit=True)(np.ones(3))
    assert "Closure" not in str(caught.value)
