"""The warning of a whole gradient that is zero."""

from __future__ import annotations

import importlib
import math
import pkgutil
import warnings

import numpy as np
import programs
import pytest
from programs.registry import EXAMPLES

import stgrad
from stgrad.analysis import zeros
from stgrad.analysis.activity import activity
from stgrad.analysis.liveness import result_names
from stgrad.analysis.zeros import cut
from stgrad.errors import StgradError, ZeroGradientWarning
from stgrad.program import array_program, spec_of
from stgrad.request import signature_of
from stgrad.transforms.pipeline import Trace
from stgrad.values import Sym, leaves

for _module in pkgutil.iter_modules(programs.__path__):
    importlib.import_module(f"programs.{_module.name}")

X = np.array([0.5, 1.8, 1.3])


def position(x):
    k = np.argmax(x)
    return 1.0 * k


def rounded(x):
    y = np.floor(x) * 2.0
    return np.sum(y)


def cast(x):
    n = int(10.0 * x[0])
    return n * 0.5


def compared(x):
    if x[0] > x[1]:
        return 1.0
    return 2.0


def counted(x):
    n = 0.0
    for v in x:
        if v > 1.0:
            n += 1.0
    return n


def looked_up(x):
    table = np.array([1.0, 2.0, 4.0, 8.0])
    return table[int(x[0] * 3.0)]


@pytest.mark.parametrize(
    ("function", "line"),
    [(position, "np.argmax(x)"), (rounded, "np.floor(x)"), (cast, "int(10.0"), (compared, "x[0] > x[1]"), (counted, "v > 1.0"), (looked_up, "int(x[0]")],
)
def test_names_the_line(function, line):
    with pytest.warns(ZeroGradientWarning) as caught:
        gradient = stgrad.grad(function)(X)
    assert np.all(gradient == 0.0)
    (warning,) = caught
    assert warning.filename == __file__
    with open(__file__) as source:
        assert line in source.readlines()[warning.lineno - 1]


def meant(x):
    return np.sum(stgrad.stop_gradient(x) ** 2)


def meant_with_a_floor(x):
    return np.sum(np.floor(stgrad.stop_gradient(x)))


def constant(x):
    return 2.0 * len(x) + np.sum(np.zeros_like(x))


def partly(x):
    return np.sum(np.floor(x)) + x[0]


def chosen(x):
    return x[np.argmax(x)]


def relu(x):
    return np.sum(np.maximum(x, 0.0))


@pytest.mark.parametrize("function", [meant, meant_with_a_floor, constant, partly, chosen, relu])
def test_says_nothing(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroGradientWarning)
        stgrad.grad(function)(X)
        stgrad.hessian(function)(X)


def test_once_for_a_program():
    gradient = stgrad.grad(lambda x: math.floor(x) * 2.0)
    with pytest.warns(ZeroGradientWarning):
        gradient(1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroGradientWarning)
        gradient(2.5)


def test_says_nothing_of_the_corpus():
    told = []
    for example in EXAMPLES[::3]:
        bound = signature_of(example.function).bind(*example.args)
        bound.apply_defaults()
        specs = {name: spec_of(value, name) for name, value in bound.arguments.items()}
        try:
            reading = array_program(example.function, specs, Trace())
        except StgradError:
            continue  # integers among the arguments must be known
        wrt = [v.name for a in reading.arguments.values() for v in leaves(a) if isinstance(v, Sym) and v.type.is_float]
        if not result_names(reading.function) & activity(reading.function, wrt).varied and cut(reading.function, wrt) is not None:
            told.append(example.name)
    assert not told


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: stgrad.jvp(f, (X,), (X,))[1],
        lambda f: stgrad.linearize(f, X)[1](X),
        lambda f: stgrad.jacfwd(f)(X),
        lambda f: stgrad.jacrev(f, jit=False)(X),
        lambda f: stgrad.jacobian(f, jit=False)(X),
        lambda f: stgrad.jvp(f, jit=False)((X,), (X,))[1],
        lambda f: stgrad.grad(lambda x: np.sum(f(x)), mode="forward")(X),
    ],
)
def test_other_derivatives_tell_once(derivative):
    def steps(x):
        return np.floor(x) * 2.0

    zeros._told.clear()
    with pytest.warns(ZeroGradientWarning, match=r"np\.floor") as caught:
        assert np.all(derivative(steps) == 0.0)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroGradientWarning)
        derivative(lambda x: np.floor(x) * x)


@pytest.mark.parametrize("jit", [False, True])
def test_pullbacks_are_told_too(jit):
    def rounded(x):
        return {"a": np.floor(x), "b": 2.0}

    with pytest.warns(ZeroGradientWarning, match="np.floor"):
        _, pullback = stgrad.vjp(rounded, np.array([0.5, 1.5]), jit=jit)
    np.testing.assert_array_equal(pullback({"a": np.ones(2), "b": 0.0})[0], np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ZeroGradientWarning)
        stgrad.vjp(lambda x: np.floor(x) * x, np.array([0.5, 1.5]), jit=jit)
        stgrad.vjp(lambda x: stgrad.stop_gradient(x) * 2.0, np.array([0.5, 1.5]), jit=jit)
