"""The iterators of `itertools`, as values to iterate over.

Of items that are known, they are lists; else a count and a way to get the k-th item. Products and combinations of items of unknown
number are nested loops (`iteration.visit`).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import growing, operations
from stgrad.frontend.builtins import filtered, handles
from stgrad.frontend.certainties import emit_raise
from stgrad.frontend.control import branch, raise_where
from stgrad.frontend.cursors import refuse_spent
from stgrad.frontend.departures import Leaves
from stgrad.frontend.frame import Frame
from stgrad.frontend.generators import driver, first, first_few, stepped
from stgrad.frontend.indexing import load
from stgrad.frontend.iteration import (
    ONCE,
    Chain,
    Combinations,
    Counted,
    Enumerate,
    Mapped,
    Product,
    Range,
    Reversed,
    Zip,
    count_items,
    few_items,
    known_items,
    static_items,
)
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.objects import construct
from stgrad.frontend.purity import changes_nothing
from stgrad.frontend.values import DictView, Generator, Growing, Method, Record, Sym, Value, is_number, is_static, static_of
from stgrad.lookups import look


def _lists(frame: Frame, values: tuple[Value, ...]) -> list[list[Value]] | None:
    """The items of several values, where all are known and few."""
    found = [few_items(frame, v, None) for v in values]
    return None if any(f is None for f in found) else found  # type: ignore[return-value]


@handles(zip)
def _zip(frame: Frame, *values: Value, strict: Value = False) -> Value:
    pairs = Zip(values)
    if not is_static(strict):
        raise errors.NeedStaticError("`strict` must be known at compile time", frame.builder.loc, hint="write strict=True or strict=False")
    if static_of(strict) and values:
        first, *others = (_number_of_items(frame, v) for v in values)
        for position, other in enumerate(others, start=2):
            said = "argument 1" if position == 2 else f"arguments 1-{position - 1}"
            raise_where(frame, operations.binary(frame, gast.Lt, other, first), "ValueError", f"zip() argument {position} is shorter than {said}")
            raise_where(frame, operations.binary(frame, gast.Gt, other, first), "ValueError", f"zip() argument {position} is longer than {said}")
    return pairs


def _number_of_items(frame: Frame, value: Value) -> Value:
    """How many items there are, before the first one is taken."""
    if isinstance(value, (Enumerate, Reversed)):
        return _number_of_items(frame, value.inner)
    if isinstance(value, Mapped):
        return _number_of_items(frame, value.inners)
    if isinstance(value, Zip):
        return frame.call(min, ([_number_of_items(frame, v) for v in value.inners],), {}) if len(value.inners) > 1 else _number_of_items(frame, value.inners[0])
    if isinstance(value, (Generator, *ONCE)):
        raise errors.UnsupportedSyntaxError(
            "`zip(strict=True)` of an iterator whose items are not counted before they are made", frame.builder.loc, hint="make it a list: list(...)"
        )
    return frame.call(len, (value,), {})


def _count_of(frame: Frame, r: Value) -> int:
    """How many items each of the combinations has."""
    count = static_of(r)
    if isinstance(count, Sym):
        raise errors.NeedStaticError("how many items are combined must be known at compile time", frame.builder.loc)
    return int(operator.index(count))


@handles(itertools.product)
def _product(frame: Frame, *values: Value, repeat: Value = 1) -> Value:
    values = values * _count_of(frame, repeat)
    items = _lists(frame, values)
    return Product(values) if items is None else list(itertools.product(*items))


@handles(itertools.combinations)
def _combinations(frame: Frame, values: Value, r: Value) -> Value:
    items = few_items(frame, values, None)
    return Combinations(values, _count_of(frame, r), 1) if items is None else list(itertools.combinations(items, _count_of(frame, r)))


@handles(itertools.combinations_with_replacement)
def _with_replacement(frame: Frame, values: Value, r: Value) -> Value:
    items = few_items(frame, values, None)
    count = _count_of(frame, r)
    return Combinations(values, count, 0) if items is None else list(itertools.combinations_with_replacement(items, count))


@handles(itertools.permutations)
def _permutations(frame: Frame, values: Value, r: Value = None) -> Value:
    return list(itertools.permutations(static_items(frame, values, None), None if r is None else _count_of(frame, r)))


@handles(itertools.chain)
def _chain(frame: Frame, *values: Value) -> Value:
    known = [known_items(frame, v, None) for v in values]
    parts = tuple(v if k is None else k for v, k in zip(values, known, strict=True))  # what an iterator has given, it does not give again
    return Chain(parts) if any(k is None for k in known) else [v for k in known for v in k or ()]


@handles(itertools.chain.from_iterable)
def _chained(frame: Frame, values: Value) -> Value:
    return _chain(frame, *static_items(frame, values, None))


@handles(itertools.pairwise)
def _pairwise(frame: Frame, values: Value) -> Value:
    items = known_items(frame, values, None)
    if items is not None:
        return list(itertools.pairwise(items))
    if isinstance(values, Sym):
        return Zip((load(frame, values, slice(None, -1, None), None), load(frame, values, slice(1, None, None), None)))
    counted = count_items(frame, values, None)
    length = frame.call(max, (operations.binary(frame, gast.Sub, counted.length, 1), 0), {})
    return Counted(length, lambda k: (counted.item(k), counted.item(operations.binary(frame, gast.Add, k, 1))))


@handles(itertools.tee)
def _tee(frame: Frame, values: Value, n: Value = 2) -> Value:
    """Iterators that do not know of each other. What one takes is kept for the others: of lists and arrays, which may change in between, it is refused."""
    known = None if isinstance(values, (Sym, Growing, list)) else known_items(frame, values, None)
    items = values if isinstance(values, (tuple, Range)) else None if known is None else tuple(known)
    if items is None or type(static_of(n)) is not int:
        what = "`itertools.tee` of a list or an array, which may change between its iterators"
        raise errors.UnsupportedSyntaxError(what, frame.builder.loc, hint="use itertools.pairwise, zip(x, x[1:]), or a tuple: itertools.tee(tuple(x))")
    return tuple(construct(frame, Cursor, (items,), {}) if isinstance(items, tuple) else _iter(frame, items) for _ in range(static_of(n)))


@handles(itertools.repeat)
def _repeat(frame: Frame, value: Value, times: Value = None) -> Value:
    known = static_of(times)
    return [value] * known if isinstance(known, int) else Counted(times, lambda k: value)


@handles(itertools.count)
def _count(frame: Frame, start: Value = 0, step: Value = 1) -> Value:
    return Counted(None, lambda k: operations.binary(frame, gast.Add, start, operations.binary(frame, gast.Mult, k, step)))


@handles(itertools.cycle)
def _cycle(frame: Frame, values: Value) -> Value:
    items = static_items(frame, values, None)

    def item(k: Value) -> Value:
        place = operations.binary(frame, gast.Mod, k, len(items))
        return load(frame, frame.call(np.array, (items,), {}) if isinstance(place, Sym) else items, place, None)

    return Counted(None, item)


@handles(itertools.islice)
def _islice(frame: Frame, values: Value, *bounds: Value) -> Value:
    cut = slice(*bounds)
    if driver(values) is not None and cut.step is None and (cut.start is None or static_of(cut.start) == 0):
        return values if cut.stop is None else first(values, cut.stop)
    items = known_items(frame, values, None)
    if items is not None:
        return items[static_of(cut)]
    if isinstance(values, Sym):
        return load(frame, values, cut, None)
    if isinstance(values, Range) and values.known is not None:
        return list(values.known[static_of(cut)])
    if isinstance(values, Counted) and values.length is None and cut.start is None and cut.step is None:
        return Counted(cut.stop, values.item)
    raise errors.NeedStaticError("`itertools.islice` of this is not supported", frame.builder.loc, hint="slice a list or an array")


@handles(itertools.groupby)
def _groupby(frame: Frame, iterable: Value, key: Value = None) -> Value:
    """Keys, each with the list of its items."""
    items = static_items(frame, iterable, None)
    keys = [item if key is None else frame.call(key, (item,), {}) for item in items]
    if not all(is_static(k) for k in keys):
        raise errors.NeedStaticError("`groupby` needs keys known at compile time", frame.builder.loc, hint="write a loop that compares each item with the last")
    groups: list[Value] = []
    for place, same in itertools.groupby(range(len(items)), lambda at: static_of(keys[at])):
        groups.append((place, [items[at] for at in same]))
    return groups


@handles(itertools.zip_longest)
def _zip_longest(frame: Frame, *values: Value, fillvalue: Value = None) -> Value:
    return list(itertools.zip_longest(*(static_items(frame, v, None) for v in values), fillvalue=fillvalue))


@handles(itertools.starmap)
def _starmap(frame: Frame, function: Value, values: Value) -> Value:
    if not changes_nothing(function):
        return frame.call(_starred, (function, values), {})
    items = known_items(frame, values, None)
    if items is not None:
        return [frame.call(function, tuple(v), {}) for v in items]
    counted = count_items(frame, values, None)
    return Counted(counted.length, lambda k: frame.call(function, tuple(counted.item(k)), {}))


def _starred(function, values):  # type: ignore[no-untyped-def]
    for v in values:
        yield function(*v)


@handles(itertools.filterfalse)
def _filterfalse(frame: Frame, function: Value, values: Value) -> Value:
    return frame.call(filtered, (function, values, False), {})


@handles(itertools.takewhile)
def _takewhile(frame: Frame, function: Value, values: Value) -> Value:
    return frame.call(_taken, (function, values), {})


def _taken(function, values):  # type: ignore[no-untyped-def]
    for v in values:
        if not function(v):
            break
        yield v


@handles(itertools.dropwhile)
def _dropwhile(frame: Frame, function: Value, values: Value) -> Value:
    return frame.call(_dropped, (function, values), {})


def _dropped(function, values):  # type: ignore[no-untyped-def]
    dropping = True
    for v in values:
        dropping = dropping and bool(function(v))
        if not dropping:
            yield v


def _known(frame: Frame, function: Value, what: str) -> Callable[[Value], bool]:
    def test(v: Value) -> bool:
        cond = operations.truth(frame, frame.call(function, (v,), {}))
        if isinstance(cond, Sym):
            raise errors.NeedStaticError(f"`{what}` needs conditions known at compile time", frame.builder.loc, hint="write a loop with `break`")
        return bool(cond)

    return test


@handles(itertools.accumulate)
def _accumulate(frame: Frame, values: Value, func: Value = None, *, initial: Value = None) -> Value:
    function = operator.add if func is None else func
    items = known_items(frame, values, None)
    if items is not None:
        items = items if initial is None else [initial, *items]
        totals = items[:1]
        for v in items[1:]:
            totals.append(frame.call(function, (totals[-1], v), {}))
        return totals
    array = growing.as_array(frame, values) if isinstance(values, Growing) else values
    if function is operator.add and initial is None and isinstance(array, Sym) and array.type.rank == 1:
        return frame.call(np.cumsum, (array,), {})
    return _totals(frame, count_items(frame, values, None), function, initial)


def _totals(frame: Frame, counted: Counted, function: Value, initial: Value) -> Value:
    """The list that `itertools.accumulate` gives for items of unknown number."""
    total, totals = frame.hidden_name("total"), frame.hidden_name("totals")
    frame.counts[total] = 2
    frame.bind(total, counted.item(0) if initial is None else initial)
    frame.env[totals] = [frame.keep(frame.lookup(total))]

    def body(k: Sym) -> None:
        frame.bind(total, frame.call(function, (frame.lookup(total), counted.item(k)), {}))
        frame.call(Method(frame.env[totals], "append"), (frame.lookup(total),), {})

    counted_loop(frame, counted.length, body, "k", {total}, start=1 if initial is None else 0)
    return frame.env.pop(totals)


class Cursor:
    """`iter(items)`: items and the place of the next one."""

    consumes = True  # what a loop takes of it is gone, as is what its body takes by `next`

    def __init__(self, items):  # type: ignore[no-untyped-def]
        self.items = items
        self.at = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        while self.at < len(self.items):
            self.at += 1
            yield self.items[self.at - 1]


def stepping(frame: Frame, name: str, value: Generator) -> Value:
    """What a name stands for that is given a generator: one that `next` asks is a list of items, and the place of the next one."""
    items = stepped(frame, name, value)
    return value if items is None else construct(frame, Cursor, (items,), {})


@handles(iter)
def _iter(frame: Frame, values: Value) -> Value:
    """In an `__iter__`, what is iterated over; else an object that `next` and loops take items from."""
    if frame.source.name == "__iter__" or isinstance(values, Record) and values.cls is Cursor or isinstance(values, Generator):
        return values
    if isinstance(values, Sym) and not values.type.rank or is_number(values):
        count_items(frame, values, None)  # which raises
    kept = isinstance(values, (Sym, Growing, list)) and not isinstance(values, DictView)  # what is written to them is found later
    if not kept and not _lasting(values):
        return frame.call(iterator, (values,), {})
    items = values if kept else known_items(frame, values, None)
    if items is None:
        counted = count_items(frame, values, None)
        if not is_static(counted.length) or counted.length is None:
            raise errors.NeedStaticError("`iter` of items of unknown number", frame.builder.loc, hint="loop over the values, or index them")
        items = [counted.item(k) for k in range(counted.length)]
    return construct(frame, Cursor, (items,), {})


def iterator(values):  # type: ignore[no-untyped-def]
    yield from values


def _lasting(values: Value) -> bool:
    """Whether the items are the same whenever they are asked for: nothing that is computed, or may be written to."""
    if isinstance(values, Zip):
        return all(map(_lasting, values.inners))
    if isinstance(values, (Enumerate, Reversed)):
        return _lasting(values.inner)
    return isinstance(values, (tuple, str, Range)) and not isinstance(values, Record)


def _first_of(frame: Frame, items: Value, *default: Value) -> Value:
    some = operations.binary(frame, gast.Gt, frame.call(len, (items,), {}), 0)
    if not isinstance(some, Sym):
        if some or default:
            return load(frame, items, 0, None) if some else default[0]
        raise errors.ShapeError("StopIteration: there is no next item", frame.builder.loc) from StopIteration()

    def stop() -> Value:
        if default:
            return default[0]
        emit_raise(frame, "StopIteration", "")
        raise Leaves(StopIteration)

    return branch(frame, some, lambda: load(frame, items, 0, None), stop, "_t")


def _next_or(values, default):  # type: ignore[no-untyped-def]
    try:
        return next(values)
    except StopIteration:
        return default


@handles(next)
def _next(frame: Frame, cursor: Value, *default: Value) -> Value:
    if id(cursor) in frame.builder.once and id(cursor) not in frame.builder.consumed:
        return _first_of(frame, cursor, *default)  # a generator expression that has no name
    if isinstance(cursor, Generator):
        cursor = construct(frame, Cursor, (first_few(frame, cursor, 1),), {})
    if isinstance(cursor, Record) and isinstance(step := look("raw", cursor.cls, "__next__"), FunctionType):
        return frame.call(_next_or, (cursor, *default), {}) if default else frame.call(step, (cursor,), {})
    if not isinstance(cursor, Record) or cursor.cls is not Cursor:
        raise errors.UnsupportedSyntaxError("`next` of what `iter` did not make is not supported", frame.builder.loc, hint="write next(iter(...)), or a loop")
    refuse_spent(frame, cursor)
    items, at = cursor.fields["items"], cursor.fields["at"]
    more = operations.binary(frame, gast.Lt, at, frame.call(len, (items,), {}))

    def take() -> Value:
        frame.mutate(cursor)
        cursor.fields["at"] = operations.binary(frame, gast.Add, at, 1)
        return load(frame, items, at, None)

    def stop() -> Value:
        if default:
            return default[0]
        emit_raise(frame, "StopIteration", "")
        raise Leaves(StopIteration)

    if isinstance(more, Sym):
        return branch(frame, more, take, stop, "_t")
    if not more and not default:
        raise errors.ShapeError("StopIteration: there is no next item", frame.builder.loc) from StopIteration()
    return take() if more else default[0]


# --------------------------------------------------------------------------- operator


def getter(frame: Frame, function: Any, args: tuple[Value, ...]) -> Value:
    """A call of an `operator.itemgetter`, `attrgetter` or `methodcaller`."""
    from stgrad.frontend.arrays import get

    keys = function.__reduce__()[1]
    if isinstance(function, operator.itemgetter):
        found = [load(frame, args[0], key, None) for key in keys]
    elif isinstance(function, operator.attrgetter):
        found = [get(frame, args[0], key, None) for key in keys]
    else:
        return frame.call(get(frame, args[0], keys[0], None), keys[1:], {})
    return found[0] if len(found) == 1 else tuple(found)


__all__ = ["getter", "is_static"]
