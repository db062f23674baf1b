"""What programs of sparse matrices ask the front end: to make one, whether a value is one, and where entries stand.

The helpers are read as what stands below them; in plain Python they do what they say, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.frontend import sparse_objects
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.shapes import shaped
from stgrad.frontend.values import Record, Sym, Value, is_number, type_of
from stgrad.ir import Dim, Type
from stgrad.rules.core import nondiff
from stgrad.runtime import diagonal_places, entry_lines, last_places, paired_places, united_places

PARTS = {
    "csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col"), "dia": ("data", "offsets"),
    "lil": ("rows", "columns", "values"), "dok": ("rows", "columns", "values"),
}  # fmt: skip
CLASSES: dict[tuple[str, bool], Any] = {}  # by layout, and whether `*` is a product of matrices; `sparse_layouts` fills it


def make(layout: str, is_matrix: bool, shape: Any, *parts: Any) -> Any:
    """A sparse matrix of known parts, in the order in which its class names them."""
    return CLASSES[layout, is_matrix](shape, *parts)


def is_sparse(value: Any) -> bool:
    """Whether a value stands for a sparse matrix."""
    return type(value) in CLASSES.values()


def read(value: Any) -> Any:
    """A sparse matrix from outside as one of the program; other values as they are."""
    return value


def scalars(*values: Any) -> bool:
    """Whether indices are numbers."""
    return all(np.ndim(v) == 0 and not isinstance(v, slice) for v in values)


def whole(index: Any) -> bool:
    """Whether an index takes an axis as it is."""
    return isinstance(index, slice) and index == slice(None)


def is_column(value: Any) -> bool:
    """Whether an array is known to have two axes, the second of one item."""
    return np.ndim(value) == 2 and bool(np.shape(value)[1] == 1)


# --------------------------------------------------------------------------- what the front end makes of these helpers


@handles(make)
def _make(frame: Frame, layout: Value, is_matrix: Value, shape: Value, *parts: Value) -> Record:
    return Record(CLASSES[layout, is_matrix], {"shape": shape, **dict(zip(PARTS[layout], map(frame.keep, parts), strict=True))})


@handles(is_sparse)
def _is_sparse(frame: Frame, value: Value) -> bool:
    return sparse_objects.stands_for_one(value) or sparse_objects.is_sparse(value)


@handles(read)
def _read(frame: Frame, value: Value) -> Value:
    return sparse_objects.record_of(frame, value)


@handles(scalars)
def _scalars(frame: Frame, *values: Value) -> bool:
    return all(is_number(v) or isinstance(v, Sym) and not v.type.rank for v in values)


@handles(is_column)
def _is_column(frame: Frame, value: Value) -> bool:
    dims = type_of(value).dims
    return len(dims) == 2 and dims[1] == Dim(None, 1)


@handles(whole)
def _whole(frame: Frame, index: Value) -> bool:
    return isinstance(index, slice) and index.start is None and index.stop is None and index.step in (None, 1)


@shaped(entry_lines, last_places)
def _lines(frame: Frame, *_: Value) -> Type:
    return Type("int64", (frame.builder.fresh_dim(),), array=True)


@shaped(united_places)
def _united(frame: Frame, *given: Value) -> tuple[Type, ...]:
    slot, place = (Type("int64", (frame.builder.fresh_dim(),), array=True) for _ in range(2))
    return slot, place, place


@shaped(diagonal_places, paired_places)
def _places(frame: Frame, *given: Value) -> tuple[Type, ...]:
    return (Type("int64", (frame.builder.fresh_dim(),), array=True),) * (3 if len(given) > 2 else 2)


for _function in (diagonal_places, entry_lines, last_places, paired_places, united_places):
    nondiff(_function, name=f"runtime.{_function.__name__}", fresh_shape=True)
