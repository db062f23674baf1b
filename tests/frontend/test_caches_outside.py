"""What functions keep outside for later calls: read names, caches of constants that the first call fills, and what stays refused."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from stgrad import errors

SCALE, LATER, COUNTS = 2.0, None, [0]
MADE: dict = {}


class Backend:
    """What a package makes once."""

    def __init__(self):
        self.factor = 2.0
        self.names = {"kind": "numpy"}


class Holder:
    """An object of the module."""


HOLDER = Holder()


@pytest.fixture(autouse=True)
def fresh():
    global LATER
    MADE.clear()
    HOLDER.__dict__.clear()
    COUNTS[0], LATER = 0, None


def reads_a_global(x):
    global SCALE

    def inner(y):
        global SCALE
        return y * SCALE

    return inner(x) * x * SCALE


def instance_in_a_dict(x):
    if "backend" not in MADE:
        MADE["backend"] = Backend()
    made = MADE["backend"]
    return x * x * made.factor + x * len(made.names)


def name_of_the_module(x):
    global LATER
    if LATER is None:
        LATER = 3.0
    return x * x * LATER


def attribute_of_an_object(x):
    if not hasattr(HOLDER, "rate"):
        HOLDER.rate = 2.5
    return x * x * HOLDER.rate


def name_of_the_function_around():
    kept = None

    def inner(x):
        nonlocal kept
        if kept is None:
            kept = {"k": 4.0}
        return kept["k"] * x * x

    return inner


def always_sets(x):
    global LATER
    LATER = 2.0
    return x * LATER


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [reads_a_global, instance_in_a_dict, name_of_the_module, attribute_of_an_object, name_of_the_function_around(), always_sets])
def test_caches_of_constants(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    gradient = stgrad.grad(f, jit=jit)
    found = [gradient(1.7), gradient(1.7)]
    assert np.allclose(found, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6, rtol=1e-7)
    assert np.isclose(stgrad.grad(stgrad.grad(f, jit=jit), jit=jit)(1.7), (gradient(1.7 + 1e-6) - gradient(1.7 - 1e-6)) / 2e-6, rtol=1e-6)


def shadows_a_global(x):
    SCALE = 3.0

    def inner(y):
        global SCALE
        return y * SCALE

    return inner(x) * SCALE


def keeps_its_argument(x):
    global LATER
    if LATER is None:
        LATER = x
    return x * LATER


def remembers_by_argument(x):
    if x not in MADE:
        MADE[x] = x * x
    return MADE[x]


def counts_its_calls(x):
    COUNTS[0] = COUNTS[0] + 1
    return x * COUNTS[0]


def test_what_others_set_in_between_is_set_again():
    global LATER
    gradient = stgrad.grad(always_sets, jit=True)
    for before in (None, 5.0, 2.0):
        LATER = before
        assert (gradient(1.7), LATER) == (2.0, 2.0)


@pytest.mark.parametrize("f", [shadows_a_global, keeps_its_argument, remembers_by_argument, counts_its_calls])
def test_what_depends_on_the_call_is_refused(f):
    with pytest.raises((errors.UnsupportedSyntaxError, errors.AliasingError)):
        stgrad.grad(f, jit=True)(1.7)
    assert f is counts_its_calls or LATER is None and not MADE  # nothing ran
