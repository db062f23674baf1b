"""Loops that are left out where a cotangent is zero, and arrays that only they read."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def nearest(x, y):
    return np.sum(np.min(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2), axis=1))


def largest(x, w):
    return np.sum(np.max(np.sum(x[:, None, :] * w[None, :, :], axis=2), axis=1) ** 2)


def chosen(x, y):
    d = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    near = np.where(d < 1.5, np.sqrt(d), 1.0)
    return np.sum(near)


def kept_for_later(x, y):
    """The differences are read without a test, too."""
    z = x[:, None, :] - y[None, :, :]
    return np.sum(np.min(np.sum(z**2, axis=2), axis=1)) + np.sum(np.sin(z) * np.cos(z))


PROGRAMS = [nearest, largest, chosen, kept_for_later]
RANDOM = np.random.default_rng(0)
POINTS = RANDOM.standard_normal((6, 3)), RANDOM.standard_normal((4, 3))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_gradients_are_those_of_differences(program, jit):
    x, y = POINTS
    value, bars = stgrad.value_and_grad(program, (0, 1), jit=jit)(x, y)
    assert np.isclose(value, program(x, y))
    dx, dy = (1e-6 * RANDOM.standard_normal(a.shape) for a in (x, y))
    slope = (program(x + dx, y + dy) - program(x - dx, y - dy)) / 2.0
    np.testing.assert_allclose(np.sum(bars[0] * dx) + np.sum(bars[1] * dy), slope, rtol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_those_without_the_pass(program):
    with_, without = (stgrad.value_and_grad(program, (0, 1), jit=False, **options) for options in ({}, {"without": "hits"}))
    for a, b in zip(with_(*POINTS)[1], without(*POINTS)[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_nothing_is_tested_or_kept_in_the_loop():
    text = stgrad.grad(nearest, (0, 1)).lowered(*POINTS)
    assert "isfinite" not in text and "!= 0.0:" in text
    assert "np.isfinite" in stgrad.grad(nearest, (0, 1), without="hits").lowered(*POINTS)
    rows = [line for line in text.splitlines() if "_row = " in line and "(n" in line]
    assert len(rows) <= len([line for line in stgrad.grad(nearest, (0, 1), without="hits").lowered(*POINTS).splitlines() if "_row = " in line]) - 2


def test_what_is_infinite_and_not_chosen_adds_nothing():
    x, y = POINTS
    far = np.vstack([y, np.full((1, 3), np.inf)])
    for a, b in zip(stgrad.grad(nearest, (0, 1))(x, far), stgrad.grad(nearest, (0, 1))(x, y), strict=True):
        np.testing.assert_array_equal(a[: len(b)], b)
    assert not stgrad.grad(nearest, 1)(x, far)[-1].any()


def test_nan_is_not_taken_for_zero():
    x, y = POINTS
    x = x.copy()
    x[2, 1] = np.nan
    bars = stgrad.grad(nearest, (0, 1))(x, y)
    plain = stgrad.grad(nearest, (0, 1), without="hits")(x, y)
    for a, b in zip(bars, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_ties_are_shared():
    x = np.zeros((1, 2))
    y = np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, 3.0]])
    np.testing.assert_allclose(stgrad.grad(nearest, 1)(x, y), [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
