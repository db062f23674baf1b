"""The form of a program that people read: it runs as it stands, means what the compiled one does, and has no leftovers of rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_explain import ARGS, loss

import stgrad


def squares(x):
    return np.sum(x**2)


def powers(x):
    return x**3 + 2.0 * x**1 + x**1.0 + x**0


def chained(x, a):
    y = np.exp(-a * x**2)
    return np.sum(np.sin(y) * y)


def rowwise(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.mean(x[i] ** 2.0) * x[i, 0]
    return total


def in_place(x):
    y = x**1
    y[0] = 3.0 * x[1]
    return np.sum(y * x)


def overwritten(x):
    y = np.ones(3) * x
    y *= y
    return np.sum(y**1.0) * y[0]


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (squares, (np.arange(1.0, 4.0),)), (powers, (1.5,)), (chained, (np.arange(1.0, 4.0), 0.3)), (rowwise, (np.arange(1.0, 7.0).reshape(2, 3),)),
    (in_place, (np.arange(1.0, 4.0),)), (overwritten, (np.arange(1.0, 4.0),)), (loss, ARGS),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("order", [1, 2])
def test_runs_as_it_stands(function: Any, arguments: tuple[Any, ...], order: int) -> None:
    if order == 2:
        inner = stgrad.grad(function, jit=False)
        function = _summed(inner)
    gradient = stgrad.grad(function, jit=False)
    text = gradient.source(*arguments)
    namespace: dict[str, Any] = {}
    exec(text, namespace)  # noqa: S102
    np.testing.assert_allclose(namespace[gradient.__name__](*arguments), gradient(*arguments), rtol=1e-12)


def _summed(gradient: Any) -> Any:
    def total(*args):
        return np.sum(gradient(*args))

    return total


def test_leftovers_are_gone() -> None:
    assert "x_bar = 2 * x\n" in stgrad.grad(squares).source(np.ones(3))
    text = stgrad.grad(powers).source(1.5)
    assert "** 0" not in text
    assert "** 1" not in text
    assert "x ** 2" in text


def test_what_runs_is_lowered() -> None:
    gradient = stgrad.grad(squares)
    assert "for i in range" not in gradient.source(np.ones(3))
    assert "for i in range" in gradient.lowered(np.ones(3))
    assert "runtime.opaque" not in stgrad.grad(loss).source(*ARGS)


def test_the_file_of_what_runs() -> None:
    gradient = stgrad.grad(squares, jit=False)
    path = gradient.path(np.ones(3))
    assert isinstance(path, Path)
    assert path.read_text() == gradient.lowered(np.ones(3))
    assert gradient(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_a_hessian_reads_as_one_would_write_it():
    """No powers of one or nothing, and no tests that NumPy's operations make by themselves."""
    text = stgrad.hessian(lambda x: np.sum(np.sin(x) ** 2)).source(np.ones(3))
    assert "**" not in text
    jacobian = stgrad.jacfwd(lambda x, w: np.tanh(w @ x)).source(np.ones(3), np.ones((2, 3)))
    assert "raise" not in jacobian


def test_guards_of_numbers_have_one_name() -> None:
    def poles(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = 1 / (x[i] - x[0])
        return np.sum(y[1:])

    x = np.array([1.0, 2.0, 4.0])
    gradient = stgrad.grad(poles, jit=False)
    text = gradient.source(x)
    assert "runtime.safe_product(" in text
    assert "isfinite" not in text
    space: dict = {}
    exec(text, space)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(space["poles_grad"](x), gradient(x))
