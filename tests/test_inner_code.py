"""Functions inside of compiled programs: no machine code of their own but where somebody may ask for it, and all that they do as before."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.extending import overload

import stgrad
import stgrad.stack_slots
from stgrad.inner_code import InnerLibrary


@pytest.fixture
def emitted(monkeypatch) -> list[str]:
    """The names of the libraries that get machine code."""
    names: list[str] = []
    finalize = JITCodeLibrary._finalize_specific

    def told(self) -> None:
        names.append(self.name)
        finalize(self)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", told)
    return names


def own_operation(x):
    return x * 3.0


@overload(own_operation)
def _own_operation(x):
    return lambda x: x * 3.0


def loud(x):
    return x


@overload(loud)
def _loud(x):
    def loud(x):
        if x < 0.0:
            raise ValueError("below zero", x)
        print("loud", x)
        return x

    return loud


def test_only_what_can_be_called_gets_machine_code(emitted) -> None:
    def f(x):
        return np.sum(np.roll(np.concatenate((x, x[:2])), 1) ** 2 * np.arange(len(x) + 2))

    assert np.allclose(stgrad.grad(f, jit=True, mode="reverse")(np.ones(3)), [10.0, 4.0, 6.0])
    assert not [name for name in emitted if "impl" in name or "lambda" in name]
    assert any("f_grad" in name for name in emitted)
    assert JITCPUCodegen._library_class is JITCodeLibrary  # what others compile is as ever


def test_functions_of_the_user_can_be_called_afterwards(emitted) -> None:
    @numba.njit
    def helper(x):
        return np.sin(x) * own_operation(x)

    def f(x):
        return helper(x) + helper(x * x)

    x = 0.7
    slope = 3 * np.sin(x) + 3 * x * np.cos(x) + 2 * x * (3 * np.sin(x * x) + 3 * x * x * np.cos(x * x))
    assert np.isclose(stgrad.grad(f, jit=True)(x), slope)
    assert np.isclose(helper(x), np.sin(x) * x * 3.0)


def called_inside(function):
    """A compiled program of ours that calls a function as it is."""
    return numba.njit(pipeline_class=stgrad.stack_slots.Compiler)(lambda x: function(x) + 1.0)


def test_environments_of_functions_that_print_and_raise(capfd) -> None:
    inside = called_inside(loud)
    assert inside(2.0) == 3.0
    assert "loud 2.0" in capfd.readouterr().out
    with pytest.raises(ValueError, match="below zero"):
        inside(-1.0)

    @numba.njit  # the implementation is known by now
    def outside(x):
        return loud(x) * 2.0

    assert outside(4.0) == 8.0
    with pytest.raises(ValueError, match="below zero"):
        outside(-1.0)


def test_functions_that_call_each_other() -> None:
    @numba.njit
    def even(n):
        return 1.0 if n == 0 else odd(n - 1) + 2.0

    @numba.njit
    def odd(n):
        return 0.5 if n == 0 else even(n - 1) * 3.0

    inside = called_inside(even)
    assert inside(6) == even.py_func(6) + 1.0
    assert even(7) == even.py_func(7)


def test_nested_libraries_are_inner_ones() -> None:
    @numba.njit
    def helper(x):
        return own_operation(x)

    called_inside(helper)(1.0)
    (made,) = helper.overloads.values()
    assert isinstance(made.library, InnerLibrary)
    assert made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
