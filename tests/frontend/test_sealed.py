"""Writes to arrays that NumPy does not let anybody write to: NumPy's exception on every path where they are made, else a refusal."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.5, -1.2, 2.0])
M = np.array([[1.0, 2.0], [3.0, 4.0]])


def in_a_branch(m, wanted):
    if wanted:
        e = np.diag(m)
        e[0] = 2.0
        return np.sum(e * e)
    return np.sum(m * m)


def in_a_helper(x):
    y = np.broadcast_to(x, (2, 3))
    put(y[1])
    return np.sum(y)


def put(v):
    v[0] = 1.0


def behind_a_flag(x):
    y = x * 1.0
    y.flags.writeable = False
    y[0] = 3.0
    return np.sum(y)


def of_a_trip(x):
    for i in range(3):
        d = np.diagonal(np.outer(x, x))
        if i == 1:
            d[0] = 2.0
    return np.sum(d)


def of_a_number(x, n):
    total = 0.0
    for _ in range(n):
        y = np.broadcast_to(np.sum(x), x.shape)
        y[0] = 0.0
        total = total + np.sum(y)
    return total


@pytest.mark.parametrize(("program", "args"), [(in_a_branch, (M, True)), (in_a_helper, (X,)), (behind_a_flag, (X,)), (of_a_trip, (X,)), (of_a_number, (X, 2))])
def test_raises_as_numpy_does(program, args):
    for run in (program, stgrad.jit(program), stgrad.grad(program, jit=True), stgrad.grad(program, jit=False)):
        with pytest.raises(ValueError, match="read-only"):
            run(*args)


def caught(x):
    y = np.broadcast_to(x, (2, 3))
    try:
        y[0, 0] = 1.0
    except ValueError:
        return np.sum(y * y)
    return np.sum(y)


def made_anew(x):
    total = 0.0
    for _ in range(2):
        y = np.broadcast_to(x, (2, 3))
        z = y * 2.0
        z[0] = x[1]
        total = total + np.sum(z * y)
    return total


def copied(x, wide):
    y = x * 2.0
    if wide:
        y = np.broadcast_to(np.sum(x), x.shape).copy()
    y[0] = 3.0
    return np.sum(y * x)


def of_the_shape(x):
    z = x * 1.0
    a, b = np.broadcast_arrays(z, np.ones(3))
    a[0] = x[1] ** 2
    return np.sum(a * b * x) + np.sum(z)


PROGRAMS = [(caught, ()), (made_anew, ()), (copied, (True,)), (copied, (False,)), (of_the_shape, ())]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("program", "args"), PROGRAMS)
def test_right(program, args, jit):
    check_gradient(program, (X, *args), argnums=0, jit=jit)


def of_a_branch(x, wide):
    y = x * 2.0
    if wide:
        y = np.broadcast_to(np.sum(x), x.shape)
    y[0] = 3.0
    return np.sum(y)


def of_an_earlier_trip(x, n):
    y = x * 2.0
    for _ in range(n):
        y[0] = x[1]
        y = np.broadcast_to(np.sum(x), x.shape)
    return np.sum(y)


def stretched(x):
    a, b = np.broadcast_arrays(x, np.ones((2, 1)))
    a[0] = 2.0 * x
    return np.sum(a * b)


@pytest.mark.parametrize(("program", "args"), [(of_a_branch, (1.0,)), (of_an_earlier_trip, (2,)), (stretched, ())])
def test_refused(program, args):
    for run in (stgrad.jit(program), stgrad.grad(program, jit=True), stgrad.grad(program, jit=False)):
        with pytest.raises(errors.AliasingError, match="is written to"):
            run(X, *args)


def test_an_argument_that_is_broadcast_to_its_own_shape():
    def f(x):
        a, _ = np.broadcast_arrays(x, np.ones(3))
        a[1] = 7.0

    ours, theirs = X.copy(), X.copy()
    stgrad.jit(f)(ours)
    f(theirs)
    assert np.array_equal(ours, theirs)


def test_flags_in_a_branch():
    def f(x, c):
        y = x * 1.0
        if c > 0.0:
            y.flags.writeable = False
        y[0] = 1.0
        return np.sum(y)

    with pytest.raises(errors.UnsupportedSyntaxError, match="in a branch"):
        stgrad.grad(f, jit=True)(X, 1.0)


def diagonal_and_then_a_write(m):
    a = m * 1.0
    d = np.diag(a)
    a[0, 0] = m[1, 1] ** 2
    return np.sum(d * d)


def diagonal_of_einsum(m):
    a = m * 1.0
    d = np.einsum("ii->i", a)
    d[:] = 0.0
    return np.sum(a * m)


@pytest.mark.parametrize(("program", "message"), [(diagonal_and_then_a_write, "np.diag"), (diagonal_of_einsum, "a diagonal of `np.einsum` is written to")])
def test_diagonals_are_views(program, message):
    """Numba copies them: what would have to see a write is refused, of arrays whose extents are not compiled in."""
    for run in (stgrad.jit(program), stgrad.grad(program, jit=True), lambda m: stgrad.jvp(program, (m,), (m,), jit=True)):
        with pytest.raises(errors.AliasingError, match=message):
            run(np.ones((70, 70)))


@pytest.mark.parametrize("jit", [False, True])
def test_diagonals_that_see_no_write(jit):
    def f(m):
        a = m * 1.0
        a[0, 0] = m[1, 1] ** 2
        d = np.diag(a)
        return np.sum(d * d) + np.sum(np.einsum("ii->i", a) * m)

    check_gradient(f, (M,), jit=jit)
