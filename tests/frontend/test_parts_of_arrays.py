"""`z.real` and `z.imag` of complex arrays are views: what is written to them is seen in the array, and the other way round."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.5, -1.2, 2.0, 0.3])


def written(x):
    z = x + 1j * x
    z.imag[0] = 3.0
    z.real[1:] = 2.0 * x[1:]
    return np.sum(np.abs(z) ** 3)


def scaled(x):
    z = x + 1j * x
    z.real *= 2.0
    z.imag += x * x
    return np.sum(np.abs(z) ** 3)


def assigned(x):
    z = x * 1j
    z.real = np.sin(x)
    z.imag = x[0]
    return np.sum(np.abs(z) ** 3)


def read_behind_a_write(x):
    z = x + 1j * x
    seen = z.real
    z[0] = x[1] ** 2
    return np.sum(seen * x)


def in_a_loop(x, n):
    z = np.zeros(len(x), complex)
    re, im = z.real, z.imag
    for i in range(n):
        re[i % len(x)] += x[i % len(x)] ** 2
        im[0] += re[i % len(x)] * x[0]
    return np.sum(np.abs(z) ** 2) + np.sum(re)


def views_of_views(x):
    z = np.outer(x, x) * (1.0 + 2.0j)
    w = z.T.imag[1:]
    w[0] = x[0]
    z.real.T[0] *= x[1]
    z[2] += w[0] * 1j
    return np.sum(np.abs(z) ** 2) + np.sum(w[:, :2] ** 3)


def on_one_path(x, own):
    z = x * (1.0 + 1.0j)
    w = z.real if own else x.copy()
    w[0] = 5.0
    w *= x
    return np.abs(z @ z) + np.sum(w)


def put(a, v):
    a[1] = v


def passed_on(x):
    z = x * (1.0 + 1.0j)
    put(z.imag, x[0] ** 2)
    put(np.real(z[1:]), x[1] ** 2)
    return np.abs(z @ z) + np.sum(z.imag)


PROGRAMS = [(written,), (scaled,), (assigned,), (read_behind_a_write,), (in_a_loop, 5), (views_of_views,)]
PROGRAMS += [(on_one_path, True), (on_one_path, False), (passed_on,)]


@pytest.mark.parametrize(("program", "args"), [(p, args) for p, *args in PROGRAMS])
@pytest.mark.parametrize("jit", [False, True])
def test_parts_are_views(program, args, jit):
    check_gradient(program, (X, *args), argnums=0, jit=jit)
    assert np.isclose(stgrad.jit(program)(X, *args), program(X, *args), rtol=1e-12)


def test_parts_of_an_argument():
    def set_parts(z, x):
        z.imag[1:] = x
        z.real = 0.0

    ours, theirs = np.arange(3) + 1j, np.arange(3) + 1j
    stgrad.jit(set_parts)(ours, X[:2])
    set_parts(theirs, X[:2])
    assert np.array_equal(ours, theirs)


def test_imaginary_parts_of_real_arrays_cannot_be_written_to():
    def f(x):
        z = np.imag(x)
        z[0] = 3.0
        return np.sum(x * z)

    for run in (stgrad.jit(f), stgrad.grad(f, jit=True), stgrad.grad(f, jit=False)):
        with pytest.raises(ValueError, match="read-only"):
            run(X)
