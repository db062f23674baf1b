"""What Python refuses to do with constants is raised where the program comes to it, and sizes of lists of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def message_of_none(x, limit=None):
    if x > 10.0:
        raise ValueError("at most %g" % (1 / limit))
    return x * x


def sum_of_none(x, limit=None):
    if x > 10.0:
        x = x * (limit + 1.0)
    return x * x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [message_of_none, sum_of_none])
def test_operations_on_none_in_a_branch(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    gradient = stgrad.grad(f, jit=jit)
    assert gradient(1.5) == 3.0
    with pytest.raises(ValueError if f is message_of_none else TypeError):  # what a message says is not computed
        gradient(11.0)


def test_operations_on_none_on_every_path():
    with pytest.raises(TypeError, match="unsupported operand type"):
        stgrad.grad(lambda x, limit=None: x * (1.0 / limit), jit=True)(1.5)


@pytest.mark.parametrize("jit", [False, True])
def test_size_of_a_list_of_arrays(jit):
    def f(x, y):
        return np.size([x, y]) * np.sum(x * y) + np.size((1.0, x[0])) * x[0] + np.size(x)

    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.1])
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x, y), 6.0 * y + np.array([2.0, 0.0, 0.0]))
