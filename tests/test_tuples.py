"""Tuples with fields that want more than their items, as packages make them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import stgrad
import stgrad.plain
from stgrad import errors


class _Pair(NamedTuple):
    a: float
    b: float


class Bunch(_Pair):
    def __new__(cls, a, b, **extra):
        if "unit" not in extra:
            raise TypeError("missing keyword argument 'unit'")
        made = super().__new__(cls, a, b)
        made.__dict__.update(extra)
        return made


@pytest.mark.parametrize("jit", [False, True])
def test_results_keep_what_they_hold_besides(jit):
    def f(x):
        return Bunch(x * x, 3.0 * x, unit="m")

    value, pullback = stgrad.vjp(f, 2.0, jit=jit)
    assert (type(value), tuple(value), value.unit) == (Bunch, (4.0, 6.0), "m")
    assert pullback((1.0, 2.0)) == (10.0,)


def test_numbers_outside_of_the_items_are_refused():
    def f(x):
        return Bunch(x * x, 3.0 * x, unit=x)

    with pytest.raises(stgrad.errors.TypeInferenceError, match="keeps more than its items"):
        stgrad.vjp(f, 2.0)


def test_extents_that_differ_run_plainly(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def f(x, counts):
        return [np.linspace(x[i], x[i + 1], counts[i]) for i in range(len(counts))]

    x, counts = np.array([1.0, 2.0, 4.0]), np.array([2, 3])
    with pytest.warns(stgrad.errors.RunsPlainlyWarning):
        value, pullback = stgrad.vjp(f, x, counts, jit=False)
        (gradient, _) = pullback([np.ones(len(v)) for v in value])
    np.testing.assert_allclose(gradient, [1.0, 2.5, 1.5])


def product(x, y, z):
    return x * y + z * z


def from_an_array(p):
    """Tuples of an array's numbers: as many as the function takes, tested as the program runs."""
    t = tuple(p)
    a, b, c = t
    more = t + (2.0,)  # noqa: RUF005
    return product(*t) + product(*list(p)) * product(*(2.0 * v for v in p)) + a * more[3] + sum(more) + c * len((*p,))


@pytest.mark.parametrize("jit", [False, True])
def test_tuples_of_an_array(jit):
    p = np.array([0.5, -1.2, 0.7])
    step = 1e-6 * np.eye(3)
    gradient = stgrad.grad(from_an_array, jit=jit)
    np.testing.assert_allclose(gradient(p), [(from_an_array(p + e) - from_an_array(p - e)) / 2e-6 for e in step], rtol=1e-7)
    with pytest.raises(ValueError, match="cannot unpack an array into 3 names"):
        gradient(np.ones(4))
    assert stgrad.jit(lambda p: isinstance(tuple(p), tuple) and not isinstance(list(tuple(p)), tuple))(p)


def test_twice_through_a_tuple():
    p = np.array([0.5, -1.2, 0.7])
    hessian = stgrad.hessian(lambda p: product(*tuple(p)) ** 2, jit=False)(p)
    x, y, z = p
    v, g = product(*p), np.array([y, x, 2.0 * z])
    np.testing.assert_allclose(hessian, 2.0 * np.outer(g, g) + 2.0 * v * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]))


def test_tuples_of_unknown_length_are_no_results():
    with pytest.raises(stgrad.errors.TypeInferenceError, match="a tuple whose length the program decides"):
        stgrad.jit(lambda p: tuple(2.0 * p))(np.ones(70))
    assert stgrad.jit(lambda p: tuple(2.0 * p))(np.ones(3)) == (2.0, 2.0, 2.0)  # whose length is compiled in


def appended(x, w):
    t = tuple(x)
    t.append(w)
    return t[0]


def stored(x, w):
    t = (w,) * len(x)
    t[0] = w
    return t[0]


def joined(x, w):
    return (list(x) + (w,))[0]


def enlarged(x, w):
    t = tuple(x)
    before = t
    t += (w * w,)
    s = list(x)
    held = s
    s += (w,)
    return t[-1] * len(before) + len(held) * w + sum(t[1:]) * before[0]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [appended, stored, joined])
def test_tuples_of_unknown_length_do_not_change(f, jit):
    with pytest.raises((AttributeError, TypeError)):
        f(np.ones(3), 0.5)
    with pytest.raises((errors.StgradError, TypeError), match="tuple"):
        stgrad.grad(f, jit=jit)(np.ones(3), 0.5)


@pytest.mark.parametrize("jit", [False, True])
def test_tuples_are_enlarged_as_new_ones(jit):
    """`t += (w,)` of a tuple leaves what shares it; of a list it does not."""
    x, w = np.array([1.0, 2.0, 3.0]), 0.5
    value, (x_bar, w_bar) = stgrad.value_and_grad(enlarged, (0, 1), jit=jit)(x, w)
    assert value == enlarged(x, w)
    assert w_bar == pytest.approx((enlarged(x, w + 1e-6) - enlarged(x, w - 1e-6)) / 2e-6)
    assert x_bar == pytest.approx([sum(x[1:]) + w * w, x[0], x[0]])
