"""A `try` of the program catches nothing by which the compiler tells itself to read again: captured containers, lists that grow."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import stgrad

LOG: dict[str, int] = {}


def counting(x):
    LOG["n"] = LOG.get("n", 0) + 1
    return x * x


def a_dict_from_outside(x):
    try:
        return counting(x)
    except Exception:  # noqa: BLE001
        return 0.0 * x


def a_dict_behind_a_bare_except(x):
    y = 5.0 * x
    try:
        LOG["n"] = 1
        y = x * x
    except:  # noqa: E722
        y = 0.0 * x
    return y


def a_dict_under_suppress(x):
    y = 5.0 * x
    with contextlib.suppress(Exception):
        LOG["n"] = 2
        y = x * x
    return y


def a_handler_that_raises(x):
    try:
        LOG["calls"] = 1
    except BaseException as error:
        raise ValueError("bad") from error
    return x * x


def a_list_that_grows(x):
    try:
        z = []
        for _ in range(3):
            z.append(x)
        y = z[0] * z[2]
    except Exception:  # noqa: BLE001
        y = 5.0 * x
    return y


def a_list_that_grows_and_is_summed(x):
    y = 0.0
    try:
        z = []
        for k in range(3):
            z.append(x * k)
        y = sum(z) * x / 3.0
    except (ValueError, IndexError):
        y = 5.0 * x
    return y


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [a_list_that_grows, a_list_that_grows_and_is_summed])
def test_is_what_runs_where_nothing_raises(function, jit):
    assert stgrad.value_and_grad(function, jit=jit)(1.5) == (2.25, 3.0)


@pytest.mark.filterwarnings("ignore::stgrad.errors.RunsPlainlyWarning")
@pytest.mark.parametrize("function", [a_dict_from_outside, a_dict_behind_a_bare_except, a_dict_under_suppress, a_handler_that_raises])
def test_what_is_outside_changes(function, monkeypatch):
    LOG.clear()
    monkeypatch.setenv("STGRAD_PLAIN", "1")  # what cannot be put into a program, as a counter, is recorded
    assert stgrad.value_and_grad(function)(1.5) == (2.25, 3.0)
    try:
        assert stgrad.value_and_grad(function, jit=True)(1.5) == (2.25, 3.0)
    except stgrad.errors.AliasingError as refused:
        assert "the function changes `LOG`, a dict from outside of it" in str(refused)  # noqa: PT017


def bounds_by_path(x):
    low = None if x[0] > 0.0 else 1
    high = len(x) - 1
    if x[-1] > 0.5:
        high = None
    return np.sum(x[low:high] ** 2)


def backwards_by_path(x):
    low = None if x[0] > 0.0 else 2
    high = None if x[1] > 0.0 else 0
    part = x[low:high:-1]
    return np.sum(part * np.arange(1.0, 1.0 + len(part)))


def borders(x, m):
    end = None if m == 0 else -m
    y = np.zeros((5, 5))
    y[m:end, m:end] = x[m:end, m:end] * 2.0
    return np.sum(y**2) + np.sum(x[:end])


@pytest.mark.parametrize("jit", [True, False])
def test_bounds_of_slices_may_be_none_on_one_path(jit):
    for function in (bounds_by_path, backwards_by_path):
        gradient = stgrad.grad(function, jit=jit)
        for signs in ((1, 1, 1), (-1, 1, 1), (1, -1, 1), (-1, -1, -1)):
            x = np.array([0.3, 0.4, 0.7]) * signs
            expected = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
            np.testing.assert_allclose(gradient(x), expected, atol=1e-8)
    gradient, x = stgrad.grad(borders, jit=jit), np.arange(25.0).reshape(5, 5)
    for m in (0, 1, 2):
        inner = np.zeros((5, 5))
        inner[m : 5 - m, m : 5 - m] = 8.0 * x[m : 5 - m, m : 5 - m]
        inner[: 5 - m] += 1.0
        np.testing.assert_allclose(gradient(x, m), inner)
