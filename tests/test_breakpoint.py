"""`breakpoint()` in a function stops in its gradient where that runs in plain Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad.errors import NotCompiledError


def damped(x: Any, p: Any) -> Any:
    s, y = 0.0, x**2
    for i in range(len(x)):
        t = np.sin(y[i]) * p["k"]
        if i == 1:
            breakpoint()
        s += t
    return s


X, P = np.array([0.3, 0.7, 1.1]), {"k": 2.0}


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: found.append(dict(sys._getframe(1).f_locals)))
    return found


@pytest.mark.parametrize("make", [stgrad.grad, stgrad.value_and_grad])
def test_the_program_stops_with_its_names(make: Any, stops: list[dict[str, Any]]) -> None:
    gradient = make(damped, jit=False)
    found = gradient(X, P)
    np.testing.assert_allclose(found if make is stgrad.grad else found[1], 4 * X * np.cos(X**2))
    assert len(stops) == 1
    np.testing.assert_array_equal(stops[0]["y"], X**2)
    assert stops[0]["p_k"] == 2.0
    assert stops[0]["t"] == np.sin(X[1] ** 2) * 2.0


def test_compiled_code_does_not_stop(stops: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with pytest.raises(NotCompiledError, match="stops what runs in plain Python"):
        stgrad.grad(damped, jit=True)(X, P)
    with pytest.warns(UserWarning, match="it runs in plain Python"):
        stgrad.grad(damped)(X, P)
    assert len(stops) == 1
