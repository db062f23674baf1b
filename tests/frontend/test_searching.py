"""`in`, `index`, `count` of lists, tuples, ranges and dicts for values that the running program has."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad


def in_loops(x, n):
    out = 0.0
    for i in range(n):
        if i in range(1, n, 3):
            out += x[i] ** 2
        if (i, i + 1) in [(1, 2), (4, 5)]:
            out += x[i]
        if (i % 2, 1) in {(0, 1)}:
            out *= 1.1
        out += x[(4, 1, 0, 2, 3, 5, 6, 7).index(i)] * range(n - 1, -1, -1).index(i)
        out += (1, 3, 1).count(i) * x[0] + [2, 3].index(2 + i % 2) * x[1]
    return out


def doses(x, n):
    schedule = {0.0: 2.0, 1.5: 3.0, 7.0: 1.0}
    t, out = 0.0, 0.0
    for _ in range(n):
        if t in schedule:
            out += schedule[t] * x[list(schedule).index(t)] * (t + 1)
        out += schedule.get(t, 0.25) * x[0] ** 2
        t += 0.5
    return out


def of_values(x, n):
    return (1.5, 2.5).count(x[1]) * x[0] + [x[0], x[1]].index(x[1]) * x[2] + (x[2] in range(n)) * x[0] + (x[0], x[1]).count(1.5)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [in_loops, doses, of_values])
def test_right(f, jit):
    x = np.arange(8.0) + 0.5
    assert stgrad.value_and_grad(f, jit=jit)(x, 8)[0] == pytest.approx(f(x, 8))
    if f is not of_values:  # which jumps
        check_gradient(f, (x, 8), order=1 if jit else 2, jit=jit)


@pytest.mark.parametrize("n", [3, 5, 9])
def test_what_is_not_there(n):
    def in_a_tuple(x, n):
        return x[(3, 5, 8).index(n)]

    def in_a_range(x, n):
        return x[range(3, 7, 2).index(n)]

    def in_a_dict(x, n):
        return {1.5: x[0], 2.5: x[1]}[0.5 * n] ** 2

    def caught(x, n):
        try:
            return x[[3, 5].index(n)] ** 2
        except ValueError:
            return 3.0 * x[0]

    x = np.array([1.0, 2.0, 3.0])
    for f in (in_a_tuple, in_a_range, in_a_dict, caught):
        try:
            value = f(x, n)
        except (ValueError, KeyError) as problem:
            with pytest.raises(type(problem)):
                stgrad.grad(f, jit=False)(x, n)
        else:
            assert stgrad.value_and_grad(f, jit=False)(x, n)[0] == value
