"""The reverse sweep over a recording: from the cotangents of targets to those of sources.

Nodes are visited newest first, in a loop (no recursion, so the length of a chain does not matter). Where a recorder listens
the cotangents are tensors and every step is recorded, which gives higher orders; else they are bare arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stgrad.eager.errors import GradientMismatchError
from stgrad.eager.numerics import complain
from stgrad.eager.record import QUIET, loud, numpy_promotion, quiet, recording_active, state
from stgrad.eager.recording import Node, Recording
from stgrad.eager.tensor import Tensor


def reach(recording: Recording, sources: set[int]) -> tuple[list[Node], Any]:
    """The nodes that depend on the sources, in order, and the ids of all that depends on them."""
    if recording.roots <= sources:
        return recording.nodes, recording.ids
    needed = {source for source in sources if source in recording.ids}
    path = []
    for node in recording.nodes:
        if any(x._id in needed for x in node[2]):
            y = node[1]
            if type(y) is tuple:
                needed.update([o._id for o in y])
            else:
                needed.add(y._id)
            path.append(node)
    return path, needed


def sweep(path: list[Node], followed: Any, seeds: Iterable[tuple[int, Any]], sources: set[int], consume: bool = False) -> dict[int, Any]:
    """The cotangents that reach the sources: a dictionary from tensor id. `consume` empties the path on the way.

    `path` and `followed` are what `reach` found.

    Seeds and results are tensors where `recording_active()`, else arrays.
    """
    grads: dict[int, Any] = {}
    for key, seed in seeds:
        before = grads.get(key)
        grads[key] = seed if before is None else before + seed
    with numpy_promotion():
        token = quiet(QUIET)
        try:
            _walk(path, followed, grads, sources, consume)
        finally:
            loud(token)
    return grads


def pull_back(node: Node, followed: Any, grads: dict[int, Any], sources: Any) -> None:
    """One step of a sweep on bare arrays: from the cotangents of a node's results to those of its inputs."""
    with numpy_promotion():
        token = quiet(QUIET)
        try:
            _walk([node], followed, grads, sources, False)
        finally:
            loud(token)


def _walk(path: list[Node], followed: Any, grads: dict[int, Any], sources: Any, consume: bool) -> None:
    position, check, bare = len(path), state.check_numerics, not recording_active()
    while position:
        position -= 1
        op, y, inputs, args, kwargs = path.pop() if consume else path[position]
        if type(y) is tuple:
            y_bar = _gather(y, grads, sources, op.absent)
        else:
            key = y._id
            y_bar = grads.get(key) if key in sources else grads.pop(key, None)
        if y_bar is None:
            continue
        bars = None if op.shortcut is None or not bare else op.shortcut(y_bar, args, kwargs, followed)
        for x, g in zip(inputs, op.pull(y, y_bar, args, kwargs) if bars is None else bars):
            key = x._id
            if g is None or key not in followed:
                continue
            if check:
                complain(g._a if type(g) is Tensor else g, f"the gradient of {op.name}", inputs)
            like = x._a
            if g.dtype is not like.dtype or g.shape != like.shape:
                g = fit(g, like, op)
                if g is None:
                    continue
            before = grads.get(key)
            grads[key] = g if before is None else before + g


def _gather(outputs: tuple[Any, ...], grads: dict[int, Any], sources: set[int], absent: bool) -> Any:
    """The cotangents of an operation's several results, zeros for those nothing used, or None if it asks for that; None when none was used."""
    found = [grads.get(o._id) if o._id in sources else grads.pop(o._id, None) for o in outputs]
    if all(g is None for g in found):
        return None
    zeros = _zeros_tensor if recording_active() else _zeros_array
    return tuple([zeros(o._a) if g is None and not absent else g for o, g in zip(outputs, found)])


def _zeros_array(like: Any) -> Any:
    return np.zeros(like.shape, like.dtype if like.dtype.kind in "fc" else np.float32)


def _zeros_tensor(like: Any) -> Tensor:
    return Tensor(_zeros_array(like))


def fit(g: Any, like: Any, op: Any) -> Any:
    """A cotangent in the dtype of its primal: real parts for real primals, None for integers, an error for a wrong shape."""
    if like.dtype.kind not in "fc":
        return None
    if tuple(g.shape) != like.shape:
        raise GradientMismatchError(
            f"the gradient of {op.name} has shape {tuple(g.shape)}, but its input has shape {like.shape}: return one gradient of "
            "each input's own shape (sum over broadcast axes, or reshape)"
        )
    kind = g.dtype.kind
    if g.dtype == like.dtype:
        return g
    if kind not in "fcb":
        if kind in "iu":
            return g.astype(like.dtype)
        raise GradientMismatchError(f"the gradient of {op.name} has dtype {g.dtype}, but its input has dtype {like.dtype}")
    if kind == "c" and like.dtype.kind == "f":
        g = np.real(g)
    return g if g.dtype == like.dtype else g.astype(like.dtype)
