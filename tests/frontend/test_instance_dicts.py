"""`obj.__dict__` and `vars(obj)`: attributes as a dict, which changes the object."""

import pytest

import stgrad
from stgrad import errors
from tests.thorough import check_gradient


class Named:
    def __init__(self, **given):
        self.__dict__.update(given)
        self.k = 2.0

    def scaled(self, x):
        return self.a * x * self.k


class ByItem:
    def __init__(self, a):
        self.__dict__["a"] = a
        vars(self)["b"] = 3.0


class Replaced:
    def __init__(self, a):
        self.__dict__ = dict(a=a, b=2.0)


class Summed:
    def __init__(self, parts):
        for name, part in parts.items():
            setattr(self, name, part)
        d = self.__dict__
        d["z"] = 4.0

    def total(self):
        return sum(self.__dict__.values())


def updated(x):
    return Named(a=x).scaled(x)


def by_item(x):
    b = ByItem(x)
    return b.a * b.b * x


def replaced(x):
    c = Replaced(x)
    return c.a * c.b * x


def summed(x):
    return Summed({"q": x, "r": x * x}).total()


def popped(x):
    a = Named(a=x)
    a.__dict__.pop("k")
    return a.a * x * len(vars(a))


def copied(x):
    a, b = Named(a=x), Named()
    b.__dict__.update(a.__dict__)
    return b.a * x


def on_two_paths(x):
    a = Named(a=x)
    if x > 0:
        a.__dict__["q"] = x * x
    else:
        a.__dict__["q"] = x
    return a.q


def with_defaults(x):
    a = Named(a=x)
    return a.__dict__.get("no", 3.0) * a.__dict__.setdefault("y", x) * a.y


def deleted(x):
    a = Named(a=x)
    del a.__dict__["a"]
    try:
        return a.a
    except AttributeError:
        return x * x


class Lazy:
    def __init__(self, x):
        self.x = x

    @property
    def square(self):
        try:
            return self._square
        except AttributeError:
            self._square = self.x * self.x
            return self._square


def lazily(x):
    lazy = Lazy(x)
    return lazy.square * lazy.square


@pytest.mark.parametrize("function", [updated, by_item, replaced, summed, popped, copied, on_two_paths, with_defaults, deleted, lazily])
@pytest.mark.parametrize("x", [1.3, -0.7])
def test_the_dict_is_the_object(function, x):
    check_gradient(function, (x,))


SHARED = {"a": 1.0}


class Borg:
    def __init__(self, x):
        self.__dict__ = SHARED
        self.a = x


def shares_outside(x):
    return Borg(x).a


def shares_inside(x):
    d = {"a": x}
    r = Replaced(x)
    r.__dict__ = d
    d["a"] = 2.0
    return r.a


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


def has_none(x):
    return Slotted(x).__dict__["a"]


@pytest.mark.parametrize("function", [shares_outside, shares_inside, has_none])
def test_refused(function):
    with pytest.raises(errors.StgradError, match="__dict__"):
        stgrad.grad(function, jit=True)(1.3)
    assert SHARED == {"a": 1.0}
