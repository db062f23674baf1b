"""Sets of known items that the program makes and changes."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

OUTSIDE = {"q"}


def taken_from(x):
    names = {n for n in ("u", "v", "w")}
    found = []
    for n in ("u", "v", "u"):
        if n in names:
            found.append(x**3 * len(names))
            names.remove(n)
    return sum(found) + (x if "w" in names else 0.0)


def other_names_and_copies(x):
    s = r = {"a"}
    s |= {"b"}
    t = s.copy()
    t.add("c")
    u = copy.copy(t)
    u.discard("a")
    v = copy.deepcopy({"kept": u})["kept"]
    v.clear()
    s -= {"a"}
    return x ** len(r) + x ** (1 + len(t)) + x * len(u) * len(s) + x * len(v)


def on_both_paths(x):
    s = {1}
    if x > 1.0:
        s.update([2], (3,))
        y = 2.0 * x
    else:
        s.update((3, 2))
        y = x
    return y**2 * len(s)


def in_a_loop(x, n=3):
    y = x
    for _ in range(n):
        s = {"a"}
        if x > 1.0:
            s.add("b")
            y = y * len(s)
        else:
            s.add("b")
    return y * len(s) * x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [taken_from, other_names_and_copies, on_both_paths, in_a_loop])
def test_value_and_derivatives(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    value, gradient = stgrad.value_and_grad(f, jit=jit)(1.7)
    assert np.isclose(value, f(1.7), rtol=1e-12)
    assert np.isclose(gradient, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6, rtol=1e-6)
    once = stgrad.grad(f, jit=False)
    assert np.isclose(stgrad.grad(once, jit=False)(1.7), (once(1.7 + 1e-6) - once(1.7 - 1e-6)) / 2e-6, rtol=1e-5)


def on_one_path(x):
    s = {"a"}
    if x > 1.0:
        s.add("b")
    return x * len(s)


def of_two(x):
    s = {"a"}
    t = s if x > 1.0 else {"b"}
    t.add("c")
    return x * len(s)


def from_outside(x):
    OUTSIDE.add("z")
    return x * len(OUTSIDE)


@pytest.mark.parametrize(("f", "kind"), [(on_one_path, errors.TypeInferenceError), (of_two, errors.TypeInferenceError), (from_outside, errors.AliasingError)])
def test_refused(f, kind):
    with pytest.raises(kind):
        stgrad.grad(f, jit=True)(1.7)
    assert OUTSIDE == {"q"}


def asked_with_numbers_of_the_program(x):
    total = 0.0
    everything = set(range(4))
    for i in range(4):
        for j in sorted(everything.difference([i])):
            total += x[i] * x[j] ** 2
        if {i}.issubset({0, 1}):
            total *= 1.5
        if everything.isdisjoint({i + 3}):
            total *= 1.1
    return total


def filled_and_asked(x):
    seen = set()
    total = 0.0
    for i in range(len(x)):
        seen.add(int(x[i] + 1.0))
        if seen.union({5}).issuperset({1, 5}):
            total += x[i]
        if seen <= {1, 2, 3} and not seen > {1, 2}:
            total *= 1.2
        total += len({1, 2, 7} - seen) * x[i] + len({1, 2} & seen) * x[0] + len({4} | seen) + len({1} ^ seen)
        total += len(seen.intersection({1, 2}, [2, 1])) * x[i] + len(seen.symmetric_difference([2])) * x[i] ** 2 + len(seen.copy())
    return total


def asked_with_ranges(x):
    s = frozenset({0, 1, 2, 3})
    total = sum(x[i] ** 2 for i in sorted(s.difference([2]) | s.intersection((1, 2)) ^ s.union(range(5)).difference({4})))
    return total * x[0] if s.issubset(range(5)) and s.issuperset([1]) and not s.isdisjoint([1]) else total


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("program", [asked_with_numbers_of_the_program, filled_and_asked, asked_with_ranges], ids=lambda f: f.__name__)
def test_what_sets_are_asked(program, jit):
    check_gradient(program, (np.array([0.3, 1.7, 2.2, -0.4]),), 1 if jit else 2, jit=jit)
