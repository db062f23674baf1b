"""`lazy=True`: the program before it was lowered runs while another process compiles."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad.calls import compilations
from stgrad.transformed import Transformed


class Pending:
    """A compilation that is done when a test says so."""

    made: list[Pending] = []

    def __init__(self, *args: Any, **options: Any) -> None:
        self.done = False
        Pending.made.append(self)


@pytest.fixture
def pending(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Pending]]:
    """Compilations that have begun; none of them runs. Programs on disk do not count."""
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "0")
    monkeypatch.setattr("stgrad.programs.Compilation", Pending)
    Pending.made.clear()
    yield Pending.made
    Pending.made.clear()


def recurrent(w: Any, x: Any, n: int) -> Any:
    h = np.zeros(3)
    for t in range(n):
        h = np.tanh(w @ h + x[t % 2])
        if h[0] > 0.6:
            h = 0.5 * h
    return np.sum(h * h)


def scalars(x: Any) -> Any:
    y = x
    while y < 3.0:
        y = y * 1.5 + math.sin(x)
    return y


def in_structures(p: Any) -> Any:
    a, rest = p["a"], p["rest"]
    return np.sum(a * rest[0]) + rest[1] ** 2, {"norm": np.sqrt(np.sum(a * a)), "a": 2.0 * a}


W, X = np.linspace(-0.5, 0.7, 9).reshape(3, 3), np.array([0.4, -0.2])
P = {"a": np.array([1.0, 2.0], np.float32), "rest": [np.float32(0.5), 3.0]}
CALLS = [
    (recurrent, (W, X, 6), {"argnums": (0, 1)}),
    (scalars, (0.3,), {}),
    (scalars, (0.3,), {"mode": "forward"}),
    (in_structures, (P,), {"has_aux": True}),
]


def alike(a: Any, b: Any) -> None:
    """The same structure of the same types, with equal numbers to rounding."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for k in a:
            alike(a[k], b[k])
    elif isinstance(a, (tuple, list)):
        for x, y in zip(a, b, strict=True):
            alike(x, y)
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-6 if np.asarray(a).dtype == np.float32 else 1e-12)


def program_of(gradient: Transformed) -> Any:
    (program,) = gradient._known.values()
    return program


@pytest.mark.parametrize(("function", "args", "options"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_plain_first_and_native_later(function: Any, args: Any, options: Any, pending: list[Pending]) -> None:
    gradient, wanted = (stgrad.value_and_grad(function, **options, lazy=lazy) for lazy in (True, False))
    for _ in range(3):
        alike(gradient(*args), wanted(*args))
    assert len(pending) == 1
    assert program_of(gradient).lazy is not None
    assert not program_of(gradient).wrapped
    pending[0].done = True
    for _ in range(3):
        alike(gradient(*args), wanted(*args))
    assert program_of(gradient).lazy is None
    assert program_of(gradient).wrapped


def test_what_runs_first_works_on_arrays(pending: list[Pending]) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(x))

    gradient = stgrad.grad(f, lazy=True)
    gradient(np.ones(1000))
    text = inspect.getsource(program_of(gradient).lazy.plain)
    assert "np.tanh(x)" in text
    assert "for " not in text
    assert "for " in gradient.lowered(np.ones(1000))


def test_another_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "0")
    factor = float(np.random.default_rng().random())  # a program that nobody has compiled

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * factor)

    gradient, x = stgrad.grad(f, lazy=True), np.linspace(0.0, 1.0, 5)
    first = gradient(x)
    program = program_of(gradient)
    program.lazy.compilation.wait()
    alike(gradient(x), first)
    assert program.lazy is None
    (hits,) = gradient._load(program.ready).stats.cache_hits.values()  # type: ignore[attr-defined]
    assert hits == 1


def test_without_another_process_it_is_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "0")
    monkeypatch.setattr(compilations, "child", lambda *args, **pipes: None)
    gradient = stgrad.grad(scalars, lazy=True)
    assert gradient(0.3) == pytest.approx(gradient(0.3), rel=1e-14)
    assert program_of(gradient).lazy is None


@pytest.mark.parametrize("done", [False, True])
def test_errors_are_alike(done: bool, pending: list[Pending]) -> None:
    def f(x: Any, k: int) -> Any:
        if x[0] < 0:
            raise ValueError("below zero")
        return x[k] * math.sqrt(x[0]) / (k - 1)

    gradient, x = stgrad.grad(f, lazy=True), np.array([1.0, 2.0, 3.0])
    gradient(x, 2)
    pending[0].done = done
    for args, error in (((-x, 0), ValueError), ((x, 7), IndexError)):
        with pytest.raises(error):
            gradient(*args)
        with pytest.raises(error):
            gradient(*args)
    assert gradient(x, 2) == pytest.approx(stgrad.grad(f)(x, 2))


def test_what_plain_python_alone_refuses_is_left_to_native_code(pending: list[Pending]) -> None:
    def f(x: Any, k: int) -> Any:
        return x[0] / k  # of NumPy, for which 1 / 0 is infinite

    gradient, x = stgrad.grad(f, lazy=True), np.array([1.0, 2.0])
    assert gradient(x, 1) == pytest.approx([1.0, 0.0])
    assert program_of(gradient).lazy is not None
    assert gradient(x, 0) == pytest.approx(stgrad.grad(f)(x, 0), nan_ok=True)
    assert len(pending) == 1


def test_programs_that_print_are_compiled_at_once(pending: list[Pending], capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print("x is", x)
        return x * x

    assert stgrad.grad(f, lazy=True)(3.0) == 6.0
    assert "x is 3.0" in capsys.readouterr().out
    assert not pending


def test_refusals_are_alike() -> None:
    with pytest.raises(stgrad.errors.NotDifferentiableError):
        stgrad.grad(lambda x: x, lazy=True)(np.ones(3))


@pytest.mark.parametrize("options", [{"jit": False}, {"check_nan": True}])
def test_programs_that_are_not_lazy(options: dict[str, Any], pending: list[Pending]) -> None:
    assert stgrad.grad(scalars, lazy=True, **options)(0.3) == pytest.approx(stgrad.grad(scalars)(0.3))
    assert not pending


def test_programs_that_call_themselves_are_compiled_at_once(pending: list[Pending]) -> None:
    def halved(x: Any) -> Any:
        return x if x < 1.0 else halved(0.5 * x) * x

    assert stgrad.grad(halved, lazy=True)(5.0) == pytest.approx(stgrad.grad(halved)(5.0))
    assert not pending
