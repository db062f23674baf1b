"""`globals()["name"]` is the global name."""

import numpy as np
import pytest

import stgrad
from stgrad import errors

SCALE = 2.0
WEIGHTS = np.array([1.0, 3.0])


def turn_x(a):
    return np.sin(a)


def turn_y(a):
    return a**3


def by_name(x):
    total = 0.0
    for axis in ("x", "y"):
        total = total + globals()[f"turn_{axis}"](x) * globals()["SCALE"]
    return total * globals()["WEIGHTS"][1] if "SCALE" in globals() and "nothing" not in globals() else x


def missing(x):
    try:
        return globals()["nothing"] * x
    except KeyError:
        return x * x


@pytest.mark.parametrize("jit", [False, True])
def test_what_a_name_stands_for(jit, monkeypatch):
    gradient = stgrad.grad(by_name, jit=jit)
    assert np.isclose(gradient(0.4), 6.0 * (np.cos(0.4) + 3 * 0.4**2))
    assert np.isclose(stgrad.grad(gradient, jit=jit)(0.4), 6.0 * (6 * 0.4 - np.sin(0.4)))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert np.isclose(gradient(0.4), 15.0 * (np.cos(0.4) + 3 * 0.4**2))
    assert stgrad.grad(missing, jit=jit)(0.4) == 0.8


def of_builtins(x):
    return globals()["abs"](x)


def other_methods(x):
    return globals().get("SCALE") * x


def stored(x):
    globals()["SCALE"] = x
    return x


@pytest.mark.parametrize(("f", "words"), [(of_builtins, "KeyError: 'abs'"), (other_methods, "`get` of `globals"), (stored, "assigning to an item")])
def test_what_is_refused(f, words):
    with pytest.raises(errors.StgradError, match=f"(?s){words}.*test_module_names.py"):
        stgrad.grad(f, jit=True)(0.4)
