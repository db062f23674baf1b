"""`Variable`: a named, assignable value. Tapes follow its reads; assignments are not differentiated.

A variable's value is an immutable array that `assign*` replaces, so what a tape read stays as it was. The tensor of a read
carries the variable's own id: the gradient of a variable is the sum over its reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import dtypes, printing
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError, OutOfRangeError
from stgrad.eager.indexing import IndexedSlices, getitem, identity, normalise_index
from stgrad.eager.record import new_id, note, state
from stgrad.eager.scopes import scoped
from stgrad.eager.shapes import TensorShape
from stgrad.eager.tensor import Reference, Tensor


class Variable:
    """A value that can be assigned to.

    Args:
        initial_value: what `tf.convert_to_tensor` takes, or a function of no arguments that gives it.
        trainable: whether tapes follow it by themselves (default: True for every dtype, as far as it has derivatives).
        shape: the declared shape; unknown extents may change with an assignment.

    Raises:
        ValueError: there is no initial value.
    """

    __slots__ = ("_a", "_id", "_name", "_trainable", "_shape", "_constraint", "__weakref__", "__dict__")
    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a `variable_def`."
            )
        if state.graph is not None:
            state.graph.check_new_variable(self)
        value = initial_value() if callable(initial_value) and not hasattr(initial_value, "_a") else initial_value
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        self._a = convert_to_tensor(value, wanted)._a
        self._id = new_id()
        self._name = scoped(name or "Variable")
        self._trainable = True if trainable is None else trainable
        self._shape = TensorShape(self._a.shape if shape is None else shape)
        self._constraint = constraint
        if not self._shape.is_compatible_with(self._a.shape):
            raise ValueError(
                f"The initial value's shape ({TensorShape(self._a.shape)}) is not compatible with the explicitly supplied "
                f"`shape` argument ({self._shape})."
            )

    # -------------------------------------------------------------- reading

    def _read(self) -> Tensor:
        """The value as a tensor with the variable's id; tapes that watch accessed variables follow it from here."""
        if state.recorders and self._trainable and self._a.dtype.kind in "fc":
            for recorder in state.recorders:
                recorder.watch_variable(self)
        tensor = Tensor.__new__(Tensor)
        tensor._a = self._a
        tensor._id = self._id
        return tensor

    def value(self) -> Tensor:
        return identity(self._read())

    read_value = value

    def numpy(self) -> Any:
        if state.recorders:
            note(".numpy()", self._read())
        return self._a[()] if self._a.ndim == 0 else np.array(self._a)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._read().__array__(dtype, copy)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        from stgrad.eager.ops_index import gather

        return gather(self, indices)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        from stgrad.eager.ops_index import gather_nd

        return gather_nd(self, indices)

    # -------------------------------------------------------------- assigning

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replace the value.

        Raises:
            ValueError: the shape or dtype is another.
        """
        new = convert_to_tensor(value, dtype_hint=self.dtype)
        if state.recorders:
            note(f"assign to variable {self.name!r}", new, self)
        if new._a.dtype != self._a.dtype:
            raise ValueError(f"Tensor conversion requested dtype {self.dtype.name} for Tensor with dtype {new.dtype.name}: {new!r}")
        if not self._shape.is_compatible_with(new._a.shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch.The variable shape {self._shape}, and the assigned value "
                f"shape {TensorShape(new._a.shape)} are incompatible."
            )
        self._a = new._a if type(value) is Tensor or hasattr(type(value), "_read") else np.array(new._a)[()]
        return self if read_value else None

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._update(np.add, delta, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._update(np.subtract, delta, read_value)

    def _update(self, combine: Any, delta: Any, read_value: bool) -> Any:
        change = convert_to_tensor(delta, self.dtype)
        if state.recorders:
            note(f"assign to variable {self.name!r}", change, self)
        if change._a.shape != self._a.shape:
            raise ValueError(
                f"Cannot update variable '{self.name}' of shape {TensorShape(self._a.shape)} with a value of shape "
                f"{TensorShape(change._a.shape)}: the shapes must be equal."
            )
        self._a = combine(self._a, change._a)
        return self if read_value else None

    def assign_at(self, index: Any, value: Any, how: str = "assign") -> Variable:
        """Assign to a slice: what `variable[index].assign(value)` does."""
        new = np.array(self._a)
        where = normalise_index(index)
        filling = convert_to_tensor(value, self.dtype)._a
        try:
            new[where] = {"assign": filling, "assign_add": new[where] + filling, "assign_sub": new[where] - filling}[how]
        except ValueError as error:
            raise InvalidArgumentError(
                f"Cannot assign to a slice of variable '{self.name}': {error}", "ResourceStridedSliceAssign"
            ) from None
        self._a = new[()]
        return self

    # -------------------------------------------------------------- scatter

    def _scatter(self, combine: Any, slices: IndexedSlices) -> Variable:
        if not isinstance(slices, IndexedSlices):
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {slices!r}")
        return self._scatter_at(combine, (convert_to_tensor(slices.indices)._a,), slices.values)

    def _scatter_at(self, combine: Any, index: Any, updates: Any) -> Variable:
        new = np.array(self._a)
        values = convert_to_tensor(updates, self.dtype)._a
        try:
            if combine is None:
                new[index] = values
            else:
                combine.at(new, index, values)
        except IndexError as error:
            raise InvalidArgumentError(str(error), "ResourceScatterUpdate") from None
        self._a = new
        return self

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.add, sparse_delta)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.subtract, sparse_delta)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.multiply, sparse_delta)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.divide, sparse_delta)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.minimum, sparse_delta)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(np.maximum, sparse_delta)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        return self._scatter(None, sparse_delta)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_at(np.add, _nd_index(indices), updates)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_at(np.subtract, _nd_index(indices), updates)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter_at(None, _nd_index(indices), updates)

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        indices = convert_to_tensor(sparse_delta.indices)._a
        batch = np.indices(indices.shape[:-1]) if indices.ndim > 1 else ()
        return self._scatter_at(None, (*(axis[..., None] for axis in batch), indices), sparse_delta.values)

    def count_up_to(self, limit: int) -> Tensor:
        if int(self._a) >= limit:
            raise OutOfRangeError(f"Reached limit of {limit}", "CountUpTo")
        before = Tensor(self._a)
        self._a = self._a + self._a.dtype.type(1)
        return before

    # -------------------------------------------------------------- facts

    @property
    def name(self) -> str:
        return f"{self._name}:0"

    @property
    def path(self) -> str:
        return self._name

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        return dtypes.of(self._a)

    @property
    def ndim(self) -> int:
        return int(self._a.ndim)

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def constraint(self) -> Any:
        return self._constraint

    @property
    def device(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def initial_value(self) -> Any:
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    def get_shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape.assert_is_compatible_with(shape)
        self._shape = self._shape.merge_with(shape)

    def is_initialized(self) -> Tensor:
        return Tensor(np.bool_(True))

    def ref(self) -> Reference:
        return Reference(self)

    # -------------------------------------------------------------- Python's protocols

    def __getitem__(self, index: Any) -> Tensor:
        tensor = getitem(self._read(), index)
        tensor._origin = (self, index)
        return tensor

    def __iadd__(self, other: Any) -> Any:
        raise RuntimeError(
            "`variable += value` with `tf.Variable`s is not supported. Use `variable.assign_add(value)` to modify the "
            "variable, or `out = variable + value` if you need to get a new output Tensor."
        )

    def __isub__(self, other: Any) -> Any:
        raise RuntimeError(
            "`variable -= value` with `tf.Variable`s is not supported. Use `variable.assign_sub(value)` to modify the "
            "variable, or `out = variable - value` if you need to get a new output Tensor."
        )

    def __imul__(self, other: Any) -> Any:
        raise RuntimeError(
            "`var *= value` with `tf.Variable`s is not supported. Use `var.assign(var * value)` to modify the "
            "variable, or `out = var * value` if you need to get a new output Tensor."
        )

    def __itruediv__(self, other: Any) -> Any:
        raise RuntimeError(
            "`var /= value` with `tf.Variable`s is not supported. Use `var.assign(var / value)` to modify the "
            "variable, or `out = var / value` if you need to get a new output Tensor."
        )

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key. (Variable: " + repr(self) + ")")

    def __bool__(self) -> bool:
        return bool(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __complex__(self) -> complex:
        return complex(self._read())

    def __index__(self) -> int:
        return self._read().__index__()

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Any:
        return iter(self._read())

    def __repr__(self) -> str:
        return printing.variable_repr(self.name, self._shape, self._a)

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec) if not spec or self._a.ndim else format(self._a, spec)

    def __copy__(self) -> Variable:
        return Variable(Tensor(self._a), trainable=self._trainable, name=self._name, shape=self._shape)

    def __deepcopy__(self, memo: Any) -> Variable:
        copied = memo[id(self)] = self.__copy__()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (np.asarray(self._a), self._trainable, self._name, self._shape.dims)


def _restore(value: Any, trainable: bool, name: str, shape: Any) -> Variable:
    return Variable(value, trainable=trainable, name=name, shape=shape)


def _nd_index(indices: Any) -> tuple[Any, ...]:
    array = convert_to_tensor(indices)._a
    return tuple(np.moveaxis(array, -1, 0))
