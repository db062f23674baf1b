"""Operators of sets, of keys of dicts and of classes, and texts that are written to the console."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import stgrad


class Bits:
    """A class with the operators of integers."""

    def __init__(self, value):
        self.value = value

    def __or__(self, other):
        return Bits(self.value + 2.0 * other.value)

    def __and__(self, other):
        return Bits(self.value * other.value)

    def __rshift__(self, n):
        return Bits(self.value / 2.0**n)

    def __invert__(self):
        return Bits(-self.value)


def of_numbers(x, n):
    a, b = {n % 3, 1, 5}, {1, 7}
    both, either, first = set(a) & set(b), set(a) | set(b), set(a) - set(b)
    return x * len(both) + x**2 * len(either) + x**3 * len(first) + len(set(a) ^ set(b)) * x


def of_run_time_numbers(x, n):
    found, other = set(), set([2, 4])
    for i in range(n):
        found.add((i * i) % 5)
    return x**2 * len(found & other) + x * len(found - other) + x**3 * len(found | other) + x * len(found ^ other)


def of_keys(x, n):
    one, two = {"a": x, "b": 2.0 * x}, {"b": x, "c": 3.0}
    total = 0.0
    for key in sorted(one.keys() & two.keys()):
        total += one[key] * two[key]
    return total + len(one.keys() | two.keys()) * x + len(one.keys() - {"a"}) * x * n


def of_a_class(x, n):
    return ((Bits(x) | Bits(x * x)) & ~Bits(x) >> n).value


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [of_numbers, of_run_time_numbers, of_keys, of_a_class])
def test_value_and_derivative(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    value, gradient = stgrad.value_and_grad(f, jit=jit)(1.3, 4)
    assert np.isclose(value, f(1.3, 4), rtol=1e-12)
    assert np.isclose(gradient, (f(1.3 + 1e-6, 4) - f(1.3 - 1e-6, 4)) / 2e-6, rtol=1e-6)


def test_writing_to_the_console(capfd):
    def f(x):
        if x > 1.0:
            sys.stderr.write("above one\n")
        sys.stdout.flush()
        return x * x

    assert stgrad.grad(f, jit=True)(1.5) == 3.0
    assert "above one" in "".join(capfd.readouterr())
