"""Containers that are one of several, which only the running program tells: what changes one of them is seen in all, or refused."""

import warnings

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([1.0, 2.0, 3.0])


class Account:
    def __init__(self):
        self.total, self.items = 0.0, []

    def add(self, v):
        self.total = self.total + v * v


def into_either(x):
    a, b = [], []
    for i in range(3):
        (a if x[i] > 1.5 else b).append(x[i])
    return 2.0 * sum(a) + sum(b) + len(a) * x[0]


def named(x):
    a, b = [1.0], [2.0]
    t = a if x[0] > 1.5 else b
    t[0] = x[1]
    return a[0] * b[0]


def by_index(x):
    rows = [[], []]
    for i in range(3):
        rows[int(x[i] > 1.5)].append(x[i])
    return 2.0 * sum(rows[1]) + sum(rows[0])


def of_a_dict(x):
    a, b = {"k": 1.0}, {"k": 2.0}
    (a if x[0] > 1.5 else b)["k"] = x[1]
    return 3.0 * a["k"] * b["k"]


def by_a_method(x):
    a, b = Account(), Account()
    for i in range(3):
        (a if x[i] > 1.5 else b).add(x[i])
    return 2.0 * a.total + b.total


def by_a_function(x):
    a, b = [0.0], [0.0]

    def put(to, v):
        to.append(v)

    for i in range(3):
        put(a if x[i] > 1.5 else b, x[i])
    return 2.0 * sum(a) + sum(b)


def in_a_tuple(x):
    a, b = [0.0], [0.0]
    for i in range(3):
        t, u = (a, b) if x[i] > 1.5 else (b, a)
        t.append(x[i])
    return 2.0 * sum(a) + sum(b) + u[0]


def a_source_changes(x):
    a, b = [1.0], [2.0]
    t = a if x[0] > 1.5 else b
    a[0], b[0] = x[1], x[2]
    return t[0]


def a_source_changes_after_paths(x):
    a, b = Account(), Account()
    if x[0] > 1.5:
        t = a
    else:
        t = b
    a.total, b.total = x[1], x[2]
    return t.total**2


def a_source_changes_in_a_loop(x):
    a, b, s = [0.0], [0.0], 0.0
    for i in range(3):
        t = a if x[i] > 1.5 else b
        a[0], b[0] = x[i], 2.0 * x[i]
        s += t[0]
    return s


def a_source_in_a_dict(x):
    d = {"a": [1.0], "b": [2.0]}
    t = d["a"] if x[0] > 1.5 else d["b"]
    d["b"][0] = x[2]
    return t[0] * x[1]


def equal_but_two(x):
    a, b = [], []
    t = a if x[0] > 1.5 else b
    t.append(x[1])
    return 5.0 * sum(a) + sum(b)


def identity(x):
    a, b = [1.0], [2.0]
    t = a if x[0] > 1.5 else b
    return x[1] if t is a else x[2]


def identity_of_objects(x):
    a, b, s = Account(), Account(), 0.0
    t = a if x[0] > 1.5 else b
    for o in (a, b):
        s += x[1] if o == t else x[2]
    return s + x[2]


UNSEEN = [into_either, named, by_index, of_a_dict, by_a_method, by_a_function, in_a_tuple, a_source_changes, a_source_changes_after_paths,
          a_source_changes_in_a_loop, a_source_in_a_dict, equal_but_two, identity, identity_of_objects]  # fmt: skip


@pytest.mark.parametrize("f", UNSEEN, ids=lambda f: f.__name__)
def test_refused_as_a_program(f):
    with pytest.raises((errors.UnsupportedSyntaxError, errors.AliasingError)) as caught:
        stgrad.grad(f, jit=False)(X)
    assert "one of several" in str(caught.value)


@pytest.mark.parametrize("f", UNSEEN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [X, X + 1.0], ids=["second", "first"])
def test_right_where_plain_python_may_run(f, x, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, gradient = stgrad.value_and_grad(f, jit=False)(x)
    check(f, x, value, gradient)


def check(f, x, value, gradient):
    assert value == pytest.approx(f(x), rel=1e-12)
    h = 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def only_read(x):
    a, b = [x[0], 1.0], [2.0, x[1]]
    t = a if x[0] > 1.5 else b
    return t[0] * t[1] + sum(a) * x[2]


def new_on_each_path(x):
    t = [x[0]] if x[0] > 1.5 else [x[1]]
    t.append(x[2])
    return t[0] * t[1]


def nothing_else_is_left(x):
    t = [x[0], 1.0]
    if x[1] > 2.5:
        t = [x[1], 2.0]
    t[1] = t[1] * x[2]
    t[0] = t[0] + t[1]
    return t[0] * t[1]


def a_copy(x):
    a, b = [x[0], 1.0], [x[1], 2.0]
    t = list(a if x[0] > 1.5 else b)
    t[0] = x[2]
    a[1] = x[1]
    return t[0] * t[1] + sum(a)


def made_by_a_function(x):
    def start(k):
        if x[k] > 1.5:
            first = [x[0]]
        else:
            first = [x[1], x[1]][:1]
        return first

    t = start(0)
    t.append(x[2])
    return t[0] * t[1]


def the_best_so_far(x):
    best, score = [x[0], 1.0], x[0]
    for i in range(1, 3):
        trial = [x[i], 2.0 * x[i]]
        if trial[0] > score:
            best, score = trial, trial[0]
    return best[0] * best[1]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("f", [only_read, new_on_each_path, nothing_else_is_left, a_copy, made_by_a_function, the_best_so_far], ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [X, X + 1.0], ids=["second", "first"])
def test_what_nobody_else_sees(f, x, jit):
    check(f, x, *stgrad.value_and_grad(f, jit=jit)(x))
