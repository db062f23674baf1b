"""Copies, constants and transposes that are seen through."""

import numpy as np
import pytest

import stgrad


def kalman(F, P):
    Q = F @ P @ F.T
    return np.sum(np.sin(Q @ F.T.T))


def turned_between(a):
    b = a.T
    a = a * 2.0
    c = b.T
    c = c * a
    return np.sum(c * c)


def written_between(a):
    b = a.T
    c = b.T
    c[0, 1] = 3.0 * a[1, 0]
    return np.sum(a * a * b)


def looped(a):
    b = a.T
    for _ in range(3):
        a = np.sin(b.T)
        b = a.T * 0.5
    return np.sum(a * b.T)


def scaled(x):
    y = 1.0 * x
    z = y / 1.0
    z[0] = z[0] * x[1]
    return np.sum(x * y * z)


A = np.random.default_rng(3).normal(size=(3, 3))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "arguments"), [(kalman, (A, A + 1.0)), (turned_between, (A,)), (written_between, (A,)), (looped, (A,)), (scaled, (A[0],))])
def test_against_differences(f, arguments, jit):
    found = stgrad.grad(f, tuple(range(len(arguments))), jit=jit)(*arguments)
    for k, gradient in enumerate(found):
        for at in np.ndindex(gradient.shape):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [np.array(a) for a in arguments]
                moved[k][at] += h
                ends.append(f(*moved))
            np.testing.assert_allclose(gradient[at], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_no_transpose_of_a_transpose_is_left():
    text = stgrad.grad(kalman, ("F", "P")).source(A, A)
    assert "np.transpose(np.transpose(F)" not in text
    lines = stgrad.grad(scaled).source(A[0]).splitlines()
    assert not any("1.0 *" in line for line in lines if "#" not in line)


def test_systems_of_equations_read_as_in_books():
    text = stgrad.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), (0, 1)).source(A, A[0])
    assert "np.outer(b_bar, " in text
    assert "expand_dims" not in text
