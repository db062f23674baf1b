"""What changes between two calls is noticed: the derivative is that of the function as it is now."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

import stgrad
from tests.state.changes import CHANGES, IMPORTS

X = 1.3
H = 1e-5


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Imports the module `m` of a project; what it imported is gone after the test."""
    known = dict(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def make(files: dict[str, str]) -> ModuleType:
        for name, text in files.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n")
        importlib.invalidate_caches()
        return importlib.import_module("m")

    yield make
    mock.patch.stopall()
    for name in set(sys.modules) - set(known):
        if str(getattr(sys.modules[name], "__file__", tmp_path)).startswith(str(tmp_path)):
            del sys.modules[name]


def expected(m: ModuleType) -> float:
    """Central differences, extrapolated once."""
    slopes = [(m.f(X + h) - m.f(X - h)) / (2.0 * h) for h in (H, 2.0 * H)]
    return float((4.0 * slopes[0] - slopes[1]) / 3.0)


def check(m: ModuleType, change: str, jit: bool) -> None:
    gradient = stgrad.grad(m.f, jit=jit)
    for _ in range(3):
        assert gradient(X) == pytest.approx(expected(m), rel=1e-6), "before the change"
    path = Path(m.__file__ or "").with_name("change.py")
    path.write_text(change)
    exec(compile(change, path, "exec"), {"m": m, "math": math, "np": np, "stgrad": stgrad, "__builtins__": __builtins__})
    m.f = gradient.derivative.function  # what a reload has put there is another function
    for _ in range(3):
        assert gradient(X) == pytest.approx(expected(m), rel=1e-6), "after the change"


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(project, name):
    text, change = CHANGES[name]
    check(project({"m": text}), change, jit=False)


@pytest.mark.parametrize("name", IMPORTS)
def test_a_change_of_a_module_is_noticed(project, name):
    files, change = IMPORTS[name]
    check(project(files), change, jit=False)
