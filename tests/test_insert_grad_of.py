"""`with insert_grad_of(x) as dx:`: code in the backward pass that reads and replaces adjoints."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors, insert_grad_of

JIT = pytest.mark.parametrize("jit", [False, True])
X = np.array([0.1, 0.5, 2.0])


@JIT
def test_clipping(jit):
    def f(x):
        y = x * x
        with stgrad.insert_grad_of(y) as dy:
            dy = np.clip(dy, -1.0, 1.0)
        return np.sum(y**3)

    assert f(X) == pytest.approx(np.sum(X**6))
    assert stgrad.jit(f)(X) == pytest.approx(np.sum(X**6))
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), np.clip(3 * X**4, -1, 1) * 2 * X)
    want = np.diag(np.where(3 * X**4 < 1.0, 30 * X**4, 2.0))  # of 6 x**5 and of 2 x
    for mode in ("auto", "reverse"):
        np.testing.assert_allclose(stgrad.hessian(f, mode=mode, jit=jit)(X), want)


@JIT
def test_in_loops_and_branches(jit):
    def f(x, n):
        for i in range(n):
            if i % 2 == 0:
                with insert_grad_of(x) as dx:
                    limit = 2.0 + i
                    if dx > limit:
                        dx = limit
            x = x * x
        return x

    def reference(x, n):
        values = [x]
        for _ in range(n):
            values.append(values[-1] ** 2)
        g = 1.0
        for i in reversed(range(n)):
            g *= 2 * values[i]
            if i % 2 == 0:
                g = min(g, 2.0 + i)
        return g

    for x in (0.7, 1.1, 1.5):
        assert f(x, 4) == pytest.approx(x**16)
        assert stgrad.grad(f, jit=jit)(x, 4) == pytest.approx(reference(x, 4))
    step = 1e-6
    second = (reference(0.7 + step, 4) - reference(0.7 - step, 4)) / (2 * step)
    assert stgrad.grad(stgrad.grad(f, jit=jit), jit=jit)(0.7, 4) == pytest.approx(second, rel=1e-6)


def test_printing(capsys):
    def f(x):
        with insert_grad_of(x) as dx:
            print("adjoint", dx)
        return x * x

    for jit in (False, True):
        assert stgrad.grad(f, jit=jit)(3.0) == 6.0
        assert capsys.readouterr().out == "adjoint 6.0\n"
    assert stgrad.jit(f)(3.0) == 9.0
    assert capsys.readouterr().out == ""
    assert stgrad.hessian(f, jit=False)(3.0) == 2.0


@JIT
def test_raising(jit):
    def f(x):
        with insert_grad_of(x) as dx:
            if dx > 5.0:
                raise ValueError("the adjoint is large")
        return x * x

    assert stgrad.grad(f, jit=jit)(2.0) == 4.0
    with pytest.raises(ValueError, match="the adjoint is large"):
        stgrad.grad(f, jit=jit)(3.0)


@JIT
def test_several_variables_and_structures(jit):
    def f(x, p):
        y = x * 2.0
        with insert_grad_of(x) as dx, insert_grad_of(y) as dy:
            dx, dy = dx + np.sum(dy), dy * 10.0
        with insert_grad_of(p) as dp:
            dp["b"] = (dp["b"][0] * 3.0, None)
        return np.sum(x) + np.sum(y) + np.sum(p["a"]) * p["b"][0] + p["b"][1]

    gradient = stgrad.grad(f, (0, 1), jit=jit)(X, {"a": X, "b": (2.0, 1.0)})
    np.testing.assert_allclose(gradient[0], 1.0 + 3.0 + 20.0)
    np.testing.assert_allclose(gradient[1]["a"], 2.0)
    assert gradient[1]["b"] == pytest.approx((3.0 * np.sum(X), 0.0))


@JIT
def test_writes_to_the_adjoint(jit):
    def f(x):
        z = x * 1.0
        with insert_grad_of(z) as dz:
            dz[0] = 100.0
            dz[1:] *= 2.0
        return np.sum(z * z) + np.sum(x)

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), np.array([100.0, 4 * X[1], 4 * X[2]]) + 1.0)
    assert f(X) == pytest.approx(np.sum(X * X + X))


@JIT
def test_without_a_name(jit):
    def f(x):
        with insert_grad_of(x):
            pass
        with insert_grad_of(x):
            scale = 3.0
            assert scale > 2.0
        return x**2

    assert stgrad.grad(f, jit=jit)(3.0) == 6.0


@JIT
def test_in_helpers_and_methods(jit):
    class Layer:
        def __init__(self, limit):
            self.limit = limit

        def __call__(self, x):
            with insert_grad_of(x) as dx:
                dx = np.minimum(dx, self.limit)
            return x * x

    def helper(x):
        with insert_grad_of(x) as g:
            g = -g
        return x

    layer = Layer(3.0)
    assert stgrad.grad(lambda x: helper(layer(x)), jit=jit)(2.0) == -4.0
    assert stgrad.grad(lambda x: layer(helper(x)), jit=jit)(2.0) == -3.0
    assert stgrad.vjp(layer, 2.0, jit=jit)[1](1.0) == (3.0,)
    assert stgrad.jacrev(lambda x: np.array([layer(x), x]), jit=jit)(2.0).tolist() == [3.0, 1.0]


# --------------------------------------------------------------------------- what is refused


def refused(f, message, error=errors.UnsupportedSyntaxError, of=stgrad.grad):
    with pytest.raises(error, match=message) as caught:
        of(f, jit=False)(X)
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__


def test_jumps():
    def f(x):
        for _ in range(3):
            with insert_grad_of(x) as dx:
                if dx[0] > 0:
                    break
        return np.sum(x)

    def g(x):
        with insert_grad_of(x) as dx:
            return np.sum(dx)

    refused(f, "a jump out of a block")
    refused(g, "a jump out of a block")


def test_names_from_around():
    def f(x):
        n = 0.0
        with insert_grad_of(x) as dx:
            n = 2.0
            dx = dx * n
        return np.sum(x) * n

    def g(x):
        with insert_grad_of(x) as dx:
            dx = dx * 2.0
        return np.sum(x) + dx

    def h(x):
        with insert_grad_of(x[0]) as dx:
            dx = dx * 2.0
        return np.sum(x)

    def k(x):
        seen = []
        with insert_grad_of(x) as dx:
            seen.append(dx)
        return np.sum(x)

    def w(x):
        log = np.zeros(3)
        with insert_grad_of(x) as dx:
            log[:] = dx
        return np.sum(x) + np.sum(log)

    refused(f, "`n`, which a block of `insert_grad_of` binds")
    refused(g, "`dx`, which a block of `insert_grad_of` binds")
    refused(h, "something else than a variable")
    refused(k, "changes a list")
    refused(w, "not its own", error=errors.AliasingError)


def test_shapes():
    def f(x):
        with insert_grad_of(x) as dx:
            dx = np.sum(dx)
        return np.sum(x)

    def g(x):
        with insert_grad_of(x) as dx:
            dx = dx.astype(np.float32)
        return np.sum(x)

    refused(f, "the block of `insert_grad_of` returns a float64 as cotangent", error=errors.ShapeError)
    refused(g, "returns a float32", error=errors.ShapeError)


def test_forward_mode():
    def f(x):
        with insert_grad_of(x) as dx:
            dx = dx * 2.0
        return np.sum(x)

    refused(f, "forward mode of a block of `insert_grad_of`", error=errors.NotDifferentiableError, of=lambda f, jit: stgrad.grad(f, mode="forward", jit=jit))
