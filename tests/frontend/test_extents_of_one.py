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


def added_at(x):
    z = 2.0 * x
    np.add.at(z, np.arange(x.size), x[2:])
    return np.sum(z * z)


def put_at(x):
    z = 2.0 * x
    z[np.arange(x.size)] = x[2:]
    return np.sum(z * z)


def multiplied_at(x):
    z = 2.0 * x
    z[x > 0.0] *= x[2:]
    return np.sum(z * z)


@pytest.mark.parametrize("f", [added_at, put_at, multiplied_at])
@pytest.mark.parametrize("jit", [False, True])
def test_a_value_of_one_item_for_an_index_array(f, jit):
    """Only the run tells that the value has one item, and the index array more."""
    x = np.array([0.5, 1.2, 0.7])
    expected = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), expected, rtol=1e-7)
    with pytest.raises(ValueError, match="line" if jit else "shape"):
        stgrad.grad(f, jit=jit)(np.linspace(0.5, 1.5, 5))
