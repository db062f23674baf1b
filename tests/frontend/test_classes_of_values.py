"""`x.__class__` is `type(x)`."""

import numpy as np
import pytest

import stgrad

MODULES = {"numpy": np}


def by_module(x):
    xp = MODULES[x.__class__.__module__.split(".")[0]]
    return xp.sum(x * x)


def by_class(x):
    scale = 3.0 if x.__class__ is float else 2.0
    parts = [x, x]
    return scale * np.sum(parts[0] * parts[1]) if parts.__class__ is list and (x,).__class__ is tuple else 0.0


@pytest.mark.parametrize("jit", [False, True])
def test_the_class_of_a_value(jit):
    assert np.allclose(stgrad.grad(by_module, jit=jit)(np.array([1.0, 2.0])), [2.0, 4.0])
    assert np.allclose(stgrad.grad(by_class, jit=jit)(np.array([1.0, 2.0])), [4.0, 8.0])
    assert stgrad.grad(by_class, jit=jit)(2.0) == 12.0
