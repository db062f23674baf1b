"""A variable of the program stands for one place: a name, or a part of what it means. What holds a name's value besides keeps it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from stgrad.testing import check_program

X, A = np.array([0.3, -0.4]), np.array([[0.2, 1.0], [-1.0, 0.5]])


@dataclass
class State:
    position: float
    speed: float


def a_list_of_a_name(x, A):
    v = x[0]
    b = [x, v]
    for _ in range(2):
        b = [x, v + 1.0]
    return np.sum(b[1]) * v


def an_array(x, A):
    v = A
    b = [x, v]
    for row in b[1]:
        b = [x * row, v + 1.0]
    return np.sum(b[1] * v) + np.sum(b[0])


def a_dict(x, A):
    v = A * 2.0
    b = {"first": v, "second": x}
    n = 0
    while n < 3:
        b = {"first": v * 2.0, "second": b["second"] + v[0]}
        n += 1
    return np.sum(b["first"]) + np.sum(b["second"] * v)


def an_instance(x, A):
    v = x[0] * 2.0
    s = State(v, v)
    for _ in range(3):
        s = State(s.position + v, s.speed * v)
    return s.position * s.speed + v


def twice_in_one(x, A):
    v = x[0]
    b = [v, v]
    for _ in range(2):
        b = [b[1] * 2.0, b[0] + v]
    return b[1] * v + b[0]


def a_tuple(x, A):
    v = x[0]
    b = (v, v)
    for _ in range(2):
        b = (b[1] * 2.0, b[0] + v)
    if v > 0.0:
        b = (b[1] + v, v)
    return b[1] * v + b[0]


def in_a_branch(x, A):
    v = x[0]
    b = [v, x[1]]
    if v > 0.1:
        b = [b[1] * 2.0, b[0] + v]
    return b[1] * v + b[0]


def a_name_like_a_part(x, A):
    b_0 = x[0]
    b = [b_0, x[1]]
    for _ in range(3):
        b = [b[0] * 2.0, b[1] + b_0]
    return b[0] * b[1] + b_0


def loops_in_loops(x, A):
    v, total = x[0] + 1.0, 0.0
    b = [v, 1.0]
    for _ in range(2):
        for k in range(2):
            b = [b[0] * v, b[1] + k * v]
        total += b[0] * b[1]
    return total * v


def a_function_inside(x, A):
    v = x[0]

    def step(s):
        return [s[0] + v, s[1] * s[0]]

    b = [v, v]
    for _ in range(3):
        b = step(b)
    return b[0] * b[1] + v


PROGRAMS = [
    a_list_of_a_name, an_array, a_dict, an_instance, twice_in_one, a_tuple, in_a_branch, a_name_like_a_part, loops_in_loops, a_function_inside,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_holds_a_value_keeps_it(program):
    check_program(program, (X, A))
