"""What Python programs do beside arithmetic: None as a start value, iterators, containers, patterns, shared variables."""

import collections
import functools
import itertools
import math
import operator
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .registry import example, matrix, positive, vector

SETTINGS = {"scale": 2.0}


# --------------------------------------------------------------------------- None


@example(vector(4))
def smallest_so_far(x):
    best = None
    for v in x:
        if best is None or v * v < best:
            best = v * v + 0.1 * v
    return best * x[0]


@example(vector(4))
def best_and_its_place(x):
    best, where = None, None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best, where = x[i], i
    return best * x[where] if where is not None else 0.0


@example(positive(4), jit=True)
def differences(x):
    previous, s = None, 0.0
    for v in x:
        if previous is not None:
            s += (v - previous) ** 2
        previous = v * v
    return s


@example(matrix(2, 2), 3)
def product_of_none(a, n):
    p = None
    for _ in range(n):
        p = a if p is None else p @ a
    return np.sum(p)


@example(1.3, 0.5)
def maybe_found(x, c):
    def find(t):
        if t > 1.0:
            return t * t
        return None

    first, second = find(x), find(c)
    return (first or 2.0) * x + (0.0 if second is None else second)


@example(np.array([1.5, 0.5, -1.0, 2.0, 0.7]))
def runs_that_end(x):
    run, s = None, 0.0
    for v in x:
        if v < 0.0:
            run = None
        elif run is None:
            run = v
        else:
            run = run * v
        if run is not None:
            s += run
    return s


@example(positive(3))
def pair_or_none(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best[0]:
            best = (x[i], x[i] * i)
    value, weight = best
    return value * weight + value


@example(1.3, 0.5)
def maybe_in_a_list(x, c):
    y = None
    if c > 0.0:
        y = x * c
    held = [y, x]
    return np.sum(np.array([y, x]) ** 2) + held[0] * held[1] + max(y, x) + {"y": y}["y"]


@example(1.3, 0.5)
def maybe_in_lists_of_numbers(x, c):
    y = None
    if c > 0.0:
        y = x * c
    held = [y, x]
    return sum(held) * max(held) + math.fsum([y, x]) + np.sum([y, x]) * np.dot([y, 1.0], [x, 2.0]) + np.mean((y, x))


class Memo:
    def __init__(self):
        self.value = None

    def get(self, x):
        if self.value is None:
            self.value = x * x
        return self.value


@example(1.3, 3)
def memo_of_an_object(x, n):
    memo, s = Memo(), 0.0
    for i in range(n):
        s += memo.get(x + i) * i
    return s


# --------------------------------------------------------------------------- and, or, in, is


@example(vector(3))
def value_of_and(x):
    a = x[0] > 5.0 and x[1]
    b = x[0] < 5.0 and x[1]
    c = 0.0 or x[2]
    d = x[0] or x[1]
    e = [] or [x[0]]
    return a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e[0]


@example(1.3, 2.0)
def member_of_numbers(x, c):
    return x * x if c in (1.0, 2.0, x) and c not in [x, 3.0] else x


@example(1.3)
def flag_is_true(x):
    up = x > 1.0
    return x * x if up is True else x


# --------------------------------------------------------------------------- match, nonlocal, try


@example(1.3, 5)
def match_of_a_number(x, n):
    s = 0.0
    for i in range(n):
        match i % 3:
            case 0:
                s += x
            case 1:
                s += x * x
            case _:
                s += x**3
    return s


@dataclass
class Spring:
    stiffness: float
    length: float


@example(Spring(1.5, 0.7), 1.2)
def match_of_structure(thing, x):
    match (thing, x):
        case (Spring(stiffness=k, length=l), d):
            return 0.5 * k * (d - l) ** 2
        case _:
            return x


class Pull(NamedTuple):
    force: float
    spring: Spring
    sign: float = -1.0


@example(Spring(1.5, 0.7), 1.2)
def match_by_position(thing, x):
    total = 0.0
    for case in (Pull(x, thing), Pull(x, thing, 1.0), thing, {"a": x, "b": x * x, "c": 2.0}, 3.0):
        match case:
            case Pull(f, Spring(k, l), 1.0):
                total += f * k - l
            case Pull(f, Spring(k)) if f > 1.0:
                total += f / k
            case Spring(k, length=l):
                total += k * l
            case {"a": a, **rest}:
                total += a * sum(rest.values())
            case float(v):
                total += v * x
    return total


@example(1.2, 4)
def shared_variables(x, n):
    total, count = x, 0

    def step(v):
        nonlocal total, count
        total = total * x + v
        count += 1

    for i in range(n):
        step(0.1 * i)
    return total * count


@example(vector(3))
def shared_maximum(x):
    best, where = -10.0, 0

    def consider(v, i):
        nonlocal best, where
        if v > best:
            best, where = v, i

    for i in range(3):
        consider(x[i] * x[i], i)
    return best * (where + 1)


@example(1.3)
def default_of_a_key(x):
    def setting(name):
        try:
            return SETTINGS[name]
        except KeyError:
            return x * x

    return setting("scale") * x + setting("shift")


@example(matrix(3, 3), order=1)
def other_error(a):
    try:
        root = np.linalg.cholesky(a @ a.T + 3.0 * np.eye(3))
    except np.linalg.LinAlgError as problem:
        raise ValueError("not positive definite") from problem
    else:
        return np.sum(np.log(np.diag(root)))


@example(1.3)
def quiet(x):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        return np.log(x) * x


# --------------------------------------------------------------------------- itertools, functools, operator


@example(vector(4))
def pairs(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s += a * b * b
    for i, j in itertools.product(range(len(x)), repeat=2):
        s += x[i] * x[j] * i
    for a, b in itertools.pairwise(x):
        s += (a - b) ** 3
    return s


@example(vector(4))
def triples(x):
    s = 0.0
    for i, j, k in itertools.combinations(range(len(x)), 3):
        s += x[i] * x[j] * x[k] * (i + k)
    return s + sum(a * b for a, b in itertools.combinations_with_replacement(x, 2))


@example(vector(3))
def running(x):
    s = sum(v * v for v in itertools.accumulate(x))
    for p in itertools.accumulate(x, operator.mul):
        s += p
    for k, a in zip(itertools.count(1), x):
        s += k * a * a
    for a, c in zip(x, itertools.cycle([1.0, 2.0])):
        s += a * c
    for a in itertools.chain(x, x[:1], [x[1]]):
        s += a**3
    for a in itertools.islice(x, 2):
        s += a
    return s


@example(vector(4))
def folded(x):
    product = functools.reduce(lambda a, b: a * b, x)
    started = functools.reduce(operator.add, x, 1.0)
    return product * started + sum(filter(lambda v: v > 0.0, x)) + operator.itemgetter(1)(x)


@functools.lru_cache
def squared(x):
    return x * x


@example(1.3)
def cached_helper(x):
    return squared(x) + squared(x + 1.0) * math.log(x, 2) + math.dist([x, 1.0], [0.5, 2.0])


# --------------------------------------------------------------------------- containers


@example(vector(4), 3)
def rotated_deques(x, n):
    d, e = collections.deque(x), collections.deque([x[0], x[1], x[2]], maxlen=3)
    rows = collections.deque([x * 1.0, x * 2.0, x * x])
    d.rotate()
    d.rotate(-6)
    rows.rotate(1)
    rows[0][1] = 5.0
    s = rows[0].sum() * rows[1].sum()
    for k in range(n):
        d.rotate(k * n)
        e.append(x[k] * k)
        e.rotate(-k)
        s += d[0] * k + e[0] * e[-1]
    return s + sum(v * k for k, v in enumerate(d))


@example(1.3)
def queue(x):
    q = collections.deque([x, x * x])
    q.append(1.0)
    q.appendleft(x**3)
    return q.popleft() * q[0] + sum(q)


@example(vector(6), 1.3)
def moving_windows(x, w):
    """A bounded deque is the end of a list that grows."""
    d, total = collections.deque([0.0] * 3, maxlen=3), 0.0
    for v in x:
        d.append(v * v)
        total += sum(d) / len(d) * d[-1] + d[0] * w
        for k, q in enumerate(d):
            total += q * v * (k + w)
        if len(d) == 3 and v > 0:
            total += d.popleft() ** 2
    return total + np.mean(d) + max(d)


@example(vector(3), 0.7)
def last_two_states(x, w):
    history, s = collections.deque([x * 0.5], 2), x.copy()
    for _ in range(3):
        s = np.sin(s) + 0.1 * history[0] * w
        history.append(s)
    history.extend([x, s * w])
    return np.sum(history[0] * history[1]) + np.sum(np.array(history))


@example(vector(4), 1.3)
def groups(x, w):
    total = 0.0
    for key, group in itertools.groupby(range(4), key=lambda k: k // 2):
        places = list(group)
        total += (key + 1) * x[places[0]] * x[places[-1]] * w
    for name, group in itertools.groupby([("a", x[0]), ("a", x[1]), ("b", w)], key=lambda pair: pair[0]):
        total += math.prod(value for _, value in group) * len(name)
    return total


@example(vector(4), 1.3)
def arrays_as_arguments(x, w):
    """`f(*array)`, with as many arguments as the function takes."""

    def ratio(a, b):
        return a * a / (b * b + w)

    pairs = np.outer(x[:2], x[2:4]) + 2.0
    return np.hypot(*(x[:2] - x[2:4])) + ratio(*x[1:3]) + sum(math.atan2(*row) for row in pairs)


@example(1.3)
def missing_entries(x):
    d = collections.defaultdict(float)
    d["a"] += x
    d["b"] += x * x
    d["a"] += 1.0
    return d["a"] * d["b"]


@example(1.3)
def sets(x):
    even, small = {0, 2, 4}, {0, 1, 2}
    return sum(x**k for k in sorted(even & small | {3})) * len(even - small)


@example(vector(3))
def ordered(x):
    named = {"b": x[0], "a": x[1]}
    s = 0.0
    for k, (_, v) in enumerate(sorted(named.items())):
        s += (k + 1) * v
    rows = [(2, x[0]), (1, x[2])]
    rows.sort(key=lambda row: row[0])
    rows *= 2
    return s * rows[0][1] + sum(v for _, v in rows) + sum([[x[0]], [x[1]]], [])[1]


@example(vector(3))
def shorter_than_an_array(x):
    s = 0.0
    for v, weight in zip(x, (1.0, 0.5, 0.25)):
        s += v * v * weight
    return s


@example(np.array([0.5, 1.5, 2.5]))
def where_it_holds(x):
    (places,) = np.where(x > 1.0)
    rows, columns = np.nonzero(np.outer(x, x) > 2.0)
    return np.sum(x[places] ** 2) + np.sum(x[rows] * x[columns])


class Pair:
    def __init__(self, a, b):
        super().__init__()
        self.a, self.b = a, b

    def __iadd__(self, other):
        self.a += other.a
        self.b += other.b
        return self

    def __abs__(self):
        return math.sqrt(self.a * self.a + self.b * self.b)

    def __iter__(self):
        return iter([self.a, self.b])

    def __contains__(self, k):
        return k == 1


@example(1.3)
def in_place_operator(x):
    p = Pair(x, 1.0)
    p += Pair(x * x, x)
    a, b = p
    return abs(p) * a + b * (2.0 if 1 in p else 1.0)
