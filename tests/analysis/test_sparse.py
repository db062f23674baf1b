"""Numbers that a branch makes zero in some trips."""

from __future__ import annotations

import pytest

from stgrad.analysis.sparse import sparse
from stgrad.ir.text import parse

HEAD = """
def f(x: float64['n'], n: int('n'), w: float):
    out: float64['n'] = np.empty(n)
    i: int
    for i in range(0, n, 1):
        out[i] = 0.0
    total: float = 0.0
    for i in range(0, n, 1):
        v: float = x[i]
        hit: bool = v < w
        if hit:
            z: float = v
        else:
            z = 0.0
"""
TAIL = """
    return total, out
"""
ALWAYS = {"z"}
CASES = [
    ("y: float = z * v\nout[i] += y", {"y", "out"}),
    ("y: float = v * z\nk: float = y - z\nout[i] += k", {"y", "k", "out"}),
    ("y: float = z / v\ntotal = total + y", {"y", "total"}),
    ("y: float = v / z\ntotal = total + y", set()),
    ("y: float = z + v\nout[i] += y", set()),
    ("out[i] += z\nout[0] += v", set()),
    ("y: float = z\nif hit:\n    y = v", set()),
    ("y: float = 0.0\nif hit:\n    y = v\nout[i] += y", {"y", "out"}),
    ("y: float = exp(z)\nout[i] = y", set()),
    ("out[i] = z\ny: float = out[i]\nk: float = w * y", {"out", "y", "k"}),
]


@pytest.mark.parametrize(("lines", "more"), CASES)
def test_what_is_often_zero(lines: str, more: set[str]) -> None:
    body = "\n".join(f"        {line}" for line in lines.replace("exp(", "np.exp(").splitlines())
    assert sparse(parse(HEAD + body + TAIL)).names == ALWAYS | more


def test_a_branch_outside_of_loops_is_none() -> None:
    fn = parse("def f(x: float, c: bool):\n    if c:\n        y: float = x\n    else:\n        y = 0.0\n    return y\n")
    assert not sparse(fn).names


def test_an_element_that_is_set_before_the_loops_counts_for_nothing() -> None:
    fn = parse(HEAD.replace("    total: float", "    out[0] += 1.0\n    total: float") + "        out[i] += z" + TAIL)
    assert sparse(fn).names == {"z", "out"}


def test_the_test_of_an_infinite_partial_is_no_source() -> None:
    guard = "\n".join(
        f"        {line}"
        for line in "fine: bool = np.isfinite(v)\nfar: bool = np.logical_not(fine)\nnone: bool = total == 0.0\nboth: bool = np.logical_and(none, far)\n"
        "if both:\n    p: float = 0.0\nelse:\n    p = v\ny: float = total * p".splitlines()
    )
    assert sparse(parse(HEAD + guard + TAIL)).names == ALWAYS
