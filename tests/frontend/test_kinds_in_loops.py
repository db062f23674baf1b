"""Names whose kind a loop's first trip changes: a number that becomes an array, positions that become a mask; read behind the loop, too."""

import numpy as np
import pytest

import stgrad
from tests.thorough import check_gradient


def kepler(M, e):
    E = M + e
    f = E - e * np.sin(E) - M
    left = np.where(np.abs(f) > 1e-9)[0]
    n = len(left)
    while n > 0:
        m, ec, Ec = M[left], e[left], E[left]
        Ec = Ec - (Ec - ec * np.sin(Ec) - m) / (1 - ec * np.cos(Ec))
        E[left] = Ec
        f = E - e * np.sin(E) - M
        left = np.abs(f) > 1e-9
        n = np.sum(left)
    return np.sum(E**2)


def read_behind(x, n):
    s = float("nan")
    i = 0
    while i < n:
        s = np.sin(x) * (i + 1)
        i += 1
    return np.sum(s)


def read_behind_a_for(x, n):
    s = 0
    for i in range(n):
        s = np.sin(x) * (i + 1)
    return np.sum(s)


X = np.array([0.3, 1.2, 2.0])


@pytest.mark.parametrize("jit", [False, True])
def test_positions_and_a_mask(jit):
    check_gradient(kepler, (X, np.array([0.1, 0.3, 0.2])), argnums=(0, 1), order=1, jit=jit)


@pytest.mark.parametrize("f", [read_behind, read_behind_a_for], ids=lambda f: f.__name__)
def test_read_behind(f):
    check_gradient(f, (X, 3), argnums=(0,))
    with pytest.raises((ValueError, stgrad.errors.StgradError), match="no trip"):
        stgrad.grad(f, jit=False)(X, 0)


def assigned_behind(x, n):
    s = 0
    for i in range(n):
        s = np.sin(x) * (i + 1)
        x = x + s
    s = 2.0
    return np.sum(x) * s


def test_what_is_assigned_behind_is_not_read():
    check_gradient(assigned_behind, (X, 3), argnums=(0,))
    np.testing.assert_array_equal(stgrad.grad(assigned_behind)(X, 0), [2.0, 2.0, 2.0])
