"""`TensorShape`: a tuple of extents, each known or None; or of unknown rank. And `TensorSpec`, a shape with a dtype."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stgrad.eager import dtypes


class TensorShape(tuple):
    """The shape of a tensor. A tuple, so that NumPy takes it; `rank` None means that nothing is known.

    >>> TensorShape([2, None])
    TensorShape([2, None])
    """

    unknown: bool

    def __new__(cls, dims: Any) -> TensorShape:
        if type(dims) is TensorShape:
            return dims
        unknown = dims is None
        if unknown:
            extents: tuple[Any, ...] = ()
        elif isinstance(dims, Iterable):
            extents = tuple(None if d is None else _extent(d) for d in dims)
        else:
            extents = (_extent(dims),)
        shape = super().__new__(cls, extents)
        shape.unknown = unknown
        return shape

    @property
    def rank(self) -> int | None:
        return None if self.unknown else tuple.__len__(self)

    ndims = rank

    @property
    def dims(self) -> list[Any] | None:
        return None if self.unknown else list(self)

    def as_list(self) -> list[Any]:
        if self.unknown:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self)

    def num_elements(self) -> int | None:
        if not self.is_fully_defined():
            return None
        count = 1
        for extent in self:
            count *= extent
        return count

    def is_fully_defined(self) -> bool:
        return not self.unknown and None not in tuple(self)

    def is_compatible_with(self, other: Any) -> bool:
        other = TensorShape(other)
        if self.unknown or other.unknown:
            return True
        return len(self) == len(other) and all(a is None or b is None or a == b for a, b in zip(self, other))

    def is_subtype_of(self, other: Any) -> bool:
        if other.unknown:
            return True
        return not self.unknown and len(self) == len(other) and all(b is None or a == b for a, b in zip(self, other))

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        self.assert_has_rank(rank)
        return TensorShape([None] * rank) if self.unknown else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def merge_with(self, other: Any) -> TensorShape:
        other = TensorShape(other)
        if self.unknown or other.unknown:
            return other if self.unknown else self
        self.assert_is_compatible_with(other)
        return TensorShape([b if a is None else a for a, b in zip(self, other)])

    most_general_compatible_shape = merge_with

    def concatenate(self, other: Any) -> TensorShape:
        other = TensorShape(other)
        return TensorShape(None if self.unknown or other.unknown else (*self, *other))

    def __len__(self) -> int:
        if self.unknown:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return tuple.__len__(self)

    def __bool__(self) -> bool:
        return not self.unknown

    def __iter__(self) -> Iterator[Any]:
        if self.unknown:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return tuple.__iter__(self)

    def __getitem__(self, index: Any) -> Any:
        if self.unknown:
            return TensorShape(None) if isinstance(index, slice) else None
        found = tuple.__getitem__(self, index)
        return TensorShape(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            other = TensorShape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self.unknown == other.unknown and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __str__(self) -> str:
        return "<unknown>" if self.unknown else tuple.__repr__(self)

    def __repr__(self) -> str:
        return "TensorShape(None)" if self.unknown else f"TensorShape({list(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)


def _extent(value: Any) -> int:
    try:
        extent = value.__index__()
    except AttributeError:
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value {value!r} with type {type(value)!r}"
        ) from None
    if extent < 0:
        raise ValueError(f"Dimension {extent} must be >= 0")
    return int(extent)


class TensorSpec:
    """What a tensor argument of a `function` must look like: a shape, possibly with unknown extents, and a dtype."""

    __slots__ = ("shape", "dtype", "name")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        return cls(tensor.shape, tensor.dtype, name)

    from_spec = from_tensor

    def is_compatible_with(self, value: Any) -> bool:
        return bool(self.dtype == value.dtype and self.shape.is_compatible_with(value.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.shape.dims, self.dtype.name, self.name)
