"""Reductions, scans, orders and segments by their TensorFlow names."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stgrad.eager import dtypes, ops_math
from stgrad.eager.calling import check_kind, run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply, bind, compute
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.indexing import PUT
from stgrad.eager.tensor import Tensor

__all__ = [
    "confusion_matrix", "invert_permutation", "is_non_decreasing", "is_strictly_increasing", "lbeta",
    "argmax", "argmin", "argsort", "bincount", "count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp", "reduce_all", "reduce_any",
    "reduce_euclidean_norm", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance", "segment_mean", "segment_sum", "sort", "top_k", "unsorted_segment_mean", "unsorted_segment_sum",
]  # fmt: skip

_SUM, _MEAN = bind(np.sum), bind(np.mean)


def axes(t: Tensor, axis: Any, name: str = "") -> tuple[int, ...] | None:
    """An axis argument as a tuple of axes that exist, or None for all."""
    if axis is None:
        return None
    axis = static(axis)
    if axis is None:
        return None
    listed = axis if isinstance(axis, tuple) else (axis,)
    for i in listed:
        if not -t._a.ndim <= i < t._a.ndim:
            raise InvalidArgumentError(f"Invalid reduction dimension ({i} for input with {t._a.ndim} dimension(s)", name)
    if len({i % max(t._a.ndim, 1) for i in listed}) < len(listed):
        raise InvalidArgumentError(f"Invalid reduction arguments: Axes contains duplicate dimension: {listed[-1]}", name)
    return tuple(listed)


def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The sum over axes (all by default)."""
    t = convert_to_tensor(input_tensor)
    check_kind(t, "iufc", "Sum")
    if t._a.dtype.kind in "iu":
        return Tensor(np.sum(t._a, axis=axes(t, axis, "Sum"), keepdims=keepdims, dtype=t._a.dtype))
    return compute(_SUM, np.add.reduce, (t,), {"axis": None if axis is None else axes(t, axis, "Sum"), "keepdims": keepdims})


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean over axes; of integers an integer."""
    t = convert_to_tensor(input_tensor)
    check_kind(t, "iufc", "Mean")
    over = axes(t, axis, "Mean")
    if t._a.dtype.kind in "iu":
        return Tensor(np.trunc(np.mean(t._a, axis=over, keepdims=keepdims)).astype(t._a.dtype))
    return compute(_MEAN, _mean if t._a.dtype.itemsize > 2 else np.mean, (t,), {"axis": over, "keepdims": keepdims})


def _mean(a: Any, axis: Any, keepdims: bool) -> Any:
    """np.mean without its preliminaries."""
    count = a.size if axis is None else math.prod([a.shape[i] for i in axis])
    return np.add.reduce(a, axis=axis, keepdims=keepdims) / a.dtype.type(count)


def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The product over axes."""
    t = convert_to_tensor(input_tensor)
    check_kind(t, "iufc", "Prod")
    over = axes(t, axis, "Prod")
    if t._a.dtype.kind in "iu":
        return Tensor(np.prod(t._a, axis=over, keepdims=keepdims, dtype=t._a.dtype))
    return run(np.prod, t, axis=over, keepdims=keepdims)


def reduce_max(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The maximum over axes; ties share the gradient."""
    return _extreme(np.max, input_tensor, axis, keepdims, "Max", -np.inf)


def reduce_min(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The minimum over axes; ties share the gradient."""
    return _extreme(np.min, input_tensor, axis, keepdims, "Min", np.inf)


def _extreme(fn: Any, x: Any, axis: Any, keepdims: bool, name: str, empty: float) -> Tensor:
    t = convert_to_tensor(x)
    check_kind(t, "iuf", name)
    over = axes(t, axis, name)
    if not t._a.size:
        limit = empty if t._a.dtype.kind == "f" else (t.dtype.min if empty < 0 else t.dtype.max)
        return Tensor(fn(t._a, axis=over, keepdims=keepdims, initial=limit))
    return run(fn, t, axis=over, keepdims=keepdims)


def reduce_all(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Logical and over axes."""
    t = convert_to_tensor(input_tensor)
    check_kind(t, "b", "All")
    return Tensor(np.all(t._a, axis=axes(t, axis), keepdims=keepdims))


def reduce_any(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Logical or over axes."""
    t = convert_to_tensor(input_tensor)
    check_kind(t, "b", "Any")
    return Tensor(np.any(t._a, axis=axes(t, axis), keepdims=keepdims))


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The biased variance over axes."""
    t = convert_to_tensor(input_tensor)
    if t._a.dtype.kind not in "fc":
        raise TypeError(f"Input must be either real or complex. Received integer type {t.dtype!r}.")
    d = t - reduce_mean(t, axis, keepdims=True)
    squared = ops_math.real(d * ops_math.conj(d)) if t._a.dtype.kind == "c" else ops_math.square(d)
    return reduce_mean(squared, axis, keepdims)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The biased standard deviation over axes."""
    return ops_math.sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""
    t = convert_to_tensor(input_tensor)
    over = axes(t, axis)
    top = np.max(t._a, axis=over, keepdims=True)
    shift = Tensor(np.where(np.isfinite(top), top, 0).astype(t._a.dtype))
    total = ops_math.log(reduce_sum(ops_math.exp(t - shift), over, keepdims))
    return total + Tensor(shift._a if keepdims else np.squeeze(shift._a, axis=over))


def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The 2-norm over axes."""
    t = convert_to_tensor(input_tensor)
    return ops_math.sqrt(reduce_sum(t * ops_math.conj(t), axis, keepdims))


def count_nonzero(input: Any, axis: Any = None, keepdims: Any = None, dtype: Any = np.int64, name: str | None = None) -> Tensor:  # noqa: A002
    """How many elements are not zero."""
    t = convert_to_tensor(input)
    return Tensor(np.sum(t._a != 0, axis=axes(t, axis), keepdims=bool(keepdims)).astype(dtypes.as_dtype(dtype).dtype))


def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running sums along an axis."""
    return _scan(np.cumsum, x, axis, exclusive, reverse, 0)


def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Running products along an axis; exact with zeros."""
    return _scan(np.cumprod, x, axis, exclusive, reverse, 1)


def _scan(fn: Any, x: Any, axis: Any, exclusive: bool, reverse: bool, start: int) -> Tensor:
    t = convert_to_tensor(x)
    i = static(axis)
    axes(t, i, "Cumsum" if start == 0 else "Cumprod")
    if reverse:
        t = run(np.flip, t, axis=i)
    if exclusive:
        n = t._a.shape[i]
        first = Tensor(np.full_like(np.take(t._a, [0], axis=i), start) if n else t._a)
        t = run(np.concatenate, (first, part(t, i, 0, n - 1)), axis=i)
    y = run(fn, t, axis=i) if t._a.dtype.kind in "fc" else Tensor(fn(t._a, axis=i, dtype=t._a.dtype))
    return run(np.flip, y, axis=i) if reverse else y


def part(t: Tensor, axis: int, start: int, stop: int) -> Any:
    """t[start:stop] along an axis."""
    return t[(slice(None),) * (axis % t._a.ndim) + (slice(start, stop),)]


def cumulative_logsumexp(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """log of the running sums of exp, shifted by the maximum."""
    t = convert_to_tensor(x)
    shift = Tensor(np.max(t._a, axis=static(axis), keepdims=True))
    return ops_math.log(cumsum(ops_math.exp(t - shift), axis, exclusive, reverse)) + shift


def argmax(input: Any, axis: Any = None, output_type: Any = np.int64, name: str | None = None) -> Tensor:  # noqa: A002
    """The index of the largest element along an axis (0 by default)."""
    return _arg(np.argmax, input, axis, output_type)


def argmin(input: Any, axis: Any = None, output_type: Any = np.int64, name: str | None = None) -> Tensor:  # noqa: A002
    """The index of the smallest element along an axis (0 by default)."""
    return _arg(np.argmin, input, axis, output_type)


def _arg(fn: Any, x: Any, axis: Any, output_type: Any) -> Tensor:
    t = convert_to_tensor(x)
    i = static(axis) or 0
    if not -t._a.ndim <= i < t._a.ndim:
        raise InvalidArgumentError(f"Expected dimension in the range [{-t._a.ndim}, {t._a.ndim}), but got {i}", "ArgMax")
    y = run(fn, t, axis=i)
    return Tensor(y._a.astype(dtypes.as_dtype(output_type).dtype))


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sorted along an axis."""
    t = convert_to_tensor(values)
    y = run(np.sort, t, axis=static(axis))
    return run(np.flip, y, axis=static(axis)) if _descending(direction) else y


def argsort(values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None) -> Tensor:
    """The indices that sort along an axis."""
    t = convert_to_tensor(values)
    keys = -t._a if _descending(direction) and t._a.dtype.kind in "if" else t._a
    return Tensor(np.argsort(keys, axis=static(axis), kind="stable").astype(np.int32))


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: direction={direction}")
    return direction == "DESCENDING"


def top_k(input: Any, k: int = 1, sorted: bool = True, index_type: Any = np.int32, name: str | None = None) -> Any:  # noqa: A002
    """The k largest elements of the last axis and their indices; the first of equals comes first."""
    t = convert_to_tensor(input)
    count = static(k)
    if t._a.ndim == 0 or count > t._a.shape[-1]:
        raise InvalidArgumentError(
            f"input must have at least k columns. Had {t._a.shape[-1] if t._a.ndim else 0}, needed {count}", "TopKV2"
        )
    indices = np.argsort(-t._a, axis=-1, kind="stable")[..., :count]
    return TopKV2(run(np.take_along_axis, t, indices, axis=-1), Tensor(indices.astype(np.int32)))


class TopKV2(NamedTuple):
    """What `top_k` gives."""

    values: Any
    indices: Any


# ------------------------------------------------------------------ segments


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Sums of the rows that have the same id; ids are sorted."""
    ids = convert_to_tensor(segment_ids)._a
    return unsorted_segment_sum(data, segment_ids, int(ids[-1]) + 1 if ids.size else 0)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Means of the rows that have the same id; ids are sorted."""
    ids = convert_to_tensor(segment_ids)._a
    return unsorted_segment_mean(data, segment_ids, int(ids[-1]) + 1 if ids.size else 0)


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Sums of the elements that have the same id."""
    t, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)._a
    shape = (static(num_segments), *t._a.shape[ids.ndim :])
    if ids.size and ids.max() >= shape[0]:
        raise InvalidArgumentError(f"segment_ids = {ids.max()} is out of range [0, {shape[0]})", "UnsortedSegmentSum")
    return apply(PUT, (t, np.asarray(ids), shape))


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Means of the elements that have the same id; 0 for ids that do not occur."""
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    ids = convert_to_tensor(segment_ids)._a
    counts = np.maximum(np.bincount(ids.ravel(), minlength=static(num_segments)), 1)
    return total / Tensor(counts.reshape(-1, *[1] * (total._a.ndim - 1)).astype(total._a.dtype))


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = np.int32, name: str | None = None
) -> Tensor:
    """How often each integer occurs; with weights the sum of those, which has no gradient, as in TensorFlow."""
    ids = convert_to_tensor(arr)._a.ravel()
    length = static(minlength) or 0
    if weights is None:
        return Tensor(np.bincount(ids, minlength=length)[: static(maxlength)].astype(np.int32))
    w = convert_to_tensor(weights)
    return run(_weighted_bincount, w, ids, length)


def _weighted_bincount(weights: Any, ids: Any, minlength: int) -> Any:
    return np.bincount(ids, weights.ravel(), minlength).astype(weights.dtype)


# ------------------------------------------------------------------ integers and orders


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = np.int32, name: str | None = None
) -> Tensor:
    """How often each label (row) met each prediction (column)."""
    rows, columns = (np.ravel(convert_to_tensor(x)._a) for x in (labels, predictions))
    n = int(max(rows.max(), columns.max())) + 1 if num_classes is None else static(num_classes)
    counts = np.zeros((n, n), dtypes.as_dtype(dtype).dtype)
    np.add.at(counts, (rows, columns), 1 if weights is None else convert_to_tensor(weights)._a)
    return Tensor(counts)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that undoes this one."""
    p = convert_to_tensor(x)._a
    return Tensor(np.argsort(p).astype(p.dtype))


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element is smaller than the one before it."""
    return Tensor(np.bool_(np.all(np.diff(np.ravel(convert_to_tensor(x)._a)) >= 0)))


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is larger than the one before it."""
    return Tensor(np.bool_(np.all(np.diff(np.ravel(convert_to_tensor(x)._a)) > 0)))


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log of the multivariate beta function of the last axis."""
    t = convert_to_tensor(x)
    return reduce_sum(ops_math.lgamma(t), -1) - ops_math.lgamma(reduce_sum(t, -1))
