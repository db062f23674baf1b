"""Elements that do not move with a loop are read before it, or summed up in a local; random programs keep their values."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest
from lowering import same

from stgrad import value_and_grad
from stgrad.frontend import read
from stgrad.printer import to_source
from stgrad.program import spec_of
from stgrad.transforms.lower import lower
from stgrad.verify import verify


def triangular(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            d = x[i] - x[j]
            total += d * d * d if d > 0.1 else d * d
    return total


def test_a_sum_into_an_element_is_a_local() -> None:
    text = value_and_grad(triangular).lowered(np.ones(3))
    assert "        x_bar[i] += x_bar_i\n" in text
    assert text.count("x_bar[i]") == 1


def test_it_has_the_same_values() -> None:
    x = np.random.default_rng(0).normal(size=7)
    value, bar = value_and_grad(triangular)(x)
    assert np.isclose(value, triangular(x))
    for k in range(7):
        step = np.eye(7)[k] * 1e-6
        assert np.isclose(bar[k], (triangular(x + step) - triangular(x - step)) / 2e-6, atol=1e-6)


def program(seed: int) -> str:
    """Sums, reads and stores at places that move with none, one or both of two loops."""
    rng = random.Random(seed)
    places = ["0", "2", "i", "j", "k", "i + 1", "j + i"]
    lines = ["def f(x, y, A, k):"]

    def statement(places: list[str] = places) -> str:
        target = rng.choice(["x", "y", "A", "A"])
        at = f"[{rng.choice(places)}]" if target != "A" else f"[{rng.choice(places)}, {rng.choice(places)}]"
        source = rng.choice(["x", "y"])
        value = rng.choice([f"{source}[{rng.choice(places)}]", f"A[{rng.choice(places)}, {rng.choice(places)}]", "0.5"])
        return f"{target}{at} {rng.choice(['+=', '+=', '+=', '-=', '='])} 0.3 * {value} + 0.1"

    lines.append("    for i in range(4):")
    lines += [f"        {statement(places[:3])}" for _ in range(rng.randrange(2))]
    lines.append(f"        for j in range({rng.choice(['i', '3', 'k'])}):")
    for _ in range(rng.randrange(1, 5)):
        if rng.random() < 0.3:
            lines.append(f"            if {rng.choice(['x[i] > 0.2', 'i > j', 'y[j] < 0.0'])}:")
            lines.append(f"                {statement()}")
        else:
            lines.append(f"            {statement()}")
    return "\n".join([*lines, "    return x * 1.0, y * 1.0, A * 1.0", ""])


def define(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)  # noqa: S102
    return space


@pytest.mark.parametrize("seed", range(36))
def test_random_programs(seed: int) -> None:
    function = define(program(seed), f"<registers {seed}>")["f"]
    rng = np.random.default_rng(seed)

    def arguments() -> dict[str, Any]:
        return {"x": base[0].copy(), "y": base[1].copy(), "A": base[2].copy(), "k": seed % 3}

    base = rng.normal(size=9), rng.normal(size=9), rng.normal(size=(9, 9))
    lowered = lower(read(function, {k: spec_of(v, k) for k, v in arguments().items()}).function)
    verify(lowered)
    call = define(to_source(lowered), f"<lowered registers {seed}>")[lowered.name]
    for a, b in zip(function(**arguments()), call(*arguments().values()), strict=True):
        same(a, b, 1e-12)
