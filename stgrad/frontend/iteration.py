"""What `for` runs over: a known sequence, unrolled, or a count and a way to get the k-th item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend.cursors import is_cursor, refuse_spent
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import current
from stgrad.frontend.indexing import above, load
from stgrad.frontend.iterated_objects import asked, gives_items
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.operations import binary, extent
from stgrad.frontend.text import known_text
from stgrad.frontend.values import Generator, Growing, Method, Record, Sym, Value, Waiting, a_kind, is_static, operand_of, static_of
from stgrad.ir import Const, Effect, If
from stgrad.lookups import called

COLLECT: list[Callable[..., Value]] = []  # the items of a generator, by `stgrad.frontend.generators`
SHORT = 16  # comprehensions of so few items are written out


@dataclass(frozen=True, eq=False)
class Range(Waiting):
    """`range(start, stop, step)`, bounds known or not."""

    start: Value
    stop: Value
    step: Value

    @property
    def known(self) -> range | None:
        bounds = static_of((self.start, self.stop, self.step))
        return called(range, *bounds) if is_static(bounds) else None


@dataclass(frozen=True, eq=False)
class Enumerate(Waiting):
    inner: Value
    start: Value


@dataclass(frozen=True, eq=False)
class Zip(Waiting):
    inners: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Reversed(Waiting):
    inner: Value


@dataclass(frozen=True, eq=False)
class Mapped(Waiting):
    """`map(function, *inners)`."""

    function: Value
    inners: Value  # a Zip


@dataclass(frozen=True, eq=False)
class Product(Waiting):
    """`itertools.product(*inners)`."""

    inners: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Combinations(Waiting):
    """`itertools.combinations(inner, r)`: the place of an item is at least `gap` behind that of the one before."""

    inner: Value
    r: int
    gap: int


@dataclass(frozen=True, eq=False)
class Chain(Waiting):
    """`itertools.chain(*inners)`."""

    inners: tuple[Value, ...]


@dataclass(frozen=True)
class Counted:
    """`length` items, the k-th is `item(k)`; without end if the length is None."""

    length: Value
    item: Callable[[Value], Value]


def entries(value: Value) -> Value:
    """The list of run-time length, or the two lists, that hold what a dict with keys of the running program is iterated over for; None for other values."""
    if not isinstance(value, Record) or not hasattr(value.cls, "stands_for"):
        return None
    if "table" not in value.fields:
        return value.fields["names"] if "held" in value.fields else None
    table = value.fields["table"].fields
    return table["held"] if value.fields["name"] == "values" else Zip((table["names"], table["held"]))


def takes(value: Value) -> bool:
    """Whether to ask for the items takes them off an iterator."""
    if isinstance(value, (Enumerate, Reversed)):
        return takes(value.inner)
    return any(map(takes, value.inners)) if isinstance(value, Zip) else takes(value.inners) if isinstance(value, Mapped) else is_cursor(value)


def iterated(frame: Frame, value: Value, *, whole: bool = True) -> Value:
    """What a loop over a value goes through: of an instance, what its `__iter__` gives, which is asked for once. `whole`: nothing ends the loop before."""
    value = current(value)
    refuse_spent(frame, value)
    if whole and is_cursor(value):
        return value
    if isinstance(value, Record) and gives_items(value.cls):
        return asked(frame, value)
    return value


def rows(frame: Frame, array: Sym, count: int | None, message: str, node: Any) -> list[Value] | None:
    """The items of an array's first axis: as many as it is known to have, else `count`, which the running program tests; None if neither is known."""
    length = extent(frame, array, 0)
    if isinstance(length, Sym):
        if count is None:
            return None
        frame.builder.emit(Effect("check_equal", (length.operand, Const(count), Const(message)), (), frame.builder.loc))
    return [load(frame, array, i, node) for i in range(count if isinstance(length, Sym) else length)]


def known_items(frame: Frame, value: Value, node: Any) -> list[Value] | None:
    """The items where their number is known and they are not numbers of a range or rows of an array."""
    value = current(value)
    known_text(frame, value)
    if isinstance(value, Generator):
        return known_items(frame, COLLECT[0](frame, value, node), node)
    if isinstance(value, (tuple, list)):
        return list(value)
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, Range):
        return list(value.known) if frame.unroll and value.known is not None else None
    if isinstance(value, Enumerate):
        items = known_items(frame, value.inner, node)
        return None if items is None else [(binary(frame, gast.Add, i, value.start) if value.start != 0 else i, v) for i, v in enumerate(items)]
    if isinstance(value, Reversed):
        items = known_items(frame, value.inner, node)
        return None if items is None else items[::-1]
    if isinstance(value, Zip):
        return _known_zip(frame, value, node)
    if isinstance(value, Mapped):
        items = known_items(frame, value.inners, node)
        return None if items is None else [frame.call(value.function, tuple(item), {}) for item in items]
    if isinstance(value, Chain):
        return _known_chain(frame, value, node)
    if isinstance(value, (Sym, Growing, Counted, Product, Combinations)) or _is_flat(value):
        return None
    if (held := entries(value)) is not None:
        return known_items(frame, held, node)
    if is_cursor(value):
        rest = value.fields["items"][value.fields["at"] :]
        value.fields["at"] += len(rest)
        frame.mutate(value)
        return list(rest)
    if isinstance(value, Record) and gives_items(value.cls):
        return known_items(frame, asked(frame, value), node)
    if is_static(value) and not isinstance(value, np.ndarray) and any(hasattr(type(value), name) for name in ("__iter__", "__getitem__")):
        return called(list, value)
    number = isinstance(value, (int, float, complex)) or value is None  # Python's own error is certain of these
    cause = TypeError(f"'{type(value).__name__}' object is not iterable") if number else None
    raise errors.TypeInferenceError(f"{a_kind(value)} cannot be iterated over", frame.loc(node)) from cause


def _known_chain(frame: Frame, value: Chain, node: Any) -> list[Value] | None:
    """The items of lists, and of arrays of known extents; nothing is asked for that an iterator would have given for good then."""
    if not all(isinstance(v, (tuple, list)) or isinstance(v, Sym) and v.type.rank and is_static(extent(frame, v, 0)) for v in value.inners):
        return None
    parts = [few_items(frame, v, node) for v in value.inners]
    return None if None in parts else [item for part in parts for item in part or ()]


def _known_zip(frame: Frame, value: Zip, node: Any) -> list[Value] | None:
    cursors = [v for v in value.inners if isinstance(v, Record) and hasattr(v.cls, "consumes")]
    if len({id(v) for v in cursors}) < len(cursors):  # zip(it, it): each takes the next one
        if len({id(v) for v in value.inners}) > 1 or not is_cursor(cursors[0]):
            raise errors.UnsupportedSyntaxError("one iterator stands twice in a `zip`", frame.loc(node), hint="slice: zip(x[::2], x[1::2])")
        rest, width = known_items(frame, cursors[0], node) or [], len(cursors)
        return [tuple(rest[k : k + width]) for k in range(0, len(rest) - width + 1, width)]
    columns = [inner.fields["items"][inner.fields["at"] :] if is_cursor(inner) else known_items(frame, inner, node) for inner in value.inners]
    lengths = [len(c) for c in columns if c is not None]
    if not lengths:
        return None
    shortest = min(lengths)
    for place, inner in enumerate(value.inners):
        if is_cursor(inner):  # in front of the one that ends, it has given one more by then
            frame.mutate(inner)
            gives_more = all(len(c) > shortest for c in columns[: place + 1] if c is not None)
            if gives_more and any(c is None for c in columns[:place]):
                raise gives_one_more(frame, node)
            inner.fields["at"] += shortest + gives_more
    full = [c if c is not None else first_items(frame, inner, shortest, node) for c, inner in zip(columns, value.inners, strict=True)]
    return list(zip(*full, strict=False))


def gives_one_more(frame: Frame, node: Any) -> errors.StgradError:
    """What is said where an iterator may give a `zip` an item that it drops."""
    what = "an iterator beside something shorter in a `zip` gives an item that is dropped, and which one is not known here"
    return errors.UnsupportedSyntaxError(what, frame.loc(node) if node is not None else frame.builder.loc, hint="make it a list: list(...)")


def first_items(frame: Frame, value: Value, count: int, node: Any) -> list[Value]:
    """So many items of a value of unknown length, which the program tests to be there; where the test has failed, the length must be known."""
    counted = count_items(frame, value, node)
    if is_static(counted.length):
        return [counted.item(k) for k in range(count if counted.length is None else min(count, counted.length))]
    if ASSUMPTION.get().run_time:
        raise errors.NeedStaticError(
            f"an array that a `zip` pairs with {count} items may be shorter",
            frame.loc(node) if node is not None else frame.builder.loc,
            reason="how many items it has must be known when the program is made",
            hint="loop over the positions: for k in range(min(len(items), len(x)))",
        )
    ASSUMPTION.get().note(inside=True)
    short = binary(frame, gast.Lt, counted.length, count)
    message = Effect("raise", (Const("ValueError"), Const(errors.with_line(errors.FEWER, frame.builder.loc))), (), frame.builder.loc)
    frame.builder.emit(If(short.operand, (message,), (), frame.builder.loc))
    return [counted.item(k) for k in range(count)]


def _is_flat(value: Value) -> bool:
    return isinstance(value, Method) and value.name == "flat"


def count_items(frame: Frame, value: Value, node: Any) -> Counted:
    """Number and access of the items of a value whose length is not known."""
    value = current(value)
    if isinstance(value, Generator):
        value = COLLECT[0](frame, value, node)
    if _is_flat(value):
        value = frame.call(np.ravel, (value.owner,), {})
    if isinstance(value, Range):
        return Counted(range_length(frame, value), lambda k: _affine(frame, value.start, k, value.step))
    if isinstance(value, Sym):
        if not value.type.rank:
            raise errors.TypeInferenceError("a scalar cannot be iterated over", frame.loc(node)) from TypeError("a number is not iterable")
        return Counted(extent(frame, value, 0, bound=True), lambda k: load(frame, value, k, node))
    if isinstance(value, Growing):
        return Counted(value.count, lambda k: above("growing").item(frame, value, k))
    if isinstance(value, Enumerate):
        inner = count_items(frame, value.inner, node)
        return Counted(inner.length, lambda k: (_affine(frame, value.start, k, 1), inner.item(k)))
    if isinstance(value, Zip):
        return _zipped(frame, [count_items(frame, v, node) for v in value.inners])
    if isinstance(value, Mapped):
        arguments = count_items(frame, value.inners, node)
        return Counted(arguments.length, lambda k: frame.call(value.function, tuple(arguments.item(k)), {}))
    if isinstance(value, Reversed):
        turned = count_items(frame, value.inner, node)
        return Counted(turned.length, lambda k: turned.item(_affine(frame, binary(frame, gast.Sub, turned.length, 1), k, -1)))
    if isinstance(value, Counted):
        return value
    if isinstance(value, Product):
        return _product(frame, [count_items(frame, v, node) for v in value.inners])
    if (held := entries(value)) is not None:
        return count_items(frame, held, node)
    if isinstance(value, Chain) and all(isinstance(v, Sym) and v.type.rank == 1 for v in value.inners):
        return count_items(frame, frame.call(np.concatenate, (value.inners,), {}), node)
    items = known_items(frame, value, node)
    raise errors.NeedStaticError("this loop mixes known items and items of unknown number", frame.loc(node), reason=f"{len(items or ())} known items")


def _zipped(frame: Frame, inners: list[Counted]) -> Counted:
    """Items side by side, as many as the shortest has."""
    ends = [i for i in inners if i.length is not None] or inners
    length = ends[0].length
    for other in ends[1:]:
        if not (isinstance(length, Sym) and isinstance(other.length, Sym) and length.type.value == other.length.type.value is not None):
            length = frame.call(min, (length, other.length), {})
    return Counted(length, lambda k: tuple(i.item(k) for i in inners))


def _product(frame: Frame, inners: list[Counted]) -> Counted:
    """The last one runs fastest."""
    length: Value = 1
    for inner in inners:
        length = inner.length if is_static(length) and length == 1 else binary(frame, gast.Mult, length, inner.length)

    def item(k: Value) -> Value:
        items: list[Value] = []
        for inner in reversed(inners):
            items.insert(0, inner.item(binary(frame, gast.Mod, k, inner.length)))
            k = binary(frame, gast.FloorDiv, k, inner.length)
        return tuple(items)

    return Counted(length, item)


def visit(frame: Frame, value: Value, trip: Callable[[Value], None], names: set[str], node: Any) -> None:
    """`for item in value: trip(item)`, for items of unknown number; `names` are the local names that a trip may bind."""
    if isinstance(value, Product):
        _visit_product(frame, value.inners, trip, names, node)
    elif isinstance(value, Combinations):
        _visit_combinations(frame, value, trip, names, node)
    elif isinstance(value, Chain):
        for inner in value.inners:
            visit(frame, inner, trip, names, node)
    elif (items := known_items(frame, value, node)) is not None:
        for item in items:
            trip(item)
    else:
        counted = count_items(frame, value, node)
        if counted.length is None:
            raise errors.UnsupportedSyntaxError("a loop over an iterator without end", frame.builder.loc, hint="write `while True:` and count yourself")
        counted_loop(frame, counted.length, lambda k: trip(counted.item(k)), "k", names)


def _visit_product(frame: Frame, inners: tuple[Value, ...], trip: Callable[[Value], None], names: set[str], node: Any) -> None:
    def level(depth: int, items: tuple[Value, ...]) -> None:
        if depth == len(inners):
            trip(items)
        else:
            visit(frame, inners[depth], lambda item: level(depth + 1, (*items, item)), names, node)

    level(0, ())


def _visit_combinations(frame: Frame, value: Combinations, trip: Callable[[Value], None], names: set[str], node: Any) -> None:
    counted = count_items(frame, value.inner, node)

    def level(start: Value, items: tuple[Value, ...]) -> None:
        def body(k: Sym) -> None:
            level(k if not value.gap else binary(frame, gast.Add, k, value.gap), (*items, counted.item(k)))

        if len(items) == value.r:
            trip(items)
        else:
            counted_loop(frame, counted.length, body, "k", names, start=start)

    level(0, ())


def _affine(frame: Frame, start: Value, k: Value, step: Value) -> Value:
    scaled = k if static_of(step) == 1 else binary(frame, gast.Mult, k, step)
    return scaled if static_of(start) == 0 else binary(frame, gast.Add, start, scaled)


def range_length(frame: Frame, r: Range) -> Value:
    """`len(range(start, stop, step))`."""
    if r.known is not None:
        return len(r.known)
    step = static_of(r.step)
    span = r.stop if static_of(r.start) == 0 else binary(frame, gast.Sub, r.stop, r.start)
    if step == 1:
        return frame.call(max, (span, 0), {}) if static_of(r.start) != 0 else span
    if is_static(step) and step == -1:
        return frame.call(max, (binary(frame, gast.Sub, r.start, r.stop), 0), {})
    if not is_static(step):
        _no_zero(frame, r.step)
    # ceil(span / step) for either sign
    count = binary(frame, gast.FloorDiv, binary(frame, gast.Sub, 0, span), step)
    return frame.call(max, (binary(frame, gast.Sub, 0, count), 0), {})


def _no_zero(frame: Frame, step: Value) -> None:
    """A range has a step."""
    zero = binary(frame, gast.Eq, step, 0)
    error = Effect("raise", (Const("ValueError"), Const("range() arg 3 must not be zero")), (), frame.builder.loc)
    frame.builder.emit(If(operand_of(zero), (error,), (), frame.builder.loc))


def range_position(frame: Frame, r: Range, k: Value) -> Value:
    """How many items of a range come before k."""
    if static_of(r.start) == 0 and static_of(r.step) == 1:
        return k
    done = binary(frame, gast.Sub, k, r.start)
    step = static_of(r.step)
    if step == 1:
        return done
    return binary(frame, gast.Sub, r.start, k) if is_static(step) and step == -1 else binary(frame, gast.FloorDiv, done, r.step)


ONCE = (Zip, Enumerate, Reversed, Mapped, Product, Combinations, Chain, Counted)


def once(frame: Frame, items: Value) -> Value:
    """The items of an iterator, which can be used once."""
    frame.builder.once[id(items)] = items
    return items


def used_once(frame: Frame, value: Value, node: Any, *, held: bool = False) -> Value:
    """A value that a name stands for, or that a container holds (`held`); an iterator is empty after its first use.

    What is put into a container is read once by its name, and once from there: two reads of a kind are two uses.
    """
    if isinstance(value, ONCE) or id(value) in frame.builder.once:
        read = frame.builder.taken if held else frame.builder.consumed
        if id(value) in read or any(id(value) in before for _, _, before in frame.builder.loops):
            frame.unsupported(node, "an iterator is used a second time", reason="it is empty after its first use", hint="make it a list: list(...)")
        read[id(value)] = value
    return value


def few_items(frame: Frame, value: Value, node: Any) -> list[Value] | None:
    """The items where their number is known and small."""
    items = known_items(frame, value, node)
    if items is not None or isinstance(value, (Product, Combinations, Chain)) or isinstance(value, Range) and not _short(value):
        return items
    counted = count_items(frame, value, node)
    few = is_static(counted.length) and counted.length <= SHORT
    return [counted.item(k) for k in range(counted.length)] if few else None


def _short(value: Value) -> bool:
    known = value.known if isinstance(value, Range) else None
    return known is not None and len(known) <= SHORT


def static_items(frame: Frame, value: Value, node: Any) -> list[Value]:
    """All items of a value, whose number must be known."""
    items = known_items(frame, value, node)
    if items is not None:
        return items
    if isinstance(value, Range) and value.known is not None:
        return list(value.known)
    counted = count_items(frame, value, node)
    if not is_static(counted.length):
        raise errors.NeedStaticError("the number of items must be known at compile time here", frame.loc(node), hint="write a loop that fills an array")
    return [counted.item(k) for k in range(counted.length)]
