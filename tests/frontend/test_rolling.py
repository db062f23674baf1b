"""Loops over many constants: one loop over a table, unless a trip has to know its constant."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad.lookups import read, spelled

_drawn = np.random.default_rng(3)
FLOATS = [float(v) for v in _drawn.normal(size=24)]
SMALL = [int(v) for v in _drawn.integers(0, 5, size=24)]
FLAGS = [bool(v) for v in _drawn.integers(0, 2, size=24)]
COMPLEX = [complex(a, b) for a, b in _drawn.normal(size=(24, 2)).tolist()]
TRIPLES = list(zip(SMALL, FLOATS, FLAGS, strict=True))
ROWS = [list(row) for row in _drawn.normal(size=(24, 2)).tolist()]
BY_KEY = dict(enumerate(FLOATS))
MIXED = [1 if k % 2 else 0.5 for k in range(24)]
WITH_ZERO = [*FLOATS, 0.0]


def of_numbers(x: Any) -> Any:
    s = 0.0
    for c in FLOATS:
        s = s * x + c
    return s


def of_tuples(x: Any) -> Any:
    s = 0.0
    for i, c, flag in TRIPLES:
        if flag:
            s += c * math.sin(x) * i
        else:
            s -= c
    return s * x


def of_rows(x: Any) -> Any:
    s = np.zeros(3)
    for a, b in ROWS:
        s = s + np.sin(a * x) * b
    return np.sum(s)


def of_items_of_a_dict(x: Any) -> Any:
    s = 0.0
    for k, c in BY_KEY.items():
        s += c * x + k
    return s * x


def beside_each_other(x: Any) -> Any:
    s = 0.0
    for k, (c, (a, _)) in enumerate(zip(FLOATS, ROWS)):
        s += c * math.cos(a * x) * k
    return s


def turned(x: Any) -> Any:
    s = 0.0
    for c in reversed(FLOATS):
        s = s * x + c
    return s


def by_position(x: Any) -> Any:
    s = 0.0
    for i in range(23):
        s += FLOATS[i] * math.sin(FLOATS[i - 1] * x)
    return s


def until(x: Any) -> Any:
    s = 0.0
    for c in FLOATS:
        if s > 2.0:
            break
        s += c * c * x
    else:
        s = 2.0 * s
    return s


def of_complex(x: Any) -> Any:
    s = 0j
    for z in COMPLEX:
        s += z * x
    return abs(s)


def of_a_generator(x: Any) -> Any:
    return sum(b * math.exp(-x * a) for a, b in ROWS)


def of_results(x: Any) -> Any:
    values = [c * x for c in FLOATS]
    return values[0] + values[-1] * values[3] + sum(values)


def of_a_list_that_the_program_makes(x: Any) -> Any:
    s = 0.0
    for w in [1.0 / (1 + k) for k in range(30)]:
        s += w * math.sin(w * x)
    return s


def read_behind_it(x: Any) -> Any:
    s = 0.0
    for k, c in enumerate(FLOATS):
        y = c * x
        s += y
    return s + y * c * (1.0, 2.0, x)[k - 21]


def nested(x: Any) -> Any:
    s = 0.0
    for a in FLOATS:
        for b, row in zip(FLOATS, ROWS):
            s += a * b * x + row[0]
    return s


def of_closures(x: Any) -> Any:
    def scaled(c: float) -> Any:
        return c * x if c > 0 else x

    s = 0.0
    for c in FLOATS:
        s += scaled(c)
    return s


ROLLED = [
    of_numbers, of_tuples, of_rows, of_items_of_a_dict, beside_each_other, turned, by_position, until, of_complex, of_a_generator, of_results,
    read_behind_it, nested, of_closures,
]  # fmt: skip


def argument(function: Callable[..., Any]) -> Any:
    return np.array([0.3, -0.2, 0.5]) if function is of_rows else 0.7


@pytest.mark.parametrize("function", [*ROLLED, of_a_list_that_the_program_makes], ids=lambda f: f.__name__)
def test_a_long_loop_stays_one(function: Callable[..., Any]) -> None:
    x = argument(function)
    check_gradient(function, (x,))
    gradient = stgrad.value_and_grad(function)
    assert gradient(x)[0] == pytest.approx(function(x), rel=1e-14)
    assert len(gradient.lowered(x).splitlines()) < 80


@pytest.mark.parametrize("function", ROLLED, ids=lambda f: f.__name__)
def test_the_constants_stand_in_tables(function: Callable[..., Any]) -> None:
    assert "table[" in stgrad.grad(function).lowered(argument(function))


@pytest.mark.parametrize("function", [of_numbers, of_tuples, of_rows, of_items_of_a_dict, beside_each_other, turned, until, nested], ids=lambda f: f.__name__)
def test_sums_are_in_order_without_packing(function: Callable[..., Any]) -> None:
    x = argument(function)
    assert stgrad.value_and_grad(function, without=("packed",))(x)[0] == function(x)


def exponents(x: Any) -> Any:
    s = 0.0
    for i in SMALL:
        s += x**i
    return s


def exponents_behind_arithmetic(x: Any) -> Any:
    s = 0.0
    for k, c in enumerate(FLOATS):
        s += c * x ** (k + 1)
    return s


def positions_in_a_list(x: Any) -> Any:
    values = [x, 2 * x, x * x, x + 1, x - 1]
    s = 0.0
    for i in SMALL:
        s += values[i]
    return s


def positions_in_a_small_array(x: Any) -> Any:
    k = np.zeros((4, 4))
    for n, i in enumerate(SMALL):
        k[i % 4, n % 4] += x * n
    return np.sum(k * k)


def of_two_kinds(x: Any) -> Any:
    s = 0.0
    for c in MIXED:
        s += c * x
    return s


def changed_on_the_way(x: Any) -> Any:
    values, s = list(FLOATS), 0.0
    for i, c in enumerate(values):
        if i < 23:
            values[i + 1] = c * x
        s += c
    return s


def longer_on_the_way(x: Any) -> Any:
    values, s = [c for c in FLOATS], 0.0
    for c in values:
        if len(values) < 30:
            values.append(x)
        s += c
    return s * x


def of_constants_alone(x: Any) -> Any:
    doubled, total = [2 * c for c in FLOATS], 0.0
    for v in doubled:
        total += v
    return total * x


def taken_apart(x: Any) -> Any:
    a, b, *rest = [c * x for c in FLOATS]
    return a * b + len(rest) + rest[0]


KNOWN = [exponents, exponents_behind_arithmetic, positions_in_a_list, positions_in_a_small_array, of_two_kinds, changed_on_the_way, longer_on_the_way]


@pytest.mark.parametrize("function", [*KNOWN, of_constants_alone, taken_apart], ids=lambda f: f.__name__)
def test_what_must_be_known_is(function: Callable[..., Any]) -> None:
    check_gradient(function, (0.7,))
    assert stgrad.value_and_grad(function)(0.7)[0] == pytest.approx(function(0.7), rel=1e-14)
    assert function not in KNOWN or "table[" not in stgrad.grad(function).lowered(0.7)


FEW_ITEMS = [(0.5 + 0.1 * k, k + 1) for k in range(6)]


def present_values(x: Any) -> Any:
    """Few items, and a sum of few terms in each trip: together much to write."""
    s = 0.0
    for c, years in FEW_ITEMS:
        value = sum(c * math.exp(-x * t) / (1.0 + x * t) ** 2 + math.sin(c * t * x) - math.cos(x - t) for t in range(1, years + 3))
        s += (value - c) ** 2
    return s


def long_trips_beside_an_array(x: Any) -> Any:
    s = 0.0
    for (c, k), v in zip(FEW_ITEMS, np.arange(8.0) * x, strict=False):
        a = math.sin(c * v) + math.cos(k * x) * v
        b = a * math.exp(-c * x) + a * a - v
        for _ in range(k):
            b = b * math.tanh(a + b) + c
        s += a * b + math.atan(a - b) * math.sin(s) + (a + c) * (b - k) * math.exp(-a * a) + math.sqrt(1.0 + b * b) + math.log(2.0 + b * b)
    return s


def short_trips(x: Any) -> Any:
    s = 0.0
    for c, k in FEW_ITEMS:
        s += math.sin(c * x) * k
    return s


def must_be_known(x: Any) -> Any:
    """Much to write, but a trip has to know its item."""
    parts = [x * 2.0, x * x, math.sin(x)] * 3
    s = 0.0
    for c, k in FEW_ITEMS:
        s += sum(c * math.exp(-x * t) / (1.0 + x * t) ** 2 + math.sin(c * t * x) for t in range(1, 9)) * parts[k]
    return s


@pytest.mark.parametrize("function", [present_values, long_trips_beside_an_array])
def test_few_long_trips_are_a_loop(function: Callable[..., Any]) -> None:
    check_gradient(function, (0.7,))
    assert stgrad.value_and_grad(function)(0.7)[0] == pytest.approx(function(0.7), rel=1e-13)
    text = stgrad.grad(function).lowered(0.7)
    assert "table[" in text
    assert len(text.splitlines()) < 200


def test_few_short_trips_are_written_out() -> None:
    check_gradient(short_trips, (0.7,))
    assert "table[" not in stgrad.grad(short_trips).lowered(0.7)


def test_few_long_trips_that_must_know_their_item() -> None:
    check_gradient(must_be_known, (0.7,))
    assert stgrad.value_and_grad(must_be_known)(0.7)[0] == pytest.approx(must_be_known(0.7), rel=1e-13)


def test_other_exponents_stand_in_tables() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for c in FLOATS:
            s += x**c
        return s

    check_gradient(f, (0.7,))
    assert "table[" in stgrad.grad(f).lowered(0.7)


def test_numbers_keep_their_kind() -> None:
    def f(x: Any) -> Any:
        s = x
        for c in FLOATS:
            s = s + c * x
        return s

    single = np.array([0.1, 0.2], np.float32)
    assert stgrad.jit(f)(single).dtype == np.float32
    assert stgrad.jit(f)(single) == pytest.approx(f(single), rel=1e-6)


def test_errors_are_those_of_python() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for c in WITH_ZERO:
            s += x / c
        return s

    def beyond(x: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            s += FLOATS[i] * x
        return s

    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        stgrad.grad(f)(0.7)
    assert stgrad.value_and_grad(beyond)(0.7, 24)[0] == pytest.approx(beyond(0.7, 24))
    with pytest.raises(IndexError):
        stgrad.grad(beyond)(0.7, 25)


def test_an_array_beside_constants_ends_the_loop() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for c, v in zip(FLOATS, x):
            s += c * v * v
        return s

    for n in (30, 24, 5):
        x = np.linspace(0.1, 0.9, n)
        assert stgrad.value_and_grad(f)(x)[0] == pytest.approx(f(x))
        check_gradient(f, (x,))


def test_derivatives_of_other_kinds() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for c in FLOATS:
            s = s + np.exp(c * x[0]) * x[1] ** 2
        return s

    x = np.array([0.1, 0.2])
    exact = stgrad.grad(f, jit=False)(x)
    assert stgrad.grad(f, mode="forward")(x) == pytest.approx(exact)
    assert stgrad.hessian(f)(x)[0] == pytest.approx(stgrad.jacrev(stgrad.grad(f))(x)[0])
    assert stgrad.vmap(stgrad.grad(f))(np.stack([x, x]))[1] == pytest.approx(exact)


def test_a_change_of_a_constant_is_seen() -> None:
    constants = list(FLOATS)

    def f(x: Any) -> Any:
        s = 0.0
        for c in constants:
            s += c * x
        return s

    gradient = stgrad.grad(f)
    assert gradient(0.7) == gradient(0.7) == pytest.approx(sum(constants))
    constants[3] = 5.0
    assert gradient(0.7) == pytest.approx(sum(constants))


def test_tables_are_found_again_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "1")
    monkeypatch.delenv("STGRAD_CHECK", raising=False)
    first = stgrad.grad(of_numbers)(0.7)
    assert any(path.suffix == ".json" for path in tmp_path.iterdir())

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the program is read again")

    monkeypatch.setattr("stgrad.assumed.compile_program", refuse)
    assert stgrad.grad(of_numbers)(0.7) == first


@pytest.mark.parametrize("numbers", [np.array([1.0, -0.0, np.inf]), np.array([True, False]), np.array([1, -(2**62)]), np.array([1j])])
def test_tables_are_spelled_exactly(numbers: Any) -> None:
    again = read("table", None, spelled(numbers))
    assert again.dtype == numbers.dtype
    assert again.tobytes() == numbers.tobytes()


def kept_above(p):
    levels, v = [], p
    for k in range(40):
        v = v * 0.9 + p
        levels.append((v, k))
    return sum(v * v for v, k in levels if v > 2.0 and k > 3)


@pytest.mark.parametrize("jit", [True, False])
def test_a_filter_over_a_list_that_a_loop_filled_is_a_loop(jit):
    """Each item that may be left out had a branch of its own: 3,377 lines for 120 items."""
    check_gradient(kept_above, (0.7,), order=2, jit=jit)
    assert len(stgrad.grad(kept_above).source(0.7).splitlines()) < 120
