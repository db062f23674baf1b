"""Lists and dicts that a loop changes while it runs over them: what an iteration puts there, later ones find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def writes(x: Any) -> Any:
    items = [1.0, x, 2.0]
    total = 0.0
    for item in items:
        items[1] = 5.0
        total += item
    return total * x


def writes_behind_enumerate(x: Any) -> Any:
    items = [1.0, x, 2.0]
    total = 0.0
    for i, item in enumerate(items):
        items[2] = 7.0 * x
        total += item * i
    return total * x


def writes_to_both_of_a_zip(x: Any) -> Any:
    left, right = [1.0, x, 2.0], [3.0, 4.0, 5.0]
    total = 0.0
    for a, b in zip(left, right):
        right[1] = x
        left[2] = x
        total += a * b
    return total


def writes_before_a_reversed_item(x: Any) -> Any:
    items = [1.0, x, 2.0]
    total = 0.0
    for item in reversed(items):
        items[0] = x * x
        total += item
    return total


def appends(x: Any) -> Any:
    items = [1.0, x]
    total = 0.0
    for item in items:
        if len(items) < 4:
            items.append(item * x)
        total += item
    return total


def pops(x: Any) -> Any:
    items = [1.0, x, 3.0]
    total = 0.0
    for item in items:
        if len(items) > 2:
            items.pop()
        total += item * x
    return total


def writes_to_values(x: Any) -> Any:
    table = {"a": 1.0, "b": x}
    total = 0.0
    for key in table:
        table["b"] = x * x
        total += table[key]
    for _, value in table.items():
        table["b"] = x * 3.0
        total += value
    for value in table.values():
        table["b"] = x * value
        total += value
    return total


def looks_at_a_view_later(x: Any) -> Any:
    table = {"a": 1.0, "b": x}
    values = table.values()
    table["b"] = x * x
    table["c"] = 2.0 * x
    return sum(values) * len(values)


def comprehension(x: Any) -> Any:
    items = [1.0, x, 2.0]

    def replace_next(i: int) -> float:
        items[i + 1 if i < 2 else 0] = x * 3
        return i * 1.0

    return sum([item * replace_next(i) for i, item in enumerate(items)])


def copies(x: Any) -> Any:
    items = [1.0, x, 2.0]
    total = 0.0
    for item in items[:]:
        items[1] = 5.0
        total += item
    return total * x


def maps(x: Any) -> Any:
    items = [x, x * x, 2.0]
    total = 0.0
    for item in map(lambda v: v * x, items):
        items[1] = 5.0
        total += item
    return total


def rebinds_and_writes(x: Any) -> Any:
    items = [1.0, x]
    for item in items:
        items[1] = 0.5
        items = [item * x, 1.0]
    return items[0] + x


@pytest.mark.parametrize(
    "program",
    [
        writes, writes_behind_enumerate, writes_to_both_of_a_zip, writes_before_a_reversed_item, appends, pops, writes_to_values,
        looks_at_a_view_later, comprehension, copies, maps, rebinds_and_writes,
    ],
)  # fmt: skip
def test_known_items(program: Any) -> None:
    check_gradient(program, (1.3,), jit=True)


def grows_while_it_runs(x: Any) -> Any:
    items = []
    for i in range(3):
        items.append(x[i])
    total = 0.0
    for item in items:
        total += item
        if len(items) < 6:
            items.append(item * 2.0)
    return total * x[0]


def is_written_at_run_time(x: Any) -> Any:
    items = []
    for i in range(len(x)):
        items.append(x[i])
    total = 0.0
    for item in items:
        items[2] = 7.0 * items[0]
        total += item
    return total * total


def begins_to_grow(x: Any) -> Any:
    items = [x[0], x[1], x[2]]
    total = 0.0
    for item in items:
        if item > 0.0 and len(items) < 5:
            items.append(item * 2.0)
        total += item
    return total * total


def is_written_under_a_condition(x: Any) -> Any:
    items = [x[0], x[1], x[2]]
    total = 0.0
    for item in items:
        if item > 0.0:
            items[2] = items[2] * 2.0
        total += item
    return total * total


def grows_until_it_breaks(x: Any) -> Any:
    items = []
    for i in range(len(x)):
        items.append(x[i])
    total = 0.0
    for item in items:
        if total > 40.0:
            break
        items.append(item + x[0])
        total += item * item
    return total


@pytest.mark.parametrize("program", [grows_while_it_runs, is_written_at_run_time, begins_to_grow, is_written_under_a_condition, grows_until_it_breaks])
def test_items_of_run_time_number(program: Any) -> None:
    check_gradient(program, (np.array([1.0, 2.1, 3.2]),), jit=True)


def test_dicts_that_change_size_are_refused_as_by_python() -> None:
    def program(x: Any) -> Any:
        table = {"a": x}
        for key in table:
            table[key + "a"] = x
        return table["a"]

    with pytest.raises(stgrad.errors.StgradError, match="dictionary changed size during iteration"):
        stgrad.grad(program)(1.0)


def takes_items_by_hand(x: Any) -> Any:
    items = [x, x * x, 2.0]
    it = iter(items)
    total = next(it)
    items[1] = 9.0 * x
    return (total + next(it)) * x


def test_iterators_look_at_the_list_itself() -> None:
    check_gradient(takes_items_by_hand, (1.3,))
