"""Bottleneck's reductions in C are read as what they compute."""

from __future__ import annotations

import inspect
import types

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.frontend import bottleneck as twins

X = np.array([[1.0, 2.0, 3.5], [4.0, 5.5, 7.0]])


def in_c(name):
    """What stands under this name in Bottleneck, as far as the compiler looks: it has no text that could be read."""

    def function(*args, **kwargs):
        return getattr(twins, name)(*args, **kwargs)

    names = {**function.__globals__, "__name__": "bottleneck.reduce"}
    found = types.FunctionType(function.__code__, names, name, None, function.__closure__)
    found.__module__, found.__qualname__ = "bottleneck.reduce", name
    return found


@pytest.mark.parametrize("name", [n for n, f in vars(twins).items() if inspect.isfunction(f)])
def test_reductions(name):
    reduce = in_c(name)
    check_gradient(lambda x: np.sum(reduce(x, 1) * np.array([1.0, 3.0])) + np.sum(x) + reduce(x), (X,), order=1)


@pytest.mark.parametrize("jit", [False, True])
def test_missing_numbers_and_degrees_of_freedom(jit):
    spread, mean, some, none = map(in_c, ("nanstd", "nanmean", "anynan", "allnan"))
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.5, 7.0]])

    def f(x):
        return spread(x, 1, 1)[0] + mean(x, axis=1)[0] * some(x) + 5.0 * np.sum(x[1]) * none(x)

    value, gradient = stgrad.value_and_grad(f, jit=jit)(x)
    assert value == pytest.approx(np.sqrt(2.0) + 2.0)
    np.testing.assert_allclose(gradient, [[0.5 - np.sqrt(0.5), 0.0, 0.5 + np.sqrt(0.5)], [0.0, 0.0, 0.0]], atol=1e-12)
