"""What `for` runs over: a known sequence, unrolled, or a count and a way to get the k-th item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import lists, load
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.operations import binary, extent, truth
from stgrad.frontend.values import Growing, Method, Sym, Value, is_static, static_of

SHORT = 16  # comprehensions of so few items are written out


@dataclass(frozen=True, eq=False)
class Range:
    """`range(start, stop, step)`, bounds known or not."""

    start: Value
    stop: Value
    step: Value

    @property
    def known(self) -> range | None:
        bounds = static_of((self.start, self.stop, self.step))
        return range(*bounds) if is_static(bounds) else None


@dataclass(frozen=True, eq=False)
class Enumerate:
    inner: Value
    start: Value


@dataclass(frozen=True, eq=False)
class Zip:
    inners: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Reversed:
    inner: Value


@dataclass(frozen=True, eq=False)
class Mapped:
    """`map(function, *inners)`."""

    function: Value
    inners: Value  # a Zip


@dataclass(frozen=True)
class Counted:
    """`length` items, the k-th is `item(k)`."""

    length: Value
    item: Callable[[Value], Value]


def known_items(frame: Frame, value: Value, node: Any) -> list[Value] | None:
    """The items where their number is known and they are not numbers of a range or rows of an array."""
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
    if isinstance(value, (Sym, Growing)) or _is_flat(value):
        return None
    if is_static(value) and hasattr(value, "__iter__") and not isinstance(value, np.ndarray):
        return list(value)
    raise errors.TypeInferenceError(f"a {type(value).__name__} cannot be iterated over", frame.loc(node))


def _known_zip(frame: Frame, value: Zip, node: Any) -> list[Value] | None:
    columns = [known_items(frame, inner, node) for inner in value.inners]
    lengths = [len(c) for c in columns if c is not None]
    if not lengths:
        return None
    shortest = min(lengths)
    full = [c if c is not None else _first_items(frame, inner, shortest, node) for c, inner in zip(columns, value.inners, strict=True)]
    return list(zip(*full, strict=False))


def _first_items(frame: Frame, value: Value, count: int, node: Any) -> list[Value]:
    counted = count_items(frame, value, node)
    if not is_static(counted.length):
        raise errors.NeedStaticError("zip of a list and an array needs an array of known length", frame.loc(node))
    return [counted.item(k) for k in range(min(count, counted.length))]


def _is_flat(value: Value) -> bool:
    return isinstance(value, Method) and value.name == "flat"


def count_items(frame: Frame, value: Value, node: Any) -> Counted:
    """Number and access of the items of a value whose length is not known."""
    if _is_flat(value):
        value = frame.call(np.ravel, (value.owner,), {})
    if isinstance(value, Range):
        return Counted(range_length(frame, value), lambda k: _affine(frame, value.start, k, value.step))
    if isinstance(value, Sym):
        if not value.type.rank:
            raise errors.TypeInferenceError("a scalar cannot be iterated over", frame.loc(node))
        return Counted(extent(frame, value, 0), lambda k: load(frame, value, k, node))
    if isinstance(value, Growing):
        return Counted(value.count, lambda k: lists().item(frame, value, k))
    if isinstance(value, Enumerate):
        inner = count_items(frame, value.inner, node)
        return Counted(inner.length, lambda k: (_affine(frame, value.start, k, 1), inner.item(k)))
    if isinstance(value, Zip):
        inners = [count_items(frame, v, node) for v in value.inners]
        length = inners[0].length
        for other in inners[1:]:
            if not (isinstance(length, Sym) and isinstance(other.length, Sym) and length.type.value == other.length.type.value is not None):
                length = frame.call(min, (length, other.length), {})
        return Counted(length, lambda k: tuple(i.item(k) for i in inners))
    if isinstance(value, Mapped):
        arguments = count_items(frame, value.inners, node)
        return Counted(arguments.length, lambda k: frame.call(value.function, tuple(arguments.item(k)), {}))
    if isinstance(value, Reversed):
        turned = count_items(frame, value.inner, node)
        return Counted(turned.length, lambda k: turned.item(_affine(frame, binary(frame, gast.Sub, turned.length, 1), k, -1)))
    items = known_items(frame, value, node)
    raise errors.NeedStaticError("this loop mixes known items and items of unknown number", frame.loc(node), reason=f"{len(items or ())} known items")


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
    # ceil(span / step) for either sign
    count = binary(frame, gast.FloorDiv, binary(frame, gast.Sub, 0, span), step)
    return frame.call(max, (binary(frame, gast.Sub, 0, count), 0), {})


def range_position(frame: Frame, r: Range, k: Value) -> Value:
    """How many items of a range come before k."""
    if static_of(r.start) == 0 and static_of(r.step) == 1:
        return k
    done = binary(frame, gast.Sub, k, r.start)
    step = static_of(r.step)
    if step == 1:
        return done
    return binary(frame, gast.Sub, r.start, k) if is_static(step) and step == -1 else binary(frame, gast.FloorDiv, done, r.step)


def comprehension(frame: Frame, node: Any, element: Callable[[Frame], Value]) -> Value:
    """The items of a comprehension, as a list; one that grows where their number is not known."""
    inner = Frame(
        frame.builder, frame.source, {}, frame, {}, frame.depth, frame.unroll, None, frame.captured, frame.owned
    )
    name = frame.hidden_name("items")
    inner.env[name] = []

    def generate(level: int) -> None:
        if level == len(node.generators):
            inner.call(Method(inner.env[name], "append"), (element(inner),), {})
            return
        generator = node.generators[level]
        value = inner.evaluate(generator.iter)

        def trip(item: Value) -> None:
            inner.assign(generator.target, item)
            _filtered(inner, generator.ifs, lambda: generate(level + 1))

        items = _few_items(inner, value, generator.iter)
        if items is None:
            counted = count_items(inner, value, generator.iter)
            counted_loop(inner, counted.length, lambda k: trip(counted.item(k)), "k")
        for item in items or ():
            trip(item)

    with inner.active():
        generate(0)
    return inner.env[name]


def _filtered(frame: Frame, conditions: list[Any], then: Callable[[], None]) -> None:
    """`then()` where all conditions of a comprehension hold."""
    if not conditions:
        then()
        return
    cond = truth(frame, frame.evaluate(conditions[0]), conditions[0])
    if isinstance(cond, Sym):
        branch(frame, cond, lambda: _filtered(frame, conditions[1:], then), lambda: None, "_t")
    elif cond:
        _filtered(frame, conditions[1:], then)


def _few_items(frame: Frame, value: Value, node: Any) -> list[Value] | None:
    """The items where their number is known and small."""
    items = known_items(frame, value, node)
    if items is not None or isinstance(value, Range) and not _short(value):
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
