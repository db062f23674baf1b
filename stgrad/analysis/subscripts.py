"""Whether an element that is read may be overwritten later: subscripts as linear forms of loop counters.

    for i in range(n):
        for j in range(i + 1):
            ... L[i, k] ...               read with k < j
            L[i, j] = s                   never meets what an earlier trip read

Elements of an array are told apart only where all names for its memory are the array itself and views of it that are made once, by plain
indexing. Everything else counts as overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stgrad.analysis.affine import Affine, combined, named, number
from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.inequalities import contradictory
from stgrad.analysis.places import Place
from stgrad.ir import Assign, Const, For, If, Operand, Push, Slice, Store, Type, Var, assigns, entries_of
from stgrad.ir.ops import operation

TESTS = 20_000  # pairs of subscripts that are compared, at most; a program beyond that is too long to look closer
WHOLE = Slice(Const(None), Const(None), Const(None))


@dataclass(frozen=True, eq=False)
class Access:
    """Elements of an array at a place: one form for each leading axis, None where the position is not known."""

    base: str
    parts: tuple[Affine | None, ...]
    place: Place


class Subscripts:
    """Facts about the subscripts of one program."""

    def __init__(self, places: list[Place], params: Iterable[str], types: Mapping[str, Type], classes: Classes) -> None:
        self.types, self.classes = types, classes
        self.params = frozenset(params)
        self.sites: dict[str, list[Place]] = {}
        for place in places:
            for name in assigns(place.stmt):
                self.sites.setdefault(name, []).append(place)
        copied = {n for n, sites in self.sites.items() if all(isinstance(p.stmt, Assign) and p.stmt.op == "np.copy" for p in sites)}
        self.symbols = {d.symbol for n in self.params for d in types[n].dims if n in copied or n not in self.sites}
        self.spoilt = {classes.find(name) for name in self._opaque(places)}
        self.tests = 0
        self.known: dict[tuple[Access, int, bool], bool] = {}

    def _opaque(self, places: list[Place]) -> Iterator[str]:
        """Arrays whose names do not tell where in memory they are."""
        for place in places:
            stmt = place.stmt
            if isinstance(stmt, Push) and isinstance(stmt.value, Var):
                yield stmt.value.name
        for name, sites in self.sites.items():
            if name not in self.types or not self.types[name].array:
                continue
            makers = [viewed(p.stmt, self.types) if isinstance(p.stmt, Assign) else name for p in sites]
            plain = all(isinstance(p.stmt, Assign) and p.stmt.op in ("getitem", "alias") for p in sites)
            if any(m is not None for m in makers) and (len(sites) > 1 or not plain or name in self.params):
                yield name

    # ------------------------------------------------------------- forms

    def form(self, operand: Operand, place: Place, depth: int = 0) -> Affine | None:
        """An integer before a statement, as a sum of counters of loops around it and of integers that never change."""
        if isinstance(operand, Const):
            return number(operand.value) if type(operand.value) is int else None
        if not isinstance(operand, Var) or depth > 20 or self.types[operand.name].dtype != "int64":
            return None
        name = operand.name
        for loop in around(place):
            if isinstance(loop.stmt, For) and loop.stmt.var.name == name:
                return named(counter(loop))
        sites = self.sites.get(name, [])
        if len(sites) != (0 if name in self.params else 1):
            return None
        value = self.types[name].value
        if value is not None and (value.symbol is None or value.symbol in self.symbols):
            return number(value.offset) + (named(f"extent {value.symbol}") if value.symbol is not None else Affine())
        if name in self.params:
            return named(name)
        if not any(sites[0].region is r for r in place.region.chain()):
            return None
        return self._defined(name, sites[0], depth)

    def _defined(self, name: str, site: Place, depth: int) -> Affine | None:
        stmt = site.stmt
        if isinstance(stmt, Assign) and (stmt.op in ("int", "np.multiply") or operation(stmt.op).signs):
            parts = [self.form(a, site, depth + 1) for a in stmt.args]
            known = [p for p in parts if p is not None]
            result = combined(stmt.op, known) if len(known) == len(parts) else None
            if result is not None and all("*" not in key for key, _ in result.terms):
                return result
        return named(name) if site.region.owner is None else None

    def bounds(self, place: Place) -> list[Affine]:
        """What the loops and branches around a statement say of integers: forms that are at least 0."""
        found: list[Affine] = []
        for loop in around(place):
            if not isinstance(loop.stmt, For):
                continue
            step = loop.stmt.step.value if isinstance(loop.stmt.step, Const) else 0
            start, stop = self.form(loop.stmt.start, loop), self.form(loop.stmt.stop, loop)
            here = named(counter(loop))
            sign = 1 if step > 0 else -1
            if step and start is not None:
                found.append((here - start).scaled(sign))
            if step and stop is not None:
                found.append((stop - here).scaled(sign) - number(1))
        for region in place.region.chain():
            if region.owner is not None and isinstance(region.owner.stmt, If):
                found += self._condition(region.owner, region is region.owner.inner[0], found)
        return found

    def _condition(self, branch: Place, holds: bool, known: list[Affine]) -> list[Affine]:
        """What a comparison of two integers says where it holds, or does not."""
        stmt = branch.stmt
        assert isinstance(stmt, If)
        sites = self.sites.get(stmt.cond.name, []) if isinstance(stmt.cond, Var) else []
        made = sites[0].stmt if len(sites) == 1 and any(sites[0].region is r for r in branch.region.chain()) else None
        if not isinstance(made, Assign) or operation(made.op).kind != "comparison":
            return []
        a, b = (self.form(o, sites[0]) for o in made.args)
        if a is None or b is None:
            return []
        op = made.op if holds else operation(made.op).opposite
        above, below = a - b, b - a
        if op == "np.equal":
            return [above, below]
        if op == "np.not_equal":  # one of the two sides, where the other cannot be
            more, less = above - number(1), below - number(1)
            return [more] if contradictory([], [*known, less]) else [less] if contradictory([], [*known, more]) else []
        difference = below if op in ("np.less", "np.less_equal") else above
        return [difference - number(1) if op in ("np.less", "np.greater") else difference]

    # ------------------------------------------------------------- accesses

    def access(self, name: str, index: Operand, place: Place) -> Access | None:
        """What `name[index]` at a statement touches; None where that cannot be told."""
        if self.classes.find(name) in self.spoilt:
            return None
        base, slots, at = name, self._parts(index, name, place), place
        while True:
            sites = self.sites.get(base, [])
            made = sites[0].stmt if len(sites) == 1 and isinstance(sites[0].stmt, Assign) else None
            source = viewed(made, self.types) if made is not None else None
            if made is None or source is None:
                return Access(base, tuple(slots), place)
            if not any(sites[0].region is r for r in at.region.chain()):
                return None
            if made.op == "getitem":
                slots = self._through(self._parts(made.args[1], source, sites[0]), made.args[1], slots)
            base, at = source, sites[0]

    def _parts(self, index: Operand, name: str, place: Place) -> list[Affine | None]:
        """One form for each axis, up to the first entry that is no integer and no slice."""
        parts: list[Affine | None] = []
        for axis, item in enumerate(entries_of(index)):
            if isinstance(item, Slice):
                parts.append(None)
            elif not self._is_integer(item):
                break
            else:
                parts.append(self._position(item, name, axis, place))
        return parts

    def _is_integer(self, item: Operand) -> bool:
        if isinstance(item, Const):
            return type(item.value) is int
        return isinstance(item, Var) and not self.types[item.name].array

    def _position(self, item: Operand, name: str, axis: int, place: Place) -> Affine | None:
        """A position counted from the front; None where it may count from the end."""
        found = self.form(item, place)
        if found is None:
            return None
        if not found.terms and found.constant < 0:
            dim = self.types[name].dims[axis]
            return found + named(f"extent {dim.symbol}") + number(dim.offset) if dim.symbol in self.symbols else None
        return found if contradictory([], [*self.bounds(place), number(-1) - found]) else None

    def _through(self, outer: list[Affine | None], index: Operand, inner: list[Affine | None]) -> list[Affine | None]:
        """The parts of an element of a view, as parts of what it views."""
        items = entries_of(index)
        if len(outer) < len(items):
            return outer
        rest = iter(inner)
        merged = [next(rest, None) if isinstance(i, Slice) else o for i, o in zip(items, outer, strict=True)]
        kept = [o if not isinstance(i, Slice) or i == WHOLE else None for i, o in zip(items, merged, strict=True)]
        return [*kept, *rest]

    # ------------------------------------------------------------- overwritten

    def overwritten(self, read: Access | None, store: Place, later_trips: bool = True) -> bool:
        """Whether a store may run after a read, and change what was read. Without `later_trips`: in the same trip of all loops around both."""
        if read is None:
            return True
        key = (read, store.number, later_trips)
        if key not in self.known:
            self.tests += 1
            self.known[key] = self.tests > TESTS or self._overwritten(read, store, later_trips)
        return self.known[key]

    def _overwritten(self, read: Access, store: Place, later_trips: bool) -> bool:
        assert isinstance(store.stmt, Store)
        write = self.access(store.stmt.target.name, store.stmt.index, store)
        if write is None or write.base != read.base:
            return True
        pairs = [(r, w) for r, w in zip(read.parts, write.parts, strict=False) if r is not None and w is not None]
        if not pairs:
            return True
        common = [loop for loop in around(read.place) if any(loop is o for o in around(store))][::-1]
        counters = {counter(loop) for loop in common}
        same = [r - _renamed(w, counters) for r, w in pairs]
        limits = [*self.bounds(read.place), *(_renamed(b, counters) for b in self.bounds(store))]
        orders = list(self._orders(common)) if later_trips else []
        if store.number > read.place.number and not exclusive(read.place, store):
            orders.append(([_step(loop) for loop in common], []))
        return any(not contradictory([*same, *equal], [*limits, *after]) for equal, after in orders)

    def _orders(self, common: list[Place]) -> Iterator[tuple[list[Affine], list[Affine]]]:
        """The ways in which one trip of a nest comes after another: equations, and forms that are at least 0."""
        for level, loop in enumerate(common):
            equal: list[Affine] = [_step(outer) for outer in common[:level]]
            step = loop.stmt.step.value if isinstance(loop.stmt, For) and isinstance(loop.stmt.step, Const) else 0
            yield equal, [_step(loop).scaled(1 if step > 0 else -1) - number(1)] if step else []


def around(place: Place) -> Iterator[Place]:
    """Loops around a statement, itself not included, innermost first."""
    owner = place.region.owner
    return owner.loops() if owner is not None else iter(())


def counter(loop: Place) -> str:
    """The variable of a loop in forms."""
    return f"counter {loop.number}"


def exclusive(a: Place, b: Place) -> bool:
    """Whether two statements stand in different arms of one branch."""
    arms = {id(r.owner): r for r in a.region.chain() if r.owner is not None and isinstance(r.owner.stmt, If)}
    return any(r.owner is not None and arms.get(id(r.owner), r) is not r for r in b.region.chain())


def _step(loop: Place) -> Affine:
    """Counter of the later trip less that of the earlier; 0 for a `while`, which has none."""
    name = counter(loop)
    return named(f"{name}'") - named(name) if isinstance(loop.stmt, For) else Affine()


def _renamed(form: Affine, counters: set[str]) -> Affine:
    return sum((named(f"{n}'" if n in counters else n).scaled(v) for n, v in form.terms), number(form.constant))
