"""Calls that are typed already are not typed again, and the types are those that Numba finds."""

import numba
import numpy as np
import pytest
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
    context, asked = cpu_target.typing_context, []
    with remembered(context):
        remembering = context.resolve_function_type
        function = context.resolve_value_type(np.sin)
        first = remembering(function, (numba.float64,), {})
        asked += [remembering(function, (numba.float64,), {}) is first, remembering(function, (numba.float32,), {}) is first]
        with remembered(context):
            assert context.resolve_function_type is remembering
        assert context.resolve_function_type is remembering
    assert asked == [True, False]
    assert "resolve_function_type" not in vars(context)


def test_nothing_is_left_behind_an_error():
    context = cpu_target.typing_context
    with pytest.raises(ZeroDivisionError), remembered(context):
        _ = 1 // 0
    assert "resolve_function_type" not in vars(context)


def test_gradients():
    x = np.array([0.5, 1.5, -0.3])
    g = stgrad.grad(lambda x: np.sum(np.sin(x) * x * x) * x[0])
    np.testing.assert_allclose(g(x), stgrad.grad(lambda x: np.sum(np.sin(x) * x * x) * x[0], jit=False)(x))
