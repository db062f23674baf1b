"""State that is neither a variable nor an attribute of Python's: items of objects of C, settings, the environment, what a logger keeps."""

import array
import ctypes
import inspect
import logging
import mmap
import os

import numpy as np
import pytest

import stgrad

ITEMS = array.array("d", [1.0, 2.0])
NUMBERS = (ctypes.c_double * 2)(1.0, 2.0)
BYTES = mmap.mmap(-1, 16)
LOG = logging.getLogger("stgrad.tests.state_of_others")


def with_a_default(x, k=1):
    return x


def item_of_an_array(x):
    return ITEMS[0] * x * x


def items_of_an_array(x):
    s = len(ITEMS) * x
    for v in ITEMS:
        s += v * x * x
    return s


def item_of_c(x):
    return NUMBERS[0] * x * x


def byte(x):
    return BYTES[0] * x * x


def in_the_environment(x):
    return float(os.environ.get("STGRAD_TEST_STATE", "1")) * x * x + float(os.getenv("STGRAD_TEST_STATE", "2")) * x


def settings(x):
    return x**3 if np.geterr()["divide"] == "ignore" else np.get_printoptions()["precision"] * x * x


def default(x):
    return inspect.signature(with_a_default).parameters["k"].default * x * x


def told(x):
    if LOG.isEnabledFor(logging.DEBUG):
        x = x * 2
    return x * x


FUNCTIONS = [item_of_an_array, items_of_an_array, item_of_c, byte, in_the_environment, settings, default, told]


@pytest.fixture
def change(monkeypatch):
    """What changes all of it; put back behind the test."""
    printed, errors = np.get_printoptions(), np.geterr()
    ITEMS[:], NUMBERS[0], BYTES[0] = array.array("d", [1.0, 2.0]), 1.0, 1
    LOG.setLevel(logging.WARNING)

    def to_others() -> None:
        ITEMS[0], NUMBERS[0], BYTES[0] = 7.0, 7.0, 9
        ITEMS.append(5.0)
        monkeypatch.setenv("STGRAD_TEST_STATE", "4")
        np.set_printoptions(precision=3)
        np.seterr(divide="ignore")
        monkeypatch.setattr(with_a_default, "__defaults__", (5,))
        LOG.setLevel(logging.DEBUG)

    yield to_others
    np.set_printoptions(**printed)
    np.seterr(**errors)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("jit", [False, True])
def test_a_change_is_seen(f, jit, change) -> None:
    g = stgrad.value_and_grad(f, jit=jit)
    before = g(1.5)
    assert before[0] == pytest.approx(f(1.5))
    change()
    value, slope = g(1.5)
    assert value == pytest.approx(f(1.5))
    assert value != before[0]
    assert slope == pytest.approx((f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("jit", ["auto", False])
def test_an_extent_that_numpy_finds(jit, monkeypatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def f(x, n):
        return np.sum(x.reshape(n, 2)[:, 0] ** 2)

    x = np.arange(1.0, 5.0)
    g = stgrad.grad(f, jit=jit)
    np.testing.assert_array_equal(g(x, 2), [2.0, 0.0, 6.0, 0.0])
    with pytest.warns(stgrad.errors.RunsPlainlyWarning, match="-1"):
        np.testing.assert_array_equal(g(x, -1), [2.0, 0.0, 6.0, 0.0])
