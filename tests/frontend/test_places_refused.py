"""Lists, dicts and objects in lists of run-time length: changes that would not be seen are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.7, -1.2, 0.4, 1.9])


@dataclass
class P:
    v: Any
    w: Any = 0.0


class Ball:
    def __init__(self, p: Any, v: Any) -> None:
        self.p, self.v = p, v

    def move(self, dt: float) -> None:
        self.p = self.p + dt * self.v

    def kick(self, a: Any) -> None:
        self.v += a


class Node:
    def __init__(self, v: Any) -> None:
        self.v, self.g = v, 0.0

    def bump(self, d: Any) -> None:
        self.v = self.v + d


def one_object_often(x: Any) -> Any:
    objs = []
    o = P(0.0)
    for i in range(len(x)):
        o.v = x[i]
        objs.append(o)
    return sum(p.v for p in objs)


def one_list_often(x: Any) -> Any:
    rows = []
    row = [0.0, 1.0]
    for i in range(len(x)):
        row[0] = x[i]
        rows.append(row)
    return sum(r[0] * r[1] for r in rows)


def one_dict_often(x: Any) -> Any:
    st = {'p': x[0], 'q': x[1]}
    hist = []
    for i in range(3):
        st['p'] = st['p'] * 0.5
        hist.append(st)
    return sum(h['p'] * h['q'] for h in hist)


def item_grows(x: Any) -> Any:
    rows = []
    for v in x:
        rows.append([])
        rows[-1].append(v)
        rows[-1].append(v * v)
    return sum(r[0] * r[1] for r in rows)


def row_grows_behind_append(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        row = []
        rows.append(row)
        for j in range(len(x)):
            row.append(x[i] * x[j])
    return sum(r[0] * r[1] for r in rows)


def best_of_several(x: Any) -> Any:
    pts = [[v, v * v] for v in x]
    best = pts[0]
    for p in pts:
        if p[0] > best[0]:
            best = p
    best[1] = 0.0
    return sum(p[0] * p[1] for p in pts)


def put_in_twice(x: Any) -> Any:
    ns = [Node(v) for v in x]
    last = ns[-1]
    ns.append(last)
    last.bump(2.0)
    return sum(n.v ** 2 for n in ns)


def put_in_on_one_path(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    r = [x[0], x[1]]
    if x[0] > 0:
        rows.append(r)
    r[0] = 9.0
    return sum(r[0] * r[1] for r in rows)


def replaced_and_changed(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    r = rows[0]
    rows[0] = [x[1], x[2]]
    r[0] = 3.0
    return r[0] * rows[0][1] + rows[0][0]


def popped_and_changed(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    a = rows[-1]
    rows.pop()
    a[0] = 3.0
    rows.append([x[0], x[1]])
    return sum(r[0] * r[1] for r in rows)


def copy_of_the_list(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    other = list(rows)
    other[0][0] = 4.0
    return sum(r[0] * r[1] for r in rows)


def part_of_the_list(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    other = rows[1:]
    other[0][0] = 4.0
    return sum(r[0] * r[1] for r in rows)


def chosen_items(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    other = [r for r in rows if r[0] > 0]
    other[0][0] = 4.0
    return sum(r[0] * r[1] for r in rows)


def sum_of_lists(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    other = rows + [[x[0], x[1]]]
    rows[0][0] = 4.0
    return sum(r[0] * r[1] for r in other)


def extended(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    a = []
    a.extend(rows)
    a[0][1] = x[1]
    return sum(r[0] * r[1] for r in rows)


def old_part_changed(x: Any) -> Any:
    ps = [Ball([v, v * v], 0.0) for v in x]
    old = ps[0].p
    ps[0].p = [x[0], x[1]]
    old[0] = 100.0
    return sum(p.p[0] * 2 + p.p[1] for p in ps)


def carried_name_changed(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    a = rows[0]
    for i in range(len(x)):
        a[0] += 1.0
        a = rows[i]
    return sum(r[0] * r[1] for r in rows)


def new_key(x: Any) -> Any:
    recs = []
    for v in x:
        recs.append({'v': v})
    for k in range(len(recs) - 1):
        recs[k]['g'] = recs[k + 1]['v'] - recs[k]['v']
    return sum(r['v'] ** 2 for r in recs)


def row_written_behind_append(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[i] * x[j])
        rows.append(row)
        row[0] = 5.0
    return sum(r[0] * r[1] for r in rows)


def item_put_in_again(x: Any) -> Any:
    n = len(x)
    rows = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    rows[0] = rows[1]
    rows[0][2] = 1.0
    return rows[1][2] * x[0]


def name_kept_over_exchange(x: Any) -> Any:
    ps = [P(v, v * v) for v in x]
    a = ps[0]
    ps[0], ps[1] = (ps[1], ps[0])
    a.w = 10.0
    return sum(((k + 1) * p.v * p.w for k, p in enumerate(ps)))


REFUSED = [
    one_object_often,
    one_list_often,
    one_dict_often,
    item_grows,
    row_grows_behind_append,
    best_of_several,
    put_in_on_one_path,
    chosen_items,
    new_key,
]
RIGHT = [
    put_in_twice, replaced_and_changed, popped_and_changed, copy_of_the_list, part_of_the_list, sum_of_lists,
    extended, old_part_changed, carried_name_changed, row_written_behind_append, item_put_in_again, name_kept_over_exchange,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_what_cannot_be_compiled_is_refused(function: Any) -> None:
    with pytest.raises((errors.AliasingError, errors.UnsupportedSyntaxError)) as caught:
        stgrad.grad(function, jit=False)(X.copy())
    assert caught.value.loc is not None


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", RIGHT)
def test_what_can_with_the_extents_compiled_in(function: Any, jit: bool) -> None:
    check_gradient(function, (X,), 1 if jit else 2, jit=jit)
    with pytest.raises((errors.AliasingError, errors.UnsupportedSyntaxError)):
        stgrad.grad(function, jit=jit)(np.linspace(0.1, 1.0, 70))


@pytest.mark.filterwarnings("ignore::stgrad.errors.RunsPlainlyWarning")
@pytest.mark.parametrize("function", [*REFUSED, *RIGHT])
def test_plain_python_records_it(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    value, _ = stgrad.value_and_grad(function, jit=False)(X.copy())
    assert value == pytest.approx(float(function(X.copy())))
