"""`for` and `while`: iterations that are written out one by one, and loops of the program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.bindings import bound_names
from stgrad.frontend.checkpoints import Checkpointed, snapshots_of
from stgrad.frontend.control import branch
from stgrad.frontend.departures import Leaves, TestChanges
from stgrad.frontend.expressions import condition
from stgrad.frontend.first_trips import must_run, or_first_alone
from stgrad.frontend.flags import note_ran
from stgrad.frontend.frame import Frame, executes
from stgrad.frontend.generators import Consumer, drive, driver
from stgrad.frontend.heap import State
from stgrad.frontend.iteration import Mapped, Range, Zip, count_items, iterated, known_items, range_length, visit
from stgrad.frontend.live import Live, may_change
from stgrad.frontend.loops import counted_loop, while_loop
from stgrad.frontend.rolling import SHORTEST, Long, long, roll
from stgrad.frontend.values import Known, Sym, Value, is_number, is_static, static_of, type_of
from stgrad.ir import Operand
from stgrad.syntax.build import assign, at, constant, load


@executes(gast.For)
def for_statement(frame: Frame, node: Any) -> None:
    value = frame.keep(iterated(frame, _runs_over(frame, node.iter), whole=getattr(node, "until", None) is None))
    if driver(value) is not None:
        _driven(frame, node, value)
        return
    if isinstance(value, Checkpointed):
        ran = note_ran(frame, node, lambda: range_length(frame, value.trips))
        _range_loop(frame, node, value.trips, snapshots_of(frame, node, value))
        ran()
        return
    found = long(frame, value, node.iter)
    if found is not None and roll(frame, found, lambda item: _iteration(frame, node, item), lambda: _long_loop(frame, node, found)):
        return
    if may_change(value):
        live = Live(frame, value, node.iter)
        ran = note_ran(frame, node, live.length)
        _live_loop(frame, node, live)
        live.close()
        ran()
        return
    items = known_items(frame, value, node.iter)
    if isinstance(value, Range) and value.known is not None and not len(value.known):
        return  # its body never runs, whatever stands there
    ran = note_ran(frame, node, lambda: len(items) if items is not None else count_items(frame, value, node.iter).length)
    if items is None:
        or_first_alone(frame, lambda: _loop(frame, node, value), lambda: _behind_the_first(frame, node, count_items(frame, value, node.iter)), node)
    else:
        _trips(frame, node, items)
    ran()


def _runs_over(frame: Frame, node: Any) -> Value:
    """What a loop runs over; `np.arange` of integers is a range of NumPy's integers, whose positions are known."""
    plain = isinstance(node, gast.Call) and not node.keywords and 0 < len(node.args) < 4 and not any(isinstance(a, gast.Starred) for a in node.args)
    if not plain or not isinstance(node.func, gast.Attribute) or node.func.attr != "arange":
        return frame.evaluate(node)
    if frame.evaluate(node.func) is not np.arange:
        return frame.evaluate(node)
    args = tuple(map(frame.evaluate, node.args))
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    types = [type_of(v) for v in args if isinstance(v, Sym) or is_number(v)]
    if len(types) < len(args) or any(t.dtype != "int64" or t.array for t in types) or not is_static(static_of(step)) or static_of(step) == 0:
        return frame.call(np.arange, args, {})
    return Mapped(np.int64, Zip((Range(start, stop, step),)))


def _behind_the_first(frame: Frame, node: Any, counted: Any, done: int = 0) -> None:
    """The trip that comes after `done` others, and the loop of those behind it; or that again."""
    must_run(frame, operations.binary(frame, gast.Gt, counted.length, done))
    _iteration(frame, node, counted.item(done))
    until = getattr(node, "until", None)

    def others() -> None:
        if until is not None:
            _interrupted(frame, node, Counting(lambda: counted.length, counted.item), until, done + 1)
        else:
            counted_loop(frame, counted.length, lambda k: _iteration(frame, node, counted.item(k)), "k", bound_names([node]) - set(node.ran), done + 1)

    if until is not None or done == 2:
        others()
    else:
        or_first_alone(frame, others, lambda: _behind_the_first(frame, node, counted, done + 1), node)


def _driven(frame: Frame, node: Any, value: Value) -> None:
    """A loop that consumes a generator: its body stands in that of the generator."""
    until = getattr(node, "until", None)

    def trip(item: Value) -> None:
        if until is not None and isinstance(flag := frame.lookup(until), Sym):  # the generator goes on as long as it is down
            frame.env[until] = Known(flag.operand, flag.type, False)
        _iteration(frame, node, item)
        frame.env.update(dict.fromkeys(node.ran, True))

    stopped = None if until is None else lambda: frame.lookup(until)
    drive(frame, value, Consumer(trip, bound_names([node]), stopped), node.iter)


def _live_loop(frame: Frame, node: Any, live: Live) -> None:
    """A loop over containers that an iteration may change: one iteration after the other while their length is known, from there on a loop."""
    until = getattr(node, "until", None)
    k = 0
    while is_static(length := live.length()):
        stopped = until is not None and static_of(frame.env.get(until)) is True
        live.check(stopped)
        if k >= length or stopped:
            return
        if live.consumes and until is not None and isinstance(static_of(frame.env.get(until)), Sym):
            what = "which items a loop that may end early leaves in an iterator is known to the running program alone"
            raise errors.UnsupportedSyntaxError(what, frame.loc(node.iter), hint="loop over a list, or over the iterator itself: for v in it")
        frame.assign(node.target, live.item(k))
        frame.execute(node.body)
        k += 1
    if k or until is not None:
        _interrupted(frame, node, live, until, k)
        return
    state = State(frame)
    counted_loop(frame, length, lambda i: _iteration(frame, node, live.item(i)), "k", bound_names([node]) - set(node.ran))
    if live.has_grown():
        state.restore()
        _interrupted(frame, node, live, None, 0)


def _long_loop(frame: Frame, node: Any, found: Long) -> None:
    """A loop over constants, as one of the running program; behind it its target is the last item again, which is known."""
    until = getattr(node, "until", None)
    ran = note_ran(frame, node, lambda: found.length)
    if until is not None:
        _interrupted(frame, node, Counting(lambda: found.length, found.item), until, 0)
    else:
        counted_loop(frame, found.length, lambda k: _iteration(frame, node, found.item(k)), "k", bound_names([node]) - set(node.ran))
        if isinstance(found.length, int) and not _target_names(node) & bound_names(node.body):
            frame.assign(node.target, found.item(found.length - 1))
    ran()


def _iteration(frame: Frame, node: Any, item: Value) -> None:
    frame.assign(node.target, item)
    with frame.builder.of_trip(frame, _target_names(node) - bound_names(node.body)):
        frame.execute(node.body)


def _target_names(node: Any) -> set[str]:
    return bound_names([gast.Assign(targets=[node.target], value=None)])


def _trips(frame: Frame, node: Any, items: list[Value]) -> None:
    """A loop over items that are known, one trip after the other."""
    until = getattr(node, "until", None)
    for item in items:
        frame.assign(node.target, item)
        frame.execute(node.body)
        if until is not None and static_of(frame.env.get(until)) is True:
            break


def _loop(frame: Frame, node: Any, value: Value) -> None:
    until = getattr(node, "until", None)
    if until is not None:
        counted = count_items(frame, value, node.iter)
        if is_static(static_of(counted.length)) and static_of(counted.length) <= 0:
            return  # Numba leaves such a loop out, and what it would have pushed has no type
        _interrupted(frame, node, Counting(lambda: counted.length, counted.item), until, 0)
    elif isinstance(value, Range) and isinstance(node.target, gast.Name) and is_static(static_of(value.step)):
        _or_unrolled(frame, node, value, lambda: _range_loop(frame, node, value))
    else:
        names, trip = bound_names([node]) - set(node.ran), functools.partial(_iteration, frame, node)
        _or_unrolled(frame, node, value, lambda: visit(frame, value, trip, names, node.iter))


@dataclass(frozen=True)
class Counting:
    """As many items as were there before the loop."""

    length: Callable[[], Value]
    item: Callable[[Value], Value]

    def check(self, stopped: Value) -> None:
        """There is nothing to check."""


UNROLL = 64
WRITTEN = 1024  # trips that one program writes out where no body stands for all of a loop
_NO_BODY = (errors.NeedStaticError, errors.TypeInferenceError, errors.UnsupportedSyntaxError)


def _or_unrolled(frame: Frame, node: Any, value: Value, read: Callable[[], None]) -> None:
    """Read a loop; where its body needs an item at compile time, or no two trips are alike, and the trips are known and few, unroll it."""
    state = State(frame)
    try:
        read()
    except _NO_BODY as problem:
        state.restore()
        items = count_items(frame, value, node.iter)
        length = static_of(items.length)
        if not is_static(length) or length > UNROLL:
            raise
        try:
            for k in range(length):
                _written_out(frame, problem, functools.partial(_iteration, frame, node, items.item(k)))
        except (errors.TypeInferenceError, errors.UnsupportedSyntaxError):
            if isinstance(problem, errors.NeedStaticError):
                raise
            raise problem  # noqa: B904  (of the loop, with its own cause)


def _written_out(frame: Frame, problem: errors.StgradError, trip: Callable[[], None]) -> None:
    """One trip, for want of a body that stands for all; a program has a limit of them."""
    frame.builder.trips_written += 1
    if frame.builder.trips_written > WRITTEN:
        raise problem
    trip()


def _few_trips(frame: Frame, test: Callable[[], Value], body: Callable[[], None], node: Any) -> bool:
    """Whether a `while` is known to run fewer than `SHORTEST` times; its trips then are written out, as those of a short range are.

    Loops of libraries often run so: powers by squaring, a rank or an order that is halved. A loop with others in it is not tried, nor a flag.
    """
    compares = any(isinstance(inner, gast.Compare) for inner in gast.walk(node.test))
    if not compares or any(isinstance(inner, (gast.For, gast.While)) for part in node.body for inner in gast.walk(part)):
        return False
    state = State(frame)
    try:
        for _ in range(SHORTEST):
            going = static_of(test())
            if isinstance(going, Sym):
                break
            if not going:
                return True
            body()
    except (errors.StgradError, Leaves, TestChanges):
        pass
    state.restore()
    return False


def _known_trips(frame: Frame, test: Callable[[], Value], body: Callable[[], None], read: Callable[[], None], problem: errors.StgradError) -> None:
    """The trips of a `while` whose condition is known, one after the other; behind them the loop, where that is not known any more."""
    for done in range(UNROLL + 1):
        going = static_of(test())
        if isinstance(going, Sym):
            if not done:
                raise problem
            read()
            return
        if not going:
            return
        _written_out(frame, problem, body)
    raise problem


def _range_loop(frame: Frame, node: Any, value: Range, snapshots: Operand | None = None) -> None:
    """A loop over a range runs with the user's counter, unless the body or what follows needs it as a variable of its own."""
    name = node.target.id
    names = bound_names(node.body)
    private = name in names or name in frame.counters_read_later
    start, stop, step = (static_of(v) for v in (value.start, value.stop, value.step))

    def body(k: Sym) -> None:
        if private:
            frame.assign(node.target, k)
        else:
            frame.env[name] = k
        frame.execute(node.body)

    carried = bound_names([node]) - set(node.ran) if private else names - {name}
    counted_loop(frame, stop, body, f"{name}_k" if private else name, carried, start, step, snapshots)
    if not private:
        frame.env.pop(name, None)


def _interrupted(frame: Frame, node: Any, items: Live | Counting, until: str | None, start: int) -> None:
    """A loop that a flag, or a change of what it runs over, may end: a `while` over a counter."""
    counter = frame.hidden_name("k")
    frame.counts[counter] = 2
    frame.bind(counter, start)

    def test() -> Value:
        flag: Value = False if until is None else frame.lookup(until)
        items.check(flag)
        more = operations.binary(frame, gast.Lt, frame.lookup(counter), items.length())
        if not isinstance(flag, Sym) or not isinstance(more, Sym):
            flag = flag if isinstance(flag, Sym) else bool(flag)
            return operations.truth(frame, more) if flag is False else False
        going = frame.builder.call("not", (flag,), flag.type)
        return branch(frame, more, lambda: going, lambda: False, "_c")

    def body() -> None:
        flag = None if until is None else frame.lookup(until)
        if until is not None and isinstance(flag, Sym):
            frame.env[until] = Known(flag.operand, flag.type, False)
        _iteration(frame, node, items.item(frame.lookup(counter)))
        frame.bind(counter, operations.binary(frame, gast.Add, frame.lookup(counter), 1))

    while_loop(frame, test, body, bound_names([node]) | {counter})


@executes(gast.While)
def while_statement(frame: Frame, node: Any) -> None:
    def test() -> Value:
        return condition(frame, node.test)

    def body() -> None:
        frame.execute(node.body)

    def read() -> None:
        while_loop(frame, test, body, bound_names([node]))

    def apart() -> None:
        must_run(frame, test())
        body()
        read()

    if _few_trips(frame, test, body, node):
        return
    state = State(frame)
    try:
        or_first_alone(frame, read, apart, node)
    except TestChanges:
        state.restore()
        frame.execute(_tested_inside(frame, node))
    except _NO_BODY as problem:
        state.restore()
        _known_trips(frame, test, body, lambda: or_first_alone(frame, read, apart, node), problem)


def _tested_inside(frame: Frame, node: Any) -> list[Any]:
    """`go = True`, and `while go:` with `if test: body` and `else: go = False` in it."""
    go = frame.hidden_name("go")
    frame.counts[go] = 2
    inner = gast.If(node.test, node.body, [assign(node, go, constant(False))])
    return [assign(node, go, constant(True)), at(node, gast.While(load(go), [at(node, inner)], []))]
