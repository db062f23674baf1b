"""How instances are made: `__new__` in Python, and `super()` where it is bound to a class."""

import math

import pytest

import stgrad
from stgrad import testing


class Base:
    scale = 2.0

    def __init__(self, a, /):
        self.a = a

    @classmethod
    def of(cls, a):
        made = cls(a)
        made.k = cls.scale
        return made

    @classmethod
    def factor(cls):
        return cls.scale

    @staticmethod
    def tripled(a):
        return a * 3.0


class Derived(Base):
    scale = 5.0

    def __init__(self, a, /):
        super().__init__(a * a)

    @classmethod
    def of(cls, a):
        made = super().of(a * super(Derived, cls).factor())  # noqa: UP008
        made.z = super().tripled(a)
        return made


class Counted:
    def __new__(cls, a, b=1.0):
        made = super().__new__(cls)
        made.n = a * b
        return made

    def __init__(self, a, b=1.0):
        self.a = a


class Unopened(Counted):
    def __new__(cls, *args):
        if cls is Counted:
            raise TypeError("not this one")
        return object.__new__(cls)


class Exponential(Counted):
    def __init__(self, a, b=1.0):
        super().__init__(a, b)
        self.e = math.exp(self.a)


class Number:
    def __new__(cls, a):  # no instance at all: `__init__` does not run
        return math.sin(a)

    def __init__(self, a):
        raise AssertionError


def class_methods(x):
    made = Derived.of(x)
    return made.a * made.k + made.z


def makers(x):
    other = Exponential(x, 2.0)
    return Counted(x, x).n * Counted(x).a + Unopened(x).a * Number(x) + other.n * other.e


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [class_methods, makers])
def test_are_as_in_python(function, jit):
    testing.check_gradient(function, (0.7,), order=2, jit=jit)


def test_super_of_a_stranger_is_pythons_error():
    def stranger(x):
        return super(Derived, x).of(x)

    with pytest.raises(TypeError, match="must be an instance or subtype of type"):
        stgrad.grad(stranger, jit=True)(1.0)
