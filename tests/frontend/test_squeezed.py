"""`np.squeeze`, and truth values, of arrays of which only the running program knows whether they have one item."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.errors import TypeInferenceError

X = np.array([0.3, 0.5, 0.6, 0.7])


def stacked(q):
    """(4, 2) for one row, (n, 4, 2) for more."""
    rows = q.reshape((-1, 4))
    made = np.zeros((len(rows), 4, 2)) + np.sin(rows)[:, :, None]
    return np.sum(made.squeeze()[0] ** 2)


def counted(x, n):
    made = np.zeros((n, 4)) + x
    return np.sum(np.squeeze(made)[0] * x)


def masked(x):
    rows = x[x > 0.4][None, :] * np.ones((3, 1))
    return np.sum(np.squeeze(rows).ndim * x**2)


def of_two(x, n, m):
    made = np.zeros((n, m, 4)) + x
    return np.sum(np.squeeze(made)[0] ** 2)


def by_rank(x, n):
    """What follows holds for one of both ranks alone."""
    m = (np.zeros((n, 4)) + x).squeeze()
    return m[0] * m[1] if m[0] > 0.1 else m[2]


def named(x, n):
    y = x.reshape((n, -1))
    z = np.squeeze(y, axis=0) if n == 1 else 3.0 * y
    return np.sum(z[0] ** 2)


def behind_a_write(x, n):
    y = x[:n] * 1.0
    y[0] = x[1] ** 2
    return np.sum(np.squeeze(y) * x[1])


CALLS = [
    (stacked, (X,)),
    (stacked, (np.append(X, X),)),
    (counted, (X, 1)),
    (counted, (X, 2)),
    (masked, (X,)),
    (masked, (np.array([0.1, 0.2, 0.6]),)),
    (of_two, (X, 1, 1)),
    (of_two, (X, 2, 1)),
    (of_two, (X, 1, 3)),
    (of_two, (X, 2, 3)),
    (by_rank, (X, 1)),
    (named, (X, 1)),
    (named, (X, 2)),
    (behind_a_write, (X, 1)),
    (behind_a_write, (X, 3)),
]


@pytest.mark.parametrize(("f", "args"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_axes_of_one_item_are_dropped_as_the_program_runs(f, args):
    assert stgrad.jit(f)(*args) == pytest.approx(f(*args))
    check_gradient(f, args, order=2 if f in (counted, by_rank) else 1)
    np.testing.assert_allclose(stgrad.grad(f, jit=True)(*args), stgrad.grad(f, jit=False)(*args), rtol=1e-12)


def test_one_gradient_serves_both():
    gradient = stgrad.grad(counted, jit=True)
    for n in (2, 1, 3, 1):
        np.testing.assert_allclose(gradient(X, n), stgrad.grad(lambda x, n=n: counted(x, n), jit=False)(X), rtol=1e-12)


def test_a_named_axis_of_more_items_raises_what_numpy_raises():
    with pytest.raises(ValueError, match="size not equal to one"):
        stgrad.grad(lambda x, n: np.sum(np.squeeze(x.reshape((n, -1)), axis=0)))(X, 2)


def test_the_first_trip_of_a_loop_may_find_an_axis_more():
    def f(x, n, trips):
        s = np.zeros((n, 4))
        for _ in range(trips):
            s = np.squeeze(s) + x
        return np.sum(s**2)

    np.testing.assert_allclose(stgrad.grad(f, jit=True)(X, 1, 3), 18.0 * X)


# --------------------------------------------------------------------------- truth values


def asked(x, n):
    y = x[:n]
    return np.sum(x**2) if y > 0.2 and not y > 5.0 else np.sum(x)


def column(x):
    return np.sum(x**2) if x[:, 0] > 0.1 else np.sum(x)


@pytest.mark.parametrize(("f", "args"), [(asked, (X, 1)), (column, (X[None],))])
def test_one_item_has_a_truth_value(f, args):
    check_gradient(f, args)
    np.testing.assert_allclose(stgrad.grad(f, jit=True)(*args), 2.0 * args[0])


def test_several_items_have_none():
    with pytest.raises(ValueError, match="truth value of an array is ambiguous"):
        stgrad.grad(asked)(X, 2)
    with pytest.raises(TypeInferenceError, match=r"np\.any"):
        stgrad.grad(column, jit=True)(X.reshape(2, 2))
