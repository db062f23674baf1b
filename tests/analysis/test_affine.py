"""Affine forms against the numbers that programs compute, and positions of two iterations against all of them, one by one."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

import stgrad
from stgrad.analysis.affine import Affine, Positions, named, never_meet, number
from stgrad.ir import Assign, Const, For, Operand, Stmt, Var, assigns, walk

OPERATORS = {"np.add": int.__add__, "np.subtract": int.__sub__, "np.multiply": int.__mul__, "np.negative": int.__neg__, "alias": int.__pos__}


def value(form: Affine, numbers: dict[str, int]) -> Fraction:
    total = Fraction(form.constant)
    for name, factor in form.terms:
        product = Fraction(factor)
        for part in name.split("*"):
            product *= numbers[part]
        total += product
    return total


def random_loop(rng: random.Random) -> For:
    """A loop over i around arithmetic on its counter, on `n`, which stands still, and on `k`, which an iteration changes twice."""
    known: list[Operand] = [Var("i"), Var("n"), Var("k"), Const(2), Const(-3)]
    body: list[Stmt] = [Assign((Var("k"),), "np.add", (Var("i"), Const(1)))]
    for at in range(6):
        op = rng.choice(list(OPERATORS))
        args = tuple(rng.choice(known) for _ in range(1 if op in ("np.negative", "alias") else 2))
        body.append(Assign((Var(f"t{at}"),), op, args))
        known.append(Var(f"t{at}"))
    return For(Var("i"), Const(0), Const(4), Const(1), (*body, Assign((Var("k"),), "np.multiply", (Var("k"), Const(2)))))


@pytest.mark.parametrize("seed", range(60))
def test_forms_have_the_values_of_the_program(seed: int) -> None:
    loop = random_loop(random.Random(seed))
    counts = [n for s in walk((loop,)) for n in assigns(s)]
    once = {n: s for s in walk((loop,)) for n in assigns(s) if counts.count(n) == 1}
    positions = Positions.of(loop, once)
    for i in range(4):
        numbers = {"i": i, "n": 7}
        for stmt in loop.body:
            assert isinstance(stmt, Assign)
            args = [a.value if isinstance(a, Const) else numbers[a.name] for a in stmt.args]  # type: ignore[union-attr]
            numbers[stmt.target.name] = OPERATORS[stmt.op](*args)
            form = positions.form(stmt.target)
            assert form is not None
            assert value(form, numbers) == numbers[stmt.target.name]
            assert "k" not in form.names() or form == named(stmt.target.name) or stmt.target.name == "k"


@pytest.mark.parametrize("step", [1, -1, 2, 3])
def test_positions_of_two_iterations(step: int) -> None:
    iterations = range(0, 12 * step, step)
    for a, b in itertools.product(range(-3, 4), range(-4, 5)):
        one, other = named("i").scaled(a) + named("n"), named("i").scaled(a) + named("n") + number(b)
        meet = any(a * i == a * j + b for i in iterations for j in iterations if i != j)
        assert never_meet(one, other, "i", step) == (not meet), (a, b)
        assert not never_meet(one, other + named("m"), "i", step), (a, b)


def shifted(x):
    y = x.copy()
    v = y[1:]
    for i in range(len(v)):
        v[i] = np.sin(y[i]) + x[i]
    return y


def interleaved(x):
    y = np.empty(2 * len(x))
    for i in range(len(x)):
        y[2 * i] = np.sin(x[i])
        y[2 * i + 1] = np.cos(x[i])
    return y


def named_otherwise(x):
    y = np.empty((len(x), 3))
    for i in range(len(x)):
        y[1 + i - 1, 0] = np.sin(x[i])
        y[i, 1] = np.cos(x[i])
        y[i, 2] = y[i, 0] * y[i, 1]
    return y


def overlapping(x):
    y = np.zeros(2 * len(x) + 2)
    for i in range(len(x)):
        y[2 * i] = np.sin(x[i])
        y[2 * i + 2] = np.cos(x[i])
    return y


@pytest.mark.parametrize(("function", "threads"), [(shifted, False), (interleaved, True), (named_otherwise, True), (overlapping, False)])
def test_threads_share_out_what_no_two_iterations_touch(function, threads: bool) -> None:
    """A view made before the loop has positions of its own: one that writes to it and reads the whole runs in order."""
    x = np.linspace(0.0, 1.0, 999)
    compiled = stgrad.jit(function, parallel=True)
    assert ("prange" in compiled.lowered(x)) == threads
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-14)
