"""The work of the compiler grows in proportion to the program, or not much faster: counted in Python calls, which no other job on the machine changes."""

from __future__ import annotations

import cProfile
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad.transforms.lower import fuse

VECTOR = np.linspace(0.1, 0.5, 7)


def drawn(n: int, forms: list[str]) -> list[str]:
    """Statements each of which reads the one before and one that is drawn."""
    draw = random.Random(1)
    return [f"        q{k} = {draw.choice(forms).format(k - 1, draw.randrange(k))}" for k in range(1, n)]


def scalars(n: int) -> str:
    """A loop that makes numbers of those before."""
    steps = drawn(n, ["np.sin(q{0}) * a", "q{0} * q{1} + 0.1", "q{0} + p * q{1}"])
    start = ["    s, p = 0.0, x[0]", "    for i in range(1, x.shape[0]):", "        q0 = x[i] * a"]
    return "\n".join([*start, *steps, f"        p = q{n - 1}", "        s += p * p"])


def arrays(n: int) -> str:
    """A loop that makes arrays of those before."""
    steps = drawn(n, ["np.sin(q{0}) * a", "q{0} * q{1} + 0.1", "q{0}[::-1] + p * q{1}"])
    start = ["    s, p = 0.0, x.copy()", "    for i in range(3):", "        q0 = p * a"]
    return "\n".join([*start, *steps, f"        p = q{n - 1}", "        s += np.sum(p * p)"])


def short_vectors(n: int) -> str:
    """Chains of vectors of three."""
    steps = [f"        u{k} = np.cross(u{k - 1}, v{k - 1})\n        v{k} = u{k} / np.linalg.norm(u{k}) * a + x[i]" for k in range(1, n)]
    start = ["    x = np.reshape(x[:6], (2, 3))", "    s = 0.0", "    for i in range(2):", "        u0, v0 = x[i], x[1 - i] + 0.1"]
    return "\n".join([*start, *steps, f"        s += u{n - 1} @ v{n - 1}"])


def stores(n: int) -> str:
    """A loop that writes to elements."""
    draw = random.Random(1)
    places = [(draw.randrange(7), draw.randrange(7)) for _ in range(n)]
    steps = [f"        y[{i}] += np.sin(y[{j}]) * x[{j}] + a" for i, j in places]
    return "\n".join(["    y = np.zeros(7)", "    for _ in range(3):", *steps, "    s = np.sum(y**2)"])


def loops(n: int) -> str:
    """Loops behind one another that work on one array."""
    steps = [f"    for i in range(1, y.shape[0]):\n        y[i] = y[i - 1] * a + np.sin(y[i]) * {k}.5" for k in range(n)]
    return "\n".join(["    y = x.copy()", *steps, "    s = np.sum(y**2)"])


def products(n: int) -> str:
    """Layers behind one another, without a loop."""
    steps = [f"    y = np.tanh(m @ y + {k}.0)" for k in range(n)]
    return "\n".join(["    m, y = np.outer(x, x) * a, x * a", *steps, "    s = np.sum(y)"])


def branches(n: int) -> str:
    """Branches behind one another that bind a number or an array."""
    steps = [f"    if x[{k % 7}] > 0.{k % 5}:\n        s = x[{k % 7}] * y[0] + s\n    else:\n        y = y * 1.01" for k in range(n)]
    return "\n".join(["    s, y = a, x * 1.0", *steps, "    s = s + np.sum(y)"])


def differences(n: int) -> str:
    """Differences of differences: each would be written out in terms of twice as many elements as the one before."""
    return "\n".join(["    y = np.cos(np.arange(100.0) * a) * x[0]", *["    y = y[1:] - y[:-1]"] * n, "    s = np.sum(y**2)"])


def function_of(body: str, tmp_path: Any, name: str) -> Callable[..., Any]:
    path = tmp_path / f"{name}.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x, a):\n{body}\n    return s\n")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
    return scope["f"]


def calls(run: Callable[[], Any]) -> int:
    profile = cProfile.Profile()
    profile.runcall(run)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(("family", "size"), [(scalars, 16), (arrays, 12), (short_vectors, 3), (stores, 8), (loops, 8)])
def test_twice_the_program_takes_about_twice_the_work(family, size, tmp_path, monkeypatch):
    """For a product with the Hessian, which is a program around the gradient's."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))

    def work(n: int) -> int:
        f = function_of(family(n), tmp_path, f"{family.__name__}_{n}")
        return calls(lambda: stgrad.hvp(f, (VECTOR, 0.3), (VECTOR, None), jit=False))

    work(2)  # imports
    first, second = work(size), work(2 * size)
    assert second < 2.8 * first


@pytest.mark.parametrize(("family", "size"), [(branches, 30), (differences, 12)])
def test_statements_behind_one_another(family, size, tmp_path, monkeypatch):
    """For a gradient without a loop: statements that have nothing to do with one another, and statements that read the one before."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))

    def work(n: int) -> int:
        f = function_of(family(n), tmp_path, f"{family.__name__}_{n}")
        return calls(lambda: stgrad.grad(f).lowered(VECTOR, 0.3))

    work(2)  # imports
    first, second = work(size), work(2 * size)
    assert second < 2.5 * first


def test_loops_with_nothing_in_common_are_not_compared(tmp_path, monkeypatch):
    """Fusing 40 layers asks of 3,130 pairs of statements whether they keep their order; of all pairs it would be 44,000."""
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    asked = []
    conflict = fuse.conflict
    monkeypatch.setattr(fuse, "conflict", lambda *pair: asked.append(pair) or conflict(*pair))
    stgrad.grad(function_of(products(40), tmp_path, "products")).lowered(VECTOR, 0.3)
    assert 40 < len(asked) < 6000
