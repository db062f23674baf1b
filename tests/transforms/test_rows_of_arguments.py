"""Arguments whose order in memory decides whether a reshape is a view: they are tested where one of both is written to, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

MODES = pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])
M = np.arange(1.0, 13.0).reshape(3, 4)


def through_a_view(a, w):
    b = a * w
    flat = b.reshape(-1)
    flat[3] = a[0, 0] * w
    return b


@MODES
def test_other_orders_are_refused_as_the_program_runs(jit):
    gradient = stgrad.grad(lambda a, w: np.sum(through_a_view(a, w) ** 2), jit=jit)
    assert gradient(M, 2.0)[0, 3] == 0.0
    for other in (np.asfortranarray(M), np.repeat(M, 2, axis=1)[:, ::2]):
        with pytest.raises(ValueError, match="`a` is not stored row after row.*line"):
            gradient(other, 2.0)


@MODES
def test_tangents_and_cotangents_have_any_order(jit):
    direction = np.random.default_rng(0).normal(size=(3, 4))
    turned = np.asfortranarray(direction)
    wanted = (through_a_view(M + 1e-6 * direction, 2.0) - through_a_view(M - 1e-6 * direction, 2.0)) / 2e-6
    for d in (direction, turned):
        np.testing.assert_allclose(stgrad.jvp(through_a_view, (M, 2.0), (d, 0.0), jit=jit)[1], wanted, atol=1e-7)
    pullback = stgrad.vjp(through_a_view, M, 2.0, jit=jit)[1]
    np.testing.assert_array_equal(pullback(direction)[0], pullback(turned)[0])


def test_nothing_is_tested_where_it_does_not_matter():
    def read_alone(a, w):
        return np.sum((a * w).reshape(-1)[::2] ** 2)

    def overwritten_later(a, w):
        b = a * w
        flat = b.reshape(-1)
        total = np.sum(flat * flat)
        b[0, 0] = total
        return np.sum(b)

    for function in (read_alone, overwritten_later):
        gradient = stgrad.grad(function, jit=False)
        assert "c_contiguous" not in gradient.source(M, 2.0)
        np.testing.assert_allclose(gradient(np.asfortranarray(M), 2.0), gradient(M, 2.0))
