"""Making, forming, joining, cutting and indexing arrays."""

from __future__ import annotations

import numpy as np

from stgrad.eager.translations.bodies import as_numpy, as_tuple, body, constant_dtype, is_float, is_list
from stgrad.frontend.library import refuse
from stgrad.rules.core import static


@body("reshape")
def reshape(tensor, shape, name=None):  # type: ignore[no-untyped-def]
    return np.reshape(tensor, tuple(shape))


@body("transpose")
def transpose(a, perm=None, conjugate=False, name=None):  # type: ignore[no-untyped-def]
    return np.transpose(a) if perm is None else np.transpose(a, tuple(perm))


@body("expand_dims")
def expand_dims(input, axis, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.expand_dims(input, axis)


@body("squeeze")
def squeeze(input, axis=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.squeeze(input, axis=as_tuple(axis))


@body("concat")
def concat(values, axis, name=None):  # type: ignore[no-untyped-def]
    return np.concatenate(values, axis=axis)


@body("stack")
def stack(values, axis=0, name="stack"):  # type: ignore[no-untyped-def]
    return np.stack(values, axis=axis)


@body("zeros_like")
def zeros_like(input, dtype=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.zeros_like(input) if dtype is None else np.zeros_like(input, dtype=as_numpy(dtype))


@body("ones_like")
def ones_like(input, dtype=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.ones_like(input) if dtype is None else np.ones_like(input, dtype=as_numpy(dtype))


@body("zeros")
def zeros(shape, dtype="float32", name=None):  # type: ignore[no-untyped-def]
    return np.zeros(tuple(shape) if is_list(shape) else shape, dtype=as_numpy(dtype))


@body("ones")
def ones(shape, dtype="float32", name=None):  # type: ignore[no-untyped-def]
    return np.ones(tuple(shape) if is_list(shape) else shape, dtype=as_numpy(dtype))


@body("where")
def where(condition, x=None, y=None, name=None):  # type: ignore[no-untyped-def]
    refuse(x is None, "tf.where with a condition alone")
    return np.where(condition, x, y)


@body("range")
def range_(start, limit=None, delta=1, dtype=None, name=None):  # type: ignore[no-untyped-def]
    first, last = (0, start) if limit is None else (start, limit)
    if dtype is not None:
        return np.arange(first, last, delta, dtype=as_numpy(dtype))
    steps = np.arange(first, last, delta)
    return steps.astype(range_dtype(steps.dtype))


@static
def range_dtype(dtype):  # type: ignore[no-untyped-def]
    return np.float32 if is_float(dtype) else np.int32


@body("shape")
def shape(input, out_type=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.shape(input)


@body("rank")
def rank(input, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.ndim(input)


@body("size")
def size(input, out_type=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.size(input)


@body("ensure_shape")
def ensure_shape(x, shape, name=None):  # type: ignore[no-untyped-def]
    return x


@body("fill")
def fill(dims, value, name=None):  # type: ignore[no-untyped-def]
    kind = value.dtype if hasattr(value, "dtype") else constant_dtype(value)
    return np.zeros(tuple(dims), kind) + value


@body("eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):  # type: ignore[no-untyped-def]
    refuse(batch_shape is not None, "tf.eye with a batch shape")
    return np.eye(num_rows, num_columns, dtype=as_numpy(dtype))


@body("linspace")
def linspace(start, stop, num, name=None, axis=0):  # type: ignore[no-untyped-def]
    kind = start.dtype if hasattr(start, "dtype") else constant_dtype(start)
    refuse(not is_float(kind) or axis != 0, "tf.linspace of integers or along another axis")
    return np.linspace(start, stop, num).astype(kind)


@body("one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):  # type: ignore[no-untyped-def]
    refuse(axis not in (None, -1), "tf.one_hot along another axis")
    refuse(on_value is not None or off_value is not None, "tf.one_hot with values of its own")
    kind = np.float32 if dtype is None else as_numpy(dtype)
    return (np.expand_dims(indices, -1) == np.arange(depth)).astype(kind)


@body("broadcast_to")
def broadcast_to(input, shape, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.broadcast_to(input, tuple(shape))


@body("tile")
def tile(input, multiples, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.tile(input, tuple(multiples))


@body("repeat")
def repeat(input, repeats, axis=None, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.repeat(input, repeats, axis=axis)


@body("reverse")
def reverse(tensor, axis, name=None):  # type: ignore[no-untyped-def]
    return np.flip(tensor, axis=as_tuple(axis))


@body("roll")
def roll(input, shift, axis, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.roll(input, as_tuple(shift), axis=as_tuple(axis))


@static
def pairs(paddings):  # type: ignore[no-untyped-def]
    return tuple(tuple(p) for p in paddings)


@body("pad")
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):  # type: ignore[no-untyped-def]
    refuse(mode not in ("CONSTANT", "constant"), "tf.pad in this mode")
    return np.pad(tensor, pairs(paddings), constant_values=constant_values)


@body("split")
def split(value, num_or_size_splits, axis=0, num=None, name="split"):  # type: ignore[no-untyped-def]
    rows = np.moveaxis(value, axis, 0)
    if is_list(num_or_size_splits):
        refuse(-1 in num_or_size_splits, "tf.split with -1")
        return [np.moveaxis(rows[start : start + n], 0, axis) for start, n in zip(starts(num_or_size_splits), num_or_size_splits)]
    n = rows.shape[0] // num_or_size_splits
    if n * num_or_size_splits != rows.shape[0]:
        raise ValueError("Dimension size must be evenly divisible by the number of splits")
    return [np.moveaxis(rows[i * n : (i + 1) * n], 0, axis) for i in range(num_or_size_splits)]


@static
def starts(lengths):  # type: ignore[no-untyped-def]
    return tuple(sum(lengths[:i]) for i in range(len(lengths)))


@body("slice")
def slice_(input_, begin, size, name=None):  # type: ignore[no-untyped-def]
    refuse(len(begin) > 4, "tf.slice of more than four axes")
    y = input_
    for i, (start, n) in enumerate(zip(begin, size)):
        rows = np.moveaxis(y, i, 0)
        y = np.moveaxis(rows[start:] if n == -1 else rows[start : start + n], 0, i)
    return y


@body("gather", "nn.embedding_lookup")
def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):  # type: ignore[no-untyped-def]
    refuse(batch_dims != 0, "tf.gather with batch_dims")
    along = 0 if axis is None else axis
    ids = np.asarray(indices)
    n = np.shape(params)[along]
    if np.size(ids) > 0 and (np.min(ids) < 0 or np.max(ids) >= n):
        raise IndexError("an index of tf.gather is out of range")
    return np.take(params, ids, axis=along)


@body("meshgrid")
def meshgrid(*args, indexing="xy", name=None):  # type: ignore[no-untyped-def]
    return list(np.meshgrid(*args, indexing=indexing))


@body("sort")
def sort(values, axis=-1, direction="ASCENDING", name=None):  # type: ignore[no-untyped-def]
    ordered = np.sort(values, axis=axis)
    return ordered if direction == "ASCENDING" else np.flip(ordered, axis=axis)


@body("cumsum")
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):  # type: ignore[no-untyped-def]
    rows = np.flip(x, axis=axis) if reverse else x
    y = np.cumsum(rows, axis=axis)
    y = y - rows if exclusive else y
    return np.flip(y, axis=axis) if reverse else y


@body("math.cumprod")
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):  # type: ignore[no-untyped-def]
    refuse(exclusive, "tf.cumprod that is exclusive")
    y = np.cumprod(np.flip(x, axis=axis) if reverse else x, axis=axis)
    return np.flip(y, axis=axis) if reverse else y


@body("boolean_mask")
def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):  # type: ignore[no-untyped-def]
    refuse(axis not in (None, 0), "tf.boolean_mask along another axis")
    return tensor[mask]


@body("unstack")
def unstack(value, num=None, axis=0, name="unstack"):  # type: ignore[no-untyped-def]
    refuse(num is None, "tf.unstack without num", "give num, the number of slices")
    rows = np.moveaxis(value, axis, 0)
    if rows.shape[0] != num:
        raise ValueError("Incorrect number of slices")
    return [rows[i] for i in range(num)]


@body("math.segment_sum")
def segment_sum(data, segment_ids, name=None):  # type: ignore[no-untyped-def]
    return unsorted_segment_sum(data, segment_ids, segment_ids[-1] + 1)


@body("math.unsorted_segment_sum")
def unsorted_segment_sum(data, segment_ids, num_segments, name=None):  # type: ignore[no-untyped-def]
    y = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    for i in range(len(segment_ids)):
        k = segment_ids[i]
        if k >= num_segments:
            raise IndexError("a segment is out of range")
        if k >= 0:
            y[k] += data[i]
    return y
