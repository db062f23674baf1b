"""Lists, dicts and objects in lists of run-time length: a change is seen by every name that means the object, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

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


def items_in_a_loop(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        rows.append([x[i], 1.0])
    for r in rows:
        r[1] = r[0] * 2
    return sum(r[0] * r[1] for r in rows)


def item_at_an_index(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        rows.append([x[i], 1.0])
    rows[1][1] = x[0]
    return sum(r[0] * r[1] for r in rows)


def objects_in_a_loop(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        rows.append(P(x[i], 1.0))
    for r in rows:
        r.w = r.v * 2
    return sum(r.v * r.w for r in rows)


def objects_at_indices(x: Any) -> Any:
    rows = [P(v, 1.0) for v in x]
    for i in range(1, len(rows)):
        rows[i].v += rows[i - 1].v
        rows[i].w = rows[i].v
    return sum(r.v * r.w for r in rows)


def dicts_at_indices(x: Any) -> Any:
    rows = [{'a': v, 'b': 1.0} for v in x]
    for i in range(1, len(rows)):
        rows[i]['b'] += rows[i - 1]['a']
    return sum(r['a'] * r['b'] for r in rows)


def table_of_short_rows(x: Any) -> Any:
    n = len(x)
    dp = [[0.0] * 4 for _ in range(n)]
    for i in range(1, n):
        for j in range(1, 4):
            dp[i][j] = dp[i - 1][j] + dp[i][j - 1] * x[i] + 1.0
    return dp[-1][-1]


def exchanged_items(x: Any) -> Any:
    pts = [[v, v * v] for v in x]
    pts[0], pts[1] = (pts[1], pts[0])
    pts[0][0] = 3.0
    return sum(p[0] * p[1] for p in pts)


def list_in_a_tuple(x: Any) -> Any:
    pts = [(v, [v * v]) for v in x]
    for a, b in pts:
        b[0] += a
    return sum(p[0] * p[1][0] for p in pts)


def method_that_changes(x: Any) -> Any:
    ns = [Node(v) for v in x]
    for n in ns:
        n.bump(x[0])
    return sum(n.v ** 2 for n in ns)


def changed_behind_append(x: Any) -> Any:
    ns = []
    for v in x:
        n = Node(v)
        ns.append(n)
        n.bump(1.0)
    return sum(n.v ** 2 for n in ns)


def changed_list_behind_append(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        row = [x[i], 1.0]
        rows.append(row)
        row[1] = x[i]
    return sum(r[0] * r[1] for r in rows)


def unpacked_list_is_the_list(x: Any) -> Any:
    rows = [[x[0], x[1]], [x[2], x[3]]]
    r, s = rows
    r[0] = 5.0
    return rows[0][0] * rows[1][0]


def unpacked_names(x: Any) -> Any:
    a = [x[0]]
    b = [x[1]]
    c, d = (a, b)
    c[0] = x[2] * x[2]
    d.append(x[3])
    return a[0] * b[1]


def unpacked_dict(x: Any) -> Any:
    d = {'k': x[0]}
    (e, f), g = ((d, x[1]), d)
    e['k'] = f * f
    return g['k'] * x[0]


def particles(x: Any) -> Any:
    bs = [Ball(v, 0.1) for v in x]
    for step in range(3):
        for b in bs:
            b.kick(-b.p * 0.1)
        for b in bs:
            b.move(0.5)
    return sum(b.p ** 2 for b in bs)


def pairs_of_particles(x: Any) -> Any:
    bs = [Ball(v, 0.1) for v in x]
    n = len(bs)
    for step in range(2):
        for i in range(n):
            for j in range(i + 1, n):
                f = bs[i].p - bs[j].p
                bs[i].v -= 0.1 * f
                bs[j].v += 0.1 * f
        for b in bs:
            b.p += b.v
    return sum(b.p ** 2 for b in bs)


def two_names(x: Any) -> Any:
    bs = [Ball(v, 0.1) for v in x]
    a = bs[0]
    b = bs[0]
    a.v = 3.0
    return b.v * x[0] + bs[0].v * b.p


def name_and_index(x: Any) -> Any:
    bs = [Ball(v, 0.1) for v in x]
    a = bs[1]
    for i in range(len(x)):
        bs[i].v = x[i] * x[i]
    return a.v * x[0]


def name_that_may_be_the_item(x: Any) -> Any:
    bs = [Ball(v, 0.1) for v in x]
    a = bs[1]
    for i in range(len(x)):
        b = bs[i]
        a.v += b.p
        b.v *= 2.0
    return a.v * x[0] + bs[1].v


def argument_evaluated_earlier(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]

    def bump(r):
        r[0] = r[0] * 2
        return r[0]

    def comb(a, b):
        return a[0] * b
    return comb(rows[0], bump(rows[0]))


def operand_evaluated_earlier(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]

    def bump(r):
        r[0] = r[0] * 2
        return r[0]
    return rows[1][0] * bump(rows[1]) + rows[1][0]


def changed_in_a_branch(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    for r in rows:
        if r[0] > 0.5:
            r[1] = r[0]
        else:
            r[0] *= 2.0
    return sum(r[0] * r[1] for r in rows)


def name_changed_in_a_branch(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    r = rows[1]
    if x[0] > 0:
        r[1] = 3.0 * x[2]
    return sum(r[0] * r[1] for r in rows)


def replaced_item_keeps_its_name(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    r = rows[0]
    rows[0] = [x[1], x[2]]
    return r[0] * rows[0][1]


def copies_of_rows(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    other = [list(r) for r in rows]
    rows[0][0] = 4.0
    return sum(r[0] * r[1] for r in other) + rows[0][0]


def part_replaced(x: Any) -> Any:
    ps = [Ball([v, v * v], 0.0) for v in x]
    for p in ps:
        p.p = [p.p[1], p.p[0]]
    ps[0].p[0] = x[1]
    return sum(p.p[0] * 2 + p.p[1] for p in ps)


def array_attributes(x: Any) -> Any:
    ps = [Ball(np.array([v, v * v]), np.zeros(2)) for v in x]
    for p in ps:
        p.v[:] = p.p * 0.5
        p.p += p.v
    return sum((p.p ** 2).sum() for p in ps)


def carried_name(x: Any) -> Any:
    rows = [[v, 1.0] for v in x]
    prev = rows[0]
    for i in range(1, len(x)):
        cur = rows[i]
        cur[0] += prev[0]
        prev = cur
    return sum(r[0] * r[1] for r in rows)


def dicts_that_see_neighbours(x: Any) -> Any:
    recs = []
    for v in x:
        recs.append({'v': v, 'g': 0.0})
    for k in range(len(recs) - 1):
        recs[k]['g'] = recs[k + 1]['v'] - recs[k]['v']
    return sum(r['g'] ** 2 for r in recs)


def optional_in_a_list(x: Any) -> Any:
    lst = [None, x[0]]
    if x[1] < 0:
        lst[0] = x[2]
    lst[1] = 5.0 * x[3]
    return lst[1] + lst[0]


def exchanged_objects(x: Any) -> Any:
    ps = [P(v, v * v) for v in x]
    i = 0
    j = len(x) - 1
    while i < j:
        ps[i], ps[j] = (ps[j], ps[i])
        ps[i].w += ps[j].v
        i += 1
        j -= 1
    return sum(((k + 1) * p.v * p.w for k, p in enumerate(ps)))


def exchanged_arrays(x: Any) -> Any:
    rows = [np.array([v, v * v]) for v in x]
    rows[0], rows[2] = (rows[2], rows[0])
    rows[0][1] = 3.0
    rows[2] -= rows[0]
    return sum(((k + 1) * (r * r).sum() for k, r in enumerate(rows)))


def elimination_with_pivots(x: Any) -> Any:
    n = len(x)
    A = [[x[i] * x[j] + (3.0 + i if i == j else 0.0) for j in range(n)] for i in range(n)]
    b = [1.0 * v for v in x]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i][k]) > abs(A[p][k]):
                p = i
        A[k], A[p] = (A[p], A[k])
        b[k], b[p] = (b[p], b[k])
        for i in range(k + 1, n):
            f = A[i][k] / A[k][k]
            for j in range(k, n):
                A[i][j] -= f * A[k][j]
            b[i] -= f * b[k]
    y = [0.0 for _ in range(n)]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i][j] * y[j]
        y[i] = s / A[i][i]
    return sum(y)


def rows_exchanged(x: Any) -> Any:
    n = len(x)
    rows = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    rows[0], rows[1] = (rows[1], rows[0])
    for j in range(n):
        rows[0][j] = rows[0][j] - 0.5 * rows[1][j]
    return sum(rows[0]) * sum(rows[1])


RIGHT = [
    items_in_a_loop,
    item_at_an_index,
    objects_in_a_loop,
    objects_at_indices,
    dicts_at_indices,
    table_of_short_rows,
    exchanged_items,
    list_in_a_tuple,
    method_that_changes,
    changed_behind_append,
    changed_list_behind_append,
    unpacked_list_is_the_list,
    unpacked_names,
    unpacked_dict,
    particles,
    pairs_of_particles,
    two_names,
    name_and_index,
    name_that_may_be_the_item,
    argument_evaluated_earlier,
    operand_evaluated_earlier,
    changed_in_a_branch,
    name_changed_in_a_branch,
    replaced_item_keeps_its_name,
    copies_of_rows,
    part_replaced,
    array_attributes,
    carried_name,
    dicts_that_see_neighbours,
    optional_in_a_list,
    exchanged_objects,
    exchanged_arrays,
    elimination_with_pivots,
    rows_exchanged,
]


@pytest.mark.parametrize("function", RIGHT)
@pytest.mark.parametrize("jit", [False, True])
def test_every_name_sees_a_change(function: Any, jit: bool) -> None:
    value, _ = stgrad.value_and_grad(function, jit=jit)(X.copy())
    assert value == pytest.approx(function(X.copy()))
    check_gradient(function, (X.copy(),), jit=jit, order=1 if jit else 2)
