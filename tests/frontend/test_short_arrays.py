"""Slices that leave out more than an array has: NumPy's result, or an error that names the slice; never another number."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def joined_tail(x):
    return np.sum(np.concatenate((x[1:], np.ones(1))) ** 2)


def joined_middle(x):
    return np.sum(np.concatenate((np.zeros(1), x[1:-1], np.ones(1))) ** 2)


def appended(x):
    return np.sum(np.append(x[2:], 1.0) ** 2)


def counted(x):
    return np.sum(x) * len(x[2:])


def refilled(x):
    return np.sum(np.ones(len(x[1:]) + 1)) + np.sum(x)


def in_a_branch(x):
    total = np.sum(x)
    if total > -1.0:
        total = total + len(x[2:])
    return total


def guarded(x):
    if x.shape[0] > 2:
        return np.mean(x[2:])
    return np.sum(x)


def joined_positions(x):
    return np.sum(np.concatenate((np.arange(len(x) - 1) * 1.0, np.ones(1)))) + np.sum(x)


def joined_selection(x):
    y = x[x > 0]
    return np.sum(np.concatenate((y[2:], np.ones(2))) ** 2)


def counted_selection(x):
    y = x[x > 0]
    return np.sum(y) + np.sum(np.ones(len(y[2:]) + 2) * 3.0)


def grown(x):
    y = []
    for v in x[1:]:
        if v > 0:
            y.append(v * v)
    return sum(y) + len(y[2:])


def stencil(x):
    return np.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2) + np.sum(x)


PROGRAMS = [joined_tail, joined_middle, appended, counted, refilled, in_a_branch, guarded, joined_positions]
COMPUTED = [joined_selection, counted_selection, grown, stencil]


def agrees(function, size, *, jit):
    """Whether a program gives NumPy's value and gradient."""
    x = 0.7 * np.arange(1.0, size + 1)
    value, _ = stgrad.value_and_grad(function, jit=jit)(x)
    if size:
        check_gradient(function, [x])
    return np.isclose(value, function(x))


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("function", PROGRAMS)
def test_short_arguments(function, size):
    assert agrees(function, size, jit=False)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("function", COMPUTED)
def test_short_arrays_that_the_program_makes(function, size):
    assert agrees(function, size, jit=False)


@pytest.mark.parametrize("function", [joined_tail, in_a_branch, counted_selection])
def test_short_arrays_in_native_code(function):
    for size in (0, 1, 2, 3):
        assert agrees(function, size, jit=True)


def test_a_mean_of_nothing():
    """As in NumPy."""
    value, gradient = stgrad.value_and_grad(lambda x: np.mean(x[2:]))(np.ones(1))
    assert np.isnan(value) and gradient == 0.0



def differences(x):
    return np.sum(np.diff(x) ** 2) + np.linalg.norm(x[1:]) ** 2


@pytest.mark.parametrize("function", [stencil, differences])
def test_loops_alone_ask_for_nothing(function):
    assert "raise" not in stgrad.grad(function).lowered(np.ones(5))


def tail_or_whole(x, d):
    if d > 0.5:
        pass
    else:
        x = x[1:]
    return np.sum(x * x)


def tail_beside_the_whole(x, n):
    return np.sum((x[1:] + x)[n] * x)


def negated_twice(x, n):
    if not not n < 0:
        return x * 2.0
    return np.sqrt(abs(x)) * n


@pytest.mark.parametrize("jit", [False, True])
def test_a_tail_on_one_path(jit):
    """Of no items, the tail has none either."""
    for size in (0, 1, 3):
        x = np.arange(1.0, size + 1)
        for d in (0.0, 1.0):
            kept = x if d else np.append(0.0, x[1:])[: len(x)]
            np.testing.assert_allclose(stgrad.grad(tail_or_whole, jit=jit)(x, d), 2 * kept)


@pytest.mark.parametrize("jit", [False, True])
def test_extents_of_one_array_that_differ_are_broadcast(jit):
    check_gradient(tail_beside_the_whole, (np.array([0.3, 0.8]), 1), jit=jit)
    with pytest.raises(ValueError, match="broadcast"):
        stgrad.grad(tail_beside_the_whole, jit=jit)(np.ones(4), 1)


def test_a_comparison_negated_twice():
    check_gradient(negated_twice, (1.3, 2))


def shifted_over_itself(x):
    v = x[1:]
    return np.sum(x * v) + np.sum(np.sin(v))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_extents_that_are_equal_where_there_are_no_items(n, jit):
    """n and n - 1 are one extent for n = 0, and stretch for n = 1 and n = 2."""
    check_gradient(shifted_over_itself, (np.arange(n) + 0.5,), order=1, jit=jit)


def too_short_for_the_other(x, a):
    b = x[:-1] * a
    return np.sum(b) + np.sum(x)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
def test_extents_that_agree_by_chance_alone(jit):
    """`x[:-1]` of nothing has as many items as an empty row has, but x has not one more."""
    by_x, by_a = stgrad.grad(too_short_for_the_other, (0, 1), jit=jit)(np.zeros(0), np.zeros((1, 0)))
    assert by_x.shape == (0,) and by_a.shape == (1, 0)
    assert stgrad.jit(too_short_for_the_other)(np.zeros(0), np.zeros((1, 0))) == 0.0


def one_behind_an_ellipsis(x):
    return np.sum(x[..., 1:2] ** 2) + np.sum(x[..., -1:] * 3.0) + np.sum(x[..., -3:-2] * x[..., :1])


def written_behind_an_ellipsis(x):
    y = x * 2.0
    y[..., -2:-1] += x[..., 1:2]
    return np.sum(y * y)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [one_behind_an_ellipsis, written_behind_an_ellipsis])
def test_slices_of_one_item_behind_an_ellipsis(function, jit):
    derivative = stgrad.value_and_grad(function, jit=jit)
    for shape in ((3,), (0,), (2,), (1,), (2, 0), (2, 1), (2, 4)):
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        value, gradient = derivative(x)
        assert value == function(x)
        assert gradient.shape == shape
        if np.size(x):
            check_gradient(function, (x,), jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_a_numerical_gradient_of_too_few(jit):
    def slopes(x, n):
        return np.sum(np.gradient(x[:n]) ** 2)

    derivative = stgrad.grad(slopes, jit=jit)
    x = np.array([1.0, 3.0, 2.0])
    for n in (1, 0):
        with pytest.raises(ValueError, match="too small to calculate a numerical gradient"):
            derivative(x, n)
    check_gradient(slopes, (x, 2), jit=jit)
    with pytest.raises(stgrad.errors.ShapeError, match="too many indices"):
        stgrad.grad(lambda x: x[..., 0, 1], jit=jit)(x)
