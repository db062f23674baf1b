"""Recursive filters from a state, and what SciPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as ss

import stgrad
from tests.thorough import check_gradient

B, A = ss.butter(3, 0.3)
RANDOM = np.random.default_rng(0)


def state_in_and_out(p):
    y, after = ss.lfilter([1.0, p[0], 0.3], [2.0, 0.4 * p[1], -0.2], p[2:6], zi=p[6:8])
    return np.sum(y**2) + after[0] * after[1]


def fewer_samples_than_states(p):
    y, after = ss.lfilter([1.0, p[0], 0.3, 0.2], [2.0, 0.4 * p[1], -0.2, 0.1], p[2:4], zi=p[4:7])
    return np.sum(y**2) + after @ np.array([1.0, 2.0, 3.0])


def columns(x):
    m = x.reshape(4, 2)
    y, after = ss.lfilter(B, A, m, axis=0, zi=np.outer(ss.lfilter_zi(B, A), m[0]))
    return np.sum(y**3) + np.sum(after)


def there_and_back(x):
    return np.sum(ss.filtfilt(B, A, np.tile(x, 3)) ** 2)


def sections(x):
    return np.sum(ss.sosfilt(ss.butter(4, 0.2, output="sos"), x) ** 2)


def sections_from_a_state(p):
    sos = np.array([[1.0, p[0], 0.3, 1.0, 0.2, p[1]], [0.5, 0.1, p[2], 1.0, -0.3, 0.1]])
    y, after = ss.sosfilt(sos, np.reshape(p[:8], (2, 4)), axis=1, zi=np.ones((2, 2, 2)) * p[3])
    return np.sum(y**2) + after[0, 1] @ after[1, 0]


def sections_there_and_back(x):
    return np.sum(ss.sosfiltfilt(ss.butter(2, 0.3, output="sos"), np.tile(x, 3)) ** 2)


@pytest.mark.parametrize("f", [state_in_and_out, fewer_samples_than_states, columns, sections, sections_from_a_state, sections_there_and_back])
def test_from_a_state(f):
    check_gradient(f, (RANDOM.normal(size=8),))


@pytest.mark.parametrize("jit", [False, True])
def test_a_state_of_another_length_is_told_as_scipy_tells_it(jit):
    for count in (2, 4):
        with pytest.raises(ValueError, match="Unexpected shape"):
            stgrad.grad(lambda x: np.sum(ss.lfilter(B, A, x, zi=x[:count])[0]), jit=jit)(np.ones(8))


@pytest.mark.parametrize("jit", [False, True])
def test_sections_are_normalised(jit):
    with pytest.raises(ValueError, match="should be all ones"):
        stgrad.grad(lambda sos: np.sum(ss.sosfilt(sos, np.ones(4))), jit=jit)(np.full((2, 6), 2.0))


def test_forwards_and_backwards():
    check_gradient(there_and_back, (RANDOM.normal(size=8),), order=1, jit=True)


def designed_inside(x):
    b, a = ss.butter(3, 0.3)
    return np.real(np.sum(ss.lfilter(b, a, x) ** 2))


def test_a_filter_that_is_designed_inside():
    x = np.sin(np.arange(12) * 0.7)
    value, gradient = stgrad.value_and_grad(designed_inside, jit=False)(x)
    assert value == pytest.approx(designed_inside(x), rel=1e-12)
    expected = stgrad.grad(lambda x: np.sum(ss.lfilter(B, A, x) ** 2), jit=False)(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9)
