"""`np.diag` of a vector is a matrix of its own: writes to it are seen nowhere else, and ask for no copy."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def chain(levels, hopping):
    n = len(levels)
    hamiltonian = np.diag(levels)
    for i in range(n - 1):
        hamiltonian[i, i + 1] = -hopping
        hamiltonian[i + 1, i] = -hopping
    return np.sum(hamiltonian @ hamiltonian @ hamiltonian) + np.sum(levels)


def shifted(levels, hopping):
    upper = np.diag(levels, 1)
    upper[0, 0] = hopping
    levels[0] = 2.0 * hopping
    return np.sum(upper @ upper) + np.sum(levels**2)


ARGS = np.array([0.4, -0.3, 1.1]), 0.7


@pytest.mark.parametrize("function", [chain, shifted])
def test_is_written_to(function):
    expected = function(ARGS[0].copy(), ARGS[1])
    assert stgrad.jit(function)(ARGS[0].copy(), ARGS[1]) == pytest.approx(expected)


def test_gradient_through_the_writes():
    check_gradient(chain, ARGS, argnums=(0, 1))
