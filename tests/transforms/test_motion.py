"""Array operations that every trip of a loop repeats: what moves before it, what stays, and that values, gradients and errors are those of the loop."""

from __future__ import annotations

import ast

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
