"""`a.flat[index] = v` and `np.put`, as NumPy has them: values that are too few begin again, one place takes one number."""

import numpy as np
import pytest

import stgrad


def one(x, a):
    a.flat[1] = x[0]
    return np.sum(a * a)


def cycled(x, a):
    a.flat[::2] = x[:2]
    return np.sum(a * a * np.arange(4.0))


def longer(x, a):
    a.flat[1:3] = x
    return np.sum(a * a)


def nothing(x, a):
    a.flat[1:3] = x[:0]
    np.put(a, [0, 1], x[3:])
    return np.sum(a * a * x[0])


def put_one(x, a):
    np.put(a, 1, x)
    return np.sum(a * a)


def an_array_to_one_place(x, a):
    a.flat[2] = x
    return np.sum(a)


def a_short_array_to_one_place(x, a):
    a.flat[2] = x[:1]
    return np.sum(a)


X = np.array([0.5, -1.5, 2.0])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("f", [one, cycled, longer, nothing, put_one])
def test_stores(f, shape, jit):
    a = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    value, (dx, da) = stgrad.value_and_grad(f, (0, 1), jit=jit)(X, a)
    assert value == pytest.approx(f(X, a.copy()))
    for k in range(3):
        ends = [f(X + h * np.eye(3)[k], a.copy()) for h in (1e-6, -1e-6)]
        assert dx[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)
    for at in np.ndindex(shape):
        step = np.zeros(shape)
        step[at] = 1e-6
        assert da[at] == pytest.approx((f(X, a + step) - f(X, a - step)) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("f", [an_array_to_one_place, a_short_array_to_one_place])
def test_one_place_takes_one_number(f, shape, jit):
    a = np.ones(shape)
    with pytest.raises(ValueError, match="Error setting single item of array"):
        f(X, a.copy())
    with pytest.raises(ValueError, match="Error setting single item of array"):
        stgrad.grad(f, jit=jit)(X, a)
