"""Generators: their bodies are read in place of the loop that consumes them, and each `yield` in them is the body of that loop.

The names of a generator stand beside those of its consumer, in one environment, as the loops of one bind names of the other:
they carry a mark that Python's names cannot have. What consumes all items at once gets them as a list; so does `next`, where nothing
could tell that the items were made early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn

import gast

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.bindings import binding_counts, counters_read_later
from stgrad.frontend.control import branch
from stgrad.frontend.flags import begin
from stgrad.frontend.frame import MAX_DEPTH, Frame, evaluates
from stgrad.frontend.heap import MUTABLE
from stgrad.frontend.inlining import MAKE_GENERATOR, too_deep
from stgrad.frontend.iteration import COLLECT, Enumerate, Mapped, Range, Zip, count_items
from stgrad.frontend.live import Live, may_change
from stgrad.frontend.values import Generator, Known, Maybe, Method, Sym, Value, is_static, static_of
from stgrad.syntax import copied
from stgrad.syntax.assigned import parameters
from stgrad.syntax.generators import endless

MARK = "@"
_FLAGS = ("check", "flag", "until")  # attributes of nodes that are names
_LISTS = ("ran", "flags")  # and lists of them
_HIDDEN = ("function", "stopping")  # attributes that are functions


@dataclass(frozen=True)
class Consumer:
    """What becomes of the items: `trip` gets each, `names` are those that it may bind; `stopped` tells after it whether more are wanted."""

    trip: Callable[[Value], None]
    names: set[str]
    stopped: Callable[[], Value] | None = None
    closes: bool = False  # the generator goes on behind its one `yield`, whatever the consumer does


class GeneratorFrame(Frame):
    """The activation of a generator while its consumer reads it; names live with the consumer's."""

    def __init__(self, host: Frame, generator: Generator, consumer: Consumer) -> None:
        self.host, self.consumer = host.home, consumer
        super().__init__(
            host.builder, generator.source, host.env, generator.parent, host.counts, host.depth + 1, generator.unroll, None,
            host.captured, host.owned, host.counters_read_later, host.flags,
        )  # fmt: skip

    @property
    def env(self) -> dict[str, Value]:  # type: ignore[override]
        return self.host.env

    @env.setter
    def env(self, env: dict[str, Value]) -> None:
        self.host.env = env

    @property
    def home(self) -> Frame:
        return self.host

    def owns(self, name: str) -> bool:
        return MARK in name or " " in name

    def detached(self) -> Frame:
        own = {name: value for name, value in self.env.items() if self.owns(name)}
        return Frame(self.builder, self.source, own, self.parent, {}, self.depth, self.unroll, None, self.captured, self.owned)


@evaluates(gast.Yield)
def yield_expression(frame: Frame, node: Any) -> Value:
    """The consumer's turn; True where it wants no more."""
    assert isinstance(frame, GeneratorFrame)
    frame.consumer.trip(frame.keep(frame.evaluate_raw(node.value)))
    return frame.consumer.stopped() if frame.consumer.stopped is not None else False


def driver(value: Value) -> Generator | None:
    """The generator that a loop over a value steps through; None if there is none, or more than one."""
    if isinstance(value, Generator):
        return value if value.items is None else None
    if isinstance(value, Enumerate):
        return driver(value.inner)
    if isinstance(value, Mapped):
        return driver(value.inners)
    found = [g for g in map(driver, value.inners) if g is not None] if isinstance(value, Zip) else []
    return found[0] if len(found) == 1 else None


def drive(frame: Frame, value: Value, consumer: Consumer, node: Any) -> None:
    """`for item in value: trip(item)`, of a value that has a driver."""
    if isinstance(value, Generator):
        _run(frame, value, consumer, node)
    elif isinstance(value, Enumerate):
        _drive_counted(frame, value, consumer, node)
    elif isinstance(value, Mapped):
        apply = value.function
        drive(frame, value.inners, Consumer(lambda items: consumer.trip(frame.call(apply, items, {})), consumer.names, consumer.stopped), node)
    else:
        _drive_zip(frame, value, consumer, node)


def _counter(frame: Frame, start: Value) -> str:
    name = frame.hidden_name("k")
    frame.counts[name] = 2
    frame.bind(name, start)
    return name


def _next_one(frame: Frame, counter: str) -> None:
    frame.bind(counter, operations.binary(frame, gast.Add, frame.lookup(counter), 1))


def _drive_counted(frame: Frame, value: Enumerate, consumer: Consumer, node: Any) -> None:
    counter = _counter(frame, value.start)

    def trip(item: Value) -> None:
        consumer.trip((frame.keep(frame.lookup(counter)), item))
        _next_one(frame, counter)

    drive(frame, value.inner, Consumer(trip, consumer.names | {counter}, consumer.stopped), node)


def _drive_zip(frame: Frame, value: Zip, consumer: Consumer, node: Any) -> None:
    """A generator beside values that have a k-th item: they end it, or it ends them. Those behind it do so once it has made one item more."""
    (place,) = (i for i, inner in enumerate(value.inners) if driver(inner) is not None)
    others = [v for i, v in enumerate(value.inners) if i != place]
    live = [Live(frame, v, node) if may_change(v) else count_items(frame, v, node) for v in others]
    counter = _counter(frame, 0)

    def more(asked: bool = False) -> Value:
        for column in live:
            if isinstance(column, Live):
                column.check(False if consumer.stopped is None else consumer.stopped())
        ends = [length() if callable(length := column.length) else length for column in live]
        behind = [asked and i >= place for i in range(len(live))]
        tests = [operations.binary(frame, gast.LtE if b else gast.Lt, _here(frame, counter), n) for n, b in zip(ends, behind, strict=True) if n is not None]
        return _all_of(frame, tests)

    def trip(item: Value) -> None:
        def both() -> None:
            k = _here(frame, counter)
            items = [column.item(k) for column in live]
            consumer.trip((*items[:place], item, *items[place:]))

        _where(frame, more(), both)
        _next_one(frame, counter)

    def stopped() -> Value:
        enough = _not(frame, more(asked=True))
        if consumer.stopped is None:
            return enough
        before = consumer.stopped()
        return before if before is True else enough if before is False else branch(frame, before, lambda: True, lambda: enough, "_c")

    needed = consumer.stopped is not None or driver(value).endless or is_static(static_of(more()))  # type: ignore[union-attr]
    drive(frame, value.inners[place], Consumer(trip, consumer.names | {counter}, stopped if needed else None), node)
    for column in live:
        if isinstance(column, Live):
            column.close()


def _here(frame: Frame, counter: str) -> Value:
    """The counter: a number where it is known."""
    k = frame.lookup(counter)
    return static_of(k) if isinstance(k, Known) else k


def _all_of(frame: Frame, tests: list[Value]) -> Value:
    tests = [static_of(t) if isinstance(t, Known) else t for t in tests]
    if any(not isinstance(t, Sym) and not t for t in tests):
        return False
    left = [t for t in tests if isinstance(t, Sym)]
    found: Value = True
    for test in left:
        found = test if found is True else branch(frame, found, lambda test=test: test, lambda: False, "_c")  # type: ignore[misc]
    return found


def _where(frame: Frame, cond: Value, then: Callable[[], None]) -> None:
    if isinstance(cond, Sym):
        branch(frame, cond, then, lambda: None, "_t")
    elif cond:
        then()


def _not(frame: Frame, cond: Value) -> Value:
    return frame.builder.call("not", (cond,), cond.type) if isinstance(cond, Sym) else not cond


# --------------------------------------------------------------------------- one generator


def _run(frame: Frame, generator: Generator, consumer: Consumer, node: Any) -> None:
    """Read the body of a generator, once."""
    _begin(frame, generator, node)
    if generator.endless and consumer.stopped is None:
        _refuse(frame, f"all items of the generator `{generator.tree.name}`, which never ends", node, "", "leave the loop by `break` or `return`")
    if generator.tree.closes and not consumer.closes and consumer.stopped is not None:
        message = f"the loop may leave the generator `{generator.tree.name}` inside its `try`"
        _refuse(frame, message, node, "when its `finally` runs then is up to Python", "let the loop take all of its items")
    tree = copied(generator.tree if consumer.stopped is None else generator.tree.stopping)
    frame.counts["_generators"] = count = frame.counts.get("_generators", 0) + 1
    names = _mark(tree, f"{MARK}{count}", consumer)
    frame.counts.update(binding_counts(tree))
    frame.counters_read_later |= counters_read_later(tree)
    inner = GeneratorFrame(frame, generator, consumer)
    flags = frame.flags
    begin(inner, tree)
    frame.flags = inner.flags = {**flags, **inner.flags}
    frame.env.update({names[name]: value for name, value in generator.given.items()})
    if inner.depth >= MAX_DEPTH:
        raise too_deep(frame, generator.tree)
    try:
        with inner.active():
            inner.execute(tree.body)
    except RecursionError:
        raise too_deep(frame, generator.tree) from None


def _begin(frame: Frame, generator: Generator, node: Any) -> None:
    held = any(id(generator) in before for _, _, before in frame.builder.loops)
    if held or id(generator) in frame.builder.consumed:
        _refuse(frame, "an iterator is used a second time", node, "it is empty after its first use", "make it a list: list(...)")
    frame.builder.consumed[id(generator)] = generator


def _mark(tree: Any, mark: str, consumer: Consumer) -> Mapping[str, str]:
    """Mark the local names of a generator, and tell its nodes what the consumer binds at each `yield`. Changes the tree."""
    local = {*binding_counts(tree), *parameters(tree), *getattr(tree, "flags", {}), *getattr(tree, "flags", {}).values()}
    names = {name: name + mark for name in local}
    tree.flags = {names[name]: names[flag] for name, flag in getattr(tree, "flags", {}).items()}
    for node in _every(tree):
        if isinstance(node, gast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, gast.FunctionDef) and node is not tree:
            node.name = names.get(node.name, node.name)
            node.flags = {names.get(name, name): names.get(flag, flag) for name, flag in getattr(node, "flags", {}).items()}
        elif isinstance(node, gast.Nonlocal):
            node.names = [names.get(name, name) for name in node.names]
        elif isinstance(node, gast.alias):
            node.asname = names.get(node.asname or node.name, node.asname)
        elif isinstance(node, gast.Yield):
            node.binds = tuple(consumer.names)
        for attribute in _FLAGS:
            if isinstance(found := getattr(node, attribute, None), str):
                setattr(node, attribute, names.get(found, found))
        for attribute in _LISTS if node is not tree else ():
            if isinstance(found := getattr(node, attribute, None), list):
                setattr(node, attribute, [names.get(name, name) for name in found])
    return names


def _every(tree: Any, inner: bool = False) -> Iterator[Any]:
    """The nodes of a tree, and those of the functions that stand for generator expressions in it and for generators that are left early."""
    for node in gast.walk(tree):
        yield node
        for part in _HIDDEN if inner or node is not tree else ():
            if (other := getattr(node, part, None)) is not None:
                yield from _every(other, inner=True)


def made(frame: Frame, tree: Any, source: Any, parent: Frame | None, given: Mapping[str, Value], unroll: bool) -> Generator:
    """The call of a generator function: nothing of it runs yet."""
    return Generator(tree, source, parent, {name: frame.keep(value) for name, value in given.items()}, unroll, endless(tree))


MAKE_GENERATOR.append(made)


# --------------------------------------------------------------------------- all items at once


def collected(frame: Frame, value: Value, node: Any = None) -> Value:
    """A value that has a driver as the list of its items; any other one as it is."""
    if driver(value) is None:
        return value
    name = frame.hidden_name("items")
    frame.env[name] = []

    def trip(item: Value) -> None:
        frame.call(Method(frame.env[name], "append"), (item,), {})

    drive(frame, value, Consumer(trip, set()), node)
    return frame.env.pop(name)


def _early(frame: Frame, generator: Generator, node: Any) -> Value:
    """The items of a generator, made before their consumer asks for them."""
    if generator.items is None:
        _untouched(frame, generator, node)
        generator.items = _at_once(frame, generator, node)
    return generator.items


COLLECT.append(_early)


def _at_once(frame: Frame, value: Value, node: Any = None) -> Value:
    """All items; refused where somebody sees that they are made before they are asked for."""
    from stgrad.frontend.comprehensions import unseen

    return unseen(frame, lambda: collected(frame, value, node), "a generator whose items are not used one by one", node)


def _untouched(frame: Frame, generator: Generator, node: Any) -> None:
    """Refuse generators whose items may depend on when they are made: something is changed in place."""
    for tree, scope in ((_tree_of(frame), frame), (generator.tree, None)):
        for name in _written(tree):
            value = None if scope is None else scope.env.get(name)
            value = value.value if isinstance(value, Maybe) else value
            if scope is None or isinstance(value, MUTABLE) or isinstance(value, Sym) and value.type.array:
                message = f"`{name}` may change while the generator `{generator.tree.name}` is suspended"
                _refuse(frame, message, node, "its items are made at once, before the first of them is used", "write a `for` loop over the generator")


def _refuse(frame: Frame, message: str, node: Any, reason: str, hint: str) -> NoReturn:
    raise errors.UnsupportedSyntaxError(message, frame.builder.loc if node is None else frame.loc(node), reason=reason, hint=hint)


_CHANGING = {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "fill", "popitem", "add", "discard"}


def _written(tree: Any) -> set[str]:
    """Names through which a function changes what they stand for."""
    found: set[str] = set()
    for node in gast.walk(tree):
        stored = isinstance(node, (gast.Subscript, gast.Attribute)) and isinstance(node.ctx, (gast.Store, gast.Del))
        method = isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in _CHANGING
        update = isinstance(node, gast.AugAssign) and not isinstance(node.value, gast.Constant)
        base = node.func.value if method else node.target if update else node
        if stored or method or update:
            while isinstance(base, (gast.Subscript, gast.Attribute)):
                base = base.value
            found.add(getattr(base, "id", "_"))
    return found


def _tree_of(frame: Frame) -> Any:
    return frame.source.tree


def stepped(frame: Frame, name: str, value: Generator) -> Value | None:
    """For a generator that gets a name and is asked by `next(name)`: as many of its items as are asked for."""
    name = name.split(MARK)[0]
    tree = _tree_of(frame)
    calls = [n for n in gast.walk(tree) if _is_next(n) and n.args and getattr(n.args[0], "id", None) == name]
    if not calls:
        return None
    uses = [n for n in gast.walk(tree) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load) and n.id == name]
    few = len(uses) == len(calls) and not any(_is_next(n) for loop in gast.walk(tree) if isinstance(loop, _REPEATS) for n in gast.walk(loop))
    _untouched(frame, value, None)
    return first_few(frame, value, len(calls) if few else None)


_REPEATS = (gast.For, gast.While, gast.FunctionDef, gast.Lambda, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)


def _is_next(node: Any) -> bool:
    return isinstance(node, gast.Call) and getattr(node.func, "id", None) == "next"


def first_few(frame: Frame, value: Value, count: Value) -> Value:
    """The first items, or all, as a list."""
    return _at_once(frame, value if count is None else first(value, count))


def first(value: Value, count: Value) -> Value:
    """`itertools.islice(value, count)`."""
    return Mapped(itemgetter(1), Zip((Zip((Range(0, count, 1), value)),)))


__all__ = ["Consumer", "collected", "drive", "driver", "first", "first_few", "made", "stepped"]
