"""Copies of containers and objects, shallow and deep; `vars`; defaults of `min` and `max`."""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

W, X = 0.7, np.array([0.3, 0.6, 0.95, 0.2, 1.3])


@dataclasses.dataclass
class Held:
    a: np.ndarray
    l: list
    r: Any = None


class OwnWay:
    def __init__(self, a):
        self.a = a

    def __copy__(self):
        return OwnWay(2 * self.a)


def list_keeps_its_arrays(w, x):
    y = x.copy()
    z = copy.copy([x, y])
    z[1][1] = w * w
    return y.sum() * x.sum()


def object_keeps_its_items(w, x):
    y = x.copy()
    r = Held(y, [w])
    q = copy.copy(r)
    q.a[0] = w
    q.l.append(w)
    q.r = w
    return y.sum() * len(r.l) * (1.0 if r.r is None else 2.0)


def dict_and_tuple_keep_theirs(w, x):
    y = x.copy()
    q = copy.copy({"a": y, "b": [y]})
    q["a"][0] = w
    q["b"].append(w)
    t = copy.copy((y, [w]))
    t[0][1] = w
    t[1].append(w)
    return y.sum() * w * len(q["b"]) * sum(t[1])


def a_view_becomes_an_array(w, x):
    y = x.copy()
    v = y[1:3]
    q = copy.copy(v)
    q[0] = w
    r = copy.copy([v])
    r[0][1] = w
    return y.sum() * q.sum()


def deep_twice_is_twice(w, x):
    y, n = x.copy(), [w]
    q = copy.deepcopy([y, y, n, {"b": (n,)}])
    q[0][0] = w * 9
    q[2].append(x[0])
    return q[1].sum() * w + y.sum() + sum(q[3]["b"][0]) * len(n)


def deep_is_apart(w, x):
    q = Held(x.copy(), [[w], [x[0]]], (w, {"u": x[1]}))
    p = copy.deepcopy(q)
    p.l[0][0] = 9 * w
    p.a[0] = 3 * w
    p.r[1]["u"] = w
    return q.a.sum() * q.l[0][0] + p.a.sum() * q.r[1]["u"] * p.r[1]["u"]


def deep_in_a_loop(w, x):
    o = [w, x.copy()]
    for i in range(3):
        q = copy.deepcopy(o)
        q[1][i] = w
        o[1][i] += q[1].sum()
    return o[1].sum() * w


def lists_that_grow(w, x):
    y = []
    for v in x:
        y.append(v * w)
    z = copy.copy(y)
    z.append(w)
    u = copy.deepcopy(y)
    u[0] = w
    return sum(y) * sum(z) + u[0]


def as_dict(w, x):
    y = x.copy()
    r = Held(y, [w], Held(y, [x[0]]))
    d = dataclasses.asdict(r)
    d["a"][0] = w
    d["l"].append(w)
    d["r"]["l"][0] = w * 5
    d["r"]["a"][1] = w
    e = dataclasses.asdict(r, dict_factory=collections.OrderedDict)
    return y.sum() * len(r.l) * w + d["a"].sum() + r.r.l[0] * e["r"]["l"][0]


def as_tuple(w, x):
    y = x.copy()
    r = Held(y, [w], (w, [x[0]]))
    a, b, (c, d) = dataclasses.astuple(r)
    a[0] = w
    b.append(w)
    d[0] = w
    return y.sum() * len(r.l) * w + a.sum() + c * r.r[1][0]


def attributes(w, x):
    def f(a, l, r):
        return a.sum() * r * l[0]

    r = Held(x, [w], x[0])
    d = vars(r).copy()
    r.r = w
    d["r"] = d["r"] * 2
    return d["r"] * f(**vars(r)) + vars(r)["r"]


def namespace(w, x):
    n = types.SimpleNamespace(a=w, b=x)
    n.c = n.a * n.b[0]
    n.a *= 2
    return n.c * vars(n)["a"]


def named_tuples(w, x):
    pair = collections.namedtuple("pair", ["a", "b"], defaults=[2.0])
    rows = collections.namedtuple("row", "v, w, i")
    q = pair(w)._replace(b=x[0])
    return q.a * q.b + pair(w).b * w + sum(r.v * r.w * r.i for r in [rows(x[i], w, i) for i in range(3)])


def defaults(w, x):
    low = min((v * w for v in x if v > 0.9), default=w)
    none = max((v for v in x if v > 9.0), default=w * w)
    nothing = max([], default=None)
    return low * none + (w if nothing is None else 0.0) * min(x[x > 5.0], default=w) + min([], key=len, default=w)


TAKEN = [
    list_keeps_its_arrays, object_keeps_its_items, dict_and_tuple_keep_theirs, a_view_becomes_an_array, deep_twice_is_twice, deep_is_apart, deep_in_a_loop,
    lists_that_grow, as_dict, as_tuple, attributes, namespace, named_tuples, defaults,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_taken(function, jit):
    check_gradient(function, (W, X), jit=jit)


def read_behind_a_change(w, x):
    r = Held(x, [w])
    d = vars(r)
    r.r = w
    return d["l"][0] * x[0]


def copied_in_its_own_way(w, x):
    return copy.copy(OwnWay(w)).a * x[0]


def rows_without_an_order(w, x):
    return max(np.outer(x, x)) * w


def class_from_type(w, x):
    return type("A", (), {})() and w


REFUSED = {
    read_behind_a_change: "changed behind `vars",
    copied_in_its_own_way: "`OwnWay` is copied in its own way",
    rows_without_an_order: "compares rows",
    class_from_type: "a class made in a function",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(errors.StgradError, match=REFUSED[function]) as caught:
        stgrad.grad(function, (0, 1), jit=False)(W, X)
    assert caught.value.loc is not None
