"""`tf.data.Dataset`: pipelines of tensors by their TensorFlow names, as plain Python iteration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from stgrad.eager import structures
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.ops_array import stack
from stgrad.eager.random import shuffle as shuffled
from stgrad.eager.shapes import TensorSpec
from stgrad.eager.tensor import Tensor

AUTOTUNE = -1
INFINITE, UNKNOWN = -1, -2


class Dataset:
    """Elements that are made anew for each iteration. An element is a tensor, or a tuple or dict of them."""

    def __init__(self, make: Callable[[], Iterator[Any]], count: int = UNKNOWN) -> None:
        self._make, self._count = make, count

    # -------------------------------------------------------------- sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        whole = _tensors(tensors)
        return Dataset(lambda: iter([whole]), 1)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """An element for each row."""
        leaves, rebuild = structures.flatten_with(_tensors(tensors))
        counts = {len(leaf) for leaf in leaves}
        if len(counts) != 1:
            raise ValueError(f"Dimensions {sorted(counts)} are not compatible")
        count = counts.pop()
        return Dataset(lambda: (rebuild([leaf[i] for leaf in leaves]) for i in range(count)), count)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any = None, output_shapes: Any = None, args: Any = (), **_: Any
    ) -> Dataset:
        """The elements that a Python generator yields."""
        return Dataset(lambda: (_tensors(element) for element in generator(*args)))

    @staticmethod
    def range(*args: Any, **_: Any) -> Dataset:
        """Integers, as Python's `range`."""
        numbers = range(*[int(a) for a in args])
        return Dataset(lambda: (Tensor(np.int64(i)) for i in numbers), len(numbers))

    @staticmethod
    def zip(*datasets: Any, **_: Any) -> Dataset:
        """Tuples of one element of each."""
        parts = datasets[0] if len(datasets) == 1 and isinstance(datasets[0], (tuple, list)) else datasets
        finite = [d._count for d in parts if d._count != INFINITE]
        count = INFINITE if not finite else UNKNOWN if UNKNOWN in finite else min(finite)
        return Dataset(lambda: zip(*parts), count)

    # -------------------------------------------------------------- steps

    def batch(self, batch_size: Any, drop_remainder: bool = False, **_: Any) -> Dataset:
        """Stacks of so many elements."""
        size = int(batch_size)

        def batches() -> Iterator[Any]:
            rows = iter(self)
            while part := list(itertools.islice(rows, size)):
                if len(part) == size or not drop_remainder:
                    yield structures.map_structure(lambda *leaves: stack(list(leaves)), *part)

        known = self._count if self._count < 0 else self._count // size if drop_remainder else -(-self._count // size)
        return Dataset(batches, known)

    def unbatch(self, **_: Any) -> Dataset:
        """The rows of every element."""
        return self.flat_map(Dataset.from_tensor_slices)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None, **_: Any) -> Dataset:
        """A function of every element; of its parts, where it is a tuple."""
        return Dataset(lambda: (_tensors(_called(map_func, element)) for element in self), self._count)

    def flat_map(self, map_func: Callable[..., Any], **_: Any) -> Dataset:
        """The elements of the dataset that a function gives for every element."""
        return Dataset(lambda: (inner for element in self for inner in _called(map_func, element)))

    def filter(self, predicate: Callable[..., Any], **_: Any) -> Dataset:
        """The elements for which a function is true."""
        return Dataset(lambda: (element for element in self if bool(_called(predicate, element))))

    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None, **_: Any) -> Dataset:
        """The elements in a random order, anew for each iteration."""

        def mixed() -> Iterator[Any]:
            rows = list(self)
            order = shuffled(np.arange(len(rows)), seed).numpy() if rows else []
            return iter([rows[i] for i in order])

        return Dataset(mixed, self._count)

    def repeat(self, count: Any = None, **_: Any) -> Dataset:
        """The elements so many times over; without end, if no number is given."""
        if count is None or int(count) == -1:
            return Dataset(lambda: itertools.chain.from_iterable(iter(self) for _ in itertools.count()), INFINITE)
        times = int(count)
        return Dataset(
            lambda: itertools.chain.from_iterable(iter(self) for _ in range(times)),
            self._count * times if self._count >= 0 else self._count,
        )

    def take(self, count: Any, **_: Any) -> Dataset:
        """The first elements."""
        n = int(count)
        known = n if self._count == INFINITE else self._count if n < 0 or self._count == UNKNOWN else min(n, self._count)
        return Dataset(lambda: itertools.islice(iter(self), n if n >= 0 else None), known)

    def skip(self, count: Any, **_: Any) -> Dataset:
        """The elements after the first."""
        n = int(count)
        return Dataset(lambda: itertools.islice(iter(self), n, None), max(self._count - n, 0) if self._count >= 0 else self._count)

    def concatenate(self, dataset: Dataset, **_: Any) -> Dataset:
        """The elements of both, one after the other."""
        known = self._count + dataset._count if min(self._count, dataset._count) >= 0 else UNKNOWN
        return Dataset(lambda: itertools.chain(iter(self), iter(dataset)), known)

    def enumerate(self, start: int = 0, **_: Any) -> Dataset:
        """Pairs of a number and an element."""
        return Dataset(lambda: ((Tensor(np.int64(i)), element) for i, element in enumerate(self, start)), self._count)

    def cache(self, filename: str = "", **_: Any) -> Dataset:
        """The elements, made once."""
        kept: list[Any] = []

        def rows() -> Iterator[Any]:
            if not kept:
                kept.append(list(self))
            return iter(kept[0])

        return Dataset(rows, self._count)

    def prefetch(self, buffer_size: Any = None, **_: Any) -> Dataset:
        return self

    with_options = prefetch

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], **_: Any) -> Any:
        """The last value of an accumulator."""
        state = _tensors(initial_state)
        for element in self:
            state = _tensors(reduce_func(state, element))
        return state

    # -------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())

    def as_numpy_iterator(self) -> Iterator[Any]:
        return (structures.map_structure(lambda t: t.numpy(), element) for element in self)

    def __len__(self) -> int:
        if self._count < 0:
            raise TypeError("The dataset is infinite." if self._count == INFINITE else "The dataset length is unknown.")
        return self._count

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> Tensor:
        """The number of elements; -1 for no end, -2 where it is not known."""
        return Tensor(np.int64(self._count))

    @property
    def element_spec(self) -> Any:
        """The TensorSpecs of an element."""
        return structures.map_structure(TensorSpec.from_tensor, next(iter(self)))


def _tensors(value: Any) -> Any:
    """Numbers and arrays as tensors; lists are arrays, tuples and dicts structure."""
    if isinstance(value, tuple):
        made = [_tensors(v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if isinstance(value, dict):
        return {k: _tensors(v) for k, v in value.items()}
    return value if isinstance(value, Dataset) else convert_to_tensor(value)


def _called(function: Callable[..., Any], element: Any) -> Any:
    return function(*element) if isinstance(element, tuple) else function(element)


experimental = SimpleNamespace(AUTOTUNE=AUTOTUNE, cardinality=lambda dataset: dataset.cardinality())
