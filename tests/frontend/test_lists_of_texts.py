"""Lists of run-time length with texts among their items: the running program holds which text it is."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([1.1, -2.0, 0.4, 3.0, -0.7])


def tags(x):
    found = []
    for v in x:
        found.append("low" if v < 0.0 else "high" if v > 2.0 else "mid")
    return found


def read_again(x):
    t = tags(x)
    weights = {"low": 1.0, "mid": 2.0, "high": 3.0}
    s = ("high" in t) * x[0] + t.count("low") * x[1] + t.index("high") * x[2] + ("none" in t) * x[3]
    return s + sum(weights[k] * v * v for k, v in zip(t[::-1], x)) + (x[4] if t[-1] == "low" else x[3])


def changed(x):
    t = ["mid"] * len(x)
    for i, v in enumerate(x):
        if v < 0.0:
            t[i] = "low"
    t[0] = "first"
    t.insert(1, "mid")
    last = t.pop()
    return sum(len(k) * v for k, v in zip(t, x)) * (2.0 if last == "low" else 3.0)


def events(x):
    queue = []
    clock = 0.0
    for i, v in enumerate(x):
        clock += v * v
        heapq.heappush(queue, (clock, i, "arrive"))
    free, waited = 0.0, 0.0
    while queue:
        now, i, kind = heapq.heappop(queue)
        if kind == "arrive":
            waited += max(now, free) - now
            free = max(now, free) + 1.5
            heapq.heappush(queue, (free, i, "leave"))
        else:
            waited += 0.1 * now
    return waited


@dataclass
class Job:
    size: float
    state: str
    steps: int = 0


def states(x):
    jobs = [Job(v * v, "new") for v in x]
    for k in range(4):
        for j in jobs:
            if j.state == "new" and j.size > 0.3 * k:
                j.state = "running"
            elif j.state == "running":
                j.state, j.steps = "done", j.steps + k + 0.5
    return sum(j.size * (j.steps + 1.0) * len(j.state) for j in jobs)


def caught(x):
    found = []
    for v in x:
        try:
            found.append(("root", math.sqrt(v)))
        except ValueError:
            found.append(("square", v * v))
    names = [k for k, _ in found]
    return sum(v for k, v in found if k.startswith("r")) * names.count("square") + found[-1][1]


def some_keys(x):
    kept = {k: v for k, v in zip(["a", "b", "c", "d", "e"], x) if v > 0.0}
    return sum(v * v for v in kept.values()) * len(kept) + max(kept.items(), key=lambda entry: entry[1])[1]


@pytest.mark.parametrize("f", [read_again, changed, events, states, caught, some_keys], ids=lambda f: f.__name__)
def test_gradient(f):
    assert stgrad.value_and_grad(f, jit=False)(X)[0] == pytest.approx(f(X), rel=1e-12)
    check_gradient(f, (X,), order=1)


@pytest.mark.parametrize("f", [read_again, states], ids=lambda f: f.__name__)
def test_under_numba(f):
    check_gradient(f, (X,), order=1, jit=True)


def test_lists_of_other_texts_on_two_paths():
    def f(x):
        a = ["p" if v > 0.0 else "q" for v in x]
        b = ["q" if v > 0.0 else "r" for v in x]
        return sum(v for k, v in zip(a if x[0] > 0.0 else b, x) if k == "q")

    with pytest.raises(errors.TypeInferenceError, match="on one path"):
        stgrad.grad(f, jit=True)(X)


def test_integers_of_which_a_later_loop_makes_floats():
    def f(x):
        counts = [0]
        for v in x:
            counts.append(counts[-1] + (v > 0.0))
        for v in x:
            counts.append(v * 0.5)
        return sum(c * k for k, c in enumerate(counts))

    check_gradient(f, (X,), order=1)
