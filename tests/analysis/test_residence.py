"""Arrays that are in memory at once."""

from collections import Counter

import numpy as np
import pytest

import stgrad
from stgrad.analysis.residence import resident
from stgrad.errors import MemoryBudgetError
from stgrad.ir import Dim


def chain(x):
    for _ in range(4):
        x = np.cumsum(np.sin(x)) * 0.1
    return np.sum(x)


def tree(x):
    a, b = np.sort(x), np.cumsum(x)
    c = np.sort(a * b)
    d = np.cumsum(a + c)
    return np.sum(np.sort(d) * b)


def squares(x):
    square = x[:, None] * x
    small = np.sum(np.linalg.inv(square + np.eye(len(x))), axis=0)
    return np.sum(np.sort(small) * x)


def branches(x):
    if x[0] > 0.0:
        y = np.cumsum(x) * np.sort(x)
    else:
        y = np.sort(x)
    return np.sum(y[1:] * y[:-1])


def specialised(gradient, *args):
    return gradient.program_and_leaves(args, {})[0].trace.stages["specialised"]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [tree, squares, branches])
def test_programs_run_within_what_they_are_told_to_take_and_no_less(f, jit):
    x = np.random.default_rng(0).random(400)
    peak = stgrad.grad(f).memory(x).peak
    assert np.array_equal(stgrad.grad(f, jit=jit, memory=peak + 1)(x), stgrad.grad(f, jit=jit)(x))
    with pytest.raises(MemoryBudgetError):
        stgrad.grad(f, jit=jit, memory=int(0.7 * peak))(x)
    assert stgrad.grad(f, memory=int(0.7 * peak)).memory(x).raises


def test_what_other_places_have_is_left_out():
    program = specialised(stgrad.grad(chain, jit=False), np.ones(5))
    places = resident(program)
    assert not any(a < b for a in places for b in places)
    assert all(isinstance(d, Dim) for place in places for _, dims in place for d in dims)
    united = resident(program, most=1)
    assert len(united) == 1
    assert all(place <= united[0] for place in places)
    assert resident(program, without=set(program.types)) in ([], [Counter()])
