"""Slicing: what TensorFlow accepts between the brackets, the two linear operations behind it, and slices that can be assigned.

`take_at(x, index)` is x[index]; `put_at(values, index, shape)` adds values into zeros of that shape at the index. Each is the adjoint of
the other, so any order of derivative of any indexing stays in the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager.dispatch import apply, bind, unbroadcast
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.record import record, state
from stgrad.eager.tensor import Tensor
from stgrad.rules.core import adjoint, linear, tangent


def take_at(x: Any, index: Any) -> Any:
    return x[index]


def put_at(values: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with `values` added at the index, where an element may be named more than once."""
    whole = np.zeros(shape, values.dtype)
    if any(isinstance(i, np.ndarray) and i.dtype.kind != "b" for i in (index if isinstance(index, tuple) else (index,))):
        np.add.at(whole, index, values)
    else:
        whole[index] = values
    return whole


@linear(take_at)
def take_at_adjoint(y: Any, y_bar: Any, x: Any, index: Any) -> Any:
    return _put(y_bar, index, tuple(x.shape))


@linear(put_at)
def put_at_adjoint(y: Any, y_bar: Any, values: Any, index: Any, shape: tuple[int, ...]) -> Any:
    return _take(y_bar, index)


def _put(values: Any, index: Any, shape: tuple[int, ...]) -> Any:
    return apply(PUT, (values, index, shape)) if type(values) is Tensor else put_at(values, index, shape)


def _take(x: Any, index: Any) -> Any:
    return apply(TAKE, (x, index)) if type(x) is Tensor else x[index]


TAKE, PUT = bind(take_at), bind(put_at)


class IndexedSlices:
    """Values for some rows of a larger tensor, as `Variable.scatter_add` and its kin take them."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape!r})"


def normalise_index(index: Any) -> Any:
    """A NumPy index from a TensorFlow one.

    Raises:
        TypeError: something other than integers, slices, ellipsis, newaxis, scalar integer tensors and boolean masks.
    """
    parts = tuple(index) if isinstance(index, (tuple, list)) else (index,)
    found = tuple([_index_part(part) for part in parts])
    return found if isinstance(index, (tuple, list)) else found[0]


def _index_part(part: Any) -> Any:
    if isinstance(part, slice):
        return slice(_bound(part.start), _bound(part.stop), _bound(part.step))
    if part is None or part is Ellipsis or type(part) is int:
        return part
    value = getattr(part, "_a", part)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.ndim == 0 and value.dtype.kind in "iu":
            return int(value)
        if value.dtype.kind == "b" and value.ndim:
            return np.asarray(value)
    if isinstance(part, list) and part and all(isinstance(e, bool) for e in part):
        return np.array(part)
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors "
        f"are valid indices, got {part!r}"
    )


def _bound(value: Any) -> int | None:
    return None if value is None else int(getattr(value, "_a", value))


def getitem(self: Tensor, index: Any) -> Tensor:
    """`tensor[index]`."""
    where = index if type(index) is int else _numpy_index(index) if state.numpy_promotion else normalise_index(index)
    try:
        y = Tensor(self._a[where])
    except IndexError as error:
        raise InvalidArgumentError(_out_of_bounds(self, where, error), "StridedSlice") from None
    if state.recorders:
        record(TAKE, y, (self,), (self, where))
    return y


def _out_of_bounds(tensor: Tensor, where: Any, error: IndexError) -> str:
    parts = where if isinstance(where, tuple) else (where,)
    if "too many" in str(error):
        return f"Index out of range using input dim {tensor._a.ndim}; input has only {tensor._a.ndim} dims"
    for axis, part in enumerate(parts):
        if isinstance(part, int) and axis < tensor._a.ndim and not -tensor._a.shape[axis] <= part < tensor._a.shape[axis]:
            return f"slice index {part} of dimension {axis} out of bounds."
    return str(error)


def _numpy_index(index: Any) -> Any:
    """In derivative rules any NumPy index goes."""
    if isinstance(index, tuple):
        return tuple([_numpy_index(part) for part in index])
    if isinstance(index, slice):
        return slice(_bound(index.start), _bound(index.stop), _bound(index.step))
    return getattr(index, "_a", index)


# ------------------------------------------------------------------ writing, which derivative rules do to their own fresh arrays


def written(x: Any, index: Any, values: Any) -> Any:
    """A copy of `x` with x[index] = values."""
    y = np.array(x, dtype=np.result_type(x, values))
    y[index] = values
    return y


@adjoint(written)
def written_adjoint(y: Any, y_bar: Any, x: Any, index: Any, values: Any) -> Any:
    part = _take(y_bar, index)
    rest = apply(WRITTEN, (y_bar, index, 0.0)) if type(y_bar) is Tensor else written(y_bar, index, 0.0)
    return rest, None, unbroadcast(part, np.shape(values))


@tangent(written)
def written_dot(y: Any, x: Any, index: Any, values: Any, x_dot: Any, values_dot: Any) -> Any:
    return apply(WRITTEN, (x_dot, index, values_dot))


WRITTEN = bind(written)


def write(x: Tensor, index: Any, values: Any) -> Any:
    """`x` with `values` at a NumPy index, recorded."""
    if isinstance(values, (list, tuple)):
        values = np.stack(values)
    return apply(WRITTEN, (x, _numpy_index(index), values))


def identity_of(x: Any) -> Any:
    return x


@linear(identity_of)
def identity_adjoint(y: Any, y_bar: Any, x: Any) -> Any:
    return y_bar


IDENTITY = bind(identity_of)


def identity(x: Tensor) -> Tensor:
    """The same value as a tensor of its own."""
    y = Tensor(x._a)
    if state.recorders:
        record(IDENTITY, y, (x,), (x,))
    return y
