"""Lists of run-time length that hold slices: each item has bounds of its own."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.3, 0.5, 0.6, 0.7, 0.9, 0.2])


def windows(x, n):
    parts = [slice(i, 2 * i + 1) for i in range(n)]
    total = 0.0
    for j in range(n):
        total += np.sum(x[parts[j]] ** 2) * (j + 1)
    return total


def appended(x, n):
    parts = []
    for i in range(n):
        parts.append(slice(0, 2) if x[i] > 0.4 else slice(2, i + 5))
    return np.sum(x[parts[0]] ** 3) + 2.0 * np.sum(x[parts[1]] ** 2)


def blocks(x, n):
    parts = [(slice(i, 2 * i + 1), slice(None)) for i in range(n)]
    return sum(np.sum(np.outer(x, x)[part]) for part in parts)


class Cell:
    def __init__(self, i):
        self.where = slice(i, None)
        self.weight = i + 1.0


def held_by_objects(x, n):
    cells = [Cell(i) for i in range(n)]
    return sum(cell.weight * np.sum(x[cell.where] ** 2) for cell in cells)


def tiles(x, n):
    """Pieces of one array put side by side, in rows of two."""
    r = len(x) // n
    rows = [slice(r * i, r * i + r) for i in range((n + 1) // 2)]
    columns = [slice(r * i, r * i + r) for i in range(2)]
    out = np.zeros((r * len(rows), 2 * r))
    for k in range(n):
        i, j = divmod(k, 2)
        out[rows[i], columns[j]] = np.outer(x[k * r : k * r + r], x[:r])
    return np.sum(out**2 * np.arange(1.0, 1.0 + 2 * r))


def equal_ones(x, n):
    parts = [slice(1, 3) for _ in range(n)]
    return np.sum(x[parts[-1]] @ np.ones((2, 3)))


@pytest.mark.parametrize("f", [windows, appended, blocks, held_by_objects, tiles, equal_ones])
def test_slices_in_lists(f):
    assert stgrad.jit(f)(X, 3) == pytest.approx(f(X, 3))
    check_gradient(f, (X, 3), order=2 if f is windows else 1)
    np.testing.assert_allclose(stgrad.grad(f, jit=True)(X, 3), stgrad.grad(f, jit=False)(X, 3), rtol=1e-12)
