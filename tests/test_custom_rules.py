"""`custom_vjp` and `custom_jvp`: values, both modes, two orders, structures, and what is refused."""

from __future__ import annotations

import math
import pickle
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
import pytest

import stgrad
from stgrad import errors

X, Y = np.array([0.3, 0.7, 1.2]), np.array([1.0, 2.0, 3.0])


@stgrad.custom_jvp
def wave(x, y):
    return np.sin(x) * y


@wave.defjvp
def wave_jvp(primals, tangents):
    x, y = primals
    x_dot, y_dot = tangents
    return wave(x, y), np.cos(x) * x_dot * y + np.sin(x) * y_dot


@stgrad.custom_vjp
def ripple(x, y):
    return np.sin(x) * y


def ripple_fwd(x, y):
    return ripple(x, y), (np.cos(x), np.sin(x), y)


def ripple_bwd(residuals, g):
    cosine, sine, y = residuals
    return g * cosine * y, g * sine


ripple.defvjp(ripple_fwd, ripple_bwd)


def plain(x, y):
    return np.sin(x) * y


def looped(f):
    def loss(x, y):
        total = 0.0
        for i in range(3):
            if i != 1:
                total = total + np.sum(f(x, y) ** 2)
            else:
                total = total - np.sum(f(y=y, x=x * y))
            y = y * 1.5
        k = 0
        while k < 2:
            x = f(x, y)
            k += 1
        return total + np.sum(x)

    return loss


JIT = pytest.mark.parametrize("jit", [False, True])


@JIT
@pytest.mark.parametrize("f", [wave, ripple])
def test_in_loops_and_branches(f, jit):
    loss, reference = looped(f), looped(plain)
    assert loss(X, Y) == pytest.approx(reference(X, Y))
    for got, want in zip(stgrad.grad(loss, (0, 1), jit=jit)(X, Y), stgrad.grad(reference, (0, 1), jit=False)(X, Y), strict=True):
        np.testing.assert_allclose(got, want)
    if not jit:
        np.testing.assert_allclose(stgrad.hessian(loss, mode="reverse", jit=jit)(X, Y), stgrad.hessian(reference, jit=False)(X, Y), rtol=1e-10)
    np.testing.assert_allclose(stgrad.hvp(loss, (X, Y), (Y, X), jit=jit)[0], stgrad.hvp(reference, (X, Y), (Y, X), jit=False)[0], rtol=1e-10)


@JIT
def test_forward_against_reverse(jit):
    loss = looped(wave)
    value, tangent = stgrad.jvp(loss, (X, Y), (Y, X), jit=jit)
    gradients = stgrad.grad(loss, (0, 1), jit=jit)(X, Y)
    assert tangent == pytest.approx(np.dot(gradients[0], Y) + np.dot(gradients[1], X))
    assert value == pytest.approx(loss(X, Y))
    assert stgrad.jvp(looped(plain), (X, Y), (Y, X), jit=jit)[1] == pytest.approx(tangent)
    np.testing.assert_allclose(stgrad.hvp(loss, (X, Y), (Y, X), jit=jit)[0], stgrad.hvp(looped(plain), (X, Y), (Y, X), jit=jit)[0])
    third = stgrad.grad(stgrad.grad(stgrad.grad(lambda x: wave(x, 2.0), jit=False), jit=False), jit=jit)(0.5)
    assert third == pytest.approx(-2.0 * math.cos(0.5))


@JIT
def test_the_rule_is_what_counts(jit):
    @stgrad.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def _(primals, tangents):
        return f(primals[0]), 10.0 * tangents[0]

    @stgrad.custom_vjp
    def g(x):
        return x * x

    g.defvjp(lambda x: (x * x, None), lambda _, c: (7.0 * c,))
    assert stgrad.grad(f, jit=jit)(3.0) == 10.0
    assert stgrad.jvp(f, (3.0,), (2.0,), jit=jit) == (9.0, 20.0)
    assert stgrad.grad(g, jit=jit)(3.0) == 7.0
    assert stgrad.jit(g)(3.0) == 9.0
    assert stgrad.grad(stgrad.grad(lambda x: g(x) * x, jit=jit), jit=jit)(3.0) == pytest.approx(6.0 + 7.0)  # `fwd` is plain code, as in JAX
    g.defvjp(lambda x: (g(x), None), lambda _, c: (7.0 * c,))
    assert stgrad.grad(stgrad.grad(lambda x: g(x) * x, jit=jit), jit=jit)(3.0) == pytest.approx(7.0 + 7.0)
    assert stgrad.hessian(lambda x: g(x) * x, jit=jit)(3.0) == pytest.approx(7.0 + 7.0)


@JIT
def test_clipping_at_both_orders(jit):
    @stgrad.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))

    def f(x):
        return np.sum(clip(x) ** 3)

    x = np.array([0.1, 0.5, 2.0])
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), np.clip(3 * x * x, -1.0, 1.0))
    for mode in ("auto", "reverse", "forward"):
        np.testing.assert_allclose(stgrad.hessian(f, mode=mode, jit=jit)(x), np.diag([0.6, 3.0, 0.0]))
    clip.defvjp(lambda x: (clip(x), None), lambda _, g: (np.clip(g, -1.0, 1.0),))
    with pytest.raises(errors.NotDifferentiableError, match="backward rule of `clip` is not linear in its cotangents"):
        stgrad.hessian(f, mode="forward", jit=jit)(x)


class Pair(NamedTuple):
    a: np.ndarray
    b: float


@stgrad.custom_vjp
def structured(point, scale):
    return {"u": point.a * scale["s"], "n": 3, "v": (point.b, point.a @ point.a)}


def structured_fwd(point, scale):
    return structured(point, scale), (point, scale["s"])


def structured_bwd(kept, bars):
    point, s = kept
    v_b, v_a = bars["v"]
    return Pair(bars["u"] * s + 2.0 * v_a * point.a, v_b), {"s": np.sum(bars["u"] * point.a)}


structured.defvjp(structured_fwd, structured_bwd)


@stgrad.custom_jvp
def shaped(point, scale):
    return {"u": point.a * scale["s"], "n": 3, "v": (point.b, point.a @ point.a)}


@shaped.defjvp
def shaped_jvp(primals, tangents):
    point, scale = primals
    point_dot, scale_dot = tangents
    tangent = {"u": point_dot.a * scale["s"] + point.a * scale_dot["s"], "n": 0.0, "v": (point_dot.b, 2.0 * (point.a @ point_dot.a))}
    return shaped(point, scale), tangent


@JIT
@pytest.mark.parametrize("f", [structured, shaped])
def test_structures(f, jit):
    def loss(a, b, s):
        out = f(Pair(a, b), {"s": s})
        return np.sum(out["u"] ** 2) + out["n"] * out["v"][0] ** 2 + np.sin(out["v"][1])

    def reference(a, b, s):
        return np.sum((a * s) ** 2) + 3 * b**2 + np.sin(a @ a)

    for got, want in zip(stgrad.grad(loss, (0, 1, 2), jit=jit)(X, 0.4, 1.3), stgrad.grad(reference, (0, 1, 2), jit=False)(X, 0.4, 1.3), strict=True):
        np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(stgrad.hessian(loss, jit=jit)(X, 0.4, 1.3), stgrad.hessian(reference, jit=False)(X, 0.4, 1.3), atol=1e-12)


@JIT
def test_arguments_without_derivative(jit):
    @partial(stgrad.custom_vjp, nondiff_argnums=(0, 2))
    def apply(function, x, n):
        return function(x) ** n

    apply.defvjp(lambda function, x, n: (apply(function, x, n), x), lambda function, n, x, g: (g * 100.0 * n,))

    @partial(stgrad.custom_jvp, nondiff_argnums=0)
    def along(function, x, n=2):
        return function(x) ** n

    @along.defjvp
    def _(function, primals, tangents):
        return along(function, *primals), tangents[0] * 100.0 * primals[1]

    assert stgrad.grad(lambda x: apply(np.sin, x, 2), jit=jit)(0.5) == 200.0
    assert stgrad.grad(lambda x: along(np.sin, x), jit=jit)(0.5) == 200.0
    assert stgrad.grad(lambda x: along(lambda t: t, n=3, x=x), jit=jit)(0.5) == 300.0
    assert stgrad.jvp(lambda x: along(np.sin, x, 3), (0.5,), (1.0,), jit=jit)[1] == 300.0


@JIT
def test_shares(jit):
    @stgrad.custom_jvp
    def f(x, y, n):
        return x * y, x + n

    f.defjvps(lambda t, ans, x, y, n: (t * y, t), lambda t, ans, x, y, n: (x * t, 0.0), None)

    def loss(x, y):
        u, v = f(x, y, 2)
        return u * v * v

    assert stgrad.grad(loss, (0, 1), jit=jit)(2.0, 3.0) == pytest.approx((3 * 16 + 6 * 2 * 4, 2 * 16))
    assert stgrad.jvp(loss, (2.0, 3.0), (1.0, 1.0), jit=jit)[1] == pytest.approx(3 * 16 + 6 * 2 * 4 + 2 * 16)


class Model:
    def __init__(self, k):
        self.k = k

    @stgrad.custom_vjp
    def energy(self, x):
        return self.k * x * x

    def _fwd(self, x):
        return self.k * x * x, (self.k, x)

    @staticmethod
    def _bwd(kept, g):
        k, x = kept
        return None, 2.0 * k * x * g + 1.0

    energy.defvjp(_fwd, _bwd.__func__)


@JIT
def test_methods(jit):
    model = Model(3.0)
    assert model.energy(2.0) == 12.0
    assert stgrad.grad(lambda x: model.energy(x), jit=jit)(2.0) == 13.0


def test_compiled_callers():
    @numba.njit
    def inner(x):
        return 3.0 * x

    @stgrad.custom_jvp
    def f(x):
        return inner(x)

    f.defjvps(lambda t, ans, x: 5.0 * t)
    gradient = stgrad.grad(lambda x: f(x) * x)

    @numba.njit
    def caller(x):
        return gradient(x)

    assert caller(2.0) == pytest.approx(6.0 + 10.0)


@JIT
def test_recurrence(jit):
    """The derivative of a Bessel function in those of the neighbouring orders: the rule calls its function with other arguments."""
    from scipy.special import jv

    @partial(stgrad.custom_jvp, nondiff_argnums=(0,))
    def bessel(n, x):
        return jv(n, x)

    @bessel.defjvp
    def _(n, primals, tangents):
        (x,), (t,) = primals, tangents
        return bessel(n, x), 0.5 * (bessel(n - 1, x) - bessel(n + 1, x)) * t

    f = lambda x: bessel(2, x)  # noqa: E731
    second = 0.25 * (jv(0, 1.3) - 2 * jv(2, 1.3) + jv(4, 1.3))
    assert stgrad.grad(f, jit=jit)(1.3) == pytest.approx(0.5 * (jv(1, 1.3) - jv(3, 1.3)))
    assert stgrad.grad(stgrad.grad(f, jit=jit), jit=jit)(1.3) == pytest.approx(second)
    fourth = stgrad.grad(stgrad.grad(stgrad.grad(stgrad.grad(f, jit=False), jit=False), jit=False), jit=False)
    with pytest.raises(errors.NotDifferentiableError, match="inside of its own rule"):
        fourth(1.3)


@JIT
def test_dtypes(jit):
    @stgrad.custom_jvp
    def f(x):
        return x * np.float32(2.0)

    f.defjvps(lambda t, ans, x: t * np.float32(2.0))
    found = stgrad.grad(lambda x: np.sum(f(x) ** 2), jit=jit)(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 8 * X, rtol=1e-6)


@JIT
def test_matrix_residuals(jit):
    """A solver whose factor is kept for the way back; ranks 1 and 2."""

    @stgrad.custom_vjp
    def solve(a, b):
        return np.linalg.solve(a, b)

    def fwd(a, b):
        x = np.linalg.solve(a, b)
        return x, (a, x)

    def bwd(kept, g):
        a, x = kept
        b_bar = np.linalg.solve(a.T, g)
        return -np.outer(b_bar, x), b_bar

    solve.defvjp(fwd, bwd)
    a = np.array([[3.0, 1.0, 0.0], [0.5, 2.0, 0.2], [0.0, 0.1, 1.0]])

    def loss(a, b):
        return np.sum(solve(a, b) ** 3)

    def reference(a, b):
        return np.sum(np.linalg.solve(a, b) ** 3)

    for got, want in zip(stgrad.grad(loss, (0, 1), jit=jit)(a, Y), stgrad.grad(reference, (0, 1), jit=False)(a, Y), strict=True):
        np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(stgrad.hessian(loss, jit=jit)(a, Y), stgrad.hessian(reference, jit=False)(a, Y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(stgrad.hessian(loss, mode="reverse", jit=jit)(a, Y), stgrad.hessian(reference, jit=False)(a, Y), rtol=1e-9, atol=1e-9)


def test_vjp_and_jacobians():
    value, pullback = stgrad.vjp(wave, X, Y)
    np.testing.assert_allclose(value, plain(X, Y))
    np.testing.assert_allclose(pullback(Y)[0], np.cos(X) * Y * Y)
    for mode in ("forward", "reverse", "auto"):
        np.testing.assert_allclose(stgrad.jacobian(wave, mode=mode)(X, Y), np.diag(np.cos(X) * Y))
    np.testing.assert_allclose(stgrad.jacrev(ripple)(X, Y), np.diag(np.cos(X) * Y))
    assert stgrad.value_and_grad(lambda x: ripple(x, 2.0))(0.5) == pytest.approx((2 * math.sin(0.5), 2 * math.cos(0.5)))


def test_a_rule_that_is_given_again_is_noticed():
    @stgrad.custom_jvp
    def f(x):
        return x * x

    f.defjvps(lambda t, ans, x: 2.0 * t)
    gradient = stgrad.grad(f)
    assert gradient(3.0) == 2.0
    f.defjvps(lambda t, ans, x: 5.0 * t)
    assert gradient(3.0) == 5.0

    @stgrad.custom_vjp
    def g(x):
        return x * x

    g.defvjp(lambda x: (x * x, None), lambda _, c: (2.0 * c,))
    gradient = stgrad.grad(lambda x: g(x))
    assert gradient(3.0) == 2.0
    g.defvjp(lambda x: (x * x, None), lambda _, c: (4.0 * c,))
    assert gradient(3.0) == 4.0


def test_pickle():
    assert pickle.loads(pickle.dumps(wave)) is wave
    assert pickle.loads(pickle.dumps(ripple)) is ripple


def test_zero_cotangents():
    @stgrad.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (None, g))
    assert stgrad.grad(f, (0, 1), jit=False)(2.0, 3.0) == (0.0, 1.0)
    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (0.0, g))
    assert stgrad.grad(f, (0, 1), jit=False)(2.0, 3.0) == (0.0, 1.0)


# --------------------------------------------------------------------------- what is refused


def refused(f, message, *args, error=errors.StgradError, of=None):
    with pytest.raises(error, match=message) as caught:
        (of or stgrad.grad)(f, jit=False)(*args)
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__


def with_rules(fwd, bwd):
    @stgrad.custom_vjp
    def f(x):
        return x * 2.0

    f.defvjp(fwd, bwd)
    return lambda x: np.sum(f(x))


def test_what_backward_rules_return():
    ok = lambda x: (x * 2.0, None)  # noqa: E731
    refused(with_rules(ok, lambda _, g: g), "no tuple for 1 argument", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: (g, g)), "2 cotangents for 1 argument", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: (np.sum(g),)), "returns a float64 as cotangent of a float64", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: (g.astype(np.float32),)), "returns a float32", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: (g * 1j,)), "returns a complex128", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: ((g, g),)), "another structure", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: ("no",)), "returns a str as cotangent", X, error=errors.ShapeError)
    refused(with_rules(lambda x: x, lambda _, g: (g,)), "must return a pair", X)
    refused(with_rules(lambda x: (np.sum(x), None), lambda _, g: (g,)), "as value of a float64", X, error=errors.ShapeError)
    refused(with_rules(ok, lambda _, g: (g[1:],)), "cotangent of another shape", X, error=errors.ShapeError)
    other = np.ones(4)
    with pytest.raises(ValueError, match="cotangent of another shape"):
        stgrad.grad(with_rules(ok, lambda _, g: (g[0] * other,)))(X)


def test_what_forward_rules_return():
    def rule(tangent, value=None):
        @stgrad.custom_jvp
        def f(x):
            return x * 2.0

        @f.defjvp
        def _(primals, tangents):
            return f(primals[0]) if value is None else value(primals[0]), tangent(tangents[0])

        return lambda x: np.sum(f(x))

    refused(rule(lambda t: np.sum(t)), "as tangent of a float64", X, error=errors.ShapeError)
    refused(rule(lambda t: (t, t)), "another structure", X, error=errors.ShapeError)
    refused(rule(lambda t: t, np.sum), "as value of a float64", X, error=errors.ShapeError)
    refused(rule(lambda t: t * t), "not linear in its tangents", X, error=errors.NotDifferentiableError)
    refused(rule(lambda t: t if t[0] > 0 else -t), "not linear in its tangents", X, error=errors.NotDifferentiableError)
    refused(rule(lambda t: np.maximum(t, 0.0)), "not linear in its tangents", X, error=errors.NotDifferentiableError)
    scaled = rule(lambda t: t * t.shape[0] + np.sum(t) * np.ones_like(t))
    np.testing.assert_allclose(stgrad.grad(scaled, jit=False)(X), [6.0, 6.0, 6.0])


def test_forward_mode_of_a_reverse_rule():
    for of in (lambda f, jit: stgrad.grad(f, mode="forward", jit=jit), lambda f, jit: lambda x: stgrad.jvp(f, (x,), (x,), jit=jit)):
        refused(lambda x: np.sum(ripple(x, x)), r"forward mode of `ripple`", X, error=errors.NotDifferentiableError, of=of)


def test_values_around_a_rule():
    def closing(x):
        k = x * 3.0

        @stgrad.custom_vjp
        def f(y):
            return k * y

        f.defvjp(lambda y: (k * y, None), lambda _, g: (g,))
        return f(x)

    with pytest.raises(errors.StgradError):
        stgrad.grad(closing, jit=False)(2.0)

    @partial(stgrad.custom_vjp, nondiff_argnums=(0,))
    def g(k, y):
        return k * y

    g.defvjp(lambda k, y: (k * y, None), lambda k, _, c: (c * k,))
    assert stgrad.grad(lambda y: g(3.0, y), jit=False)(2.0) == 3.0
    refused(lambda y: g(y, y), "reads `y`, which the derivative depends on", 2.0, error=errors.NotDifferentiableError)


def test_writes():
    @stgrad.custom_jvp
    def f(x):
        x[0] = 0.0
        return x * 1.0

    f.defjvps(lambda t, ans, x: t)
    refused(lambda x: np.sum(f(x * 1.0)), "writes to an array that is not its own", X, error=errors.AliasingError)

    @stgrad.custom_jvp
    def g(x):
        out = np.zeros_like(x)
        for i in range(x.shape[0]):
            out[i] = x[i] * 2.0
        return out

    g.defjvps(lambda t, ans, x: 2.0 * t)
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(g(x)))(X), 2.0)


@JIT
def test_rules_that_write_to_what_they_are_given(jit):
    @stgrad.custom_vjp
    def f(x):
        return x * 2.0

    def bwd(_, g):
        g[0] = 0.0
        g *= 2.0
        return (g,)

    f.defvjp(lambda x: (x * 2.0, None), bwd)

    def loss(x):
        y = f(x)
        return np.sum(y) + np.sum(x * x)

    np.testing.assert_allclose(stgrad.grad(loss, jit=jit)(X), 2 * X + np.array([0.0, 2.0, 2.0]))
    cotangent = np.ones(3)
    np.testing.assert_allclose(stgrad.vjp(f, X, jit=jit)[1](cotangent)[0], [0.0, 2.0, 2.0])
    np.testing.assert_array_equal(cotangent, 1.0)
    log = np.zeros(3)

    def logging(_, g):
        log[:] = g
        return (g,)

    f.defvjp(lambda x: (x * 2.0, None), logging)
    refused(loss, "not its own", X, error=errors.AliasingError)


def test_results_that_are_arguments():
    @stgrad.custom_vjp
    def double_back(x):
        return x

    double_back.defvjp(lambda x: (x, None), lambda _, g: (2.0 * g,))

    def f(x):
        y = x * 1.0
        z = double_back(y)
        z[0] = 5.0
        return np.sum(y * y) + np.sum(z)

    def g(x):
        z = double_back(x * 1.0)
        return np.sum(z * z)

    def h(x):
        with stgrad.insert_grad_of(x) as dx:
            dx = 2.0 * dx
        x[0] = 1.0
        return np.sum(x * x)

    refused(f, "the result of `double_back` is its argument", X, error=errors.AliasingError)
    refused(lambda x: h(x * 1.0), "the result of `insert_grad_of` is its argument", X, error=errors.AliasingError)
    np.testing.assert_allclose(stgrad.grad(g, jit=False)(X), 4.0 * X)


@JIT
@pytest.mark.parametrize("f", [wave, ripple])
def test_results_that_are_overwritten(f, jit):
    def loss(f):
        def inner(x, y):
            total = 0.0
            for i in range(3):
                z = f(x, y)
                total += np.sum(z**2)
                z[i] = x[0]
                total += np.sum(z)
            return total

        return inner

    got = stgrad.grad(loss(f), (0, 1), jit=jit)(X, Y)
    for one, other in zip(got, stgrad.grad(loss(plain), (0, 1), jit=False)(X, Y), strict=True):
        np.testing.assert_allclose(one, other)


@JIT
def test_rows_of_a_rule_that_is_not_linear(jit):
    """All rows of a Jacobian at once are those of a linear map; this one is asked for each row."""

    @stgrad.custom_gradient
    def clipped(x):
        return x * x, lambda g: min(max(g, -1.0), 1.0) * 2.0 * x

    @stgrad.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))

    found = stgrad.jacrev(lambda x: np.array([3.0 * clip(x * x), clipped(x) * 5.0, x]), jit=jit)(2.0)
    np.testing.assert_allclose(found, [4.0, 4.0, 1.0])
    np.testing.assert_allclose(stgrad.jacrev(lambda x: 3.0 * clip(x), jit=jit)(X), np.eye(3))


def test_the_mode_that_takes_the_rule():
    @stgrad.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (clip(x), None), lambda _, g: (np.clip(g, -1.0, 1.0),))
    np.testing.assert_allclose(stgrad.jacobian(lambda x: np.array([clip(3.0 * x), x * x]), jit=False)(2.0), [3.0, 4.0])
    np.testing.assert_allclose(stgrad.jacobian(lambda x: clip(x) * 0.5, jit=False)(X), 0.5 * np.eye(3))
    np.testing.assert_allclose(stgrad.hessian(lambda x: np.sum(clip(x) ** 3), jit=False)(X), np.diag([1.0, 0.0, 0.0]))  # 1.8, clipped on its way back, too


def test_no_rule():
    @stgrad.custom_jvp
    def f(x):
        return x

    refused(lambda x: f(x), "has no derivative rule yet", 2.0)
    g = stgrad.custom_vjp(lambda x: x)
    refused(lambda x: g(x), "has no derivative rule yet", 2.0)
    with pytest.raises(TypeError, match="takes a function"):
        stgrad.custom_vjp(3.0)


@pytest.mark.parametrize("make", [stgrad.custom_vjp, stgrad.custom_jvp, stgrad.checkpoint])
def test_a_rule_is_never_left_out(make):
    """A function of the function that is differentiated is not called as if it had no rule."""

    def outer(x):
        def f(y):
            return x * y

        wrapped = make(f)
        return wrapped(x)

    if make is stgrad.checkpoint:
        assert stgrad.grad(outer, jit=False)(2.0) == 4.0
    else:
        with pytest.raises(errors.StgradError):
            stgrad.grad(outer, jit=False)(2.0)
