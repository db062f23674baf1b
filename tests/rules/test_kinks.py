"""Where a derivative is a convention: ties, borders, zeros and branches that are not taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stgrad
import stgrad.rules as rules
from stgrad.testing.rules import pull


def cotangents(op: Callable[..., Any], *args: Any, y_bar: Any = 1.0, **kwargs: Any) -> Any:
    rule = rules.lookup(op)
    assert rule is not None
    y = op(*args, **kwargs)
    bars = pull(rule, y, np.broadcast_to(y_bar, np.shape(y)), args, kwargs)
    return bars[0] if len(bars) == 1 else bars


@pytest.mark.parametrize("op", [np.absolute, np.fabs, math.fabs, np.sqrt, math.sqrt])
def test_zero_at_zero(op: Callable[..., Any]) -> None:
    assert cotangents(op, 0.0) == 0.0


@pytest.mark.parametrize("op", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_elementwise_ties_are_shared(op: Callable[..., Any]) -> None:
    a_bar, b_bar = cotangents(op, 2.0, 2.0)
    assert a_bar == b_bar == 0.5
    a_bar, b_bar = cotangents(op, np.inf, np.inf)
    assert a_bar == b_bar == 0.5


@pytest.mark.parametrize("op", [np.max, np.min, np.nanmax, np.nanmin])
def test_ties_of_a_reduction_are_shared(op: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(cotangents(op, np.full(4, 3.0)), np.full(4, 0.25))
    np.testing.assert_array_equal(cotangents(op, np.ones((2, 2)), axis=0), np.full((2, 2), 0.5))


def test_clip_passes_on_its_borders() -> None:
    x_bar = cotangents(np.clip, np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), -1.0, 1.0)[0]
    np.testing.assert_array_equal(x_bar, [0.0, 1.0, 1.0, 1.0, 0.0])


def test_clip_with_crossed_borders_is_its_maximum() -> None:
    x_bar, low_bar, high_bar = cotangents(np.clip, np.array([0.0, 5.0]), 2.0, 1.0)
    assert x_bar.tolist() == [0.0, 0.0] and low_bar == 0.0 and high_bar == 2.0


@pytest.mark.parametrize("op", [np.hypot, np.arctan2, math.hypot, math.atan2])
def test_zero_at_the_origin(op: Callable[..., Any]) -> None:
    assert cotangents(op, 0.0, 0.0) == (0.0, 0.0)


def test_distance_of_a_point_to_itself() -> None:
    rule = rules.lookup(math.dist)
    assert rule is not None and rule.adjoint is not None
    assert rule.adjoint(0.0, 1.0, (1.0, 2.0), (1.0, 2.0)) == ((0.0, 0.0), (0.0, 0.0))


def test_where_gives_exact_zeros_to_the_branch_not_taken() -> None:
    bars = cotangents(np.where, np.array([True, False]), np.array([1.0, np.inf]), np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(bars[1], [1.0, 0.0])
    np.testing.assert_array_equal(bars[2], [0.0, 1.0])


def test_guarded_square_root() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    with np.errstate(invalid="ignore"):
        branch_bar = cotangents(np.where, x > 0, np.sqrt(x), 0.0)[1]
        np.testing.assert_array_equal(cotangents(np.sqrt, x, y_bar=branch_bar), [0.0, 0.0, 0.25])


def test_products_with_zeros_are_exact() -> None:
    np.testing.assert_array_equal(cotangents(np.prod, np.array([2.0, 0.0, 3.0])), [0.0, 6.0, 0.0])
    np.testing.assert_array_equal(cotangents(np.prod, np.array([0.0, 0.0, 3.0])), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(cotangents(np.cumprod, np.array([2.0, 0.0, 3.0])), [1.0, 8.0, 0.0])


def test_powers_of_zero() -> None:
    assert cotangents(np.power, 0.0, 2.0)[0] == 0.0
    assert cotangents(np.power, 0.0, 1.0)[0] == 1.0
    assert cotangents(np.power, 0.0, 0.0)[0] == 0.0
    assert cotangents(np.power, 0.0, 2.0)[1] == 0.0


def test_logaddexp_of_minus_infinities() -> None:
    assert cotangents(np.logaddexp, -np.inf, -np.inf) == (0.0, 0.0)
    assert cotangents(np.logaddexp, -np.inf, 1.0) == (0.0, 1.0)


def test_squared_modulus_is_steepest_ascent() -> None:
    z = 1.0 + 2.0j
    size_bar = cotangents(np.square, np.abs(z))
    assert cotangents(np.absolute, z, y_bar=size_bar) == pytest.approx(2.0 + 4.0j)


def test_vectors_of_repeated_eigenvalues_give_nan() -> None:
    rule = rules.lookup(np.linalg.eigh)
    assert rule is not None and rule.adjoint is not None
    a = np.diag([1.0, 1.0, 2.0])
    y = np.linalg.eigh(a)
    quiet = rule.adjoint(y, (np.ones(3), np.array([[0.0, 0.0, 1.0]] * 3)), a)
    np.testing.assert_allclose(quiet, np.eye(3) + 0.5 * np.array([[0, 0, 1.0], [0, 0, 1.0], [1.0, 1.0, 0]]))
    assert np.all(np.isnan(rule.adjoint(y, (np.ones(3), np.ones((3, 3))), a)))


SPECTRAL = {
    "eigh": lambda a, c: np.sum(c * ((lambda w, v: (v * np.sqrt(w)) @ v.T)(*np.linalg.eigh((a + a.T) / 2)))),
    "eig": lambda a, c: np.sum(c * ((lambda w, v: (v * np.sqrt(w)) @ np.linalg.inv(v))(*np.linalg.eig(a)))),
    "svd": lambda a, c: np.sum(c * ((lambda u, s, vh: (u * s) @ vh)(*np.linalg.svd(a)))),
}


@pytest.mark.parametrize("name", SPECTRAL)
def test_functions_of_repeated_values_are_not_taken_for_others(name: str) -> None:
    """The derivatives are c / 2, symmetrised, and c; at one basis nothing tells so."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    c = rng.normal(size=(3, 3))
    for a in (np.eye(3), basis @ np.diag([1.0, 1.0, 2.0]) @ basis.T):
        assert np.isnan(stgrad.grad(SPECTRAL[name], jit=False)(a, c)).any()
        assert np.isnan(stgrad.jvp(SPECTRAL[name], (a, c), (c, c), jit=False)[1])


@pytest.mark.parametrize("jit", [False, True])
def test_values_alone_are_right_where_they_repeat(jit: bool) -> None:
    """Beside vectors that nothing reads, and beside one of another value."""
    c = np.arange(1.0, 10.0).reshape(3, 3)

    def traces(a: Any) -> Any:
        w, v = np.linalg.eig(a)
        return np.sum(w**2) + np.sum(np.linalg.eigvals(a) ** 3)

    def stationary(a: Any) -> Any:
        w, v = np.linalg.eig(a.T)
        p = v[:, np.argmax(w)]
        return np.sum((p / np.sum(p)) ** 2 * c[0])

    a = np.diag([2.0, 2.0, 3.0])
    np.testing.assert_allclose(stgrad.grad(traces, jit=jit)(a), 2.0 * a + 3.0 * a @ a)
    ranks_one = np.outer(np.ones(3), [0.2, 0.3, 0.5])
    found, step = stgrad.grad(stationary, jit=jit)(ranks_one), 1e-6 * np.sin(c)
    assert np.sum(found * step) == pytest.approx((stationary(ranks_one + step) - stationary(ranks_one - step)) / 2.0, rel=1e-5)


def test_defective_eigenvalues_give_nan() -> None:
    """tr(a^2) has the derivative 2 a^T, but one vector is missing to tell it: rounding alone makes two of it."""
    a = np.array([[2.0, 1.0], [0.0, 2.0]])
    for f in (lambda a: np.sum(np.linalg.eigvals(a) ** 2), lambda a: np.sum(np.linalg.eig(a)[0] ** 2)):
        assert np.isnan(stgrad.grad(f, jit=False)(a)).all()
        assert np.isnan(stgrad.jvp(f, (a,), (np.ones((2, 2)),), jit=False)[1])


def test_vectors_of_other_values_are_right_beside_repeated_ones() -> None:
    def f(a, c):
        w, v = np.linalg.eigh((a + a.T) / 2)
        u, s, vh = np.linalg.svd(a)
        inverse = np.where(w > 1.5, 1.0 / w, 0.0)
        return v[:, 2] @ c @ v[:, 2] + np.sum(c * (v * inverse) @ v.T) + np.sum(s) + np.sum(c * np.outer(u[:, 0] * s[0], vh[0]))

    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a, c = basis @ np.diag([1.0, 1.0, 2.0]) @ basis.T, rng.normal(size=(3, 3))
    found = stgrad.grad(f, jit=False)(a, c)
    for at in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[at] = 1e-5
        assert found[at] == pytest.approx((f(a + step, c) - f(a - step, c)) / 2e-5, rel=1e-5, abs=1e-6)


def test_svd_columns_that_are_a_free_choice_give_nan() -> None:
    rule = rules.lookup(np.linalg.svd)
    assert rule is not None and rule.adjoint is not None
    a = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
    u, s, vh = np.linalg.svd(a)
    quiet = rule.adjoint((u, s, vh), (np.zeros((3, 3)), np.ones(2), np.zeros((2, 2))), a)
    assert np.all(np.isfinite(quiet))
    loud = rule.adjoint((u, s, vh), (np.ones((3, 3)), np.ones(2), np.zeros((2, 2))), a)
    assert np.all(np.isnan(loud))


def test_what_has_no_rule_is_none() -> None:
    rules.load_scipy()
    assert rules.lookup("scipy.special.jv").partials(0.0, 1.5, 0.3)[0] is None  # type: ignore[union-attr, misc]
    assert rules.lookup(lambda x: x) is None
    assert rules.lookup([]) is None
