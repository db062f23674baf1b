"""Elements of arrays that serve nothing else are made from the elements that they depend on, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([[0.9, 0.3], [0.2, 1.4], [1.1, 0.6], [0.4, 0.8]])
Y = np.array([0.5, 0.7])
P = np.array([[0.1, 0.9], [1.0, 0.5], [0.3, 1.2]])


def nearest(x, p):
    total = 0.0
    for i in range(p.shape[0]):
        d = np.sum((x - p[i]) ** 2, axis=1)
        j = np.argmin(d)
        total += np.sqrt(d[j] + 0.1)
    return total


def triangle(x, cells):
    total = 0.0
    for c in range(cells.shape[0]):
        p = x[cells[c]]
        total += (p[1, 0] - p[0, 0]) * (p[2, 1] - p[0, 1]) - (p[2, 0] - p[0, 0]) * (p[1, 1] - p[0, 1]) ** 2
    return total


def last_row(x, y):
    z = np.exp(x) * y
    return np.sum(z[-1] ** 2)


def broadcast(x, y):
    """The axis that is read is one along which an operand has one element."""
    z = x * y[None, :]
    return z[2, 1] ** 2


def changed(x, y):
    z = x * y
    x[1] = 3.0 * y
    return np.sum(z[1] ** 2) + np.sum(x)


def overwritten(x, y):
    z = np.sin(x * y)
    z[1] = y
    return np.sum(z[1] ** 2) + z[0, 0]


def carried(x, y):
    """The scalar is another one by the time that the element is read."""
    s = 1.0
    total = 0.0
    for k in range(3):
        z = s * x * y
        s = s + total * 0.1 + y[0]
        total += z[k, 0] ** 2
    return total


def deeper(x, y):
    z = np.exp(x) * y
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(2):
            total += z[i, j] * z[i, 1]
    return total


def whole_too(x, y):
    z = np.exp(x) * y
    return z[1, 0] ** 2 + np.sum(z)


def sums_of_all(x, y):
    z = np.sum(x * y, axis=0)
    return z[1] ** 2


def behind_a_branch(x, y):
    z = np.cos(x) * y
    return z[0, 1] ** 2 if y[0] > 0.1 else z[2, 0]


def by_negative(x, y):
    z = np.sum(x * y, axis=-1)
    return z[-2] * z[np.argmax(z)]


PROGRAMS = [last_row, broadcast, changed, overwritten, carried, deeper, whole_too, sums_of_all, behind_a_branch, by_negative]


@pytest.mark.parametrize("f", PROGRAMS)
def test_right(f):
    check_gradient(f, (X.copy(), Y), jit=False)


@pytest.mark.parametrize("f", [last_row, carried, by_negative])
def test_compiled(f):
    check_gradient(f, (X.copy(), Y), jit=True, order=1)


def test_the_nearest_alone_has_a_derivative():
    text = stgrad.grad(nearest, (0, 1)).lowered(X, P)
    assert "d_bar" not in text and text.count("for i_2 in range(n_2):") + text.count("for i_2 in range(n):") <= 2, text
    check_gradient(nearest, (X, P), jit=False)
    check_gradient(nearest, (X, P), jit=True, order=1)


CELLS = np.array([[0, 1, 2], [1, 3, -2]])


def test_corners_are_read_where_they_stand():
    text = stgrad.grad(triangle).lowered(X, CELLS)
    assert "work" not in text and "p_bar" not in text, text
    check_gradient(triangle, (X, CELLS), argnums=(0,), jit=False)
    check_gradient(triangle, (X, CELLS), argnums=(0,), jit=True, order=1)


def test_what_the_program_raises_it_raises_still():
    """A position outside, in a part that is never read; operands of different extents."""
    for jit in (False, True):
        gradient = stgrad.grad(triangle, jit=jit)
        with pytest.raises(IndexError):
            gradient(X, np.array([[0, 1, 2, 9]]))
        with pytest.raises(IndexError):
            gradient(X, np.array([[0, 1]]))
        with pytest.raises(ValueError):
            stgrad.grad(last_row, jit=jit)(X, np.ones(3))
        with pytest.raises(IndexError):
            stgrad.grad(broadcast, jit=jit)(X[:2], Y)


def test_a_row_against_rows_of_unknown_extents():
    """One of the two may have one row, which is read under 0."""

    def f(a, b):
        z = a * b
        return np.sum(z[1])

    for a, b in ((X, X), (X, X[:1]), (X[:1], X)):
        check_gradient(f, (a, b), jit=False)
