"""Comprehensions: what they take from other values, as a list; and whether it is seen that items are computed at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from stgrad import errors
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.generators import Consumer, drive, driver
from stgrad.frontend.heap import contents, reachable
from stgrad.frontend.iteration import few_items, iterated, visit
from stgrad.frontend.live import Live, may_change
from stgrad.frontend.loops import counted_loop
from stgrad.frontend.optionals import unwrapped
from stgrad.frontend.rolling import long, roll
from stgrad.frontend.values import Chosen, Growing, Method, Sym, Value, is_static
from stgrad.ir import Effect, Store, assigned, walk


def _each(frame: Frame, value: Value, trip: Callable[[Value], None], node: Any, *, rolls: bool = False) -> None:
    """`trip` of each item; a few known ones are written out, and many constants unless the loop `rolls`."""
    found = long(frame, value, node, ranges=True) if rolls else None
    if found is not None and roll(frame, found, trip, lambda: counted_loop(frame, found.length, lambda k: trip(found.item(k)), "k", set())):
        return
    if driver(value) is not None:
        drive(frame, value, Consumer(trip, set()), node)
        return
    if may_change(value):
        live, k = Live(frame, value, node), 0
        while is_static(length := live.length()) and k < length:
            trip(live.item(k))
            live.check()
            k += 1
        live.close()
        if is_static(length):
            return
        if k:
            raise errors.NeedStaticError("a list begins to grow while a comprehension runs over it", frame.loc(node), hint="write the comprehension as a loop")
    items = few_items(frame, value, node)
    if items is None:
        visit(frame, value, trip, set(), node)
    for item in items or ():
        trip(item)


def comprehension(frame: Frame, node: Any, element: Callable[[Frame], Value]) -> Value:
    """The items of a comprehension, as a list; one that grows where their number is not known."""
    for bound in (n.target.id for n in gast.walk(node) if isinstance(n, gast.NamedExpr)):
        if frame.counts.get(bound):
            frame.unsupported(node, f"`{bound}` is bound by a comprehension and outside of it", hint="write the comprehension as a loop")
    inner = Frame(
        frame.builder, frame.source, {}, frame, {}, frame.depth, frame.unroll, None, frame.captured, frame.owned
    )
    name = frame.hidden_name("items")
    inner.env[name] = []
    makes_list = isinstance(node, (gast.ListComp, gast.GeneratorExp))  # others need to know all keys

    def generate(level: int) -> None:
        if level == len(node.generators):
            inner.call(Method(inner.env[name], "append"), (element(inner),), {})
            return
        generator = node.generators[level]
        value = iterated(inner, inner.evaluate(generator.iter))

        def trip(item: Value) -> None:
            inner.assign(generator.target, item)
            _filtered(inner, generator.ifs, lambda: generate(level + 1))

        ends_open = bool(generator.ifs) and not isinstance(value, Growing)  # of constants, a filter leaves a number that is known where each is tried
        _each(inner, value, trip, generator.iter, rolls=makes_list and not ends_open)

    with inner.active():
        generate(0)
    return inner.env[name]


def element_of(frame: Frame, node: Any) -> Value:
    """An item of a list: one of several texts as it is."""
    value = frame.evaluate_raw(node)
    return value if isinstance(value, Chosen) else unwrapped(frame, value)


def unseen(frame: Frame, made: Callable[[], Value], who: str, node: Any) -> Value:
    """What is computed before it is asked for, or in vain; refused where that is seen: something outside changes, or is printed."""
    builder, start = frame.builder, len(frame.builder.out)
    names, held = set(builder.types), {k: contents(c) for k, c in reachable(frame).items()}
    value = made()
    block = tuple(builder.out[start:])
    stored = {s.target.name for s in walk(block) if isinstance(s, Store)}
    changed = any(_differ(held[k], contents(c)) for k, c in reachable(frame).items() if k in held and c is not value)
    if changed or names & (stored | set(assigned(block))) or any(isinstance(s, Effect) and s.op == "print" for s in walk(block)):
        raise errors.UnsupportedSyntaxError(
            f"{who} may leave items whose evaluation changes something",
            builder.loc if node is None else frame.loc(node),
            reason="the items are computed at once here",
            hint="write a loop with `break`",
        )
    return value


def _differ(before: dict[Any, Value], now: dict[Any, Value]) -> bool:
    return before.keys() != now.keys() or any(before[k] is not now[k] for k in before)


TEST: list[Callable[..., Value]] = []  # `stgrad.frontend.expressions.condition`, which is built on this module


def _filtered(frame: Frame, conditions: list[Any], then: Callable[[], None]) -> None:
    """`then()` where all conditions of a comprehension hold."""
    if not conditions:
        then()
        return
    cond = TEST[0](frame, conditions[0])
    if isinstance(cond, Sym):
        branch(frame, cond, lambda: _filtered(frame, conditions[1:], then), lambda: None, "_t")
    elif cond:
        _filtered(frame, conditions[1:], then)
