"""Constants of classes that someone derived from Python's numbers: members of enumerations, floats with a unit."""

from __future__ import annotations

import enum
import math

import numpy as np
import pytest

import stgrad


class Axis(enum.IntEnum):
    """Integers with names."""

    ROW = 1
    COLUMN = 2


class Named(float):
    """A float that prints in its own way."""

    def __repr__(self) -> str:
        return "a length"


class Skewed(float):
    """A float with operators of its own."""

    def __mul__(self, other):
        return 3.0 * float(self) * other

    def __rmul__(self, other):
        return 5.0 * float(self) * other

    def __lt__(self, other):
        return 10.0 > other


class Shifted(int):
    """An integer with an operator of its own."""

    def __add__(self, other):
        return 100.0 + other * other


SIDE, SKEWED, SHIFTED = Named(2.0), Skewed(2.0), Shifted(3)


def members_of_an_enumeration(x):
    return x * Axis.COLUMN + (x if Axis.ROW < x else 2.0 * x) + np.sum(np.array([x, Axis.ROW]) ** Axis.COLUMN)


def floats_of_a_class(x):
    return x * SIDE + (x if SIDE > 1 else 0.0) + math.sin(SIDE) * x**SIDE + np.sum(np.array([x, SIDE]) * SIDE) + max(SIDE, x)


def operators_of_a_class(x):
    return x * SKEWED + (SKEWED * x if SKEWED < x else 0.0)


def mixed_integers(x):
    x *= SKEWED
    return SHIFTED * x + (SHIFTED + x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [members_of_an_enumeration, floats_of_a_class, operators_of_a_class, mixed_integers])
def test_numbers_of_derived_classes(f, jit):
    value, gradient = stgrad.value_and_grad(f, jit=jit)(1.7)
    assert np.isclose(value, f(1.7), rtol=1e-12)
    assert np.isclose(gradient, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6, rtol=1e-6)
    second = (stgrad.grad(f, jit=False)(1.7 + 1e-6) - stgrad.grad(f, jit=False)(1.7 - 1e-6)) / 2e-6
    assert np.isclose(stgrad.grad(stgrad.grad(f, jit=jit), jit=jit)(1.7), second, rtol=1e-5, atol=1e-6)


def zero_of_a_class(x):
    return x * (np.float64(1.5) + np.float64()) + np.int64() * x


def test_classes_of_numbers_without_arguments():
    assert stgrad.grad(zero_of_a_class, jit=True)(2.0) == 1.5
