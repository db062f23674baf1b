"""What Python's functions and operators ask of the class of an instance."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stgrad


class Held:
    def __init__(self, v):
        self.v = v

    def __len__(self):
        return len(self.v)

    def __getitem__(self, k):
        return self.v[k]


class Powers:
    def __init__(self, base):
        self.base = base

    def __getitem__(self, k):
        if k >= 3:
            raise IndexError(k)
        return self.base**k


class Counts(Held):
    def __contains__(self, value):
        return 5


class Turned(Held):
    def __reversed__(self):
        return iter([self.v[0]] * 3)


class Number:
    def __init__(self, v):
        self.v = v

    def __round__(self, n=None):
        return self.v * (2 if n is None else n)

    def __floor__(self):
        return self.v * 4

    def __ceil__(self):
        return self.v * 6

    def __trunc__(self):
        return 5

    def __complex__(self):
        return complex(self.v, 1.0)

    def __pow__(self, other):
        return self.v**other

    def __rpow__(self, other):
        return other**self.v

    def __divmod__(self, other):
        return self.v, other


def by_place_in_a_loop(x):
    total = 0.0
    for v in Held(x):
        total = total * 2.0 + v
    return total


def in_parts(x):
    p, q = Held(x)
    first, *rest = Held([x[0], 2.0, x[1]])
    return p * q + first * rest[1]


def beside_others(x):
    total = 0.0
    for k, v in enumerate(Held(x)):
        total += k * v * v
    return total + sum(p * q for p, q in zip(Held(x), Powers(x[1]), strict=False))


PROGRAMS = {
    "sum": lambda x: sum(Held(x)) + sum(Held([x[0], x[1]])),
    "comprehension": lambda x: sum([v * v for v in Powers(x[0])]),
    "list": lambda x: max(Held(x)) * len(list(Held([x[0], 2.0]))) * len(Held(x)),
    "in": lambda x: x[0] if x[0] in Held([x[1], x[0]]) else x[1],
    "not in": lambda x: x[0] if 3.0 not in Held(x) else x[1],
    "what __contains__ gives is a truth value": lambda x: (x[0] in Counts([])) * x[0] + (x[0] not in Counts([])) * x[1],
    "reversed": lambda x: sum((k + 1) * v for k, v in enumerate(reversed(Held([x[0], x[1], 2.0])))),
    "reversed by the class": lambda x: sum(reversed(Turned([x[0], x[1]]))),
    "rounded": lambda x: round(Number(x[0])) * round(Number(x[1]), 3),
    "whole": lambda x: math.floor(Number(x[0])) * math.ceil(Number(x[1])) * math.trunc(Number(x[0])),
    "complex": lambda x: complex(Number(x[0])).real * x[1] + complex(Number(x[0])).imag,
    "powers": lambda x: pow(Number(x[0]), 3) + Number(x[1]) ** 2 + pow(2.0, Number(x[0])),
    "divmod": lambda x: divmod(Number(x[0]), x[1])[0] * divmod(Number(x[0]), x[1])[1],
    **{f.__name__: f for f in (by_place_in_a_loop, in_parts, beside_others)},
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in PROGRAMS.items()])
def test_right(f, jit):
    x = np.array([1.5, 0.7])
    value, gradient = stgrad.value_and_grad(f, jit=jit)(x)
    assert np.isclose(value, f(x))
    assert np.allclose(gradient, [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)], rtol=1e-5)
