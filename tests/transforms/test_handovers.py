"""What a trip hands to the next one is kept once; nested loops, `while`, no trips, branches, values that change places, second order."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def tanh_state(w, xs):
    h, s = w, 0.0
    for x in xs:
        h = np.tanh(w * h + x)
        s += h * h
    return s


def residual(w, xs):
    """The state behind a trip is there for nothing, so that the residual is made again."""
    q, loss = 1.0, 0.0
    for x in xs:
        q = q - 0.1 * w * q**3
        loss += (q - x) ** 2
    return loss


def inner_while(w, xs):
    s = 0.0
    for i in range(len(xs)):
        h = xs[i]
        j = 0
        while j < i:
            h = np.tanh(w * h)
            s += h * h
            j += 1
        s = np.sin(s) * h
    return s


def on_one_path(w, xs):
    v, s = 0.3, 0.0
    for x in xs:
        if v > 0.2:
            v = np.exp(-w * v) * x
            s += v**2
        else:
            v = np.sqrt(abs(w * v)) + 1
        s += np.sin(v)
    return s


def changing_places(w, xs):
    a, b = w, 1.0
    for x in xs:
        c = np.tanh(a * b + x)
        a = b
        b = c
    return b * a


def left_early(w, xs):
    a, s = w, 0.0
    for x in xs:
        a = np.tanh(a * x)
        s += a**3
        if a > 0.9:
            break
        s += a * np.sin(a)
    return s * a


def changed_between(w, xs):
    """Between a loop and its reversal the variable gets another value."""
    a = w
    for x in xs:
        for y in xs[:3]:
            a = np.tanh(a * x + y)
        a = a * np.exp(a) / 3
    s = a
    for x in xs:
        s = np.sin(a * s)
        a = np.tanh(s * x)
    return s + a


PROGRAMS = (tanh_state, residual, inner_while, on_one_path, changing_places, left_early, changed_between)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_of_both_orders(f, jit):
    rng = np.random.default_rng(4)
    gradient, h = stgrad.grad(f, (0, 1), jit=jit), 1e-6
    for n in (7, 1, 0):
        xs, d = rng.normal(size=n), rng.normal(size=n)
        along = lambda g, xs=xs, d=d: (np.asarray(g(0.7 + h, xs + h * d)) - np.asarray(g(0.7 - h, xs - h * d))) / (2 * h)  # noqa: E731
        w_bar, xs_bar = gradient(0.7, xs)
        np.testing.assert_allclose(w_bar + xs_bar @ d, along(f), rtol=1e-7, atol=1e-8)
        second = stgrad.hvp(f, (0.7, xs), (1.0, d), jit=jit)
        flat = along(lambda w, x: np.concatenate(([(found := gradient(w, x))[0]], found[1])))
        np.testing.assert_allclose(np.concatenate(([second[0]], second[1])), flat, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("f", "kept"), [(tanh_state, 1), (residual, 1), (changing_places, 2)])
def test_one_number_for_each_trip_and_variable(f, kept):
    text = stgrad.grad(f).source(0.7, np.ones(3))
    assert text.count(".append(") == text.count(".pop(") == kept


def test_a_branch_gives_its_value_the_users_name():
    """`t = 0.0` / `t = v` and then `floor = t`: of the two names the user's stays, and its adjoint is called by it."""

    def positive(v, k):
        floor = max(v, 0.0)
        return k * floor * floor

    text = stgrad.grad(positive, (0, 1)).source(1.0, 2.0)
    assert "floor = 0.0 if" in text and "floor_bar" in text
    assert stgrad.grad(positive, (0, 1))(1.5, 2.0) == (6.0, 2.25)
    assert stgrad.grad(positive, (0, 1))(-1.5, 2.0) == (0.0, 0.0)


def test_shown_programs_restore_values_under_their_names():
    text = stgrad.grad(tanh_state).source(0.7, np.ones(3))
    assert "        h = h_stack.pop()" in text and "h_2" not in text

    def users_own(w_2, xs):
        h_3 = w_2
        for x in xs:
            h_3 = np.tanh(w_2 * h_3 + x)
        return h_3

    assert "h_3 = h_3_stack.pop()" in stgrad.grad(users_own).source(0.7, np.ones(3))
