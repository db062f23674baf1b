"""Methods that Python calls by itself are part of a recorded run: each body here reads numbers as native code would."""

from __future__ import annotations

import abc
import dataclasses
import math
import types

import numpy as np
import pytest

from stgrad.plain import recorded, run


class Length:
    """Arithmetic, comparison, items and iteration."""

    def __init__(self, v):
        self.v = float(v)

    def __add__(self, other):
        if not isinstance(other, Length):
            return NotImplemented
        return Length(math.hypot(self.v, other.v))

    def __radd__(self, other):
        return Length(math.exp(other) + self.v)

    def __iadd__(self, other):
        self.v = math.sin(self.v) + math.cos(other.v)
        return self

    def __neg__(self):
        return Length(math.sinh(-self.v))

    def __lt__(self, other):
        return math.exp(self.v) < math.exp(other.v)

    def __getitem__(self, i):
        return math.log(self.v) * (i.stop if isinstance(i, slice) else i)

    def __setitem__(self, i, value):
        self.v = math.sqrt(value) + i

    def __iter__(self):
        yield math.tan(self.v)
        yield self.v


class Longer(Length):
    def __radd__(self, other):
        return Length(math.exp(other.v if isinstance(other, Length) else other) * self.v)


class Steps:
    def __init__(self, v):
        self.v, self.left = v, 3

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return math.sin(self.v * self.left)


class Checked:
    """Setters in Python: a property, a descriptor, `__setattr__`."""

    @property
    def x(self):
        return math.exp(self._x)

    @x.setter
    def x(self, value):
        self._x = float(value) * math.cos(value)


class Positive:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, math.sqrt(value))


class Described:
    v = Positive()


class Sealed:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, math.log(value))


class Meta(type):
    def __call__(cls, a):
        made = super().__call__(math.exp(a))
        made.extra = math.sin(a)
        return made


class Metered(metaclass=Meta):
    def __init__(self, a):
        self.a = math.sqrt(a)


class Model(abc.ABC):
    def __init__(self, a):
        self.a = math.exp(a)

    @abc.abstractmethod
    def value(self): ...


class Law(Model):
    def __new__(cls, a):
        made = super().__new__(cls)
        made.first = math.cos(a)
        return made

    def value(self):
        return self.a * self.first


@dataclasses.dataclass
class Soil:
    n: float
    m: float = 0.0

    def __post_init__(self):
        self.m = math.gamma(self.n)


def operators(x):
    a, b = Length(x), Length(x * 2.0)
    c = a + b
    d = 0.5 + c
    e = a + Longer(x)
    a += b
    return a.v + c.v * d.v + (-e).v + (a.v if a < c else c.v)


def items(x):
    a = Length(x)
    y = a[2] + a[1:3]
    a[1] = x * x * 2.0
    a[1] += x
    first, second = [v for v in a]
    return y + first * second + sum(v for v in Steps(x)) + sum([Length(x), Length(x)], Length(1.0)).v


def setters(x):
    a, b, c = Checked(), Described(), Sealed()
    a.x = x
    a.x += x
    b.v, c.w = x, x + 1.0
    return a.x * b.v + c.w


def makers(x):
    m = Metered(x)
    return m.a * m.extra + Law(x).value() + Soil(x).m


def patterns(x):
    space = types.SimpleNamespace(one=1, v=x)
    match 1:
        case space.one if space.v > 0.0:
            return math.sin(space.v) * -1
    return x


def arrays(x):
    y = np.array([x, 2.0 * x, x * x])
    y[1:] *= y[:-1]
    y[0] **= 2
    y[..., 2] = math.sin(y[1])
    z = y
    z += 1.0
    return float(y @ z)


@pytest.mark.parametrize("function", [operators, items, setters, makers, patterns, arrays])
def test_derivatives_are_those_of_differences(function):
    found = recorded(function, (0.8,), {}, ((0, 0),))
    step = 1e-6
    difference = (run(function, (0.8 + step,), {}) - run(function, (0.8 - step,), {})) / (2 * step)
    assert found.value == pytest.approx(run(function, (0.8,), {}), rel=1e-12)
    np.testing.assert_allclose(found.pullback(1.0)[0], difference, rtol=1e-7)


def test_what_has_no_such_method_raises_as_in_python():
    for function, error in ((lambda x: Length(x) * x, TypeError), (lambda x: object() < x, TypeError), (lambda x: x.missing, AttributeError)):
        with pytest.raises(error):
            recorded(function, (0.8,), {}, ((0, 0),))
