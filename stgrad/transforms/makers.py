"""How the reverse sweep can make a value again: its statement once more, or the element of an array that still holds it.

d = x[i] - x[j]           d again: x[i] - x[j], where nothing writes to x in between
y[i] = math.exp(d)        the exponential again: y[i], where no later trip writes there
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.places import Place, Region, Version, reassigned, version
from stgrad.analysis.subscripts import Access, Subscripts
from stgrad.ir import (
    Assign,
    Block,
    Const,
    If,
    Operand,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    blocks,
    entries_of,
    map_blocks,
    map_operands,
    reads,
    walk,
)
from stgrad.ir.ops import operation

REPEATED = 10  # the work of an operation, in additions, up to which it may be repeated
SAVE = 10  # to put a number away and get it back
SAVE_FLAG = 5
GROWING = 3  # halves: where nobody knows how many there will be
BRANCH = 2
LANES = 5  # the most that an operation costs for each element of an array: several are made at once
DIVIDED = 2  # by a constant
_PRODUCTS = {2: 1, 3: 2, 4: 2}  # of powers that are written out
TRIPS = 8  # a loop's trips, and elements along an axis, where costs are compared


@dataclass(frozen=True)
class Maker:
    """One way to make a value again."""

    stmt: Assign | If
    place: Place  # operands are meant before it
    operands: tuple[str, ...]
    cost: int
    read: tuple[tuple[str, Access | None], ...] = ()  # arrays whose contents it reads, and where
    back: bool = False  # reads the value where it was stored
    view: bool = False  # made again, it is the same memory


class Makers:
    """The makers of the values of one program."""

    def __init__(self, places: list[Place], types: Mapping[str, Type], classes: Classes, subscripts: Subscripts) -> None:
        self.types, self.classes, self.subscripts = types, classes, subscripts
        self.stores: dict[str, list[Place]] = {}
        for place in places:
            if isinstance(place.stmt, Store):
                self.stores.setdefault(classes.find(place.stmt.target.name), []).append(place)
        self.known: dict[Version, Maker | None] = {}

    def of(self, found: Version) -> Maker | None:
        """How to make a value again, if that gives the same."""
        if found not in self.known:
            self.known[found] = self._find(found) if found.index >= 0 else None
        return self.known[found]

    def handed(self, found: Version) -> Version | None:
        """What the next trip of a loop knows a number as that this one made, at its start."""
        region, owner = found.region, found.region.owner
        if owner is None or not owner.is_loop or found.index < 0 or self.types[found.name].array:
            return None
        if region.binds(found.name, found.index + 1):
            return None
        later = region.places[found.index + 1 :]
        names = [p.stmt.target.name for p in later if isinstance(p.stmt, Assign) and p.stmt.op == "alias" and p.stmt.args == (Var(found.name),)]
        return Version([found.name, *names][-1], region, -1)

    def _find(self, found: Version) -> Maker | None:
        place = found.region.places[found.index]
        stmt = place.stmt
        if isinstance(stmt, Assign):
            view = self.is_view(stmt)
            if view or self._invariant(stmt, place):
                known = len(stmt.targets) == 1 and len(self.subscripts.sites.get(found.name, [])) == 1
                return Maker(stmt, place, _names(stmt), 0, view=view) if known else None
        back = self._stored(found, place)
        if back is not None:
            return back
        return self._again(found.name, stmt, place) if isinstance(stmt, Assign) else self._chosen(found.name, stmt, place)

    def is_view(self, stmt: Assign) -> bool:
        return viewed(stmt, self.types) is not None and operation(stmt.op).sharing == "always"

    def _invariant(self, stmt: Assign, place: Place) -> bool:
        """A scalar made from values that never change: compiled code makes it once, before the loop."""
        if self.types[stmt.targets[0].name].array or (operation(stmt.op).cost is None):
            return False
        return all(not self.types[n].array and not reassigned(n, place, False) for n in reads(stmt))

    def _again(self, name: str, stmt: Assign, place: Place) -> Maker | None:
        """The statement once more."""
        array = self.types[name].array
        work = repeated(stmt)
        if len(stmt.targets) != 1 or work is None:
            return None
        if array and (len(self.subscripts.sites.get(name, [])) != 1 or self.classes.find(name) in self.stores):
            return None  # made again, it would be as it was before the writes
        cost = min(work, LANES) * elements(self.types[name]) if array else work
        return Maker(stmt, place, _names(stmt), cost, self._contents(stmt, place))

    def _contents(self, stmt: Assign, place: Place) -> tuple[tuple[str, Access | None], ...]:
        if stmt.op == "shape":
            return ()
        if stmt.op == "getitem" and isinstance(stmt.args[0], Var):
            name = stmt.args[0].name
            return ((name, self.subscripts.access(name, stmt.args[1], place)),)
        return tuple((n, None) for n in _names(stmt) if self.types[n].array)

    def _chosen(self, name: str, stmt: Stmt, place: Place) -> Maker | None:
        """A branch that chooses between cheap numbers, once more."""
        if not isinstance(stmt, If) or self.types[name].array:
            return None
        inner = [s for b in blocks(stmt) for s in walk(b)]
        if not all(isinstance(s, Assign) and len(s.targets) == 1 and repeated(s) is not None and s.op != "getitem" for s in inner):
            return None
        if any(self.types[n].array for s in inner for n in (*reads(s), *assigned((s,)))):
            return None
        others = assigned((stmt,)) - {name}
        if any(len(self.subscripts.sites[n]) > 1 or not n.startswith("_") for n in others):
            return None
        cost = BRANCH + sum(repeated(s) or 0 for s in inner if isinstance(s, Assign))
        return Maker(stmt, place, tuple(dict.fromkeys(_exposed(stmt, name))), cost)

    def _stored(self, found: Version, made: Place) -> Maker | None:
        """The element or row that a value was stored to right after, if it is never overwritten."""
        for place in found.region.places[found.index + 1 :]:
            if found.name in place.assigned:
                return None
            stmt = place.stmt
            if isinstance(stmt, Store) and stmt.mode == "set" and stmt.value == Var(found.name) and self._fits(stmt, found.name):
                access = self.subscripts.access(stmt.target.name, stmt.index, place)
                if access is None or None in access.parts[: self.types[stmt.target.name].rank - self.types[found.name].rank]:
                    return None  # a position that is not made of counters alone might be made of the value
                if reassigned(stmt.target.name, place, False) or self.after(stmt.target.name, access):
                    return None
                again = Assign((Var(found.name),), "getitem", (stmt.target, stmt.index), loc=stmt.loc, note=stmt.note)
                return Maker(again, place, _names(again), 1, ((stmt.target.name, access),), back=True)
        return None

    def _fits(self, store: Store, name: str) -> bool:
        """Whether the place stored to holds exactly the value: no cast, no broadcast."""
        value, target = self.types[name], self.types[store.target.name]
        items = entries_of(store.index)
        if value.dtype != target.dtype or value.weak and target.dtype != "float64" or len(items) > target.rank:
            return False
        dims = []
        for item, dim in zip(items, target.dims, strict=False):
            if isinstance(item, Slice) and item == Slice(Const(None), Const(None), Const(None)):
                dims.append(dim)
            elif isinstance(item, Slice) or not (isinstance(item, Const) and type(item.value) is int or self._is_index(item)):
                return False
        return (*dims, *target.dims[len(items) :]) == value.dims

    def _is_index(self, item: Operand) -> bool:
        return isinstance(item, Var) and not self.types[item.name].array and self.types[item.name].dtype.startswith("int")

    # ------------------------------------------------------------- what comes between

    def after(self, name: str, access: Access | None, place: Place | None = None) -> list[Place]:
        """Stores that may overwrite what was read."""
        stores = self.stores.get(self.classes.find(name), [])
        if access is None:
            return [s for s in stores if place is None or s.number > place.number or shares_loop(place, s)]
        return [s for s in stores if self.subscripts.overwritten(access, s)]

    def disturbed(self, maker: Maker, region: Region, index: int, user: int) -> bool:
        """Whether something in the same trip, up to the last reader, writes to what a maker reads."""
        if maker.back or maker.view:
            return False
        later = [p for p in region.places[index + 1 : user + 1] if p.stored]
        if not later:
            return False
        first, last = later[0].number, _last(later[-1])
        for name, access in maker.read:
            for store in self.stores.get(self.classes.find(name), []):
                if first <= store.number <= last and (access is None or self.subscripts.overwritten(access, store, False)):
                    return True
        return False

    def needs(self, maker: Maker) -> Iterator[tuple[Version, int]]:
        """The values that a maker needs from the forward sweep."""
        for name in maker.operands:
            if reassigned(name, maker.place, False):
                yield version(name, maker.place, False)


def repeated(stmt: Assign) -> int | None:
    """Work of an operation that may be repeated, in additions; None where it is too much."""
    cost = work(stmt) if operation(stmt.op).cost is not None else None
    return cost if cost is not None and cost <= REPEATED else None


def work(stmt: Assign) -> int:
    """Work of an operation for one element, in additions: small powers are products, and so are quotients by what is known."""
    known, last = operation(stmt.op), stmt.args[-1] if stmt.args else None
    if not isinstance(last, Const) or isinstance(last.value, str):
        return known.cost or 0
    if known.exponent is not None and last.value in _PRODUCTS:
        return _PRODUCTS[last.value]
    return min(known.cost or 0, DIVIDED) if known.symbol == "/" else known.cost or 0


def once_more(stmt: Assign | If, target: str, operands: Mapping[str, Operand], fresh: Mapping[str, str]) -> Block:
    """The statements of a maker under new names: `operands` before it, `target` for its result, `fresh` for what else it assigns."""
    if isinstance(stmt, Assign):
        new = _operands(stmt, operands)
        assert isinstance(new, Assign)
        return (replace(new, targets=(Var(target),)),)
    own = {n: Var(fresh.get(n, target)) for n in assigned((stmt,))}
    kept = next((n for n in own if n not in fresh), "")
    before: Block = (Assign((Var(target),), "alias", (operands[kept],)),) if kept in operands else ()

    def arm(block: Block) -> Block:
        known = dict(operands)
        result: list[Stmt] = []
        for s in block:
            assert isinstance(s, Assign)
            new = _operands(s, known)
            assert isinstance(new, Assign)
            known[s.target.name] = own[s.target.name]
            result.append(replace(new, targets=(own[s.target.name],)))
        return tuple(result)

    return (*before, map_blocks(arm, _operands(stmt, operands)))


def _operands(stmt: Stmt, names: Mapping[str, Operand]) -> Stmt:
    return map_operands(lambda o: names.get(o.name, o) if isinstance(o, Var) else o, stmt)


def _names(stmt: Stmt) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reads(stmt)))


def _exposed(stmt: If, name: str) -> Iterator[str]:
    """Names that a branch of assignments reads from before it; its own result too, where an arm leaves it as it was."""
    yield from reads(stmt)
    for block in blocks(stmt):
        known: set[str] = set()
        for s in block:
            yield from (n for n in reads(s) if n not in known)
            known |= assigned((s,))
        if name not in known:
            yield name


def _last(place: Place) -> int:
    """The number of the last statement in a place."""
    while place.inner and any(r.places for r in place.inner):
        place = next(r for r in reversed(place.inner) if r.places).places[-1]
    return place.number


def shares_loop(a: Place, b: Place) -> bool:
    """Whether some loop contains both statements."""
    mine = set(map(id, a.loops()))
    return any(id(loop) in mine for loop in b.loops())


def saving(type_: Type, region: Region) -> int:
    """What it costs to save a value each time that a block runs."""
    once = (SAVE_FLAG if type_.dtype == "bool" else SAVE) * elements(type_) * weight(region)
    growing = any(r.owner is not None and isinstance(r.owner.stmt, While) for r in region.chain())
    return once * GROWING // 2 if growing else once


def elements(type_: Type) -> int:
    return int(TRIPS**type_.rank)


def weight(region: Region) -> int:
    """How often a block runs, for comparisons."""
    loops = [r for r in region.chain() if r.owner is not None and r.owner.is_loop]
    return int(TRIPS ** len(loops))


__all__ = ["SAVE", "Maker", "Makers", "elements", "once_more", "repeated", "saving", "weight"]
