"""Making tensors: from numbers, lists, arrays, strings, variables and lists of tensors.

Python floats become float32, ints int32 (int64 where they do not fit), complex numbers complex128; NumPy values keep their
dtype. Arrays are copied, so that a later change of the source cannot reach the tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.record import note, state
from stgrad.eager.shapes import TensorShape
from stgrad.eager.tensor import Tensor

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """A tensor with the value; tensors are passed through, lists of tensors are stacked (and recorded).

    Raises:
        ValueError: the value cannot become a tensor, or is a tensor of another dtype.
    """
    if type(value) is Tensor:
        return value if dtype is None else _check_dtype(value, dtypes.as_dtype(dtype))
    if hasattr(type(value), "_read"):
        return convert_to_tensor(value._read(), dtype)
    if isinstance(value, (list, tuple)) and type(value) is not TensorShape and _holds_tensor(value):
        return _stack(value, dtype if dtype is not None else dtype_hint)
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    hint = wanted if wanted is not None or dtype_hint is None else dtypes.as_dtype(dtype_hint)
    if wanted is None and hint is not None:
        try:
            return Tensor(to_array(value, hint))
        except (TypeError, ValueError):
            hint = None
    return Tensor(to_array(value, hint))


def _check_dtype(tensor: Tensor, wanted: dtypes.DType) -> Tensor:
    if tensor._a.dtype != wanted.dtype:
        raise ValueError(f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {tensor.dtype.name}: {tensor!r}")
    return tensor


def _holds_tensor(value: Any) -> bool:
    return any(type(e) is Tensor or hasattr(type(e), "_read") or (isinstance(e, (list, tuple)) and _holds_tensor(e)) for e in value)


def _stack(value: Any, dtype: Any) -> Tensor:
    """A list with tensors in it, packed by a recorded stack."""
    from stgrad.eager.dispatch import apply, bind

    if dtype is None:
        dtype = _first_tensor(value).dtype
    parts = [convert_to_tensor(e, dtype) for e in value]
    shapes = {p._a.shape for p in parts}
    if len(shapes) > 1:
        raise ValueError(f"Shapes of all inputs must match: {[list(s) for s in sorted(shapes)]} [Op:Pack]")
    result: Tensor = apply(bind(np.stack), (parts,))
    return result


def _first_tensor(value: Any) -> Any:
    for e in value:
        if isinstance(e, (list, tuple)):
            if _holds_tensor(e):
                return _first_tensor(e)
        elif hasattr(type(e), "_id") or hasattr(type(e), "_read"):
            return e
    raise ValueError(f"no tensor in {value!r}")


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = "Const") -> Tensor:
    """A constant tensor, of the given dtype and shape (a scalar fills the shape).

    >>> constant([1.0, 2.0]).dtype
    tf.float32
    """
    if is_tensor_like(value):
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        if wanted is not None and value.dtype != wanted:
            raise TypeError(f"Expected tensor {value} with dtype {wanted!r}, but got dtype {value.dtype!r}.")
        return value if type(value) is Tensor else _frozen(value)
    tensor = convert_to_tensor(value, dtype)
    if shape is None or tuple(shape) == tensor._a.shape:
        return tensor
    wanted_shape = TensorShape(shape)
    if tensor._a.size == 1:
        return Tensor(np.full(tuple(wanted_shape), tensor._a.reshape(())))
    if tensor._a.size != wanted_shape.num_elements():
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {tensor._a} (converted from {value}) has {tensor._a.size} "
            f"elements, but got `shape` {wanted_shape} with {wanted_shape.num_elements()} elements)."
        )
    return Tensor(tensor._a.reshape(tuple(wanted_shape)))


def _frozen(variable: Any) -> Tensor:
    """The value of a variable as a constant: as in TensorFlow, no derivative passes."""
    tensor = Tensor(variable._a)
    if state.recorders:
        note("tf.constant of a variable", variable._read(), tensor)
    return tensor


def is_tensor_like(value: Any) -> bool:
    return type(value) is Tensor or hasattr(type(value), "_read")


def to_array(value: Any, dtype: dtypes.DType | None = None) -> Any:
    """The NumPy value (array or scalar) of anything that holds no tensors."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _from_numpy(value, dtype)
    if isinstance(value, (bool, int, float, complex)):
        return _from_number(value, dtype)
    if isinstance(value, (str, bytes)):
        return _from_text(value, dtype)
    if isinstance(value, TensorShape):
        return np.array(value.as_list(), np.int32 if dtype is None else dtype.dtype)
    if isinstance(value, (list, tuple, range)):
        return _from_list(value, dtype)
    if isinstance(value, dtypes.DType) or value is None or not hasattr(value, "__array__"):
        raise ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")
    return _from_numpy(np.asarray(value), dtype)


def _from_numpy(value: Any, dtype: dtypes.DType | None) -> Any:
    if value.dtype.kind in "SU":
        value = np.array([e if isinstance(e, bytes) else e.encode() for e in np.ravel(value).tolist()], object).reshape(np.shape(value))
    wanted = dtypes.of(value).dtype if dtype is None else dtype.dtype
    if (value.dtype.kind == "O") != (wanted.kind == "O"):
        raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {value.dtype}).")
    if value.ndim == 0:
        return value.astype(wanted)[()]
    return np.array(value, dtype=wanted)


def _from_number(value: Any, dtype: dtypes.DType | None) -> Any:
    if dtype is None:
        dtype = _number_dtype(value)
    kind = dtype.kind
    given = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f" if isinstance(value, float) else "c"
    if kind == "O" or (given == "c" and kind != "c") or (given == "f" and kind in "iub") or (given == "i" and kind == "b"):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    try:
        return dtype.dtype.type(value)
    except OverflowError:
        raise ValueError(f"Can't convert {value!r} to a tensor of dtype {dtype.name}: out of range") from None


def _number_dtype(value: Any) -> dtypes.DType:
    if isinstance(value, bool):
        return dtypes.bool
    if isinstance(value, int):
        if value in _INT32:
            return dtypes.int32
        if value in _INT64:
            return dtypes.int64
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
    return dtypes.float32 if isinstance(value, float) else dtypes.complex128


def _from_text(value: Any, dtype: dtypes.DType | None) -> Any:
    if dtype is not None and dtype is not dtypes.string:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    array = np.empty((), object)
    array[()] = value if isinstance(value, bytes) else value.encode()
    return array


def _from_list(value: Any, dtype: dtypes.DType | None) -> Any:
    leaves: list[Any] = []
    _leaves(value, leaves)
    kinds = {type(e) for e in leaves}
    if None.__class__ in kinds:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    text = kinds & {str, bytes}
    if text and kinds - {str, bytes}:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    for e in leaves:
        if not isinstance(e, (bool, int, float, complex, str, bytes, np.generic, np.ndarray)) and not hasattr(e, "__array__"):
            raise ValueError(f"Attempt to convert a value ({e!r}) with an unsupported type ({type(e)}) to a Tensor.")
    if dtype is None:
        dtype = _list_dtype(leaves)
    elif dtype.kind in "iub" and any(isinstance(e, float) and not isinstance(e, np.generic) for e in leaves):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    try:
        array = np.array(value, dtype=dtype.dtype if not text else None)
    except OverflowError:
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.") from None
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
    return _from_numpy(array, dtype) if text else array


def _leaves(value: Any, into: list[Any]) -> None:
    for e in value:
        if isinstance(e, (list, tuple, range)):
            _leaves(e, into)
        else:
            into.append(e)


def _list_dtype(leaves: list[Any]) -> dtypes.DType:
    """NumPy values decide if there are any; then the widest of complex, float, int, bool."""
    arrays = [e.dtype for e in leaves if isinstance(e, (np.generic, np.ndarray))]
    if arrays:
        return dtypes.as_dtype(np.result_type(*arrays))
    if not leaves:
        return dtypes.float32
    if isinstance(leaves[0], (str, bytes)):
        return dtypes.string
    order = (dtypes.bool, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.complex128)
    return max((_number_dtype(e) for e in leaves if isinstance(e, (bool, int, float, complex))), key=order.index, default=dtypes.float32)
