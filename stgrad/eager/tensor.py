"""`Tensor`: an immutable NumPy value with an identity that tapes can follow.

`_a` is the value, an array or NumPy scalar that nothing writes to; `_id` is unique for the life of the process, so tapes
name tensors by number and need not keep them. Operators are put on the class by `operators`, NumPy's protocols by
`protocols`: this file knows no operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stgrad.eager import dtypes, printing
from stgrad.eager.record import new_id, note, state
from stgrad.eager.shapes import TensorShape

_NUMPY_METHODS = frozenset(
    [
        "T",
        "astype",
        "ravel",
        "transpose",
        "reshape",
        "clip",
        "size",
        "tolist",
        "data",
        "sum",
        "mean",
        "std",
        "var",
        "prod",
        "max",
        "min",
        "all",
        "any",
        "cumsum",
        "cumprod",
        "dot",
        "squeeze",
        "copy",
        "real",
        "imag",
        "conj",
        "argmax",
        "argmin",
        "flatten",
        "swapaxes",
        "take",
        "repeat",
        "trace",
        "diagonal",
        "round",
        "item",
        "ptp",
        "sort",
        "argsort",
    ]
)
_ASSIGNMENTS = frozenset(("assign", "assign_add", "assign_sub"))
_GRAPH_ONLY = frozenset(("name", "op", "graph"))


class Tensor:
    """A value that operations make and tapes follow; made with `tf.constant` or `tf.convert_to_tensor`."""

    __slots__ = ("_a", "_id", "_origin", "__weakref__")  # _origin: (variable, index) for a variable's slice, else not set
    __array_priority__ = 100

    def __init__(self, value: Any) -> None:
        self._a = value
        self._id = new_id()

    # -------------------------------------------------------------- facts

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._a.shape)

    @property
    def dtype(self) -> dtypes.DType:
        return dtypes.of(self._a)

    @property
    def ndim(self) -> int:
        return int(self._a.ndim)

    @property
    def device(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    backing_device = device

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}.")

    def numpy(self) -> Any:
        """The value as a NumPy array or scalar of your own; the path of derivatives ends here."""
        if state.recorders:
            note(".numpy()", self)
        value = self._a
        if value.ndim == 0:
            return value[()]
        return np.array(value)

    def ref(self) -> Reference:
        return Reference(self)

    experimental_ref = ref

    # -------------------------------------------------------------- conversions

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if state.numpy_promotion:
            raise TypeError("a derivative rule turned a tensor into an array, which would cut the derivative of the derivative")
        if state.recorders:
            note("a conversion to a NumPy array", self)
        if copy or (dtype is not None and np.dtype(dtype) != self._a.dtype):
            return np.array(self._a, dtype=dtype)
        view = np.asarray(self._a).view()
        view.flags.writeable = False
        return view

    def _scalar(self, kind: str) -> Any:
        if state.recorders:
            note(f"{kind}()", self)
        if self._a.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self._a.item()

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self._a.ndim or self._a.dtype.kind not in "iu":
            raise TypeError(f"only integer scalar tensors can be converted to an index, got {self!r}")
        return int(self._a)

    def __bool__(self) -> bool:
        if state.graph is not None:
            state.graph.check_bool(self)
        return bool(self._a)

    def __len__(self) -> int:
        if not self._a.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self._a.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if state.graph is not None:
            state.graph.check_iteration(self)
        if not self._a.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(self._a.shape[0]))

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __copy__(self) -> Tensor:
        return Tensor(self._a)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return Tensor(self._a)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self._a,)

    # -------------------------------------------------------------- text

    def __str__(self) -> str:
        return printing.tensor_str(self._a)

    def __repr__(self) -> str:
        return printing.tensor_repr(self._a)

    def __format__(self, spec: str) -> str:
        return format(self._a[()] if not self._a.ndim else self._a, spec)

    def __getattr__(self, name: str) -> Any:
        if name in _ASSIGNMENTS and hasattr(self, "_origin"):
            variable, index = self._origin
            return lambda value, **_: variable.assign_at(index, value, name)
        if name in _GRAPH_ONLY:
            raise AttributeError(f"Tensor.{name} is undefined when eager execution is enabled.")
        if name in _NUMPY_METHODS:
            if state.numpy_promotion:  # a derivative rule speaks NumPy
                from stgrad.eager import protocols

                return protocols.method(self, name)
            raise AttributeError(
                f"Tensor object has no attribute {name!r}: write `tf.{_FUNCTIONS.get(name, name)}(t)`, or "
                f"`t.numpy().{name}` where no derivative is needed."
            )
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")


_FUNCTIONS = {"T": "transpose", "astype": "cast", "ravel": "reshape", "flatten": "reshape", "sum": "reduce_sum", "mean": "reduce_mean"}
_FUNCTIONS |= {"max": "reduce_max", "min": "reduce_min", "prod": "reduce_prod", "std": "math.reduce_std", "var": "math.reduce_variance"}
_FUNCTIONS |= {"clip": "clip_by_value", "real": "math.real", "imag": "math.imag", "conj": "math.conj", "dot": "tensordot"}


class Reference:
    """A hashable stand-in for a tensor or variable, equal to the other references of the same object."""

    __slots__ = ("_wrapped", "__weakref__")

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


def is_tensor(x: Any) -> bool:
    """True for tensors and variables."""
    return isinstance(x, Tensor) or hasattr(type(x), "_read")
