"""Four trips at once of loops that add to the same elements: equal to the last bit, whatever the extents."""

from __future__ import annotations

import numpy as np
import pytest

from stgrad import jit, value_and_grad


def combine(w, x):
    y = np.ones(w.shape[1])
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[o] += x[c] * w[c, o]
    return y


def product(w, x):
    n, m = w.shape
    y = np.zeros((n, n))
    for i in range(n):
        for k in range(m):
            for j in range(n):
                y[i, j] += w[i, k] * w[j, k] + x[i]
    return y


def rebound(w, x):
    """A name that is bound twice in a trip."""
    y = np.ones(w.shape[1])
    for c in range(w.shape[0]):
        t = x[0]
        t = t * x[c]
        for o in range(w.shape[1]):
            y[o] += t * w[c, o]
    return y


def subtracts(w, x):
    y = np.ones(w.shape[1])
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[o] -= np.sin(x[c]) * w[c, o] * x[0]
    return y


JAMMED = [combine, product, subtracts]


def reads_what_it_adds_to(w, x):
    y = np.ones(w.shape[1] + 1)
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[o] += y[o + 1] * w[c, o]
    return y


def reads_a_view(w, x):
    y = np.ones(w.shape[1] + 1)
    z = y[1:]
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[o] += z[o] * w[c, o]
    return y


def moves(w, x):
    """Another element in each trip, or a loop whose length moves."""
    y = np.ones((w.shape[0], w.shape[1]))
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[c, o] += x[c] * w[c, o]
    for c in range(w.shape[0]):
        for o in range(min(c, w.shape[1])):
            y[0, o] += x[c] * w[c, o]
    return y


def one_element(w, x):
    y = np.ones(3)
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[1] += x[c] * w[c, o]
    return y


def needed_behind(w, x):
    y = np.ones(w.shape[1])
    last = 0.0
    for c in range(w.shape[0]):
        last = x[c]
        for o in range(w.shape[1]):
            y[o] += last * w[c, o]
    return y * last


KEPT = [rebound, reads_what_it_adds_to, reads_a_view, moves, one_element, needed_behind]


def arguments(n, m):
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, m)), rng.standard_normal(n)


def plainly(f, *args):
    """The generated program, run by Python."""
    space: dict[str, object] = {}
    exec(jit(f).lowered(*args), space)
    return space[f.__name__](*args)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 13])
@pytest.mark.parametrize("f", [*JAMMED, *KEPT], ids=lambda f: f.__name__)
def test_results_are_the_same_bits(f, n):
    args = arguments(n, 3)
    ours = plainly(f, *args)
    if f in (subtracts, one_element):  # vector functions, reassociated sums
        np.testing.assert_allclose(ours, f(*args), rtol=1e-13)
    else:
        np.testing.assert_array_equal(ours, f(*args))


def test_no_trips():
    np.testing.assert_array_equal(plainly(combine, np.ones((0, 3)), np.ones(0)), np.ones(3))
    assert plainly(combine, np.ones((5, 0)), np.ones(5)).shape == (0,)


def test_which_loops_are_jammed():
    args = arguments(5, 3)
    assert all("- 3, 4)" in jit(f).lowered(*args) for f in JAMMED)
    assert not [f.__name__ for f in KEPT if "- 3, 4)" in jit(f).lowered(*args)]


def test_single_precision_rounds_after_each_addition():
    w, x = (a.astype(np.float32) for a in arguments(9, 3))
    np.testing.assert_array_equal(plainly(combine, w, x), combine(w, x))


@pytest.mark.parametrize("f", JAMMED, ids=lambda f: f.__name__)
def test_compiled_gradients(f):
    args = arguments(7, 3)

    def total(w, x):
        y = f(w, x)
        return np.sum(y * y)

    compiled, plain = (value_and_grad(total, (0, 1), jit=how)(*args) for how in (True, False))
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-13)
    for ours, theirs in zip(compiled[1], plain[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
