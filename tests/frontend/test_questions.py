"""What programs ask of values and functions: classes, attributes, signatures, texts."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.errors import UnsupportedSyntaxError
from stgrad.plain import recorded

X = np.array([0.4, 0.7, 0.2])


def masked_or_not(x: Any) -> Any:
    mask = getattr(x, "mask", False)
    return np.sum(x * x) if not np.any(mask) and not hasattr(x, "filled") else 0.0


def attribute_that_is_missing(x: Any) -> Any:
    try:
        return x.units * 2.0
    except AttributeError:
        return x * x


def of_its_class(x: Any) -> Any:
    y = np.where(x > 0.0, x, -x)
    return (2.0 if isinstance(y, np.ndarray) else 3.0) * (5.0 if hasattr(x, "shape") else 7.0) * y


def test_attributes_of_numbers_and_arrays() -> None:
    assert stgrad.grad(masked_or_not, jit=False)(X) == pytest.approx(2 * X)
    assert stgrad.grad(attribute_that_is_missing, jit=False)(3.0) == 6.0
    assert stgrad.grad(of_its_class, jit=False)(3.0) == 14.0
    assert stgrad.grad(of_its_class, jit=False)(np.float64(3.0)) == 10.0


def checked(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        names = list(inspect.signature(function).parameters.keys())
        if "x" in inspect.getfullargspec(function).args and set(names).difference({"y"}) == {"x"}:
            return 2.0 * function(*args, **kwargs)
        return function(*args, **kwargs)

    return inner


@checked
def product(x: Any, y: Any = 2.0) -> Any:
    return x * y


def test_signatures_are_known() -> None:
    assert stgrad.grad(lambda x: product(x, 3.0), jit=False)(1.0) == 6.0


def test_a_signature_that_is_not_of_the_code() -> None:
    def named(*args: Any, _plain: bool = False, **kwargs: Any) -> Any:
        return args[0] ** 2 if not _plain else args[0]

    named.__signature__ = inspect.Signature([inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)])  # type: ignore[attr-defined]
    assert stgrad.vjp(named, 3.0, jit=False)[1](1.0) == (6.0,)


def unpacked_from_flat(x: Any) -> Any:
    a, b, c, d = np.outer(x[:2], x[1:]).flat
    return a * b + c * d


def test_flat_is_unpacked() -> None:
    expected = [np.sum((unpacked_from_flat(X + h) - unpacked_from_flat(X - h)) / 2e-6) for h in 1e-6 * np.eye(3)]
    assert stgrad.grad(unpacked_from_flat, jit=False)(X) == pytest.approx(expected)


def flagged(x: Any, deep: bool = False) -> Any:
    y = [x, x] if deep else x * 3.0
    return y[0] * y[1] if deep else y


def test_flags_that_are_what_their_defaults_say() -> None:
    gradient = stgrad.grad(flagged, jit=False)
    assert (gradient(2.0), gradient(2.0, True), gradient(2.0, deep=False), gradient(2.0, deep=True)) == (3.0, 4.0, 3.0, 4.0)


def test_what_is_left_where_integers_are_known() -> None:
    def f(x: Any, axis: int = 0) -> Any:
        return x.shape[axis] * x.sum(axis=axis).nothing()

    with pytest.raises(errors.StgradError, match="nothing"):
        stgrad.grad(f, jit=False)(X)


@pytest.mark.parametrize("name", ["base", "data", "ctypes"])
def test_what_tells_of_memory_is_refused(name):
    """`x[1:].base is x` was False, without a word."""

    def named(x):
        return np.sum(x * x) * (2.0 if getattr(x[1:], name) is x else 3.0)

    def of_base(x):
        return np.sum(x * x) * (2.0 if x[1:].base is x else 3.0)

    for f in (named, of_base):
        with pytest.raises(stgrad.errors.UnsupportedSyntaxError, match="of an array is not supported"):
            stgrad.grad(f, jit=True)(np.ones(3))
    assert np.all(stgrad.grad(lambda x: np.sum(x) * (2.0 if hasattr(x, name) else 3.0), jit=True)(np.ones(3)) == 2.0)


def larger(x: Any, y: Any) -> Any:
    return x * y[0] * (2 if type(max(x, y[0])) is float else 3)


def of_one_path(x: Any, y: Any) -> Any:
    t = 0.0
    if x > 0:
        t = y[0]
    return t * x * (2 if isinstance(t, np.floating) else 3)


def of_the_first_trip(x: Any, y: Any) -> Any:
    s = 0.0
    for v in y:
        if type(s) is float:
            s += x
        s += v
    return s


def of_both(x: Any, y: Any) -> Any:
    s = 0.0
    for v in y:
        s += v
    return s * x * (2 if isinstance(s, float) else 3) * (2 if hasattr(s, "real") else 3)


@pytest.mark.parametrize("function", [larger, of_one_path, of_the_first_trip])
@pytest.mark.parametrize("x", [0.5, -0.3])
def test_the_class_of_what_is_pythons_on_some_paths(function: Any, x: float) -> None:
    """Only the running program knows it: refused, or right in plain Python."""
    y = np.array([0.2, 0.9])
    with pytest.raises(UnsupportedSyntaxError, match="number of Python or of NumPy"):
        stgrad.grad(function, (0, 1), jit=True)(x, np.full(70, 0.2) if function is of_the_first_trip else y)
    value, pullback = (found := recorded(function, (x, y), {}, ((0, 0), (0, 1)))).value, found.pullback
    assert value == function(x, y)
    v = np.array([1.0, -0.5])
    slope = (function(x + 1e-6, y + 1e-6 * v) - function(x - 1e-6, y - 1e-6 * v)) / 2e-6
    assert np.isclose(pullback(1.0)[0] + pullback(1.0)[1] @ v, slope)


@pytest.mark.parametrize("x", [0.5, -0.3])
@pytest.mark.parametrize("jit", [False, True])
def test_each_trip_of_a_short_loop_has_a_class_of_its_own(x: float, jit: bool) -> None:
    y = np.array([0.2, 0.9])
    value, (dx, dy) = stgrad.value_and_grad(of_the_first_trip, (0, 1), jit=jit)(x, y)
    assert (value, dx, dy.tolist()) == (of_the_first_trip(x, y), 1.0, [1.0, 1.0])


def test_what_holds_of_both_is_answered() -> None:
    assert stgrad.value_and_grad(of_both, jit=False)(0.5, np.array([0.2, 0.9]))[0] == of_both(0.5, np.array([0.2, 0.9]))


@pytest.mark.parametrize("jit", [False, True])
def test_the_item_of_an_array_with_more(jit: bool) -> None:
    for take in (lambda x: x.item(), lambda x: (2.0 * x)[5:].item(), lambda x: x[x > 0.1].item()):
        with pytest.raises(ValueError, match="array of size 1"):
            stgrad.grad(take, jit=jit)(np.array([0.5, 0.3]))
    assert stgrad.grad(lambda x: x[x > 0.4].item() ** 2, jit=jit)(np.array([0.5, 0.3])).tolist() == [1.0, 0.0]


def cleaned(x):
    out = []
    for v in x:
        if type(v) in (str, bool, np.str_):
            out.append(1.0)
        elif not np.isnan(v):
            out.append(v)
    return np.sum(np.array(out) ** 2)


def of_numpy(x):
    s = 0.0
    for k, v in enumerate(list(x)):
        s += v**2 if isinstance(v, np.floating) else 100.0 * v
        if type(v) is float:
            s += k * v
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [cleaned, of_numpy])
def test_items_of_an_array_in_a_loop_are_numpys(f, jit):
    x = np.array([0.5, 1.5, -0.3])
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), 2.0 * x)


def test_what_a_loop_carries_may_be_either():
    def f(x):
        s = 0.0
        for v in x:
            if isinstance(s, np.floating):
                s = s * 0.5
            s = s + v
        return s

    with pytest.raises(errors.UnsupportedSyntaxError, match="of Python or of NumPy is asked for"):
        stgrad.grad(f, jit=True)(np.ones(70))
    for jit in (False, True):  # a short loop is written out
        np.testing.assert_allclose(stgrad.grad(f, jit=jit)(np.ones(3)), [0.25, 0.5, 1.0])
