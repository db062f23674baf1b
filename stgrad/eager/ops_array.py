"""Making, reshaping, joining and cutting tensors, by their TensorFlow names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stgrad.eager import dtypes, ops_math
from stgrad.eager.calling import pair, run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.shapes import TensorShape
from stgrad.eager.tensor import Tensor

__all__ = [
    "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "concat", "expand_dims", "eye", "fill", "linspace", "meshgrid",
    "one_hot", "ones", "ones_like", "pad", "parallel_stack", "range", "rank", "repeat", "reshape", "reverse", "roll", "shape", "size",
    "split", "squeeze", "stack", "strided_slice", "tile", "transpose", "unstack", "zeros", "zeros_like",
]  # fmt: skip

# ------------------------------------------------------------------ making


def _shape(shape: Any) -> tuple[int, ...]:
    found = static(tuple(shape) if isinstance(shape, TensorShape) else shape)
    return found if isinstance(found, tuple) else (found,)


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Zeros of a shape."""
    return Tensor(np.zeros(_shape(shape), dtypes.as_dtype(dtype).dtype)[()])


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Ones of a shape."""
    return Tensor(np.ones(_shape(shape), dtypes.as_dtype(dtype).dtype)[()])


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Zeros of the shape and dtype of a tensor."""
    t = convert_to_tensor(input)
    return zeros(t._a.shape, t.dtype if dtype is None else dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Ones of the shape and dtype of a tensor."""
    t = convert_to_tensor(input)
    return ones(t._a.shape, t.dtype if dtype is None else dtype)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """One value everywhere."""
    return run(np.broadcast_to, convert_to_tensor(value), _shape(dims))


def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Identity matrices."""
    one = np.eye(static(num_rows), static(num_columns), dtype=dtypes.as_dtype(dtype).dtype)
    return Tensor(one if batch_shape is None else np.broadcast_to(one, (*_shape(batch_shape), *one.shape)))


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:  # noqa: A001
    """start, start + delta, ... below limit; int32 for ints, float32 for floats."""
    if limit is None:
        start, limit = 0, start
    values = [convert_to_tensor(v)._a for v in (start, limit, delta)]
    if any(v.ndim for v in values):
        raise InvalidArgumentError("start, limit and delta must be scalars", "Range")
    if values[2] == 0:
        raise InvalidArgumentError("Requires delta != 0: 0", "Range")
    wanted = dtypes.as_dtype(dtype).dtype if dtype is not None else np.result_type(*[v for v in values if v.dtype.kind == "f"] or values)
    return Tensor(np.arange(*values, dtype=wanted))


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """`num` values from start to stop, both included; linear in both, and recorded."""
    a, b = pair(start, stop, "LinSpace")
    count = static(num)
    if count < 1:
        raise InvalidArgumentError(f"Argument `num` must be positive. Received {count}", "LinSpace")
    if a._a.dtype.kind in "iu":
        a, b = ops_math.cast(a, dtypes.float64), ops_math.cast(b, dtypes.float64)
    steps = np.arange(count) / max(count - 1, 1)
    position = axis if axis >= 0 else axis + a._a.ndim + 1
    weight = steps.reshape([-1 if i == position else 1 for i in np.arange(a._a.ndim + 1)])
    if a._a.ndim == 0 and not _followed(a, b):
        return Tensor(np.linspace(a._a, b._a, count, dtype=a._a.dtype))
    low, high = expand_dims(a, position), expand_dims(b, position)
    return low * Tensor((1 - weight).astype(a._a.dtype)) + high * Tensor(weight.astype(a._a.dtype))


def _followed(*tensors: Tensor) -> bool:
    from stgrad.eager.record import state

    return any(t._id in recorder.ids for recorder in state.recorders for t in tensors)


def one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None, name: str | None = None
) -> Tensor:
    """A new axis of extent `depth` with on_value at the index, off_value elsewhere."""
    ids = convert_to_tensor(indices)._a
    on, off = (1 if on_value is None else on_value), (0 if off_value is None else off_value)
    if dtype is None:
        dtype = dtypes.float32 if on_value is None and off_value is None else convert_to_tensor(on).dtype
    hot = np.where(np.expand_dims(ids, -1) == np.arange(static(depth)), on, off).astype(dtypes.as_dtype(dtype).dtype)
    return Tensor(hot if axis in (None, -1) else np.moveaxis(hot, -1, axis))


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinate grids."""
    flat = [convert_to_tensor(x) for x in args]
    rank = len(flat)
    grids = []
    for i, t in enumerate(flat):
        place = {0: 1, 1: 0}.get(i, i) if indexing == "xy" and rank > 1 else i
        grids.append(reshape(t, [-1 if j == place else 1 for j in np.arange(rank)]))
    extents = [t._a.size for t in flat]
    if indexing == "xy" and rank > 1:
        extents[0], extents[1] = extents[1], extents[0]
    return [broadcast_to(g, extents) for g in grids]


# ------------------------------------------------------------------ facts


def shape(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """The shape as an int32 tensor."""
    wanted = np.int32 if out_type is None else dtypes.as_dtype(out_type).dtype
    return Tensor(np.array(convert_to_tensor(input)._a.shape, wanted))


def rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    return Tensor(np.int32(convert_to_tensor(input)._a.ndim))


def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    wanted = np.dtype(np.int32) if out_type is None else dtypes.as_dtype(out_type).dtype
    return Tensor(wanted.type(convert_to_tensor(input)._a.size))


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    try:
        return TensorShape(np.broadcast_shapes(tuple(shape_x), tuple(shape_y)))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}.") from None


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    try:
        return Tensor(np.array(np.broadcast_shapes(_shape(shape_x), _shape(shape_y)), np.int32))
    except ValueError:
        raise InvalidArgumentError(f"Incompatible shapes: {shape_x} vs. {shape_y}", "BroadcastArgs") from None


# ------------------------------------------------------------------ form


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements in another shape; one extent may be -1."""
    t = convert_to_tensor(tensor)
    wanted = _shape(shape)
    known = math.prod([n for n in wanted if n != -1])
    if wanted.count(-1) > 1:
        raise InvalidArgumentError("Only one input size may be -1", "Reshape")
    if (-1 not in wanted and known != t._a.size) or (-1 in wanted and (t._a.size % known if known else t._a.size)):
        kind = "multiple of" if -1 in wanted else "shape"
        what = f"{known}" if -1 in wanted else f"{list(wanted)}"
        raise InvalidArgumentError(f"Input to reshape is a tensor with {t._a.size} values, but the requested {kind} {what}", "Reshape")
    return run(np.reshape, t, wanted)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Tensor:
    """Axes permuted, by default reversed."""
    t = convert_to_tensor(a)
    order = None if perm is None else _shape(perm)
    if order is not None and sorted(i % max(t._a.ndim, 1) for i in order) != list(np.arange(t._a.ndim)):
        raise InvalidArgumentError(f"perm {list(order)} is not a permutation of the {t._a.ndim} axes", "Transpose")
    y = run(np.transpose, t, order)
    return ops_math.conj(y) if conjugate else y


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A new axis of extent 1."""
    t = convert_to_tensor(input)
    i = static(axis)
    if not -t._a.ndim - 1 <= i <= t._a.ndim:
        raise InvalidArgumentError(f"Tried to expand dim index {i} for tensor with {t._a.ndim} dimensions.", "ExpandDims")
    return run(np.expand_dims, t, i)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Without the axes of extent 1, or without those listed."""
    t = convert_to_tensor(input)
    over = static(axis)
    over = None if over in (None, ()) else over
    for i in () if over is None else over if isinstance(over, tuple) else (over,):
        if t._a.shape[i] != 1:
            raise InvalidArgumentError(f"Can not squeeze dim[{i}], expected a dimension of 1, got {t._a.shape[i]}", "Squeeze")
    return run(np.squeeze, t, axis=over)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Stretched to a shape."""
    return run(np.broadcast_to, convert_to_tensor(input), _shape(shape))


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Copies side by side, so many along each axis."""
    t = convert_to_tensor(input)
    copies = _shape(multiples)
    if len(copies) != t._a.ndim:
        raise InvalidArgumentError(f"Expected multiples argument to be a vector of length {t._a.ndim} but got length {len(copies)}", "Tile")
    return run(np.tile, t, copies)


def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Each element repeated."""
    counts = static(repeats)
    if isinstance(counts, tuple):
        counts = np.array(counts) if len(counts) > 1 else counts[0]
    return run(np.repeat, convert_to_tensor(input), counts, axis=static(axis))


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reversed along axes."""
    return run(np.flip, convert_to_tensor(tensor), axis=static(axis))


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Elements moved round along axes."""
    return run(np.roll, convert_to_tensor(input), static(shift), axis=static(axis))


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None) -> Tensor:
    """Elements put before and after each axis: a constant, or a reflection of the tensor."""
    t = convert_to_tensor(tensor)
    widths = tuple(tuple(w) for w in static(convert_to_tensor(paddings)._a.tolist()))
    if len(widths) != t._a.ndim:
        raise InvalidArgumentError(
            f"The first dimension of paddings must be the rank of inputs{[len(widths), 2]} {list(t._a.shape)}", "Pad"
        )
    kind = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}.get(mode.lower())
    if kind is None:
        raise ValueError(f'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". Received `mode` = {mode}')
    if kind != "constant":
        return run(np.pad, t, widths, mode=kind)
    value = convert_to_tensor(constant_values, dtype_hint=t.dtype)
    padded: Tensor = run(np.pad, t, widths, mode=kind)
    if not value._a.any() and not _followed(value):
        return padded
    border = np.pad(np.zeros(t._a.shape, t._a.dtype), widths, constant_values=1)
    return padded + Tensor(border) * value if t._a.dtype.kind in "fc" else Tensor(padded._a + border * value._a)


# ------------------------------------------------------------------ joining and cutting


def _same(values: Any) -> list[Tensor]:
    """The tensors of a list, numbers and arrays in the dtype of the first tensor."""
    listed = list(values)
    typed = next((v for v in listed if hasattr(type(v), "_a") or type(v) is Tensor), None)
    hint = convert_to_tensor(listed[0]).dtype if typed is None else typed.dtype
    tensors = [convert_to_tensor(v, dtype_hint=hint) for v in listed]
    for t in tensors:
        if t._a.dtype != tensors[0]._a.dtype:
            one, two = dtypes.describe(tensors[0]._a.dtype), dtypes.describe(t._a.dtype)
            raise InvalidArgumentError(
                f"cannot compute ConcatV2 as input #1(zero-based) was expected to be a {one} tensor but is a {two} tensor", "ConcatV2"
            )
    return tensors


def concat(values: Any, axis: Any, name: str | None = None) -> Tensor:
    """Joined along an axis."""
    tensors = _same(values if isinstance(values, (list, tuple)) else [values])
    if len(tensors) == 1:
        return ops_math.identity_function(tensors[0])
    i = static(axis)
    shapes = [t._a.shape for t in tensors]
    if any(len(s) != len(shapes[0]) for s in shapes) or not shapes[0]:
        raise InvalidArgumentError(
            f"ConcatOp : Ranks of all input tensors should match: shape[0] = {list(shapes[0])} vs. shape[1] = {list(shapes[1])}", "ConcatV2"
        )
    return run(np.concatenate, tuple(tensors), axis=i)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Joined along a new axis."""
    return run(np.stack, tuple(_same(values)), axis=static(axis))


parallel_stack = stack


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The slices along an axis."""
    t = convert_to_tensor(value)
    before = (slice(None),) * (axis % t._a.ndim)
    return [t[(*before, i)] for i in np.arange(t._a.shape[axis]).tolist()]


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split") -> list[Tensor]:
    """Cut along an axis, in equal parts or in parts of given extents (one of which may be -1)."""
    t = convert_to_tensor(value)
    i, parts = static(axis), static(num_or_size_splits)
    extent = t._a.shape[i]
    if isinstance(parts, int):
        if extent % parts:
            raise InvalidArgumentError(f"Dimension size must be evenly divisible by {parts} but is {extent}", "Split")
        parts = (extent // parts,) * parts
    if -1 in parts:
        parts = tuple(extent - sum(p for p in parts if p >= 0) if p == -1 else p for p in parts)
    if sum(parts) != extent:
        raise InvalidArgumentError(
            f"Determined shape must either match input shape along split_dim exactly: {sum(parts)} vs. {extent}", "SplitV"
        )
    before = (slice(None),) * (i % t._a.ndim)
    ends = np.cumsum(parts).tolist()
    return [t[(*before, slice(e - p, e))] for p, e in zip(parts, ends)]


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The block at `begin` of extents `size`, where -1 is all that remains."""
    t = convert_to_tensor(input_)
    starts, extents = _shape(begin), _shape(size)
    where = []
    for i, (start, extent) in enumerate(zip(starts, extents)):
        stop = t._a.shape[i] if extent == -1 else start + extent
        if not 0 <= start <= stop <= t._a.shape[i]:
            raise InvalidArgumentError(f"Expected size[{i}] in [0, {t._a.shape[i] - start}], but got {extent}", "Slice")
        where.append(slice(start, stop))
    return t[tuple(where)]


def strided_slice(input_: Any, begin: Any, end: Any, strides: Any = None, name: str | None = None) -> Tensor:
    """tensor[begin:end:strides], axis by axis."""
    t = convert_to_tensor(input_)
    starts, ends = _shape(begin), _shape(end)
    steps = (1,) * len(starts) if strides is None else _shape(strides)
    return t[tuple(slice(a, b, s) for a, b, s in zip(starts, ends, steps))]
