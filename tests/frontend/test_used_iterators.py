"""An iterator is empty behind its first use, wherever it is kept, and a function that takes a part of it leaves the rest."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stgrad
from stgrad.errors import UnsupportedSyntaxError
from tests.thorough import check_gradient

X = np.array([0.5, 1.2, -0.7, 2.3])

ITERATORS = {
    "zip": lambda x: zip([x[0], x[1]], [1.0, 2.0], strict=True),
    "enumerate": lambda x: enumerate([x[0], x[1]]),
    "reversed": lambda x: reversed([x[0], x[1]]),
    "map": lambda x: map(lambda v: 2.0 * v, [x[0], x[1]]),
    "filter": lambda x: filter(None, [x[0], x[1]]),
    "generator": lambda x: (v * v for v in x),
    "chain": lambda x: itertools.chain([x[0]], [x[1]]),
    "product": lambda x: itertools.product([x[0], x[1]], [1.0]),
    "combinations": lambda x: itertools.combinations([x[0], x[1], x[2]], 2),
    "pairwise": lambda x: itertools.pairwise(x),
    "islice": lambda x: itertools.islice(x, 2),
    "rows": lambda x: itertools.islice(np.outer(x, x), 2),
    "accumulate": lambda x: itertools.accumulate(x),
    "products": lambda x: itertools.accumulate(x, lambda a, b: a * b),
    "starmap": lambda x: itertools.starmap(lambda a, b: a * b, [(x[0], x[1])]),
}


def by_name(made, x):
    items = made(x)
    total = x[3]
    for v in items:
        total = total + np.sum(v)
    for v in items:
        total = total + 10.0 * np.sum(v)
    return total


def in_a_list(made, x):
    held = [made(x), 1]
    total = x[3]
    for v in held[0]:
        total = total + np.sum(v)
    for v in held[0]:
        total = total + 10.0 * np.sum(v)
    return total


def in_a_dict_and_a_loop(made, x):
    held = {"items": made(x)}
    total = x[3]
    for _ in range(3):
        for v in held["items"]:
            total = 2.0 * total + np.sum(v)
    return total


class Holder:
    def __init__(self, items):
        self.items = items


def in_an_object(made, x):
    holder = Holder(made(x))
    return sum(np.sum(v) for v in holder.items) + x[0] * len(list(holder.items))


def asked_of_a_dict(made, x):
    held = {"items": made(x)}
    return sum(np.sum(v) for v in held.get("items")) + x[0] * len(list(held.get("items")))


@pytest.mark.parametrize("program", [by_name, in_a_list, in_a_dict_and_a_loop, in_an_object, asked_of_a_dict])
@pytest.mark.parametrize("kind", ITERATORS)
def test_a_second_use_is_refused_wherever_it_is_kept(kind, program):
    with pytest.raises(UnsupportedSyntaxError, match="used a second time"):
        stgrad.grad(lambda x: program(ITERATORS[kind], x), jit=True)(X)


def used_once(made, x):
    held = {"items": made(x)}
    total = x[3]
    for v in held["items"]:
        total = total * 1.5 + np.sum(v)
    return total


@pytest.mark.parametrize("kind", ITERATORS)
def test_one_use_out_of_a_container(kind):
    check_gradient(lambda x: used_once(ITERATORS[kind], x), (X,))


def listed(x):
    items = iter([x[0], x[1]])
    return sum(list(items)) * x[2] + len(list(items))


def sorted_items(x):
    items = iter([x[0], x[1], x[2]])
    return sorted(items)[0] * x[1] + sum(items)


def in_pairs(x):
    items = iter([x[0], x[1], x[2], x[3]])
    total = 0.0
    for a, b in zip(items, items):  # noqa: B905
        total += a * b
    return total * x[0] + sum(items)


def behind_what_ends(x):
    """What ends first is asked first: the iterator keeps the rest."""
    items = iter([x[0], x[1], x[2]])
    named = dict(zip(["a", "b"], items))  # noqa: B905
    return named["a"] * named["b"] + sum(items)


def before_what_ends(x):
    """The iterator has given an item by the time that the other one ends."""
    items = iter([x[0], x[1], x[2], x[3]])
    named = list(zip(items, [1.0, 2.0]))  # noqa: B905
    return named[0][0] * named[1][0] + sum(items)


def asked_as_it_is_bound(x):
    items = iter(x)
    total = 0.0
    while (v := next(items, None)) is not None:
        total = 0.5 * total + v * v
    return total


def positive(v):
    return 2.0 * v if v > 0.0 else None


def filtered_by_none(x):
    total = sum(w * w for v in x if (w := positive(v)) is not None)
    for v in x:
        if (p := positive(v)) and p > 1.3:
            total += p
    return total


@pytest.mark.parametrize("f", [listed, sorted_items, in_pairs, behind_what_ends, before_what_ends, asked_as_it_is_bound, filtered_by_none])
@pytest.mark.parametrize("jit", [False, True])
def test_what_an_iterator_gives_and_keeps(f, jit):
    assert stgrad.value_and_grad(f, jit=jit)(X)[0] == pytest.approx(f(X))
    check_gradient(f, (X,), jit=jit)


def ends_early(x):
    items = iter([x[0], x[1], x[2], x[3]])
    total = 0.0
    for i, v in enumerate(items):
        total += i * v
        if v > 1.0:
            break
    return total + sum(items)


def drops_one(x):
    items = iter([x[0], x[1], x[2], x[3]])
    total = 0.0
    for a, b in zip(items, [1.0, 2.0]):  # noqa: B905
        total += a * b
    return total + sum(items)


def any_of(x):
    items = iter([x[0] > 1.0, x[1] > 1.0, x[2] > 1.0])
    return x[0] * any(items) + x[1] * sum(items)


@pytest.mark.parametrize(("f", "message"), [(ends_early, "may end early"), (drops_one, "an item that is dropped"), (any_of, "how many items `any` takes")])
def test_what_only_the_running_program_knows_is_refused(f, message):
    with pytest.raises(UnsupportedSyntaxError, match=message):
        stgrad.grad(f, jit=True)(X)


def test_a_loop_that_ends_where_it_is_known_to_end():
    def f(x):
        items = iter([x[0], x[1], x[2], x[3]])
        total = 0.0
        for i, v in enumerate(items):
            total += i * v * v
            if i == 1:
                break
        return total + sum(items)

    check_gradient(f, (X,))


def rest_of_a_chain(x):
    it = iter([x[0], x[1]])
    next(it)
    return sum(v**2 for v in itertools.chain(it, x[2:])) + len(list(it))


def written_between(x):
    y = x.copy()
    z = zip(y, y[1:], strict=False)
    a, b = next(z)
    y[1] = 5.0
    c, d = next(z)
    return a * b + c * d


def changed_between(x):
    items = [x[0], x[1], x[2]]
    r = reversed(items)
    last = next(r)
    items[1] = 7.0 * x[0]
    return last * next(r)


def test_a_chain_gives_what_is_left_of_an_iterator():
    check_gradient(rest_of_a_chain, (np.array([0.7, 1.3, 2.1, 0.4]),))


@pytest.mark.parametrize("f", [written_between, changed_between])
def test_what_changes_between_two_items_is_refused(f):
    with pytest.raises(UnsupportedSyntaxError, match="may change while"):
        stgrad.grad(f, jit=False)(np.array([0.7, 1.3, 2.1, 0.4]))


def pairwise(values):
    a, b = itertools.tee(values)
    next(b, None)
    return zip(a, b)  # noqa: B905


def neighbours(x):
    total = 0.0
    for a, b in pairwise((x[0] ** 2, x[1], x[4])):
        total += a * b**2
    return total + sum(p * q for p, q in pairwise((x[0], x[1], x[2])))


def in_pairs_of_an_array(x):
    items = iter(x)
    total = 0.0
    for a, b in zip(items, items):  # noqa: B905
        total += a * b**2
    return total


def in_threes(x):
    items = iter(x)
    next(items)
    return sum(a * b * c for a, b, c in zip(items, items, items))  # noqa: B905


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("program", [neighbours, in_pairs_of_an_array, in_threes], ids=lambda f: f.__name__)
def test_iterators_over_arrays_beside_each_other(program, jit):
    check_gradient(program, (np.array([0.3, 1.7, 2.2, -0.4, 0.9]),), 1 if jit else 2, jit=jit)


def test_what_zip_has_taken_of_an_iterator_is_not_known_behind_it():
    def f(x):
        a, b = iter(x), iter(x)
        total = sum(p * q for p, q in zip(a, b))  # noqa: B905
        return total + sum(a)

    with pytest.raises(UnsupportedSyntaxError, match="took of this iterator"):
        stgrad.grad(f)(np.ones(3))


def taken_between(x):
    y = x * 1.0
    a, b = itertools.tee(y)
    first = next(a)
    y[0] = 50.0
    return first + 2.0 * next(b)


def list_changed_on_the_way(x):
    items = [x[0], x[1], x[2]]
    a, b = iter(items), iter([x[3], x[0], x[1], x[2]])
    total = 0.0
    for p, q in zip(a, b):  # noqa: B905
        total += p * q
        items[2] = 7.0 * x[0]
    return total


def long_list_changed_on_the_way(x):
    items = []
    for v in x:
        items.append(v * v)
    a, b = iter(items), iter(items)
    next(b)
    total = 0.0
    for p, q in zip(a, b):  # noqa: B905
        total += p * q
        items[2] = 7.0 * x[0]
    return total


def array_changed_on_the_way(x):
    y = x * 1.0
    a, b = iter(y), iter(x)
    next(b)
    total = 0.0
    for p, q in zip(a, b):  # noqa: B905
        total += p * q
        y[2] = 7.0 * x[0]
    return total


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [taken_between, list_changed_on_the_way, long_list_changed_on_the_way, array_changed_on_the_way], ids=lambda f: f.__name__)
def test_what_is_written_while_iterators_stand_is_seen_or_refused(f, jit):
    x = np.array([0.3, 1.7, 2.2, -0.4])
    try:
        value = stgrad.value_and_grad(f, jit=jit)(x)[0]
    except UnsupportedSyntaxError:
        assert f in (taken_between, long_list_changed_on_the_way)
    else:
        assert value == pytest.approx(f(x), rel=1e-12)
