"""What can stand for an argument that comes in shards, and how it is cut into blocks.

A list or tuple of values, one a shard; `Shards`, whose values are made where they are used (`from_function`, `from_zarr`, `from_parquet`,
`constant`); a Dask array or data frame, by partitions along its first axis; a function without arguments that returns an iterator, or an iterator, for
data beyond memory, which are read as they are used.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad.distributed.worker import Block, Load
from stgrad.errors import ShardError
from stgrad.values import leaves, opened


@dataclass(frozen=True)
class Shards:
    """Values made where they are used, one for each of `loads`; `keep`: workers keep them between evaluations."""

    loads: tuple[Load, ...]
    keep: bool = True

    def __len__(self) -> int:
        return len(self.loads)


@dataclass(frozen=True, eq=False)
class _Made(Load):
    make: Callable[[int], Any]
    number: int

    def __call__(self) -> Any:
        return self.make(self.number)


@dataclass(frozen=True, eq=False)
class _Held(Load):
    value: Any

    def __call__(self) -> Any:
        return self.value


@dataclass(frozen=True, eq=False)
class _Rows(Load):
    """Rows of a Zarr array."""

    path: str
    component: str | None
    start: int
    stop: int

    def __call__(self) -> Any:
        return np.asarray(_zarr_array(self.path, self.component)[self.start : self.stop])


@dataclass(frozen=True, eq=False)
class _RowGroup(Load):
    """Columns of a row group of a Parquet file, as an array of shape `(rows, columns)`, or `(rows,)` for one by its name."""

    path: str
    group: int
    columns: str | tuple[str, ...]

    def __call__(self) -> Any:
        from pyarrow import parquet

        names = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        with parquet.ParquetFile(self.path) as file:
            table = file.read_row_group(self.group, columns=names)
        found = [table.column(name).to_numpy() for name in names]
        return found[0] if isinstance(self.columns, str) else np.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class Partition(Load):
    """A partition of a Dask collection. The Dask engine computes it in its own cluster; others compute it in place."""

    delayed: Any

    @property
    def token(self) -> Any:
        return self.delayed.key

    def __call__(self) -> Any:
        return as_array(self.delayed.compute(scheduler="synchronous"))


def as_array(value: Any) -> Any:
    """A part of a data frame as an array; other values as they are."""
    return np.ascontiguousarray(value.to_numpy()) if hasattr(value, "to_numpy") else value  # in one order, as sums depend on it


def from_function(make: Callable[[int], Any], count: int, *, keep: bool = True) -> Shards:
    """Shards that a function makes of their numbers 0 .. count - 1, on the workers.

    Args:
        make: returns the value of a shard: an array, a number, or a structure of them. It travels by pickle, and must give the same each time.
        count: how many there are.
        keep: whether workers keep them between evaluations; False for data beyond the memory of all.

    >>> shards = from_function(lambda i: np.random.default_rng(i).normal(size=1000), 64)
    >>> len(shards)
    64
    """
    return Shards(tuple(_Made(make, i) for i in range(count)), keep)


def constant(values: Sequence[Any], *, keep: bool = True) -> Shards:
    """A list of values that do not change: they are sent to the workers once, and not looked at again.

    Of a plain list each evaluation reads all numbers, to see whether they are still what the workers have.
    """
    return Shards(tuple(map(_Held, values)), keep)


def from_zarr(path: Any, component: str | None = None, *, rows: int | None = None, keep: bool = True) -> Shards:
    """The rows of a Zarr array, read on the workers.

    Args:
        path: of the store, as all workers see it.
        component: the array in a group.
        rows: of a shard; None for the chunks of the file.
        keep: as for `from_function`.
    """
    array = _zarr_array(str(path), component)
    size, step = array.shape[0], rows or array.chunks[0]
    return Shards(tuple(_Rows(str(path), component, i, min(i + step, size)) for i in range(0, size, step)), keep)


def _zarr_array(path: str, component: str | None) -> Any:
    import zarr

    return zarr.open_array(path, path=component or "", mode="r")


def from_parquet(paths: Any, columns: str | Sequence[str], *, keep: bool = True) -> Shards:
    """Columns of Parquet files, read on the workers, a shard for each row group.

    Args:
        paths: of one file, or of several, in the order of the shards, as all workers see them.
        columns: a name, for shards of shape `(rows,)`, or several, for `(rows, columns)`.
        keep: as for `from_function`.
    """
    from pyarrow import parquet

    files = list(map(str, paths)) if isinstance(paths, (list, tuple)) else [str(paths)]
    chosen = columns if isinstance(columns, str) else tuple(columns)
    found: list[Load] = []
    for path in files:
        with parquet.ParquetFile(path) as file:
            found.extend(_RowGroup(path, group, chosen) for group in range(file.num_row_groups))
    return Shards(tuple(found), keep)


# --------------------------------------------------------------------------- what the user passed


@dataclass
class Stream:
    """Values that are read as they are used."""

    values: Iterator[Any]


def known(name: str, given: Any) -> Shards | list[Any] | Stream:
    """What the user passed for a sharded argument.

    Raises ShardError where it has no shards.
    """
    if isinstance(given, Shards):
        return given
    if isinstance(given, (list, tuple)):
        return list(given)
    if hasattr(given, "__dask_graph__"):
        return _partitions(given)
    if isinstance(given, Iterator):
        return Stream(given)
    if callable(given):
        return Stream(iter(given()))
    hint = "split it: `np.array_split(x, 64)` for 64 shards" if isinstance(given, np.ndarray) else "pass a list with a value for each shard"
    raise ShardError(f"`{name}` comes in shards, and was given as {type(given).__name__}", hint=hint)


def _partitions(collection: Any) -> Shards:
    """Of a Dask collection along its first axis; the other axes become whole."""
    if hasattr(collection, "rechunk"):
        if any(np.isnan(n) for n in collection.chunks[0]):
            parts = collection.to_delayed()
        else:
            parts = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1)).to_delayed()
        return Shards(tuple(map(Partition, np.ravel(parts))))
    return Shards(tuple(map(Partition, collection.to_delayed())))


def blocks(names: tuple[str, ...], sources: Sequence[Shards | list[Any] | Stream], size: int) -> Iterator[Block]:
    """The shards, `size` of them a block.

    Raises ShardError where one argument has more shards than another.
    """
    columns = [s.values if isinstance(s, Stream) else s.loads if isinstance(s, Shards) else s for s in sources]
    first, end = 0, object()
    rows: list[tuple[Any, ...]] = []
    for row in itertools.zip_longest(*columns, fillvalue=end):
        if any(value is end for value in row):
            short = [n for n, v in zip(names, row, strict=True) if v is end]
            raise ShardError(f"`{short[0]}` has {first + len(rows)} shards, {', '.join(n for n in names if n not in short)} more")
        rows.append(row)
        if len(rows) == size:
            yield Block(first, rows, names)
            first, rows = first + size, []
    if rows:
        yield Block(first, rows, names)


def token(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What changes where the values of a shard do. A `Load` gives the same each time."""
    return tuple(value.token if isinstance(value, Load) else _digest(value) for value in row)


def _digest(value: Any) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for leaf in leaves(opened(value)):
        if type(leaf) is np.ndarray and leaf.dtype != object:
            digest.update(repr((leaf.shape, leaf.dtype.str)).encode())
            digest.update(np.ascontiguousarray(leaf).reshape(-1).view(np.uint8).data)
        else:
            digest.update(pickle.dumps(leaf))
    return digest.digest()
