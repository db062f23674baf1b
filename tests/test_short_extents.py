"""The first program of a call is for its short extents alone, the second for any: with the same results, and never for others than its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors
from stgrad.short_extents import worth_it


def springs(x, edges, rest):
    energy = 0.0
    for e in range(len(edges)):
        i, j = edges[e]
        d = x[j] - x[i]
        energy += (np.sqrt(np.sum(d**2)) - rest[e]) ** 2
    return energy


def of_ends(x, y):
    return x[-1] * y[0] + np.sum(x[1:] * y[:-1]) * x[-2] + len(x) * y[-1]


def states(x, n):
    m = np.outer(x, x) + np.eye(len(x))
    v = x
    for _ in range(n):
        v = np.tanh(m @ v)
        m = m + 0.1 * v[:, None]
    return np.linalg.norm(np.linalg.solve(m, v))


def written(x):
    y = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(i, len(x)):
            y[i, j] = x[i] * x[j] ** 2
    return np.sum(y[::-1] @ x)


def shifted(x, k):
    return np.sum(np.roll(x, k) * x) + x[k % len(x)] ** 3


def points(n, dim):
    rng = np.random.default_rng(n + dim)
    return rng.normal(size=(n, dim)), np.array([[i, (i + 1) % n] for i in range(n)]), rng.uniform(0.5, 1.0, n)


PROGRAMS = [
    (springs, lambda n: points(6, n)),
    (springs, lambda n: points(n, 3)),
    (of_ends, lambda n: (np.linspace(0.3, 0.9, n), np.linspace(-0.4, 0.8, n))),
    (states, lambda n: (np.linspace(0.3, 0.9, n), 4)),
    (written, lambda n: (np.linspace(0.3, 0.9, n),)),
    (shifted, lambda n: (np.linspace(0.3, 0.9, n), 5)),
]


def programs(f) -> int:
    return len(f._known)


@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_every_order_of_extents(f, arguments) -> None:
    plain = stgrad.value_and_grad(f, jit=False)
    for sizes in ((3, 4, 3, 6, 2, 2, 3), (6, 3, 3, 2, 6), (2, 2, 3, 4)):
        compiled = stgrad.value_and_grad(f, jit=True)
        for n in sizes:
            given, wanted = compiled(*arguments(n)), plain(*arguments(n))
            np.testing.assert_allclose(given[0], wanted[0], rtol=1e-12)
            np.testing.assert_allclose(given[1], wanted[1], rtol=1e-9, atol=1e-13)
        assert programs(compiled) <= 2
    for n in (2, 3, 4):
        check_gradient(f, arguments(n), argnums=0, jit=True)


def test_one_program_for_short_ones_and_one_for_any() -> None:
    gradient = stgrad.grad(of_ends, jit=True)
    gradient(np.ones(3), np.ones(3))
    assert "np.empty(3)" in gradient.running(np.ones(3), np.ones(3))
    assert "Only for x of shape (3,)" in gradient.running(np.ones(3), np.ones(3))
    assert "Only" not in gradient.source(np.ones(3), np.ones(3))  # which is for people to read
    gradient(np.ones(4), np.ones(4))
    gradient(np.ones(2), np.ones(2))
    gradient(np.ones(9), np.ones(9))
    assert programs(gradient) == 2
    first = stgrad.grad(of_ends, jit=True)
    first(np.ones(9), np.ones(9))
    first(np.ones(3), np.ones(3))
    assert programs(first) == 1


def test_what_does_not_fit_is_refused_as_ever() -> None:
    for jit in (False, True):
        gradient = stgrad.grad(lambda x, y: np.sum(x * y), jit=jit)
        with pytest.raises(ValueError, match="broadcast"):
            gradient(np.ones(3), np.ones(4))
        with pytest.raises(IndexError, match="out of bounds"):
            stgrad.grad(lambda x: x[5] * x[0], jit=jit)(np.ones(3))


def test_containers_and_objects() -> None:
    def f(p):
        return np.sum(p["r"] * p["q"][0]) * p["q"][1][-1]

    gradient, plain = stgrad.grad(f, jit=True), stgrad.grad(f, jit=False)
    for n in (3, 3, 2, 3, 7):
        p = {"r": np.linspace(0.2, 1.0, n), "q": (np.linspace(1.0, 2.0, n), np.ones(4))}
        np.testing.assert_allclose(gradient(p)["r"], plain(p)["r"], rtol=1e-12)
        np.testing.assert_allclose(gradient(p)["q"][1], plain(p)["q"][1], rtol=1e-12)


def test_other_callers() -> None:
    x, y = np.linspace(0.3, 0.9, 3), np.linspace(-0.4, 0.8, 3)
    gradient = stgrad.grad(of_ends, jit=True)
    gradient(x, y)
    inner = gradient.dispatcher(x, y)

    @numba.njit
    def caller(x, y):
        return inner(x, y)

    for n in (3, 5):
        x, y = np.linspace(0.3, 0.9, n), np.linspace(-0.4, 0.8, n)
        np.testing.assert_allclose(caller(x, y), stgrad.grad(of_ends, jit=False)(x, y), rtol=1e-12)
        value, pullback = stgrad.vjp(of_ends, x, y)
        np.testing.assert_allclose(pullback(2.0)[0], 2.0 * caller(x, y), rtol=1e-12)
        np.testing.assert_allclose(stgrad.jvp(of_ends, (x, y), (np.ones(n), np.zeros(n)))[1], np.sum(caller(x, y)), rtol=1e-10)
        np.testing.assert_allclose(stgrad.hessian(of_ends)(x, y), stgrad.hessian(of_ends, jit=False)(x, y), rtol=1e-10, atol=1e-13)
    assert value == of_ends(x, y)


def test_turned_off(monkeypatch) -> None:
    monkeypatch.setenv("STGRAD_SHORT", "0")
    gradient = stgrad.grad(of_ends, jit=True)
    for n in (2, 3, 4):
        gradient(np.ones(n), np.ones(n))
    assert programs(gradient) == 1


def test_from_disk(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import numpy as np\n\n\ndef f(x):\n    return np.sum(x * x) * x[-1]\n", encoding="utf-8")
    text = (
        "import numpy as np, stgrad, model, sys\ng = stgrad.grad(model.f, jit=True)\n"
        "for n in (3, 2, 5, 3):\n    print(g(np.arange(1.0, n + 1)).tolist())\nprint('stgrad.program' in sys.modules)\n"
    )
    env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(stgrad.__file__).parents[1])])}
    for name in ("STGRAD_CHECK", "STGRAD_PROGRAM_CACHE"):
        env.pop(name, None)
    told = [subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)]
    assert told[0][:4] == told[1][:4]
    assert (told[0][4], told[1][4]) == ("True", "False")
    assert len(list((tmp_path / "cache").glob("f_grad_*.json"))) == 2


WEIGHTS = np.array([[0.5, 0.2], [0.1, 0.9]])


def of_captured(x):
    v = x[:2]
    for _ in range(5):
        v = np.tanh(WEIGHTS @ v)
        for j in range(len(WEIGHTS)):
            v = v + WEIGHTS[j] * x[-1]
    return np.sum(v * v)


@pytest.mark.parametrize("n", [3, 9])
def test_captured_arrays(n, monkeypatch) -> None:
    x = np.linspace(0.3, 0.9, n)
    gradient = stgrad.grad(of_captured, jit=True)
    plain = stgrad.grad(of_captured, jit=False)
    for shape in ((2, 2), (2, 2), (4, 2), (2, 2)):
        monkeypatch.setitem(globals(), "WEIGHTS", np.linspace(0.1, 0.7, 4).reshape(2, 2) if shape == (2, 2) else np.full(shape, 0.3)[::2].copy())
        np.testing.assert_allclose(gradient(x), plain(x), rtol=1e-12)
    check_gradient(of_captured, (x,), argnums=0, jit=True)
    assert "WEIGHTS of shape (2, 2)" in gradient.running(x)


def test_captured_arrays_of_another_shape(monkeypatch) -> None:
    table = np.ones((3, 2))

    def f(x):
        s = 0.0
        for i in range(len(table)):
            s += table[i, 0] * x ** (i + 1)
        return s + table.shape[1]

    gradient = stgrad.value_and_grad(f, jit=True)
    assert gradient(2.0) == (16.0, 17.0)
    table.resize((2, 3), refcheck=False)
    assert gradient(2.0) == (9.0, 5.0)
    table.resize((6, 1), refcheck=False)
    assert gradient(1.0) == (7.0, 21.0)


def jackknife(x):
    index = np.arange(x.shape[1])
    return np.min(np.array([np.corrcoef(x[:, index != i])[0, 1] for i in range(x.shape[1])]))


def test_a_program_that_short_extents_make_much_longer_is_for_any() -> None:
    gradient = stgrad.grad(jackknife, jit=True)
    x = np.random.default_rng(0).normal(size=(4, 4))
    assert "Only for" not in gradient.running(x) and gradient.running(x).count("\n") < 300
    np.testing.assert_allclose(gradient(x), stgrad.grad(jackknife, jit=False)(x), rtol=1e-12)


def test_a_program_for_any_extents_that_is_not_whole_is_no_better() -> None:
    long, partly, whole = "x = 1\n" * 1000, f"raise ValueError({errors.NOT_COMPILED!r})\n", "x = 1\n"
    for other, chosen in ((partly, long), (whole, whole), (whole * 600, long)):
        assert worth_it(lambda short, other=other: long if short else other, True, str) == chosen
