"""Arrays that each trip makes, fills and keeps: an item of a block, if nobody else sees them."""

from __future__ import annotations

import numpy as np
import pytest

from stgrad import value_and_grad
from stgrad.testing.gradients import check_gradient
from stgrad.testing.passes import run_pass


def test_a_finished_row_is_kept_in_a_block():
    before = """
def f(x: float64['n'], n: int('n')):
    s: float64[4] = stack()
    i: int
    for i in range(0, n, 1):
        t: float64[4] = np.empty((4,))
        push(s, t)
        v: float64 = x[i]
        t[0] = v
        t[1] = v
    i_2: int
    last: int = n - 1
    total: float64 = 0.0
    for i_2 in range(last, -1, -1):
        u: float64[4] = pop(s)
        w: float64 = u[0]
        total = total + w
    return total
"""
    after = run_pass("storage", before)
    assert "push" not in after and after.index("t[1] = v") < after.index("s[i] = t")


def best(x, y):
    """The largest of a few numbers, for each pair."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            options = np.array([x[i] * y[j], x[i] + y[j], x[i] - y[j] * y[j], 0.1])
            top = np.max(options)
            total += top * np.sum(np.exp(options - top))
    return total


def seen_later(x, y):
    """The row of one trip is changed in the next."""
    last = np.zeros(4)
    total = 0.0
    for i in range(x.shape[0]):
        row = np.empty(4)
        for k in range(4):
            row[k] = x[i] * y[k % 3]
        total += np.max(row) * np.sum(row * last)
        last[:] = last * row
        last[0] = 2.0 * x[i]
        last = row
    return total


def rewritten(x, y):
    """A row is read, written again, and read."""
    total = 0.0
    for i in range(x.shape[0]):
        row = np.empty(6)
        for k in range(6):
            row[k] = np.sin(x[i] * k)
        total += np.max(row) * np.sum(row * row)
        for k in range(6):
            row[k] = row[k] * row[k] + y[k % 3]
        total += np.max(row * row)
    return total


def carried_inside(x, y):
    """A loop inside of the trip reads what it writes later."""
    total = 0.0
    for i in range(x.shape[0]):
        row = np.empty(5)
        row[:] = x[i]
        for k in range(4):
            total += np.sum(np.cos(row)) * row[k]
            row[k + 1] = row[k] * y[k % 3]
    return total


@pytest.mark.parametrize("f", [best, seen_later, rewritten, carried_inside], ids=lambda f: f.__name__)
@pytest.mark.parametrize("jit", [False, True])
def test_gradients(f, jit):
    rng = np.random.default_rng(4)
    check_gradient(f, (rng.uniform(0.5, 1.5, 4), rng.uniform(0.2, 0.9, 3)), jit=jit)


def test_nothing_is_saved_of_what_a_new_array_held():
    text = value_and_grad(best, (0, 1)).lowered(np.ones(3), np.ones(2))
    assert ".append(" not in text and "old" not in text


def two_rows(x, y):
    """Two arrays of a trip, each read and then written."""
    total = 0.0
    for i in range(x.shape[0]):
        a = x[i] * y
        b = a * a + x[i]
        total += np.sum(np.sin(a) * b)
        a[1] = a[1] * b[0]
        b[2] = b[2] * a[1] * a[1]
        total += np.sum(a * a * b)
    return total


def pushed_by_a_tangent(w, x):
    s = 0.0
    for i in range(x.shape[0]):
        y = w @ x
        y[i] *= 2.0
        s += np.sum(y * y)
    return s


@pytest.mark.parametrize("jit", [False, True])
def test_two_arrays_of_a_trip(jit):
    rng = np.random.default_rng(5)
    check_gradient(two_rows, (rng.uniform(0.5, 1.5, 4), rng.uniform(0.2, 0.9, 3)), order=2, jit=jit)
    check_gradient(pushed_by_a_tangent, (rng.normal(size=(3, 3)), rng.normal(size=3)), order=2, jit=jit)


def test_a_row_that_its_own_block_takes_off_stays_where_it_is():
    """What is written behind the pop is written to what came off the list: the array is not kept later than that."""
    before = """
def f(x: float64['n'], n: int('n')):
    s: float64['n'] = stack()
    t: float64['n'] = np.copy(x)
    push(s, t)
    u: float64['n'] = pop(s)
    u[...] += x
    total: float64 = np.sum(u)
    return total
"""
    assert run_pass("storage", before).strip() == before.replace("    s: float64['n'] = stack()\n", "").replace(
        "push(s, t)", "s: float64['n'] = t"
    ).replace("pop(s)", "s").strip()
