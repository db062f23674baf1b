"""Tuples with fields that want more than their items, as packages make them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import stgrad
import stgrad.plain


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
    with pytest.warns(stgrad.plain.RunsPlainlyWarning):
        value, pullback = stgrad.vjp(f, x, counts, jit=False)
        (gradient, _) = pullback([np.ones(len(v)) for v in value])
    np.testing.assert_allclose(gradient, [1.0, 2.5, 1.5])
