"""Arrays without axes: what changes one in place is seen by all its names, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.7, -1.2, 0.4, 1.9])


def changed_under_another_name(x: Any) -> Any:
    a = np.array(x[0])
    b = a
    b += 2.0
    return a * x[1]


def of_zeros(x: Any) -> Any:
    a = np.zeros(())
    b = a
    b[...] = x[0] * x[0]
    return a * 1.0


def in_a_list(x: Any) -> Any:
    a = np.asarray(x[0] * 2.0)
    l = [a]
    l[0] += 1.0
    return a * x[2]


def of_where(x: Any) -> Any:
    a = np.where(x[0] > 0, x[0], 0.0)
    b = a
    a += x[1]
    return b * 2.0


def of_a_sum(x: Any) -> Any:
    a = x.sum(keepdims=False)
    b = a
    b += 1.0
    return a * b


def added_up_under_another_name(x: Any) -> Any:
    a = np.array(3.0)
    for i in range(len(x)):
        b = a
        b += x[i]
    return a * a


def changed_by_a_helper(x: Any) -> Any:
    s = np.array(0.0)

    def add(acc, v):
        acc += v * v
    for v in x:
        add(s, v)
    return s * 1.0


def number_taken_out(x: Any) -> Any:
    s = np.array(0.0)
    t = s[()]
    s += x[0]
    return t + s * x[1]


def out_argument(x: Any) -> Any:
    s = np.full((), 2.0)
    np.multiply(s, x[1], out=s)
    return s * x[0]


def twice_in_a_list(x: Any) -> Any:
    a = np.array(x[0])
    xs = [a, a]
    xs[0] *= 2.0
    return xs[1] + xs[0]


def in_a_dict(x: Any) -> Any:
    a = np.array(x[0])
    d = {'k': a}
    a += x[1]
    return d['k'] * 2


def copies(x: Any) -> Any:
    a = np.array(x[0])
    b = np.array(a)
    b += 1
    c = np.asarray(a)
    c += 2
    d = np.array(a, copy=False) if False else a.copy()
    d += 10
    return a * b * d


def compared(x: Any) -> Any:
    a = np.array(x[0])
    if a > 0:
        a -= 0.5
    return a * a


def number_of_numpy(x: Any) -> Any:
    a = np.float64(2.0)
    b = a
    b += x[0]
    return a * b


def dots_in_a_loop(x: Any) -> Any:
    y = np.zeros(4)
    for i in range(1, 4):
        y[i, ...] = y[i - 1, ...] * 0.5 + x[i, ...]
    return y.sum()


def dots_read(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        v = x[i, ...]
        s += v * v
    return s


def item_read_before_a_write(x: Any) -> Any:
    y = x * 2.0
    a = y[0]
    y[0] = 5.0
    return a * x[1]


def sums_and_products(x: Any) -> Any:
    e = np.array(0.0)
    f = np.array(1.0)
    for v in x:
        e += v * v
        f *= v
    return e * f


def closure_that_adds(x: Any) -> Any:
    tot = np.zeros(())

    def add(v):
        tot[()] += v
    for v in x:
        add(v * v)
    return tot * tot


def entry_of_a_dict(x: Any) -> Any:
    d = {'t': np.array(0.0)}
    for v in x:
        d['t'] += v * v
    return d['t'] * d['t']


def running_maximum(x: Any) -> Any:
    m = np.array(-np.inf)
    for v in x:
        np.maximum(m, v, out=m)
    return m * x[0]


def integer(x: Any) -> Any:
    a = np.array(1)
    a += 2
    return a * x[0]


def three_of_a_list(x: Any) -> Any:
    lst = [np.array(0.0) for _ in range(3)]
    lst[0] += x[0]
    lst[1] += x[1]
    return lst[0] * lst[1] + lst[2]


def one_three_times(x: Any) -> Any:
    lst = [np.array(0.0)] * 3
    lst[0] += x[0]
    lst[1] += x[1]
    return lst[0] * lst[2]


def made_on_either_path(x: Any) -> Any:
    if x[0] > 0:
        a = np.array(1.0)
    else:
        a = np.array(2.0)
    a += x[1]
    return a * a


def of_a_reduction(x: Any) -> Any:
    a = np.zeros(2)
    b = a.sum()
    b += x[0]
    c = b
    c += 1
    return b * c


def copied(x: Any) -> Any:
    v = np.copy(x[0])
    w = v
    w += x[1]
    return v * w


def copy_of_a_scalar(x: Any) -> Any:
    v = x[0].copy()
    w = v
    w += x[1]
    return v * w


def full_like(x: Any) -> Any:
    v = np.full_like(x[0], 2.0)
    w = v
    w += x[1]
    return v * w


def select(x: Any) -> Any:
    v = np.select([x[0] > 0], [x[0]], 0.0)
    w = v
    w += x[1]
    return v * w


def nan_to_num(x: Any) -> Any:
    v = np.nan_to_num(x[0])
    w = v
    w += x[1]
    return v * w


def filled(x: Any) -> Any:
    v = np.array(x[0])
    v[...] = x[1]
    v.fill(x[2] * 2)
    return v * x[0]


def copied_to(x: Any) -> Any:
    v = np.array(x[0])
    np.copyto(v, x[1])
    return v * x[0]


def transposed(x: Any) -> Any:
    v = np.array(x[0])
    w = v.T
    w += 1
    return v * x[0]


def real_part(x: Any) -> Any:
    v = np.array(x[0])
    w = v.real
    w += 1
    return v * x[0]


def cast(x: Any) -> Any:
    v = np.array(x[0])
    w = v.astype(float)
    w += 1
    return v * w


def cast_without_copy(x: Any) -> Any:
    v = np.array(x[0])
    w = v.astype(float, copy=False)
    w += 1
    return v * w


def viewed(x: Any) -> Any:
    v = np.array(x[0])
    w = v.view()
    w += 1
    return v * w


def empty_index(x: Any) -> Any:
    v = np.array(x[0])
    w = v[()]
    v += 1
    return v * w


def dots_as_a_name(x: Any) -> Any:
    v = np.array(x[0])
    w = v[...]
    v += 1
    return v * w


def taken(x: Any) -> Any:
    v = np.take(x, 1)
    w = v
    w += 1
    return v * w


RIGHT = [
    changed_under_another_name,
    of_zeros,
    in_a_list,
    of_where,
    of_a_sum,
    added_up_under_another_name,
    changed_by_a_helper,
    number_taken_out,
    out_argument,
    twice_in_a_list,
    in_a_dict,
    copies,
    compared,
    number_of_numpy,
    dots_in_a_loop,
    dots_read,
    item_read_before_a_write,
    sums_and_products,
    closure_that_adds,
    entry_of_a_dict,
    running_maximum,
    integer,
    three_of_a_list,
    one_three_times,
    made_on_either_path,
    of_a_reduction,
    copied,
    copy_of_a_scalar,
    full_like,
    select,
    nan_to_num,
    filled,
    copied_to,
    transposed,
    real_part,
    cast,
    cast_without_copy,
    viewed,
    empty_index,
    dots_as_a_name,
    taken,
]


@pytest.mark.parametrize("function", RIGHT)
@pytest.mark.parametrize("jit", [False, True])
def test_every_name_sees_a_change(function: Any, jit: bool) -> None:
    value, _ = stgrad.value_and_grad(function, jit=jit)(X.copy())
    assert value == pytest.approx(float(function(X.copy())))
    check_gradient(function, (X.copy(),), jit=jit, order=1)
