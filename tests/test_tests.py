"""The checks themselves: planted wrong gradients and planted faults of the compiler are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.ir import Assign, Function, Store
from stgrad.testing import GradientError, gradients
from stgrad.transformed import Transformed
from stgrad.transforms import adjoints, instrument, pipeline, saves


def loss(x: Any, c: Any) -> Any:
    return np.sum(x * x * x) * c


ARGS = (np.array([1.0, -2.0, 0.5]), 1.5)

# --------------------------------------------------------------------------- wrong gradients

Change = Callable[[Any, Any], Any]


def spoiled(change: Change) -> Callable[..., Any]:
    """`grad`, with a change of the first gradient; `change(x, x_bar)`."""

    def make(f: Any, argnums: Any, jit: bool = True) -> Any:
        right = stgrad.grad(f, argnums, jit=jit)

        class Wrong:
            __name__ = "wrong"

            def __call__(self, *args: Any) -> Any:
                first, *rest = right(*args)
                return (change(args[0], first), *rest)

            def lowered(self, *args: Any) -> str:
                return right.lowered(*args)

        return Wrong()

    return make


def in_place(x: Any, g: Any) -> Any:
    x[0] = 7.0
    return g


def one_off(x: Any, g: Any) -> Any:
    g[1] *= 1.0 + 1e-6
    return g


WRONG: list[tuple[Change, str]] = [
    (lambda x, g: g * 2.0, "argument `x`: the derivative in a random direction"),
    (one_off, r"worst element: \[1\]"),
    (lambda x, g: -g, "should be"),
    (lambda x, g: np.zeros_like(g), "worst element"),
    (lambda x, g: g * np.nan, "nan"),
    (lambda x, g: np.sum(g), r"has shape \(3,\), its gradient \(\)"),
    (lambda x, g: g[:, None], "has shape"),
    (lambda x, g: g.astype(np.float32), "is float64, its gradient float32"),
    (in_place, "the caller's array `x` was changed"),
    (lambda x, g: None, "gradient"),
    (lambda x, g: (g, g), "leaves"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_gradient_is_found(change: Change, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "grad", spoiled(change))
    with pytest.raises(GradientError, match=message):
        check_gradient(loss, ARGS, order=1)


def test_the_right_gradient_passes() -> None:
    check_gradient(loss, ARGS, stages=True)


def test_an_unstable_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(100))
    monkeypatch.setattr(Transformed, "running", lambda *_: f"text {next(count)}")
    with pytest.raises(GradientError, match="different text"):
        check_gradient(loss, ARGS, order=1, stages=True)


def test_a_changing_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    monkeypatch.setattr(gradients, "grad", spoiled(lambda x, g: g * (1.0 + 1e-12 * rng.uniform())))
    with pytest.raises(GradientError, match="a second call gives another gradient"):
        check_gradient(loss, ARGS, order=1)


def test_a_wrong_stage_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = gradients._run_text
    monkeypatch.setattr(gradients, "_run_text", lambda *given: [v * 2.0 for v in right(*given)])
    with pytest.raises(GradientError, match="stage 'reverse' gives"):
        check_gradient(loss, ARGS, order=1, stages=True)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        check_gradient(loss, ARGS, modes=("sideways",))


# --------------------------------------------------------------------------- a compiler with faults


def writes_through_a_view(x: Any) -> Any:
    y = x * x
    v = y[1:]
    v *= x[:-1]
    return np.sum(y * v[0])


def squares_in_place(x: Any) -> Any:
    y = x * 1.0
    z = y * y
    y[1:] = 0.5
    return np.sum(z * y)


def shifts(x: Any) -> Any:
    x[1:] = x[:-1] * 2.0
    return np.sum(x * x)


def recurrence(x: Any) -> Any:
    s = 1.0
    for i in range(len(x)):
        s = s * x[i] + s
    return s


def shares_a_cotangent(x: Any, y: Any) -> Any:
    u = x * x
    z = x + y
    return np.sum(u) + np.sum(z)


def without_shadows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instrument, "shadowed", lambda fn, classes: frozenset())


def without_restoring(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saves.Saver, "restore_contents", lambda self, block: None)


def without_saving(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saves, "reassigned", lambda name, place, after: False)


def without_zeroing(patch: pytest.MonkeyPatch) -> None:
    right = adjoints.Adjoints.store

    def store(self: Any, stmt: Store) -> None:
        right(self, replace(stmt, mode="add") if stmt.mode == "set" else stmt)

    patch.setattr(adjoints.Adjoints, "store", store)


def without_copies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adjoints.Adjoints, "_owned", lambda *_: True)


def without_the_parameters_copy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instrument, "_copy_parameters", lambda fn, *_: (fn, {}))


def with_a_wrong_rule(patch: pytest.MonkeyPatch) -> None:
    right = adjoints.Adjoints._times
    patch.setattr(adjoints.Adjoints, "_times", lambda self, g, p: right(self, right(self, g, p), 1.5))


def with_a_wrong_simplification(patch: pytest.MonkeyPatch) -> None:
    right = pipeline.simplify

    def simplify(fn: Function) -> Function:
        fn = right(fn)
        first = next((i for i, s in enumerate(fn.body) if isinstance(s, Assign) and s.op == "np.multiply"), None)
        if first is None:
            return fn
        stmt = fn.body[first]
        assert isinstance(stmt, Assign)
        return fn.with_body((*fn.body[:first], replace(stmt, op="np.add"), *fn.body[first + 1 :]))

    patch.setattr(pipeline, "simplify", simplify)


FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], Callable[..., Any]]] = [
    (without_shadows, writes_through_a_view),
    (without_restoring, squares_in_place),
    (without_saving, recurrence),
    (without_zeroing, squares_in_place),
    (without_copies, shares_a_cotangent),
    (without_the_parameters_copy, shifts),
    (with_a_wrong_rule, recurrence),
    (with_a_wrong_simplification, shares_a_cotangent),
]


@pytest.mark.parametrize(("fault", "program"), FAULTS, ids=lambda v: v.__name__)
def test_a_fault_of_the_compiler_is_found(fault: Any, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    args = (np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7, -1.1]))[: program.__code__.co_argcount]
    check_gradient(program, args)
    fault(monkeypatch)
    with pytest.raises(Exception, match="."):
        check_gradient(program, args)


