"""Functions that outlive the call that made them: they keep what its parameters stood for, whatever the caller's names are bound to later."""

import pytest
from thorough import check_gradient

import stgrad


def make(w):
    def f(h):
        return w * h

    return f


def rebound(x):
    w = x
    f = make(w)
    w = 2 * w
    return f(1.0) + 3 * w


def in_a_branch(x):
    w = x
    f = make(w)
    if w > 0:
        w = w * 3
    return f(1.0) * w


def swapped(x):
    q, r = x, 2 * x
    f = make(q)
    q, r = r, q
    return f(1.0) + 3 * q


def bound_early(x):
    fs = [(lambda w: lambda h: w * h)(w) for w in [x, 2 * x, 3 * x]]
    return fs[0](1.0) + 10 * fs[1](1.0)


class Holder:
    def __init__(self, w):
        self.f = lambda h: w * h


def of_objects(x):
    fs = [Holder(w) for w in [x, 2 * x, 3 * x]]
    return fs[0].f(1.0) + 10 * fs[1].f(1.0)


def composed(x):
    def plus(f, w):
        return lambda h: f(h) + w

    f = lambda h: h  # noqa: E731
    for w in (x, 2 * x, 3 * x):
        f = plus(f, w)
    return f(1.0)


def segments(x):
    def line(a, b):
        return lambda t: a * t + b

    a, b, found = x, 1.0, []
    for _ in range(3):
        found.append(line(a, b))
        a, b = a * 0.5, b + a
    return sum(s(k * 1.0) for k, s in enumerate(found))


def by_keywords(x):
    def keep(**given):
        return given

    def read(**given):
        return lambda h: given["w"] * h

    w = x
    held, f = keep(w=w), read(w=w)
    w = 2 * w
    return held["w"] + 10 * f(1.0) + w


def by_positions(x):
    def read(*given):
        return lambda h: given[0] * h

    w = x
    f = read(w)
    w = 2 * w
    return f(1.0) + w


def with_state(x):
    def counter(w):
        def f(h):
            nonlocal w
            w = w * h
            return w

        return f

    w = x
    f, g = counter(w), counter(w)
    f(2.0)
    w = 9 * w
    return f(2.0) + 10 * g(3.0) + w


def two_deep(x):
    def outer(w):
        def middle(v):
            def inner(h):
                return w * v * h

            return inner

        return middle

    w = x
    m = outer(w)
    w = 2 * w
    v = w
    i = m(v)
    v = 100 * v
    return i(1.0) + w + v


def lazily(x):
    def each(w):
        return (w * h for h in (1.0, 2.0))

    def mapped(w):
        return map(lambda h: w * h, [1.0, 2.0])

    w = x
    one, two = each(w), mapped(w)
    w = 3 * w
    return sum(one) + sum(two) * w


def late_binding(x):  # the other way round: no call stands between the function and the name
    w = x
    f = lambda h: w * h  # noqa: E731
    w = 2 * w
    return f(1.0) + w


PROGRAMS = [
    rebound, in_a_branch, swapped, bound_early, of_objects, composed, segments, by_keywords, by_positions, with_state, two_deep, lazily, late_binding,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("jit", [False, True])
def test_functions_keep_the_arguments_of_the_call_that_made_them(program, jit):
    assert stgrad.value_and_grad(program, jit=jit)(0.7)[0] == pytest.approx(program(0.7), rel=1e-14)
    check_gradient(program, (0.7,), jit=jit)
