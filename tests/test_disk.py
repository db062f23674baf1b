"""Snapshots on disk: the gradients are those without a budget, and what lies on disk leaves memory and goes when the call ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import errors, runtime
from stgrad.budgets import budget_of
from stgrad.runtime import disk

X = np.linspace(0.1, 0.9, 40)
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what is resident")


def steps(x, n):
    u, s = x * 1.0, 0.0
    for t in range(n):
        u = u + 0.1 * np.sin(u) * np.cos(s)
        s += 0.01 * np.sum(u) / (1 + t)
    return np.sum(u * u) + s


def in_place(x, n):
    u, v = x * x, x * 1.0
    for t in range(1, n, 2):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2]) * np.cos(u[2:])
        v[t % 5] = v[(t + 1) % 5] * u[t % 7]
    return np.sum(u * v)


def until(x, n):
    u, k = x * 1.0, 0
    while k < n and u[0] > -50.0:
        u = u + 0.1 * np.sin(u * u[k % 40])
        k += 1
    return np.sum(u * u)


def nested(x, n):
    w = x * 1.0
    for _ in range(12):
        u = w * w
        for t in range(n):
            u = u + 0.1 * np.sin(u) * w[t % 3]
        w = w + 0.1 * u
    return np.sum(w)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(("program", "n", "memory"), [(steps, 600, 20_000), (in_place, 400, 20_000), (until, 400, 30_000), (nested, 20, 60_000)])
def test_same_gradient(program: Any, n: int, memory: int, jit: bool, tmp_path: Path) -> None:
    near = stgrad.value_and_grad(program, jit=jit)(X, n)
    far = stgrad.value_and_grad(program, jit=jit, memory=stgrad.Budget(memory, tmp_path))
    assert "runtime.new_snapshots" in far.lowered(X, n)
    for a, b in zip(near, far(X, n), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    assert not list(tmp_path.iterdir())


def test_dtypes(tmp_path: Path) -> None:
    """Rows of single precision and of integers, and a trip count of nothing."""
    for x in (X.astype(np.float32), X + 0.5j):

        def f(x, n):
            u = x * 1.0
            for _ in range(n):
                u = u + 0.1 * np.sin(u)
            return np.sum(np.abs(u) ** 2)

        far = stgrad.grad(f, memory=stgrad.Budget(20_000, tmp_path), jit=True)
        for n in (0, 1, 300):
            found = far(x, n)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, stgrad.grad(f)(x, n), rtol=1e-5)


@pytest.mark.parametrize("derivative", [stgrad.hvp, stgrad.jacobian])
def test_other_derivatives(derivative: Any, tmp_path: Path) -> None:
    budget = stgrad.Budget(60_000, tmp_path)
    if derivative is stgrad.hvp:
        found, wanted = (stgrad.hvp(lambda x: steps(x, 300), (X,), (X,), memory=m) for m in (budget, None))
    else:

        def f(x, n):
            u = x * 1.0
            for _ in range(n):
                u = u + 0.1 * np.sin(u)
            return u[:2]

        found, wanted = (stgrad.jacobian(f, mode="reverse", memory=m)(X, 300) for m in (budget, None))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_all_that_fits_stays_in_memory() -> None:
    """Snapshots go to disk only where they do not fit; then a part is as long as memory allows, and all have room."""
    length = runtime.budget_length(10_000, 800, 800, 1_000_000, True)
    assert length == runtime.budget_length(10_000, 800, 800, 1_000_000) == 100 or length > 1
    slots = runtime.budget_slots(10_000, length, 800, 800, 100_000, True)
    assert slots == -(-10_000 // length) and runtime.budget_far(10_000, length, slots, 800, 800, 100_000)
    assert not runtime.budget_far(100, 10, 10, 800, 800, 1_000_000)


@LINUX
def test_rows_leave_memory(tmp_path: Path) -> None:
    """`page_out` drops the pages of a row of a file, not what is in them, in compiled code."""
    import numba

    @numba.njit
    def through(kept):
        total = 0.0
        for r in range(kept.shape[0] - 1, -1, -1):
            runtime.page_in(kept, r - 1, True)
            total += kept[r, 0] + kept[r, -1]
            runtime.page_out(kept, r, True)
        return total

    def resident() -> int:
        return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024

    text = f"def make(rows, size, far):\n    return runtime.new_snapshots((rows, size), far, {str(tmp_path)!r})\n"
    space: dict[str, Any] = {"runtime": runtime}
    exec(text, space)
    make = numba.njit(space["make"])
    small = make(2, 1000, True)
    through(small)
    before = resident()
    kept = make(64, 100_000, True)
    for r in range(64):
        kept[r, :] = r
    assert resident() - before > 40_000_000
    assert through(kept) == 2.0 * sum(range(64))
    assert resident() - before < 10_000_000
    np.testing.assert_array_equal(kept[:, 5000], np.arange(64.0))
    assert make(2, 3, False).shape == (2, 3)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files take their blocks as they are written")
@pytest.mark.parametrize("jit", [True, False])
def test_a_full_disk_is_an_error_before_the_loop(jit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = stgrad.grad(steps, jit=jit, memory=stgrad.Budget(20_000, tmp_path))
    far(X, 3)

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.os, "posix_fallocate", full)
    with pytest.raises(errors.MemoryBudgetError, match="no room for .* bytes of snapshots in .*No space left"):
        far(X, 400)
    monkeypatch.undo()
    np.testing.assert_allclose(far(X, 400), stgrad.grad(steps)(X, 400), rtol=1e-9)


def test_room_for_open_loops(tmp_path: Path) -> None:
    assert disk.room(8, str(tmp_path)) == disk.MOST
    with pytest.raises(errors.MemoryBudgetError, match="no room for two snapshots"):
        disk.room(1 << 60, str(tmp_path))
    assert runtime.room_on_disk(1 << 60, False, str(tmp_path)) == 1


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.MemoryBudgetError, match="is no folder in which files can be made"):
        stgrad.Budget("1 MB", tmp_path / "nothing")
    with pytest.raises(errors.MemoryBudgetError, match="is no size of memory"):
        stgrad.Budget("much", tmp_path)
    assert stgrad.Budget("1 MB", tmp_path) == stgrad.Budget(1_000_000, str(tmp_path))
    monkeypatch.setenv("STGRAD_MEMORY", "1 MB")
    monkeypatch.setenv("STGRAD_DISK", str(tmp_path))
    assert budget_of(None) == stgrad.Budget("1 MB", tmp_path)
    monkeypatch.setenv("STGRAD_DISK", str(tmp_path / "nothing"))
    with pytest.raises(errors.MemoryBudgetError, match="STGRAD_DISK"):
        budget_of(None)


def test_the_report_tells_of_the_disk(tmp_path: Path) -> None:
    report = stgrad.grad(steps, memory=stgrad.Budget(20_000, tmp_path)).memory(X, 10_000)
    assert report.disk > 100_000 and "on disk" in str(report)
    assert report.peak is not None and report.peak <= 40_000
