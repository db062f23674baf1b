"""What the last stage moves before a loop: extents, the memory of inner loops, and tests that raise in the first trip or never."""

from __future__ import annotations

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def likelihood(x, sigma):
    total = 0.0
    for i in range(len(x)):
        d = float(x[i]) / sigma
        total += np.exp(-0.5 * x[i] * d) / sigma
    return total


def two_tests(x, a, b):
    total = 0.0
    for i in range(len(x)):
        total += float(x[i]) / a + math.log(b) * float(x[i])
    return total


def behind_another(x, a):
    total = 0.0
    for i in range(len(x)):
        total += math.sqrt(float(x[i]))
        total += float(x[i]) / a
    return total


def of_components(w, scale, times):
    total = 0.0
    for t in times:
        p = 0.0
        for k in range(len(w)):
            z = (t / scale[k]) ** 1.5
            p += w[k] * np.exp(-z) * z
        total += np.log(p)
    return total


def loops(text: str) -> str:
    """The lines of a program that stand in loops."""
    found, depth = [], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent <= depth:
            depth = None
        if depth is not None:
            found.append(line)
        elif line.lstrip().startswith("for "):
            depth = indent
    return "\n".join(found)


X = np.array([0.3, 0.8, 1.4])


def test_a_test_of_what_stands_still_is_made_once() -> None:
    text = stgrad.value_and_grad(likelihood, argnums=(0, 1)).lowered(X, 0.7)
    assert "ZeroDivisionError" in text
    assert "raise" not in loops(text)
    assert "runtime.exp" in text
    assert "raise" not in loops(stgrad.jit(two_tests).lowered(X, 0.7, 2.0))


@pytest.mark.parametrize("jit", [False, True])
def test_it_raises_as_python_does(jit) -> None:
    cases = ((likelihood, (0.0,), (0.7,)), (two_tests, (0.0, 2.0), (0.7, 2.0)), (two_tests, (0.7, -1.0), (0.7, 2.0)), (behind_another, (0.0,), (2.0,)))
    for f, bad, others in cases:
        g = stgrad.value_and_grad(f, argnums=tuple(range(1 + len(bad))), jit=jit)
        with pytest.raises((ZeroDivisionError, ValueError)) as theirs:
            f(X, *bad)
        with pytest.raises(theirs.type), np.errstate(all="ignore"):
            g(X, *bad)
        assert g(X[:0], *bad)[0] == f(X[:0], *bad) == 0.0
        assert g(X, *others)[0] == pytest.approx(f(X, *others))
        check_gradient(f, (X, *others), argnums=0, jit=jit)


def test_what_raises_first_raises_first() -> None:
    with pytest.raises(ValueError, match="math domain error"):
        stgrad.grad(behind_another, jit=True)(-X, 0.0)


def test_memory_of_inner_loops_is_asked_for_once() -> None:
    w, scale, times = np.array([0.2, 0.8]), np.array([1.0, 2.0]), np.array([0.5, 1.5, 2.5])
    text = stgrad.grad(of_components, argnums=(0, 1)).lowered(w, scale, times)
    assert "empty" in text
    assert "empty" not in loops(text)
    check_gradient(of_components, (w, scale, times), argnums=0, jit=True)


def depths(x, n):
    total = 0.0
    for t in range(n):
        for i in range(3):
            total += x[(i + t) % len(x)] * total
        for i in range(2):
            total += x[(i * t) % len(x)]
    for t in range(n):
        for i in range(2):
            total += np.sin(total) * x[(i + 2 * t) % len(x)]
        for i in range(3):
            total += x[(i * t) % len(x)] * total
    return total


def test_extents_leave_nested_loops() -> None:
    x = np.array([0.3, 0.8, 1.4, 0.2, 0.7])
    text = stgrad.grad(depths).lowered(x, 3)
    assert ".shape" not in loops(text)
    check_gradient(depths, (x, 3), argnums=0, jit=True)
