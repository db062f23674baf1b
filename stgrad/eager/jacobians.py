"""Jacobians by one reverse sweep for each element of the target, over a path that is found once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager.record import recording_active
from stgrad.eager.recording import Recording
from stgrad.eager.sweep import reach, sweep
from stgrad.eager.tensor import Tensor

Again = Callable[..., dict[int, Any]]  # a sweep that may run compiled: `GradientTape._again`


def jacobian(recording: Recording, target: Any, sources: list[Any], again: Again) -> list[Any]:
    """For each source a tensor of shape target.shape + source.shape, or None where no path leads to it."""
    value = target._a
    ids = list(dict.fromkeys(s._id for s in sources if s._a.dtype.kind in "fc"))
    if value.dtype.kind not in "fc":
        return [None] * len(sources)
    path, followed = reach(recording, set(ids))
    path = _towards(path, target._id)
    rows = []
    for i in range(value.size):
        seed = np.zeros(value.size, value.dtype)
        seed[i] = 1
        rows.append(_row(path, followed, target, seed.reshape(value.shape), ids, again))
    return [_stack([row.get(s._id) for row in rows], value, s) for s in sources]


def _row(path: Any, followed: Any, target: Any, seed: Any, ids: list[int], again: Again) -> dict[int, Any]:
    seed = seed[()]
    seeds = [(target._id, Tensor(seed) if recording_active() else seed)]
    return again(path, followed, seeds, ids, lambda: sweep(path, followed, seeds, set(ids)))


def _towards(path: list[Any], target: int) -> list[Any]:
    """The nodes of a path that the target depends on."""
    wanted = {target}
    kept = []
    for node in reversed(path):
        outputs = node[1] if type(node[1]) is tuple else (node[1],)
        if any(y._id in wanted for y in outputs):
            wanted.update([x._id for x in node[2]])
            kept.append(node)
    return kept[::-1]


def _stack(rows: list[Any], value: Any, source: Any) -> Any:
    """The rows of a Jacobian as one tensor; None when no row reaches the source."""
    shape = (*value.shape, *source._a.shape)
    if source._a.dtype.kind not in "fc" or (rows and all(row is None for row in rows)):
        return None
    if not rows:
        return Tensor(np.zeros(shape, source._a.dtype))
    zero = np.zeros(source._a.shape, source._a.dtype)
    if any(type(row) is Tensor for row in rows):
        return np.reshape(np.stack([Tensor(zero) if row is None else row for row in rows]), shape)
    return Tensor(np.stack([zero if row is None else row for row in rows]).reshape(shape)[()])


def check_batch(target: Any, source: Any) -> None:
    """TensorFlow's conditions on the arguments of batch_jacobian."""
    for t in (target, source):
        if t.shape.rank < 1:
            raise IndexError(f"batch_jacobian needs a batch axis, but got a scalar: {t!r}")
    target.shape.with_rank_at_least(2)
    source.shape.with_rank_at_least(2)
    if target.shape[0] != source.shape[0]:
        raise ValueError(f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match.")


def batch_jacobian(recording: Recording, target: Any, source: Any, again: Again) -> Tensor:
    """One sweep for each element of a row of the target, seeded in all rows at once."""
    value, like = target._a, source._a
    batch, outputs = value.shape[0], int(np.prod(value.shape[1:]))
    shape = (batch, *value.shape[1:], *like.shape[1:])
    ids = [source._id] if like.dtype.kind in "fc" else []
    if value.dtype.kind not in "fc" or not ids:
        return Tensor(np.zeros(shape, like.dtype))
    path, followed = reach(recording, set(ids))
    path = _towards(path, target._id)
    columns = []
    for i in range(outputs):
        seed = np.zeros((batch, outputs), value.dtype)
        seed[:, i] = 1
        columns.append(_row(path, followed, target, seed.reshape(value.shape), ids, again).get(source._id))
    if not columns or all(column is None for column in columns):
        return Tensor(np.zeros(shape, like.dtype))
    zero = np.zeros(like.shape, like.dtype)
    if any(type(column) is Tensor for column in columns):
        return np.reshape(np.stack([Tensor(zero) if c is None else c for c in columns], axis=1), shape)
    return Tensor(np.stack([zero if c is None else c for c in columns], axis=1).reshape(shape))
