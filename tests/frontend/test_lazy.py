"""Generator expressions, `map` and `filter` compute items when they are asked for; a `finally` runs before a handler outside of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

W, X = 0.7, np.array([0.3, 0.6, 0.95, 0.2, 1.3])


def names_mean_what_they_mean_then(w, x):
    g = (v * w for v in x)
    w = w * 2
    return sum(g)


def arrays_are_read_then(w, x):
    x = x.copy()
    g = (v * w for v in x)
    x[0] = 9 * w
    return sum(g)


def lists_are_read_then(w, x):
    l = [w, x[0]]
    g = (v * w for v in l)
    l.append(5 * w)
    return sum(g)


def a_loop_leaves_the_rest(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v
    for u in (t(v) for v in [1.0, 2.0, 3.0]):
        if u > 1.5:
            break
    return sum(log)


def map_waits(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v
    m = map(t, [1.0, 2.0, 3.0])
    n = len(log)
    return sum(m) * w * (n + 1) + sum(log)


def conditions_in_order(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v > 1.5
    r = [v for v in [1.0, 2.0] if t(v) and t(v)]
    return sum(log) * len(r)


def given_to_a_function(w, x):

    def f(g):
        return sum(g)
    y = f(v * w for v in x)
    w = 3 * w
    return y * w


def taken_by_a_function_that_changes_things(w, x):

    def f(g, s):
        s[0] = 5.0
        return sum(g)
    s = [w]
    return f((v * s[0] for v in x), s)


def map_of_what_changes(w, x):
    m = map(lambda v: v * w, x)
    w = 2 * w
    return sum(m)


def filter_of_what_changes(w, x):
    f = filter(lambda v: v > w, x)
    w = w - 0.3
    return sum(f) * w


def zip_keeps_its_array(w, x):
    z = zip(x, [w] * 5)
    x = x * 2
    return sum((a * b for a, b in z))


def zip_of_a_view(w, x):
    x = x.copy()
    z = zip(x, x[1:])
    x[0] = w * 9
    return sum((a * b for a, b in z))


def two_loops(w, x):
    g = ((v, u) for v in [w, x[0]] for u in [1.0, 2.0])
    return sum((a * b for a, b in g))


def first_iterable_now(w, x):
    s = 0.0

    def it():
        nonlocal s
        s += w
        return [1.0, 2.0]
    g = (v for v in it())
    a = s
    return sum(g) * a


def counted(w, x):
    c = [0]

    def t(v):
        c[0] += 1
        return v < 0.9
    n = sum(1 for v in x if t(v))
    return w * n * c[0]


def a_chain_stops(w, x):
    c = [0.0]

    def t(v):
        c[0] += w
        return v
    return (0.1 < t(x[0]) < t(x[1]) < t(x[3]) < t(2.0)) * w + c[0]


def finally_before_the_handler_outside(w, x):
    try:
        y = w
        try:
            raise KeyError("a")
        finally:
            y = y * 2
    except KeyError:
        y = y * 3
    return y * x[0]


def finally_of_a_missing_key(w, x):
    y = w
    try:
        try:
            y = {}["a"]
        except IndexError:
            y = 0
        finally:
            y = y * 5
    except KeyError:
        y = y + x[0]
    return y * y


def finally_behind_a_handler(w, x):
    class_ = [w]

    def f():
        try:
            raise ValueError("a")
        except ValueError:
            raise KeyError("b")
        finally:
            class_.append(2 * w)
    try:
        f()
    except KeyError:
        pass
    return sum(class_) * x[0]


def refused_g5(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v
    y = next(t(v) for v in [1.0, 2.0, 3.0] if v > 1.5)
    return sum(log) * y


def refused_g6(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v
    z = list(zip((t(v) for v in [1.0, 2.0, 3.0]), (t(v * 10) for v in [4.0, 5.0])))
    return sum(((i + 1) * v for i, v in enumerate(log))) * len(z)


def refused_g8(w, x):
    log = []

    def t(v):
        log.append(v * w)
        return v > 1.5
    return any(map(t, [1.0, 2.0, 3.0])) * w + sum(log)


def refused_g21(w, x):
    c = [0.0]

    def t(v):
        c[0] += w
        return v < 0.5
    ok = all(t(v) for v in x)
    return c[0] * (2.0 if ok else 1.0)


def refused_h2(w, x):

    def f(c):
        try:
            if c > 0.1:
                raise ValueError("u")
            return w
        finally:
            l.append(w)
    l = []
    y = x[0]
    try:
        y = f(w)
    except ValueError:
        y = y * len(l) + sum(l)
    return y


def refused_h6(w, x):
    y = w
    for v in x:
        try:
            try:
                if v > 0.9:
                    raise ValueError("a")
                y = y * 2
            finally:
                y = y + v
        except ValueError:
            y = y * 7
    return y

TAKEN = [
    names_mean_what_they_mean_then,
    arrays_are_read_then,
    lists_are_read_then,
    a_loop_leaves_the_rest,
    map_waits,
    conditions_in_order,
    given_to_a_function,
    taken_by_a_function_that_changes_things,
    map_of_what_changes,
    filter_of_what_changes,
    zip_keeps_its_array,
    zip_of_a_view,
    two_loops,
    first_iterable_now,
    counted,
    a_chain_stops,
    finally_before_the_handler_outside,
    finally_of_a_missing_key,
    finally_behind_a_handler,
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_taken(function, jit):
    check_gradient(function, (W, X), jit=jit)


REFUSED = {
    refused_g5: "`next` may leave items",
    refused_g6: "`zip` may leave items",
    refused_g8: "`any` may leave items",
    refused_g21: "`all` may leave items",
    refused_h2: "a `finally` whose exception",
    refused_h6: "a `finally` whose exception",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(errors.UnsupportedSyntaxError, match=REFUSED[function]) as caught:
        stgrad.grad(function, (0, 1), jit=False)(W, X)
    assert caught.value.loc is not None


def test_what_changes_nothing_may_be_computed_in_vain():
    def asked(w, x):
        some = any(v > 0.9 for v in x) and all(v * w > 0.0 for v in x)
        first = next(v for v in x if v > 0.5)
        return w * first if some else w

    check_gradient(asked, (W, X))


# ----------------------------------------------------------------- functions that change something


def logging(w):
    log = []

    def t(v):
        log.append(v * w)
        return v

    return log, t


def zip_asks_the_first_before_the_second_ends(w, x):
    log, t = logging(w)
    y = list(zip(map(t, [1.0, 2.0, 3.0]), [1, 2]))
    return sum(log) * len(y)


def zip_ends_before_it_asks_the_second(w, x):
    log, t = logging(w)
    y = list(zip([1, 2], map(t, [1.0, 2.0, 3.0])))
    return sum(log) * len(y)


def zip_of_arrays_ends_at_run_time(w, x):
    log, t = logging(w)
    s = 0.0
    for a, b in zip(map(t, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), x):
        s += a * b
    return sum(log) * s


def each_item_of_a_map_once(w, x):
    log, t = logging(w)
    s = 0.0
    for v in map(t, [1.0, 2.0, 3.0]):
        s += sum(log) * v
    return s + sum(log)


def items_of_starmap(w, x):
    log, t = logging(w)
    y = itertools.starmap(lambda a, b: t(a * b), [(1.0, 2.0), (3.0, 4.0)])
    n = len(log)
    return sum(y) * w * (n + 1)


def taken_while(w, x):
    log, t = logging(w)
    y = list(itertools.takewhile(lambda v: t(v) < 2.5, [1.0, 2.0, 3.0, 4.0]))
    return sum(log) * sum(y)


def dropped_while(w, x):
    log, t = logging(w)
    y = list(itertools.dropwhile(lambda v: t(v) < 1.5, [1.0, 2.0, 3.0, 4.0]))
    return sum(log) * sum(y)


def generators_in_a_dict(w, x):
    d = {k: (k * w for _ in range(2)) for k in (1, 2, 3)}
    return sum(sum(g) for g in d.values()) * x[0]


def a_condition_that_logs(w, x):
    log, t = logging(w)
    s = 0.0
    while t(s) < 2.0:
        s += 1.0
    return sum(log) + w * s


def a_condition_that_adds_to_a_list(w, x):
    c = [0.0]

    def t(v):
        c[0] += w
        return v
    s = w
    while t(s) < 2:
        s += w
    return c[0] * s


def a_condition_that_shortens_a_list(w, x):
    l = [x[0], x[1], x[2], w]
    s = 0.0
    while l.pop() > 0.5:
        s += w
    return s * len(l) * w


def a_condition_that_writes_to_an_array(w, x):
    y = x.copy()

    def bump():
        y[0] += w
        return y[0]
    n = 0.0
    while bump() < 3:
        n += w
    return y[0] * n


def a_condition_that_changes_and_a_break(w, x):
    l = [x[0], x[1], x[2], w, 2.0 * w]
    s = 0.0
    while l.pop() > 0.5:
        if len(l) == 2:
            break
        s += w * len(l)
    else:
        s += l[0]
    return s * len(l)


CHANGING = [
    zip_asks_the_first_before_the_second_ends,
    zip_ends_before_it_asks_the_second,
    zip_of_arrays_ends_at_run_time,
    each_item_of_a_map_once,
    items_of_starmap,
    taken_while,
    dropped_while,
    generators_in_a_dict,
    a_condition_that_logs,
    a_condition_that_adds_to_a_list,
    a_condition_that_shortens_a_list,
    a_condition_that_writes_to_an_array,
    a_condition_that_changes_and_a_break,
]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", CHANGING, ids=lambda f: f.__name__)
def test_functions_that_change_something(function, jit):
    check_gradient(function, (W, X), jit=jit)


def refused_next_of_a_map(w, x):
    log, t = logging(w)
    m = map(t, [1.0, 2.0, 3.0])
    a = next(m)
    b = next(m)
    return sum(log) * a * b


def refused_next_of_a_filter(w, x):
    log, t = logging(w)
    f = filter(lambda v: t(v) > 1.5, [1.0, 2.0, 3.0])
    a = next(f)
    return a * sum(log)


@pytest.mark.parametrize("function", [refused_next_of_a_map, refused_next_of_a_filter], ids=lambda f: f.__name__)
def test_refused_where_items_are_made_at_once(function):
    with pytest.raises(errors.UnsupportedSyntaxError, match="may leave items"):
        stgrad.grad(function, (0, 1), jit=False)(W, X)
