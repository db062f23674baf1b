"""Generators: what cannot be read in place of the loop that consumes it."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.5, 0.8, 1.3])


def squares(x):
    for item in x:
        yield item * item


def naturals(x):
    k = 1
    while True:
        yield k * x
        k += 1


def twice(x):
    items = squares(x)
    return sum(items) + sum(items)


def sent(x):
    def items():
        factor = yield x[0]
        yield factor * x[1]

    return sum(items())


def all_of_many(x):
    return sum(naturals(x[0]))


def changed_between(x):
    y = x.copy()
    items = squares(y)
    first = next(items)
    y[1] = 5.0 * x[0]
    return first * next(items)


def guarded(x):
    def items():
        try:
            yield x[0]
        except ValueError:
            yield x[1]

    return sum(items())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (twice, "used a second time"),
        (sent, "the value of a `yield`"),
        (all_of_many, "which never ends"),
        (changed_between, "`y` may change while the generator `squares` is suspended"),
        (guarded, "`try` around a `yield`"),
        (squares, "as the differentiated function"),
    ],
)
def test_refused_with_the_line(function, message):
    with pytest.raises(errors.UnsupportedSyntaxError, match=message) as caught:
        stgrad.grad(function, jit=True)(X)
    assert f"{__file__}:" in str(caught.value)


def last(x):
    for v in squares(x):
        found = v
    return found * 2.0


@pytest.mark.parametrize("jit", [False, True])
def test_a_name_that_no_item_assigns(jit):
    def function(x):
        return last(x[1:]) * x[0]

    assert np.allclose(stgrad.grad(function, jit=jit)(X), [2.0 * 1.3**2, 0.0, 0.5 * 4.0 * 1.3])
    with pytest.raises(UnboundLocalError, match="variable 'found'"):
        stgrad.grad(function, jit=jit)(X[:1])


def test_the_loop_stays_a_loop_with_the_names_of_the_source():
    def total(x):
        s = 0.0
        for v in squares(x):
            s += v * v
        return s

    text = stgrad.grad(total).lowered(X)
    assert "for i in range(n)" in text
    assert "while" not in text and "@" not in text
