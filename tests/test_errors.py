"""Messages: what, where with a caret, why, what instead, which page."""

import doctest

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.ir import Loc

LOC = Loc("model.py", 12, 8, 12, "    y = f(x) + 1\n")

CLASSES = [
    (errors.UnsupportedSyntaxError, NotImplementedError),
    (errors.UnknownFunctionError, LookupError),
    (errors.UnknownFunctionError, NotImplementedError),
    (errors.SourceNotFoundError, OSError),
    (errors.NotDifferentiableError, TypeError),
    (errors.AliasingError, ValueError),
    (errors.TypeInferenceError, TypeError),
    (errors.ShapeError, ValueError),
    (errors.PositionError, IndexError),
    (errors.IntegerSizeError, OverflowError),
    (errors.UndefinedNameError, NameError),
    (errors.NeedStaticError, TypeError),
    (errors.UnsupportedCallerError, TypeError),
    (errors.NotCompiledError, TypeError),
    (errors.InternalError, AssertionError),
]


def test_the_whole_message():
    error = errors.UnknownFunctionError("no rule for `f`", LOC, reason="it is written in C", hint="write a rule\nor inline it")
    assert str(error) == (
        "no rule for `f`\n"
        "  at model.py:12\n"
        "    y = f(x) + 1\n"
        "        ^^^^\n"
        "  why:     it is written in C\n"
        "  instead: write a rule\n"
        "           or inline it\n"
        "  see:     stgrad help unknown-functions"
    )


@pytest.mark.parametrize(("error", "builtin"), CLASSES)
def test_each_class_is_a_builtin_too(error, builtin):
    with pytest.raises(builtin, match="model.py:12"):
        raise error("no", LOC)
    assert issubclass(error, errors.StgradError)
    assert str(error("plain")).startswith("plain")


def test_a_location_without_text_or_columns():
    assert "at a.py:3\n" in str(errors.ShapeError("no", Loc("a.py", 3, 0, 0, "")))
    assert "\n    x = 1\n    ^^^^^\n" in str(errors.ShapeError("no", Loc("a.py", 3, 0, 0, "  x = 1")))
    assert "\n    x = 1\n    ^\n" in str(errors.ShapeError("no", Loc("a.py", 3, 2, 3, "  x = 1")))


def test_a_location_given_later():
    error = errors.ShapeError("no")
    assert error.at(LOC) is error
    assert error.loc is LOC
    assert error.at(Loc("other.py", 1, 0, 0, "")).loc is LOC


def test_need_static_names_the_parameter():
    assert errors.NeedStaticError("no", parameter="axis").parameter == "axis"


def test_internal_error_prints_the_program():
    assert str(errors.InternalError("broken", dump="def f(): ...")).endswith("\n\ndef f(): ...")


def test_doctests():
    assert doctest.testmod(errors).failed == 0


def opened(x):
    with open("never") as file:
        return x * len(file.read())


def test_a_traceback_is_the_users(monkeypatch):
    """The frames of the user, and of the call; those of the compiler and what led to the error with STGRAD_TRACEBACK=full."""
    counts = []
    for wish in ("", "full"):
        monkeypatch.setenv("STGRAD_TRACEBACK", wish)
        with pytest.raises(errors.UnsupportedSyntaxError) as refused:
            stgrad.grad(opened)(1.0)
        counts.append(len(refused.traceback))
    assert counts[0] == 3 and counts[1] > 6


@pytest.mark.parametrize(
    "use",
    [
        lambda f: stgrad.grad(f).source(1.0),
        lambda f: stgrad.grad(f).memory(1.0),
        lambda f: stgrad.grad(f).explain(1.0),
        lambda f: stgrad.grad(f).dispatcher(1.0),
        lambda f: stgrad.compile(stgrad.grad(f), (1.0,)),
        lambda f: stgrad.profile(stgrad.grad(f), 1.0),
        lambda f: stgrad.sparsity(f, np.ones(2)),
        lambda f: stgrad.sparse_jacobian(f)(np.ones(2)),
        lambda f: stgrad.jacobian(f)(np.ones(2)),
        lambda f: stgrad.vjp(f, 1.0),
        lambda f: stgrad.hvp(f, (1.0,), (1.0,)),
    ],
)
def test_whatever_is_asked_of_a_refused_function_shows_no_frames_of_the_compiler(use):
    with pytest.raises(errors.UnsupportedSyntaxError) as refused:
        use(opened)
    assert len(refused.traceback) <= 5 and refused.value.__cause__ is None and refused.value.__context__ is None


@pytest.mark.parametrize("axis", [5, "n"])
def test_what_an_operation_consists_of_is_no_place(axis):
    """`np.insert` and others are written with operations: what those refuse is said of the user's call."""

    def padded(x, n):
        return np.sum(np.insert(x, 0, 1.0, axis=axis if axis != "n" else int(np.sum(x))))

    with pytest.raises(errors.StgradError) as info:
        stgrad.grad(padded, jit=True)(np.ones((2, 2)), 1)
    assert info.value.loc.file == __file__ and "np.insert" in info.value.loc.text


def test_a_shape_that_is_assigned():
    def program(x):
        y = x * x
        y.shape = (2, 3)
        return np.sum(y[1])

    with pytest.raises(errors.UnsupportedSyntaxError, match=r"(?s)attribute `shape`.*y = x\.reshape"):
        stgrad.grad(program, jit=False)(np.arange(6.0))


def test_a_program_that_nests_too_deeply(tmp_path, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    path = tmp_path / "levels.py"
    cases = "".join(f"    if x < {k}.0:\n        return x * {k}.5\n" for k in range(250))
    path.write_text(f"def f(x):\n{cases}    return x\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(errors.UnsupportedSyntaxError, match=r"(?s)`f` nests too deeply.*levels\.py:502"):
        stgrad.grad(space["f"], jit=True)(7.5)
    with pytest.warns(errors.RunsPlainlyWarning, match="nests too deeply"):
        assert stgrad.grad(space["f"])(7.5) == 8.5
