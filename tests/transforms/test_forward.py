"""Forward mode: what is shared, overwritten, moved or marked keeps its meaning, at order one and two, in plain Python and compiled."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import pushforwards, tangent_calls
from stgrad.errors import AliasingError, NotDifferentiableError, ShapeError
from stgrad.request import Derivative, Options
from stgrad.transformed import Transformed

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
X = np.array([0.3, 1.1, 2.0])


def overwritten(x):
    y = x * x
    y[0] = 0.0
    return np.sum(y)


def shifted_then_written(x):
    """A tangent that passes through a sum is no other name for the argument's."""
    y = x + 1.0
    x = x * 2.0
    z = x + 0.0
    x[0] = 5.0
    y[1] = x[2]
    return np.sum(y * z) + x[1]


def written_argument(x):
    y = x + 1.0
    x[0] = 3.0
    return np.sum(x * y)


def swapped(x):
    a, b = x.copy(), 2.0 * x
    for i in range(4):
        a[i % 3] += b[(i + 1) % 3] ** 2
        a, b = b, a
    return np.sum(a * b)


def through_views(x):
    y = x * 1.0
    v = y[1:]
    v *= x[:-1]
    w = y.reshape(-1)[::-1]
    w[0] = v[0] * x[0]
    return np.sum(y**2)


def listed(x):
    items = []
    for i in range(len(x)):
        items.append(x[i] * x[0])
    total = 0.0
    while items:
        total = total * 0.5 + items.pop() ** 2
    return total


def scattered(x):
    y = np.zeros(3)
    index = np.array([0, 2, 0])
    np.add.at(y, index, x * x)
    y[index] = y[[1, 1, 2]] * x
    return np.sum(y * y)


def branching(x):
    s = 0.0
    t = x[0]
    for v in x:
        if v > 1.0:
            t = v * t
        elif v > 0.5:
            t = 2.0
        s += t * v
    return s


def newton(x):
    y = x[0]
    while abs(y * y - x[1]) > 1e-12:
        y = 0.5 * (y + x[1] / y)
    return y * x[2]


def stopped(x):
    return np.sum(x * stgrad.stop_gradient(x * x)) + np.sum(np.floor(x))


def through_complex(x):
    z = np.exp(1j * x) * (1.0 + x)
    return np.abs(np.sum(z)) + np.sum(np.real(np.fft.fft(z))[:2]) + np.angle(z[0])


PROGRAMS = [overwritten, shifted_then_written, written_argument, swapped, through_views, listed, scattered, branching, newton, through_complex]


@BOTH
@pytest.mark.parametrize("f", PROGRAMS)
def test_agrees_with_reverse_mode(f, jit):
    order = 1 if f in (through_complex,) else 2
    check_gradient(f, (X,), order=order, jit=jit, modes=("reverse", "forward"))


@BOTH
def test_nothing_moves_behind_stop_gradient(jit):
    v = np.array([1.0, -2.0, 0.5])
    assert np.isclose(stgrad.jvp(stopped, (X,), (v,), jit=jit)[1], X**2 @ v)


@stgrad.custom_gradient
def cubed(x):
    square = x * x
    return square * x, lambda g: 3.0 * g * square


@stgrad.custom_gradient
def product(a, b):
    return (a * b, a + b), lambda g, h: (g * b + h, g * a + h)


@stgrad.custom_gradient
def straight_through(x):
    return np.round(x), lambda g: g


def with_own_derivatives(x):
    s = 0.0
    for i in range(3):
        p, q = product(cubed(x[i]), x[0])
        s += p * q
    return s + np.sum(straight_through(x) * x)


@BOTH
def test_the_pullback_of_a_function_is_transposed(jit):
    v = np.array([1.0, -2.0, 0.5])
    gradient = stgrad.grad(with_own_derivatives, jit=jit)(X)
    assert np.isclose(stgrad.jvp(with_own_derivatives, (X,), (v,), jit=jit)[1], gradient @ v, rtol=1e-12)


@BOTH
def test_what_a_pullback_reads_is_differentiated_again(jit):
    f = lambda x: 2.0 * cubed(x)  # noqa: E731
    gradient = stgrad.grad(f, jit=jit)
    assert stgrad.grad(gradient, jit=jit)(2.0) == pytest.approx(24.0)
    assert stgrad.grad(stgrad.grad(gradient), jit=jit)(2.0) == pytest.approx(12.0)
    assert stgrad.jvp(gradient, (2.0,), (1.0,), jit=jit)[1] == pytest.approx(24.0)
    pushed = Transformed(Derivative(pushforwards.linear_of(tangent_calls.Tangent(f, ("x",))), "primal"))
    assert stgrad.grad(lambda x: pushed((x,), (1.0,)), jit=jit)(2.0) == pytest.approx(24.0)


def test_several_directions_share_the_program():
    def f(x, a):
        return math.sin(a * x) * a

    program = Transformed(Derivative(f, "jvp", ("x", "a"), False, directions=((0,), (1,))), Options(jit=False))
    text = program.lowered(1.0, 2.0)
    assert text.count("sin(") == 1
    assert text.count("cos(") == 1


def test_the_tangent_of_what_does_not_move_is_not_computed():
    def layer(w, x):
        return np.tanh(w @ x)

    program = Transformed(Derivative(layer, "jvp", ("x",), False), Options(jit=False))
    text = program.stages(np.ones((2, 3)), X)["forward"]
    products = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.MatMult)]
    assert len(products) == 2


@BOTH
def test_results_are_no_arrays_of_the_caller(jit):
    v = np.ones(3)
    value, tangent = stgrad.jvp(lambda x: x + 1.0, (X,), (v,), jit=jit)
    tangent[0] = 7.0
    assert v[0] == 1.0


@BOTH
def test_single_precision_stays(jit):
    x = X.astype(np.float32)
    value, tangent = stgrad.jvp(lambda x: x * 2.0 + np.sum(x), (x,), (np.ones(3),), jit=jit)
    assert value.dtype == tangent.dtype == np.float32
    np.testing.assert_allclose(tangent, 5.0)


def test_refusals():
    with pytest.raises(NotDifferentiableError, match="complex, its primal is real"):
        stgrad.jvp(lambda x: x * x, (X,), (X * 1j,), jit=False)
    with pytest.raises(NotDifferentiableError, match="returns an array"):
        stgrad.grad(lambda x: x * x, mode="forward", jit=False)(X)
    with pytest.raises(NotDifferentiableError, match="argument is complex"):
        stgrad.jacfwd(lambda z: z * z, jit=False)(X * 1j)
    with pytest.raises(ValueError, match="none of auto, forward, reverse"):
        stgrad.grad(lambda x: x, mode="up")
    with pytest.raises(ValueError, match="none of auto"):
        stgrad.jacobian(lambda x: x, mode="up")
    with pytest.raises(ShapeError, match="a tangent is"):
        Transformed(Derivative(pushforwards.linear_of(tangent_calls.Tangent(lambda x: x * x, ("x",))), "primal"))((X,), (1.0,))


def test_a_reshape_that_may_copy_is_refused():
    def f(x):
        y = np.outer(x, x)[:, :2]
        z = np.reshape(y, 6)
        z[0] = x[1]
        return np.sum(y)

    with pytest.raises(AliasingError, match="view or a copy"):
        stgrad.jvp(f, (X,), (X,), jit=False)


@BOTH
def test_what_is_flattened_is_a_copy(jit):
    """Whether the array in between is a view does not matter."""

    def f(x):
        y = x.copy()
        m = y.reshape(2, 2)
        m[:, 1:] -= 2.0 * m[:, :-1]
        z = m.T.flatten()
        z[0] = 1.0
        y[2] = z[1] * z[1]
        return z + y

    x = np.array([0.3, -0.2, 0.5, 0.7])
    np.testing.assert_allclose(stgrad.jacfwd(f, jit=jit)(x), stgrad.jacrev(f, jit=jit)(x))


@BOTH
def test_the_gradient_in_forward_mode(jit):
    def f(p, n):
        y = p["x"]
        for _ in range(n):
            y = y * p["a"] + np.sum(p["v"] * y)
        return y, n

    p = {"x": 0.5, "a": 0.25, "v": X, "n": 3}
    want, aux = stgrad.grad(f, has_aux=True, jit=jit)(p, 4)
    found, number = stgrad.grad(f, has_aux=True, mode="forward", jit=jit)(p, 4)
    assert (aux, number) == (4, 4)
    assert found["n"] is None
    for key in ("x", "a", "v"):
        np.testing.assert_allclose(found[key], want[key], rtol=1e-12)
    (value, _), again = stgrad.value_and_grad(f, has_aux=True, mode="forward", jit=jit)(p, 4)
    assert value == pytest.approx(f(p, 4)[0])
    np.testing.assert_allclose(again["v"], want["v"], rtol=1e-12)


@BOTH
def test_linearize(jit):
    x = X.copy()
    value, push = stgrad.linearize(lambda x, n: x**n, x, 3, jit=jit)
    x[0] = 100.0
    np.testing.assert_allclose(value, X**3)
    np.testing.assert_allclose(push(np.ones(3), None), 3.0 * X**2)
    value, push, aux = stgrad.linearize(lambda x: (np.sum(x), 2), X, has_aux=True, jit=jit)
    assert (push(np.ones(3)), aux) == (3.0, 2)


def test_options_are_everywhere():
    options = {"jit": False, "precise": True, "checked": True, "without": "fuse", "parallel": False}
    f = lambda x: np.sum(np.sin(x) ** 2)  # noqa: E731
    want = stgrad.grad(f, jit=False)(X)
    np.testing.assert_allclose(stgrad.vjp(f, X, **options)[1](1.0)[0], want)
    np.testing.assert_allclose(stgrad.jvp(f, (X,), (X,), **options)[1], want @ X)
    np.testing.assert_allclose(stgrad.linearize(f, X, **options)[1](X), want @ X)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(stgrad.jacobian(f, mode=mode, **options)(X), want)
        np.testing.assert_allclose(stgrad.hessian(f, mode=mode, **options)(X), np.diag(2.0 * np.cos(2.0 * X)), atol=1e-12)
    np.testing.assert_allclose(stgrad.hvp(f, (X,), (X,), **options)[0], 2.0 * np.cos(2.0 * X) * X)
    value, tangent, aux = stgrad.jvp(lambda x: (f(x), 3), (X,), (X,), has_aux=True, **options)
    assert (aux, round(float(tangent - want @ X), 12)) == (3, 0.0)


def test_structures_with_entries_that_have_no_derivative():
    """The gradient leaves them out, and what is made of it still finds its own."""

    def f(p):
        return np.sum(p["w"] ** 3) * p["n"] * p["b"]

    p = {"n": 2, "w": np.array([1.0, 2.0]), "b": 3.0}
    for mode in ("reverse", "forward"):
        h = stgrad.hessian(f, mode=mode, jit=False)(p)
        np.testing.assert_allclose(h["w"]["w"], [[36.0, 0.0], [0.0, 72.0]])
        np.testing.assert_allclose(h["b"]["w"], [6.0, 24.0])
        assert h["n"] is None
        assert h["w"]["n"] is None
