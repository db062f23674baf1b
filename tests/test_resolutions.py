"""Calls that are typed already are not typed again, and the types are those that Numba finds."""

import numba
import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

import stgrad
from stgrad.resolutions import remembered
from stgrad.stack_slots import Compiler


def mixed(x, n):
    """The same operations on floats, integers and arrays, in rounds."""
    s, k = 0.0, 0
    for i in range(n):
        s, k = s * x[i] + k, k + i * 2
        x = x * 0.5 + k
    items = [x[0] for _ in range(n)]
    return s * n, k * n, x * k, len(items)


def test_results_are_numbas():
    with_, without = numba.njit(pipeline_class=Compiler)(mixed), numba.njit(mixed)
    for a, b in zip(with_(np.arange(4.0), 3), without(np.arange(4.0), 3), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [str(s.return_type) for s in with_.nopython_signatures] == [str(s.return_type) for s in without.nopython_signatures]


def test_calls_are_resolved_once():
    context = cpu_target.typing_context
    function = context.resolve_value_type(np.sin)
    with remembered():
        remembering = types.Function.get_call_type
        first = function.get_call_type(context, (numba.float64,), {})
        assert function.get_call_type(context, (numba.float64,), {}) is first
        assert function.get_call_type(context, (numba.float32,), {}) is not first
        with remembered():
            assert types.Function.get_call_type is remembering
        assert types.Function.get_call_type is remembering
    assert "get_call_type" not in vars(types.Function)


def test_nothing_is_left_behind_an_error():
    with pytest.raises(ZeroDivisionError), remembered():
        _ = 1 // 0
    assert "get_call_type" not in vars(types.Function)


def test_gradients():
    x = np.array([0.5, 1.5, -0.3])
    g = stgrad.grad(lambda x: np.sum(np.sin(x) * x * x) * x[0])
    np.testing.assert_allclose(g(x), stgrad.grad(lambda x: np.sum(np.sin(x) * x * x) * x[0], jit=False)(x))
