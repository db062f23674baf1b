"""The mutable containers of a program being read: which there are, what they hold, and how to take changes back.

Lists, dicts, sets and instances have an identity: several names may mean the same one. They are changed in place while the code is
read, so that where two paths meet it is their contents that are joined, each once, and not the names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stgrad import errors
from stgrad.frontend.values import Chosen, Closure, DictView, Growing, Maybe, Nested, Record, Value, rebuild

MUTABLE = (list, dict, set, Record, Growing)


@dataclass
class Region:
    """A part of the program that may run or not, or often, and the containers that exist outside of it.

    In a region that is `closed` they must not change.
    """

    outside: dict[int, Value]
    closed: bool = False
    conditional: bool = False
    changed: dict[int, Value] = field(default_factory=dict)
    block: Sequence[Any] = ()  # the statements of the region so far, where it matters what stands before a change
    catches: Callable[[type[BaseException]], bool] | None = None  # what the `try` catches of which it is a statement
    changed_at: dict[int, int] = field(default_factory=dict)  # how many of those there were at the first change of each


class Grows(errors.Signal):
    """A list gets an item in a region outside of which it exists: to be read again from the `depth`-th region with a list that grows.

    A dict that is asked for a key of the running program is a table from there on (see `stgrad.frontend.tables`).
    """

    def __init__(self, origin: Value, depth: int, item: Value, exact: bool) -> None:
        super().__init__(depth)
        self.origin, self.depth, self.item, self.exact = origin, depth, item, exact


def key(container: Value) -> int:
    """The identity of a container; a list keeps it when it begins to grow."""
    return id(container.origin) if isinstance(container, Growing) and container.origin is not None else id(container)


def containers(value: Value, seen: set[int] | None = None) -> Iterator[Value]:
    """A container and those inside it, each once: one may hold itself, as a node of a tree that knows its parent."""
    seen = set() if seen is None else seen
    if isinstance(value, Maybe):
        value = value.value
    if isinstance(value, Chosen):
        for option in value.options:
            yield from containers(option, seen)
    if isinstance(value, (tuple, *MUTABLE)) and id(value) not in seen:
        seen.add(id(value))
        yield value
        if isinstance(value, Growing):
            return
        inner = value.fields if isinstance(value, Record) else () if isinstance(value, set) else value
        for item in inner.values() if isinstance(inner, dict) else inner:
            yield from containers(item, seen)


def refuse_circles(frame: Any, values: Iterable[Value]) -> None:
    """Raise a refusal where a container holds itself: most that is asked of a container is asked of what it holds, too.

    Raises:
        UnsupportedSyntaxError: one of the values is such a container, or holds one.
    """
    for c in (c for value in values for c in containers(value) if not isinstance(c, Growing)):
        if any(c is inner for item in contents(c).values() for inner in containers(item)):
            what = f"an object of {c.cls.__name__}" if isinstance(c, Record) else f"a {type(c).__name__}"
            message = f"{what} that holds itself, directly or by others, cannot be used here"
            raise errors.UnsupportedSyntaxError(message, frame.builder.loc, hint="keep the position of the other one, and look it up")


def frames_of(frame: Any) -> list[Any]:
    """The activations whose names the code being read may mean: the open ones, those around them, those of closures."""
    found: dict[int, Any] = {}
    left = [frame, *frame.builder.frames]
    while left:
        one = left.pop()
        if one is None or id(one) in found:
            continue
        found[id(one)] = one
        left.append(one.parent)
        left += [v.frame for v in one.env.values() if isinstance(v, Closure)]
    return list(found.values())


def reachable(frame: Any) -> dict[int, Value]:
    """The mutable containers that names mean, by identity; those that are lent to the program may be found by others at any place."""
    found = {key(loan.copy): loan.copy for loan in frame.captured.loans.values()}
    for one in frames_of(frame):
        for value in one.env.values():
            for c in containers(value):
                if isinstance(c, MUTABLE):
                    found[key(c)] = c
    return found


def held_values(frame: Any) -> set[int]:
    """What names mean, and what containers hold that they mean, by identity."""
    values = [v for one in frames_of(frame) for v in one.env.values()]
    return {id(v) for v in values} | {id(item) for v in values for c in containers(v) if not isinstance(c, (Growing, set)) for item in contents(c).values()}


def known_objects(frame: Any) -> frozenset[int]:
    """The instances, and the functions defined in the code, that names mean, by identity."""
    found: set[int] = set()
    for value in (v for one in frames_of(frame) for v in one.env.values()):
        held = [value, *(item for c in containers(value) if not isinstance(c, tuple) for item in (c, *contents(c).values()))]
        found.update(id(v) for v in held if isinstance(v, (Closure, Record)))
    return frozenset(found)


def references(frame: Any) -> Counter[int]:
    """How many names and containers hold each container."""
    counts: Counter[int] = Counter()
    seen: set[int] = set()

    def visit(value: Value) -> None:
        if isinstance(value, Maybe):
            value = value.value
        for option in value.options if isinstance(value, Chosen) else ():
            visit(option)
        if not isinstance(value, (tuple, *MUTABLE)):
            return
        counts[id(value)] += 1
        if id(value) not in seen:
            seen.add(id(value))
            for item in contents(value).values() if not isinstance(value, Growing) else ():
                visit(item)

    for one in frames_of(frame):
        for value in one.env.values():
            visit(value)
    return counts


def path_of(frame: Any, container: Value, otherwise: str = "item") -> str:
    """A name for what a container holds: that by which the code knows it."""
    for name, value in frame.env.items():
        if any(c is container for c in containers(value)):
            return str(name)
    return otherwise


def contents(container: Value) -> dict[Any, Value]:
    """What a container holds, by index, key or attribute; the items of a set are known, and hold nothing."""
    if isinstance(container, dict):
        return dict(container)
    if isinstance(container, set):
        return dict.fromkeys(container)
    if isinstance(container, Record):
        return dict(container.fields)
    if isinstance(container, Growing):
        return {"structure": container.structure, "count": container.count}
    return dict(enumerate(container))


def put(container: Value, held: dict[Any, Value]) -> None:
    """Make a container hold this and nothing else."""
    if isinstance(container, Growing):
        container.structure, container.count = held["structure"], held["count"]
    elif isinstance(container, list):
        container[:] = held.values()
    elif isinstance(container, set):
        container.clear()
        container.update(held)
    else:
        inner = container.fields if isinstance(container, Record) else container
        inner.clear()
        inner.update(held)


def entries(value: Value) -> dict[Any, Value]:
    """The parts of a container, of a tuple too."""
    if isinstance(value, tuple):
        return dict(enumerate(value))
    return {"buffer": value.buffer} if isinstance(value, Nested) else contents(value)


def with_entries(like: Value, parts: dict[Any, Value]) -> Value:
    """A new container like another one, with other parts."""
    if isinstance(like, (tuple, list)):
        return rebuild(like, list(parts.values()))
    if isinstance(like, Growing):
        return Growing(parts["structure"], parts["count"], like.origin, cls=like.cls)
    if isinstance(like, Nested):
        return Nested(parts["buffer"])
    return Record(like.cls, dict(parts)) if isinstance(like, Record) else dict(parts)


def alike(a: Value, b: Value) -> bool:
    if not (isinstance(b, type(a)) or isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))):
        return False
    return getattr(a, "cls", None) is getattr(b, "cls", None)


class State:
    """The program and all names and containers as they are now."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self._rollback = frame.builder.mark()
        self._frames = [(f, dict(f.env), dict(f.owned)) for f in frames_of(frame)]
        self.held = [(c, contents(c)) for c in reachable(frame).values()]
        self._trips = [(c.trip, c.trip.seen) for c, _ in self.held if isinstance(c, Growing) and c.trip is not None]

    def restore(self) -> None:
        """Take back everything since."""
        self._rollback()
        for one, env, owned in self._frames:
            one.env = dict(env)
            one.owned.clear()
            one.owned.update(owned)
        self.restore_containers()

    def restore_containers(self) -> None:
        for c, held in self.held:
            put(c, held)
        for trip, seen in self._trips:
            trip.seen = seen


@dataclass(frozen=True, eq=False)
class Moved:
    """All that is left in a list that became a growing one, or in a dict that became a table: where its items are now."""

    to: Value


LACKS = "lacks "  # before the name of an attribute: the flag that says where it is not set (see `stgrad.frontend.partly`)


def all_of(fields: dict[str, Value]) -> dict[str, Value]:
    """The attributes of an object, where all of them are there.

    Raises TypeInferenceError where a path left some of them out.
    """
    some = [n for n in fields if n.startswith(LACKS) and fields[n] is not False]
    if some:
        name = some[0].removeprefix(LACKS)
        raise errors.TypeInferenceError(f"the attribute `{name}` is set on some paths only", None, hint="give it a value before the branch")
    return {n: v for n, v in fields.items() if not n.startswith(LACKS)}


class Attributes(dict[str, Value]):
    """What `vars(record)` finds: it can be read until the object changes."""

    def __init__(self, record: Record | None = None) -> None:
        super().__init__({} if record is None else all_of(record.fields))
        self.record = record


def current(container: Value) -> Value:
    """The container that stands for one which was evaluated before it was replaced: `xs` in `xs.append(f())`, where `f` lets it grow."""
    while isinstance(container, (list, dict)) and len(container) == 1:
        (held,) = container.values() if isinstance(container, dict) else container
        if not isinstance(held, Moved):
            break
        container = held.to
    if isinstance(container, Attributes) and container.record is not None and _differ(container, all_of(container.record.fields)):
        raise errors.UnsupportedSyntaxError("the attributes of an object changed behind `vars(...)`", None, hint="write vars(...) again")
    return container


def _differ(a: dict[str, Value], b: dict[str, Value]) -> bool:
    return a.keys() != b.keys() or any(a[name] is not b[name] for name in a)


def replace_container(frame: Any, old: Value, new: Value, viewed: Callable[[str], Value] | None = None) -> None:
    """Let every name and container that holds one container hold another one, and of views of it (`d.keys()`) what `viewed` makes of their names."""
    seen: set[int] = set()

    def swap(value: Value) -> Value:
        if value is old:
            return new
        if isinstance(value, DictView) and value.owner is old and viewed is not None:
            return viewed(value.name)
        if isinstance(value, Maybe):
            return Maybe(swap(value.value), value.error)
        if isinstance(value, Chosen) and any(c is old for c in containers(value)):
            return Chosen(value.index, tuple(map(swap, value.options)), value.error)
        if isinstance(value, tuple) and any(c is old for c in containers(value)):
            items = [swap(v) for v in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        elif isinstance(value, MUTABLE) and not isinstance(value, Growing) and id(value) not in seen:
            seen.add(id(value))
            put(value, {k: swap(v) for k, v in contents(value).items()})
        return value

    for one in frames_of(frame):
        for name, value in list(one.env.items()):
            one.env[name] = swap(value)
    put(old, {"moved": Moved(new)})
