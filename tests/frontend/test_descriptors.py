"""What a class gives to its instances: descriptors, properties, methods, and callables that are none of them, as Python's data model has it."""

import functools
import math
import operator

import numpy as np
import pytest
from numba import njit

import stgrad
from tests.thorough import check_gradient


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


@njit
def native_method(self, x):
    return x * 3.0


@njit
def native(x):
    return x * 3.0


class Layer:
    act = Scale(3.0)
    sin = np.sin
    cos = math.cos
    power = functools.partial(pow, 2.0)
    first = operator.itemgetter(0)
    cast = float
    native = staticmethod(native)
    scaled = functools.partialmethod(lambda self, k, x: k * x, 5.0)
    triple = lambda self, x: 3.0 * x  # noqa: E731


outside = Layer()


def callables_of_a_class(x):
    layer = Layer()
    return layer.act(x) + layer.sin(x) * layer.cos(x) + layer.power(x) + layer.first([x]) + layer.cast(x) + layer.native(x) + layer.scaled(x) + layer.triple(x)


def callables_of_an_object(x):
    return outside.act(x) + outside.sin(x) * outside.cos(x) + outside.power(x) + outside.first([x]) + outside.native(x) + outside.scaled(x) + outside.triple(x)


class Twice:
    def __get__(self, owner, cls=None):
        return self if owner is None else owner.base * 2.0


class Lazy:
    def __init__(self, f):
        self.f = f

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, owner, cls=None):
        if owner is None:
            return self
        value = self.f(owner)
        owner.__dict__[self.name] = value
        return value


class AtLeast:
    def __init__(self, low=0.0):
        self.low = low

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, owner, cls=None):
        return getattr(owner, self.name)

    def __set__(self, owner, value):
        if value < self.low:
            raise ValueError("too low")
        setattr(owner, self.name, value)

    def __delete__(self, owner):
        setattr(owner, self.name, 0.5)


class Body:
    twice = Twice()
    mass = AtLeast()
    shift = AtLeast(-5.0)

    def __init__(self, base):
        self.base = base
        self.mass = base
        self.shift = -base

    @Lazy
    def area(self):
        return self.base**2


body = Body(2.0)


def read_without_set(x):
    return Body(x).twice


def set_over_one_that_only_reads(x):
    b = Body(x)
    b.twice = 7.0 * x
    return b.twice


def both_ways(x):
    b = Body(x)
    b.mass = b.mass * x
    return b.mass * b.shift


def raises_in_set(x):
    try:
        b = Body(-x)
    except ValueError:
        return x * 9.0
    return b.mass


def deleted(x):
    b = Body(x)
    del b.mass
    return b.mass * x


def computed_once(x):
    b = Body(x)
    first = b.area
    b.base = 9.0
    return first + b.area


def of_an_object_outside(x):
    return body.mass * x + body.twice * x + body.shift


class Units:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, owner, cls=None):
        return owner.__dict__[self.name] * 10.0

    def __set__(self, owner, value):
        owner.__dict__[self.name] = value


class Length:
    metres = Units()

    def __init__(self, value):
        self.metres = value


class Plain(Length):
    metres = 3.0


def under_its_own_name(x):
    return Length(x).metres + Length(x).metres * x


def overridden(x):
    return Plain(x).metres * 2.0


class Deleter:
    def __init__(self, v):
        self._v = v

    @property
    def v(self):
        return self._v

    @v.deleter
    def v(self):
        self._v = 0.25


def property_deleted(x):
    d = Deleter(x)
    del d.v
    return d.v + x


PROGRAMS = [
    callables_of_a_class, callables_of_an_object, read_without_set, set_over_one_that_only_reads, both_ways, raises_in_set, deleted, computed_once,
    of_an_object_outside, under_its_own_name, overridden, property_deleted,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f):
    check_gradient(f, (1.5,))


def test_a_property_without_a_setter():
    def f(x):
        d = Deleter(x)
        try:
            d.v = 3.0
        except AttributeError:
            return x * 2.0
        return x

    assert stgrad.value_and_grad(f)(1.5) == (3.0, 2.0)
