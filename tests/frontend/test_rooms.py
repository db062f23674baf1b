"""Lists to which a loop appends more than once a trip: one buffer that grows, and one adjoint of it."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.analysis.intervals import intervals
from stgrad.ir import Assign, Const, Function, If, Type, Var, While
from tests.thorough import check_gradient

X = np.array([0.7, 1.4, 0.9, 1.9, 0.6])


def twice_a_trip(x):
    values, places = [], []
    for i in range(len(x)):
        for a in range(3):
            values.append(x[i] * a)
            places.append(2 * i + a)
    return np.sum(np.array(values) * np.array(places))


def made_in_each_trip_and_read_behind_the_loop(x):
    s = 0.0
    for i in range(len(x)):
        v = []
        for j in range(i + 1):
            v.append(x[j] ** 2)
            if j % 2:
                v.append(np.sin(x[j]))
        s += v[-1] * v[0]
    return s + sum(v)


def read_changed_and_shortened(x):
    v = []
    for i in range(len(x)):
        v.append(x[i] ** 2)
        v.append(np.sin(x[i]))
        a = np.array(v)
        v[0] = v[0] * 1.5 + a[-1] * a.sum()
        if len(v) > 4:
            v.pop()
            v.pop()
            v.pop()
    return np.sum(np.array(v) ** 2)


def until_it_is_large(x):
    out, k = [x[0]], 0
    while out[-1] < 20.0:
        out.append(out[-1] * 1.3 + x[k % len(x)])
        if k % 3 == 0:
            out.append(out[-1] ** 1.1)
        k += 1
    return out[-1] + out[len(out) // 2] * out[1] + sum(out[2:5])


def two_that_change_places(x):
    a, b = [], []
    for i in range(len(x)):
        a.append(x[i])
        a.append(x[i] ** 3)
        if x[i] > 1.2:
            a, b = b, a
    return sum(a) * 2 + sum(v**2 for v in b)


@pytest.mark.parametrize("f", [twice_a_trip, made_in_each_trip_and_read_behind_the_loop, read_changed_and_shortened, until_it_is_large, two_that_change_places])
def test_derivatives(f):
    check_gradient(f, (X,), order=2)


def test_no_count_and_no_place_is_tested():
    gradient = stgrad.grad(twice_a_trip)
    text = gradient.source(X)
    assert "raise" not in text and text.count("runtime.with_room(") == 2
    assert np.array_equal(gradient(X), sum((2 * i + a) * a * np.eye(5)[i] for i in range(5) for a in range(3)))


def test_a_name_that_grows_by_way_of_others_stays_small():
    """n = n + 1 + 1 where a branch runs, and n + 1 elsewhere."""
    t, n, m = Var("t"), Var("n"), Var("m")
    step = (
        Assign((t,), "np.add", (n, Const(1))),
        If(Var("c"), (Assign((m,), "np.add", (t, Const(1))),), (Assign((m,), "alias", (t,)),)),
        Assign((n,), "alias", (m,)),
    )
    integer = Type("int64", weak=True)
    body = (Assign((n,), "alias", (Const(0),)), While((), Const(True), step))
    fn = Function("f", (Var("c"),), body, n, {"c": Type("bool", weak=True), "t": integer, "n": integer, "m": integer})
    low, high = intervals(fn)["n"]
    assert low == 0 and high < 2**50
