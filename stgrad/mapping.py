"""`vmap`: a function over a batch, item by item, as one program.

    [f(x[0]), f(x[1]), ...]    ->    a loop over the items that fills arrays of the results

The loop is plain Python that the compiler reads (`mapped_of`), so it prints as source, is differentiated, nested and run on threads like any other
one. What looks at the structures of arguments and results is called while that program is read: `Size`, `Item`, `Whole`, `Common`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.instances import attributes_of
from stgrad.stubs import Stub
from stgrad.values import Growing, Record, Sym, Value, closed, is_number, leaves, map_leaves, opened, operand_of, type_of


@dataclass(frozen=True)
class Axes:
    """Along which axes arguments are mapped, as the user says it: an int, None, or a tuple with an entry for each argument by position."""

    given: Any
    size: int | None = None

    def of(self, args: Value, kwargs: Value) -> Iterator[tuple[Value, int | None, str]]:
        """The leaves of arguments, each with its axis (None: the same for all items) and its name."""
        if isinstance(self.given, tuple):
            if len(self.given) != len(args):
                raise errors.ShapeError(f"vmap: `in_axes` has {len(self.given)} entries, and the call {len(args)} arguments by position")
            for i, (axis, value) in enumerate(zip(self.given, args, strict=True)):
                yield from paired(axis, value, f"argument {i}")
        else:
            for i, value in enumerate(args):
                yield from paired(self.given, value, f"argument {i}")
        for name, value in kwargs.items():
            yield from paired(0, value, f"`{name}`")


def paired(axes: Any, value: Value, path: str) -> Iterator[tuple[Value, int | None, str]]:
    """The leaves of a structure, each with its entry in a prefix of that structure.

    Raises ShapeError where the prefix is none of it.
    """
    if axes is None or isinstance(axes, int) and not isinstance(axes, bool):
        yield from ((leaf, axes, path) for leaf in leaves(value))
        return
    given, parts = _parts(axes), _parts(value)
    if given is None or parts is None or given.keys() != parts.keys():
        raise errors.ShapeError(f"vmap: the axes of {path} are {axes!r}, which is no prefix of its structure")
    for key, part in parts.items():
        yield from paired(given[key], part, f"{path}[{key!r}]")


def _parts(value: Any) -> dict[Any, Any] | None:
    """The items of a container by key; None for what is none."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    return value.fields if isinstance(value, Record) else attributes_of(value)


def _is_array(value: Value) -> bool:
    return isinstance(value, Sym) or is_number(value) or isinstance(value, Growing)


@dataclass(frozen=True)
class Size(Stub):
    """`size(args, kwargs)`: how many items there are, the extent of every mapped axis.

    Raises ShapeError while the program is read, or ValueError as it runs, where the extents differ.
    """

    axes: Axes

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Value:
        mapped = [(leaf, axis, path) for leaf, axis, path in self.axes.of(*args) if axis is not None and _is_array(leaf)]
        found: list[tuple[Value, int | None, str]] = [(_extent(frame, *one), *one[1:]) for one in mapped]
        if self.axes.size is not None:
            found.append((self.axes.size, None, "`axis_size`"))
        if not found:
            raise errors.ShapeError("vmap: no argument is mapped", frame.builder.loc, hint="give `in_axes` an entry that is not None, or `axis_size`")
        first = found[0]
        for other in found[1:]:
            _must_equal(frame, first, other)
        return first[0]


def _extent(frame: Any, leaf: Value, axis: int, path: str) -> Value:
    if isinstance(leaf, Growing):
        raise errors.TypeInferenceError(f"vmap: {path} is a list whose length is known as the program runs", frame.builder.loc, hint="pass np.array(...) of it")
    rank = type_of(leaf).rank
    if not -rank <= axis < rank:
        what = f"an array with {rank} axes" if rank else "a number"
        raise errors.ShapeError(f"vmap: {path} is mapped along axis {axis}, and is {what}", frame.builder.loc, hint="choose its axis, or None, by `in_axes`")
    return frame.call(operator.getitem, (frame.call(np.shape, (leaf,), {}), axis), {})


def _must_equal(frame: Any, one: tuple[Value, Any, str], other: tuple[Value, Any, str]) -> None:
    from stgrad.ir import Const, Effect, If

    (a, _, _), (b, _, _) = one, other
    if type_of(a).value is not None and type_of(a).value == type_of(b).value:
        return
    said = " and ".join(path if axis is None else f"axis {axis} of {path}" for _, axis, path in (one, other))
    known = [type_of(v).value.constant if type_of(v).value is not None else None for v in (a, b)]  # type: ignore[union-attr]
    if None not in known:
        raise errors.ShapeError(f"vmap: the sizes of {said} differ: {known[0]} and {known[1]}", frame.builder.loc)
    loc = frame.builder.loc
    differ = frame.call(operator.ne, (a, b), {})
    frame.builder.emit(If(operand_of(differ), (Effect("raise", (Const("ValueError"), Const(f"vmap: the sizes of {said} differ")), (), loc),), (), loc))


@dataclass(frozen=True)
class Item(Stub):
    """`item(args, kwargs, k)`: the arguments of the k-th call."""

    axes: Axes

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Value:
        positional, keywords, k = args
        rest = iter(list(self.axes.of(positional, keywords)))

        def one(leaf: Value, _: str) -> Value:
            _, axis, _ = next(rest)
            if axis is None or not _is_array(leaf):
                return leaf
            before = (slice(None),) * (axis % type_of(leaf).rank)
            return frame.call(operator.getitem, (leaf, (*before, k) if before else k), {})

        return map_leaves(one, positional), map_leaves(one, keywords)


@dataclass(frozen=True)
class Whole(Stub):
    """`whole(items, first)`: of a list of results the result of the batch; `first` is one result where some of its parts are the same for all."""

    out_axes: Any

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Value:
        items, first = args
        structure, like = self._stacked(frame, items)
        single = iter(list(leaves(first)) if first is not None else [])
        axes = iter([axis for _, axis, _ in paired(self.out_axes, like, "the result")])

        def one(leaf: Value, _: str) -> Value:
            axis, same = next(axes), next(single, None)
            if axis is None:
                return same
            if not isinstance(leaf, Sym) or not axis:
                return leaf
            if not -leaf.type.rank <= axis < leaf.type.rank:
                raise errors.ShapeError(f"vmap: `out_axes` says {axis}, and the result has {leaf.type.rank} axes", frame.builder.loc)
            order = list(range(1, leaf.type.rank))
            order.insert(axis % leaf.type.rank, 0)
            return frame.call(np.transpose, (leaf, tuple(order)), {})

        return map_leaves(one, structure)

    def _stacked(self, frame: Any, items: Value) -> tuple[Value, Value]:
        """The results as arrays along their first axis, and the structure of one."""
        from stgrad.frontend.growing import view
        from stgrad.frontend.values import Nested

        if isinstance(items, Growing):
            whole = map_leaves(lambda v, _: v.buffer if isinstance(v, Nested) else v, view(frame, items))
            return whole, whole
        columns = zip(*(list(leaves(item)) for item in items), strict=True)

        def stacked(leaf: Value, _: str) -> Value:
            column = next(columns)
            return frame.call(np.array, (list(column),), {}) if isinstance(leaf, Sym) or is_number(leaf) else leaf

        return map_leaves(stacked, items[0]), items[0]


@dataclass(frozen=True)
class Common(Stub):
    """`common(args, kwargs, y)`: refuse a result with parts that are to be the same for all items, and depend on what is mapped."""

    f: Any
    axes: Axes
    out_axes: Any

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], __: dict[str, Any]) -> None:
        from stgrad.program_units import depends

        positional, keywords, mapped, y = args
        given = list(self.axes.of(positional, keywords))
        varied = depends(self.f, frame, mapped, [axis is not None and _is_array(leaf) for leaf, axis, _ in given])
        for (_, axis, _), differs in zip(paired(self.out_axes, y, "the result"), varied, strict=True):
            if axis is None and differs:
                raise errors.ShapeError(
                    "vmap: `out_axes` says None for a part of the result that is not the same for all items",
                    frame.builder.loc,
                    hint="give the axis at which the items are stacked",
                )


def mapped_of(f: Callable[..., Any], axes: Axes, out_axes: Any) -> Callable[..., Any]:
    """The batch program; it is read."""
    size_of, item, whole = Size(axes), Item(axes), Whole(out_axes)
    common = Common(f, axes, out_axes) if has_none(out_axes) else None

    def vmapped(*args: Any, **kwargs: Any) -> Any:
        size = size_of(args, kwargs)
        first = None
        if common is not None:
            chosen, named = item(args, kwargs, 0)
            first = f(*chosen, **named)
            common(args, kwargs, (chosen, named), first)
        items: list[Any] = []
        for k in range(size):
            chosen, named = item(args, kwargs, k)
            items.append(f(*chosen, **named))
        return whole(items, first)

    return vmapped


def one_by_one(run: Callable[..., Any], axes: Axes, out_axes: Any) -> Callable[..., Any]:
    """A function over a batch, called from Python for each item: for one that keeps memory of a call, which no program can read."""

    def mapped(*args: Any) -> Any:
        given = opened(args)
        ways = list(axes.of(given, {}))
        found = [opened(run(*closed(_items_at(k, given, ways)))) for k in range(_size_of(ways, axes.size))]
        columns = zip(*(list(leaves(one)) for one in found), strict=True)
        places = iter([axis for _, axis, _ in paired(out_axes, found[0], "the result")])
        return closed(map_leaves(lambda leaf, _: _joined(leaf, next(columns), next(places)), found[0]))

    return mapped


def _size_of(ways: list[tuple[Any, int | None, str]], given: int | None) -> int:
    sizes = [] if given is None else [(given, "`axis_size`")]
    for leaf, axis, path in ways:
        if axis is not None and leaf is not None:
            rank = np.ndim(leaf)
            if not -rank <= axis < rank:
                raise errors.ShapeError(f"vmap: {path} is mapped along axis {axis}, and is {f'an array with {rank} axes' if rank else 'a number'}")
            sizes.append((np.shape(leaf)[axis], f"axis {axis} of {path}"))
    for size, said in sizes[1:]:
        if size != sizes[0][0]:
            raise ValueError(f"vmap: the sizes of {sizes[0][1]} and {said} differ: {sizes[0][0]} and {size}")
    if not sizes or not sizes[0][0]:
        raise errors.ShapeError("vmap: no argument is mapped" if not sizes else "vmap: there are no items, so that nothing tells the shape of a result")
    return int(sizes[0][0])


def _items_at(k: int, given: Value, ways: list[tuple[Any, int | None, str]]) -> Value:
    rest = iter([leaf if axis is None or leaf is None else np.take(leaf, k, axis) for leaf, axis, _ in ways])
    return map_leaves(lambda *_: next(rest), given)


def _joined(first: Any, column: tuple[Any, ...], axis: int | None) -> Any:
    """The results of all items for one place of the structure."""
    if first is None:
        return None
    if axis is None:
        raise errors.ShapeError("vmap: `out_axes` says None for a part of the result that is not the same for all items")
    return np.stack([np.asarray(part) for part in column], axis)


def has_none(axes: Any) -> bool:
    parts = None if axes is None or isinstance(axes, int) else _parts(axes)
    return axes is None if parts is None else any(has_none(part) for part in parts.values())


def checked_axes(in_axes: Any, axis_size: Any) -> Axes:
    """What `vmap` is given, tested as far as it can be before there are arguments."""
    if isinstance(in_axes, list):
        raise TypeError("vmap: in_axes is an int, None, or a tuple with an entry for each argument by position, not a list")
    if not isinstance(in_axes, (int, tuple, type(None))) or isinstance(in_axes, bool):
        raise TypeError(f"vmap: in_axes is an int, None or a tuple, not {type(in_axes).__name__}")
    if axis_size is not None and operator.index(axis_size) < 0:
        raise ValueError(f"vmap: axis_size={axis_size} is negative")
    return Axes(in_axes, None if axis_size is None else operator.index(axis_size))


__all__ = ["Axes", "Common", "Item", "Size", "Whole", "checked_axes", "mapped_of"]
