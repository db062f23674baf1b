"""The lines of a random program and the names in scope; what all its parts draw from."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .kinds import Array, Bool, Float, Int, Items, Keys, Kind, Many, Record, holds, join

T = TypeVar("T")


@dataclass
class Scope:
    """Names that surely have a value, and those that have one on some paths alone."""

    names: dict[str, Kind] = field(default_factory=dict)
    maybe: dict[str, Kind] = field(default_factory=dict)

    def copy(self) -> Scope:
        return Scope(dict(self.names), dict(self.maybe))

    def joined(self, other: Scope) -> Scope:
        """After one path or the other."""
        after = Scope({}, {**self.maybe, **other.maybe})
        for name in {**self.names, **other.names}:
            if name in self.names and name in other.names:
                kind = join(self.names[name], other.names[name])
                if kind is not None:
                    after.names[name] = kind
            else:
                after.maybe[name] = self.names.get(name) or other.names[name]
        return after


@dataclass(frozen=True)
class Place:
    """An expression that reads a value in scope: a name, or an item of what a name holds."""

    text: str
    kind: Kind
    assignable: bool = True


class Writer:
    """State of a program that is being written."""

    def __init__(self, rng: random.Random, wild: bool) -> None:
        """
        Args:
            rng: all choices are drawn from it.
            wild: now and then write what may raise: a position outside, a name that may have no value, shapes that do not fit.
        """
        self.rng, self.wild = rng, wild
        self.scope = Scope()
        self.lines: list[str] = []
        self.indent = 1
        self.fresh = 0
        self.loops: list[Scope] = []  # what was in scope where each loop around began
        self.library: set[str] = set()  # names of the module's functions and classes that the program uses
        self.fixed: set[str] = set()  # names that are not rebound: counters, what is iterated over

    # ------------------------------------------------------------- drawing

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def daring(self, p: float) -> bool:
        """Chance of writing something that may raise."""
        return self.wild and self.chance(p)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, rather a late one."""
        return self.rng.choice(items[-4:] if self.chance(0.5) else items)

    def draw(self, choices: Sequence[tuple[float, Callable[[], Any]]]) -> Any:
        """The first result that is not None of choices drawn by weight."""
        left = list(choices)
        while left:
            at = self.rng.choices(range(len(left)), [w for w, _ in left])[0]
            found = left.pop(at)[1]()
            if found is not None:
                return found
        return None

    def constant(self) -> str:
        return self.rng.choice(["0.5", "1.3", "-0.7", "0.3", "0.9", "-0.4", "1.1", "2.0"])

    # ------------------------------------------------------------- names

    def new(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def places(self, wanted: Callable[[Kind], bool]) -> list[Place]:
        """All places of wanted kinds."""
        names = dict(self.scope.names)
        if self.scope.maybe and self.daring(0.2):
            names.update(self.scope.maybe)
        return [p for name, kind in names.items() for p in opened(Place(name, kind)) if wanted(p.kind)]

    def place(self, wanted: Callable[[Kind], bool]) -> Place | None:
        found = self.places(wanted)
        return self.pick(found) if found else None

    def arrays(self, dtype: str = "float", least: int = 1) -> list[Place]:
        return self.places(lambda k: isinstance(k, Array) and k.dtype == dtype and k.rank >= least)

    def may_be(self, name: str, kind: Kind) -> bool:
        """Whether the name may be given a value of this kind here: what loops around found in it must stay what it was."""
        if name in self.fixed:
            return False
        return all(name not in loop.names or holds(loop.names[name], kind) for loop in self.loops)

    def target(self, kind: Kind, prefix: str) -> str:
        """A new name, or one to rebind."""
        known = [n for n, k in self.scope.names.items() if n not in self.fixed and type(k) is type(kind) and self.may_be(n, kind)]
        if known and self.chance(0.45):
            return self.pick(known)
        unsure = [n for n, k in self.scope.maybe.items() if type(k) is type(kind) and self.may_be(n, kind)]
        return self.pick(unsure) if unsure and self.chance(0.3) else self.new(prefix)

    def bind(self, text: str, kind: Kind, prefix: str) -> str:
        """A statement that binds a name."""
        name = self.target(kind, prefix)
        if name == text:
            name = self.new(prefix)
        self.emit(f"{name} = {text}")
        self.bound(name, kind)
        return name

    def bound(self, name: str, kind: Kind) -> None:
        self.scope.names.pop(name, None)  # the latest name is the last one
        self.scope.names[name] = kind
        self.scope.maybe.pop(name, None)

    def extent(self, n: int) -> str:
        """An expression of an extent that is `n` for the arguments of this program."""
        known = [p.text for p in self.places(lambda k: k == Int(n, n))]
        for p in self.places(lambda k: isinstance(k, Array) and n in k.shape):
            assert isinstance(p.kind, Array)
            axis = p.kind.shape.index(n)
            known += [f"{p.text}.shape[{axis}]"] + [f"len({p.text})"] * (not axis) + [f"{p.text}.size"] * (p.kind.rank == 1)
        return self.rng.choice(known) if known and self.chance(0.6) else str(n)


def opened(place: Place, depth: int = 2) -> Iterator[Place]:
    """A place and the places of its items."""
    yield place
    kind = place.kind
    if not depth:
        return
    if isinstance(kind, Items):
        for i, item in enumerate(kind.items):
            yield from opened(Place(f"{place.text}[{i}]", item, kind.type == "list"), depth - 1)
    elif isinstance(kind, Many) and kind.least:
        for i in (0, -1):
            yield from opened(Place(f"{place.text}[{i}]", kind.item), depth - 1)
    elif isinstance(kind, Keys):
        for key, item in kind.items:
            yield from opened(Place(f"{place.text}[{key!r}]", item), depth - 1)
    elif isinstance(kind, Record):
        for key, item in kind.items:
            yield from opened(Place(f"{place.text}.{key}", item), depth - 1)


def is_float(kind: Kind) -> bool:
    return isinstance(kind, Float)


def is_int(kind: Kind) -> bool:
    return isinstance(kind, Int)


def is_bool(kind: Kind) -> bool:
    return isinstance(kind, Bool)
