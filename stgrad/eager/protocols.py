"""NumPy's protocols: `np.sin(t)`, `np.sum(t, axis=0)`, `np.stack([t, u])` work on tensors and are recorded.

Outside of derivative rules an operand that is no tensor takes the dtype of the tensor beside it, as with the operators; inside them
NumPy's promotion holds. Questions about shape and dtype give plain Python answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import dtypes, operators
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply, bind
from stgrad.eager.indexing import getitem
from stgrad.eager.record import state
from stgrad.eager.tensor import Tensor

_OPERATORS: dict[Any, Any] = {
    np.add: operators.ADD[0], np.subtract: operators.SUBTRACT[0], np.multiply: operators.MULTIPLY[0], np.divide: operators.DIVIDE[0],
}  # fmt: skip
_PLAIN = {
    np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj, np.iscomplex, np.can_cast, np.may_share_memory,
    np.shares_memory, np.array_equal, np.array_equiv, np.allclose, np.array_repr, np.array_str, np.array2string, np.common_type, np.copyto,
    np.min_scalar_type, np.save, np.savez, np.savetxt,
}  # fmt: skip


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "reduce" and ufunc is np.add:
        return apply(bind(np.sum), inputs, {"axis": 0} | kwargs)
    if method == "at" and hasattr(type(inputs[0]), "add_at") and ufunc is np.add:
        return inputs[0].add_at(inputs[1], inputs[2])
    if method != "__call__" or "out" in kwargs:
        outs = kwargs.pop("out", None)
        if outs is not None:
            if any(isinstance(o, Tensor) for o in outs):
                raise TypeError("tensors are immutable and cannot be an `out` argument")
            kwargs["out"] = outs
        return getattr(ufunc, method)(*[_value(x) for x in inputs], **kwargs)
    operands = _operands(inputs)
    if operands is NotImplemented:
        return NotImplemented
    if not kwargs and len(operands) == 2:
        shortcut = _OPERATORS.get(ufunc)
        if shortcut is not None and type(operands[0]) is Tensor:
            return shortcut(*operands)
    return apply(bind(ufunc), operands, kwargs or None)


def _operands(inputs: tuple[Any, ...]) -> Any:
    """Variables read; outside of rules, arrays beside a tensor in that tensor's dtype."""
    read = tuple([x._read() if hasattr(type(x), "_read") else x for x in inputs])
    if state.numpy_promotion or all(type(x) is Tensor for x in read):
        return read
    like = next(x for x in read if type(x) is Tensor)
    try:
        return tuple([x if type(x) in (Tensor, int, float, complex) else convert_to_tensor(x, dtype_hint=like.dtype) for x in read])
    except ValueError:
        return NotImplemented


def _value(x: Any) -> Any:
    return x._a if hasattr(type(x), "_a") or type(x) is Tensor else x


def array_function(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args = tuple([_read(x) for x in args])
    kwargs = {name: _read(value) for name, value in kwargs.items()}
    if func in _PLAIN:
        return func(*[_strip(x) for x in args], **{name: _strip(value) for name, value in kwargs.items()})
    return apply(bind(func), args, kwargs)


def _read(x: Any) -> Any:
    if hasattr(type(x), "_read"):
        return x._read()
    if type(x) in (list, tuple):
        return type(x)([_read(e) for e in x])
    return x.dtype if type(x) is dtypes.DType else x


def _strip(x: Any) -> Any:
    if type(x) is Tensor:
        return x._a
    return type(x)([_strip(e) for e in x]) if type(x) in (list, tuple) else x


# ------------------------------------------------------------------ NumPy's methods, inside derivative rules alone


def astype(x: Any, dtype: Any) -> Any:
    """`x.astype(dtype)`, recorded."""
    return apply(_ASTYPE, (x, dtypes.as_dtype(dtype).dtype))


def cast_to(x: Any, dtype: Any) -> Any:
    return x.real.astype(dtype) if x.dtype.kind == "c" and dtype.kind != "c" else x.astype(dtype)


def method(x: Tensor, name: str) -> Any:
    """The attribute `name` of an array, for a tensor in a derivative rule."""
    if name in ("T", "size", "real", "imag", "data"):
        return {"T": np.transpose, "size": np.size, "real": np.real, "imag": np.imag}[name](x)
    if name == "astype":
        return lambda dtype, **_: astype(x, dtype)
    if name in ("flatten", "ravel"):
        return lambda: np.ravel(x)
    if name == "reshape":
        return lambda *shape: np.reshape(x, shape[0] if len(shape) == 1 else shape)
    if name == "transpose":
        return lambda *axes: np.transpose(x, (axes[0] if len(axes) == 1 else axes) or None)
    function = getattr(np, name)
    return lambda *args, **kwargs: function(x, *args, **kwargs)


def _make_astype() -> Any:
    from stgrad.rules.core import linear

    @linear(cast_to)
    def cast_adjoint(y: Any, y_bar: Any, x: Any, dtype: Any) -> Any:
        return (
            y_bar.astype(x.dtype.dtype if type(x) is Tensor else x.dtype)
            if y_bar.dtype.kind != "c" or x.dtype.kind == "c"
            else np.real(y_bar).astype(x.dtype)
        )

    return bind(cast_to)


_ASTYPE = _make_astype()


def install(tensor: Any, variable: Any) -> None:
    """Put the protocols on both classes."""
    for owner in (tensor, variable):
        owner.__array_ufunc__ = array_ufunc
        owner.__array_function__ = array_function
    tensor.__getitem__ = getitem
