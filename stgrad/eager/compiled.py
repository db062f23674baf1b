"""Calls of `stgrad`-compiled functions on tensors: one node of the tape, whose pullback is the compiled adjoint.

A compiled function that finds a tensor among its arguments asks the tensor: `tensor.__stgrad_function__(function, args, kwargs)`. Where
the derivative is itself recorded, for higher orders, the function's Python text runs on tensors instead, operation by operation.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from stgrad.api import vjp
from stgrad.eager import structures
from stgrad.eager.custom import Custom
from stgrad.eager.dispatch import settled
from stgrad.eager.record import numpy_promotion, record, recording_active, state
from stgrad.eager.rulespace import twin
from stgrad.eager.tensor import Tensor, is_tensor


def stgrad_function(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a compiled function of tensors, as tensors; recorded where a tape follows an argument."""
    plain = inspect.unwrap(function)
    bound = inspect.signature(plain).bind(*args, **kwargs)
    bound.apply_defaults()
    leaves, rebuild = structures.flatten_with(bound.args)
    tensors = tuple([leaf._read() if hasattr(type(leaf), "_read") else leaf for leaf in leaves if is_tensor(leaf)])
    dtype = np.result_type(*[t._a.dtype for t in tensors])
    numbers = rebuild([_number(leaf) for leaf in leaves])
    if not any(t._id in recorder.ids for recorder in state.recorders for t in tensors):
        return structures.map_structure(lambda y: _tensor(y, dtype), function(*numbers))
    value, pullback = vjp(plain, *numbers)
    flat, rebuild_y = structures.flatten_with(value)
    outputs = tuple([_tensor(y, dtype) for y in flat])
    backward = _backward(plain, leaves, rebuild, rebuild_y, pullback)
    record(Custom(getattr(plain, "__name__", "compiled"), backward), outputs if len(outputs) > 1 else outputs[0], tensors, tensors)
    return rebuild_y(list(outputs))


def _number(leaf: Any) -> Any:
    """An argument for compiled code: arrays of one axis or more, Python numbers."""
    if not is_tensor(leaf):
        return leaf
    return np.array(leaf._a) if leaf._a.ndim else leaf._a.item()


def _tensor(y: Any, dtype: Any) -> Any:
    value = np.asarray(y)
    return Tensor(value.astype(dtype) if value.dtype.kind in "fc" and value.dtype != dtype else value)


def _backward(plain: Any, leaves: list[Any], rebuild: Any, rebuild_y: Any, pullback: Any) -> Any:
    places = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]

    def backward(*dys: Any) -> list[Any]:
        if recording_active():
            return _on_tensors(plain, leaves, rebuild, places, dys)
        cotangents = rebuild_y([_number(dy) for dy in dys])
        bars = structures.flatten(pullback(cotangents))
        return [None if bars[i] is None else _tensor(bars[i], leaves[i]._a.dtype) for i in places]

    return backward


def _on_tensors(plain: Any, leaves: list[Any], rebuild: Any, places: list[int], dys: Any) -> list[Any]:
    """The pullback recorded operation by operation: the function's own text on tensors, under a tape."""
    from stgrad.eager.tape import GradientTape

    sources = [leaves[i] for i in places]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([s for s in sources if s.dtype.is_floating or s.dtype.is_complex])
        inputs = [leaf._read() if hasattr(type(leaf), "_read") else leaf for leaf in leaves]
        with numpy_promotion():
            again = settled(twin(plain)(*rebuild(inputs)))
    return list(tape.gradient(structures.flatten(again), sources, output_gradients=list(dys)))


def install(*owners: Any) -> None:
    """Let these classes answer compiled functions."""
    for owner in owners:
        owner.__stgrad_function__ = stgrad_function
