"""Extents that an operation asks to be equal, tested where the operation itself may be dropped.

A gradient need not compute the value: the product whose factors do not fit may be gone from it, and with it NumPy's error. So the
extents of arguments that a product or a join compares are compared in a statement of its own, which stays:

    if x.shape[0] != W.shape[1]: raise ValueError(...)

Only extents that arguments have themselves are compared; what a function makes on the way is as NumPy makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Sym, Value, operand_of, static_of
from stgrad.ir import Const, Dim, Effect, Type, Var

Pair = tuple[Dim, Dim]
PAIRS: dict[Any, Callable[..., Iterator[Pair]]] = {}


def pairs(*calls: Any) -> Callable[[Callable[..., Iterator[Pair]]], Callable[..., Iterator[Pair]]]:
    def register(found: Callable[..., Iterator[Pair]]) -> Callable[..., Iterator[Pair]]:
        PAIRS.update(dict.fromkeys(calls, found))
        return found

    return register


def check(frame: Frame, call: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """Emit the tests that a call of the user's program needs; rules know what they multiply."""
    found = PAIRS.get(call)
    if found is None or frame.unroll:
        return
    name = getattr(call, "__name__", "operation")
    for a, b in dict.fromkeys(found(*args, **kwargs)):
        left, right = (_extent(frame, d) for d in (a, b))
        if a != b and left is not None and right is not None:
            if min(a.offset, b.offset) < 0:  # of an array that is too short the slice has no items
                ASSUMPTION.get().note(inside=True)
            message = errors.with_line(f"{name}: shapes do not fit", frame.builder.loc)
            frame.builder.emit(Effect("check_equal", (left, right, Const(message)), (), frame.builder.loc))


def _extent(frame: Frame, dim: Dim) -> Any:
    """The operand of an extent that is a constant, or that of an argument; None for others."""
    if dim.constant is not None:
        return Const(dim.constant)
    assert dim.symbol is not None
    name, _, axis = dim.symbol.rpartition(".")
    t = frame.builder.types.get(name)
    if t is None or not axis.isdigit() or int(axis) >= t.rank or t.dims[int(axis)] != Dim(dim.symbol):
        return None
    extent = frame.builder.call("shape", (Sym(Var(name), t), int(axis)), Type("int64", weak=True, value=Dim(dim.symbol)))
    if dim.offset:
        extent = frame.builder.call("np.add", (extent, dim.offset), Type("int64", weak=True, value=dim))
    return operand_of(extent)


def _arrays(values: tuple[Value, ...]) -> bool:
    return all(isinstance(v, Sym) and v.type.rank for v in values)


@pairs(np.matmul, np.dot)
def _product(a: Value, b: Value, **_: Value) -> Iterator[Pair]:
    if _arrays((a, b)):
        yield a.type.dims[-1], b.type.dims[-2 if b.type.rank > 1 else 0]


@pairs(np.inner, np.vdot)
def _inner(a: Value, b: Value) -> Iterator[Pair]:
    if _arrays((a, b)):
        yield a.type.dims[-1], b.type.dims[-1]


@pairs(np.einsum)
def _einsum(subscripts: Value, *operands: Value, **_: Value) -> Iterator[Pair]:
    text = static_of(subscripts)
    if not isinstance(text, str) or "." in text or not _arrays(operands):
        return
    known: dict[str, Dim] = {}
    one = Dim(None, 1)  # stretched
    for letters, operand in zip(text.replace(" ", "").partition("->")[0].split(","), operands, strict=False):
        for letter, dim in zip(letters, operand.type.dims, strict=False):
            if dim != one and known.setdefault(letter, dim) != dim:
                yield known[letter], dim


@pairs(np.tensordot)
def _tensordot(a: Value, b: Value, axes: Value = 2) -> Iterator[Pair]:
    axes = static_of(axes)
    if not _arrays((a, b)):
        return
    if isinstance(axes, int):
        count = min(axes, a.type.rank, b.type.rank)
        yield from zip(a.type.dims[a.type.rank - count :], b.type.dims[:count], strict=True)


@pairs(np.stack)
def _stacked(arrays: Value, *_: Value, **__: Value) -> Iterator[Pair]:
    if isinstance(arrays, (tuple, list)) and _arrays(tuple(arrays)):
        for other in arrays[1:]:
            yield from zip(arrays[0].type.dims, other.type.dims, strict=False)
