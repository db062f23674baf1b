"""Broadcasting of extents that are known only as the program runs.

Of two extents that no symbol tells to be equal, either they are, or one of them is 1 and stretches, or NumPy raises ValueError. The
program is read under one of two assumptions, and is right under both:

*Equal* (the first reading): the program tests that they are, at the statement, and goes on with arrays that agree.

    y = x * w[:n]               ->    if w[:n].shape[0] != x.shape[0]: raise ValueError(...)
                                      y = x * w[:n]

*Any* (read where that test has failed): what may have one item is stretched to the common extent, in memory of its own, and the
adjoint sums over what was stretched.

    y = x * w[:n]               ->    if joint(w[:n].shape[0], x.shape[0]) != x.shape[0]: raise ValueError(...)
                                      y = x * stretch(w[:n], x.shape)

So a program whose extents agree pays for a comparison of two integers, and no more. The bodies of rules are written for agreeing extents, and
are read as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.builder import Builder
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Growing, Sym, Value, operand_of
from stgrad.ir import Block, Const, Dim, Effect, Type, Var
from stgrad.rules.products import parsed

ONE = Dim(None, 1)
Meets = Sequence[Sequence[tuple[int, int]]]  # of each extent that operands share: the operands and their axes
_INT = Type("int64", weak=True)


@dataclass(frozen=True)
class _Axis:
    """An axis of an operand: `position` of the operand, `axis` from its front."""

    position: int
    axis: int
    dim: Dim


def agreed(frame: Frame, operands: Sequence[Value], name: str = "operands", target: int | None = None, meets: Meets | None = None) -> list[Value]:
    """The operands of an operation that broadcasts, with extents that agree wherever they are not constants of 1.

    `target` is the position of an operand that is written to, and is never stretched. `meets` tells which axes meet, where
    they are not simply those equally far from the last one.
    """
    values = list(operands)
    arrays = [i for i, v in enumerate(values) if isinstance(v, Sym) and v.type.rank]
    if frame.builder.agreeing or len(arrays) < 2:
        return values
    wanted: dict[int, dict[int, Value]] = {}  # the extents to which operands are stretched, by position and axis
    for places in meets if meets is not None else _from_the_last(values, arrays):
        column = [_Axis(i, axis, values[i].type.dims[axis]) for i, axis in places]
        _agree_along(frame, values, [a for a in column if a.dim != ONE], name, target, wanted)
    for i, extents in wanted.items():
        values[i] = _stretched(frame, values[i], extents)
    return values


def _from_the_last(values: Sequence[Value], arrays: Sequence[int], kept: int = 0) -> Meets:
    """The axes that are equally far from the last one, last ones first; `kept` are left out."""
    rank = max(values[i].type.rank for i in arrays)
    return [[(i, values[i].type.rank - back) for i in arrays if values[i].type.rank >= back] for back in range(1 + kept, rank + 1)]


# --------------------------------------------------------------------------- operations that broadcast, and are not elementwise


def operands_of(frame: Frame, call: Any, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """The arguments of an operation whose rule is written for extents that agree."""
    if call is np.matmul and len(args) == 2 and all(isinstance(a, Sym) for a in args) and min(a.type.rank for a in args) >= 2:
        return tuple(agreed(frame, args, meets=_from_the_last(args, (0, 1), kept=2)))
    if call is np.einsum and all(isinstance(a, Sym) and a.type.rank for a in args[1:]) and isinstance(args[0], str):
        return args[0], *agreed(frame, args[1:], meets=_letters(args[0], args[1:]))
    if call is np.broadcast_to and isinstance(args[0], Sym) and len(args) > 1:
        if isinstance(args[1], Growing):
            hint = "write the shape as a tuple of known length"
            raise errors.NeedStaticError("the number of axes must be known at compile time", frame.builder.loc, hint=hint)
        return _to_shape(frame, args[0], args[1] if isinstance(args[1], (tuple, list)) else (args[1],)), *args[1:]
    return args


def _letters(subscripts: str, operands: Sequence[Value]) -> Meets:
    """The axes that one letter of `np.einsum` stands for."""
    terms, _ = parsed(subscripts, tuple(v.type.rank for v in operands))  # type: ignore[no-untyped-call]
    places: dict[str, list[tuple[int, int]]] = {}
    for i, term in enumerate(terms):
        for axis, letter in enumerate(term[: operands[i].type.rank]):
            places.setdefault(letter, []).append((i, axis))
    return list(places.values())


def _to_shape(frame: Frame, x: Sym, shape: Sequence[Value]) -> Sym:
    """What `np.broadcast_to` stretches, with the extents of `shape` along all axes that are not constants of 1."""
    extents, wanted = frame.builder.extents, {}
    for axis, size in enumerate(shape[len(shape) - x.type.rank :] if not frame.builder.agreeing and len(shape) >= x.type.rank else ()):
        dim = x.type.dims[axis]
        given = size.type.value if isinstance(size, Sym) else Dim(None, int(size))
        if dim == ONE or given is not None and extents.same(dim, given) or dim.symbol is None and given is not None and given.symbol is None:
            continue
        if ASSUMPTION.get().run_time and extents.may_be_one(dim):
            _test(frame, _joined(frame, extent(frame, x, axis), size), size, "operands")
            wanted[axis] = Sym(operand_of(size), replace(_INT, value=given or frame.builder.fresh_dim()))  # type: ignore[arg-type]
            continue
        ASSUMPTION.get().note(inside=True)
        _test(frame, extent(frame, x, axis), size, "operands")
        if given is not None:
            extents.unite(dim, given)
    return _stretched(frame, x, wanted) if wanted else x


def _agree_along(frame: Frame, values: list[Value], column: list[_Axis], name: str, target: int | None, wanted: dict[int, dict[int, Value]]) -> None:
    extents = frame.builder.extents
    apart = list({extents.find(a.dim): a for a in reversed(column)}.values())[::-1]  # one axis for each extent that is not known to be another
    if len(apart) < 2 or sum(a.dim.symbol is None for a in apart) > 1:  # constants that differ are refused by the type
        return
    apart.sort(key=lambda a: (a.position != target, extents.may_be_one(a.dim)))
    certain = [a for a in apart if a.position == target or not extents.may_be_one(a.dim)]
    never = any(a.dim.symbol is not None and a.dim.symbol == b.dim.symbol for a, b in combinations([replace(a, dim=extents.find(a.dim)) for a in apart], 2))
    if len(certain) < len(apart) and (never or ASSUMPTION.get().run_time):
        if not ASSUMPTION.get().run_time:
            ASSUMPTION.get().note(inside=True)  # `x[1:]` of no items has none, not n - 1
        size = _joint(frame, values, apart, certain)
        for a in column:
            if a.position != target and extents.may_be_one(a.dim):
                _test(frame, _joined(frame, extent(frame, values[a.position], a.axis), size), size, name)
                wanted.setdefault(a.position, {})[a.axis] = size
        apart = certain
    for first, other in ((apart[0], other) for other in apart[1:]):
        if other not in certain or first not in certain:
            at_start = _at_start(frame.builder, other.dim) and _at_start(frame.builder, first.dim)
            ASSUMPTION.get().note(inside=not at_start)
            if at_start:
                frame.builder.asked.setdefault((other.dim, first.dim), _message(frame, name))
                extents.unite(other.dim, first.dim)
                continue
        _test(frame, extent(frame, values[other.position], other.axis), extent(frame, values[first.position], first.axis), name)
        extents.unite(other.dim, first.dim)


def _joint(frame: Frame, values: list[Value], apart: list[_Axis], certain: list[_Axis]) -> Value:
    """The extent of the result: a certain one, or the first that is not 1 when the program runs."""
    sizes = [extent(frame, values[a.position], a.axis) for a in certain[:1] or apart]
    for size in sizes[1:]:
        sizes[0] = _joined(frame, sizes[0], size)
    known = certain[0].dim if certain else frame.builder.fresh_dim()
    return Sym(operand_of(sizes[0]), replace(_INT, value=known))  # type: ignore[arg-type]


def _joined(frame: Frame, a: Value, b: Value) -> Value:
    return frame.builder.call("joint", (a, b), _INT)


def extent(frame: Frame, array: Sym, axis: int) -> Value:
    """`array.shape[axis]`, as it is when the program runs."""
    dim = array.type.dims[axis]
    return dim.offset if dim.symbol is None else frame.builder.call("shape", (array, axis), replace(_INT, value=dim))


def must_be_equal(frame: Frame, array: Sym, others: Sequence[Dim], like: Callable[[int], Value], what: str) -> None:
    """The tests that an array has the extents `others`, whose values `like` gives: where an item is kept, nothing stretches.

    In a list of arrays, which is one array, an item of one number would become as long as the items beside it.
    """
    extents = frame.builder.extents
    for axis, (dim, other) in enumerate(zip(array.type.dims, others, strict=True)):
        found, wanted = extents.find(dim), extents.find(other)
        if found.symbol is None and wanted.symbol is None and found != wanted:
            raise errors.TypeInferenceError(what, frame.builder.loc, hint="keep arrays of one shape in a list, or put their numbers into one array")
        if not frame.builder.agreeing and found != wanted:
            sides = operand_of(extent(frame, array, axis)), operand_of(like(axis))
            frame.builder.emit(Effect("check_equal", (*sides, _placed(frame, what)), (), frame.builder.loc))
            extents.unite(dim, other)


def _test(frame: Frame, a: Value, b: Value, name: str) -> None:
    frame.builder.emit(Effect("check_equal", (operand_of(a), operand_of(b), _message(frame, name)), (), frame.builder.loc))


def _message(frame: Frame, name: str) -> Const:
    return _placed(frame, f"{name} could not be broadcast together")


def _placed(frame: Frame, message: str) -> Const:
    return Const(errors.with_line(message, frame.builder.loc))


# --------------------------------------------------------------------------- tests at the start


def _at_start(builder: Builder, dim: Dim) -> bool:
    """Whether an extent is one of arguments, or an integer among them."""
    return dim.symbol is None or dim.symbol in builder.given


def asked_at_start(builder: Builder) -> Block:
    """The tests of extents of arguments that statements ask for.

    Where one fails, the program need not be wrong: that statement may not be reached, or one of the extents is 1. So it may stand before
    anything is written.
    """
    with builder.block() as tests:
        for (a, b), message in builder.asked.items():
            left, right = (_size(builder, d) for d in (a, b))
            builder.emit(Effect("check_equal", (operand_of(left), operand_of(right), message)))
    return tuple(tests)


def _size(builder: Builder, dim: Dim) -> Value:
    if dim.symbol is None:
        return dim.offset
    name, axis = builder.given[dim.symbol]
    value = Sym(Var(name), builder.types[name])
    n = value if axis is None else builder.call("shape", (value, axis), _INT)
    return n if not dim.offset else builder.call("np.add", (n, dim.offset), _INT)


def _stretched(frame: Frame, value: Sym, sizes: dict[int, Value]) -> Value:
    """An operand with other extents along some axes."""
    dims = tuple(d if axis not in sizes else sizes[axis].type.value for axis, d in enumerate(value.type.dims))
    shape = tuple(sizes[axis] if axis in sizes else extent(frame, value, axis) for axis in range(value.type.rank))
    return frame.builder.call("stretch", (value, shape), replace(value.type, dims=dims))


def fitted(frame: Frame, owner: Sym, index: Value, part: Type, value: Value) -> Value:
    """A value for `owner[index] = value`, with the extents of `part`, the type of `owner[index]`, along all axes that are not 1."""
    entries = index if isinstance(index, tuple) else (index,)
    if not isinstance(value, Sym) or not value.type.rank or not part.rank:
        return value
    pairs = list(zip(value.type.dims[::-1], part.dims[::-1], strict=False))
    if all(v == ONE or frame.builder.extents.same(v, p) for v, p in pairs):
        return value
    for v, p in pairs:
        if v != ONE and None not in (v.constant, p.constant) and v.constant != p.constant:  # where this statement is reached, NumPy raises
            _test(frame, v.constant, p.constant, "an array and what it is stored into")
    view = owner if entries == (Ellipsis,) else frame.builder.call("getitem", (owner, index), part)
    return agreed(frame, (view, value), target=0)[1]


def without_ones(frame: Frame, part: Type, value: Value) -> Value:
    """A value for `owner[index] = value` without leading axes of one item, which NumPy drops; where only the run tells their extents, they are tested."""
    extra = value.type.rank - part.rank if isinstance(value, Sym) else 0
    if extra <= 0 or not all(d == ONE or d.constant is None for d in value.type.dims[:extra]):
        return value
    for axis, dim in enumerate(value.type.dims[:extra]):
        if dim != ONE:
            _test(frame, extent(frame, value, axis), 1, "an array with an axis more than what it is stored into")
    from stgrad.frontend.indexing import load

    return load(frame, value, (0,) * extra if extra > 1 else 0, None)
