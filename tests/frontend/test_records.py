"""Arrays of records from outside are tables: their fields are read, and compiled in."""

import numpy as np
import pytest

import stgrad
from stgrad import errors, testing

TABLE = np.rec.fromarrays([np.array([1.0, 2.0, np.nan]), np.array([3, 4, 5]), np.array(["u", "v", "w"]), np.float32([0.5, 1.5, 2.5])], names="a,n,name,s")
PAIRS = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("a", float), ("b", float)])


def attributes(x):
    return np.sum(TABLE.a[:2] * x) + np.sum(TABLE.n * x**2) + float(TABLE.s[1]) * x + TABLE[1].a * x + TABLE.a[0] * TABLE["n"][2]


def subscripts(x):
    total = 0.0
    for i in range(len(PAIRS["a"])):
        total += PAIRS["a"][i] * x ** PAIRS["b"][i]
    return total + PAIRS[1]["b"] * np.sum(PAIRS["a"] * x)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [attributes, subscripts])
def test_fields_are_read(function, jit):
    testing.check_gradient(function, (1.3,), order=2, jit=jit)


def test_they_are_read_anew_when_they_change():
    table = TABLE.copy()

    def f(x):
        return np.sum(table.n * x) + table.a[0]

    gradient = stgrad.grad(f, jit=False)
    assert gradient(1.0) == 12.0
    table.n[0] = 10
    assert gradient(1.0) == 19.0


@pytest.mark.parametrize(
    "made",
    [
        lambda x: np.array([(x, x)], dtype=PAIRS.dtype)["a"][0],
        lambda x: np.zeros(2, dtype=PAIRS.dtype)["a"][0] * x,
        lambda x: np.array([x, x]).astype(PAIRS.dtype)["a"][0],
        lambda x: np.asarray(np.ones(2) * x, dtype=PAIRS.dtype)["a"][0],
    ],
)
def test_made_ones_are_refused_by_name(made):
    with pytest.raises(errors.UnsupportedSyntaxError, match="arrays of records are not supported"):
        stgrad.grad(made, jit=True)(1.0)
