"""Arrays of objects and of records in plain runs: they hold numbers that are differentiated."""

from __future__ import annotations

import ast
import decimal
import fractions
import io
import json

import numpy as np
import pytest

import stgrad
from stgrad.errors import StgradError
from stgrad.plain import recorded, run

PAIR = [("a", float), ("b", float)]
MIXED = [("count", int), ("v", np.float32), ("w", complex)]


def of_a_list(x):
    a = np.array([x, 2 * x], dtype=object)
    return a[0] * a[1]


def of_an_array(x):
    a = np.array([x, x * x]).astype(object)
    a[1:] = a[:-1] * np.array([3.0])
    return np.sum(a * a) + (a + x)[0] + np.multiply(a, x)[1]


def of_arrays(x):
    a = np.empty((2, 2), dtype=object)
    a[np.triu_indices(2)] = [np.array([x]), np.array([x, x * x]), np.array([2.0 * x])]
    a[1, 0] = a[0, 1]
    return np.concatenate([np.concatenate(row) for row in a]) @ np.arange(6.0)


def filled(x):
    a, b = np.full(2, x, dtype=object), np.full_like(np.array([1, None]), x * x)
    c = np.vectorize(lambda t: t * t, otypes=[object])(np.array([x, 2.0]))
    return a[0] * a[1] + b[0] + c[0]


def fields(x):
    r = np.zeros(2, dtype=PAIR)
    r["a"] = np.array([x, 2 * x])
    r["b"][1] = x * x
    r["a"][1:] *= r["b"][1:]
    s = r.copy()
    s["a"] = 7.0
    return r["a"].sum() + s["b"].sum() * s["a"][0] + len(r) + r.size


def rows(x):
    r = np.zeros((2, 2), dtype=PAIR)
    r[0, 1] = (x, 2.0 * x)
    row = r[0, 1]
    row["b"] = row["a"] * row["b"]
    row[0] += 1.0
    r[1] = [(x, x * x), (3.0, x)]
    total = 0.0
    for line in r:
        for a, b in line[:]:
            total = total + a * b
    part = r[r["a"] > 2.5]
    part["b"] = 0.0
    return total + r[["b"]]["b"].sum() * part["a"][0]


def made_of_rows(x):
    r = np.array([(1, x, 2j * x), (2, x * x, 1.0 + x)], dtype=MIXED)
    one = np.array((x, 3.0), dtype=PAIR)
    return abs(r["w"]).sum() * r["count"][1] + float(r["v"][1]) * one["a"] + one["b"]


def record_arrays(x):
    r = np.rec.fromarrays([np.array([x, 1.0]), np.array([2.0 * x, x])], names="a,b")
    s = np.array([(x, x)], dtype=PAIR).view(np.recarray)
    s.b = r.a[:1] * 2.0
    return (r.a * r.b).sum() + s.b[0] * s.a[0]


FUNCTIONS = [of_a_list, of_an_array, of_arrays, filled, fields, rows, made_of_rows, record_arrays]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_are_those_of_differences(function):
    tolerance = 1e-6 if function is made_of_rows else 1e-8
    found = recorded(function, (1.3,), {}, ((0, 0),))
    step = 1e-3 if function is made_of_rows else 1e-5  # single precision
    difference = (run(function, (1.3 + step,), {}) - run(function, (1.3 - step,), {})) / (2 * step)
    assert found.value == pytest.approx(run(function, (1.3,), {}), rel=1e-12)
    np.testing.assert_allclose(found.pullback(1.0)[0], difference, rtol=max(tolerance, 5e-4 if step == 1e-3 else 0.0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: float(np.array([x, x]).astype("U30")[0]),
        lambda x: np.array([str(x)]).astype(float)[0],
        lambda x: np.array([x, x]).astype(PAIR[:1])["a"][0],
        lambda x: np.array([x, x]).view(PAIR)["a"][0],
        lambda x: np.sort(np.array([(x, 1.0)], dtype=PAIR), order="a")["a"][0],
        lambda x: np.array([x, x], dtype=object),
        lambda x: (x, np.array([(x, x)], dtype=PAIR)),
        lambda x: np.array([(x, (1.0, 2.0))], dtype=[("a", float), ("b", float, 2)])["a"][0],
    ],
)
def test_what_is_not_followed_is_refused(function):
    run(function, (1.3,), {})
    with pytest.raises(StgradError):
        recorded(function, (1.3,), {}, ((0, 0),))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled_programs_refuse_them(function):
    with pytest.raises(StgradError):
        stgrad.grad(function, jit=True)(1.3)


def parsed(text):
    return json.loads(text)[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: eval(f"{x!r} * 2.0"),  # noqa: S307
        lambda x: parsed(f"[{x}]"),
        lambda x: ast.literal_eval(str(x)),
        lambda x: float(decimal.Decimal(str(x))),
        lambda x: float(fractions.Fraction(str(x))),
        lambda x: np.fromstring(str(x), sep=" ")[0],
        lambda x: np.loadtxt(io.StringIO(str(x))) * 2.0,
        lambda x: complex(str(x)).real,
        lambda x: np.asarray([str(x)], dtype=float)[0],
        lambda x: float(str(x).encode()),
        lambda x: sum(map(float, f"{x} {x}".split())),
        lambda x: np.genfromtxt([str(x)]) * 1.0,
    ],
)
def test_a_text_never_becomes_a_number_again(function):
    run(function, (1.3,), {})
    with pytest.raises(StgradError, match="of a text|has no derivative rule"):
        recorded(function, (1.3,), {}, ((0, 0),))


def test_names_of_types_are_no_such_texts():
    def shown(x):
        text = f"x = {x:.3f}"
        y = np.zeros(2, dtype="float64") + np.einsum("i,i", np.ones(2), np.ones(2)) + np.linspace(0.0, 1.0, 2, dtype="<f8")
        return (y * x).sum() if text.startswith("x =") and len(text) == 9 else 0.0

    assert recorded(shown, (1.3,), {}, ((0, 0),)).pullback(1.0)[0] == 5.0
