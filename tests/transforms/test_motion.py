"""Array operations that every trip of a loop repeats: what moves before it, what stays, and that values, gradients and errors are those of the loop."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest

import stgrad
from stgrad.testing import check_gradient
from stgrad.testing.passes import run_pass

W = np.array([[0.3, -0.5, 0.2], [0.7, 0.1, -0.4], [0.2, 0.6, 0.5]])
X = np.array([0.5, -0.3, 0.8])
INF = np.array([np.inf, 1.0, 1.0])


def product(w, x, n):
    h = np.zeros(3)
    for t in range(n):
        h = np.tanh(w @ x + 0.5 * h * t)
    return np.sum(h)


def chain(w, x, n):
    s = 0.0
    for t in range(n):
        d = x - np.mean(x)
        s += np.sum(d * d) * (t + 1.0) + np.dot(w[t], d)
    return s


def nested(w, x, n):
    s = 0.0
    for i in range(3):
        for j in range(n):
            s += np.sum(w @ x) * x[i] + np.sum(w * x[j])
    return s


def downwards(w, x, n):
    s = 1.0
    for i in range(n, 0, -1):
        s = np.sin(s) + np.sum(np.linalg.solve(w, x)) / i
    return s


def written_in_the_loop(w, x, n):
    y = x.copy()
    s = 0.0
    for i in range(n):
        s += np.sum(w @ y)
        y[i] = 0.5 * s
    return s


def written_by_another_name(w, x, n):
    y = x.copy()
    z = y[::-1]
    s = 0.0
    for i in range(n):
        s += np.sum(w @ y)
        z[i] += s
    return s


def result_is_written(w, x, n):
    s = 0.0
    for i in range(n):
        y = w @ x
        y[i] *= 2.0
        s += np.sum(y * y)
    return s


def kept(w, x, n):
    rows = []
    for _ in range(n):
        rows.append(w @ x)
    rows[0][1] *= 3.0
    return sum(np.sum(row * row) for row in rows)


def in_a_branch(w, x, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0.0:
            s += np.sum(w @ x) * i
    return s


def under_checkpoint(w, x, n):
    s = 0.0
    for _ in range(n):
        s = stgrad.checkpoint(lambda a: np.sum(w @ a) + 0.1 * s)(x)
    return s


def while_it_grows(w, x, n):
    s = 1.0
    while s < 20.0:
        for _ in range(n):
            s = s + np.sum((w @ x) ** 2)
    return s


PROGRAMS = [product, chain, nested, downwards, written_in_the_loop, written_by_another_name, result_is_written, kept, in_a_branch, under_checkpoint,
            while_it_grows]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program) -> None:
    check_gradient(program, (W, X, 3), argnums=(0, 1), order=2, jit=False, stages=True)


def several(w, x, n):
    return product(w, x, n) + nested(w, x, n) + written_in_the_loop(w, x, n) + kept(w, x, n)


def test_compiled() -> None:
    check_gradient(several, (W, X, 3), argnums=(0, 1), order=1, jit=True)


@pytest.mark.parametrize("program", [product, chain, nested, downwards])
@pytest.mark.parametrize("n", [0, -2])
def test_no_trip(program, n) -> None:
    """Infinities give no NaN where the loop does not run, and nothing raises."""
    w = np.zeros((3, 3))  # singular
    value, gradients = stgrad.value_and_grad(program, (0, 1), jit=False)(w, INF, n)
    assert value == program(w, INF, n)
    assert all(np.all(g == 0.0) for g in gradients)


@pytest.mark.parametrize("jit", [False, True])
def test_shapes_are_tested_where_the_loop_runs(jit) -> None:
    gradient = stgrad.grad(product, (0, 1), jit=jit)
    assert gradient(W[:, :2], X, 0)[0].shape == (3, 2)
    with pytest.raises(ValueError, match="shapes do not fit"):
        gradient(W[:, :2], X, 1)


def products_in_loops(text: str) -> list[str]:
    """Products and solutions inside of loops."""
    loops = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.For, ast.While))]
    found = [ast.unparse(node) for loop in loops for node in ast.walk(loop) if isinstance(node, (ast.BinOp, ast.Call))]
    return [t for t in found if t.startswith(("runtime.matmul", "runtime.solve", "np.linalg")) or " @ " in t and "Error" not in t]


@pytest.mark.parametrize("program", [product, nested, downwards])
def test_no_loop_has_a_product(program) -> None:
    for derivative in (stgrad.value_and_grad(program, (0, 1)), stgrad.jit(program)):
        assert not products_in_loops(derivative.lowered(W, X, 3))


def test_what_is_computed_from_what_moves_moves() -> None:
    check = """
def f(w: float64['n', 'm'], x: float64['m'], k: int):
    s: float = 0.0
    i: int
    for i in range(0, 4, 1):
        t: float64['n'] = np.matmul(w, x)
        u: float64 = np.sum(t)
        v: float64 = u * i
        s = s + v
    return s
"""
    assert run_pass("motion", check) == """
def f(w: float64['n', 'm'], x: float64['m'], k: int):
    s: float = 0.0
    t: float64['n'] = w @ x
    u: float64 = np.sum(t)
    i: int
    for i in range(0, 4, 1):
        v: float64 = u * i
        s = s + v
    return s
""".strip()


def test_what_only_costs_memory_stays() -> None:
    program = """
def f(x: float64['n'], y: float64['n'], k: int):
    i: int
    for i in range(0, k, 1):
        t: float64['n'] = np.exp(x)
        y = y * t
    return y
""".strip()
    assert run_pass("motion", program) == program


def raises_first(x, w):
    total = 0.0
    for i in range(3):
        if x[i] < 0.05:
            raise KeyError("small")
        total += math.sqrt(w[0]) * x[i]
    return total


def asserts_first(x, w):
    total = 0.0
    for i in range(3):
        assert x[i] > 0.05, "small"
        total += math.log(w[0]) / w[0] * x[i]
    return total


def short_ones_first(x, w):
    total = 0.0
    for i in range(3):
        if w.shape[0] < 2:
            raise KeyError("short")
        total += np.exp(w[1]) * x[i]
    return total


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(
    ("function", "w", "kind"),
    [(raises_first, [-1.0], KeyError), (asserts_first, [-1.0], AssertionError), (short_ones_first, [1.0], KeyError), (short_ones_first, [], KeyError)],
)
def test_what_moves_raises_nothing_in_front_of_what_raises(function, w, kind, jit):
    x = np.array([0.01, 1.0, 2.0])
    with pytest.raises(kind):
        stgrad.grad(function, jit=jit)(x, np.array(w))
    if function is raises_first and not jit:  # compiled code tests domains with checked=True
        with pytest.raises(ValueError, match="math domain error"):
            stgrad.grad(function, jit=jit)(x + 0.1, np.array(w))  # the first element is no longer small


def attended(q, v):
    """A quotient of elements in the loop over columns: kept once for each row."""
    out, w = np.zeros(v.shape), np.zeros(v.shape[0])
    for i in range(v.shape[0]):
        z = 0.0
        for j in range(i + 1):
            w[j] = np.exp(q[i] * q[j])
            z += w[j]
        for j in range(i + 1):
            for k in range(v.shape[1]):
                out[i, k] += w[j] / z * v[j, k]
    return np.sum(out * out)


def test_quotients_of_elements_leave_inner_loops():
    rng = np.random.default_rng(1)
    args = rng.standard_normal(4), rng.standard_normal((4, 3))
    check_gradient(attended, args, order=2)
    check_gradient(attended, (args[0], np.ones((4, 0))))
    lines = stgrad.grad(attended).source(*args).splitlines()
    inner = next(i for i, line in enumerate(lines) if "for k in" in line)
    assert not any(" / z" in line for line in lines[inner : inner + 4] if "#" not in line)
