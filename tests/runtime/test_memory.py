"""`runtime.empty` gives the arrays that `np.empty` gives, in plain Python and in compiled code."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from stgrad import grad, runtime
from stgrad.runtime.memory import LARGE


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64, np.bool_])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_shape_dtype_and_layout_are_those_of_numpy(dtype, rank):
    @numba.njit
    def make(n):
        return runtime.empty((n, 2, n)[:rank], dtype)

    def check(array, n):
        assert array.shape == (n, 2, n)[:rank] and array.dtype == dtype and array.flags.c_contiguous and array.flags.writeable

    for n in (0, 1, 7):
        check(make(n), n)
        check(runtime.empty((n, 2, n)[:rank], dtype), n)


def test_one_extent_is_no_tuple():
    @numba.njit
    def make(n):
        return runtime.empty(n)

    assert make(5).shape == runtime.empty(5).shape == (5,)
    assert make(5).dtype == runtime.empty(5).dtype == np.float64


def test_large_arrays_are_whole():
    @numba.njit
    def make(n):
        a, b = runtime.empty(n), runtime.empty((n, 1), np.float32)
        for i in range(n):
            a[i] = i
            b[i, 0] = i + 1
        return a, b

    for n in (LARGE // 8, LARGE // 8 + 3, 5 * LARGE // 8 + 1):
        a, b = make(n)
        np.testing.assert_array_equal(a, np.arange(n))
        np.testing.assert_array_equal(b[:, 0], np.arange(1, n + 1, dtype=np.float32))


def test_wrong_extents_raise_as_in_numpy():
    @numba.njit
    def make(n):
        return runtime.empty(n)

    for call in (make, runtime.empty):
        with pytest.raises(ValueError, match="negative dimensions"):
            call(-1)
    with pytest.raises(ValueError, match="too big"):
        make(2**61)


def test_generated_code_asks_for_it():
    def total(x):
        y = np.tanh(x)
        return (y @ y) * np.sum(x)

    source = grad(total).source(np.ones(3))
    assert "np.empty" not in source or "runtime.empty" in source
