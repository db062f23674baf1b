"""Element types: thin named wrappers around NumPy dtypes, one object for each, compared by what they mean.

`DType` equals its NumPy dtype, its scalar type and its name. `of(array)` finds the DType of an array.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np


class DType:
    """An element type. `dtype.dtype` is the NumPy dtype, so NumPy accepts a DType wherever it takes a dtype."""

    __slots__ = ("name", "dtype", "as_datatype_enum")

    def __init__(self, name: str, np_dtype: Any, number: int) -> None:
        self.name = name
        self.dtype = np.dtype(np_dtype)
        self.as_datatype_enum = number

    @property
    def as_numpy_dtype(self) -> Any:
        return self.dtype.type

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def is_floating(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def is_integer(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def is_bool(self) -> bool:
        return self.dtype.kind == "b"

    @property
    def is_unsigned(self) -> bool:
        return self.dtype.kind == "u"

    @property
    def is_numeric(self) -> bool:
        return self.dtype.kind in "iufc"

    @property
    def is_numpy_compatible(self) -> bool:
        return True

    @property
    def size(self) -> int:
        return 1 if self.dtype.kind == "O" else self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def kind(self) -> str:
        return self.dtype.kind

    @property
    def type(self) -> Any:
        return self.dtype.type

    @property
    def min(self) -> Any:
        return _limit(self, "min")

    @property
    def max(self) -> Any:
        return _limit(self, "max")

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.min, self.max

    def is_compatible_with(self, other: Any) -> bool:
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if type(other) is DType:
            return self is other
        if other is None:
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _limit(dtype: DType, side: str) -> Any:
    if dtype.kind == "b":
        return side == "max"
    if dtype.kind in "iu":
        return dtype.type(getattr(np.iinfo(dtype.dtype), side))
    if dtype.kind == "f":
        return getattr(np.finfo(dtype.dtype), side)
    raise TypeError(f"Cannot find {side}imum value of {dtype!r}.")


float32 = DType("float32", np.float32, 1)
float64 = double = DType("float64", np.float64, 2)
int32 = DType("int32", np.int32, 3)
uint8 = DType("uint8", np.uint8, 4)
int16 = DType("int16", np.int16, 5)
int8 = DType("int8", np.int8, 6)
string = DType("string", object, 7)
complex64 = DType("complex64", np.complex64, 8)
int64 = DType("int64", np.int64, 9)
bool = DType("bool", np.bool_, 10)  # noqa: A001  (TensorFlow's name)
complex128 = DType("complex128", np.complex128, 18)
uint16 = DType("uint16", np.uint16, 17)
float16 = half = DType("float16", np.float16, 19)
uint32 = DType("uint32", np.uint32, 22)
uint64 = DType("uint64", np.uint64, 23)

_SIGNED, _UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
ALL = (float16, float32, float64, complex64, complex128, *_SIGNED, *_UNSIGNED, bool, string)
_BY_NUMPY = {d.dtype: d for d in ALL}
_BY_NAME = {d.name: d for d in ALL} | {"half": float16, "float": float32, "double": float64}
_BY_TYPE: dict[Any, DType] = {float: float32, builtins.bool: bool, object: string, str: string, bytes: string}


def as_dtype(value: Any) -> DType:
    """The DType of a name, a NumPy dtype, a scalar type or a DType.

    >>> as_dtype("float64"), as_dtype(np.int32)
    (tf.float64, tf.int32)
    """
    if type(value) is DType:
        return value
    found = _BY_NAME.get(value) if isinstance(value, str) else _BY_TYPE.get(value) if isinstance(value, type) else None
    if found is None and value is not None and value is not int and value is not complex:
        try:
            np_dtype = np.dtype(value)
        except TypeError:
            np_dtype = None
        if np_dtype is not None:
            found = string if np_dtype.kind in "SU" else _BY_NUMPY.get(np_dtype)
    if found is None:
        raise TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")
    return found


def of(array: Any) -> DType:
    """The DType of a NumPy array or scalar."""
    found = _BY_NUMPY.get(array.dtype)
    return found if found is not None else as_dtype(array.dtype)


def describe(np_dtype: Any) -> str:
    """How TensorFlow's messages call an element type: 'float', 'double', 'int32'."""
    name = of_numpy(np_dtype).name
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def of_numpy(np_dtype: Any) -> DType:
    found = _BY_NUMPY.get(np_dtype)
    return found if found is not None else as_dtype(np_dtype)


def is_differentiable(np_dtype: Any) -> Any:
    """True for the element types that carry derivatives."""
    return np_dtype.kind in "fc"
