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


def arrays_where_a_branch_runs(x):
    v, y = [], x * 1.0
    for i in range(len(x)):
        y = y * 0.9 + 0.1 * np.sin(y)
        v.append(y)
        if i % 2:
            v.append(y * 2)
    return np.sum(np.array(v) ** 2)


def arrays_of_arrays_before(x):
    v = [x]
    while len(v) < 7:
        v.append(np.sin(v[-1]))
        v.append(v[-1] * 0.5)
    return np.sum(v[-1] * v[2])


def arrays_that_are_replaced_and_taken(x):
    v = []
    for i in range(len(x)):
        v.append(x * x[i])
        v.append(np.outer(x, x)[i])
        v[0] = v[0] * 1.1
        if len(v) > 5:
            v.pop()
            v.pop(0)
    return np.sum(np.array(v) ** 2)


def lists_of_lists(x):
    paths = []
    for i in range(3):
        p = [x[i]]
        for k in range(4):
            p.append(p[-1] * x[k])
            p.append(p[0] + 1.0)
        paths.append(p)
        paths.append(p)
    return sum(sum(p) * p[1] for p in paths)


NUMBERS = [twice_a_trip, made_in_each_trip_and_read_behind_the_loop, read_changed_and_shortened, until_it_is_large, two_that_change_places]
ARRAYS = [arrays_where_a_branch_runs, arrays_of_arrays_before, arrays_that_are_replaced_and_taken, lists_of_lists]


@pytest.mark.parametrize("f", NUMBERS + ARRAYS)
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
