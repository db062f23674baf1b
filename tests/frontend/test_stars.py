"""`*values` of vectors in calls and displays, and `next` of iterators over them: Python's values, and Python's exceptions."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.5, -1.2, 2.0, 0.3])


def model(t, a, b, c):
    return a * np.exp(-b * t) + c


def passed_on(p):
    return np.sum(model(np.linspace(0.0, 1.0, 5), *p) ** 2)


def displayed(p):
    rows = [*p, *p[:2], 1.0]
    pair = (*p, 2.0 * p[0])
    return sum(v * v * (i + 1) for i, v in enumerate(rows)) + np.prod(np.array([*p, 1.0])) + pair[-1] * len(pair)


def extremes(p):
    return max(*p) * 2.0 + min(*p) ** 2


def with_a_default(p):
    it = iter(p)
    a, b, c, d, e, f = next(it), next(it, 7.0), next(it, 7.0), next(it, 7.0), next(it, 7.0), next(it, 7.0)
    return a * b + c * d + e * f * p[0]


def by_pairs(p):
    it = iter(p)
    total = 0.0
    for a in it:
        total += a * next(it, 0.5)
    return total


def until_none(p):
    it = iter(p.tolist())
    total = next(it)
    v = next(it, None)
    while v is not None:
        total = total * 0.5 + v
        v = next(it, None)
    return total


PROGRAMS = [(passed_on, X[:3]), (displayed, X), (extremes, X)] + [(p, x) for p in (with_a_default, by_pairs, until_none) for x in (X, X[:3])]


@pytest.mark.parametrize(("program", "x"), PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_right(program, x, jit):
    check_gradient(program, (x,), jit=jit, order=1 if jit else 2)
    assert np.isclose(stgrad.jit(program)(x), program(x))


def exhausted(p):
    it = iter(p)
    return sum([next(it), next(it), next(it), next(it)]) * p[0]


@pytest.mark.parametrize(("program", "x", "error"), [(passed_on, X, TypeError), (extremes, X[:1], TypeError), (exhausted, X[:3], StopIteration)])
@pytest.mark.parametrize("jit", [False, True])
def test_raises_as_python_does(program, x, error, jit):
    for run in (program, stgrad.jit(program), stgrad.grad(program, jit=jit)):
        with pytest.raises(error):
            run(x)
