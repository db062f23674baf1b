"""Classes that are iterators or have an order: `__next__`, `__lt__`, in loops, unpacked, sorted, and by `max`."""

import dataclasses

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient


class Steps:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i


def loop(x):
    total = 0.0
    for v in Steps(3):
        total += v * x
    return total


def listed(x):
    return sum([v * x for v in Steps(3)]) + list(Steps(3))[1] * x + max(Steps(3)) * x * sum(Steps(2))


def unpacked(x):
    a, b, c = Steps(3)
    return a * b * c * x


def stepped(x):
    steps = iter(Steps(2))
    return next(steps) * x + next(steps) * x * x + next(steps, 5.0)


def rows_unpacked(x):
    rows = []
    for i in range(int(2 * x)):
        rows.append(x * i)
    a, b, c = rows
    return a + b * c


class Vector:
    def __init__(self, *c):
        self.c = c

    def __lt__(self, other):
        return self.c[0] < other.c[0]


@dataclasses.dataclass(order=True)
class Pair:
    a: float
    b: float


def greatest(x):
    return max(Vector(x), Vector(2.0 * x)).c[0] + min([Vector(x), Vector(3.0 * x), Vector(2.0 * x)]).c[0] + max(Pair(1, x), Pair(1, 2 * x)).b


def in_order(x):
    rows = [Vector(3 * x), Vector(x), Vector(2 * x)]
    rows.sort()
    backwards = sorted(rows, reverse=True)
    return rows[0].c[0] + 2 * rows[2].c[0] + backwards[0].c[0] * x + sorted([Pair(2, 2 * x), Pair(1, x), Pair(2, x)])[1].b


@pytest.mark.parametrize("f", [loop, listed, unpacked, stepped, rows_unpacked, greatest, in_order], ids=lambda f: f.__name__)
def test_programs(f):
    check_gradient(f, (1.6,))


@pytest.mark.parametrize("jit", [False, True])
def test_a_list_of_another_length(jit):
    with pytest.raises(ValueError, match="unpack"):
        stgrad.grad(rows_unpacked, jit=jit)(2.6)


def test_the_greatest_of_narrow_integers():
    def f(u, x):
        return max(u[0], u[1]) * 2 + x

    u = np.array([3, 250], dtype=np.uint8)
    with np.errstate(over="ignore"):
        assert stgrad.jit(f)(u, 1.0) == f(u, 1.0)


lazy_sine = None


def imported_late(x):
    global lazy_sine
    if lazy_sine is None:
        from math import sin as lazy_sine
    return lazy_sine(x)


def test_a_module_variable_that_an_import_fills():
    check_gradient(imported_late, (0.7,))


def lists_of_lists(A):
    rows = A.tolist()
    total = len(rows[0] + rows[1]) * (2.0 if isinstance(rows[0], list) else 1.0)
    for row in rows:
        for v in row:
            total += v * v
    return total + (rows[0] + rows[1])[2] * sum(rows[2])


def test_lists_of_lists():
    check_gradient(lists_of_lists, (np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),))


@dataclasses.dataclass
class Base:
    a: float
    b: float = 2.0
    c: list = dataclasses.field(default_factory=list)


class Derived(Base):
    def __init__(self, a, d):
        super().__init__(a, c=[1, 2])
        self.d = d * len(self.c)


def by_super(x):
    o = Derived(x, 3.0)
    return o.a * o.d * o.b


def test_the_init_that_dataclasses_make_is_called_by_super():
    check_gradient(by_super, (1.5,))


def named(x):
    p = np.cos(x)
    try:
        p.name = "projection"
    except AttributeError:
        p = p * 2.0
    return np.sum(p)


@pytest.mark.parametrize("x", [1.5, np.ones(3)])
def test_an_attribute_that_arrays_do_not_take(x):
    check_gradient(named, (x,))


def lists_of_three_axes(B):
    rows = B.tolist()
    total = len(rows[0][1] + rows[1][2]) * (2.0 if isinstance(rows[0][1], list) else 1.0)
    for plane in rows:
        for row in plane:
            for v in row:
                total += v * v
    return total + (rows[0] + rows[1])[4][1] + np.sum(np.amax(B.tolist(), axis=1))


def test_lists_of_three_axes():
    check_gradient(lists_of_three_axes, (np.arange(12.0).reshape(2, 3, 2) + 1.0,))
