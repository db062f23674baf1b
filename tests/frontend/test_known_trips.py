"""Loops whose trips are known but have no body in common: `while` of constants, changes of containers at known places."""

import pytest

import stgrad
from stgrad import errors, testing

NEXT = {"a": "b", "b": "c", "c": None}
WEIGHTS = {"a": 1.0, "b": 2.0, "c": 3.0}


class Space:
    def __init__(self, name, base, scale):
        self.name, self.base, self.scale = name, base, scale


SPACES = {"lab": Space("lab", "xyz", 2.0), "lch": Space("lch", "lab", 3.0), "xyz": Space("xyz", "xyz", 1.5)}


def chains(x):
    name, space, path = "", SPACES["lch"], []
    while name != "xyz":
        path.append(space)
        name = space.name
        space = SPACES[space.base]
    for step in path:
        x = x * x + step.scale
    return x


def by_name(x):
    n, path, s = "a", [], 0.0
    while n is not None:
        path.append(n)
        s += WEIGHTS[n] * x ** len(path)
        n = NEXT[n]
    return s


def triangle(x):
    """A count in floats, in a loop that is written out itself."""
    k = [[None] * 4 for _ in range(4)]
    s = 0.0
    for n in range(1, 4):
        m, step = 0, 1
        left = (n - m + step) / step
        while left > 0:
            k[m][n] = x * (m + n)
            s += k[m][n] * x
            left -= 1
            m += step
    return s


def leaving(x):
    m, k = 0, [None] * 6
    while True:
        k[m] = x * m * x
        m += 1
        if m == 4:
            break
        if m == 1:
            continue
        k[m - 1] = x * x
    return k[2] + k[3] + k[0]


def not_to_the_end(x):
    """Behind the first trips, whose condition is known, a loop of the running program."""
    rows, n, limit = [x, 2.0 * x], 0, 2.0
    while n < limit:
        if n < 2:
            rows[n] = rows[n] * x
            limit = 2.0 if n == 0 else x * 4.0
        n = n + 1
    return rows[0] + rows[1] * n


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("function", [chains, by_name, triangle, leaving, not_to_the_end])
def test_are_written_out(function, jit):
    testing.check_gradient(function, (1.3,), order=2, jit=jit)


def test_there_is_a_limit():
    def endless(x):
        k = [None] * 1000
        n = 0
        while n < 900:
            k[n] = x * n
            n += 1
        return k[3]

    with pytest.raises(errors.StgradError):
        stgrad.grad(endless, jit=True)(1.0)
