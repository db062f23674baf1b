"""What a recorded run cannot follow is refused, even where the program would go on."""

from __future__ import annotations

import copy
import ctypes
import math
import operator
import struct

import numpy as np
import pytest

import stgrad
from stgrad.errors import AliasingError, StgradError
from stgrad.plain import recorded

OUTSIDE = np.zeros(4)
MEMO: dict = {}


class Keeper:
    kept = None


def native_float(x):
    return struct.unpack("d", struct.pack("d", x[0]))[0]


def ctypes_number(x):
    return ctypes.c_double(x[0]).value


def array_from_outside(x):
    OUTSIDE[0] = x[0]
    return OUTSIDE[0] * 2.0


def swallowed(x):
    y = np.zeros(4)
    try:
        struct.pack("d", x[0])
        y = y + 1.0
    except Exception:  # noqa: BLE001  (the program under test)
        pass
    return y.sum()




def texts(x):
    return float(f"{x[0]!r}")


def percent(x):
    return float("%r" % x[0])  # noqa: UP031


def unknown_native(x):
    return np.random.RandomState(0).normal(x[0])


def kept_by_native(x):
    return np.nditer([x, x], ["buffered"]).operands[0][0]


def other_types(x):
    return x.view(np.int64).view(float)[0]


def interface(x):
    return np.asarray(x.__array_interface__["data"][0]) * 1.0


@pytest.mark.parametrize(
    "f", [native_float, ctypes_number, array_from_outside, swallowed, texts, percent, unknown_native, kept_by_native, other_types]
)
def test_refused(f):
    with pytest.raises(StgradError):
        recorded(f, (np.array([0.3, 0.7, 0.5, 0.9]),), {}, ((0, 0),))


def catches_what_is_refused(x):
    a = np.outer(x, x)
    try:
        a[:, 2] = a[1]
    except ValueError:
        return np.sum(a)
    return np.sum(a * a)


def test_a_refusal_tells_its_place_and_no_handler_hides_it():
    with pytest.raises(AliasingError) as found:
        recorded(catches_what_is_refused, (np.arange(4.0),), {}, ((0, 0),))
    loc = found.value.loc
    assert loc.text[loc.col : loc.end_col] == "a[:, 2]"


def test_numpy_does_not_get_at_the_memory():
    def f(x):
        return interface(x)

    with pytest.raises(StgradError):
        recorded(f, (np.ones(3),), {}, ((0, 0),))


def test_the_array_itself_is_followed():
    def f(x):
        return operator.methodcaller("__array__")(x)[0] * x[1]

    found = recorded(f, (np.array([2.0, 3.0]),), {}, ((0, 0),))
    assert found.value == 6.0
    np.testing.assert_array_equal(found.pullback(1.0)[0], [3.0, 2.0])


def test_another_value_is_refused():
    calls = []

    def f(x):
        calls.append(1)
        return x[0] * len(calls)

    with pytest.raises(StgradError, match="another result"):
        recorded(f, (np.ones(3),), {}, ((0, 0),))


def test_what_the_program_keeps_is_numbers_again():
    keeper = Keeper()

    def f(x):
        if keeper.kept is None:
            keeper.kept = x[0] ** 2
        if "y" not in MEMO:
            MEMO["y"] = [x[1] * 3.0]
        return keeper.kept + MEMO["y"][0]

    (gradient,) = recorded(f, (np.array([2.0, 1.0]),), {}, ((0, 0),)).pullback(1.0)
    assert gradient.tolist() == [4.0, 3.0]
    assert type(keeper.kept) is np.float64
    assert type(MEMO["y"][0]) is np.float64


def test_copies_are_followed():
    def f(x):
        pair = copy.deepcopy([x, {"a": x[0]}])
        pair[0][0] = 0.0
        return pair[0].sum() + pair[1]["a"] * x[0]

    (gradient,) = recorded(f, (np.array([2.0, 5.0]),), {}, ((0, 0),)).pullback(1.0)
    assert gradient.tolist() == [4.0, 1.0]


def test_hooks_keep_their_meaning():
    @stgrad.custom_gradient
    def doubled(x):
        return x * x, lambda g: 10.0 * g

    def f(x):
        table = {int(x): doubled(x) + stgrad.stop_gradient(x) * x}
        return table[int(x)]

    (gradient,) = recorded(f, (3.0,), {}, ((0, 0),)).pullback(1.0)
    assert gradient == 13.0


def test_layouts_are_those_of_the_values():
    def f(x):
        y = np.asfortranarray(x) * 1.0
        z = np.array(y, order="F")
        return [v * (i + 1.0) for i, v in enumerate(np.nditer(z.T))], z.ravel(order="K"), z.T.flatten(order="A")

    x = np.arange(6.0).reshape(2, 3)
    found = recorded(f, (x,), {}, ((0, 0),))
    bars = [float(i) for i in range(6)]
    (gradient,) = found.pullback((bars, np.zeros(6), np.zeros(6)))
    moved = recorded(f, (x + 1e-3 * np.arange(6.0).reshape(2, 3)[::-1],), {}, ((0, 0),)).value
    change = sum(b * (float(a) - float(c)) for b, a, c in zip(bars, moved[0], found.value[0], strict=True)) / 1e-3
    assert math.isclose(np.sum(gradient * np.arange(6.0).reshape(2, 3)[::-1]), change, rel_tol=1e-9)


def test_numbers_as_keys():
    def f(x):
        table = {}
        for i in range(len(x)):
            table[x[i]] = x[i] * x[0]
        copied = {k: v for k, v in table.items()}
        copied[x[1]] += 2.0
        return sum(k * v for k, v in copied.items()) + copied.get(x[2], 0.0) + table.pop(x[0])

    x = np.array([2.0, 3.0, 5.0])
    (gradient,) = recorded(f, (x,), {}, ((0, 0),)).pullback(1.0)
    # x0^3 + x1^2 x0 + 2 x1 + x2^2 x0 + x2 x0 + x0^2
    np.testing.assert_allclose(gradient, [12 + 9 + 25 + 5 + 4, 12 + 2, 20 + 2])


@pytest.mark.parametrize("look", [lambda d, k: d[k], lambda d, k: d.get(k, 0.0), lambda d, k: d[k, 1] if (k, 1) in d else k])
def test_what_another_run_left_is_not_found(look):
    left = {}

    def f(x):
        if x[0] not in left:
            left[x[0]] = left[x[0], 1] = x[0] ** 2
        return look(left, x[0])

    for _ in range(2):  # the second run finds what the first one left
        try:
            (gradient,) = recorded(f, (np.array([2.0]),), {}, ((0, 0),)).pullback(1.0)
        except StgradError:
            assert left
        else:
            assert gradient == 4.0


class _Scaled:
    """An object whose property has a setter."""

    def __init__(self, a):
        self.a = a

    @property
    def norm(self):
        return abs(self.a)

    @norm.setter
    def norm(self, v):
        self.a = self.a * v


def test_setters_of_properties_run_once_and_leave_plain_numbers():
    kept = _Scaled(2.0)

    def own(x):
        p = _Scaled(x)
        p.norm = 3.0
        return p.norm * x

    def outer(x):
        kept.a = x
        kept.norm = 3.0
        return kept.norm * x

    for f in (own, outer):
        found = recorded(f, (1.5,), {}, ((0, 0),))
        assert found.value == f(1.5)
        assert np.isclose(found.pullback(1.0)[0], 9.0)
    assert type(kept.a) is float
