"""Objects that hold themselves, directly or by others: they are read, and refused where all that they hold would have to be passed on."""

from __future__ import annotations

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


@pytest.mark.parametrize(("function", "args"), [(carried, (2,)), (by_itself, (2,)), (in_a_list, (2,)), (returned, ())])
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
