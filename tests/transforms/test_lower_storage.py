"""Stacks become arrays, indexed by loop counters where the reverse loops mirror the forward ones."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import check, to_source

import stgrad
from stgrad.ir import (
    Assign,
    Const,
    Dim,
    For,
    Function,
    If,
    Operand,
    Pop,
    Push,
    Stack,
    Stmt,
    Type,
    Var,
    While,
)
from tests.thorough import check_gradient

FLOAT, INT, BOOL = Type("float64", weak=True), Type("int64", weak=True), Type("bool", weak=True)
TYPES = {
    **dict.fromkeys(["x", "y", "s", "r", "z"], FLOAT),
    **dict.fromkeys(["i", "j", "n", "m", "a", "b", "c", "_t", "_t_2", "_t_3", "_t_4"], INT),
    "p": BOOL,
    "n": Type("int64", weak=True, value=Dim("n")),
}


def let(name: str, op: str, *args: object) -> Assign:
    return Assign((Var(name),), op, tuple(map(operand, args)))


def operand(value: object) -> Operand:
    return Var(value) if isinstance(value, str) else Const(value)


def loop(var: str, start: object, stop: object, step: int, *body: Stmt) -> For:
    return For(Var(var), operand(start), operand(stop), Const(step), body)


FORWARD = (Push("s", Var("x")), let("x", "np.multiply", "x", 0.75), let("x", "np.add", "x", 1.0))
REVERSE = (Pop(Var("y"), "s"), let("_t_4", "np.multiply", "r", "y"), let("r", "np.add", "_t_4", 0.25))


def program(*body: Stmt) -> Function:
    types = {**TYPES, "_t_4": FLOAT}
    return Function("f", (Var("x"), Var("n"), Var("m")), (Stack("s"), let("r", "alias", 1.0), *body), Var("r"), types)


def test_a_counted_loop_indexes_by_its_counter() -> None:
    fn = program(loop("i", 0, "n", 1, *FORWARD), let("_t", "np.subtract", "n", 1), loop("i", "_t", -1, -1, *REVERSE))
    text = to_source(check(fn, 0.5, 7, 3))
    assert "s[i] = x" in text
    assert "y = s[i]" in text


@pytest.mark.parametrize("n", [-2, 0, 1, 6])
def test_any_trip_count(n: int) -> None:
    fn = program(loop("i", 2, "n", 1, *FORWARD), let("_t", "np.subtract", "n", 1), loop("j", "_t", 1, -1, *REVERSE))
    assert "s[i - 2] = x" in to_source(check(fn, 0.5, n, 3, jit=n == 6))


def test_a_nest_has_one_axis_for_each_loop() -> None:
    forward = loop("i", 0, "n", 1, loop("j", 0, "m", 1, *FORWARD))
    reverse = loop("i", "_t", -1, -1, loop("j", "_t_2", -1, -1, *REVERSE))
    fn = program(forward, let("_t", "np.subtract", "n", 1), let("_t_2", "np.subtract", "m", 1), reverse)
    assert "s[i, j] = x" in to_source(check(fn, 0.5, 4, 3))


def test_a_triangular_nest_is_counted_first() -> None:
    forward = loop("i", 0, "n", 1, let("a", "np.add", "i", 1), loop("j", "i", "n", 1, *FORWARD))
    reverse = loop("i", "_t", -1, -1, let("b", "np.subtract", "i", 1), loop("j", "_t", "b", -1, *REVERSE))
    fn = program(forward, let("_t", "np.subtract", "n", 1), reverse)
    assert "empty(count" in to_source(check(fn, 0.5, 5, 3))


def test_steps_use_a_running_position() -> None:
    forward = loop("i", 1, "n", 3, *FORWARD)
    reverse = loop("i", "_t_3", 0, -3, *REVERSE)
    length = (
        let("_t", "np.subtract", "n", 2),
        let("_t_2", "np.floor_divide", "_t", 3),
        let("a", "np.multiply", "_t_2", 3),
        let("_t_3", "np.add", "a", 1),
    )
    assert "s_top" in to_source(check(program(forward, *length, reverse), 0.5, 9, 3))


def test_a_push_in_a_branch_uses_the_slot_of_its_trip() -> None:
    forward = loop("i", 0, "n", 1, let("p", "np.less", "i", "m"), If(Var("p"), FORWARD, (let("x", "np.add", "x", 2.0),)))
    reverse = loop("i", "_t", -1, -1, let("p", "np.less", "i", "m"), If(Var("p"), REVERSE))
    fn = program(forward, let("_t", "np.subtract", "n", 1), reverse)
    assert "s[i] = x" in to_source(check(fn, 0.5, 7, 3))


def test_outside_loops_a_stack_is_a_variable() -> None:
    fn = program(*FORWARD, *REVERSE)
    assert "append" not in to_source(check(fn, 0.5, 7, 3))


def test_an_unknown_trip_count_keeps_the_stack() -> None:
    forward = While((let("p", "np.less", "x", 3.5),), Var("p"), (*FORWARD, let("c", "np.add", "c", 1)))
    fn = program(let("c", "alias", 0), forward, loop("i", 0, "c", 1, *REVERSE))
    check(fn, 0.5, 7, 3)


def lengthened(x):
    y = np.array([])
    for v in x:
        if v < 1.0:
            y = np.append(y, v * v)
    return y


def joined(x):
    y = x[:0]
    for k in range(len(x)):
        if x[k] < 1.0:
            y = np.concatenate((y, x[k : k + 1] * x[0]))
    return y


def shortened(x):
    y = x
    while y[0] < 3.0:
        y = y[:-1] * 2.0
    return y


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("function", [lengthened, joined, shortened])
def test_a_cotangent_does_not_tell_the_extents_of_earlier_trips(function, jit) -> None:
    x = np.array([0.3, 0.7, 1.1, 0.4, 0.2])
    value, pullback = stgrad.vjp(function, x, jit=jit)
    weights = np.cos(np.arange(len(value)))
    steps = 1e-6 * np.eye(len(x))
    expected = [weights @ (function(x + s) - function(x - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(pullback(weights)[0], expected, rtol=1e-6, atol=1e-9)
    total = stgrad.grad(lambda x: np.sum(function(x) ** 2 * np.arange(len(x))[0 : len(function(x))]), jit=jit)  # a scalar, where no cotangent is given
    np.testing.assert_allclose(total(x), pullback(2.0 * value * np.arange(len(value)))[0], rtol=1e-12)


def swept(d):
    """Elimination of one row, in memory of its own."""
    n = d.shape[0]
    c = np.zeros(n)
    c[0] = 1.0 / d[0]
    for i in range(1, n):
        c[i] = 1.0 / (d[i] - c[i - 1])
    return c


def rows_by_helper(u, steps):
    n = u.shape[0]
    total = 0.0
    for _ in range(steps):
        for j in range(1, n - 1):
            c = swept(3.0 + u[j] * u[j - 1])
            total += c[-1] * c[0]
        u = u * 0.9
    return total


def test_trips_of_helpers_are_counted_by_extents_of_parameters():
    """The inner loop runs over an array that the outer one makes: its extent is that of a parameter."""
    args = (np.random.default_rng(3).random((5, 4)), 3)
    lowered = stgrad.grad(rows_by_helper).lowered(*args)
    assert "runtime.push" not in lowered
    assert "append" not in lowered
    check_gradient(rows_by_helper, args)
    check_gradient(rows_by_helper, (args[0], 0))
    check_gradient(rows_by_helper, (args[0][:2], 2))


@pytest.mark.parametrize("steps", [0, 2])
def test_trips_of_helpers_compiled(steps):
    u = np.random.default_rng(4).random((6, 3))
    np.testing.assert_allclose(stgrad.grad(rows_by_helper)(u, steps), stgrad.grad(rows_by_helper, jit=False)(u, steps), rtol=1e-12)
