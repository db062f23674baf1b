"""Numbers are not iterable: `iter`, `tuple`, `len` and loops of them raise TypeError, which programs ask with."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import TypeInferenceError


def is_array(v):
    try:
        iter(v)
    except TypeError:
        return False
    return True


def by_iter(z):
    return np.sum(np.asarray(z) ** 2) if is_array(z) else z**3


def by_len(z):
    if is_array(z) and len(z) == 0:
        return 0.0
    return np.sum(z**2)


def by_loop(z):
    try:
        parts = np.array([v * v for v in z])
    except TypeError:
        parts = np.array([z])
    return np.sum(parts)


def with_axes(z, axes=1):
    try:
        axes = tuple(axes)
    except TypeError:
        axes = (axes, axes)
    return np.sum(np.asarray(z) ** 2) * len(axes)


@pytest.mark.parametrize("z", [0.5, np.float64(0.5), np.array(0.5), np.array([0.3, 0.4])], ids=["float", "float64", "0-d", "1-d"])
@pytest.mark.parametrize("f", [by_iter, by_len, by_loop, with_axes])
def test_programs_that_ask(f, z):
    check_gradient(f, (z,))
    np.testing.assert_allclose(stgrad.grad(f, jit=True)(z), stgrad.grad(f, jit=False)(z), rtol=1e-12)


def test_numbers_have_no_items():
    with pytest.raises(TypeInferenceError, match="cannot be iterated over"):
        stgrad.grad(lambda x: sum(v for v in iter(x)), jit=True)(1.5)
