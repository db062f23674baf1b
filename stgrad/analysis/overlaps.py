"""Copies within one array whose result depends on the order: `x[::2] = x[:3]` and `a[:, 2] = a[1]` read items that they have written.

NumPy copies to one axis item by item, in memory order, from the end if the source begins before the target (and makes no copy of the source first,
as it does for more axes and for opposite directions). That is as if the source were read first while both sides walk along one axis with one step; else
an item may be written before it is read. A row and a column meet in one item at most, which is read in time where it has one place on both: `a[:, k] = a[k]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from stgrad.analysis.affine import Affine, number
from stgrad.analysis.alias import Classes, sharing, sources
from stgrad.analysis.following import Following
from stgrad.analysis.integers import Integers
from stgrad.analysis.known import Known, at_start
from stgrad.errors import AliasingError
from stgrad.ir import ALL, NONE, Assign, Block, Const, For, Function, Loc, Operand, Pack, Slice, Stmt, Store, Var, entries_of, gathers, walk
from stgrad.ir.ops import operation


def refusal(loc: Loc | None) -> AliasingError:
    """What is said of such a store."""
    return AliasingError(
        "the two sides of this assignment overlap, with different steps",
        loc,
        reason="NumPy may read items that it has just written: its result depends on the order",
        hint="copy the right side: x[::2] = x[:3].copy()",
    )


def unordered(fn: Function) -> Iterator[Store]:
    """The stores of which NumPy may read what it has written."""
    if any(_of_a_row(fn, stmt) for stmt in fn.body):
        looks = _Looks(at_start(fn), fn)
        looks.views = {p.name: looks.whole(p.name) for p in fn.params if fn.types[p.name].array}
        search = _Search(looks, fn, sharing(fn))
        search.block(fn.body)
        yield from search.found


def _of_a_row(fn: Function, stmt: Stmt) -> bool:
    """Whether a statement stores an array of one axis somewhere."""
    return any(isinstance(s, Store) and s.mode == "set" and isinstance(s.value, Var) and fn.types[s.value.name].rank == 1 for s in walk((stmt,)))


@dataclass(frozen=True)
class _Cut:
    """Positions on an axis: the first, the step, and how many there are where that is known."""

    first: Affine | None
    step: int
    count: Affine | None


Place = _Cut | Affine | None  # of an axis: a cut, one position, or nobody knows which


@dataclass(frozen=True)
class _View:
    """A look at an array: where on each of its axes, and which of these are the axes of the view; None where that has no such form.

    Attributes:
        array: what the places are places of, by the time it was bound at.
        root: the array whose memory that is: itself, another one that it looks into in some other way, or 0 where nobody knows which.
        rank: how many axes `array` has.
    """

    root: int
    array: int
    rank: int
    places: tuple[Place, ...] = ()
    order: tuple[int, ...] | None = None

    @property
    def lost(self) -> _View:
        return _View(self.root, self.array, self.rank)


@dataclass
class _Looks:
    """What is known at a place: of integers, and at what each name of an array looks now."""

    known: Known
    fn: Function
    views: dict[str, _View] = field(default_factory=dict)
    times: Iterator[int] = field(default_factory=lambda: count(1))
    telling: set[str] = field(default_factory=set)  # names that told the place of any view, here or elsewhere in the program

    @property
    def integers(self) -> Integers:
        return self.known.integers

    def copy(self) -> _Looks:
        return replace(self, known=self.known.copy(), views=dict(self.views))

    def fresh(self) -> _Looks:
        return replace(self, known=self.known.fresh(), views={n: self.whole(n, 0) for n in self.views})

    def where(self, condition: Operand, holds: bool) -> _Looks:
        return replace(self, known=self.known.where(condition, holds), views=dict(self.views))

    def join(self, a: _Looks, b: _Looks) -> None:
        self.known.join(a.known, b.known)
        self.views = {n: a.of(n) if a.of(n) == b.of(n) else self.whole(n, 0) for n in a.views.keys() | b.views.keys()}

    def take(self, other: _Looks) -> None:
        self.join(other, other)

    def body(self, loop: For, changed: set[str]) -> _Looks:
        inside = replace(self, known=self.known.body(loop, changed))
        self._forget(changed)
        inside.views = dict(self.views)
        return inside

    def forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.known.forget(gone)
        self._forget(gone)

    def assign(self, stmt: Assign) -> None:
        self._forget({t.name for t in stmt.targets}, {t.name: self._made(t.name, stmt) for t in stmt.targets if self.fn.types[t.name].array})
        self.known.assign(stmt)

    def _forget(self, gone: set[str], made: dict[str, _View] | None = None) -> None:
        """Names get new values, or arrays that may be any; views at places that the old ones told are lost."""
        made = {name: self.whole(name, 0) for name in gone if self.fn.types[name].array} if made is None else made
        self.telling.update(*map(self._told, made.values()))
        if self.telling.isdisjoint(gone):
            self.views |= made
            return
        before = {view.array for view in self.views.values()}
        self.views |= made
        for name, view in self.views.items():
            if view.array in before and self._told(view) & gone:
                self.views[name] = view.lost

    def _told(self, view: _View) -> set[str]:
        totals = [t for p in view.places for t in ((p.first, p.count) if isinstance(p, _Cut) else (p,)) if t is not None]
        return {n for total in totals for n in self.known.names(total)}

    def _made(self, name: str, stmt: Assign) -> _View:
        """What the result of an operation looks at."""
        looked_at = sources(stmt, self.fn.types, moved=False)
        if not looked_at:
            return self.whole(name)
        source = self.of(looked_at[0])
        if stmt.op == "alias":
            return source
        if operation(stmt.op).kind == "element" and not gathers(stmt.args[1], self.fn.types):
            return self.at(source, stmt.args[1])
        if stmt.op == "np.transpose":
            return _turned(source, stmt)
        return self.whole(name, source.root if len(looked_at) == 1 else 0)

    def of(self, name: str) -> _View:
        """What a name looks at."""
        if name not in self.views:
            self.views[name] = self.whole(name, 0)
        return self.views[name]

    def whole(self, name: str, root: int | None = None) -> _View:
        """All of an array as it is bound now."""
        rank, own = self.fn.types[name].rank, next(self.times)
        places = tuple(_Cut(number(0), 1, self.known.extent(name, k)) for k in range(rank))
        view = _View(own if root is None else root, own, rank, places, tuple(range(rank)))
        self.telling |= self._told(view)
        return view

    # ------------------------------------------------------------------ places

    def at(self, view: _View, index: Operand) -> _View:
        """The part of a view that an index tells."""
        if view.order is None:
            return view
        entries = list(entries_of(index))
        missing = len(view.order) - sum(e not in (NONE, ALL) for e in entries)
        dots = entries.index(ALL) if ALL in entries else len(entries)
        entries[dots : dots + 1] = [Slice(NONE, NONE, NONE)] * missing
        if len(entries) != len(view.order) or NONE in entries:
            return view.lost
        places, order = list(view.places), list[int]()
        for axis, entry in zip(view.order, entries, strict=True):
            cut = places[axis]
            if not isinstance(cut, _Cut):
                return view.lost
            places[axis] = self.part(cut, entry) if isinstance(entry, Slice) else self.item(cut, entry)
            order += [axis] if isinstance(entry, Slice) else []
        return replace(view, places=tuple(places), order=tuple(order))

    def item(self, cut: _Cut, entry: Operand) -> Affine | None:
        place = self.counted(entry, cut.count)
        return None if place is None or cut.first is None else cut.first + place.scaled(cut.step)

    def part(self, cut: _Cut, entry: Slice) -> _Cut:
        step = 1 if entry.step == NONE else entry.step.value if isinstance(entry.step, Const) and type(entry.step.value) is int else 0
        if step <= 0:
            return _Cut(None, step * cut.step, None)
        lower = number(0) if entry.lower == NONE else self.counted(entry.lower, cut.count)
        upper = cut.count if entry.upper == NONE else self.counted(entry.upper, cut.count)
        if lower is None or cut.first is None:
            return _Cut(None, step * cut.step, None)
        count = None if upper is None or step != 1 and (upper - lower).terms else upper - lower
        if count is not None and cut.count is not None and not count.terms and not cut.count.terms and not lower.terms:
            count = number(len(range(int(cut.count.constant))[int(lower.constant) : int(lower.constant + count.constant) : step]))
        elif count is not None and not count.terms:
            count = number(max(-(-int(count.constant) // step), 0))
        return _Cut(cut.first + lower.scaled(cut.step), step * cut.step, count)

    def counted(self, operand: Operand, count: Affine | None) -> Affine | None:
        """A position from the first; None where nobody knows on which side it counts."""
        place = self.known.value(operand)
        if place is None or self.known.proves(place):
            return place
        return place + count if not place.terms and count is not None else None

    # ------------------------------------------------------------------- order

    def in_order(self, to: _View, source: _View) -> bool:
        """Whether of two looks at one array every item is read before it is written, or none is both."""
        if to.order is None or source.order is None:
            return False
        (mine,), (other,) = to.order, source.order
        a, b = to.places[mine], source.places[other]
        assert isinstance(a, _Cut)
        assert isinstance(b, _Cut)
        if a.step * b.step < 0 or any(map(self.apart, to.places, source.places)):
            return True
        return self.along(a, b) if mine == other else self.across(a, b, to.places[other], source.places[mine])

    def apart(self, a: Place, b: Place) -> bool:
        """Whether two looks at an axis have no position in common."""
        if a is None or b is None:
            return False
        (low, high), (first, last) = self.ends(a), self.ends(b)
        return self.below(high, first) or self.below(last, low)

    def ends(self, place: _Cut | Affine) -> tuple[Affine | None, Affine | None]:
        if isinstance(place, Affine):
            return place, place
        last = None if place.first is None or place.count is None else place.first + (place.count - number(1)).scaled(place.step)
        return (place.first, last) if place.step > 0 else (last, place.first)

    def below(self, a: Affine | None, b: Affine | None) -> bool:
        return a is not None and b is not None and self.known.proves(b - a - number(1))

    def alike(self, to: _View, source: _View) -> bool:
        """Whether two looks at whole arrays walk along one axis with one step: in order, if the arrays are one."""
        if to.order is None or source.order is None or to.order != source.order:
            return False
        a, b = to.places[to.order[0]], source.places[source.order[0]]
        return isinstance(a, _Cut) and isinstance(b, _Cut) and (a.step == b.step or a.step * b.step < 0)

    def across(self, a: _Cut, b: _Cut, row: Place, column: Place) -> bool:
        """Of a column that gets a row: whether the item in which they meet has one place on both, `row` - a.first and `column` - b.first.

        `row` is where the target stands on the source's axis.
        """
        if not isinstance(row, Affine) or not isinstance(column, Affine) or a.first is None or b.first is None:
            return False
        return (column - a.first).scaled(b.step) == (row - b.first).scaled(a.step)

    def along(self, to: _Cut, source: _Cut) -> bool:
        """Of items of one axis."""
        if to.step == source.step:
            return True
        if to.first is None or source.first is None or to.first.terms or source.first.terms:
            return False
        first, start = int(to.first.constant), int(source.first.constant)
        backwards = start < first
        counts = [int(c.count.constant) for c in (to, source) if c.count is not None and not c.count.terms]
        if not counts:
            return to.step >= source.step if backwards else source.step >= to.step
        return _as_if_copied([(first + i * to.step, start + i * source.step) for i in range(min(counts))], backwards)


@dataclass
class _Search(Following[_Looks]):
    fn: Function
    classes: Classes
    found: list[Store] = field(default_factory=list)

    def simple(self, stmt: Stmt) -> Block:
        if isinstance(stmt, Store) and _of_a_row(self.fn, stmt) and isinstance(stmt.value, Var) and not gathers(stmt.index, self.fn.types):
            to, source = self.known.at(self.known.of(stmt.target.name), stmt.index), self.known.of(stmt.value.name)
            one_axis = to.order is None or len(to.order) == 1
            if one_axis and self.classes.same(stmt.target.name, stmt.value.name) and not self.safe(to, source, stmt.target.name):
                self.found.append(stmt)
        return super().simple(stmt)

    def safe(self, to: _View, source: _View, target: str) -> bool:
        if to.array == source.array:
            return self.known.in_order(to, source)
        if to.root and source.root:
            return to.root != source.root
        if (to.root or source.root) > min(to.array, source.array):  # made when the other was already there
            return True
        return to.rank == source.rank == self.rank(target) and self.known.alike(to, source) and not self.turned(target)

    def rank(self, name: str) -> int:
        """The most axes of an array that may share memory with this one."""
        return max(t.rank for n, t in self.fn.types.items() if t.array and self.classes.same(n, name))

    def turned(self, name: str) -> bool:
        """Whether arrays that may share this memory may lie in it in two ways."""
        rank = self.rank(name)
        views = [s for s in walk(self.fn.body) if isinstance(s, Assign) and sources(s, self.fn.types, moved=False) and not _lies_alike(s)]
        return any(self.classes.same(s.targets[0].name, name) and self.fn.types[s.targets[0].name].rank == rank for s in views)


def _lies_alike(stmt: Assign) -> bool:
    """Whether what an operation gives lies in memory as what it was given does: with the same steps from item to item."""
    if stmt.op != "getitem":
        return stmt.op in ("alias", "with_room")
    return all(e == ALL or isinstance(e, Slice) and e.step in (NONE, Const(1)) for e in entries_of(stmt.args[1]))


def _as_if_copied(moves: Sequence[tuple[int, int]], backwards: bool) -> bool:
    """Whether no item is read, of pairs of a target and a source, after it was written."""
    if backwards and moves and moves[-1][1] < moves[0][0]:  # they do not overlap
        return True
    written: set[int] = set()
    for target, item in reversed(moves) if backwards else moves:
        if item in written:
            return False
        written.add(target)
    return True


def _turned(view: _View, made: Assign) -> _View:
    """A view whose axes `np.transpose` puts in another order."""
    if view.order is None:
        return view
    given = [*made.args[1:], *(v for _, v in made.kwargs)]
    if not given or given == [NONE]:
        return replace(view, order=view.order[::-1])
    axes = [a.value for a in given[0].items if isinstance(a, Const)] if isinstance(given[0], Pack) else []
    return replace(view, order=tuple(view.order[a] for a in axes)) if len(axes) == len(view.order) else view.lost
