"""What is computed of objects from outside while a function is read is on the record: a change of theirs is seen by the next call."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import stgrad
from stgrad.contents import alike

SPARSE = sparse.csr_array(np.diag([1.0, 2.0, 3.0]))
POLY = np.poly1d([1.0, 2.0, 3.0])
SERIES = np.polynomial.Polynomial([1.0, 2.0, 3.0])
HELD: collections.UserList[float] = collections.UserList([1.0, 2.0])
X = np.array([1.0, 2.0, 3.0])


class Own:
    """Python's functions ask it for numbers."""

    def __init__(self) -> None:
        self.w = [1.5, 2.0]

    def __abs__(self) -> float:
        return abs(self.w[0])

    def __float__(self) -> float:
        return self.w[0]

    def __iter__(self) -> Iterator[float]:
        return iter(self.w)

    def __round__(self, n: Any = None) -> int:
        return round(self.w[0])

    def __divmod__(self, k: Any) -> Any:
        return divmod(self.w[0], k)


@dataclasses.dataclass
class Scaled:
    """An instance that has no hash, and is called."""

    v: float

    def __call__(self, x: Any) -> Any:
        return self.v * x


OWN, SCALED = Own(), Scaled(2.0)
DAY = datetime.date(2020, 3, 1)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    SPARSE.data[:] = [1.0, 2.0, 3.0]
    POLY.coeffs[0], SERIES.coef[1], HELD[0], OWN.w[0], SCALED.v = 1.0, 2.0, 1.0, 1.5, 2.0


def change() -> None:
    SPARSE.data *= 3.0
    POLY.coeffs[0], SERIES.coef[1], HELD[0], OWN.w[0], SCALED.v = 9.0, 7.0, 5.0, -3.5, 4.0


FACTORS = {
    "an operator": lambda x: (2.0 * SPARSE).data[0],
    "an attribute of an attribute": lambda x: SPARSE.T.data[2],
    "an operator beside a list": lambda x: (HELD + [3.0])[0],
    "a polynomial's operator": lambda x: (POLY * 2.0).coeffs[0],
    "a method": lambda x: POLY.deriv().coeffs[0],
    "a call": lambda x: POLY(x[1]),
    "a series' operator": lambda x: (SERIES * 2.0).coef[1],
    "a series' method": lambda x: SERIES.deriv().coef[0],
    "abs": lambda x: abs(OWN),
    "round": lambda x: round(OWN),
    "divmod": lambda x: divmod(OWN, 2.0)[1],
    "math": lambda x: math.sqrt(abs(OWN)) + math.pow(OWN, 2),
    "fsum": lambda x: math.fsum(OWN),
    "float": lambda x: float(OWN),
    "called": lambda x: SCALED(x[0]),
}


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("name", FACTORS)
def test_changes_are_seen(name: str, jit: bool) -> None:
    factor = FACTORS[name]

    def f(x: Any) -> Any:
        return np.sum(x**2) * factor(x)

    def difference() -> Any:
        return [(f(X + 1e-6 * d) - f(X - 1e-6 * d)) / 2e-6 for d in np.eye(3)]

    gradient = stgrad.grad(f, jit=jit)
    np.testing.assert_allclose(gradient(X), difference(), rtol=1e-6)
    change()
    np.testing.assert_allclose(gradient(X), difference(), rtol=1e-6)


def test_results_that_are_made_anew_are_no_change() -> None:
    """A program is made once, though each look makes another matrix, date or polynomial."""
    read = []

    def f(x: Any) -> Any:
        days = (DAY - datetime.date(2020, 1, 1)).days
        return np.sum(x * (2.0 * SPARSE).data) * POLY.deriv().coeffs[0] * days

    gradient = stgrad.grad(f, jit=False)
    gradient(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stgrad.assumed.compile_program", lambda *a, **k: read.append(a))
        for _ in range(3):
            gradient(X)
    assert not read


def test_alike() -> None:
    assert alike(SPARSE * 2.0, SPARSE * 2.0)
    assert not alike(SPARSE * 2.0, SPARSE * 3.0)
    assert not alike([1.0], [1.0])  # of a container the record has what was in it
    assert not alike(collections.deque([1]), collections.deque([1]))


def test_arrays_of_others_are_refused_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0, 3.0])

    def beside(x: Any) -> Any:
        return np.sum(series * x)

    def doubled(x: Any) -> Any:
        return np.sum((2.0 * series).to_numpy() * x) + series[0] * x[1]

    with pytest.raises(stgrad.errors.TypeInferenceError, match="Series"):
        stgrad.grad(beside, jit=True)(X)
    np.testing.assert_allclose(stgrad.grad(doubled)(X), [2.0, 5.0, 6.0])
