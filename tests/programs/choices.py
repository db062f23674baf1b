"""Functions, texts, None, instances and numbers or arrays, of which the running program chooses one."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from programs.registry import example

X = np.array([0.3, -0.8, 1.2, 0.5])


class Linear:
    def __init__(self, k):
        self.k = k

    def f(self, x):
        return self.k * x


class Exponential:
    def __init__(self, k, b):
        self.k, self.b = k, b

    def f(self, x):
        return np.exp(self.k * x) + self.b


def squared(x, i):
    return x[i] ** 2


def tripled(x, i):
    if i > 1:
        return 0.0
    return x[i] * 3


@example(0.7, X, jit=True)
@example(0.4, X)
def function(w, x):
    f = np.sin if w > 0.5 else np.cos
    return np.sum(f(x) * w)


@example(0.7, X)
def functions_of_one_branch(w, x):
    if w > 0.5:
        f, df = (math.sin, math.cos)
    else:
        f, df = (math.exp, math.exp)
    s = 0.0
    for v in x:
        s += f(v * w) * df(v)
    return s


@example(0.7, X)
@example(0.4, X)
def text(w, x):
    kind = 'a'
    if w > 2.0:
        kind = 'b'
    elif np.sum(x) > 1.0:
        kind = 'c'
    if kind == 'a':
        y = x * w
    elif kind == 'b':
        y = x + w
    else:
        y = np.exp(x) * w
    return np.sum(y * y)


@example(0.7, X, jit=True)
def text_of_a_loop(w, x):
    state = 'start'
    s = 0.0
    for v in x:
        if state == 'start':
            s += v * w
            if v < 0:
                state = 'neg'
        elif state == 'neg':
            s += v * v * w * w
            state = 'end'
        else:
            s += math.sin(v * w)
    return s


@example(0.7, X)
def function_or_none(w, x):
    g = None
    if w > 0.5:
        g = np.tanh
    s = np.sum(x) * w
    if g is not None:
        s = s + np.sum(g(x * w))
    return s


@example(0.7, X, jit=True)
def function_or_none_of_a_loop(w, x):
    g = None
    s = 0.0
    for v in x:
        if g is not None:
            s += g(v * w)
        if v < 0.0:
            g = math.sin
    return s


@example(0.7, X)
def key_of_a_dict(w, x):
    key = 'lo' if w < 0.5 else 'hi'
    coef = {'lo': 2.0, 'hi': w * w}
    return coef[key] * np.sum(x)


@example(0.7, X, jit=True)
@example(0.4, X)
def number_or_array(w, x):
    if w > 0.5:
        y = x * w
    else:
        y = 2.0 * w
    return np.sum(np.exp(y))


@example(0.7, X)
def number_or_array_of_a_helper(w, x):

    def h(v):
        if v > 0.5:
            return v
        return x * v
    return np.sum(h(w) * x) + np.sum(2.0 * h(w * 0.1))


@example(0.7, X, jit=True)
@example(0.4, X)
def classes(w, x):
    m = Linear(w) if w > 0.5 else Exponential(w, 2.0)
    s = 0.0
    for v in x:
        s += m.f(v)
    return s


@example(0.7, X)
def closures(w, x):
    if w > 0.5:

        def act(z):
            return z * w
    else:

        def act(z):
            return z * z + w
    return np.sum(act(x))


@example(0.7, X)
@example(0.4, X)
def lambdas(w, x):
    act = (lambda z: z * w) if x[0] > 0.5 else lambda z: z * z + w
    return np.sum(act(x)) + act(w)


@example(0.7, X, jit=True)
@example(0.4, X)
def without_a_name(w, x):
    return (np.sin if w > 0.5 else np.cos)(w) * np.sum((np.tanh if w < 0.5 else np.exp)(x))


@example(0.7, X, jit=True)
def passed_on(w, x):

    def integrate(f, n):
        s = 0.0
        for i in range(n):
            s += f(i / n * w)
        return s / n
    f = math.sin if w > 0.5 else math.exp
    return integrate(f, 10) * np.sum(x)


@example(0.7, X)
def text_in_a_tuple(w, x):
    best = (0.0, 'none')
    for v in x:
        if v * w > best[0]:
            best = (v * w, 'pos')
    if best[1] == 'pos':
        return best[0] ** 2
    return best[0] * w


@example(0.7, X)
@example(0.4, X)
def opt_array(w, x):
    y = None
    if w > 0.5:
        y = x * w
    if y is None:
        return w
    return np.sum(y * y)


@example(0.7, X, jit=True)
def text_of_a_helper(w, x):

    def classify(v):
        if v < 0:
            return 'neg'
        if v < 0.4:
            return 'small'
        return 'big'
    s = 0.0
    for v in x:
        c = classify(v)
        if c == 'neg':
            s -= v * w
        elif c == 'small':
            s += v * v * w
        else:
            s += np.sin(v * w)
        if classify(v * 2) == 'big':
            s += w
    return s


@example(0.7, X)
def dtype_choice(w, x):
    dt = np.float32 if w > 5 else np.float64
    return np.sum(x.astype(dt) * w)


@example(0.7, X)
def method_choice(w, x):
    name = 'l1' if w > 0.5 else 'l2'
    loss = {'l1': lambda r: np.abs(r), 'l2': lambda r: r * r}[name]
    return np.sum(loss(x * w - 0.1))


@example(0.7, X, jit=True)
def while_mode(w, x):
    phase = 'up'
    v = w
    n = 0
    while n < 6:
        if phase == 'up':
            v = v * 1.5
            if v > 2.0:
                phase = 'down'
        else:
            v = v * 0.4
            if v < 0.5:
                phase = 'up'
        n += 1
    return v * np.sum(x)


@example(0.7, X)
def and_or(w, x):
    m = 'x' if w > 0.5 else ''
    if m and x[0] > 0:
        return w * w
    return w * np.sum(x)


@example(0.7, X)
def seq_len(w, x):
    if w > 0.5:
        t = (w, w * 2)
    else:
        t = (w, w * 2, w * 3)
    s = 0.0
    for v in t:
        s += v * v
    return s * x[0]


@example(0.7, X)
def none_chosen(w, x):
    y = None if w > 5.0 else x * w
    z = 0.0
    if y is not None:
        z = np.sum(y)
    return z + w


@example(0.7, X)
def best_function(w, x):
    best, bestv = (None, -1000000000.0)
    for f in (math.sin, math.cos, math.tanh):
        v = f(w)
        if v > bestv:
            best, bestv = (f, v)
    return best(w * 2.0) * np.sum(x)


@example(0.7, X)
def unroll_names(w, x):
    name = 'none'
    for n, c in (('a', 0.1), ('b', 0.5), ('c', 0.9)):
        if w > c:
            name = n
    scale = {'none': 1.0, 'a': 2.0, 'b': 3.0, 'c': 4.0}
    return scale[name] * w * np.sum(x)


@example(0.7, X)
def in_comprehensions(w, x):
    f = math.sin if w > 0.5 else math.exp
    return sum([f(v * w) for v in x]) + sum(f(v) for v in x)


@example(0.7, X)
def added_number_or_array(w, x):

    def h(v):
        return v if v > 0.3 else x * v
    y = x * 1.0
    y += h(w)
    s = 0.0
    s += np.sum(h(0.1 * w))
    return np.sum(y * y) + s


@example(0.7, X)
def functions_that_change_places(w, x):
    f, g = (math.sin, math.cos)
    s = 0.0
    for v in x:
        if v < w:
            f, g = (g, f)
        s += f(v * w) - 0.5 * g(w)
    return s


@example(0.7, X)
def attribute(w, x):
    m = Linear(w)
    m.kind = 'a'
    for v in x:
        if v > 1.0:
            m.kind = 'b'
    if m.kind == 'b':
        return m.f(w) * np.sum(x)
    return m.f(2 * w)


@example(0.7, X)
def alias_later(w, x):
    f = math.sin if w > 0.5 else math.cos
    g = f
    if x[0] < 0:
        f = math.exp
    return g(w) * f(x[1]) + f(w) * np.sum(x)


@example(0.7, X)
def num_or_arr_loop(w, x):
    out = 0.0
    for k in range(3):
        t = w if x[k] > 0 else x * w
        out = out + np.sum(t * t)
    return out


@example(0.7, X)
def formatted_text(w, x):
    name = 'p' if w > 0.5 else 'q'
    d = {'p_1': w, 'q_1': 2 * w}
    return d[f'{name}_1'] * np.sum(x)


@example(0.7, X)
def axis_choice(w, x):
    m = np.outer(x, x * w)
    ax = 0 if w > 0.5 else None
    return np.sum(np.sum(m, axis=ax) ** 2)


@example(0.7, X)
def startswith(w, x):
    name = 'poly2' if w > 0.5 else 'lin'
    if name.startswith('poly') and len(name) == 5:
        return np.sum(x ** int(name[-1]) * w)
    return w * np.sum(x)


@example(0.7, X, jit=True)
def best_model(w, x):
    best, score = (None, -1.0)
    for m in (Linear(w), Exponential(w, 0.5), Linear(2.0 * w)):
        t = m.f(0.3)
        if t > score:
            best, score = (m, t)
    return best.f(w) * np.sum(x)


@example(0.7, X)
@example(0.4, X)
def none_number(w, x):
    s = None
    for v in x:
        if v > 0:
            s = v * w if s is None else s + v * w
    return s * 2.0


@example(0.7, X)
def shape_choice(w, x):
    shape = (2, 2) if w > 0.5 else (4,)
    y = (x * w).reshape(shape)
    return np.sum(y[-1] * y[0])


@example(0.7, X)
def key_fn(w, x):
    key = (lambda v: -v * w) if w > 0.5 else None
    z = sorted([x[0] * w, x[1], x[2]], key=key)
    return z[0] * 2 + z[1] * w


@example(0.7, X)
def partial_choice(w, x):

    def p(a, v):
        return a * v * v
    f = partial(p, w) if w > 0.5 else partial(p, 2.0)
    return f(x[0]) + np.sum(f(x))


@example(0.7, X)
def bound_method(w, x):
    a, b = (Linear(w), Linear(3.0 * w))
    f = a.f if x[0] > 0 else b.f
    return np.sum(f(x)) + f(w)


@example(0.7, X, jit=True)
def global_fns(w, x):
    f = squared if w > 0.5 else tripled
    s = 0.0
    for i in range(3):
        s = s + f(x, i) * w
    return s


@example(0.7, X)
def nested_choice(w, x):
    f = (math.sin if w > 0.5 else math.cos) if x[0] > 0 else math.exp if w > 0.3 else math.sqrt
    return f(w) * f(x[2])


@example(0.7, X)
def match_mode(w, x):
    m = 'a' if w > 0.9 else 'b' if w > 0.5 else 'c'
    match m:
        case 'a':
            return w
        case 'b':
            return w * w * np.sum(x)
        case _:
            return 0.0


@example(np.array([0.7, -1.2]))
@example(np.array([-0.7, -1.2]))
def array_without_axes_or_number(x):
    a = 0.0
    if x[0] > 0:
        a = np.array(1.0)
    b = a
    a += x[1]
    return a * b


@example(0.7, X)
def axis_int(w, x):
    m = np.outer(x, np.arange(1.0, 5.0) * w)
    ax = 0 if w > 0.5 else 1
    return np.sum(np.cumsum(m, axis=ax) ** 2)


@example(0.7, X)
def power_int(w, x):
    p = 2
    if w > 0.5:
        p = 3
    if w > 0.9:
        p = 4
    axes = (0, 1) if p == 3 else (1, 0)
    m = np.outer(x, np.exp(x * w))
    return np.sum(m.transpose(axes)[0] ** p) + np.linalg.norm(x * w, ord=p)


@example(0.7, X)
def alias_rank(w, x):
    y = 2.0
    if w > 0.5:
        y = x * w
    z = y
    y += w
    return np.sum(y * x) + np.sum(z * z)


@example(0.7, X)
def alias_rank3(w, x):
    y = x
    if w > 0.5:
        y = x[1:]
        z = y
    else:
        y = 3.0
        z = 1.0
    y += w
    return np.sum(y) + np.sum(x * z if w < 0.5 else z)


@example(0.7, X)
def rec_mut_loop(w, x):
    m = Linear(w) if w > 0.5 else Exponential(w, 2.0)
    n = m
    for v in x:
        m.k = m.k + v * w
    return n.f(x[0]) * np.sum(x)


@example(0.7, X)
def rec_same(w, x):
    a = Linear(w)
    b = Exponential(w, 1.0)
    m = a if w > 0.5 else b
    m.k = m.k * 3.0
    a.k += 1.0
    return a.f(x[0]) * b.f(x[1]) + m.f(x[2])


@example(0.7, X)
def in_loop_rec(w, x):
    s = 0.0
    for v in x:
        m = Linear(v) if v > 0 else Exponential(v, w)
        m.k = m.k * w
        s += m.f(0.5)
    return s


@example(0.7, X)
def while_fn(w, x):
    f = math.sin
    v = w
    for i in range(5):
        v = f(v) + 0.1
        if v < 0.6:
            f = math.cos
        elif v > 0.9:
            f = math.tanh
        else:
            f = math.sin
    return v * np.sum(x)


@example(0.7, X)
def cont(w, x):
    f = None
    s = 0.0
    for v in x:
        if v < 0:
            f = math.exp
            continue
        if f is None:
            s += v * w
            continue
        s += f(v * w)
    return s


@example(0.7, X)
def try_choice(w, x):
    try:
        f = math.log
        y = f(-w)
    except ValueError:
        f = math.exp
        y = 0.0
    return f(w) + y + np.sum(x)


@example(0.7, X[:3])
def named_where_it_is_compared(w, x):
    if (side := "low" if w < x[0] else "high") == "low":
        return w * x[1]
    return {"low": 1.0, "high": w}[side] * x[2]
