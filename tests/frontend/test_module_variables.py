"""Variables of a module that a program binds by `global` and puts back: settings within a `with`, and what functions called there find."""

import contextlib
import sys

import pytest

import stgrad
from tests.thorough import check_gradient

MODE = "a"
SCALE = 1.0


def set_mode(mode):
    global MODE
    MODE = mode


def get_mode():
    return MODE


@contextlib.contextmanager
def mode(name):
    old = get_mode()
    set_mode(name)
    try:
        yield
    finally:
        set_mode(old)


class Mode:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.old = get_mode()
        set_mode(self.name)

    def __exit__(self, *_):
        set_mode(self.old)


def by_mode(x):
    return x * 2.0 if get_mode() == "b" else x * 3.0


def generator(x):
    before = by_mode(x)
    with mode("b"):
        within = by_mode(x)
    return before * within + by_mode(x)


def instance(x):
    before = by_mode(x)
    with Mode("b"):
        within = by_mode(x)
    return before * within + by_mode(x)


def on_one_path(x):
    if x > 1:
        with mode("b"):
            within = by_mode(x)
    else:
        within = by_mode(x)
    return within * by_mode(x)


def in_a_loop(x):
    total = 0.0
    for _ in range(3):
        with mode("b"):
            total += by_mode(x)
        total += by_mode(x)
    return total


def from_the_module(x):
    with mode("b"):
        if sys.modules[__name__].MODE == "b":
            return x * 9.0
    return x


def scaled():
    return SCALE * SCALE


def a_value_of_the_program(x):
    global SCALE
    old = SCALE
    SCALE = x
    found = scaled() * 2.0
    SCALE = old
    return found


@pytest.mark.parametrize("x", [1.5, 0.5])
@pytest.mark.parametrize("f", [generator, instance, on_one_path, in_a_loop, from_the_module, a_value_of_the_program], ids=lambda f: f.__name__)
def test_programs(f, x):
    check_gradient(f, (x,))
    assert (MODE, SCALE) == ("a", 1.0)


def kept(x):
    global SCALE
    SCALE = x
    return scaled()


def test_what_is_not_put_back():
    with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="`global` of a name that is assigned"):
        stgrad.grad(kept)(2.0)
    assert SCALE == 1.0
