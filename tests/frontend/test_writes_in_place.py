"""Which numbers, and how many axes, NumPy lets `a += v`, `out=` and np.copyto write to an array; what it raises for is refused."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad.errors import ShapeError, TypeInferenceError
from tests.thorough import check_gradient

X = np.array([0.5, 1.2, -0.7])


def added_to_integers(x):
    total = np.zeros(3, dtype=int)
    total += x
    return np.sum(total * x)


def slice_of_integers(x):
    total = np.zeros(3, dtype=int)
    total[1:] += x[1:]
    return np.sum(total * x)


def picked_integers(x):
    total = np.arange(3)
    total[[0, 2]] *= x[:2]
    return np.sum(total * x)


def divided_integers(x):
    total = np.arange(3)
    total /= 2
    return np.sum(total * x)


def counted_flags(x):
    flags = x > 0.0
    flags += 1
    return np.sum(flags * x)


def complex_into_floats(x):
    y = x.copy()
    y += 1j * x
    return np.sum(y)


def without_axes(x):
    total = np.array(1)
    total += x[0]
    return total * x[1]


def into_integers(x):
    y = np.zeros(3, dtype=int)
    np.add(x, 1.0, out=y)
    return np.sum(y * x)


def into_integers_where(x):
    y = np.zeros(3, dtype=int)
    np.sqrt(x, out=y, where=x > 0.0)
    return np.sum(y * x)


def parts_into_integers(x):
    whole = np.zeros(3, dtype=int)
    np.modf(x, out=(None, whole))
    return np.sum(whole * x)


def copied_to_integers(x):
    y = np.arange(3)
    np.copyto(y, x)
    return np.sum(y * x)


def masked_into_integers(x):
    y = np.arange(3)
    np.putmask(y, x > 0.0, x)
    return np.sum(y * x)


def placed_in_integers(x):
    y = np.arange(3)
    np.place(y, x > 0.0, x)
    return np.sum(y * x)


@pytest.mark.parametrize(
    "f",
    [added_to_integers, slice_of_integers, picked_integers, divided_integers, counted_flags, complex_into_floats, without_axes, into_integers,
     into_integers_where, parts_into_integers, copied_to_integers, masked_into_integers, placed_in_integers],
)  # fmt: skip
def test_numbers_of_another_kind_are_refused(f):
    with pytest.raises(TypeError, match=r"[Cc]ast"):
        f(X.copy())
    with pytest.raises(TypeInferenceError, match="NumPy raises a TypeError there") as found:
        stgrad.grad(f, jit=True)(X)
    assert "test_writes_in_place.py" in str(found.value)
    with pytest.raises(TypeError):
        stgrad.grad(f, jit=False)(X)


def rows_into_a_vector(x):
    y = np.ones(3)
    y *= np.ones((1, 3)) * x
    return np.sum(y)


def sum_into_rows(x):
    y = np.zeros((3, 3))
    np.sum(np.outer(x, x), axis=0, out=y)
    return np.sum(y)


def sum_into_items(x):
    y = np.zeros(3)
    np.sum(x, out=y)
    return np.sum(y)


@pytest.mark.parametrize("f", [rows_into_a_vector, sum_into_rows, sum_into_items])
def test_other_numbers_of_axes_are_refused(f):
    with pytest.raises(ValueError):  # noqa: PT011  (NumPy says it in three ways)
        f(X.copy())
    with pytest.raises(ShapeError, match="of rank"):
        stgrad.grad(f, jit=True)(X)


def casts(x):
    """What NumPy casts: what is assigned, reductions, `casting="unsafe"`, and elements."""
    whole = np.zeros(3, dtype=int)
    whole[:] = x * 10.0
    whole[1] += 2.5 * x[1]
    rounded = np.zeros(3, dtype=int)
    np.floor(x * 3.0, out=rounded, casting="unsafe")
    total = np.zeros(3, dtype=int)
    np.sum(np.outer(x, x) * 10.0, axis=0, out=total)
    small = np.zeros(3, dtype=np.uint8)
    np.copyto(small, 2)
    np.copyto(whole, x, casting="unsafe", where=x > 1.0)
    return np.sum((whole + rounded + total + small) * x**2)


def widened(x):
    """Integers into floats, more precise numbers into less precise ones, and more axes in the array than in the value."""
    y = np.zeros((2, 3))
    y += np.arange(3)
    y *= x
    np.multiply(y, x, out=y)
    single = np.zeros(3, dtype=np.float32)
    single += np.arange(3.0)
    single *= 2.0
    number = np.array(1.0)
    number += x[0]
    number *= 2
    np.add(number, x[1], out=number)
    return np.sum(y * single) * number


@pytest.mark.parametrize("f", [casts, widened])
@pytest.mark.parametrize("jit", [False, True])
def test_numbers_that_numpy_casts(f, jit):
    x = X + 0.013
    assert stgrad.value_and_grad(f, jit=jit)(x)[0] == pytest.approx(f(x.copy()))
    check_gradient(f, (x,), jit=jit)


def test_an_item_is_read_before_the_value_that_raises():
    def f(x, n):
        n = n + 1
        if n % 2:
            k = 0
        x[n] *= x[k] + 1.0
        return np.sum(x)

    for n in range(5):
        x = np.arange(4.0) + 1.0
        try:
            value = f(x.copy(), n)
        except (IndexError, UnboundLocalError) as problem:
            with pytest.raises(type(problem)):
                stgrad.grad(f, jit=False)(x, n)
        else:
            assert stgrad.value_and_grad(f, jit=False)(x, n)[0] == value
