"""Names of a generator in the expressions and functions inside of it: none of them is a name of the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import lookups
from stgrad.errors import InternalError

j, k, w, total, helper = 7.0, 10.0, 100.0, 1000.0, None  # what the names would be outside
X = np.array([0.5, 1.5, -0.7])


def expression(x: Any) -> Any:
    def outer() -> Any:
        for k in range(3):
            yield from (x[k] * x[k] * j for j in range(1, 4))

    return sum(outer())


def parameter(x: Any) -> Any:
    def inner(w: Any) -> Any:
        yield from (w * j for j in range(1, 3))

    def outer() -> Any:
        for k in range(3):
            yield from inner(x[k] * x[k])

    return sum(q * q for q in outer())


def left_early(x: Any) -> Any:
    def outer() -> Any:
        for k in range(3):
            yield from (x[k] * w * j for j in range(1, 4) for w in (x[0], x[1]))

    total = 0.0
    for count, item in enumerate(outer()):
        if count == 7:
            break
        total = total + item * item
    return total


def expression_of_an_expression(x: Any) -> Any:
    def outer() -> Any:
        for k in range(2):
            yield from (sum(x[k] * x[j] * w for w in range(3)) for j in range(3))

    return sum(outer())


def generators_in_one(x: Any) -> Any:
    def outer() -> Any:
        for k in range(3):

            def helper(w: Any) -> Any:
                yield x[k] * w
                yield from (x[k] * w * j for j in (2.0, 3.0))

            yield from helper(x[k])

    return sum(item * item for item in outer())


def functions_in_one(x: Any) -> Any:
    def outer() -> Any:
        for k in range(3):
            helper = lambda w: x[k] * w  # noqa: E731

            def square(w: Any) -> Any:
                return helper(w) ** 2

            yield sum(map(square, (j * 1.0 for j in range(1, k + 2))))

    return sum(outer())


def counted(x: Any) -> Any:
    def outer() -> Any:
        total = x[0]

        def add(w: Any) -> Any:
            nonlocal total
            total = total * w
            return total

        for k in range(3):
            yield add(x[k])
            yield from (total * x[j] for j in range(2))

    return sum(outer())


def names_again(x: Any) -> Any:
    """The inner names are those of the outer generator."""

    def outer() -> Any:
        for k in range(3):
            yield from (k * x[k] * x[k] for k in range(3))
            yield k * x[k]

    return sum(outer())


PROGRAMS = [expression, parameter, left_early, expression_of_an_expression, generators_in_one, functions_in_one, counted, names_again]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_are_its_own(program: Any, jit: bool) -> None:
    assert stgrad.value_and_grad(program, jit=jit)(X)[0] == pytest.approx(program(X))
    check_gradient(program, (X,), jit=jit)


def test_a_name_that_is_lost_is_an_error() -> None:
    """No name of a function is ever taken for one of the module."""

    def around(x: Any) -> Any:
        own = x * 2.0
        return [own * k for item in (1.0, 2.0)] if x else np.sum(total)

    own = lookups.names_of_its_own(around.__code__)
    assert {"x", "own", "item"} <= own
    assert not own & {"k", "np", "total"}
    from stgrad import source

    with pytest.raises(InternalError, match="`item` of `around`"):
        source.load(around).resolve("item")
    assert source.load(around).resolve("k") == k
