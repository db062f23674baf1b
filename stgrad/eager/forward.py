"""`ForwardAccumulator`: Jacobian-vector products, computed beside the operations as they run.

The tangent of each operation is computed when it runs, by the forward rules; the other recorders see those computations, so accumulators
nest in one another and in tapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.logs import warn_first
from stgrad.eager.record import numpy_promotion, recorders, state
from stgrad.eager.structures import UnconnectedGradients
from stgrad.eager.sweep import fit
from stgrad.eager.tensor import Tensor


class ForwardAccumulator:
    """Computes Jacobian-vector products with forward-mode differentiation.

    Args:
        primals: tensors or variables, or a structure of them.
        tangents: their tangents, in the same structure and dtypes.

    Example:
        >>> x = Tensor(np.float32(3.0))
        >>> with ForwardAccumulator(x, Tensor(np.float32(1.0))) as acc:
        ...     y = x * x
        >>> acc.jvp(y).numpy()
        np.float32(6.0)
    """

    passive = False

    def __init__(self, primals: Any, tangents: Any) -> None:
        self.ids: dict[int, Any] = {}
        self._recording = False
        structures.assert_same_structure(_as_lists(primals), _as_lists(tangents))
        for primal, tangent in zip(structures.flatten(primals), structures.flatten(tangents)):
            self._follow(primal, tangent)

    def _follow(self, primal: Any, tangent: Any) -> None:
        structures.check_sources([primal])
        if not (primal.dtype.is_floating or primal.dtype.is_complex):
            warn_first("The dtype of the watched primal must be floating (e.g. tf.float32), got %r", 5, primal.dtype)
            return
        tangent = convert_to_tensor(tangent, dtype_hint=primal.dtype)
        if tangent.dtype != primal.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {primal.dtype.name} for Tensor with dtype {tangent.dtype.name}: {tangent!r}"
            )
        if primal._id in self.ids:
            raise ValueError(
                f"Tensor {primal!r} was specified as a primal multiple times. This may indicate an error. If it was "
                "intended, please sum the "
                "corresponding tangents."
            )
        self.ids[primal._id] = tangent

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        self._recording = True
        state.recorders = (*state.recorders, self)
        return self

    def __exit__(self, *exception: Any) -> None:
        state.recorders = tuple([r for r in state.recorders if r is not self])
        self._recording = False

    # -------------------------------------------------------------- as a recorder

    def add(self, op: Any, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        """Compute the tangent of an operation that has just run; accumulators entered after this one do not see it."""
        active = state.recorders
        outer = tuple([r for i, r in enumerate(active) if r is not self and (i < active.index(self) or type(r) is not type(self))])
        with recorders(outer), numpy_promotion():
            dot = op.push(y, args, kwargs, self.ids)
        if type(y) is tuple:
            for part, part_dot in zip(y, dot if dot is not None else ()):
                self._keep(op, part, part_dot, outer)
        else:
            self._keep(op, y, dot, outer)

    def _keep(self, op: Any, y: Any, dot: Any, outer: tuple[Any, ...]) -> None:
        if dot is None or y._a.dtype.kind not in "fc":
            return
        dot = dot if type(dot) is Tensor else Tensor(np.asarray(dot))
        with recorders(outer), numpy_promotion():
            if dot._a.shape != y._a.shape:
                dot = np.broadcast_to(dot, y._a.shape)
            self.ids[y._id] = fit(dot, y._a, op)

    def watch_variable(self, variable: Any) -> None:
        pass

    def note(self, reason: str, x: Any, y: Any) -> None:
        pass

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The tangents of results, in their structure; None or zeros for what does not depend on the primals."""
        zero = structures.unconnected(unconnected_gradients) is UnconnectedGradients.ZERO

        def one(primal: Any) -> Any:
            if not hasattr(primal, "_id"):
                return None
            found = self.ids.get(primal._id)
            return Tensor(np.zeros(primal._a.shape, primal._a.dtype)) if found is None and zero else found

        leaves, rebuild = structures.flatten_with(primals)
        return rebuild([one(leaf) for leaf in leaves])


def _as_lists(structure: Any) -> Any:
    """Lists and tuples alike, as TensorFlow compares primals and tangents."""
    if isinstance(structure, (list, tuple)):
        return [_as_lists(e) for e in structure]
    return {k: _as_lists(v) for k, v in structure.items()} if isinstance(structure, dict) else 0
