"""Expressions that stand in a text for numexpr: read where the call stands."""

import sys
import types

import numpy as np
import pytest

import stgrad
from stgrad import errors

EVALUATE = """
def evaluate(ex, local_dict=None, out=None, **options):
    frame = sys._getframe(1)
    values = {**frame.f_globals, **(local_dict if local_dict is not None else frame.f_locals)}
    names = {name: getattr(np, name) for name in ("sqrt", "sin", "where", "sum")}
    return np.asarray(eval(ex, {**names, **{k: v for k, v in values.items() if k not in names}}))
"""


@pytest.fixture(autouse=True)
def ne(monkeypatch):
    """A module that evaluates texts as numexpr does, with the names of the function that calls."""
    space = {"__name__": "numexpr.necompiler", "np": np, "sys": sys}
    exec(EVALUATE, space)
    module = types.ModuleType("numexpr")
    module.evaluate = space["evaluate"]
    monkeypatch.setitem(sys.modules, "numexpr", module)
    monkeypatch.setitem(globals(), "numexpr", module)


def radius(x, y):
    return numexpr.evaluate("sqrt(x**2 + y**2)")  # noqa: F821


def in_a_loop(x):
    s = x
    for _ in range(3):
        a = s * 0.5  # noqa: F841
        s = numexpr.evaluate("a*x + sin(s)/2")  # noqa: F821
    return numexpr.evaluate("sum(where(s > 0, s, 0))")  # noqa: F821


def other_names(x):
    return np.sum(numexpr.evaluate("a * a % 0.3", local_dict={"a": x}))  # noqa: F821


def integers(x, n):
    return np.sum(numexpr.evaluate("x * (n / 2)"))  # noqa: F821


def singles(x):
    return np.sum(numexpr.evaluate("x * 2.5"))  # noqa: F821


def text_of_the_program(x, text):
    return np.sum(numexpr.evaluate(text))  # noqa: F821


def with_memory(x):
    return np.sum(numexpr.evaluate("x", out=np.empty(3)))  # noqa: F821


X = np.array([0.3, 0.7, 1.1])


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [in_a_loop, other_names])
def test_first_and_second_derivatives(f, jit):
    gradient = stgrad.grad(f, jit=jit)
    assert np.allclose(gradient(X), differences(f, X), rtol=1e-6)
    squared = stgrad.grad(lambda x: np.sum(gradient(x) ** 2), jit=jit)
    assert np.allclose(squared(X), differences(lambda x: np.sum(gradient(x) ** 2), X), rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
def test_of_numbers(jit):
    assert np.allclose(stgrad.grad(radius, (0, 1), jit=jit)(0.3, 0.4), (0.6, 0.8))


@pytest.mark.parametrize(
    ("f", "args", "words"),
    [
        (integers, (X, 3), "a quotient of integers"),
        (singles, (X.astype("f4"),), "reads float32"),
        (text_of_the_program, (X, "x * 2"), "write the expression itself"),
        (with_memory, (X,), "write the expression itself"),
    ],
)
def test_what_is_refused(f, args, words):
    with pytest.raises(errors.StgradError, match=f"(?s)test_formulas.py.*{words}|{words}.*test_formulas.py"):
        stgrad.grad(f, jit=True)(*args)
