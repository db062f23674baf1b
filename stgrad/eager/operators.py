"""Python's operators on tensors and variables.

The common case, two tensors of one dtype or a tensor and a Python number, is decided by a few identity tests; anything else goes
through `_mixed`, which converts the other operand to the tensor's dtype as TensorFlow does, or refuses it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import dtypes, rules_kinks
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import Operation, bind, note_all
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.record import QUIET, loud, quiet, record, state
from stgrad.eager.tensor import Tensor


def binary(
    op: Operation, compute: Callable[[Any, Any], Any], name: str, kinds: str = "iufc", numbers: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The method of an operator and its reflection. `kinds` are the dtype kinds it takes, `name` its TensorFlow name."""

    def forward(self: Any, other: Any) -> Any:
        a = self._a
        kind = type(other)
        if kind is Tensor:
            b = other._a
            if a.dtype is not b.dtype and a.dtype != b.dtype and not state.numpy_promotion:
                raise _unequal(name, a, b)
            inputs: tuple[Any, ...] = (self, other)
        elif numbers and (kind is float or kind is int) and a.dtype.kind in "fc":
            b = other
            inputs = (self,)
        else:
            return _mixed(forward, self, other, False, name)
        if a.dtype.kind not in kinds and not state.numpy_promotion:
            raise _not_allowed(name, a)
        token = quiet(QUIET)
        try:
            y = Tensor(compute(a, b))
        except ValueError:
            raise _incompatible(name, a, b) from None
        finally:
            loud(token)
        if state.recorders:
            _tell(op, y, inputs, inputs if kind is Tensor else (self, _as_float(other, a)))
        return y

    return forward, _reflected(op, compute, forward, name)


def _reflected(op: Operation, compute: Callable[[Any, Any], Any], forward: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The operator with a tensor on its right."""

    def reflected(self: Any, other: Any) -> Any:
        kind = type(other)
        if (kind is not float and kind is not int) or self._a.dtype.kind not in "fc":
            return _mixed(forward, self, other, True, name)
        token = quiet(QUIET)
        try:
            y = Tensor(compute(other, self._a))
        finally:
            loud(token)
        if state.recorders:
            _tell(op, y, (self,), (_as_float(other, self._a), self))
        return y

    return reflected


def _as_float(number: Any, like: Any) -> Any:
    """A Python number as rules get it: a float, so that an int that changes makes no new structure; a zero is NumPy's, by which they divide."""
    return float(number) if number else like.dtype.type(0)


def _tell(op: Operation, y: Any, inputs: tuple[Any, ...], args: tuple[Any, ...]) -> None:
    if op.differentiable:
        record(op, y, inputs, args)
    else:
        note_all(op.name, inputs, y)


def _mixed(forward: Callable[..., Any], self: Any, other: Any, swap: bool, name: str) -> Any:
    """The operation with an operand that is no tensor: variables are read, the rest takes this tensor's dtype."""
    if hasattr(type(other), "_read"):
        other = other._read()
    elif state.numpy_promotion and isinstance(other, (np.ndarray, np.generic, int, float, complex)):
        other = Tensor(np.asarray(other) if not isinstance(other, (int, float, complex)) else _weak(other, self._a))
    else:
        try:
            other = convert_to_tensor(_number_for(other, self._a.dtype), dtype_hint=self._a.dtype)
        except ValueError:
            return NotImplemented
    return forward(other, self) if swap else forward(self, other)


def _weak(number: Any, like: Any) -> Any:
    return np.asarray(number, np.result_type(like.dtype, number))


def _number_for(other: Any, dtype: Any) -> Any:
    """A Python number as a scalar of the dtype; TypeError where it does not fit, as a float for an integer tensor."""
    if type(other) in (float, complex) or (type(other) is int and dtype.kind != "b"):
        return convert_to_tensor(other, dtypes.of_numpy(dtype))
    return dtype.type(other) if type(other) is bool else other


def _unequal(name: str, a: Any, b: Any) -> InvalidArgumentError:
    one, two = dtypes.describe(a.dtype), dtypes.describe(b.dtype)
    return InvalidArgumentError(
        f"cannot compute {name} as input #1(zero-based) was expected to be a {one} tensor but is a {two} tensor", name
    )


def _incompatible(name: str, a: Any, b: Any) -> InvalidArgumentError:
    return InvalidArgumentError(f"Incompatible shapes: {list(np.shape(a))} vs. {list(np.shape(b))}", name)


def _not_allowed(name: str, a: Any) -> InvalidArgumentError:
    return InvalidArgumentError(f"Value for attr 'T' of {dtypes.describe(a.dtype)} is not in the list of allowed values", name)


def comparison(compute: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    """An ordering; the result is a bool tensor, which carries no derivative."""

    def compare(self: Any, other: Any) -> Any:
        if type(other) is not Tensor:
            return _mixed(compare, self, other, False, name)
        a, b = self._a, other._a
        if a.dtype != b.dtype and not state.numpy_promotion:
            raise _unequal(name, a, b)
        try:
            y = Tensor(compute(a, b))
        except ValueError:
            raise _incompatible(name, a, b) from None
        if state.recorders:
            note_all(name, (self, other), y)
        return y

    return compare


def equality(compute: Callable[[Any, Any], Any], name: str, differ: bool) -> Callable[..., Any]:
    """== and !=: elementwise; values that cannot be compared differ."""
    inner = comparison(compute, name)

    def compare(self: Any, other: Any) -> Any:
        if other is None or isinstance(other, str) and self._a.dtype.kind != "O":
            return differ
        try:
            result = inner(self, other)
        except InvalidArgumentError as error:
            if "Incompatible" in error.message:
                return Tensor(np.bool_(differ))
            raise
        return differ if result is NotImplemented else result

    return compare


def unary(op: Operation, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        y = Tensor(compute(self._a))
        if state.recorders:
            record(op, y, (self,), (self,))
        return y

    return method


def _true_divide(a: Any, b: Any) -> Any:
    """Integers divide to float64 (float32 for 8 and 16 bits)."""
    y = a / b
    dtype = (a if hasattr(a, "dtype") else b).dtype
    return y.astype(np.float32 if dtype.itemsize < 4 else np.float64) if dtype.kind in "iu" else y


def _floor_divide(a: Any, b: Any) -> Any:
    if getattr(a, "dtype", np.dtype(float)).kind in "iu" and np.any(np.equal(b, 0)):
        raise InvalidArgumentError("Integer division by zero", "FloorDiv")
    return np.floor_divide(a, b)


def _power(a: Any, b: Any) -> Any:
    try:
        return a**b if type(a) is not int or b.dtype.kind in "fc" else np.power(a, b)
    except ValueError as error:
        if "negative integer powers" in str(error):
            raise InvalidArgumentError("Integers to negative integer powers are not allowed", "Pow") from None
        raise


ADD = binary(bind(np.add), operator.add, "AddV2", "iufcO")
SUBTRACT = binary(bind(np.subtract), operator.sub, "Sub")
MULTIPLY = binary(bind(np.multiply), operator.mul, "Mul")
DIVIDE = binary(bind(np.divide), _true_divide, "RealDiv")
FLOOR_DIVIDE = binary(bind(np.floor_divide), _floor_divide, "FloorDiv", "iuf")
REMAINDER = binary(bind(np.remainder), np.remainder, "FloorMod", "iuf")
_POWER = binary(bind(rules_kinks.power), _power, "Pow")
AND = binary(bind(np.bitwise_and), operator.and_, "BitwiseAnd", "iub", False)
OR = binary(bind(np.bitwise_or), operator.or_, "BitwiseOr", "iub", False)
XOR = binary(bind(np.bitwise_xor), operator.xor, "BitwiseXor", "iub", False)


def _power_forward(self: Any, other: Any) -> Any:
    """x ** number has a rule of its own, which spares the logarithm."""
    if type(other) in (int, float) and self._a.dtype.kind == "f":
        token = quiet(QUIET)
        try:
            y = Tensor(self._a**other)
        finally:
            loud(token)
        if state.recorders:
            record(_POWER_NUMBER, y, (self,), (self, other))
        return y
    return _POWER[0](self, other)


_POWER_NUMBER = bind(rules_kinks.power_number)
POWER = (_power_forward, _POWER[1])


def _invert(self: Any) -> Any:
    if self._a.dtype.kind not in "iub":
        raise _not_allowed("Invert", self._a)
    return Tensor(~self._a)


def _absolute(self: Any) -> Any:
    y = Tensor(np.abs(self._a))
    if state.recorders:
        record(_ABS, y, (self,), (self,))
    return y


_ABS = bind(np.absolute)


PRODUCT: list[Callable[[Any, Any], Any]] = []  # TensorFlow's matmul, which `ops_products` puts here


def _matmul(self: Any, other: Any) -> Any:
    if state.numpy_promotion:
        return np.matmul(self, other)
    return PRODUCT[0](self, other)


def _rmatmul(self: Any, other: Any) -> Any:
    return _matmul(convert_to_tensor(other, dtype_hint=self._a.dtype), self)


NEGATIVE = unary(bind(np.negative), operator.neg)
METHODS: dict[str, Any] = {
    "__eq__": equality(np.equal, "Equal", False),
    "__ne__": equality(np.not_equal, "NotEqual", True),
    "__lt__": comparison(np.less, "Less"),
    "__le__": comparison(np.less_equal, "LessEqual"),
    "__gt__": comparison(np.greater, "Greater"),
    "__ge__": comparison(np.greater_equal, "GreaterEqual"),
    "__neg__": NEGATIVE,
    "__pos__": lambda self: self,
    "__abs__": _absolute,
    "__invert__": _invert,
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
}
for _name, _pair in {
    "add": ADD, "sub": SUBTRACT, "mul": MULTIPLY, "truediv": DIVIDE, "floordiv": FLOOR_DIVIDE, "mod": REMAINDER, "pow": POWER,
    "and": AND, "or": OR, "xor": XOR,
}.items():  # fmt: skip
    METHODS[f"__{_name}__"], METHODS[f"__r{_name}__"] = _pair


def reading(method: Callable[..., Any]) -> Callable[..., Any]:
    """A tensor's method for variables: the variable is read first."""

    def read_first(self: Any, *args: Any) -> Any:
        return method(self._read(), *args)

    return read_first


def install(tensor: type, *readable: type) -> None:
    """Put the operators on tensors, and on the classes that are read as tensors."""
    for name, method in METHODS.items():
        setattr(tensor, name, method)
        for owner in readable:
            setattr(owner, name, reading(method))
