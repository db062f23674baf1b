"""Copies within one array whose result depends on the order: `x[::2] = x[:3]` and `a[:, 2] = a[1]` read items that they have written.

NumPy copies to one axis item by item, in memory order, from the end if the source begins before the target (and makes no copy of the source first,
as it does for more axes and for opposite directions). That is as if the source were read first while both sides walk along one axis with one step; else
an item may be written before it is read. A row and a column meet in one item at most, which is read in time where it has one place on both: `a[:, k] = a[k]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stgrad.analysis.affine import Affine, number
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import Extents, parameter_extents
from stgrad.analysis.integers import Integers
from stgrad.errors import AliasingError
from stgrad.ir import ALL, NONE, Assign, Block, Const, For, Function, Loc, Operand, Pack, Slice, Store, Var, blocks, entries_of
from stgrad.ir.ops import operation
from stgrad.names import Names


@dataclass(frozen=True)
class _Cut:
    """Positions on an axis: the first, the step, and behind the last where that is known."""

    first: Affine | None
    step: int
    count: Affine | None


Place = _Cut | Affine | None  # of an axis: a cut, one position, or nobody knows which


@dataclass(frozen=True)
class _View:
    """A look at an array: where on each of its axes, and which of these are the axes of the view; None where that has no such form.

    `root` is the array whose memory it is: `array` itself, or one that it looks into in some other way.
    """

    root: str
    array: str
    places: tuple[Place, ...] = ()
    order: tuple[int, ...] | None = None

    @property
    def lost(self) -> _View:
        return _View(self.root, self.array)


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
    sources = dict(parameter_extents(fn))
    integers = Integers(fn.types, definitions(fn), Extents(Names(), dict(fn.types), sources, frozenset(sources)))
    views = _Views(integers, definitions(fn))

    def search(block: Block) -> Iterator[Store]:
        for stmt in block:
            if isinstance(stmt, Store) and stmt.mode == "set" and isinstance(stmt.value, Var) and fn.types[stmt.value.name].rank == 1:
                to, source = views.at(views.of(stmt.target), stmt.index), views.of(stmt.value)
                if to.root == source.root and (to.order is None or len(to.order) == 1) and not views.in_order(to, source):
                    yield stmt
            around = integers.loops
            integers.loops = (*around, stmt) if isinstance(stmt, For) else around
            for inner in blocks(stmt):
                yield from search(inner)
            integers.loops = around

    return search(fn.body)


@dataclass
class _Views:
    integers: Integers
    definitions: Definitions

    def of(self, var: Var) -> _View:
        """What a name looks at."""
        types = self.integers.types
        made = self.definitions.once.get(var.name)
        if isinstance(made, Assign) and made.args and isinstance(source := made.args[0], Var) and types[source.name].array:
            if made.op == "alias":
                return self.of(source)
            if made.op == "getitem" or operation(made.op).kind == "element":
                if any(isinstance(e, Var) and types[e.name].array for e in entries_of(made.args[1])):
                    return self.whole(var)  # a copy
                return self.at(self.of(source), made.args[1])
            if made.op == "np.transpose":
                return _turned(self.of(source), made)
            if operation(made.op).sharing:
                return self.whole(var, self.of(source).root)
        return self.whole(var)

    def whole(self, var: Var, root: str | None = None) -> _View:
        rank = self.integers.types[var.name].rank
        return _View(root or var.name, var.name, tuple(_Cut(number(0), 1, self.integers.shape(var.name, k)) for k in range(rank)), tuple(range(rank)))

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
        place = self.integers.value(operand)
        if place is None or self.integers.nonnegative(place):
            return place
        return place + count if not place.terms and count is not None else None

    # ------------------------------------------------------------------- order

    def in_order(self, to: _View, source: _View) -> bool:
        """Whether every item is read before it is written, or none is both."""
        if to.array != source.array or to.order is None or source.order is None:
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
        return a is not None and b is not None and self.integers.nonnegative(b - a - number(1))

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
