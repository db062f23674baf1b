"""`stgrad.testing.check_program`: right programs pass every stage, planted faults are found where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import stgrad
from stgrad.ir import Assign, Const, Function, map_blocks
from stgrad.testing import ProgramError, check_program
from stgrad.transforms import pipeline


def chain(x, n):
    for i in range(1, n):
        x[i] = x[i - 1] * np.sin(2.0 * x[i])
    return {"sum": np.sum(x * x), "reversed": x[::-1] * 2.0}


def norms(z):
    return np.abs(z) ** 2 * z


X = np.array([0.3, 1.0, 2.0, 0.5])


def test_right_programs_pass():
    passed = check_program(chain, (X, 4), jit=False)
    assert passed[:3] == ["anf", "reverse", "optimised"]
    assert passed[-4:] == ["specialised", "plain Python", "forward", "second order in plain Python"]
    assert "loops" in passed


def test_under_numba():
    passed = check_program(lambda x, a: a * np.sin(x), (X, 2.0))
    assert passed[-4:] == ["Numba", "forward", "second order in plain Python", "second order under Numba"]


@pytest.mark.parametrize("args", [(np.array([1.0 + 2.0j, 0.3 - 1.0j]),), (X.astype(np.float32),)], ids=["complex", "float32"])
def test_dtypes(args):
    check_program(norms, args, jit=False)


def test_structures_and_chosen_arguments():
    check_program(lambda p, a: (p["a"] @ p["b"] * a, p["n"]), ({"a": np.eye(2) + 1.0, "b": X[:2], "n": 3}, 2.0), argnums=(0,), jit=False)


@stgrad.custom_gradient
def wrong_cube(x):
    return x**3, lambda g: g * 2.0 * x * x


@stgrad.custom_gradient
def flat_cube(x):
    """The first derivative is right, and passes for a constant."""
    return x**3, lambda g: g * stgrad.stop_gradient(3.0 * x * x)


def test_a_wrong_rule_is_seen_in_the_reverse_sweep():
    with pytest.raises(ProgramError, match=r"stage 'reverse' is the first that is wrong: the derivative in `x`.*is right: anf$"):
        check_program(lambda x: np.sin(wrong_cube(x)), (1.3,), jit=False)


def test_a_wrong_second_order_is_seen_there():
    with pytest.raises(ProgramError, match="second order in plain Python is the first that is wrong"):
        check_program(lambda x: np.sin(flat_cube(x)), (1.3,), jit=False)
    check_program(lambda x: np.sin(flat_cube(x)), (1.3,), order=1, jit=False)


def threes(fn: Function) -> Function:
    """A pass that is wrong: every 2.0 becomes 3.0."""

    def block(body):
        return tuple(statement(map_blocks(block, s)) for s in body)

    def statement(stmt):
        if isinstance(stmt, Assign):
            return replace(stmt, args=tuple(Const(3.0) if a == Const(2.0) else a for a in stmt.args))
        return stmt

    return fn.with_body(block(fn.body))


@pytest.mark.parametrize("name", ["accumulate", "tidy"])
def test_a_wrong_pass_is_named(name, monkeypatch):
    right = getattr(pipeline, name)
    monkeypatch.setattr(pipeline, name, lambda fn: threes(right(fn)))
    with pytest.raises(ProgramError, match=f"stage '{name}' is the first that is wrong"):
        check_program(lambda x: 2.0 * np.sin(x) + np.sum(x), (X,), jit=False)
