"""What exceptions say and carry to a handler: right where it is known, refused where only the running program knows it."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors


class Named(ValueError):
    """One of a package, with nothing of its own."""

    code = 3


class Carries(Exception):
    def __init__(self, best, *more):
        super().__init__(f"best {len(more)}", *more)
        self.best = best


class Says(Exception):
    def __str__(self):
        return "says " + self.args[0]


def two_arguments(x):
    try:
        raise ValueError("left", "right")
    except ValueError as e:
        return x * len(e.args) + len(e.args[1]) * x * x + len(str(e))


def numbers_in_it(x):
    try:
        raise KeyError(3, 2.5)
    except LookupError as e:
        return x * e.args[1] * e.args[0]


def at_run_time(x):
    y = x
    for i in range(3):
        try:
            if x > 1.0 + i:
                raise Named("too", "large")
            y = y * x
        except Named as e:
            y = y + x * len(e.args) * len(str(e)) * e.code
    return y


def a_missing_key(x):
    table = {"a": 1.0}
    try:
        return x * table["long key"]
    except KeyError as e:
        return x * x * len(e.args[0]) + len(str(e))


def a_missing_key_at_run_time(x):
    table = {"a": 1.0}
    y = x
    for i in range(2):
        if x > i:
            try:
                y = y * table["long key"]
            except KeyError as e:
                y = y + x * len(e.args[0]) + len(str(e)) * x * x
    return y


def raised_again(x):
    try:
        try:
            raise Named("abc")
        except ValueError as e:
            kept = e
            raise
    except Named as e:
        return x * len(str(e)) + len(kept.args) + (e is kept)


def made_before(x):
    e = ArithmeticError("abc", 4)
    try:
        if x > 0.5:
            raise e
        return x
    except ArithmeticError as f:
        return x * f.args[1] + len(e.args)


def of_its_class(x):
    try:
        raise Carries(x)
    except Carries as e:
        return x * isinstance(e, Exception) + len(type(e).__name__) * x


def stopped(x):
    try:
        raise StopIteration(2.5)
    except StopIteration as e:
        return x * e.value


RIGHT = [two_arguments, numbers_in_it, at_run_time, a_missing_key, a_missing_key_at_run_time, raised_again, made_before, of_its_class, stopped]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", RIGHT)
def test_right(f, jit):
    for x in (0.3, 1.7, 2.4):
        value, slope = stgrad.value_and_grad(f, jit=jit)(x)
        assert np.isclose(value, f(x))
        assert np.isclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6)


def what_it_was_made_of(x):
    try:
        raise Carries(x)
    except Carries as e:
        return x * e.best


def whether_it_has_it(x):
    try:
        raise Carries(x)
    except Carries as e:
        return x * hasattr(e, "best")


def its_arguments(x):
    try:
        raise Carries(x, 1, 2)
    except Carries as e:
        return x * len(e.args)


def its_text(x):
    try:
        raise Carries(x, 1, 2)
    except Carries as e:
        return x * len(str(e))


def a_text_of_its_class(x):
    try:
        raise Says("abc")
    except Says as e:
        return x * len(str(e))


def a_number_of_the_program(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        return x * e.args[0]


def its_cause(x):
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise ValueError("v") from e
    except ValueError as e:
        return x * len(str(e.__cause__))


def its_context(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise ValueError("v")
    except ValueError as e:
        return x if e.__context__ is None else x * x


@pytest.mark.filterwarnings("ignore::stgrad.errors.RunsPlainlyWarning")
@pytest.mark.parametrize(
    "f", [what_it_was_made_of, whether_it_has_it, its_arguments, its_text, a_text_of_its_class, a_number_of_the_program, its_cause, its_context]
)
def test_right_or_refused(f, monkeypatch):
    try:
        slope = stgrad.grad(f, jit=False)(1.7)
    except errors.StgradError as refused:
        assert not isinstance(refused, errors.ShapeError)
        assert __file__ in str(refused)
    else:
        assert np.isclose(slope, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6)
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    assert np.isclose(stgrad.grad(f, jit="auto")(1.7), (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6)
