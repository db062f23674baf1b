"""Attributes of objects that only some of the paths set: the value where it is there, what Python raises or finds where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.testing import check_gradient


class Model:
    kind = 3.0

    def __init__(self, x):
        self.x = x

    def run(self, c):
        if c > 0.0:
            self.low = self.x**2
            self.kind = 5.0
            self.items = [self.x, self.x**3]
            self.name = "positive"
        else:
            self.high = np.sin(self.x)
        return self


class Slotted:
    __slots__ = ("high", "low", "x")

    def __init__(self, x, c):
        self.x = x
        if c > 0.0:
            self.low = x * x
        elif c > -2.0:
            self.high = x**3


def read_where_set(x, c):
    m = Model(x).run(c)
    return (m.low if c > 0.0 else m.high) * m.kind


def asked_for(x, c):
    m = Model(x).run(c)
    y = getattr(m, "low", x * 7.0)
    if hasattr(m, "high"):
        y = y + 2.0 * m.high
    return y * m.kind


def caught(x, c):
    m = Model(x).run(c)
    try:
        return m.low * x
    except AttributeError:
        return x * 9.0


def set_again(x, c):
    m = Model(x).run(c)
    m.run(2.0 * c - 1.0)
    y = m.kind * x
    m.low = 2.0 * x
    return m.low * y


def lists(x, c):
    m = Model(x).run(c)
    if hasattr(m, "items"):
        m.items[0] *= 2.0
        return sum(m.items)
    return x


def slots(x, c):
    m = Slotted(x, c)
    return m.low if c > 0.0 else getattr(m, "high", 4.0 * x)


@pytest.mark.parametrize("c", [1.5, 0.3, -1.0, -3.0])
@pytest.mark.parametrize("f", [read_where_set, asked_for, caught, set_again, lists, slots])
def test_derivatives(f, c, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    check_gradient(f, (1.3, c), argnums=0, order=2)


@pytest.mark.parametrize("jit", [False, True])
def test_what_is_not_there_raises(jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    gradient = stgrad.grad(lambda x, c: Model(x).run(c).low, jit=jit)
    assert gradient(1.5, 1.0) == 3.0
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'low'"):
        gradient(1.5, -1.0)


@pytest.mark.parametrize("f", [lambda x, c: Model(x).run(c), lambda x, c: (x, [Slotted(x, c)]), lambda x, c: len(vars(Model(x).run(c))) * x])
def test_objects_that_may_lack_some_do_not_leave(f):
    with pytest.raises(errors.TypeInferenceError, match="is set on some paths only"):
        stgrad.vjp(f, 1.5, 1.0, jit=True)
