"""Objects that hold themselves, directly or by others: they are read, and refused where all that they hold would have to be passed on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import stgrad
from stgrad import errors


class Node:
    def __init__(self, value, other=None):
        self.value = value
        self.other = self if other is None else other


def returned(x):
    return x[0], Node(x[1])


def carried(x, n):
    node = Node(x[0])
    node.other = Node(x[1], node)
    for i in range(n):
        node.value = node.value * x[i] + node.other.value
        node = node.other
    return node.value


def along(node, k, x):
    return node.value * x if k <= 0 else along(node.other, k - 1, x * node.value)


def by_itself(x, n):
    return along(Node(x[0]), n, x[1])


def in_a_list(x, n):
    nodes = []
    for i in range(n):
        nodes.append(Node(x[i]))
    return nodes[0].value


@pytest.mark.parametrize(("function", "n", "expected"), [(by_itself, 2, [3 * 0.5**2 * 0.7, 0.5**3]), (in_a_list, 2, [1.0, 0.0])])
@pytest.mark.parametrize("jit", [True, False])
def test_as_often_as_an_integer_says_that_is_compiled_in(function, n, expected, jit):
    np.testing.assert_allclose(stgrad.grad(function, jit=jit)(np.array([0.5, 0.7]), n), expected, rtol=1e-12)


@pytest.mark.parametrize(("function", "args"), [(carried, (2,)), (returned, ())])
def test_refused_with_a_place(function, args):
    with pytest.raises(errors.UnsupportedSyntaxError, match="holds itself") as found:
        stgrad.grad(function, has_aux=function is returned, jit=False)(np.array([0.5, 0.7]), *args)
    assert function is returned or "test_circles.py" in str(found.value)


class Same:
    pass


class Alike:
    def __eq__(self, other):
        return isinstance(other, Alike)

    __hash__ = None


def test_equal_objects():
    def f(x):
        a, b = Same(), Same()
        one = 2.0 if a == b or a == None else 3.0  # noqa: E711
        two = 5.0 if a != b and a == a else 7.0
        return x * one * two * (11.0 if Alike() == Alike() else 13.0)

    assert stgrad.grad(f, jit=False)(1.0) == 165.0


@dataclass
class Point:
    a: float
    b: int = 0
    c: float = field(default=0.0, compare=False)


class Keyed:
    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return self.key == other.key

    __hash__ = None


def compared(x, y):
    p, q, r = Point(x, 1, y), Point(x, 1), Point(y)
    s = x * y
    for yes, factor in ((p == q, 2.0), (p != r, 3.0), (p == Same(), 5.0), (Keyed(x) != Keyed(y), 7.0), (Keyed(x) != Keyed(x), 11.0)):
        if yes:
            s = s * factor
    if (Keyed(x), 1) == (Keyed(x), 1) and [Keyed(x)] != [Keyed(y)]:
        s = s * 13.0
    return s


def among_objects(x, y):
    a, b, k = Same(), Same(), Keyed(y)
    objects = [a, b]
    s = x * y * (1 + objects.index(b)) * objects.count(b)
    if Same() in objects or b not in objects:
        s = s * 2.0
    if Keyed(y) in [Keyed(x), k]:
        s = s * 3.0
    objects.remove(b)
    return s * 5.0 * (objects[0] is a) * [x, y, x].count(2.0)


@pytest.mark.parametrize("function", [compared, among_objects])
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
def test_comparisons_of_objects(function, jit):
    value, (dx, dy) = stgrad.value_and_grad(function, (0, 1), jit=jit)(2.0, 3.0)
    assert (value, dx, dy) == (function(2.0, 3.0), function(2.0, 3.0) / 2.0, function(2.0, 3.0) / 3.0)
