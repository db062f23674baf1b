"""Positions that may be outside of an array raise IndexError where NumPy does, before memory is touched; others cost nothing."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def constant(x, n):
    return x[5] * x[0]


def from_the_end(x, n):
    return x[-3] * x[-1]


def argument(x, n):
    return x[n] ** 2


def shifted(x, n):
    s = 0.0
    for i in range(n):
        s += x[i + 2] * x[i]
    return s


def backwards(x, n):
    s = 0.0
    for i in range(n - 1, -1, -1):
        s += x[i] * x[i - 1]
    return s


def filled(x, n):
    y = np.zeros(3)
    for i in range(n):
        y[i] = x[0] * i
    return np.sum(y**2)


def windows(x, n):
    s = 0.0
    for i in range(n):
        for k in range(3):
            s += x[i + k] ** 2
    return s


def rows(x, n):
    a = np.outer(x, x)
    s = 0.0
    for i in range(n):
        row = a[i]
        s += row[2] * a[0, i]
    return s


def added_to(x, n):
    y = x * 1.0
    for i in range(n):
        y[i + 1] += x[i] * x[i]
    return np.sum(y)


def gathered(x, n):
    p = np.arange(7)
    return x[p[n]] ** 2


PROGRAMS = [constant, from_the_end, argument, shifted, backwards, filled, windows, rows, added_to, gathered]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(function):
    """For every size and number of trips: the same value, or IndexError where NumPy raises it."""
    g = stgrad.value_and_grad(function, jit=False)
    for size in (2, 3, 5, 6):
        x = np.linspace(0.5, 1.5, size)
        for n in (-7, -3, -1, 0, 1, 2, 3, 4, 5, 6):
            try:
                right = function(x, n)
            except IndexError:
                with pytest.raises(IndexError, match="is out of bounds for axis 0"):
                    g(x, n)
            else:
                assert np.isclose(g(x, n)[0], right), (size, n)


@pytest.mark.parametrize("function", [constant, shifted, added_to], ids=lambda f: f.__name__)
def test_compiled_and_of_second_order(function):
    for made in (stgrad.grad(function), stgrad.grad(lambda x, n: np.sum(stgrad.grad(function)(x, n) ** 2))):
        with pytest.raises(IndexError, match=r"out of bounds for axis 0 of `[xy].*line \d+: "):
            made(np.ones(2), 3)
    assert np.all(np.isfinite(stgrad.grad(function)(np.ones(7), 3)))


def proved(x, n):
    s = 0.0
    for i in range(1, x.shape[0] - 1):
        s += x[i - 1] * x[i + 1]
    for i in range(len(x)):
        s += x[i] * x[0] * x[-1]
    return s


def in_branches(x, n):
    s = x[0] if x.shape[0] > 0 else 0.0
    if x.shape[0] > 6:
        s += x[6]
    k = 0
    while k < x.shape[0]:
        s -= x[k]
        k += 1
    for i in range(n):
        if i < len(x):
            s += x[i]
    return s + np.sum(x)


@pytest.mark.parametrize("function", [proved, in_branches])
def test_positions_that_are_not_tested(function):
    assert "IndexError" not in stgrad.grad(function).lowered(np.ones(3), 2)


def early_return(x):
    if x.shape[0] < 4:
        return np.sum(x)
    return x[3] * x[0]


def own_error(x):
    if x.shape[0] < 4:
        raise ValueError("too short")
    return x[5] * x[0]


def test_tests_stand_after_what_may_leave_the_function():
    assert stgrad.grad(early_return, jit=False)(np.ones(2)).tolist() == [1.0, 1.0]
    g = stgrad.grad(own_error, jit=False)
    with pytest.raises(ValueError, match="too short"):
        g(np.ones(2))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        g(np.ones(5))


def test_of_tests_that_imply_each_other_one_is_left():
    def several(x):
        return x[0] * x[1] + x[4] * x[2] + x[-2]

    assert stgrad.grad(several).lowered(np.ones(5)).count("IndexError") == 1


def test_known_extents_are_refused_at_once():
    with pytest.raises(stgrad.errors.PositionError, match="index 3 is out of bounds for axis 0 of `y`"):

        def past_the_end(x):
            y = np.zeros(3)
            y[0] = x
            return y[3]

        stgrad.grad(past_the_end, jit=False)(1.0)


# ------------------------------------------------------------------ conditions, `while` loops, positions that are values


def to_the_end(v, n):
    a, i = np.zeros(4), 0
    while i < n:
        a[i] = v
        i += 1
    return np.sum(a * a)


def guarded(v, n):
    a, i = np.zeros(4), 0
    while i < n and i < len(a):
        a[i] = v
        i += 1
    return np.sum(a * a)


def far(v, n):
    a = np.zeros(4)
    for i in range(n):
        a[i * 300_000_000] = v
    return np.sum(a * a)


def far_from_the_end(v, n):
    a, k = np.zeros(4), 0
    while a[k] == 0.0:
        a[k] = v
        k -= n
    return np.sum(a * a)


def in_a_branch(v, n):
    a = np.zeros(4)
    for i in range(8):
        if i < n:
            a[i] = v * i
    return np.sum(a * a)


def triangle(v, n):
    a, s = np.ones((4, 5)) * v, 0.0
    for i in range(n):
        for j in range(i, n + 1):
            s += a[i, j]
    return s


def reversed_triangle(v, n):
    a, s = np.ones(4) * v, 0.0
    for i in range(n):
        for j in range(n - i - 2):
            s += a[i + j]
    return s


def flattened(v, n):
    a, s = np.ones(12) * v, 0.0
    for i in range(n):
        for j in range(n):
            s += a[i * n + j]
    return s


def loaded(v, n):
    a, at = np.ones(4) * v, np.array([0, 3, -4, 1, 4])
    s = 0.0
    for k in range(n):
        s += a[at[k]]
    return s


def by_array(v, n):
    a, at = np.ones(4) * v, np.array([0, 3, -4, 1])
    return np.sum(a[at + n])


def written_by_array(v, n):
    a, at = np.zeros(4), np.array([0, 3, -4, 1])
    a[at - n] = v
    return np.sum(a * a)


def added_by_array(v, n):
    a, at = np.zeros(4), np.array([0, 3, 2, 1])
    np.add.at(a, at + n, v)
    return np.sum(a * a)


def taken(v, n):
    return np.sum(np.take(np.ones(4) * v, np.array([0, 2]) + n))


def halved(v, n):
    a, s, k = np.ones(4) * v, 0.0, n
    while k > 0:
        s += a[k // 2]
        k -= 2
    return s


def growing(v, n):
    a, s = [v], 0.0
    for _ in range(n):
        a.append(v * len(a))
    for k in range(2 * n):
        s += a[k]
    return s


def wrong_mask(v, n):
    a = np.ones(4) * v
    keep = np.arange(n + 2) > 0
    return np.sum(a[keep])


def before_an_error(v, n):
    a, s = np.ones(4) * v, 0.0
    for i in range(n):
        if i == 4:
            raise ValueError("four")
        s += a[i]
    return s


CONDITIONAL = [
    to_the_end, guarded, far, far_from_the_end, in_a_branch, triangle, reversed_triangle, flattened, loaded, by_array, written_by_array,
    added_by_array, taken, halved, growing, wrong_mask, before_an_error,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("function", CONDITIONAL, ids=lambda f: f.__name__)
def test_as_python(function, jit):
    """For every number of trips: the same value and derivative, or Python's exception; no memory that is not the array's."""
    g = stgrad.value_and_grad(function, jit=jit)
    for n in (0, 1, 2, 3, 4, 5, 6, 9):
        try:
            right = function(1.5, n)
        except (IndexError, ValueError) as problem:
            with pytest.raises(type(problem)):
                g(1.5, n)
        else:
            value, slope = g(1.5, n)
            assert np.isclose(value, right), n
            assert np.isclose(slope, (function(1.5 + 1e-6, n) - function(1.5 - 1e-6, n)) / 2e-6, atol=1e-6), n


def test_of_second_order_in_a_while_loop():
    h = stgrad.grad(stgrad.grad(to_the_end))
    assert np.isclose(h(1.5, 4), 8.0)
    with pytest.raises(IndexError):
        h(1.5, 5)


def test_without_tests():
    assert "IndexError" in stgrad.grad(to_the_end).lowered(1.5, 2)
    assert "IndexError" not in stgrad.grad(to_the_end, checked=False).lowered(1.5, 2)
    assert "IndexError" not in stgrad.jit(to_the_end, checked=False).lowered(1.5, 2)


@pytest.mark.parametrize("function", [guarded, proved, halved], ids=lambda f: f.__name__)
def test_what_conditions_prove(function):
    arguments = (np.ones(3), 2) if function is proved else (1.5, 2)
    text = stgrad.grad(function).lowered(*arguments)
    assert ("IndexError" in text) == (function is halved), text
    assert "< -" not in text


# ------------------------------------------------------------------ positions that count from the end of what is shorter than its base


def of_a_slice(x, n):
    y = x[:3]
    return y[n] * y[n]


def of_a_computed_slice(x, n):
    y = x[:3] * 2.0
    return y[n]


def of_an_outer_product(x, n):
    return np.outer(x[:3], x)[n, 1]


def of_a_reversed_array(x, n):
    y = x[::-1]
    return y[n] * y[n]


def array_of_positions(x, n):
    return np.sum(x[:3][np.array([0, -1, n])] ** 2)


def array_of_positions_of_a_product(x, n):
    y = x[:3] * x[1:4]
    return np.sum(y[np.array([0, -1, n])] * 2.0)


def written_to_a_slice(x, n):
    y = x * 2.0
    z = y[1:4]
    z[n] = 3.0 * x[0]
    return np.sum(y * y)


SHORTER = [
    of_a_slice, of_a_computed_slice, of_an_outer_product, of_a_reversed_array, array_of_positions, array_of_positions_of_a_product,
    written_to_a_slice,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("function", SHORTER, ids=lambda f: f.__name__)
def test_negative_positions(function, jit):
    x = np.linspace(0.5, 1.2, 5)
    g = stgrad.value_and_grad(function, jit=jit)
    for n in (-3, -1, 0, 2):
        value, slope = g(x, n)
        assert np.isclose(value, function(x, n)), n
        right = [(function(x + 1e-6 * e, n) - function(x - 1e-6 * e, n)) / 2e-6 for e in np.eye(5)]
        assert np.allclose(slope, right, atol=1e-6), n


def packed(a, x):
    """A product with a triangle that is stored row after row."""
    n = len(x)
    s = 0.0
    for j in range(n):
        q = 0.0
        for i in range(j):
            q += a[j * (j - 1) // 2 + i] * x[i]
        s += q * q
    return s


def test_a_position_with_a_square_in_it_is_tested_before_the_innermost_loop():
    a, x = np.arange(1.0, 7.0), np.array([0.5, 1.0, -2.0, 3.0])
    text = stgrad.grad(packed, argnums=(0, 1)).lowered(a, x)
    inner = text[text.index("for i in range(j):") :]
    assert "raise" not in inner[: inner.index("s +=")]
    check_gradient(packed, (a, x), argnums=(0, 1), jit=True)
    for jit in (True, False):
        with pytest.raises(IndexError):
            stgrad.grad(packed, jit=jit)(a[:5], x)


def test_a_loop_without_trips_tests_nothing():
    def flat(a, n, m):
        s = 0.0
        for i in range(n):
            for j in range(m):
                s += a[i * 1000 + j * 7] ** 2
        return s

    a = np.arange(10.0)
    for jit in (True, False):
        gradient = stgrad.grad(flat, jit=jit)
        np.testing.assert_array_equal(gradient(a, 5, 0), np.zeros(10))
        np.testing.assert_array_equal(gradient(a, 1, 2), np.where(np.arange(10) % 7 == 0, 2.0 * a, 0.0))
        with pytest.raises(IndexError):
            gradient(a, 2, 1)


def in_branches(r, gamma, w):
    s = 0.0
    for i in range(len(r)):
        if r[i] < 0.0:
            s += gamma[i] * r[i] * w[2 * i + 1]
        else:
            for k in range(i):
                if w[k] > 0.5:
                    s += gamma[k + 1] * w[k]
    return s


def test_a_test_in_a_branch_stands_under_what_is_known_before_the_loops() -> None:
    r, gamma, w = np.array([-1.0, 2.0, -3.0, 4.0]), np.arange(1.0, 5.0), np.linspace(0.2, 0.9, 8)
    text = stgrad.jit(in_branches).lowered(r, gamma, w)
    head = text[: text.index("for i in")]
    assert head.count("> gamma.shape[0]") == 1 and head.count("> w.shape[0]") == 1
    check_gradient(in_branches, (r, gamma, w))
    for program in (stgrad.jit(in_branches), stgrad.grad(in_branches, jit=True)):
        for short in ((r, gamma[:2], w), (r, gamma, w[:5])):
            with pytest.raises(IndexError):
                in_branches(*short)
            with pytest.raises(IndexError, match="out of bounds for axis 0"):
                program(*short)
        program(np.array([-1.0, -2.0, 2.0]), gamma[:2], w[[0, 1, 2, 3]] * 0.0)  # the third item of gamma is never asked for


def shifted_grid(u, h, steps):
    n, m = h.shape
    u, h = u.copy(), h.copy()
    for _ in range(steps):
        for i in range(1, n):
            for j in range(m):
                u[i, j] -= 0.1 * (h[i, j] - h[i - 1, j])
        for i in range(n):
            for j in range(m):
                east = u[i + 1, j] if i < n - 1 else 0.0
                h[i, j] -= 0.1 * (east - u[i, j])
    return np.sum(h**2)


def test_tests_at_the_start_prove_positions_in_branches() -> None:
    u, h = np.random.default_rng(0).normal(size=(2, 4, 3))
    text = stgrad.jit(shifted_grid).lowered(u, h, 2)
    assert "raise" not in text[text.index("for t in") :]
    check_gradient(shifted_grid, (u, h, 2))
    with pytest.raises(IndexError):
        stgrad.jit(shifted_grid)(u[:3], h, 2)
