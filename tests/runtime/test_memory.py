"""`runtime.empty` gives the arrays that `np.empty` gives, in plain Python and in compiled code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numba
import numpy as np
import pytest

from stgrad import grad, runtime
from stgrad.runtime.memory import LARGE, LINE


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

    source = grad(total).lowered(np.ones(3))
    assert "np.empty" not in source or "runtime.empty" in source


def checks_of_overlap(function, *args):
    """How many loops LLVM starts with a test whether arrays overlap."""
    compiled = numba.njit(error_model="numpy")(function)
    compiled(*args)
    return "\n".join(compiled.inspect_llvm().values()).count("memcheck:")


def test_loops_need_no_test_for_overlap():
    def add(x, n):
        y, z = runtime.empty(n), runtime.empty(n)
        for i in range(n):
            y[i] = 0.0
            z[i] = x[i]
        for j in range(n):
            for i in range(n):
                y[i] += x[j] * z[i]
                z[i] += y[i] * x[i]
        return y, z

    def add_near(x, n):
        y, z = runtime.empty_near(n), runtime.empty_near(n)
        for i in range(n):
            y[i] = 0.0
            z[i] = x[i]
        for j in range(n):
            for i in range(n):
                y[i] += x[j] * z[i]
                z[i] += y[i] * x[i]
        return y, z

    x = np.linspace(0.1, 0.2, 30)
    assert checks_of_overlap(add, x, 30) == 0 < checks_of_overlap(add_near, x, 30)
    for ours, plain in zip(numba.njit(add)(x, 30), add(x, 30), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-15)


def test_memory_that_is_freed_and_used_again():
    @numba.njit(error_model="numpy")
    def run(n, trips):
        kept = [runtime.empty(1)]
        kept[0][0] = 0.0
        total = 0.0
        for t in range(trips):
            a = runtime.empty(n)
            for i in range(n):
                a[i] = t + i
            b = a
            if t % 3 == 0:
                kept.append(a)
            a = runtime.empty(n)
            for i in range(n):
                a[i] = 2.0 * b[i]
            total += a[n - 1] + b[0] + kept[-1][0]
            kept[-1][0] += 1.0
        return total, kept[-1]

    def plain(n, trips):
        kept, total = [0.0], 0.0
        for t in range(trips):
            first = float(t)
            if t % 3 == 0:
                kept.append(first)
            total += 2.0 * (t + n - 1) + (kept[-1] if t % 3 == 0 else first) + kept[-1]
            kept[-1] += 1.0
        return total, kept[-1]

    for n in (1, 2, 100):
        total, last = run(n, 50)
        expected, first = plain(n, 50)
        assert total == expected and last[0] == first and last.shape == (n,)


def test_loops_that_read_neighbours_fill_memory_of_the_other_kind():
    def smooth(x):
        y = np.empty(len(x))
        y[0] = y[-1] = 0.0
        for i in range(1, len(x) - 1):
            y[i] = x[i - 1] + x[i + 1]
        return np.sum(y * y)

    def scale(x, a):
        y = np.empty((len(x), 3))
        for i in range(len(x)):
            for j in range(3):
                y[i, j] = x[i] * a[j] + a[j]
        return np.sum(y * y)

    assert "y = runtime.empty_near(" in grad(smooth).lowered(np.ones(5))
    assert "empty_near" not in grad(scale).lowered(np.ones(5), np.ones(3))


def test_arrays_start_with_a_line_of_the_cache():
    @numba.njit
    def make(n):
        return [(runtime.empty(n), runtime.empty_near((n, 3))) for _ in range(20)]

    for n in (1, 5, 1000):
        assert all(a.ctypes.data % LINE == 0 for pair in make(n) for a in pair)

    @numba.njit
    def others(n):
        return np.empty(n)

    assert others(3).shape == (3,)


FAULTS = """
import resource
import numpy as np
import stgrad

def f(x):
    y = np.sin(x)
    z = y[1:] * y[:-1]
    return np.sum(z[1:] - z[:-1] ** 2)

g, x = stgrad.grad(f), np.linspace(0.0, 1.0, 300_000)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    g(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep memory as they like")
@pytest.mark.parametrize(("setting", "kept"), [({}, True), ({"STGRAD_KEEP_MEMORY": "0"}, False), ({"MALLOC_TRIM_THRESHOLD_": "131072"}, False)])
def test_freed_memory_serves_the_next_call(setting, kept, tmp_path):
    program = tmp_path / "faults.py"
    program.write_text(FAULTS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "STGRAD_KEEP", "GLIBC_"))} | setting
    run = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=True)
    assert (int(run.stdout) < 100) is kept, run.stdout
