"""Independent loops get packed functions and sums; loops that hand values on keep theirs."""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import numpy as np
import pytest

from stgrad import jit, value_and_grad
from stgrad.frontend import read
from stgrad.printer import to_source
from stgrad.program import spec_of
from stgrad.transforms.lower import lower
from stgrad.verify import verify


def independent(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        t = math.exp(-a * x[i])
        total += t * x[i] if t > 0.5 else t
    return total


def springs(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            d = x[i] - x[j]
            if d > a:
                total = total + a * d
            elif d < 0.0:
                total = total - d * d * d
            elif d > 0.5:
                pass
            else:
                total += d
    return total


def twice(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > a:
            total += x[i]
            total += a * x[i]
    return total


def recurrent(x, a):
    y = a
    for i in range(x.shape[0]):
        y = math.sin(y + x[i])
    return y


def neighbours(x, a):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = math.tanh(y[i - 1] * a + x[i])
    return y[-1]


def running(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total += math.exp(x[i])
        x[i] = total * a
    return total


def test_a_loop_of_independent_trips_is_packed() -> None:
    text = value_and_grad(independent).lowered(np.ones(3), 0.5)
    assert "        t = runtime.exp(" in text
    assert "total = runtime.radd(total, " in text


def test_sums_in_branches_are_taken_behind_them() -> None:
    text = value_and_grad(springs, (0, 1)).lowered(np.ones(3), 0.5)
    assert "            total = runtime.radd(total, term)" in text
    assert "            a_bar = runtime.radd(a_bar, term)" in text


def test_a_branch_that_adds_twice_keeps_its_sums() -> None:
    assert "term" not in jit(twice).lowered(np.ones(3), 0.5)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", [springs, twice])
def test_sums_behind_branches_are_right(function: Any, compiled: bool) -> None:
    x = np.random.default_rng(4).standard_normal(40)
    value, (x_bar, a_bar) = value_and_grad(function, (0, 1), jit=compiled)(x, 0.3)
    assert np.isclose(value, function(x, 0.3), rtol=1e-13)
    h = 1e-6
    assert np.isclose(a_bar, (function(x, 0.3 + h) - function(x, 0.3 - h)) / (2 * h), rtol=1e-6)
    along = np.random.default_rng(5).standard_normal(40)
    assert np.isclose(x_bar @ along, (function(x + h * along, 0.3) - function(x - h * along, 0.3)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("function", [recurrent, neighbours, running])
def test_a_loop_that_hands_values_on_is_not(function: Any) -> None:
    text = jit(function).lowered(np.ones(3), 0.5)
    assert "runtime.radd" not in text
    assert "math." in text


@pytest.mark.parametrize("function", [independent, recurrent, neighbours, running])
def test_values(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=37)
    np.testing.assert_allclose(jit(function)(x.copy(), 0.3), function(x.copy(), 0.3), rtol=1e-13)
    bar = value_and_grad(function, "a")(x.copy(), 0.3)[1]
    want = (function(x.copy(), 0.3 + 1e-6) - function(x.copy(), 0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(bar, want, rtol=1e-6, atol=1e-7)


def program(seed: int) -> str:
    """One loop over sums, carried scalars, choices, stores to own and other places."""
    rng = random.Random(seed)
    values = ["x[i]", "y[i]", "x[i + 1]", "t", "u", "0.3", "A[i, 1]", "math.cos(t)", "math.sin(x[i])", "y[0]"]
    lines = [
        "import math",
        "def f(x, y, A, c):",
        "    s = c",
        "    r = 0.0",
        "    for i in range(6):",
        "        t = x[i]",
        "        u = 0.5",
    ]
    for _ in range(rng.randrange(1, 6)):
        a, b = rng.choice(values), rng.choice(values)
        value = rng.choice([f"{a} * {b}", f"{a} - {b}", f"({a} if {b} > 0.1 else {b})", f"math.tanh({a})"])
        target = rng.choice(
            ["t =", "u =", "s +=", "s -=", "r +=", "r = r * 0.5 +", "y[i] =", "y[i] +=", "A[i, 0] =", "x[i + 1] =", "y[2] +="]
        )
        lines.append(f"        {target} {value}")
        if rng.random() < 0.2:
            lines += [f"        if {a} > 0.2:", f"            {rng.choice(['t', 'u', 's', 'r'])} = {b} * 0.1"]
    return "\n".join([*lines, "    return x * 1.0, y * 1.0, A * 1.0, s + r", ""])


def define(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)  # noqa: S102
    return space


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    function = define(program(seed), f"<packed {seed}>")["f"]
    rng = np.random.default_rng(seed)
    base = rng.normal(size=9), rng.normal(size=9), rng.normal(size=(9, 2))

    def arguments() -> dict[str, Any]:
        return {"x": base[0].copy(), "y": base[1].copy(), "A": base[2].copy(), "c": 0.7}

    lowered = lower(read(function, {k: spec_of(v, k) for k, v in arguments().items()}).function)
    verify(lowered)
    call = define(to_source(lowered), f"<lowered packed {seed}>")[lowered.name]
    for a, b in zip(function(**arguments()), call(*arguments().values()), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-12)
    if seed % 8 == 0:
        for a, b in zip(function(**arguments()), jit(function)(*arguments().values()), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-12)


def test_columns_keep_the_functions_of_the_library():
    # Down a column the stride is not 1, and a vectorised function called for one number is slower than the library's.
    def columns(a, top):
        total = 0.0
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                total += math.exp(a[i, j] - top)
        return total

    def rows(a, top):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += math.exp(a[i, j] - top)
        return total

    a = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    assert "math.exp" in jit(columns).lowered(a, 0.3) and "runtime.exp" in jit(rows).lowered(a, 0.3)
    np.testing.assert_allclose(jit(columns)(a, 0.3), jit(rows)(a, 0.3), rtol=1e-14)
