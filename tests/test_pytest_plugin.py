"""Functions marked `gradient` in a user's tests."""

from __future__ import annotations

import pytest

import stgrad.testing  # noqa: F401  (a run inside of a run forgets the modules that it imports, and extensions load once)

pytest_plugins = ["pytester"]

USERS = """
import numba
import numpy as np
import pytest
import stgrad


@pytest.mark.gradient(args=(1.5, np.array([1.0, -2.0])))
def energy(k, x):
    return k * np.sum(x**2)


@pytest.mark.gradient(args=lambda: (0.5,), jit=False)
@pytest.mark.gradient(args=(2.0, 3), jit=False, order=2)
def test_power(x, n=2):
    return x**n


@stgrad.custom_gradient
def wrong(x):
    return x * x, lambda g: 3.0 * g * x


@pytest.mark.gradient(args=(2.0,), jit=False)
def uses_wrong(x):
    return wrong(x)


@pytest.mark.gradient(args=(0.0,), jit=False, argnums=0)
def bent(x):
    return abs(x) + max(2.0 * x, 0.0) - max(-x, 0.0)


@pytest.mark.skip(reason="later")
@pytest.mark.gradient(args=(1.0,))
def skipped(x):
    return x


@pytest.mark.gradient
def without_arguments(x):
    return x


@pytest.mark.gradient(args=([1.0, 2.0],), jit=False)
@numba.njit
def in_place(x):
    y = np.zeros(2)
    for i in range(2):
        y[i] = x[i] ** 2
    return y.sum()


def test_as_ever():
    assert energy(1.0, np.ones(2)) == 2.0
"""


def test_marked_functions_are_checked_and_failures_say_what_is_wrong(pytester: pytest.Pytester, pytestconfig: pytest.Config) -> None:
    pytester.makepyfile(USERS)
    known = pytestconfig.pluginmanager.has_plugin("stgrad.pytest_plugin")  # by its entry point, where the package is installed
    result = pytester.runpytest("--strict-markers", "-rA", *[] if known else ["-p", "stgrad.pytest_plugin"])
    result.assert_outcomes(passed=5, failed=3, skipped=1)
    names = ("energy[[]gradient[]]", "test_power[[]gradient0[]]", "test_power[[]gradient1[]]", "in_place[[]gradient[]]", "test_as_ever")
    result.stdout.fnmatch_lines_random([f"PASSED *::{name}*" for name in names])
    result.stdout.fnmatch_lines(["GradientError: uses_wrong (plain Python): *should be*"])
    result.stdout.fnmatch_lines(["GradientError: bent (plain Python): *there is a kink or a jump at these arguments*"])
    result.stdout.fnmatch_lines(["UsageError: without_arguments*write @pytest.mark.gradient(args=(...))"])
    assert "gradients.py:" not in result.stdout.str(), "no frames of ours"
