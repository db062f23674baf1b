"""`stgrad.flatten`, and SciPy's optimisers on structured parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.interop.scipy import least_squares, minimize, root


@dataclass
class Model:
    rate: float
    weights: np.ndarray
    steps: int = 3


class Pair(NamedTuple):
    a: float
    b: np.ndarray


def test_there_and_back() -> None:
    tree = {"m": Model(0.5, np.arange(6.0).reshape(2, 3)), "p": Pair(1.5, np.float32([7.0])), "l": [np.float64(2.0), None, "text", 4, True]}
    vector, unflatten = stgrad.flatten(tree)
    assert vector.tolist() == [0.5, *range(6), 1.5, 7.0, 2.0]
    back = unflatten(vector * 2.0)
    assert isinstance(back["m"], Model)
    assert back["m"].rate == 1.0
    assert type(back["m"].rate) is float
    assert back["m"].weights.tolist() == (2.0 * tree["m"].weights).tolist()
    assert isinstance(back["p"], Pair)
    assert back["p"].b.dtype == np.float32
    assert back["l"] == [4.0, None, "text", 4, True]
    assert type(back["l"][0]) is np.float64


def test_memory_is_not_shared() -> None:
    array = np.ones(3)
    vector, unflatten = stgrad.flatten([array])
    vector[0] = 5.0
    back = unflatten(vector)[0]
    back[1] = 7.0
    assert array.tolist() == [1.0, 1.0, 1.0]
    assert vector.tolist() == [5.0, 1.0, 1.0]


def test_complex_numbers_take_two_places() -> None:
    vector, unflatten = stgrad.flatten((1.0 + 2.0j, np.array([3.0j, 4.0])))
    assert vector.tolist() == [1.0, 2.0, 0.0, 3.0, 4.0, 0.0]
    z, array = unflatten(vector)
    assert z == 1.0 + 2.0j
    assert array.tolist() == [3.0j, 4.0]


def test_a_gradient_has_the_places_of_its_parameters() -> None:
    def f(m):
        y = 0.0
        for _ in range(m.steps):
            y += m.rate * np.sum(m.weights**2)
        return y

    m = Model(0.5, np.array([1.0, 2.0]))
    vector, unflatten = stgrad.flatten(m)
    gradient = stgrad.flatten(stgrad.grad(f, jit=False)(m))[0]
    for i, unit in enumerate(np.eye(len(vector))):
        difference = (f(unflatten(vector + 1e-6 * unit)) - f(unflatten(vector - 1e-6 * unit))) / 2e-6
        assert gradient[i] == pytest.approx(difference, rel=1e-6)


def test_nothing_and_a_wrong_length() -> None:
    vector, unflatten = stgrad.flatten({"n": 3})
    assert vector.shape == (0,)
    assert unflatten(vector) == {"n": 3}
    with pytest.raises(errors.ShapeError, match="has shape \\(2,\\), the structure 0 numbers"):
        unflatten(np.ones(2))


def bowl(p, centre):
    return np.sum((p["x"] - centre) ** 4) + (p["s"] - 1.0) ** 2


START = {"x": np.zeros(3), "s": 0.0}
CENTRE = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("method", [None, "L-BFGS-B", "trust-ncg", "Newton-CG"])
def test_minimize(method: str | None) -> None:
    found = minimize(bowl, START, (CENTRE,), method=method)
    assert found.x["x"] == pytest.approx(CENTRE, abs=0.05)
    assert found.x["s"] == pytest.approx(1.0, abs=1e-3)
    assert found.jac["x"].shape == (3,)
    assert found.x_vector.shape == (4,)


def test_products_with_the_hessian_are_exact() -> None:
    found = minimize(lambda p: (p["a"] - 2.0) ** 2 + 3.0 * (p["b"] - p["a"]) ** 2, {"a": 0.0, "b": 5.0}, method="trust-ncg", options={"gtol": 1e-12})
    assert found.x["a"] == pytest.approx(2.0, abs=1e-9)
    assert found.nit <= 6  # a quadratic form


def test_bounds_in_the_structure_of_the_parameters() -> None:
    found = minimize(bowl, START, (CENTRE,), bounds=(None, {"x": np.array([0.5, 0.5, 0.5]), "s": None}))
    assert found.x["x"][0] == 0.5
    assert found.x["s"] == pytest.approx(1.0, abs=1e-3)
    found = minimize(bowl, START, (CENTRE,), bounds=({"x": -1.0, "s": None}, {"x": None, "s": 0.25}))
    assert found.x["x"][1] == -1.0
    assert found.x["s"] == 0.25
    with pytest.raises(errors.ShapeError, match="1 entries, the parameters 2"):
        minimize(bowl, START, (CENTRE,), bounds=({"x": 0.0}, None))


def test_least_squares_of_a_structure() -> None:
    t = np.linspace(0.0, 4.0, 30)

    def residuals(m, t, y):
        return {"fit": m.rate * np.exp(-m.weights[0] * t) + m.weights[1] - y, "prior": 1e-9 * m.weights}

    truth = Model(2.0, np.array([0.7, 0.3]))
    data = truth.rate * np.exp(-truth.weights[0] * t) + truth.weights[1]
    found = least_squares(residuals, Model(1.0, np.array([0.2, 0.0])), (t, data), bounds=(0.0, None))
    assert isinstance(found.x, Model)
    assert found.x.rate == pytest.approx(2.0)
    assert found.x.weights == pytest.approx([0.7, 0.3])


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root(method: str) -> None:
    def circle(p, r):
        x, y = p
        return x**2 + y**2 - r**2, y - 2.0 * x

    x, y = root(circle, (1.0, 1.0), (np.sqrt(5.0),), method=method).x
    assert (x, y) == pytest.approx((1.0, 2.0), abs=1e-4)
