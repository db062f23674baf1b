"""Classes that set attributes in their own way: `__setattr__`, and what goes past it by `object.__setattr__`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import stgrad


class Doubles:
    def __init__(self, p):
        self.p = p

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class Logs:
    def __init__(self, p):
        self.p = p
        self.log = 0

    def __setattr__(self, name, value):
        if name != "log" and "log" in self.__dict__:
            super().__setattr__("log", self.log + 1)
        super().__setattr__(name, value)


class Elsewhere:
    def __init__(self, p):
        self.__dict__["held"] = {}
        self.p = p

    def __setattr__(self, name, value):
        self.held[name] = value * 3

    def __getattr__(self, name):
        return self.__dict__["held"][name]


class Frozen:
    __slots__ = ("p",)

    def __init__(self, p):
        object.__setattr__(self, "p", p)

    def __setattr__(self, name, value):
        raise AttributeError("frozen " + name)


@dataclasses.dataclass(frozen=True)
class Made:
    p: float
    q: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "q", self.p * 2)
        if self.p < 0:
            object.__setattr__(self, "p", 0.0)


class Bound:
    def __init__(self, p):
        setter = object.__setattr__.__get__(self)
        setter("p", p)


class Property:
    def __init__(self, p):
        self._p = p

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = value * 5

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


@dataclasses.dataclass
class Passed:
    a: float
    factor: dataclasses.InitVar[float] = 2.0
    shift: dataclasses.InitVar[float] = 0.5
    b: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self, factor, shift):
        self.b = self.a * factor + shift


def deleted_by_name(x):
    o = Property(x)
    o.extra = x
    delattr(o, "extra")
    return x * x * (1 + hasattr(o, "extra"))


def logged(x):
    o = Logs(x)
    o.p = x * x
    o.q = 1.0
    return o.p * o.log


def kept_elsewhere(x):
    o = Elsewhere(x)
    o.q = x * x
    return o.p * o.q


def refused_by_the_class(x):
    o = Frozen(x)
    try:
        o.p = 3.0
    except AttributeError:
        return o.p * x
    return x


def by_a_property(x):
    o = Property(x)
    o.p = x * x
    return o.p


def in_place(x):
    o = Doubles(x)
    setattr(o, "z", x)
    o.z += 1
    return o.z * o.p


def on_one_path(x):
    o = Made(x)
    if x > 1:
        object.__setattr__(o, "q", x**3)
    return o.q


PROGRAMS = [logged, kept_elsewhere, refused_by_the_class, by_a_property, in_place, on_one_path]
PROGRAMS += [deleted_by_name, lambda x: Passed(x, x).b * Passed(x).b * Passed(x, shift=x).b]
PROGRAMS += [lambda x: Doubles(x).p, lambda x: Made(x).q * Made(x).p, lambda x: Bound(x).p * x]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS)
def test_right(f, jit):
    for x in (0.6, 1.7):
        value, slope = stgrad.value_and_grad(f, jit=jit)(x)
        assert np.isclose(value, f(x))
        assert np.isclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6)
