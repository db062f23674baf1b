"""`del obj.attr`: the attribute is gone, on the paths that delete it."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

POINTS = [np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.2, 2.0])]


class Box:
    scale = 2.0

    def __init__(self, v):
        self.v = v


def deleted(x):
    b = Box(x)
    b.cache = x * 2.0
    y = np.sum(b.cache)
    del b.cache
    return y * y + (100.0 if hasattr(b, "cache") else x[0] ** 2) + getattr(b, "cache", 3.0) * x[1]


def of_the_class(x):
    b = Box(x)
    b.scale = x[0]
    y = b.scale * x[1]
    del b.scale
    return y * b.scale


def on_a_path(x):
    b = Box(x)
    b.extra = x[1]
    if x[1] > 0.0:
        del b.extra
    return np.sum(b.v * b.v) * (x[0] if hasattr(b, "extra") else 2.0)


def in_a_loop(x):
    total = 0.0
    b = Box(x)
    for i in range(len(x)):
        b.part = b.v[i] * x[0]
        total += b.part**2
        del b.part
    return total


@pytest.mark.parametrize("program", [deleted, of_the_class, on_a_path, in_a_loop])
@pytest.mark.parametrize("jit", [False, True])
def test_right(program, jit):
    for point in POINTS:
        check_gradient(program, (point,), jit=jit, order=1 if jit else 2)
        assert np.isclose(stgrad.jit(program)(point), program(point))


def read_behind(x):
    b = Box(x)
    b.extra = x[1]
    if x[1] > 0.0:
        del b.extra
    return b.extra * x[0]


def deleted_twice(x):
    b = Box(x)
    del b.v
    del b.v
    return x[0]


def never_there(x):
    b = Box(x)
    del b.w
    return x[0]


def test_raises_as_python_does():
    for run in (read_behind, stgrad.jit(read_behind), stgrad.grad(read_behind, jit=True), stgrad.grad(read_behind, jit=False)):
        with pytest.raises(AttributeError):
            run(POINTS[0])


@pytest.mark.parametrize("program", [deleted_twice, never_there])
def test_what_is_certainly_not_there(program):
    with pytest.raises(errors.UndefinedNameError, match="has no attribute"):
        stgrad.grad(program, jit=True)(POINTS[0])
