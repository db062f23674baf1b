"""Generators that the function itself consumes."""

import itertools
import math

import numpy as np

from .registry import example, positive, vector

V = positive(4)


def squares(x):
    for item in x:
        yield item * item


def multiples(x):
    k = 1
    while True:
        yield k * x
        k += 1


def scaled(factor, x):
    for item in x:
        yield factor * item


def mixed(x):
    yield x[0]
    yield from squares(x)
    if x[0] > 0.0:
        yield x[1] ** 3


@example(V, jit=True)
def consumed_by_a_loop(x):
    total = 0.0
    for item in squares(x):
        total += math.sin(item)
    return total


def steps(x, n):
    t = 0.0
    while t < n:
        yield t, x * t
        t += 0.5


@example(0.9, 3.0, jit=True, argnums=(0,))
def left_by_break(x, n):
    total = 0.0
    for t, v in steps(x, n):
        if v > 2.1:
            break
        total += v * v * t
    return total


@example(0.7, jit=True)
def without_end(x):
    total = 0.0
    for v in multiples(x):
        if v > 5.0:
            break
        total += v**2
    return total


@example(0.7)
def left_by_return(x):
    for v in multiples(x):
        if v * v > 7.0:
            return v**3
    return 0.0


@example(V, jit=True)
def zipped_and_counted(x):
    total = 0.0
    for i, (a, b) in enumerate(zip(squares(x), x, strict=False)):
        total += (i + 1) * a * b
    return total


@example(0.3, 5, jit=True)
def without_end_beside_a_range(x, n):
    total = 0.0
    for i, v in zip(range(n), multiples(x), strict=False):
        total += math.sin(v) * i
    return total


@example(V)
def two_at_once(x):
    total = 0.0
    for a, b in zip(squares(x), squares(x[::-1]), strict=False):
        total += a * b**2
    return total


@example(V, jit=True)
def several_yields(x):
    product = 1.0
    for v in mixed(x):
        product = product * (1.0 + v)
    return product


@example(V, jit=True)
def asked_by_next(x):
    items = squares(x)
    first = next(items)
    return first * next(items) ** 2


@example(V)
def asked_by_next_in_a_loop(x):
    items, total = squares(x), 0.0
    for i in range(len(x)):
        total += next(items) ** 2 * i
    return total


@example(V)
def in_a_comprehension(x):
    return sum([math.exp(v) for v in mixed(x) if v > 0.1])


@example(V, jit=True)
def as_a_list(x):
    return np.sum(np.array(list(squares(x))) ** 2) + max(squares(x)) + sum(map(math.sin, squares(x)))


@example(0.3)
def sliced(x):
    total = 0.0
    for v in itertools.islice(multiples(x), 4):
        total += math.sin(v)
    return total


def pairs(x):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            yield i, j


@example(V, jit=True)
def pairs_of_particles(x):
    energy = 0.0
    for i, j in pairs(x):
        energy += 1.0 / (1.0 + (x[i] - x[j]) ** 2)
    return energy


def windows(x, width):
    held = np.zeros(width)
    for i in range(len(x) - width + 1):
        held[:] = x[i : i + width]
        yield held


@example(V, jit=True)
def one_array_in_all_items(x):
    total = 0.0
    for w in windows(x, 2):
        total += w[0] * w[1] ** 2
    return total


@example(V)
def one_inside_another(x):
    total = 0.0
    for a in squares(x):
        for b in mixed(x):
            total += a * b
    return total


def doubled(items):
    for v in items:
        yield 2.0 * v


@example(V, jit=True)
def one_fed_by_another(x):
    total = 0.0
    for v in doubled(squares(x)):
        if v < 0.01:
            continue
        total += v**1.5
    return total


@example(V)
def defined_inside(x):
    scale = x[0] * 2.0

    def items(n):
        for i in range(n):
            yield scale * x[i]

    total = 0.0
    for v in items(3):
        total += v * v
    return total


class Box:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        for v in self.items:
            yield v * v

    def powers(self, t):
        power = 1.0
        for v in self.items:
            yield v * power
            power *= t * v


@example(V)
def methods(x):
    total = 0.0
    for v in Box(x):
        total += v * x[0]
    return total + sum(Box(x)) + sum(Box(x).powers(0.7))


def sines(x):
    for v in x:
        yield math.sin(v)


@example(V)
def names_of_its_own(x):
    math, v = x[0], x[1]  # the generator's are others
    return math * sum(sines(x)) * v


@example(V)
def changed_while_suspended(x):
    y = x.copy()
    total = 0.0
    for v in squares(y):
        y[1] = 3.0 * v
        total += v * y[1]
    return total


@example(V)
def argument_rebound(x):
    n = x[0]
    items = scaled(n, x)
    n, total = n * 100.0, 0.0
    for v in items:
        n = n + v
        total += v * v
    return total


@example(V, jit=True)
def inside_loops_with_jumps(x):
    total = 0.0
    for k in range(3):
        for v in scaled(x[k], x):
            if v < 0.3:
                continue
            if v > 1.2:
                break
            total += v * v * k
        else:
            total += 100.0 * x[0]
    return total


def roots(x):
    z = x
    while True:
        z = 0.5 * (z + x / z)
        yield z


@example(1.7, jit=True)
def iterated_to_convergence(x):
    before = 0.0
    for z in roots(x):
        if abs(z - before) < 1e-13:
            break
        before = z
    return z


@example(V)
def read_behind_the_loop(x):
    for v in squares(x):
        last = v
    return last * x[0]


def chunks(x, n):
    for i in range(0, len(x), n):
        yield x[i : i + n]


@example(V)
def in_chunks(x):
    return sum(np.sum(c) ** 2 for c in chunks(x, 3))


@example(vector(5), 0.7)
def an_iterator_that_goes_on(x, a):
    it = iter(x)
    s = 0.0
    for v in it:
        s += v * a
        if v < 0.0:
            break
    for v in it:
        s += v * v * 3.0
    return s


@example(vector(4), 0.7)
def an_iterator_in_its_own_loop(x, a):
    it = iter([x[0], a, x[1], x[2], x[3]])
    s = next(it)
    for v in it:
        s = s * 0.5 + v * next(it, a)
    return s + sum(it) + len(list(it))
