"""Whom Python asks for an operator, in which turn, and what it does with NotImplemented; arrays and NumPy's scalars beside lists."""

from __future__ import annotations

import dataclasses

import numba
import numpy as np
import pytest

import stgrad
from stgrad import errors


class Left:
    def __init__(self, p):
        self.p = p

    def __add__(self, other):
        return NotImplemented if isinstance(other, Right) else Left(self.p + 1)

    def __mul__(self, other):
        return Left(self.p * 10)

    def __iadd__(self, other):
        if isinstance(other, Right):
            return NotImplemented
        self.p += other
        return self

    def __eq__(self, other):
        if not isinstance(other, Left):
            return NotImplemented
        return self.p == other.p

    def __lt__(self, other):
        if not isinstance(other, Left):
            return NotImplemented
        return self.p < other.p

    __hash__ = None


class Right:
    def __init__(self, p):
        self.p = p

    def __radd__(self, other):
        return Right(self.p * 2)

    def __gt__(self, other):
        return True

    def __eq__(self, other):
        return True

    __hash__ = None


class Derived(Left):
    def __rmul__(self, other):
        return Left(self.p * 100)

    def __lt__(self, other):
        return True

    def __gt__(self, other):
        return False


class Unequal:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return NotImplemented

    __hash__ = None


@dataclasses.dataclass
class Data:
    p: float


@dataclasses.dataclass
class More(Data):
    pass


class Counts:
    def __init__(self, v):
        self.v = v

    def __radd__(self, other):
        return self.v * len(other)


class Declines:
    def __init__(self, v):
        self.v = v

    def __radd__(self, other):
        return NotImplemented

    def __getitem__(self, k):
        return (self.v, 2.0 * self.v)[k]


class Held:
    def __init__(self):
        self.c = [1.0, 2.0]


def extended_by_one_that_declines(x):
    s = [1.0, 2.0]
    s += (x, 3.0)
    return s[2] * x * len(s)


def added_to_a_list(x):
    s = [1.0, 2.0]
    s += np.array([x, 2.0 * x])
    return s[0] * s[1]


def added_to_an_attribute(x):
    a = Held()
    a.c += np.array([x, 2.0 * x])
    return a.c[0] * a.c[1]


def added_to_an_item(x):
    d = {"c": [1.0, 2.0]}
    d["c"] += np.array([x, x])
    return d["c"][0] * d["c"][1]


def a_scalar_added_to_a_list(x):
    s = [1.0, 2.0]
    s += np.float64(x) * np.array([1.0, 2.0])[1]
    return s[0] * s[1]


def an_object_added_to_a_list(x):
    s = [1.0, 2.0]
    s += Counts(x)
    return s * x


def added_to_a_list_that_grew(x):
    s = []
    for k in range(2):
        s.append(x * k)
    s += np.array([x, 2.0])
    return s[0] * s[1]


def in_place_declined(x):
    a = Left(x)
    a += Right(x * x)
    return a.p


PROGRAMS = {
    "the left side declines": lambda x: (Left(x) + Right(x * x)).p,
    "both are asked, and decline": lambda x: x if Left(x) == 3 else x * x,
    "not equal": lambda x: x if Left(x) != 3 else x * x,
    "a number first": lambda x: x if 3 == Left(x) else x * x,  # noqa: SIM300
    "nothing": lambda x: x if Left(x) == None else x * x,  # noqa: E711
    "a text": lambda x: x if Left(x) == "a" else x * x,
    "the order is asked of the right side": lambda x: x if Left(x) < Right(x) else x * x,
    "equality is asked of the right side": lambda x: x if Left(x) == Right(x) else x * x,
    "a derived class first": lambda x: (Left(x) * Derived(x * x)).p,
    "a derived class first in comparisons": lambda x: x if Left(x) < Derived(x * x) else x * x * x,
    "a derived class on the left": lambda x: (Derived(x) * Left(x)).p + (Derived(x) + Right(x)).p,
    "inequality of its own": lambda x: x if Unequal() != Unequal() else x * x,
    "in a list": lambda x: x if Left(x) in [3, 4] else x * x,
    "place in a list": lambda x: x * [3, Left(x)].index(Left(x)),
    "data of two classes": lambda x: (x if Data(x) == More(x) else x * x) + (x if Data(x) != More(x) else 0.0),
    "data and a number": lambda x: x if Data(x) == 3 else x * x,
    "sums": lambda x: sum([Left(x), Right(x * x)], start=Left(x)).p,
    "list and scalar": lambda x: ([1.0, x] + np.float64(2.0))[1] * ((1.0, x) - np.array([x, 3.0])[0])[0],
    "scalar and list": lambda x: (np.float64(2.0) + [1.0, x])[1] * ([x, 2.0] ** np.int64(2))[0],
    "compared item by item": lambda x: np.sum(np.float64(x) != [3.0, 5.0 * x]) * x + np.sum((1.0, x) < np.array([x, 2.0])[1]) * x * x,
    "repeated": lambda x: sum([x, 2.0] * np.int64(2)) + sum(np.int64(2) * [x, 2.0]),
    **{
        f.__name__: f
        for f in (
            extended_by_one_that_declines,
            added_to_a_list,
            added_to_an_attribute,
            added_to_an_item,
            a_scalar_added_to_a_list,
            an_object_added_to_a_list,
            added_to_a_list_that_grew,
            in_place_declined,
        )
    },
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in PROGRAMS.items()])
def test_right(f, jit):
    value, slope = stgrad.value_and_grad(f, jit=jit)(1.7)
    assert np.isclose(value, f(1.7))
    assert np.isclose(slope, (f(1.7 + 1e-6) - f(1.7 - 1e-6)) / 2e-6)


def test_two_of_one_class_do_not_ask_for_the_reflected_operator():
    with pytest.raises(TypeError):
        Right(1.0) + Right(1.0)
    with pytest.raises(errors.StgradError):
        stgrad.grad(lambda x: (Right(x) + Right(x)).p, jit=False)(1.0)


# Other things that came up beside them.


def masked_by_a_number(x):
    k = np.array(1.2)
    return np.sum((x * k)[k != 0]) + np.sum(np.sin(x)[np.bool_(True)])


def slices_of_lists(x):
    s, t, u = [1.0, x, 2.0], [0.0, x, 2.0], [0.0, x, 2.0]
    s[1:3] = np.array([x * x, 3.0])
    t[1:] /= np.array([x, 2.0])[0]
    u[1:] = np.array([2.0, 3.0, 4.0]) * x
    return s[0] + s[1] * s[2] + t[1] * t[2] + u[1] * u[3] * len(u)


@numba.njit
def with_types_of_numba(p):
    d = np.zeros(p.shape[0], dtype=numba.float64)
    k = np.arange(p.shape[0], dtype=numba.intp).astype(numba.types.float64)
    for i in range(p.shape[0]):
        d[i] = p[i] ** 2 * k[i]
    return d


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [masked_by_a_number, slices_of_lists, lambda x: np.sum(with_types_of_numba(x * np.ones(3)))])
def test_neighbours(f, jit):
    value, slope = stgrad.value_and_grad(f, jit=jit)(np.float64(1.7))
    assert np.isclose(value, f(np.float64(1.7)))
    assert np.isclose(slope, (f(np.float64(1.7 + 1e-6)) - f(np.float64(1.7 - 1e-6))) / 2e-6)


def test_an_intrinsic_of_numba_is_named():
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def half(typingctx, a):
        def code(context, builder, sig, args):
            return builder.fmul(args[0], context.get_constant(types.float64, 0.5))

        return types.float64(types.float64), code

    @numba.njit
    def halved(x):
        return half(x) * x

    with pytest.raises(errors.UnknownFunctionError, match="`half` is an intrinsic of Numba"):
        stgrad.grad(lambda x: halved(x), jit=False)(1.3)
