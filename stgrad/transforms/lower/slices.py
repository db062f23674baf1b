"""Slices whose bounds are known at run time only: where they start, and how many items they have.

    x[i : i + k]     is k items from i on, where 0 <= i and i + k <= n can be proved
    x[lo:hi]         starts at `runtime.clipped(lo, n)`, as Python clips it; computed once, before the loops that need it
"""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.analysis.affine import Affine, named, number
from stgrad.ir import Const, Dim, Operand, Slice, Type, Var
from stgrad.transforms.lower.nest import ZERO, Axis, Call, Entry, Expr, Extent, Kernel, Lit
from stgrad.transforms.lower.scalarise import Bound, Scalariser
from stgrad.transforms.lower.views import one_slice

INT = Type("int64", weak=True)


def slice_of(state: Scalariser, item: Slice, extent: Dim, axis: int) -> tuple[Entry, Dim] | None:
    """Position and extent of a slice of an axis; None where it has no form."""
    place = _of_one_item(item)
    if place is not None and extent.symbol is not None:
        return Axis(axis, 1, Dim(None, place) if place >= 0 else Dim(extent.symbol, extent.offset + place)), Dim(None, 1)
    found = one_slice(item, extent, axis, state.integers.known)
    if found is not None:
        return found[0], found[1] if state.integers.trusts(found[1]) else _natural(state, found[1])
    step = 1 if item.step == Const(None) else item.step.value if isinstance(item.step, Const) else 0
    if not isinstance(step, int) or not step or not state.extents.known((extent,)):
        return None
    ends = _ends(state, item, extent) if step > 0 else _ends_down(state, item, extent)
    if ends is None:
        return None
    start, stop = ends
    return Axis(axis, step, start), _count(state, start, stop, step)


def _of_one_item(item: Slice) -> int | None:
    """Where a slice such as `[:1]` or `[-1:]` starts: the front end has checked that it has its one item."""
    lower, upper = (0 if i == 0 and b == Const(None) else b.value if isinstance(b, Const) else None for i, b in enumerate((item.lower, item.upper)))
    if item.step not in (Const(None), Const(1)) or not isinstance(lower, int):
        return None
    if lower == -1 and item.upper == Const(None):
        return -1
    return lower if isinstance(upper, int) and upper - lower == 1 and (lower < 0) == (upper < 0) else None


def add(state: Scalariser, a: Dim, b: Dim) -> Dim:
    """The sum of two extents."""
    total = state.integers.of(a) + state.integers.of(b)
    return state.integers.dim(total) or _computed(state, total, "np.add", Extent(a), Extent(b))


# ------------------------------------------------------------------------ ends


def _ends(state: Scalariser, item: Slice, extent: Dim) -> tuple[Dim, Dim] | None:
    start = ZERO if item.lower == Const(None) else _clipped(state, item.lower, extent, upper=False)
    stop = extent if item.upper == Const(None) else _clipped(state, item.upper, extent, upper=True)
    return None if start is None or stop is None else (start, stop)


def _clipped(state: Scalariser, operand: Operand, extent: Dim, *, upper: bool) -> Dim | None:
    """A bound of a slice as the position it stands for: negative ones count from the end, and none is past an end."""
    integers = state.integers
    bound = integers.value(operand)
    if bound is None:
        return None
    end = integers.of(extent)
    if not integers.nonnegative(bound):
        return _operation(state, "runtime.clipped", (bound, end), state.number(operand), extent)
    if not upper or integers.nonnegative(end - bound):  # a start past the end has nothing behind it anyway
        return state.number(operand)
    return _operation(state, "min", (bound, end), state.number(operand), extent)


def _ends_down(state: Scalariser, item: Slice, extent: Dim) -> tuple[Dim, Dim] | None:
    """Both ends of a slice that runs backwards, which must be in range."""
    integers = state.integers
    last = integers.of(extent) - number(1)
    start, stop = (None if o == Const(None) else integers.value(o) for o in (item.lower, item.upper))
    for operand, bound in ((item.lower, start), (item.upper, stop)):
        proved = bound is not None and integers.nonnegative(bound) and integers.nonnegative(last - bound)
        if operand != Const(None) and not proved:
            return None
    begin = Dim(extent.symbol, extent.offset - 1) if start is None else state.number(item.lower)
    return begin, Dim(None, -1) if stop is None else state.number(item.upper)


def _count(state: Scalariser, start: Dim, stop: Dim, step: int) -> Dim:
    """How many items there are from one end to the other."""
    integers = state.integers
    low, high = (start, stop) if step > 0 else (stop, start)
    length = integers.of(high) - integers.of(low)
    size = integers.dim(length) or _computed(state, length, "np.subtract", Extent(high), Extent(low))
    if abs(step) > 1:
        raised = integers.of(size) + number(abs(step) - 1)
        size = _operation(state, "np.floor_divide", (raised, number(abs(step))), Dim(size.symbol, size.offset + abs(step) - 1), Dim(None, abs(step)))
    return _natural(state, size)


def _natural(state: Scalariser, size: Dim) -> Dim:
    """An extent, 0 where it may be negative."""
    integers = state.integers
    if integers.is_extent(size) or integers.nonnegative(integers.of(size)):
        return size
    return _operation(state, "max", (integers.of(size), number(0)), size, ZERO)


def wrapped(state: Scalariser, shift: Operand, extent: Dim) -> Dim:
    """A shift as a position on an axis that closes to a ring."""
    if isinstance(shift, Const) and extent.symbol is None:
        return Dim(None, shift.value % max(extent.offset, 1))
    integers = state.integers
    ring = _operation(state, "max", (integers.of(extent), number(1)), extent, Dim(None, 1))
    total = integers.value(shift)
    assert total is not None
    return _operation(state, "np.remainder", (total, integers.of(ring)), state.number(shift), ring)


def span(state: Scalariser, start: Dim, stop: Dim) -> Dim:
    """How many places there are from one to another that is not before it: written so that later passes see that it is not negative."""
    integers = state.integers
    length = integers.of(stop) - integers.of(start)
    size = integers.dim(length) or _computed(state, length, "np.subtract", Extent(stop), Extent(start))
    return size if size.symbol is None else _operation(state, "max", (integers.of(size), number(0)), size, ZERO)


# ----------------------------------------------------------------- computation


def _operation(state: Scalariser, op: str, parts: tuple[Affine, Affine], a: Dim, b: Dim) -> Dim:
    """The result of an operation on two integers, computed once in a run."""
    known = state.clips.get((op, *parts))
    if known is None:
        result = _scalar(state, op, Extent(a), Extent(b))
        state.bounds[result] = (op, parts, a, b)
        state.integers.restrict(result, op, parts)
        known = state.clips[(op, *parts)] = state.integers.introduce(named(result), (result, None))
    return known


def inputs(state: Scalariser, bound: Bound) -> set[str]:
    """Names from which a bound was computed; "" where they are not known."""
    _, parts, a, b = bound
    holders = {state.extents.sources.get(d.symbol, ("",))[0] for d in (a, b) if d.symbol is not None}
    return holders | {atom for part in parts for atom, _ in part.terms}


def again(state: Scalariser, bounds: Mapping[str, Bound], extent: Dim) -> Dim:
    """An extent of another try of the same run: what that try computed, or read from a variable, is computed and read once more.

    The symbols of one try mean nothing in the next, which knows more: there a variable may be an extent that it only held before.
    """
    name = (extent.symbol or "").removesuffix("[-1]")
    if name in bounds:
        op, parts, a, b = bounds[name]
        found = _operation(state, op, parts, again(state, bounds, a), again(state, bounds, b))
    elif extent.symbol in state.extents.sources or name not in state.types or state.types[name].array:
        return extent
    else:
        found = state.number(Var(name))
    return Dim(found.symbol, found.offset + extent.offset)


def _computed(state: Scalariser, total: Affine, op: str, a: Expr, b: Expr) -> Dim:
    return state.integers.introduce(total, (_scalar(state, op, a, b), None))


def _scalar(state: Scalariser, op: str, a: Expr, b: Expr) -> str:
    """A new variable for an integer; its statement stays even if the one that asked for it takes another form."""
    result = state.temporary("_t", INT)
    state.kept.add(result)
    state.units.append(Kernel((), result, (), Call(op, (_literal(a), _literal(b)), "int64", weak=True), "def", "int64"))
    return result


def _literal(expr: Expr) -> Expr:
    constant = isinstance(expr, Extent) and expr.dim.symbol is None
    return Lit(Const(expr.dim.offset), "int64") if isinstance(expr, Extent) and constant else expr

