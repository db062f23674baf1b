"""`TensorArray`: tensors written one after the other, to be stacked; each write gives a new array, and derivatives pass through."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import dtypes
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.errors import InvalidArgumentError, OutOfRangeError
from stgrad.eager.ops_array import concat, stack, unstack
from stgrad.eager.tensor import Tensor


class TensorArray:
    """As TensorFlow's; `flow` and the like are not there."""

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: Any = None, flow: Any = None, infer_shape: bool = True, element_shape: Any = None,
        colocate_with_first_write_call: bool = True, name: str | None = None,
    ) -> None:  # fmt: skip
        self.dtype = dtypes.as_dtype(dtype)
        self.dynamic_size = bool(dynamic_size)
        self.element_shape = element_shape
        self._items: list[Any] = [None] * (0 if size is None else int(getattr(size, "_a", size)))

    def _with(self, items: list[Any]) -> TensorArray:
        made = TensorArray(self.dtype, 0, self.dynamic_size, element_shape=self.element_shape)
        made._items = items
        return made

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with a value at a place."""
        i, t = int(getattr(index, "_a", index)), convert_to_tensor(value, dtype_hint=self.dtype)
        if t.dtype != self.dtype:
            raise InvalidArgumentError(
                f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype {t.dtype.name}", "TensorArrayWrite"
            )
        items = list(self._items)
        if i >= len(items):
            if not self.dynamic_size:
                raise OutOfRangeError(f"Tried to write to index {i} but array is not resizeable and size is: {len(items)}")
            items += [None] * (i + 1 - len(items))
        items[i] = t
        self._items = items  # the old one sees it too, as in TensorFlow's eager mode
        return self._with(items)

    def read(self, index: Any, name: str | None = None) -> Tensor:
        i = int(getattr(index, "_a", index))
        if not 0 <= i < len(self._items):
            raise OutOfRangeError(f"Tried to read from index {i} but array size is: {len(self._items)}")
        return self._full()[i]

    def _full(self) -> list[Any]:
        """The values; zeros of the shape of the others where nothing was written."""
        shape = next((t._a.shape for t in self._items if t is not None), ())
        return [Tensor(np.zeros(shape, self.dtype.dtype)[()]) if t is None else t for t in self._items]

    def stack(self, name: str | None = None) -> Tensor:
        """All values along a new first axis."""
        return stack(self._full()) if self._items else Tensor(np.zeros((0,), self.dtype.dtype))

    def concat(self, name: str | None = None) -> Tensor:
        """All values along their first axis."""
        return concat(self._full(), 0)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        return stack([self._full()[int(i)] for i in np.asarray(convert_to_tensor(indices)._a)])

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The rows of a tensor."""
        return self._with(unstack(convert_to_tensor(value, dtype_hint=self.dtype)))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        made = self
        for i, row in zip(np.asarray(convert_to_tensor(indices)._a), unstack(value)):
            made = made.write(int(i), row)
        return made

    def size(self, name: str | None = None) -> Tensor:
        return Tensor(np.int32(len(self._items)))

    def identity(self) -> TensorArray:
        return self

    def close(self, name: str | None = None) -> None:
        self._items = []
