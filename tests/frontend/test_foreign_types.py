"""Arrays of dates and texts are refused where they are made, whatever is done with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import stgrad


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_refused(dtype):
    def f(x, when):
        return x * np.array(when, dtype=dtype).astype("int")[0]

    with pytest.raises(stgrad.errors.StgradError, match="not supported|does not take"):
        stgrad.grad(f)(2.0, np.array([3, 4]))


with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.matrix([[1.0, 2.0], [3.0, 4.0]])
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
HELD = {"m": MATRIX, "list": [MASKED]}
OUTSIDE = {
    "a product of matrices": lambda x: (MATRIX * MATRIX)[0, 0] * x,
    "a product with a number": lambda x: (x * MATRIX * MATRIX)[0, 0],
    "in a dict": lambda x: (HELD["m"] * MATRIX)[0, 0] * x,
    "a masked sum": lambda x: MASKED.sum() * x,
    "a masked mean": lambda x: np.mean(HELD["list"][0]) * x,
    "made of constants": lambda x: (np.asmatrix(np.eye(2)) * MATRIX)[0, 0] * x,
    "a masked array that is made": lambda x: np.ma.masked_less(np.array([1.0, 2.0, 0.0]), 1.5).sum() * x,
}


@pytest.mark.filterwarnings("ignore:the matrix subclass", "ignore::stgrad.errors.RunsPlainlyWarning")
@pytest.mark.parametrize("name", OUTSIDE)
def test_arrays_of_own_classes_from_outside(name, monkeypatch):
    """Their `*` and `sum` are their own: compiled code refuses them, what is recorded in plain Python is right or refused."""
    f = OUTSIDE[name]
    with pytest.raises(stgrad.errors.StgradError, match="operations are not those of arrays|is not supported"):
        stgrad.grad(f, jit=True)(2.0)
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    try:
        found = stgrad.grad(f)(2.0)
    except stgrad.errors.StgradError:
        return
    assert found == pytest.approx((f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6)
