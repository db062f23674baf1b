"""The report of what is kept for the reverse sweep."""

from __future__ import annotations

import math
import multiprocessing
import os
from typing import Any

import numpy as np
import pytest

import stgrad


def mixed(x, z, n):
    for i in range(1, n):
        for j in range(len(x)):
            z = math.sin(z * x[j])
    while z < 3.0:
        z = z * z + 1.1
    h = x
    for i in range(4):
        h = np.tanh(h)
    return np.sum(h) + z


def test_report():
    kept = stgrad.grad(mixed, ("x", "z")).memory(np.ones(3), 0.5, 4).kept
    facts = {(k.place, k.dtype, k.bytes_per_step, k.steps) for k in kept}
    assert ("array", "float64", "8", "(n - 1) * x.shape[0]") in facts
    assert ("growable stack", "float64", "8", "?") in facts
    assert any(steps == "4" and size == "8 * x.shape[0]" for _, _, size, steps in facts)
    first = mixed.__code__.co_firstlineno
    assert {k.line - first for k in kept if k.line} <= {1, 2, 3, 4, 5, 6, 7, 8}


def test_nothing_is_kept():
    report = stgrad.grad(lambda x: np.sum(3.0 * x)).memory(np.ones(3))
    assert report.kept == () and str(report) == "nothing is stored for the reverse sweep\npeak: 24 B beside the arguments"


def states(x, n):
    for _ in range(n):
        x = x + 0.001 * np.sin(x) * x
    return np.sum(x)


def in_place(x, n):
    u = x.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2] + u[2:])
    return np.sum(u * u)


def triangle(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s = math.sin(s * x[0] + j)
    return s


def sometimes(x, n):
    u, s = x.copy(), 0.0
    for t in range(n):
        if np.sum(u) > 1e-3 * t:
            u = np.sin(u) * u[::-1] + 1.0
        s = s + u[t % 10]
    return np.sum(u) + s


PEAKS = [(states, 1000, 6000, None), (states, 1000, 40_000, "60 MB"), (in_place, 10_000, 1000, None), (triangle, 10, 5000, None), (sometimes, 1000, 6000, None)]


def grown(program: Any, size: int, n: int, memory: str | None) -> tuple[int | None, float]:
    """The peak that is told, and what the process grows by."""
    from benchmarks.budget import resident

    x, gradient = np.linspace(0.1, 1.0, size), stgrad.grad(program, memory=memory)
    gradient(x[:10], 3)
    gradient(x[:10], 3)
    told = gradient.memory(x, n).peak
    with open("/proc/self/clear_refs", "w") as peaks:
        peaks.write("5")
    before = resident()[0]
    gradient(x, n)
    return told, float(resident()[1] - before)


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not tell peaks")
@pytest.mark.parametrize("case", PEAKS, ids=lambda case: case[0].__name__)
def test_peak(case: Any) -> None:
    """What a call takes at most is told before, to a tenth and what an allocator has at hand."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told, grew = pool.apply(grown, case)
    assert told is not None
    assert abs(told - grew) < 0.1 * grew + 2e6


def test_report_of_the_program_that_runs() -> None:
    """Extents are taken to be equal where a call's are, and to broadcast where they do not: what is told is of the program that does not refuse them."""

    def scaled(a, b):
        s = 0.0
        for t in range(b.shape[0]):
            s = s + np.sum(np.exp(a * b[t]))
        return s

    gradient = stgrad.grad(scaled, (0, 1))
    for a in (np.ones(5), np.ones(1)):
        assert not gradient.memory(a, np.ones((3, 5))).raises
    assert gradient.memory(np.ones(2), np.ones((3, 5))).raises


def test_peak_that_nobody_knows() -> None:
    def until(x, n):
        k = 0
        while k < n:
            x, k = x + 0.001 * np.sin(x) * x, k + 1
        return np.sum(x)

    told = stgrad.grad(until).memory(np.ones(100), 9)
    assert told.peak is None and told.least is not None and told.least >= 1600
    assert "peak: more than" in str(told)
    told = stgrad.grad(until, memory="1 MB").memory(np.ones(100), 9)
    assert told.peak == 10**6 and "peak: at most 1 MB beside the arguments" in str(told)


def test_prints_as_a_table():
    lines = str(stgrad.grad(mixed).memory(np.ones(3), 0.5, 4)).splitlines()
    assert lines[0].split()[:3] == ["name", "line", "where"] and len(lines) > 2
