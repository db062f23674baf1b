"""Helpers of long programs that are called over and over are functions beside the program, read, differentiated and compiled once."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import stgrad
from stgrad.frontend import outlining
from tests.thorough import check_gradient

X = np.array([0.3, -0.7, 1.2, 0.5])


@pytest.fixture(autouse=True)
def _short_programs_are_long(monkeypatch):
    monkeypatch.setattr(outlining, "LONG", 60)
    monkeypatch.setattr(outlining, "BODY", 5)


def density(x, y, rho):
    """Branches, a loop over a list that depends on a branch, and an end in the middle."""
    weights = [0.2, 0.5] if abs(rho) < 0.3 else [0.1, 0.3, 0.6]
    if y > 4.0:
        return x * 0.5
    total = 0.0
    for k in range(len(weights)):
        s = math.sin(rho * weights[k] + x)
        total = total + weights[k] * math.exp((s * x * y - 0.5 * (x * x + y * y)) / (1.5 - s * s))
    return total * math.cos(x - y)


def power(x, n, kind):
    """What must be known while it is read: a number of trips, a text."""
    result = 1.0
    for k in range(n):
        result = result * (x + k) + math.sin(x)
    if kind == "root":
        return math.sqrt(1.0 + result * result) + 0.1 * x
    return result * math.tanh(x) + 0.2 * x


def option(v):
    a, b, c, d = v[0], v[1], v[2], v[3]
    total = density(a, b, 0.1) + density(b, c, 0.5) * density(c, d, a * 0.1) - density(d, a, -0.2) + density(a * b, c, 0.7)
    total += density(a - c, 5.0, 0.1) * 0.3
    if total > 0.1:
        total = total * density(b, 0.5, b * 0.2)
    return total + density(total, c, 0.4)


def powers(v):
    total = 0.0
    for x in v:
        total += power(x, 3, "root") * power(x + 0.1, 2, "root") + power(x, 3, "product")
    return total + power(v[0], 2, "product") * power(v[1], 3, "root") + power(v[2], 3, "root") * power(v[3], 3, "product") + power(v[0], 3, "product")


def deeper(v):
    """Helpers that call helpers."""

    return layered(v[0], v[1]) + layered(v[1], v[2]) * layered(v[2], v[3]) - layered(v[3], v[0])


def layered(x, y):
    return density(x, y, 0.1) * density(y, x, 0.6) + density(x + y, x, 0.2) + math.sin(x)


def texts(f, *args, **options):
    return stgrad.grad(f, **options).lowered(*args)


@pytest.mark.parametrize("f", [option, powers, deeper])
def test_gradients(f):
    check_gradient(f, (X,), order=2)
    text = texts(f, X)
    assert "@runtime.unit" in text and "depth" not in text


def test_a_function_for_each_number_that_must_be_known():
    text = texts(powers, X)
    assert text.count("@runtime.unit") == 4
    assert texts(deeper, X).count("@runtime.unit") >= 2


def test_short_programs_are_read_in_place(monkeypatch):
    monkeypatch.setattr(outlining, "LONG", 100000)
    assert "@runtime.unit" not in texts(option, X)
    monkeypatch.setattr(outlining, "LONG", 60)
    monkeypatch.setattr(outlining, "OFTEN", 50)
    assert "@runtime.unit" not in texts(option, X)


@pytest.mark.parametrize("jit", [False, True])
def test_forward_mode(jit):
    expected = stgrad.grad(option, jit=False, mode="reverse")(X)
    assert np.allclose(stgrad.grad(option, jit=jit, mode="forward")(X), expected)


def test_operators_around_it():
    expected = stgrad.grad(option, jit=False, mode="reverse")(X)
    value, pullback = stgrad.vjp(option, X)
    assert np.isclose(value, option(X)) and np.allclose(pullback(2.0)[0], 2.0 * expected)
    assert np.isclose(stgrad.jvp(option, (X,), (np.ones(4),))[1], expected.sum())
    assert np.allclose(stgrad.jit(option)(X), option(X))
    rows = stgrad.hessian(option)(X)
    assert np.allclose(rows @ np.ones(4), stgrad.hvp(option, (X,), (np.ones(4),), jit=False))
    assert np.allclose(stgrad.jacrev(lambda v: np.array([option(v), option(v * 0.5)]), jit=False)(X)[0], expected)


def steep(x, y):
    a = np.sqrt(x) * y + np.sin(x) + np.cos(y)
    return a * np.exp(-y) + np.sqrt(x) * 2.0


def left_out(v):
    total = 0.0
    for k in range(3):
        total = total + np.where(v[k] > 0.0, steep(v[k], v[3]), v[k])
    return total + steep(v[3], 1.0) + steep(v[3], v[3]) + steep(v[3] + 0.1, 2.0) + steep(v[3] + 0.2, 2.0)


def test_an_infinite_partial_of_a_value_that_is_left_out():
    point = np.array([0.0, 1.0, -1.0, 0.5])
    for jit in (False, True):
        with np.errstate(all="ignore"):
            found = stgrad.grad(left_out, jit=jit)(point)
        assert found[0] == 1.0 and found[2] == 1.0 and np.isfinite(found).all()
    assert "@runtime.unit" in texts(left_out, point)


def told(x, y):
    a = math.sin(x) * y + math.cos(y)
    print("told")
    return a * math.exp(-y) + math.tanh(x * y) * a


def paired(x, y):
    a = math.sin(x) * y + math.cos(y)
    return a * math.exp(-y), math.tanh(x * y) * a


def telling(v):
    return told(v[0], v[1]) + told(v[1], v[2]) + told(v[2], v[3]) + told(v[3], v[0]) + told(v[3], v[1])


def pairs(v):
    total = 0.0
    for x, y in ((v[0], v[1]), (v[1], v[2]), (v[2], v[3])):
        a, b = paired(x, y)
        total = total + a * b
    a, b = paired(total, v[0])
    c, d = paired(v[0], v[3])
    return a * b + c * d


@pytest.mark.parametrize("f", [telling, pairs])
def test_what_is_no_function_of_numbers_stays_in_place(f, capsys):
    check_gradient(f, (X,))
    assert "@runtime.unit" not in texts(f, X)
    capsys.readouterr()
    stgrad.grad(f, jit=False)(X)
    assert capsys.readouterr().out.count("told") == (5 if f is telling else 0)


def refusing(x, y):
    if x > 50.0:
        raise ValueError("too large")
    return math.sin(x) * y + math.cos(y) * math.exp(-y) + math.tanh(x * y)


def raising(v):
    return refusing(v[0], v[1]) + refusing(v[1], v[2]) + refusing(v[2], v[3]) * refusing(v[3], v[0]) + refusing(v[3], v[1]) + refusing(v[2], v[0])


@pytest.mark.parametrize("jit", [False, True])
def test_exceptions(jit):
    assert "@runtime.unit" in texts(raising, X)
    with pytest.raises(ValueError, match="too large"):
        stgrad.grad(raising, jit=jit)(X * 100.0)


PROGRAM = """
import math, sys, time
import numpy as np
import stgrad
from stgrad import loader
from stgrad.frontend import outlining
outlining.LONG, outlining.BODY = 60, 5

def helper(x, y):
    if x > 1.0:
        return x * y
    return math.sin(x) * y + math.cos(y) * math.exp(-y) + math.tanh(x * y)

def f(v):
    total = helper(v[0], v[1]) + helper(v[1], v[2]) + helper(v[2], v[3]) * helper(v[3], v[0]) + helper(v[3], v[1])
    return total + helper(v[2], v[0]) * helper(total, v[1])

g = stgrad.grad(f)
print(g(np.array([0.3, -0.7, 1.2, 0.5])).sum(), "@runtime.unit" in g.lowered(np.ones(4)))
(compiled,) = [d for d in loader._compiled.values()]
print(sum(compiled.stats.cache_hits.values()))
"""


def printed(folder):
    """What the program prints in a process with a cache of its own."""
    environment = {**os.environ, "STGRAD_CACHE_DIR": str(folder / "cache")}
    return subprocess.run([sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_another_process_loads_its_native_code(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    runs = [printed(tmp_path).split() for _ in range(2)]
    assert runs[0][:2] == runs[1][:2] and runs[0][1] == "True"
    assert [run[2] for run in runs] == ["0", "1"]


def test_edits_of_helpers_are_seen(tmp_path):
    """The helper is on the record as any other."""
    source = PROGRAM.split("(compiled,)")[0]
    (tmp_path / "program.py").write_text(source)
    first = printed(tmp_path)
    (tmp_path / "program.py").write_text(source.replace("math.tanh(x * y)", "math.tanh(x)"))
    second = printed(tmp_path)
    assert first.split()[1] == second.split()[1] == "True"
    assert first != second
