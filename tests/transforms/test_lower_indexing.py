"""Gathers, scatters and masks as loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lowering import Builder, check, execute, to_source
from thorough import check_gradient

import stgrad
from stgrad.ir import Function
from stgrad.transforms.lower import lower
from stgrad.transforms.positions import guard_positions

P = np.array([3, 0, -1, 3, 2, 7, 3])


def arguments(b: Builder, **initial: Any) -> list[Any]:
    return [initial.get(p.name, b.env[p.name]) for p in b.params]


def loops(fn: Function) -> int:
    return to_source(fn).count("for ")


def test_a_gather_fuses_with_what_follows() -> None:
    b = Builder(x=("n",), p=P)
    x, p = b.params
    y = b("np.multiply", b("getitem", x, p), 2.0)
    lowered = check(b.function(b("np.sum", y), b("np.sin", y)), *arguments(b))
    assert loops(lowered) == 1


def test_rows_and_columns_are_gathered() -> None:
    b = Builder(x=("n", "m"), p=P)
    x, p = b.params
    rows, columns = b("getitem", x, (p,)), b("getitem", x, (slice(1, None), p))
    lowered = check(b.function(b("np.exp", rows), b("np.exp", columns)), *arguments(b))
    assert "[p]" not in to_source(lowered)


def test_one_element_of_each_row() -> None:
    b = Builder(x=("n", "m"), p=np.arange(30) % 7, n=30)
    x, p, n = b.params
    each = b("getitem", x, (b("np.arange", n), p))
    lowered = check(b.function(b("np.mean", each)), *arguments(b))
    assert loops(lowered) == 1


@pytest.mark.parametrize("mode", ["set", "add", "add_at"])
def test_repeated_positions(mode: str) -> None:
    b = Builder(x=("n",), p=P, v=np.arange(7.0))
    x, p, v = b.params
    y = b("np.copy", x, to="y")
    b.store(y, p, v, mode)
    lowered = check(b.function(y), *arguments(b))
    assert "y[p]" not in to_source(lowered)


def test_a_gather_from_the_array_it_is_stored_to() -> None:
    b = Builder(x=("n",), p=P, q=P[::-1].copy())
    x, p, q = b.params
    y = b("np.copy", x, to="y")
    b.store(y, p, b("getitem", y, q))
    b.store(y, slice(0, 7), b("getitem", y, p))
    check(b.function(y), *arguments(b))


@pytest.mark.parametrize("mode", ["set", "add"])
def test_a_scalar_under_a_mask(mode: str) -> None:
    b = Builder(x=("n", "m"))
    (x,) = b.params
    y = b("np.copy", x, to="y")
    b.store(y, b("np.less", x, 0.0), 0.5, mode)
    assert loops(check(b.function(y), *arguments(b))) == 2


@pytest.mark.parametrize("jit", [False, True])
def test_positions_are_checked(jit: bool) -> None:
    b = Builder(x=("n",), p=P)
    x, p = b.params
    fn = lower(guard_positions(b.function(b("np.sin", b("getitem", x, p)))))
    with pytest.raises(IndexError, match="out of bounds"):
        execute(fn, [b.env["x"], np.array([0, 99])], jit=jit)


def test_a_vector_ravelled_or_reshaped_is_itself() -> None:
    b = Builder(x=("n",), A=("n", "n"))
    x, A = b.params
    t = b("np.ravel", b("np.multiply", x, 2.0))
    u = b("np.reshape", b("np.add", t, 1.0), (b("shape", x, 0),))
    v = b("np.matmul", b("np.transpose", b("np.transpose", A)), u)
    text = to_source(check(b.function(v, b("np.add", u, t)), *(b.env[p.name] for p in b.params)))
    assert "ravel" not in text
    assert "reshape" not in text
    assert "transpose" not in text


def test_positions_are_checked_before_anything_is_stored() -> None:
    def spread(x: Any, n: int) -> Any:
        r = np.zeros(4)
        rows = np.arange(n)
        r[rows] = x[:n] * 2.0
        return np.sum(r * r)

    text = stgrad.jit(spread).lowered(np.ones(8), 3)
    assert text.index("runtime.outside") < text.index("x[i] * 2.0")
    with pytest.raises(IndexError):
        stgrad.grad(spread)(np.ones(8), 6)
    assert np.array_equal(stgrad.grad(spread)(np.ones(8), 3), [8.0, 8.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def reversed_copy(a, b):
    """The place of an item of the copy in what it copies has no form: the copy stays."""
    a[-4:] += b[::-1]
    a[1] = 1.0
    return np.sum(a * a)


def test_copies_stay_while_something_reads_them():
    check_gradient(reversed_copy, (np.arange(1.0, 5.0), np.arange(2.0, 6.0)), jit=True)


@pytest.mark.parametrize("step", [1, 2, -1, -2, -3])
@pytest.mark.parametrize("stop", [None, 0, 2, -4])
@pytest.mark.parametrize("start", [None, 0, 3, -2, 7])
def test_slices_of_known_extents(start, stop, step):
    def f(x):
        a = np.array([x[0], x[1] * 2.0, x[2] * 3.0, x[3] * 4.0, x[4] * 5.0])
        part = a[start:stop:step]
        a[start:stop:step] *= 1.5
        return np.sum(part * part) + np.sum(a)

    check_gradient(f, (np.arange(1.0, 6.0),), order=1, modes=("reverse",))


def test_scalars_of_the_program_keep_their_names():
    """The element of an array that is read where the number was is no reason to rename the number, which is read later."""

    def f(a):
        a[0] = math.tanh(a[-1, 0])
        return np.sum(a)

    check_gradient(f, (np.array([[-0.6]]),), jit=True)
