"""`zip(*rows)` of as many rows as the program decides, diagonals at a place that it computes, and the length of `x.flat`."""

import numpy as np
import pytest

import stgrad

M = 0.1 * np.arange(12.0).reshape(3, 4) + 0.3
X, Y = np.array([0.3, 0.7, 0.5]), np.array([1.0, 2.0, 0.4])


def sorted_pairs(x, y):
    a, b = zip(*sorted(zip(x, y, strict=True)), strict=True)
    return np.sum(np.array(a) ** 2 * np.array(b) * np.arange(len(a)))


def kept_pairs(x):
    a, b = zip(*[(v, v * v) for v in x if v > 0.4], strict=True)
    return np.sum(np.array(a) * np.array(b)) * len(b)


def columns(m):
    s = 0.0
    for column in zip(*m, strict=True):
        s += column[0] * column[1] ** 2
    return s


def turned(m):
    t = [[*z] for z in zip(*m, strict=True)]
    u = list(map(list, zip(*m, strict=True)))
    return t[0][1] * t[1][0] ** 2 * u[3][2]


def lists(m):
    rows = [[v * v for v in row] for row in m]
    s = 0.0
    for column in zip(*rows, strict=True):
        s += column[0] * column[1]
    return s


def means(m):
    return np.sum(np.array([m.diagonal(j).mean() ** 2 for j in range(1 - m.shape[0], m.shape[1])]))


def stacked(m):
    return sum([np.sum(np.diagonal(np.stack([m, m * m]), j, 1, 2) ** 2) for j in range(1 - m.shape[0], m.shape[1])])


def parts_of_columns(x):
    pairs = list(zip(*[[a + b for b in x[0]] for a in x[:2, 0]]))
    first, *rest = pairs
    return first[0] * 2.0 + rest[1][1] ** 2 + pairs[1:][0][1] * x[0, 1] + pairs[-1:][0][0]


def largest(x):
    flat, found = x.flat, 0.0
    for i in range(len(flat)):
        if abs(flat[i]) > found:
            found = flat[i]
    return np.sum(x / found)


def directed(f, x, *rest, h=1e-6):
    way = np.cos(np.arange(x.size)).reshape(x.shape)
    return way, (f(x + h * way, *rest) - f(x - h * way, *rest)) / (2 * h)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    ("f", "args"),
    [(sorted_pairs, (X, Y)), (kept_pairs, (X,)), *((f, (M,)) for f in (columns, parts_of_columns, turned, lists, means, stacked, largest))],
)
def test_first_and_second_derivatives(f, args, jit):
    gradient = stgrad.grad(f, jit=jit)
    way, expected = directed(f, *args)
    assert np.isclose(np.sum(gradient(*args) * way), expected, rtol=1e-6)
    length = lambda x, *rest: np.sum(gradient(x, *rest) ** 2)  # noqa: E731
    way, expected = directed(length, *args)
    assert np.isclose(np.sum(stgrad.grad(length, jit=jit)(*args) * way), expected, rtol=1e-5)


def test_no_rows_have_no_columns():
    with pytest.raises(ValueError, match="no rows"):
        stgrad.grad(columns, jit=True)(np.ones((0, 3)))
