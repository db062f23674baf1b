"""`zip` ends with the shortest: a program that was made for longer arrays takes shorter ones."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors

LONG, SHORT = np.array([0.5, 0.3, 0.2, 0.1, 0.7, 0.8]), np.array([0.5, 0.3])


def beside_numbers(x):
    total = 0.0
    for w, a in zip((1.0, 2.0, 3.0), x):  # noqa: B905
        total += w * a * a
    return total


def beside_a_list(x):
    total = 0.0
    for w, a, b in zip([1.0, 2.0, 3.0], x, x[::-1]):  # noqa: B905
        total += w * a * b
    return total


def beside_items(x):
    total = np.zeros(2)
    for (_, w), a in zip({"M2": 28.0, "S2": 30.0, "K1": 15.0}.items(), x):  # noqa: B905
        total += a * np.cos(w * np.arange(2.0))
    return np.sum(total)


def beside_functions(x):
    return sum(f(a) for f, a in zip([np.sin, np.cos, np.exp], x))  # noqa: B905


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [beside_numbers, beside_a_list, beside_items, beside_functions])
def test_arrays_that_are_shorter_the_second_time(function, jit):
    gradient = stgrad.grad(function, jit=jit)
    for x in (LONG, SHORT, LONG, SHORT[:1]):
        differences = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))]
        np.testing.assert_allclose(gradient(x), differences, rtol=1e-7, atol=1e-8)


def test_what_cannot_be_counted_is_refused_in_its_line():
    gradient = stgrad.grad(lambda x: beside_a_list(x[x > 0.4]), jit=True)
    np.testing.assert_allclose(gradient(LONG), [3.2, 0.0, 0.0, 0.0, 2.8, 2.0])
    with pytest.raises(errors.NeedStaticError, match=r"pairs with 3 items may be shorter(.|\n)*for w, a, b in zip"):
        gradient(SHORT)
