"""Small parts of Python that library code leans on, each by what it gives."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import types
from typing import NamedTuple

import numpy as np
import pytest

import stgrad


class Slotted:
    __slots__ = ("p", "q")

    def __init__(self, p):
        self.p = p


@dataclasses.dataclass(frozen=True)
class Frozen:
    p: float


class Pair(NamedTuple):
    p: float
    q: float


def slots_that_are_not_set(x):
    o = Slotted(x)
    before = hasattr(o, "q") + getattr(o, "q", x * x)
    o.q = 2.0
    return before + hasattr(o, "q") * o.q * x


def a_slot_that_is_asked_too_early(x):
    try:
        return Slotted(x).q
    except AttributeError:
        return x * 3.0


def a_frozen_object(x):
    o = Frozen(x)
    try:
        o.p = 2.0
    except dataclasses.FrozenInstanceError:
        return x * o.p
    return x


def a_named_tuple_of_items(x):
    t = Pair._make([x, 2.0 * x])
    return t.p * t.q * len(t._fields)


def compressed(x):
    wanted = [True, False, True]
    return sum(itertools.compress([x, 2.0 * x, x * x], wanted)) + sum(itertools.compress([x, x], [x > 5.0, x > 1.0]))


def constants_by_class_methods(x):
    return x * float.fromhex("0x1p2") + x * x * int.from_bytes(b"\x01\x00", "big") + bytes.fromhex("03")[0]


def a_namespace_has_a_dict(x):
    o = types.SimpleNamespace(p=x)
    return x * hasattr(o, "__dict__") + o.p * hasattr(o, "q")


PROGRAMS = [
    a_namespace_has_a_dict,
    slots_that_are_not_set,
    a_slot_that_is_asked_too_early,
    a_frozen_object,
    a_named_tuple_of_items,
    compressed,
    constants_by_class_methods,
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS)
def test_right(f, jit):
    value, slope = stgrad.value_and_grad(f, jit=jit)(1.3)
    assert np.isclose(value, f(1.3))
    assert np.isclose(slope, (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6)


AVERAGES = {
    "mean": lambda x: statistics.mean([x, 2.0, x * x]) + statistics.mean(v * x for v in (1.0, x)),
    "fmean and median": lambda x: statistics.fmean([x, 2.0, x * x]) + statistics.median([x, 3.0, 0.5]),
    "variance": lambda x: statistics.variance([x, 2.0, x * x]) + statistics.pvariance((x, 1.0), 0.5) + statistics.variance([x, 1.0, 2.0], xbar=x),
    "deviation": lambda x: statistics.stdev(np.array([x, 2.0, x * x])) + statistics.pstdev([x, 1.0]),
    "other means": lambda x: statistics.geometric_mean([x, 2.0]) + statistics.harmonic_mean([x, 2.0]) * statistics.harmonic_mean([x, 2.0], weights=[3.0, x]),
    "regression": lambda x: statistics.linear_regression([1.0, 2.0, x], [x, 2.0, 3.0]).slope + statistics.linear_regression([1.0, x], [x, 2.0]).intercept,
    "proportional": lambda x: statistics.linear_regression([1.0, x], [x, 2.0], proportional=True)[0],
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in AVERAGES.items()])
def test_averages(f, jit):
    value, slope = stgrad.value_and_grad(f, jit=jit)(1.3)
    assert np.isclose(value, f(1.3), rtol=1e-12)
    assert np.isclose(slope, (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6)


def test_an_average_of_nothing():
    with pytest.raises(statistics.StatisticsError, match="mean requires at least one data point"):
        stgrad.grad(lambda x: statistics.mean([]) * x, jit=False)(1.0)
