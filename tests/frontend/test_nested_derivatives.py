"""Derivatives inside of functions that are differentiated: right, or refused; nothing they change is lost."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors


class Box:
    def __init__(self, value):
        self.value = value


def appends(x):
    seen = []

    def g(y):
        seen.append(y * 2.0)
        return y * y

    return stgrad.grad(g)(x) + sum(seen)


def sets_a_key(x):
    box = {"v": x}

    def g(y):
        box["v"] = y * 3.0
        return y * y

    return stgrad.grad(g)(x) + box["v"]


def sets_an_attribute(x):
    box = Box(x)

    def g(y):
        box.value = y * 3.0
        return y * y

    return stgrad.grad(g)(x) + box.value


def changes_its_argument(x):
    held = [x, x]

    def g(y, items):
        items[0] = y * 3.0
        return y * y * items[1]

    return stgrad.grad(g)(x, held) + held[0]


def appends_in_a_loop(x):
    seen = []

    def g(y):
        for i in range(3):
            seen.append(y * i)
        return y * sum(seen)

    return stgrad.value_and_grad(g)(x)[0] + len(seen) * x


@pytest.mark.parametrize("function", [appends, sets_a_key, sets_an_attribute, changes_its_argument, appends_in_a_loop])
def test_changes_outside_are_refused(function):
    with pytest.raises(errors.UnsupportedSyntaxError, match="changes a list, dict or object from outside"):
        stgrad.grad(function, jit=False)(2.0)


def test_writes_to_an_array_outside_are_refused():
    def writes(x):
        kept = np.zeros(2)

        def g(y):
            kept[0] = y * 3.0
            return y * y

        return stgrad.grad(g)(x) + kept[0]

    with pytest.raises(errors.AliasingError, match="writes to `kept`, an array of the function around it"):
        stgrad.grad(writes, jit=False)(2.0)


def test_own_containers_may_change():
    def own(x):
        scale = [x, 2.0]

        def g(y):
            mine = [*scale]
            mine.append(y)
            return y * sum(mine)

        return stgrad.grad(g)(x) * x

    check_gradient(own, (2.0,), order=2)


def endless(x):
    return x * stgrad.grad(endless)(x)


def order_by_order(x, n):
    if n == 0:
        return x * x
    return stgrad.grad(order_by_order)(x, n - 1) * x


def test_a_gradient_that_calls_itself():
    with pytest.raises(errors.NeedStaticError, match="the derivative of `endless` calls itself"):
        stgrad.grad(endless, jit=False)(2.0)
    assert stgrad.grad(order_by_order, jit=False)(2.0, 2) == 16.0  # it ends where the order is known
