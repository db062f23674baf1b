"""Growable stacks in compiled code: values, growth, memory, speed."""

import os

import numba
import numpy as np
import pytest

from stgrad import runtime
from stgrad.loader import load
from tests.test_cache import cache_dir, python  # noqa: F401  (a fixture)

TEXT = """\
from stgrad import runtime


def f(like, values, fail):
    stack, out = runtime.new_stack(like), values.copy()
    for value in values:
        runtime.push(stack, value)
    if fail:
        raise ValueError("no")
    for i in range(values.size):
        out[i] = runtime.pop(stack)
    return out
"""


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, 129, 1000, 100_000])
def test_values_come_back_in_reverse(dtype, count):
    values = (np.random.default_rng(0).normal(size=count) * 10).astype(dtype)
    like = values.dtype.type(0)
    for jit in (True, False):
        np.testing.assert_array_equal(load(TEXT, "f", jit=jit)(like, values, False), values[::-1])


def test_several_stacks_filled_and_emptied_in_turns():
    @numba.njit
    def f(n):
        a, b, total = runtime.new_stack(0.0), runtime.new_stack(0), 0.0
        for i in range(n):
            runtime.push(a, i + 0.5)
            runtime.push(b, i)
            if i % 3 == 0:
                total += runtime.pop(a) * runtime.pop(b)
        for i in range(n - (n + 2) // 3):
            total += runtime.pop(a) - runtime.pop(b)
        return total

    assert f(1000) == f.py_func(1000)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux")
@pytest.mark.parametrize("fail", [False, True])
def test_memory_is_freed_also_when_the_program_raises(fail):
    f, values = load(TEXT, "f"), np.ones(500_000)
    for _ in range(40):
        if fail:
            with pytest.raises(ValueError, match="no"):
                f(0.0, values, True)
        else:
            f(0.0, values, False)
        if _ == 4:
            before = resident()
    assert resident() - before < 40e6  # 35 lost stacks would be 147 MB


def test_code_is_cached_on_disk(cache_dir):  # noqa: F811
    run = f"import numpy as np\nfrom stgrad.loader import load\nf = load({TEXT!r}, 'f')\n"
    run += "print(f(0.0, np.arange(3.0), False), *f.stats.cache_hits.values())"
    assert python(run) == "[2. 1. 0.]"
    assert python(run) == "[2. 1. 0.] 1"


def test_a_million_steps_of_while():
    @numba.njit(error_model="numpy")
    def primal(x, limit):
        steps = 0
        while x < limit:
            x = x + 0.5 / (1.0 + x * x) + 1e-6 * x
            steps += 1
        return steps

    @numba.njit(error_model="numpy")
    def gradient(x, limit):
        stack, steps = runtime.new_stack(0.0), 0
        while x < limit:
            runtime.push(stack, x)
            x = x + 0.5 / (1.0 + x * x) + 1e-6 * x
            steps += 1
        x_bar = 1.0
        for _ in range(steps):
            x = runtime.pop(stack)
            t = 1.0 / (1.0 + x * x)
            x_bar *= 1.0 + 1e-6 - x * t * t
        return x_bar

    assert primal(0.0, 213.4) > 1_000_000
    h = 1e-30
    x, limit = complex(0.0, h), 10.0
    while x.real < limit:
        x = x + 0.5 / (1.0 + x * x) + 1e-6 * x
    assert gradient(0.0, limit) == pytest.approx(x.imag / h, rel=1e-9)
    assert 0.0 < gradient(0.0, 213.4) < 1.0
