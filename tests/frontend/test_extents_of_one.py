"""Extents of one that only the running program knows stretch in every operation whose operands meet, as NumPy stretches them."""

from __future__ import annotations

import inspect

import numpy as np
import programs.extents
import pytest
from programs.registry import EXAMPLES
from thorough import check_gradient

import stgrad

SLICED = [e for e in EXAMPLES if e.function.__module__ == programs.extents.__name__ and "n" in inspect.signature(e.function).parameters]


@pytest.mark.parametrize("example", SLICED, ids=lambda e: e.name)
def test_one_item(example):
    check_gradient(example.function, (*example.args[:-1], 1))


@pytest.mark.parametrize("example", SLICED[::4], ids=lambda e: e.name)
def test_one_item_compiled(example):
    args = (*example.args[:-1], 1)
    np.testing.assert_allclose(stgrad.grad(example.function, jit=True)(*args), stgrad.grad(example.function, jit=False)(*args), rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: np.einsum("i,i->", x[:n], x),
        lambda x, n: np.sum(np.broadcast_to(x[:n], x.shape)),
        lambda x, n: np.sum(np.broadcast_to(x[:n], (3,))),
        lambda x, n: np.sum(np.choose(np.array([0, 1, 0]), [x, x[:n]])),
        lambda x, n: np.sum(np.outer(x, x)[np.arange(3), np.arange(n)]),
        lambda x, n: np.sum(np.select([x > 0.0], [x[:n]], 1.0)),
    ],
)
def test_what_does_not_fit_raises_with_its_line(f):
    x = np.array([0.5, 1.5, -0.4])
    with pytest.raises((ValueError, IndexError)) as plain:
        f(x, 2)
    with pytest.raises((ValueError, IndexError)) as found:
        stgrad.grad(f)(x, 2)
    assert isinstance(found.value, type(plain.value)) or type(plain.value) is IndexError
    assert "line" in str(found.value)
