"""Which arrays are certainly contiguous, and what their reshapes are in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

import stgrad


def written_through_a_reshape(x: Any) -> Any:
    y = np.zeros((2, 3))
    flat = np.reshape(y, (6,))
    flat[1:] = x[1:] * x[:5]
    y[0, 0] += x[0]
    return np.sum(y[0] * y[1]) + flat[4]


def reshapes_an_argument(x: Any) -> Any:
    return np.sum(np.reshape(x, (6,)) * np.arange(6.0))


def test_a_reshape_of_fresh_memory_is_a_view() -> None:
    x = np.linspace(0.5, 1.5, 6)
    compiled, plain = stgrad.value_and_grad(written_through_a_reshape), stgrad.value_and_grad(written_through_a_reshape, jit=False)
    assert compiled(x)[0] == plain(x)[0] == written_through_a_reshape(x)
    np.testing.assert_allclose(compiled(x)[1], plain(x)[1], rtol=1e-14)
    assert "call_python" not in compiled.lowered(x)


def test_arguments_of_any_layout() -> None:
    gradient = stgrad.grad(reshapes_an_argument)
    for x in (np.ones((2, 3)), np.ones((3, 2)).T, np.ones((4, 6))[::2, ::2]):
        np.testing.assert_array_equal(gradient(x), np.arange(6.0).reshape(2, 3))
    assert "runtime.reshape" in stgrad.jit(reshapes_an_argument).lowered(np.ones((2, 3)))
