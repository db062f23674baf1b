"""Calls of `stgrad`-compiled functions on tensors: one node of the tape, whose pullback is the compiled adjoint.

A compiled function that finds a tensor among its arguments asks the tensor: `tensor.__stgrad_function__(function, args, kwargs)`. Where
the derivative is itself recorded, for higher orders, the function's Python text runs on tensors instead, operation by operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.differentials import vjp
from stgrad.eager import structures
from stgrad.eager.custom import Custom
from stgrad.eager.dispatch import settled
from stgrad.eager.record import numpy_promotion, record, recording_active, state
from stgrad.eager.rulespace import twin
from stgrad.eager.tensor import Tensor, is_tensor
from stgrad.request import signature_of


def stgrad_function(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a compiled function of tensors, as tensors; recorded where a tape follows an argument."""
    bound = signature_of(function).bind(*args, **kwargs)
    bound.apply_defaults()
    leaves, rebuild = structures.flatten_with(bound.args)
    tensors = tuple([leaf._read() if hasattr(type(leaf), "_read") else leaf for leaf in leaves if is_tensor(leaf)])
    dtype = _result_dtype(tensors)
    numbers = rebuild([_number(leaf) for leaf in leaves])
    if not any(t._id in recorder.ids for recorder in state.recorders for t in tensors):
        return structures.map_structure(lambda y: _tensor(y, dtype), function(*numbers))
    what = function.derivative.function if _mode(function) == "primal" else function
    value, pullback = vjp(what, *numbers, jit=getattr(getattr(function, "options", None), "jit", True))
    flat, rebuild_y = structures.flatten_with(value)
    outputs = tuple([_tensor(y, dtype) for y in flat])
    backward = _backward(function, leaves, rebuild, rebuild_y, pullback)
    record(Custom(getattr(function, "__name__", "compiled"), backward), outputs if len(outputs) > 1 else outputs[0], tensors, tensors)
    return rebuild_y(list(outputs))


def _mode(function: Any) -> str:
    return function.derivative.mode


def _result_dtype(tensors: tuple[Tensor, ...]) -> Any:
    """The dtype in which float results come back: that of the float arguments."""
    floats = [t._a.dtype for t in tensors if t._a.dtype.kind in "fc"]
    return np.result_type(*floats) if floats else np.dtype(np.float32)


def _number(leaf: Any) -> Any:
    """An argument for compiled code: arrays of one axis or more, Python numbers."""
    if not is_tensor(leaf):
        return leaf
    return np.array(leaf._a) if leaf._a.ndim else leaf._a.item()


def _tensor(y: Any, dtype: Any) -> Any:
    value = np.asarray(y)
    return Tensor(value.astype(dtype) if value.dtype.kind in "fc" and value.dtype != dtype else value)


def _backward(function: Any, leaves: list[Any], rebuild: Any, rebuild_y: Any, pullback: Any) -> Any:
    places = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]

    def backward(*dys: Any) -> list[Any]:
        if recording_active():
            return _on_tensors(function, leaves, rebuild, places, dys)
        cotangents = rebuild_y([_number(dy) for dy in dys])
        bars = structures.flatten(pullback(cotangents))
        return [None if bars[i] is None else _tensor(bars[i], leaves[i]._a.dtype) for i in places]

    return backward


def _on_tensors(function: Any, leaves: list[Any], rebuild: Any, places: list[int], dys: Any) -> list[Any]:
    """The pullback recorded operation by operation: the function's own text on tensors, under a tape."""
    from stgrad.eager.tape import GradientTape

    sources = [leaves[i] for i in places]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([s for s in sources if s.dtype.is_floating or s.dtype.is_complex])
        inputs = [leaf._read() if hasattr(type(leaf), "_read") else leaf for leaf in leaves]
        again = _value_on_tensors(function, rebuild(inputs))
    return list(tape.gradient(structures.flatten(again), sources, output_gradients=list(dys)))


def _value_on_tensors(function: Any, args: Any) -> Any:
    """What a compiled function computes, operation by operation; a derivative by a tape around the function it is of."""
    request = getattr(function, "derivative", None)
    if request is None:
        with numpy_promotion():
            return settled(twin(function)(*args))
    if request.mode == "primal":
        return _value_on_tensors(request.function, args)
    from stgrad.eager.tape import GradientTape

    names = list(signature_of(function).parameters)
    sources = [args[names.index(n)] for n in request.wrt]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([s for s in structures.flatten(sources) if is_tensor(s)])
        result = _value_on_tensors(request.function, args)
    value = result[0] if request.has_aux else result
    found = tape.gradient(value, sources)
    grads = found[0] if request.single else tuple(found)
    if request.mode == "grad":
        return (grads, result[1]) if request.has_aux else grads
    return result, grads


def install(*owners: Any) -> None:
    """Let these classes answer compiled functions."""
    for owner in owners:
        owner.__stgrad_function__ = stgrad_function
