"""Containers from outside that a program changes and gives back: settings within a `with`, a stack, a flag."""

import contextlib

import numpy as np
import pytest

import stgrad
from stgrad import errors
from tests.thorough import check_gradient

SETTINGS = {"scale": 2.0, "mode": "a"}
STACK = []
SEEN = set()
NESTED = {"a": [1.0, 2.0], "b": {"c": np.arange(3.0)}}


@contextlib.contextmanager
def using(**changes):
    before = dict(SETTINGS)
    SETTINGS.update(changes)
    try:
        yield
    finally:
        SETTINGS.clear()
        SETTINGS.update(before)


def helper(x):
    return x * SETTINGS["scale"] if SETTINGS["mode"] == "a" else x**3 * SETTINGS["scale"]


def within(x):
    first = helper(x)
    with using(mode="b", scale=5.0):
        second = helper(x)
    return first * second + helper(x)


def returns_within(x):
    with using(mode="b"):
        return helper(x)


def stacked(x):
    STACK.append(x * 2)
    y = STACK[-1] ** 2
    STACK.pop()
    return y


def on_one_path(x):
    if x > 0:
        with using(mode="b"):
            y = helper(x)
    else:
        y = helper(x) * 7
    return y + helper(x)


def by_a_branch(x):
    if x > 0:
        SETTINGS["mode"] = "b"
    else:
        SETTINGS["mode"] = "a"
    y = helper(x)
    SETTINGS["mode"] = "a"
    return y


def keeps_a_value_for_a_while(x):
    SETTINGS["w"] = x
    y = SETTINGS["w"] ** 2
    del SETTINGS["w"]
    return y


def inside_another(x):
    NESTED["b"]["d"] = x
    y = NESTED["b"]["d"] * NESTED["b"]["c"].sum() * x
    NESTED["b"].pop("d")
    return y


def a_set(x):
    SEEN.add("a")
    y = x * x * len(SEEN)
    SEEN.discard("a")
    return y


def one_object(x):
    again = SETTINGS
    again["scale"] = 4.0
    y = helper(x) if again is SETTINGS else 0.0 * x
    SETTINGS["scale"] = 2.0
    return y * x


def default(x, seen=[]):  # noqa: B006
    seen.append(1.0)
    y = x * len(seen)
    seen.pop()
    return y


def changes_a_default(x):
    return default(x)


GIVEN_BACK = [within, returns_within, stacked, on_one_path, by_a_branch, keeps_a_value_for_a_while, inside_another, a_set, one_object, changes_a_default]


@pytest.mark.parametrize("function", GIVEN_BACK)
@pytest.mark.parametrize("x", [1.3, -0.7])
def test_what_is_given_back_may_change(function, x):
    check_gradient(function, (x,))
    assert (SETTINGS, STACK, SEEN, len(NESTED["b"])) == ({"scale": 2.0, "mode": "a"}, [], set(), 1)


def test_what_is_outside_is_read_anew():
    gradient = stgrad.grad(within, jit=False)
    before = gradient(1.5)
    SETTINGS["scale"] = 3.0
    try:
        assert gradient(1.5) == stgrad.grad(within, jit=False)(1.5) != before
    finally:
        SETTINGS["scale"] = 2.0
    assert gradient(1.5) == before


def keeps_a_change(x):
    SETTINGS["scale"] = 3.0
    return helper(x)


def keeps_it_on_one_path(x):
    if x > 0:
        SETTINGS["mode"] = "b"
    else:
        SETTINGS["mode"] = "a"
    return x * x


def keeps_another_order(x):
    SETTINGS["scale"] = SETTINGS.pop("scale")
    return helper(x)


def nested_derivative(x):
    with using(mode="b"):
        return stgrad.grad(helper)(x)


REFUSED = [keeps_a_change, keeps_it_on_one_path, nested_derivative]


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_kept_is_refused(function):
    with pytest.raises(errors.AliasingError, match=r"from outside of it[\s\S]*put back"):
        stgrad.grad(function, jit=True)(1.3)
    assert SETTINGS == {"scale": 2.0, "mode": "a"}


class Layer:
    def __init__(self):
        self.weight_ = np.array([1.0, 2.0])
        self.name = "layer"


LAYER = Layer()


def asks_for_attributes(x):
    fitted = [name for name in vars(LAYER) if name.endswith("_")]
    if not fitted:
        raise ValueError("not fitted")
    return np.sum(vars(LAYER)["weight_"] * x * x) * len(fitted)


def test_attributes_of_an_instance_from_outside():
    check_gradient(asks_for_attributes, (np.array([0.5, -1.5]),))
    gradient = stgrad.grad(asks_for_attributes, jit=False)
    assert gradient(1.0) == 6.0
    LAYER.bias_ = 1.0
    assert gradient(1.0) == 12.0
    del LAYER.bias_
