"""Array programs become loop nests with equal values and dtypes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lowering import Builder, check, to_source
from thorough import check_gradient

import stgrad
from stgrad.ir import Function


def arguments(b: Builder) -> list[object]:
    return [b.env[p.name] for p in b.params]


def loops(fn: Function) -> int:
    return len(re.findall(r"\bfor ", to_source(fn)))


def test_an_elementwise_chain_and_its_adjoint_are_one_loop() -> None:
    b = Builder(x=("n",), a=2.0, c=("n",))
    x, a, c = b.params
    u = b("np.exp", b("np.multiply", a, x))
    v = b("np.multiply", u, c)
    s = b("np.sum", b("np.power", v, 2), to="s")
    v_bar = b("np.multiply", b("np.multiply", b("np.full_like", v, 1.0), v), 2.0, to="v_bar")
    c_bar = b("np.multiply", v_bar, u, to="c_bar")
    u_bar = b("np.multiply", v_bar, c, to="u_bar")
    a_bar = b("unbroadcast", b("np.multiply", b("np.multiply", u_bar, u), x), a, to="a_bar")
    assert loops(check(b.function(s, c_bar, a_bar), *arguments(b))) == 1


def test_softmax_keeps_one_row() -> None:
    b = Builder(x=("n", "m"))
    (x,) = b.params
    e = b("np.exp", b("np.subtract", x, b("np.max", x, axis=1, keepdims=True)))
    p = b("np.divide", e, b("np.sum", e, axis=1, keepdims=True), to="p")
    q = b("np.mean", p, axis=0, to="q")
    text = to_source(check(b.function(p, q), *arguments(b)))
    assert "empty(m)" in text or "empty(n)" in text


@pytest.mark.parametrize("shift", [1, -1])
def test_overlapping_copies_read_before_they_write(shift: int) -> None:
    b = Builder(x=("n",))
    (x,) = b.params
    y = b("np.copy", x, to="y")
    low, high = (slice(None, -1), slice(1, None))[::shift]
    b.store(y, low, b("getitem", y, (high,)), "add")
    b.store(y, low, b("np.multiply", b("getitem", y, (high,)), 3.0))
    check(b.function(y), *arguments(b))


def test_an_array_that_is_read_before_it_is_written_stays_in_memory() -> None:
    def chosen(x):
        y = np.empty(3)
        y = np.where(x > 0.0, x, y)
        y = np.where(x <= 0.0, 2.0 * x, y)
        return np.sum(y * y)

    for jit in (False, True):
        np.testing.assert_allclose(stgrad.grad(chosen, jit=jit)(np.array([3.0, -2.0, 1.0])), [6.0, -16.0, 2.0])


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_an_element_of_a_workspace_is_not_put_away_once_the_memory_is_another_s(jit):
    """Two small adjoints have one memory in turn; the first one's last elements were stored when it was the second's."""

    def likelihood(e, tips):
        total = 0.0
        for s in range(tips.shape[1]):
            part = np.zeros((3, 2))
            for t in range(2):
                part[t, tips[t, s]] = 1.0
            out = np.ones(2)
            for c in (0, 1):
                out *= (e[c] * np.eye(2) + (1 - e[c]) * np.tile(np.array([0.3, 0.7]), (2, 1))) @ part[c]
            part[2] = out
            total += np.log(np.sum(part[2]))
        return total

    check_gradient(likelihood, (np.array([0.8, 0.4]), np.array([[0, 1], [1, 1]])), argnums=0, jit=jit)


@pytest.mark.parametrize("jit", [False, True], ids=["python", "numba"])
def test_a_minimum_around_sums_is_taken_one_by_one(jit):
    """LLVM vectorises its own minimum in an innermost loop; around others the chain of comparisons is shorter."""

    def nearest(points, centres):
        return np.sum(np.min(np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1))

    rng = np.random.default_rng(5)
    points, centres = rng.random((6, 3)), rng.random((4, 3))
    text = stgrad.grad(nearest, argnums=(0, 1)).lowered(points, centres)
    assert "= np.minimum(total, " in text
    assert "runtime.vmin" not in text
    assert "runtime.vmin" in stgrad.grad(lambda x: np.min(x * x)).lowered(rng.random(4))
    check_gradient(nearest, (points, centres), argnums=(0, 1), jit=jit)
    points[2, 1] = np.nan
    assert np.isnan(stgrad.value_and_grad(nearest, jit=jit)(points, centres)[0])
