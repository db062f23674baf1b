"""Numba's lowering with slots that LLVM promotes in linear time: what a program computes stays, and its references are counted as before."""

from __future__ import annotations

import gc
import math
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import stgrad
from stgrad.stack_slots import Compiler, Lower


def compiled(f: Any) -> Any:
    return numba.njit(error_model="numpy", pipeline_class=Compiler)(f)


def replaced_in_loops(x: Any, n: int) -> Any:
    """Arrays that loops and branches replace, keep and drop."""
    kept = x
    total = 0.0
    for i in range(n):
        y = x * i
        if i % 2 == 0:
            kept = y + 1.0
        elif i % 5 == 0:
            continue
        z = kept[1:] if i % 3 else y[:2]
        total += z.sum() + kept[0]
        for _ in range(i):
            y = y * 0.5
    return kept * total


def lists_and_tuples(x: Any, n: int) -> Any:
    rows = [x]
    pair = (x, x * 2.0)
    for i in range(n):
        rows.append(rows[-1] * 0.5)
        if i > 2:
            pair = (rows[i], pair[0])
    total = 0.0
    for row in rows:
        total += row[0]
    return pair[0] + pair[1] * total


def left_early(x: Any, n: int) -> Any:
    for i in range(n):
        y = x + i
        if y[0] > 2.0:
            return y
        if y[0] < -50.0:
            raise ValueError("too small")
    return x


@pytest.mark.parametrize("f", [replaced_in_loops, lists_and_tuples, left_early])
@pytest.mark.parametrize("n", [0, 1, 12])
def test_values_and_references(f: Any, n: int) -> None:
    x = np.array([0.5, 1.5, -0.5])
    ours = compiled(f)
    _nrt_python.memsys_enable_stats()
    np.testing.assert_allclose(ours(x, n), f(x, n))
    gc.collect()
    before = rtsys.get_allocation_stats()
    for _ in range(20):
        ours(x, n)
    gc.collect()
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@pytest.mark.parametrize("threads", [False, True])
def test_gradients_use_it(threads: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Loops over threads are lowered as they always are."""
    lowered = []
    lower = Lower.lower

    def noted(self: Any) -> None:
        lowered.append(self.func_ir.func_id.func_name)
        lower(self)

    monkeypatch.setattr(Lower, "lower", noted)
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            total += math.exp(-x[i]) * x[i]
        return total

    x = np.linspace(0.1, 1.0, 40)
    gradient = stgrad.grad(f, jit=True, parallel=threads)(x)
    np.testing.assert_allclose(gradient, np.exp(-x) * (1.0 - x))
    assert ("f_grad" in lowered) is not threads
