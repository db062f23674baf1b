"""Jacobians whose directions run side by side: against the same directions one after the other, and the text that they come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import tangent_calls
from stgrad.values import leaves

RNG = np.random.default_rng(0)
X, A, B = RNG.normal(size=4), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))
S = RNG.normal(size=(3, 3)) + 4.0 * np.eye(3)
BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])


def running(x):
    y, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        s = s + x[i] ** 2
        y[i] = s * x[i]
    return y


def steps(x):
    u = x.copy()
    for _ in range(3):
        v = u.copy()
        for i in range(1, len(x) - 1):
            u[i] = v[i] + 0.1 * (v[i - 1] - 2.0 * v[i] + v[i + 1]) * v[i]
    return u


def branches(x):
    y = x * 2.0
    y = np.sin(y) if x[0] > 0.0 else y**2
    for _ in range(2):
        y = y * x
    return y


def halves(x):
    y = x
    while np.sum(y**2) > 0.01:
        y = y * 0.5 * np.cos(x)
    return y


def rebinds(x):
    """The entries of a diagonal get another name and other contents."""
    a = np.cos(x)
    y = a * x
    a = a * 2.0
    z = y * a
    a[0] = 5.0
    return z + a


def overwrites_a_factor(x, a):
    y = a * x
    a[0] = 7.0
    return y * 3.0


def overwrites(x):
    x[1:] *= 2.0
    x[0] = x[1] * x[2]
    return x


CASES = {
    "elementwise": (lambda x: np.sin(x) * x + np.exp(-x), (X,)),
    "product": (lambda a, b: a @ b, (A, B)),
    "products of matrices": (lambda a: np.tanh(a @ np.exp(a)) @ a[:, :1], (S,)),
    "one row": (lambda a, b: (a[:1] * a[:1]) @ b, (A, B)),
    "outer": (lambda x: np.outer(x**2, np.cos(x)), (X,)),
    "items": (lambda x: np.array([x[0] * x[1], x[2] ** 2, x[-1]]), (X,)),
    "slices": (lambda x: x[1:] * x[:-1], (X,)),
    "ellipsis": (lambda a: a[..., 0] * a[..., 1:].sum(), (A,)),
    "where": (lambda x: np.where(x > 0.0, x**2, -x), (X,)),
    "sums": (lambda a: (a.sum(axis=0), a.sum(axis=-1), a.mean(), np.sum(a, axis=1, keepdims=True)), (A,)),
    "shapes": (lambda a: (a.T @ a, np.swapaxes(a, 0, 1), a.reshape(2, 6), a.ravel()), (A,)),
    "solve": (lambda s: np.linalg.solve(s, np.ones(3)), (S,)),
    "joins": (lambda x: (np.stack([x, x**2]), np.concatenate([x, np.ones(2), x**2])), (X,)),
    "broadcast": (lambda x, a: (a + x, a * x[:3, None]), (X, A)),
    "scalars": (lambda x, s: s * x + s**2, (X, 2.0)),
    "single": (lambda x: np.sin(x) * 2.0, (X.astype(np.float32),)),
    "dict": (lambda p: {"a": p["w"] @ p["b"], "b": p["w"].sum()}, ({"w": A, "b": X},)),
    "known": (lambda x: (x * 2.0, 3.0, len(x)), (X,)),
    "empty": (lambda x: x[:0], (X,)),
    "running": (running, (X,)),
    "steps": (steps, (X,)),
    "branches": (branches, (X,)),
    "while": (halves, (X,)),
    "rebinds": (rebinds, (X,)),
    "overwrites": (overwrites, (X,)),
    "overwrites a factor": (overwrites_a_factor, (X, np.ones(4))),
}


@pytest.fixture
def one_after_the_other(monkeypatch):
    def switch() -> None:
        monkeypatch.setattr(tangent_calls.Every, "_stgrad_call_", lambda *_: None)

    return switch


def test_a_product_of_matrices_takes_all_directions_at_once():
    text = stgrad.jacfwd(lambda a, b: np.sin(a) @ b).source(A, B)
    assert "for " not in text, text


@pytest.mark.parametrize("name", CASES)
def test_side_by_side_and_one_after_the_other(name, one_after_the_other):
    f, args = CASES[name]
    argnums = tuple(range(len(args)))

    def found(mode):
        return [np.asarray(leaf) for leaf in leaves(stgrad.jacobian(f, argnums, mode=mode, jit=False)(*args)) if leaf is not None]

    together = {mode: found(mode) for mode in ("forward", "reverse")}
    one_after_the_other()
    for mode, blocks in together.items():
        for a, b in zip(blocks, found(mode), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@BOTH
@pytest.mark.parametrize("f", [running, steps, branches, rebinds], ids=lambda f: f.__name__)
def test_against_differences(f, jit):
    h = 1e-6
    wanted = np.stack([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(4)], axis=-1)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(stgrad.jacobian(f, mode=mode, jit=jit)(X), wanted, rtol=1e-7, atol=1e-7)


@BOTH
def test_of_second_order(jit):
    def f(x):
        return np.sum(np.sin(x) ** 2) * x[0] + running(x)[-1]

    gradient, h = stgrad.grad(f, jit=False), 1e-6
    wanted = np.stack([(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(4)], axis=-1)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(stgrad.hessian(f, mode=mode, jit=jit)(X), wanted, rtol=1e-6, atol=1e-6)


def test_the_jacobian_of_a_layer_is_what_one_writes_by_hand():
    for mode in ("forward", "reverse"):
        text = stgrad.jacobian(lambda x, w, b: np.tanh(w @ x + b), mode=mode).lowered(X, A, np.ones(3))
        assert text.count(" = w @ x\n") == 1  # that of the layer itself
        assert "runtime.matmul" not in text
        assert "eye" not in text


def test_the_function_runs_once():
    for mode in ("forward", "reverse"):
        assert stgrad.jacobian(lambda x: np.exp(x[:3]) * x[3], mode=mode).lowered(X).count("runtime.exp(") == 1


def test_results_share_no_memory_with_arguments():
    found = stgrad.jacobian(lambda x, w: w @ x, jit=False)(X, A)
    np.testing.assert_array_equal(found, A)
    assert not np.shares_memory(found, A)


@dataclass
class Pair:
    a: object
    b: float


def test_objects_in_the_result():
    """Each entry has its derivative; there was the first one alone."""
    found = stgrad.jacobian(lambda x: Pair(x**2, np.sum(x)), jit=False)(X)
    np.testing.assert_allclose(found.a, np.diag(2.0 * X))
    np.testing.assert_allclose(found.b, np.ones(4))
    mixed = stgrad.hessian(lambda p: np.sum(p.a) * p.b**2, jit=False)(Pair(X, 3.0))
    np.testing.assert_allclose(mixed.a.b, 6.0 * np.ones(4))
    np.testing.assert_allclose(mixed.b.b, 2.0 * np.sum(X))


# --------------------------------------------------------------------------- the mode that is chosen


def reshapes_what_it_overwrites(a, w):
    y = np.ravel(a) @ w
    a[0, 0] = y
    return y * a[0, 0] + np.sum(a**2)


@BOTH
def test_where_forward_mode_refuses_reverse_mode_serves(jit):
    point, w, v = RNG.normal(size=(2, 3)), RNG.normal(size=6), RNG.normal(size=(2, 3))
    gradient, h = stgrad.grad(reshapes_what_it_overwrites, jit=False), 1e-6
    wanted = (gradient(point + h * v, w) - gradient(point - h * v, w)) / (2 * h)
    found = stgrad.hvp(reshapes_what_it_overwrites, (point, w), (v, np.zeros(6)), jit=jit)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    hessian = stgrad.hessian(reshapes_what_it_overwrites, jit=jit)(point, w)
    np.testing.assert_allclose(np.tensordot(hessian, v, 2), wanted, rtol=1e-6, atol=1e-6)


def swing(x, damping, n):
    v = 0.0
    for _ in range(n):
        v = v - 0.1 * np.sin(x) - damping * v
        x = x + 0.1 * v
    return x


def test_gradients_of_few_scalars_through_long_loops_go_forward():
    auto, back = stgrad.grad(swing, (0, 1), mode="auto", jit=False), stgrad.grad(swing, (0, 1), jit=False)
    np.testing.assert_allclose(auto(1.0, 0.2, 20), back(1.0, 0.2, 20))
    assert "stack" in back.lowered(1.0, 0.2, 20)
    assert "stack" not in auto.lowered(1.0, 0.2, 20)
    value, found = stgrad.value_and_grad(swing, mode="auto", jit=False)(1.0, 0.2, 20)
    np.testing.assert_allclose([value, found], [swing(1.0, 0.2, 20), back(1.0, 0.2, 20)[0]])
    many = stgrad.grad(lambda x: np.sum(x**3), mode="auto", jit=False)
    np.testing.assert_allclose(many(X), 3.0 * X**2)
    with pytest.raises(ValueError, match="none of auto"):
        stgrad.grad(swing, mode="sideways")


@pytest.mark.parametrize("jit", [False, True])
def test_numbers_that_are_spread_and_then_copied(jit: bool) -> None:
    """The tangent of a spread number has all its places: a copy of it reads them."""

    def spread(x: Any) -> Any:
        wide = np.broadcast_to(x, (3, 2)).copy()
        wide[1, 0] = x[0] * x[1]
        return wide * x + np.full((3, 2), x[1]).copy()

    x = np.array([0.7, -1.3])
    got = stgrad.jacobian(spread, mode="forward", jit=jit)(x)
    step = 1e-6
    want = np.stack([(spread(x + step * e) - spread(x - step * e)) / (2 * step) for e in np.eye(2)], axis=-1)
    np.testing.assert_allclose(got, want, atol=1e-8)


@pytest.mark.parametrize("jit", [False, True])
def test_results_whose_extents_the_running_program_finds(jit: bool) -> None:
    """How many rows a Jacobian has is read off a result, and in a loop before that is there nothing may ask for it."""

    def positive(x: Any) -> Any:
        a = x[x > 0.0]
        b = np.sin(a) * x[0]
        c = np.zeros_like(a)
        for i in range(len(a)):
            c[i] = a[i] * b[i]
        return a * 2.0, b, c

    def product(x: Any) -> Any:
        a = np.ones(1)
        for i in range(len(x)):
            a = np.convolve(a, np.array([1.0, x[i]]))
        return np.sum(a**2 * np.arange(len(a)))

    x = np.array([1.0, -2.0, 0.5, 3.0])
    for back, ahead in zip(stgrad.jacrev(positive, jit=jit)(x), stgrad.jacfwd(positive, jit=jit)(x), strict=True):
        np.testing.assert_allclose(back, ahead, atol=1e-14)
    np.testing.assert_allclose(stgrad.jacrev(stgrad.grad(product), jit=jit)(x), stgrad.jacfwd(stgrad.jacfwd(product), jit=jit)(x), rtol=1e-12)
