"""Integers in arrays without axes as positions: they pick copies, as arrays do, also once they are changed in place."""

import numpy as np
import pytest

from tests.thorough import check_gradient

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def changed_first(x):
    e = np.digitize(x, (0.0, 1.0, 2.0))
    e = np.array(e)
    e[np.isnan(x)] = 0
    e -= 1
    return TABLE[e, 0] * x + TABLE[e, 1]


def rows(x):
    e = np.array(np.searchsorted(TABLE[:, 0], x))
    e[np.isnan(x)] = 0
    return np.sum(TABLE[e]) * x + TABLE[e - 1][0]


def a_copy(x):
    e = np.array(1)
    e[()] = 2
    t = TABLE.copy()
    row = t[e]
    t[2, 0] = 9.0
    return row[0] * x


def a_copy_by_a_number(x):
    e = np.array(1)
    t = TABLE.copy()
    row = t[e]
    t[1, 0] = 9.0
    return row[0] * x


def stored(x):
    e = np.asarray(np.int64(1))
    t = TABLE * x
    t[e] = 7.0
    t[e, 1] += x
    e = np.array(1)
    e += 1
    t[e] *= x
    return np.sum(t)


def by_an_argument(x, n):
    e = np.array(n)
    e += 1
    return TABLE[e, 0] * x + x * TABLE[e].sum()


@pytest.mark.parametrize("f", [changed_first, rows, a_copy, a_copy_by_a_number, stored], ids=lambda f: f.__name__)
def test_programs(f):
    check_gradient(f, (1.5,))


def test_an_integer_argument():
    check_gradient(by_an_argument, (1.5, 1), argnums=(0,))
