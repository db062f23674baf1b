"""Indices of masks, positions, numbers and slices in one: native code, whose values and derivatives are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.testing import check_gradient

A = np.arange(24.0).reshape(4, 6) / 7.0 - 1.0
B = np.arange(60.0).reshape(3, 4, 5) / 20.0 - 1.0
ROWS, COLUMNS = np.array([True, False, True, True]), np.array([False, True] * 3)
PICKED = np.array([0, 2, 2])
IMAGE = np.arange(12).reshape(3, 4) % 3 == 0


def weighed(x):
    return np.sum(x**2 * (1.0 + np.arange(np.size(x)).reshape(np.shape(x))))


READS = {
    "mask, number": (A, lambda a, j: a[ROWS, j]),
    "mask, last": (A, lambda a, j: a[ROWS, -1 - j]),
    "number, mask": (A, lambda a, j: a[j, COLUMNS]),
    "positions, number": (A, lambda a, j: a[PICKED, j]),
    "number, positions": (A, lambda a, j: a[j, PICKED]),
    "mask, slice": (A, lambda a, j: a[ROWS, 1:4]),
    "mask, steps": (A, lambda a, j: a[ROWS, ::2]),
    "slice, mask": (A, lambda a, j: a[:, COLUMNS]),
    "dots, mask": (A, lambda a, j: a[..., COLUMNS]),
    "mask of rows": (A, lambda a, j: a[ROWS]),
    "two masks": (A, lambda a, j: a[ROWS, COLUMNS]),
    "mask and positions": (A, lambda a, j: a[ROWS, PICKED]),
    "mask of pictures": (B, lambda b, j: b[IMAGE]),
    "mask of pictures, number": (B, lambda b, j: b[IMAGE, j]),
    "mask of pictures behind": (B, lambda b, j: np.transpose(b, (2, 0, 1))[:, IMAGE]),
    "parted by a slice": (B, lambda b, j: b[PICKED, :, j]),
    "parted, number first": (B, lambda b, j: b[j, :, PICKED]),
    "parted by a slice, two": (B, lambda b, j: b[PICKED, 1:3, PICKED]),
    "number in the middle": (B, lambda b, j: b[:, j, PICKED]),
    "new axis": (A, lambda a, j: a[ROWS, None, j]),
    "nothing": (A, lambda a, j: a[A[:, 0] > 99.0, j]),
    "of a view": (A, lambda a, j: a[1:, ::-1][ROWS[1:], j]),
}


def set_(b, a, j):
    b[ROWS, j] = a[ROWS, 0] ** 2


def add(b, a, j):
    b[ROWS, j] += a[ROWS, 1]
    b[ROWS, j] *= a[0, 0]


def number(b, a, j):
    b[~ROWS, j] = a[0, 0]
    b[ROWS, 2:4] = 0.5


def rows(b, a, j):
    b[ROWS] *= a[ROWS]
    b[:, COLUMNS] -= a[:, COLUMNS] * a[0, 1]


def twice(b, a, j):
    b[PICKED, j] += a[PICKED, 1]  # what is written twice is written once
    np.add.at(b, (PICKED, j), a[PICKED, 2])


def itself(b, a, j):
    b[ROWS, 0] += b[:3, 0]
    b[ROWS] = b[1:]


WRITES = [set_, add, number, rows, twice, itself]


def native(g, *args) -> bool:
    return "call_python" not in g.lowered(*args)


@pytest.mark.parametrize("name", READS)
def test_reads(name) -> None:
    x, read = READS[name]

    def f(x, n):
        total = 0.0
        for j in range(n):
            total += weighed(read(x, j)) * (j + 1.0)
        return total

    assert np.isclose(stgrad.value_and_grad(f, jit=True)(x, 2)[0], f(x, 2))
    check_gradient(f, (x, 2), argnums=0, jit=True)
    assert native(stgrad.grad(f, mode="reverse"), x, 2) or name in ("new axis", "of a view")


@pytest.mark.parametrize("write", WRITES, ids=[w.__name__ for w in WRITES])
def test_writes(write) -> None:
    def f(a, n):
        b = a * 2.0
        for j in range(n):
            write(b, a, j)
        return weighed(b)

    assert np.isclose(stgrad.value_and_grad(f, jit=True)(A, 2)[0], f(A, 2))
    check_gradient(f, (A, 2), argnums=0, jit=True)
    assert native(stgrad.grad(f, mode="reverse"), A, 2)


def test_wrong_masks_are_refused_as_by_numpy() -> None:
    def f(a, mask):
        return np.sum(a[mask, 0])

    for jit in (False, True):
        with pytest.raises(IndexError, match="boolean index did not match"):
            stgrad.grad(f, jit=jit)(A, np.array([True, False]))
