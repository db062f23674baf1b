"""A `defaultdict` keeps its factory in what is made of it; pairs of `np.broadcast`."""

import copy
from collections import defaultdict

import numpy as np
import pytest
from thorough import check_gradient


def made(a):
    return defaultdict(lambda: 3.0 * a, {"A": a})


def joined(a):
    d = made(a) | {"B": a * a}
    return d["A"] * d["C"]


def joined_from_the_right(a):
    d = {"B": a * a} | made(a)
    return d["A"] * d["C"] * d["B"]


def copied(a):
    d, e, f = made(a).copy(), copy.copy(made(a)), copy.deepcopy(made(a))
    return d["A"] * d["C"] + e["D"] * a + f["E"] * a * a


def joined_in_place(a):
    d = made(a)
    d |= {"B": a}
    return d["A"] * d["C"] * d["B"]


def counted(a):
    d = defaultdict(float)
    d["x"] += a
    e = d.copy()
    e["y"] += 2 * a
    return e["x"] * e["y"] + len(d)


def pairs(a):
    b = np.broadcast(a, np.array([1.0, 2.0]))
    out = np.empty(b.shape)
    out.flat = [np.sin(x) * y for x, y in b]
    return np.sum(out) * b.size


@pytest.mark.parametrize("program", [joined, joined_from_the_right, copied, joined_in_place, counted, pairs])
@pytest.mark.parametrize("jit", [False, True])
def test_dicts_with_a_factory_and_pairs(program, jit):
    check_gradient(program, (0.7,), jit=jit)
