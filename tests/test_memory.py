"""The report of what is kept for the reverse sweep."""

from __future__ import annotations

import math

import numpy as np

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
    assert report.kept == () and str(report) == "nothing is stored for the reverse sweep"


def test_prints_as_a_table():
    lines = str(stgrad.grad(mixed).memory(np.ones(3), 0.5, 4)).splitlines()
    assert lines[0].split()[:3] == ["name", "line", "where"] and len(lines) > 2
