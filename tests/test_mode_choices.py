"""Which mode a derivative takes where that is left open, and what `memory()` says of it."""

import math

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.3, -0.2, 0.5])


def swing(x, damping, n):
    v = 0.0
    for _ in range(n):
        v = v - 0.1 * math.sin(x) - damping * v
        x = x + 0.1 * v
    return x


def straight(x, y):
    return x * math.sin(y)


def test_a_gradient_says_why():
    loop = stgrad.grad(swing, (0, 1), mode="auto")
    (mode,) = loop.memory(1.0, 0.2, 10).modes
    assert mode == "forward mode: a reverse sweep would store values of loops, and there are no more than 2 numbers to go forward in"
    assert str(loop.memory(1.0, 0.2, 10)).startswith("forward mode: ")
    assert stgrad.grad(straight, (0, 1), mode="auto").memory(1.0, 0.2).modes == ("reverse mode: it stores nothing",)
    assert stgrad.grad(lambda x: np.sum(x**2), mode="auto").memory(X).modes == ()
    assert stgrad.grad(swing, (0, 1), mode="reverse").memory(1.0, 0.2, 10).modes == ()


def test_the_mode_is_chosen_unless_it_is_given(monkeypatch):
    """By the argument, or else by the environment."""
    text = {mode: stgrad.grad(swing, (0, 1), mode=mode).source(1.0, 0.2, 10) for mode in ("auto", "reverse")}
    assert "_dot_" in text["auto"] and "_dot_" not in text["reverse"]
    assert stgrad.grad(swing, (0, 1)).source(1.0, 0.2, 10) == text["reverse"]  # as the suite has it
    monkeypatch.delenv("STGRAD_MODE")
    assert "_dot_" in stgrad.grad(swing, (0, 1)).source(1.0, 0.2, 10)
    monkeypatch.setenv("STGRAD_MODE", "sideways")
    with pytest.raises(ValueError, match="sideways"):
        stgrad.grad(swing)


def decays(a, b, n):
    u = np.linspace(0.0, 1.0, 5)
    for _ in range(n):
        u = u + 0.1 * (a * np.sin(u) - b * u)
    return np.sum(u * u)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_either_mode_gives_numbers_of_the_kind_of_the_argument(kind, jit):
    args = kind(1.0), 0.5, 3
    wanted = stgrad.grad(decays, (0, 1), jit=jit, mode="reverse")(*args)
    for mode in ("forward", "auto"):
        found = stgrad.grad(decays, (0, 1), jit=jit, mode=mode)(*args)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert [type(v) for v in found] == [type(v) for v in wanted] == [kind, float]


def recurs(a, b, n):
    h = X
    for _ in range(n):
        h = np.tanh(a * (np.outer(X, X) @ h) + b)
    return np.sum(h)


def test_products_of_matrices_are_not_repeated_for_each_number():
    auto = stgrad.grad(recurs, (0, 1), mode="auto", jit=False)
    (mode,) = auto.memory(1.0, 0.2, 3).modes
    assert mode.startswith("reverse mode: forward mode would run `np.") and mode.endswith("` once more for each number")
    np.testing.assert_allclose(auto(1.0, 0.2, 3), stgrad.grad(recurs, (0, 1), mode="forward", jit=False)(1.0, 0.2, 3))


def test_what_goes_backward_is_the_program_of_reverse_mode():
    for f, args in ((straight, (1.0, 0.2)), (recurs, (1.0, 0.2, 3)), (lambda x: np.sum(x**2), (X,))):
        assert stgrad.grad(f, mode="auto").source(*args) == stgrad.grad(f).source(*args)


def test_auxiliary_data_and_values_beside_a_gradient_by_tangents():
    def f(x, damping, n):
        y = swing(x, damping, n)
        return y * y, {"last": y, "steps": n}

    args = 1.0, 0.2, 5
    for make in (stgrad.grad, stgrad.value_and_grad):
        auto, reverse = (make(f, (1, 0), has_aux=True, mode=mode, jit=False)(*args) for mode in ("auto", "reverse"))
        numbers = [[*found[0], found[1]["last"]] if make is stgrad.grad else [found[0][0], found[0][1]["last"], *found[1]] for found in (auto, reverse)]
        np.testing.assert_allclose(*numbers)
    assert stgrad.grad(f, (1, 0), has_aux=True, mode="auto").memory(*args).modes[0].startswith("forward mode")


@pytest.mark.parametrize("jit", [False, True])
def test_a_gradient_by_tangents_inside_other_derivatives(jit):
    inner = stgrad.grad(swing, mode="auto")

    def slope(x, damping):
        return inner(x, damping, 6) * damping

    h, gradient = 1e-6, stgrad.grad(swing)
    wanted = (gradient(1.0 + h, 0.2, 6) - gradient(1.0 - h, 0.2, 6)) / (2.0 * h) * 0.2
    assert math.isclose(stgrad.grad(slope, jit=jit)(1.0, 0.2), wanted, rel_tol=1e-6)
    assert math.isclose(stgrad.grad(slope, mode="auto", jit=jit)(1.0, 0.2), wanted, rel_tol=1e-6)
    assert math.isclose(stgrad.jvp(slope, (1.0, 0.2), (1.0, 0.0), jit=jit)[1], wanted, rel_tol=1e-6)


def test_stages_of_a_gradient_by_tangents():
    gradient = stgrad.grad(swing, (0, 1), mode="auto", jit=False)
    stages = gradient.stages(1.0, 0.2, 3)
    assert "forward" in stages and "reverse" not in stages
    assert "def swing_grad(x, damping, n):" in gradient.source(1.0, 0.2, 3)


@stgrad.custom_vjp
def square(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, y_bar: (2.0 * x * y_bar,))


@pytest.mark.parametrize("jit", [False, True])
def test_a_program_that_forward_mode_refuses_goes_backward(jit):
    def squares(x):
        for _ in range(3):
            x = square(math.sin(x)) + x
        return x

    def doubled(x):
        for _ in range(3):
            x = math.sin(x) * x
            with stgrad.insert_grad_of(x) as dx:
                dx = dx * 2.0  # noqa: F841
        return x

    for f in (squares, doubled):
        auto = stgrad.value_and_grad(f, mode="auto", jit=jit)
        np.testing.assert_allclose(auto(0.7), stgrad.value_and_grad(f, jit=jit)(0.7))
        with pytest.raises(errors.NotDifferentiableError):
            stgrad.grad(f, mode="forward", jit=jit)(0.7)
        assert auto.memory(0.7).modes[0].startswith("reverse mode: forward mode refuses the program (forward mode of ")


def test_jacobians_say_why():
    def said(derivative, *args):
        (mode,) = derivative.memory(*args).modes
        return mode

    assert said(stgrad.jacobian(lambda x: np.sin(x)), X).startswith("by columns or by rows: ")
    assert said(stgrad.jacobian(lambda x: np.sum(np.sin(x))), X) == "by rows, in reverse mode: the result has no arrays"
    assert said(stgrad.jacobian(lambda a: a * X), 2.0).startswith("by columns, in forward mode: ")
    assert said(stgrad.hessian(lambda x: np.sum(np.sin(x))), X).startswith("the gradient, pushed forward")
    assert stgrad.jacobian(lambda z: z * X).memory(1.0 + 2.0j).modes[0] == "by rows, in reverse mode: there are complex numbers among the arguments"


def test_jvp_of_a_function_in_a_program():
    push = stgrad.jvp(lambda x: np.sum(x**3))
    found = stgrad.grad(lambda x: push((x,), (np.ones(3),))[1], jit=False)(X)
    np.testing.assert_allclose(found, 6.0 * X)
    aux = stgrad.jvp(lambda x: (np.sum(x**3), 2.0 * x), has_aux=True)
    np.testing.assert_allclose(stgrad.jit(lambda x: aux((x,), (np.ones(3),))[2])(X), 2.0 * X)


def test_a_pullback_in_another_program_is_refused():
    _, pullback = stgrad.vjp(np.sin, X)
    with pytest.raises(errors.UnsupportedCallerError, match="it was not made in"):
        stgrad.vmap(lambda row: pullback(row)[0])(np.eye(3))
    with pytest.raises(errors.UnsupportedCallerError, match="it was not made in"):
        stgrad.grad(lambda y: np.sum(pullback(y)[0]), jit=True)(X)
