"""Operators of instances that a program finds outside of it: their code is read, and what it finds there is looked at again."""

from __future__ import annotations

import datetime
import enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


class Linear:
    """A linear map with operators."""

    def __init__(self, a: Any, bias: float = 0.0) -> None:
        self.a, self.bias = a, bias

    def __matmul__(self, x: Any) -> Any:
        return self.a @ x + self.bias

    def __rmul__(self, k: Any) -> Linear:
        return Linear(k * self.a, k * self.bias)

    def __add__(self, other: Any) -> Linear:
        return Linear(self.a + other.a, self.bias + other.bias)

    def __neg__(self) -> Linear:
        return Linear(-self.a, -self.bias)

    def __getitem__(self, i: Any) -> Any:
        return self.a[i]

    def __lt__(self, x: Any) -> Any:
        return self.bias < x


class Counted:
    """An operator that changes its instance."""

    def __init__(self) -> None:
        self.total = 1.0

    def __iadd__(self, x: Any) -> Counted:
        self.total += x
        return self

    def __add__(self, x: Any) -> float:
        return self.total + x


class Noted:
    """An operator that no compiler reads."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def __add__(self, other: Any) -> Noted:
        names = {type(v).__name__: v for v in (self, other)}
        return Noted(eval("s.a + o.a", {"s": self, "o": other}) * len(names))


class Side(enum.Flag):
    LEFT = 1
    RIGHT = 2


FIRST, SECOND = Linear(np.diag([2.0, 1.0, 0.5]), 0.25), Linear(np.eye(3))
NOTED = Noted(np.array([1.0, 2.0, 3.0]))
COUNTED = Counted()
DAY = datetime.date(2020, 3, 1)
X = np.array([0.3, -0.2, 0.5])


def applied(x: Any) -> Any:
    return np.sum((FIRST @ x) ** 2)


def scaled_by_a_constant(x: Any) -> Any:
    return np.sum(((2.0 * FIRST) @ x) ** 2)


def scaled_by_a_variable(x: Any) -> Any:
    return np.sum(((x[0] * FIRST) @ x) ** 2)


def added(x: Any) -> Any:
    return np.sum(((FIRST + SECOND) @ x) ** 3)


def beside_one_of_the_program(x: Any) -> Any:
    return np.sum(((FIRST + Linear(np.outer(x, x))) @ x) ** 2)


def turned(x: Any) -> Any:
    return np.sum(np.exp((-FIRST) @ x))


def indexed(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        s += np.sum(FIRST[i] * x) ** 2
    return s


def compared(x: Any) -> Any:
    return x[0] ** 2 if FIRST < x[0] else x[1] ** 3


READ = [applied, scaled_by_a_constant, scaled_by_a_variable, added, beside_one_of_the_program, turned, indexed, compared]


@pytest.mark.parametrize("function", READ, ids=lambda f: f.__name__)
def test_operators_are_read(function: Any) -> None:
    check_gradient(function, (X,))


def _difference(function: Any) -> Any:
    e = 1e-6
    return [(function(X + e * d) - function(X - e * d)) / (2.0 * e) for d in np.eye(3)]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("bound", [True, False], ids=["bound anew", "changed"])
@pytest.mark.parametrize("function", READ, ids=lambda f: f.__name__)
def test_changes_are_seen(function: Any, bound: bool, jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FIRST, "a", np.diag([2.0, 1.0, 0.5]))
    gradient = stgrad.grad(function, jit=jit)
    gradient(X)
    if bound:
        FIRST.a = FIRST.a * 3.0
    else:
        FIRST.a *= 3.0
    np.testing.assert_allclose(gradient(X), _difference(function), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("jit", [True, False])
def test_what_is_not_read_is_run_again(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sum((NOTED + NOTED).a * x**2)

    monkeypatch.setattr(NOTED, "a", np.array([1.0, 2.0, 3.0]))
    gradient = stgrad.grad(f, jit=jit)
    np.testing.assert_allclose(gradient(X), 4.0 * NOTED.a * X)
    NOTED.a = NOTED.a + 1.0
    np.testing.assert_allclose(gradient(X), 4.0 * NOTED.a * X)


def test_one_that_changes_its_instance_is_refused() -> None:
    def f(x: Any) -> Any:
        kept = COUNTED
        kept += x
        return kept.total * x

    with pytest.raises(stgrad.errors.StgradError, match="total"):
        stgrad.grad(f, jit=True)(0.5)
    assert COUNTED.total == 1.0


def test_operators_of_libraries_are_computed() -> None:
    def f(x: Any) -> Any:
        later = DAY + datetime.timedelta(days=30)
        both = Side.LEFT | Side.RIGHT
        return x**2 * (later - DAY).days * float(Fraction(1, 3) + Fraction(2, 3)) * (2.0 if Side.LEFT in both else 1.0)

    check_gradient(f, (0.5,))
    assert stgrad.grad(f)(0.5) == pytest.approx(60.0)


class Weighted:
    """What a number, or a whole array, is multiplied by."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __rmul__(self, k: Any) -> Any:
        return np.sum(k) ** 2 * self.v


class First(Weighted):
    __array_ufunc__ = None


class Prior(Weighted):
    __array_priority__ = 1.0


WEIGHTED, FIRST_IN_TURN, PRIOR = Weighted(2.0), First(2.0), Prior(2.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x * FIRST_IN_TURN),
        lambda x: np.sum(x * First(x[0])),
        lambda x: np.sum(x * PRIOR),
        lambda x: np.sum(x * Prior(x[0])),
        lambda x: x[0] * WEIGHTED + x[1] * Weighted(x[2]),
    ],
)
def test_a_class_that_goes_first_gets_the_whole_array(function: Any) -> None:
    check_gradient(function, (X,))


@pytest.mark.parametrize("function", [lambda x: np.sum(x * WEIGHTED), lambda x: np.sum(x * Weighted(x[0]))])
def test_another_gets_each_element(function: Any) -> None:
    """NumPy makes an array of objects."""
    for jit in (True, False):
        with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="__array_ufunc__"):
            stgrad.grad(function, jit=jit)(X)


class Places:
    values = (1.0, 2.0)

    def __getitem__(self, k):
        return self.values[k]


PLACES = Places()


def test_an_object_that_has_places_is_iterated_over(monkeypatch) -> None:
    def weighted(x):
        return sum(v * (k + 1) for k, v in enumerate(PLACES)) * x * x

    g = stgrad.grad(weighted, jit=False)
    assert g(1.0) == 10.0
    monkeypatch.setattr(Places, "values", (3.0, 4.0, 5.0))
    assert g(1.0) == 52.0
