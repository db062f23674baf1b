"""Addresses of statements: where a name is assigned, stored through or read, and what comes after what."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from stgrad.ir import Block, For, If, Stmt, While, assigned, blocks, stored


@dataclass(eq=False)
class Region:
    """One block. `owner` is the compound statement that it belongs to."""

    owner: Place | None
    places: list[Place] = field(default_factory=list)
    bound: dict[str, list[int]] = field(default_factory=dict)  # the places at which a name is bound, in or inside the statement

    def binds(self, name: str, start: int) -> bool:
        """Whether a name is bound at the place of this index or behind it."""
        return self.bound.get(name, (-1,))[-1] >= start

    def last(self, name: str, stop: int) -> int:
        """The index of the last place before this one that binds a name; -1 where there is none."""
        places = self.bound.get(name, ())
        found = bisect.bisect_left(places, stop)
        return places[found - 1] if found else -1

    def chain(self) -> Iterator[Region]:
        """This region and those around it, innermost first."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.owner.region if region.owner is not None else None


@dataclass(eq=False)
class Place:
    """One statement. `number` orders places as the program text does, compound statements before their blocks."""

    stmt: Stmt
    region: Region
    index: int
    number: int
    assigned: set[str]
    stored: set[str]
    inner: list[Region] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        return isinstance(self.stmt, (For, While))

    def loops(self) -> Iterator[Place]:
        """Loops around this statement, itself included, innermost first."""
        place: Place | None = self
        while place is not None:
            if place.is_loop:
                yield place
            place = place.region.owner


def layout(block: Block, first: int = 0) -> Region:
    """The address tree of a program; its places are numbered from `first` on."""
    counter = itertools.count(first)

    def region(block: Block, owner: Place | None) -> Region:
        result = Region(owner)
        for index, stmt in enumerate(block):
            place = Place(stmt, result, index, next(counter), assigned((stmt,)), stored((stmt,)))
            place.inner = [region(b, place) for b in blocks(stmt)]
            result.places.append(place)
            for name in place.assigned:
                result.bound.setdefault(name, []).append(index)
        return result

    return region(block, None)


def every(region: Region) -> Iterator[Place]:
    """The places of a region and of those inside it, in the order of the program."""
    for place in region.places:
        yield place
        for inner in place.inner:
            yield from every(inner)


def reassigned(name: str, place: Place, after: bool) -> bool:
    """Whether a name may have another value at the end of the program than before (or `after`) this statement.

    A name that a branch assigns counts, even if only once: on the other path it has no value.
    """
    at: Place | None = place
    start = place.index + 1 if after else place.index
    while at is not None:
        if at.region.binds(name, start):
            return True
        owner = at.region.owner
        if owner is None:
            return False
        if isinstance(owner.stmt, For) and owner.stmt.var.name == name:
            return False  # the reversed loop sets its counter itself
        if owner.is_loop and name in owner.assigned:
            return True
        if isinstance(owner.stmt, If) and name in at.region.bound:
            return True
        at, start = owner, owner.index + 1
    return False


@dataclass(frozen=True)
class Version:
    """A value of a name: the one that a region has after its statement `index` (-1: at its start)."""

    name: str
    region: Region
    index: int

    def __hash__(self) -> int:
        return hash((self.name, id(self.region), self.index))


def version(name: str, place: Place, after: bool) -> tuple[Version, int]:
    """The version that is read before (or `after`) a statement, and the index in its region of the statement that reads it."""
    region, stop = place.region, place.index + 1 if after else place.index
    user = place.index
    while True:
        index = region.last(name, stop)
        if index >= 0:
            return Version(name, region, index), user
        owner = region.owner
        if owner is None or (owner.is_loop and name in owner.assigned):
            return Version(name, region, -1), user
        region, stop, user = owner.region, owner.index, owner.index
