"""`with`: context managers written in Python, read around their bodies."""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from contextlib import contextmanager, nullcontext, suppress

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

W, X = 0.7, np.array([0.3, 0.6, 0.95, 0.2])


class Scale:
    def __init__(self, k):
        self.k, self.entered = k, 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, value, traceback):
        self.k = 1.0
        return False


class Depth:
    def __init__(self):
        self.items = []

    def __enter__(self):
        self.items.append(1.0)
        return self

    def __exit__(self, *_):
        self.items.pop()

    def use(self, v):
        return v * len(self.items)


@contextmanager
def scaled(s, k):
    old = s.k
    s.k = k
    try:
        yield s
    finally:
        s.k = old


@contextmanager
def replaced(x, i, v):
    old = x[i]
    x[i] = v
    yield x
    x[i] = old


class Param:
    def __init__(self, x):
        self.x = x

    @contextmanager
    def moved(self, i, by):
        self.x[i] += by
        try:
            yield self.x
        finally:
            self.x[i] -= by


def what_exit_changes(w, x):
    s = Scale(2.0)
    with s as u:
        y = w * u.k * np.sum(x)
    return y * s.k + s.entered * w


def left_by_jumps(w, x):
    for i in range(3):
        with Scale(2.0 + i) as u:
            if x[i] > 100:
                break
            if x[i] > 0.5:
                continue
            w = w * u.k
    return w * np.sum(x)


def left_by_return(w, x):
    with Scale(3.0) as u:
        return w * u.k * np.sum(x)


def a_generator(w, x):
    s = Scale(2.0)
    with scaled(s, 5.0 * w) as t:
        y = w * t.k * np.sum(x)
    return y * s.k


def a_generator_left_by_return(w, x):
    s = Scale(2.0)
    y = 0.0
    for i in range(len(x)):
        with scaled(s, x[i]) as t:
            if x[i] > 0.9:
                return y * s.k
            y += w * t.k**2
    return y * s.k


def an_array_put_back(w, x):
    x = x.copy()
    with replaced(x, 0, w) as z:
        y = np.sum(z**2)
    return y + x[0]


def central_difference(w, x):
    p = Param(x.copy())
    with p.moved(0, w) as z:
        up = np.sum(np.sin(z))
    with p.moved(0, -w) as z:
        down = np.sum(np.sin(z))
    return up - down


def suppressed(w, x):
    y = w
    with suppress(ZeroDivisionError, ValueError):
        y = w / 0.0 if x[0] > 0.0 else w * 2
        y = y * 3
    return y * y


def several(w, x):
    with nullcontext(w * 2) as z, Scale(4.0) as u, np.errstate(all="ignore"):
        return z * u.k


def a_local_one(w, x):
    @contextlib.contextmanager
    def three():
        yield w * 3

    with three() as q:
        return q * x[0]


def nested(w, x):
    d = Depth()
    with d as s:
        with d:
            y = s.use(w * x[0])
    return y + s.use(w) + len(d.items) * w


def in_a_while(w, x):
    s, y = Depth(), w
    while y < 20:
        with s as t:
            y = y * 2 + t.use(x[0])
            if y > 10:
                return y * w
    return y


def either(w, x):
    @contextmanager
    def one(c):
        if c > 0:
            yield w
        else:
            yield w * w

    with one(x[0]) as a, one(-x[0]) as b:
        return 3 * a + b


def items(x):
    try:
        for i in range(len(x)):
            yield x[i]
    finally:
        x[0] = 0.0


def a_finally_behind_all_items(w, x):
    x, s = x.copy(), 0.0
    for v in items(x):
        s += w * v
    return s + x[0]


def decorated(w, x):
    def twice(f):
        @functools.wraps(f)
        def g(*a):
            return 2 * f(*a)

        return g

    @twice
    def h(a):
        return a * w

    return h(x[0])


def settings(w, x):
    old = np.seterr(all="ignore")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = w * np.sum(np.where(x > 0.5, 1 / x, 0.0))
    np.seterr(**old)
    return y


TAKEN = [
    what_exit_changes, left_by_jumps, left_by_return, a_generator, a_generator_left_by_return, an_array_put_back, central_difference, suppressed,
    several, a_local_one, nested, in_a_while, either, a_finally_behind_all_items, decorated, settings,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_taken(function, jit):
    check_gradient(function, (W, X), jit=jit)


# --------------------------------------------------------------------------- refused


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return kind is ValueError


def swallows(w, x):
    with Swallows():
        return w * x[0]


def no_manager(w, x):
    with w:
        return w


def an_early_end(w, x):
    x, s = x.copy(), 0.0
    for v in items(x):
        if v > 0.9:
            break
        s += w * v
    return s + x[0]


def yields_twice(w, x):
    @contextmanager
    def two():
        yield w
        yield w

    with two() as a:
        return a


def yields_in_a_loop(w, x):
    @contextmanager
    def some():
        for _ in range(1):
            yield w

    with some() as a:
        return a


def caught_outside(w, x):
    d = Depth()
    try:
        with d:
            y = 1.0 / (w - 0.7)
    except ZeroDivisionError:
        y = w * len(d.items)
    return y


def raised_divisions(w, x):
    with np.errstate(divide="raise"):
        try:
            y = w * np.sum(1 / (x - x[0]))
        except FloatingPointError:
            y = w * 2
    return y


def raised_warnings(w, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            y = w * np.sum(1 / (x - x[0]))
        except RuntimeWarning:
            y = w * 2
    return y


def own_suppress(w, x):
    def suppress(*kinds):
        return nullcontext()

    with suppress(ValueError):
        w = 2 * w
    return w


REFUSED = {
    no_manager: "what is no context manager",
    an_early_end: "may leave the generator `items` inside its `try`",
    yields_twice: "`two` does not yield once",
    yields_in_a_loop: "`some` does not yield once",
    caught_outside: "a `finally` whose exception a `try` around it catches",
    raised_divisions: "floating-point errors that are raised",
    raised_warnings: "warnings that are raised",
    own_suppress: "called `suppress`",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(errors.UnsupportedSyntaxError, match=REFUSED[function]) as caught:
        stgrad.grad(function, (0, 1), jit=False)(W, X)
    assert caught.value.loc is not None


class Forgives:
    """What becomes of an exception is for `__exit__` to say."""

    def __enter__(self):
        self.left = 0
        return self

    def __exit__(self, kind, raised, traceback):
        self.left += 1
        return kind is not None and issubclass(kind, (ValueError, ZeroDivisionError))


def forgiven(x):
    with Forgives() as f:
        if x > 1:
            raise ValueError("a")
        x = x * 2.0
    return x * f.left


def forgiven_division(x):
    with Forgives() as f:
        x = x / (0.0 if x > 1 else 2.0)
    return x * f.left


def returned_within(x):
    with Forgives():
        return x * 2.0
    return x


def jumps_within(x):
    for i in range(3):
        with Forgives() as f:
            if i == 1:
                continue
            if x > 1 and i == 2:
                raise ValueError
            x = x * 2.0
    return x + f.left


def forgiven_root(x):
    with Forgives():
        return math.sqrt(x - 1.0)
    return x * 7.0


@pytest.mark.parametrize("x", [1.5, 0.4])
@pytest.mark.parametrize("f", [forgiven, forgiven_division, returned_within, jumps_within, forgiven_root], ids=lambda f: f.__name__)
def test_managers_that_swallow(f, x):
    check_gradient(f, (x,))


def test_what_is_not_forgiven():
    def f(x):
        with Forgives():
            if x > 1:
                raise KeyError("k")
            x = x * 3.0
        return x

    assert stgrad.grad(f)(0.5) == 3.0
    with pytest.raises(KeyError):
        stgrad.grad(f)(1.5)


def test_swallowed_positions():
    with pytest.raises(IndexError):
        stgrad.grad(swallows)(2.0, np.zeros(0))
    assert stgrad.grad(swallows)(2.0, np.ones(1)) == 1.0
