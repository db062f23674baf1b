"""`np.squeeze` of arrays whose extents only the running program tells: an axis that happens to have one item is dropped, any other stays.

The first reading takes such axes to be longer, and tests it; where what follows is refused then, to have one item. Where a test fails, the program
is read again for both:

    y = np.squeeze(x)    ->    if x.shape[0] == 1: raise ...          y = x[0] if x.shape[0] == 1 else x

so that `y` stands for arrays of two ranks, and what reads it is compiled for each. A named axis has one item, or NumPy raises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.builtins import handles
from stgrad.frontend.comparisons import unary_not
from stgrad.frontend.control import branch, raise_where
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.indexing import load
from stgrad.frontend.numpy_calls import emit
from stgrad.frontend.shapes import shaped
from stgrad.frontend.values import Sym, Value, static_of
from stgrad.ir import Type


@shaped(np.squeeze)
def _extents(frame: Frame, a: Value, axis: Value = None) -> Type | None:
    """Those of the axes that stay."""
    axes = static_of(axis)
    if not isinstance(a, Sym) or axes is not None and not _known(axes, a.type.rank):
        return None
    dims = a.type.dims
    dropped = [i for i, dim in enumerate(dims) if dim.constant == 1] if axes is None else [k % len(dims) for k in _as_tuple(axes)]
    if any(dims[i].constant not in (None, 1) for i in dropped):
        return None
    return replace(a.type, dims=tuple(dim for i, dim in enumerate(dims) if i not in dropped), value=None)


def _as_tuple(axis: Any) -> tuple[Any, ...]:
    return axis if isinstance(axis, tuple) else (axis,)


def _known(axis: Any, rank: int) -> bool:
    return all(isinstance(k, int) and -rank <= k < rank for k in _as_tuple(axis))


@handles(np.squeeze)
def _squeeze(frame: Frame, a: Value, axis: Value = None) -> Value:
    if not isinstance(a, Sym) or frame.builder.agreeing:
        return emit(frame, np.squeeze, a, axis=axis)
    unsure = [i for i, dim in enumerate(a.type.dims) if dim.symbol is not None and frame.builder.extents.may_be_one(dim)]
    if axis is not None:
        return _along(frame, a, static_of(axis))
    assumption = ASSUMPTION.get()
    if assumption.run_time and unsure:
        return _of_both(frame, a, unsure)
    for i in unsure:
        assumption.note(inside=True)
        assumption.squeezed = not assumption.dropped
        one = _is_one(frame, a, i)
        raise_where(frame, unary_not(frame, one) if assumption.dropped else one, "ValueError", errors.with_line(errors.SQUEEZED, frame.builder.loc))
    if not assumption.dropped and not any(dim.constant == 1 for dim in a.type.dims):
        return a
    if assumption.dropped and unsure:
        a = load(frame, a, tuple(0 if i in unsure else slice(None) for i in range(a.type.rank)), None)
    return emit(frame, np.squeeze, a)


def _along(frame: Frame, a: Sym, axis: Any) -> Value:
    """`np.squeeze(a, axis)`."""
    dropped = {k % a.type.rank for k in _as_tuple(axis)} if _known(axis, a.type.rank) else set()
    tested = [i for i in sorted(dropped) if a.type.dims[i].constant is None]
    if not tested:
        return emit(frame, np.squeeze, a, axis=axis)
    for i in tested:
        longer = unary_not(frame, _is_one(frame, a, i))
        raise_where(frame, longer, "ValueError", "cannot select an axis to squeeze out which has size not equal to one")
    return load(frame, a, tuple(0 if i in dropped else slice(None) for i in range(a.type.rank)), None)


def _of_both(frame: Frame, a: Sym, unsure: list[int]) -> Value:
    """The array without the axes of one item, of a rank that the running program tells."""
    if not unsure:
        return emit(frame, np.squeeze, a) if any(dim.constant == 1 for dim in a.type.dims) else a
    *others, i = unsure

    def dropped() -> Value:
        part = load(frame, a, (*(slice(None) for _ in range(i)), 0), None)
        return _of_both(frame, part, others)

    one = _is_one(frame, a, i)
    if not isinstance(one, Sym):
        return dropped() if one else _of_both(frame, a, others)
    return branch(frame, one, dropped, lambda: _of_both(frame, a, others), "_squeezed")


def _is_one(frame: Frame, a: Sym, axis: int) -> Value:
    return operations.binary(frame, gast.Eq, operations.extent(frame, a, axis), 1)
