"""Classes of tuples and defaults that change: between two processes, between two calls, and before the first one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import NamedTuple

import pytest

import stgrad


def scaled(x, k=2.0):
    return x * k


@pytest.mark.parametrize("jit", [False, True])
def test_defaults_that_change_before_the_first_call(jit, monkeypatch) -> None:
    gradient = stgrad.value_and_grad(scaled, jit=jit)
    monkeypatch.setattr(scaled, "__defaults__", (5.0,))
    assert gradient(1.0) == (5.0, 5.0)
    monkeypatch.setattr(scaled, "__defaults__", (7.0,))
    assert gradient(1.0) == (7.0, 7.0)
    assert gradient(1.0, 3.0) == (3.0, 3.0)


class Parameters(NamedTuple):
    a: float
    b: float = 2.0


def product(x):
    p = Parameters(x)
    return p.a * p.b


@pytest.mark.parametrize("jit", [False, True])
def test_defaults_of_a_class_of_tuples(jit, monkeypatch) -> None:
    gradient = stgrad.value_and_grad(product, jit=jit)
    assert gradient(1.5) == (3.0, 2.0)
    monkeypatch.setattr(Parameters.__new__, "__defaults__", (4.0,))
    assert gradient(1.5) == (6.0, 4.0)


MODEL = """
import stgrad
from params import Par
def f(x):
    p = Par(x)
    return p.a * p.b
def g(x, p):
    return x * p.a + p.b
print(stgrad.value_and_grad(f)(1.5), stgrad.value_and_grad(g)(2.0, Par(*VALUES)))
"""


def test_a_class_of_tuples_that_was_edited(tmp_path: Path) -> None:
    env = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(stgrad.__file__).parents[1])])}
    for name in ("STGRAD_CHECK", "STGRAD_PROGRAM_CACHE"):
        env.pop(name, None)
    told = []
    for fields in ("a: float\n    b: float = 2.0", "a: float\n    b: float = 3.0", "b: float\n    a: float = 3.0", "a: float\n    b: float = 2.0"):
        (tmp_path / "params.py").write_text(f"from typing import NamedTuple\nclass Par(NamedTuple):\n    {fields}\n", encoding="utf-8")
        (tmp_path / "model.py").write_text(MODEL.replace("VALUES", "(1.0, 5.0)"), encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", str(tmp_path / "model.py")], env=env, capture_output=True, text=True, check=True)
        told.append(done.stdout.strip())
    assert told == ["(3.0, 2.0) (7.0, 1.0)", "(4.5, 3.0) (7.0, 1.0)", "(4.5, 3.0) (11.0, 5.0)", "(3.0, 2.0) (7.0, 1.0)"]


P1, P2 = namedtuple("P", "a b"), namedtuple("P", "b a")


def of_pair(x, p):
    return x * p.a + p.b


@pytest.mark.parametrize("jit", [False, True])
def test_two_classes_of_one_name(jit, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "1")
    monkeypatch.delenv("STGRAD_CHECK", raising=False)
    gradient = stgrad.value_and_grad(of_pair, jit=jit)
    assert gradient(2.0, P1(1.0, 5.0)) == (7.0, 1.0)
    assert gradient(2.0, P2(1.0, 5.0)) == (11.0, 5.0)
