"""Items of lists that grow, beyond their ends: the buffer may be longer than the list."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

JIT = pytest.mark.parametrize("jit", [False, True], ids=["plain", "numba"])


def kept(x):
    out = []
    for v in x:
        if v > 2.0:
            out.append(v * v)
    return out


def known(x):
    return kept(x)[3] * x[0]


def from_the_end(x):
    return kept(x)[-3] * x[0]


def popped(x):
    out, s = kept(x), 0.0
    for _ in range(3):
        s += out.pop() * x[0]
    return s


def written(x):
    out = kept(x)
    out[3] = x[0] * x[0]
    return sum(out)


def written_from_the_end(x):
    out = kept(x)
    out[-3] = x[0] * x[0]
    return sum(out)


@JIT
@pytest.mark.parametrize("function", [known, from_the_end, popped, written, written_from_the_end])
def test_beyond_the_ends(function, jit):
    few, many = np.array([1.0, 3.0, 4.0, 0.5]), np.array([3.0, 2.5, 4.0, 5.0])
    with pytest.raises(IndexError):
        function(few)
    with pytest.raises(IndexError, match=r"out of range|pop from empty list"):
        stgrad.grad(function, jit=jit)(few)
    assert stgrad.value_and_grad(function, jit=jit)(many)[0] == pytest.approx(function(many))
