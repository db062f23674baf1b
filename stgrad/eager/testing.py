"""`tf.test`: derivatives against differences, and a few assertions."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.tape import GradientTape
from stgrad.eager.tensor import Tensor


def compute_gradient(f: Callable[..., Any], x: Any, delta: float | None = None) -> tuple[list[Any], list[Any]]:
    """The Jacobians of f at the arguments x as 2-D arrays (elements of x, elements of y): by the tape, and by central differences.

    Raises:
        ValueError: x is no list.
    """
    if not isinstance(x, list):
        raise ValueError(f"`x` must be a list, got {type(x)}")
    xs = [convert_to_tensor(v) for v in x]
    if delta is None:
        delta = 1.0 / 1024
    return [_by_tape(f, xs, i) for i in range(len(xs))], [_by_differences(f, xs, i, delta) for i in range(len(xs))]


def _by_tape(f: Any, xs: list[Tensor], i: int) -> Any:
    with GradientTape() as tape:
        tape.watch(xs)
        y = convert_to_tensor(f(*xs))
    j = tape.jacobian(y, xs[i], unconnected_gradients="zero")
    return np.asarray(j).reshape(y._a.size, xs[i]._a.size)


def _by_differences(f: Any, xs: list[Tensor], i: int, delta: float) -> Any:
    columns = []
    for k in range(xs[i]._a.size):
        ends = []
        for sign in (1, -1):
            moved = np.array(xs[i]._a)
            moved.reshape(-1)[k] += sign * delta
            ends.append(np.asarray(f(*xs[:i], Tensor(moved), *xs[i + 1 :])).ravel())
        columns.append((ends[0] - ends[1]) / (2 * delta))
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))


class TestCase(unittest.TestCase):
    """unittest's, with comparisons of arrays."""

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:  # noqa: N802
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=msg or "")


def main() -> None:
    unittest.main()
