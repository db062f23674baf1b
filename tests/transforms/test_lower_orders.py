"""Loops whose trips commute run up; where the order of trips counts it stays."""

from __future__ import annotations

import numpy as np
import pytest

from stgrad import value_and_grad


def convolution(x, w):
    n, m = w.shape
    total = 0.0
    for j in range(x.shape[0] - n):
        out = np.zeros(m)
        for c in range(n):
            for o in range(m):
                out[o] += x[j + c] * w[c, o]
        for o in range(m):
            total += out[o] * out[o]
    return total


def rows_of_one_matrix(x, w):
    """Two rows of one array, or one row twice, move together."""
    y = w.copy()
    for i in range(w.shape[0] - 1, -1, -1):
        for j in range(w.shape[0] - 1, i - 1, -1):
            for k in range(w.shape[1] - 1, -1, -1):
                y[i, k] += 0.1 * y[j, k] * x[k]
                y[j, k] *= 1.5
    return np.sum(y * y)


def last_one_stays(x, w):
    """All trips write to one element."""
    y = np.zeros((2, w.shape[1]))
    for i in range(w.shape[0] - 1, -1, -1):
        for k in range(w.shape[1]):
            y[1, k] = w[i, k] * x[i]
    return np.sum(y * y)


def stale_position(x, w):
    """A position from an earlier loop over a counter of the same name stands still."""
    y = np.zeros(x.shape[0] + 1)
    at = 0
    for i in range(w.shape[0]):
        at = i + 1
    for i in range(w.shape[0] - 1, -1, -1):
        y[at] = x[i]
        for k in range(w.shape[1]):
            y[k] = y[k] + w[i, k] * y[at]
    return np.sum(y * y)


def reads_sums(x, w):
    """A trip reads what the ones before added."""
    y = np.ones(w.shape[1])
    for i in range(w.shape[0] - 1, -1, -1):
        s = y[i]
        for k in range(w.shape[1]):
            y[k] += s * w[i, k]
    return np.sum(y * x[: w.shape[1]])


def hands_on(x, w):
    """A number goes from trip to trip, through an inner loop that may have none."""
    s = 1.0
    y = np.zeros(w.shape[1])
    for i in range(w.shape[0] - 1, -1, -1):
        for k in range(i):
            s = x[k] * w[i, k]
        for k in range(w.shape[1]):
            y[k] += s * w[i, k]
    return np.sum(y * y)


def needed_behind(x, w):
    """What the last trip leaves is read."""
    y = np.zeros(w.shape[1])
    last = 0.0
    for i in range(w.shape[0] - 1, -1, -1):
        last = x[i]
        for k in range(w.shape[1]):
            y[k] += last * w[i, k]
    return np.sum(y * y) * last


def through_a_view(x, w):
    """Two names for one memory, shifted."""
    y = np.zeros(w.shape[1] + 1)
    z = y[1:]
    for i in range(w.shape[0] - 1, -1, -1):
        for k in range(w.shape[1]):
            y[k] += x[i] * w[i, k]
        for k in range(w.shape[1]):
            z[k] = z[k] * 0.5 + w[i, k]
    return np.sum(y * y)


def under_branches(x, w):
    y = np.zeros((w.shape[0], w.shape[1]))
    for i in range(w.shape[0] - 1, -1, -1):
        if x[i] > 0.5:
            for k in range(w.shape[1]):
                y[i, k] = w[i, k] * x[k]
        else:
            for k in range(w.shape[1]):
                y[i, k] += x[i]
    return np.sum(y * y)


def triangle(x, w):
    """Row after row, as factorisations go."""
    n = w.shape[0]
    y = np.zeros((n, n))
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = w[i, j]
            for k in range(j):
                s -= y[i, k] * y[j, k]
            y[i, j] = s * x[j]
            total += y[i, j]
    return total


def from_both_ends(x, w):
    """Trips meet the same elements, once from the start and once from the end."""
    n = w.shape[0]
    y = w[0].copy()
    for i in range(n - 1, -n - 1, -1):
        y[i] = y[i] * y[i] + x[(i + n) % n]
    return np.sum(y * y)


def to_the_end(x, w):
    y = w[0].copy()
    for i in range(-4, 4):
        y[i] = np.sin(y[i]) * w[1, i] + w[2, i] * x[0]
    return np.sum(y * y)


def ragged(x, w):
    """Rows of a sparse matrix: tests of extents in each trip, and a sum from trip to trip."""
    total = 0.0
    for i in range(2):
        picked = np.arange(i, 2 * i + 3)
        values = w[0, i : 2 * i + 3]
        total += x[4] * (values @ x[picked[: len(values)]])
    return total * total


PROGRAMS = [
    ragged,
    from_both_ends, to_the_end, triangle, convolution, rows_of_one_matrix, last_one_stays, stale_position, reads_sums, hands_on, needed_behind, through_a_view,
    under_branches
]  # fmt: skip


def arguments():
    rng = np.random.default_rng(3)
    return rng.uniform(0.1, 1.0, 5), rng.uniform(-1.0, 1.0, (4, 4))


def differences(f, args, step=1e-6):
    """Central differences in every element."""
    bars = [np.zeros_like(a) for a in args]
    for a, bar in zip(args, bars, strict=True):
        for at in np.ndindex(a.shape):
            kept = a[at]
            a[at] = kept + step
            above = f(*args)
            a[at] = kept - step
            bar[at] = (above - f(*args)) / (2 * step)
            a[at] = kept
    return bars


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    args = arguments()
    value, bars = value_and_grad(f, (0, 1), jit=False)(*args)
    assert value == pytest.approx(f(*args), rel=1e-12)
    for bar, expected in zip(bars, differences(f, args), strict=True):
        np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)


def test_commuting_loops_of_the_reverse_sweep_run_up():
    args = arguments()
    assert "for c in range(n):" in value_and_grad(convolution, (0, 1)).lowered(*args).split("# grad of")[1]
    assert value_and_grad(triangle, 1).lowered(*args).count("for k in range(j):") == 2


def sparse(rows, cols, vals, x):
    y = np.empty(rows.size - 1)
    for i in range(rows.size - 1):
        y[i] = vals[rows[i] : rows[i + 1]] @ x[cols[rows[i] : rows[i + 1]]]
    return np.sum(y * y)


def test_rows_that_follow_one_another_are_walked_upwards_and_read_in_place():
    rows, cols = np.array([0, 2, 2, 5]), np.array([1, 0, 2, 2, 0])
    vals, x = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0.5, -1.0, 2.0])
    gradient = value_and_grad(sparse, (2, 3))
    text = gradient.lowered(rows, cols, vals, x)
    assert ", -1, -1)" not in text
    assert text.count("runtime.empty(") == 4  # y, its cotangent and the two results: what is gathered is not kept
    value, (vals_bar, x_bar) = gradient(rows, cols, vals, x)
    dense = np.zeros((3, 3))
    np.add.at(dense, (np.repeat(np.arange(3), np.diff(rows)), cols), vals)
    y = dense @ x
    assert value == pytest.approx(y @ y)
    np.testing.assert_allclose(x_bar, 2.0 * dense.T @ y)
    np.testing.assert_allclose(vals_bar, 2.0 * y[np.repeat(np.arange(3), np.diff(rows))] * x[cols])
    with pytest.raises(ValueError, match="broadcast"):
        gradient(rows, cols, vals[:4], x)


def test_others_run_as_they_are_written():
    args = arguments()
    for f in (last_one_stays, stale_position, reads_sums, hands_on, needed_behind):
        text = value_and_grad(f, (0, 1)).lowered(*args)
        assert "_down in range(" in text or "- 1, -1, -1)" in text, f.__name__


def test_compiled():
    args = arguments()
    for f in (convolution, rows_of_one_matrix):
        plain, compiled = value_and_grad(f, (0, 1), jit=False)(*args), value_and_grad(f, (0, 1))(*args)
        np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-13)
        for ours, theirs in zip(compiled[1], plain[1], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
