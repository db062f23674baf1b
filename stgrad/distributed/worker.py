"""What runs on workers: blocks of neighbouring shards are loaded, evaluated and reduced."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stgrad.distributed.portable import Call, Kind, Portable, example_of, kinds_of, run
from stgrad.distributed.reductions import REDUCTIONS, Need, Partial, Tree, combined
from stgrad.values import opened


class Load:
    """The value of a shard, made where it is used: call it. Two with the same token give the same."""

    @property
    def token(self) -> Any:
        return self

    def __call__(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Loaded:
    """Neighbouring shards: the number of the first, and for each the values of the sharded arguments."""

    first: int
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Block:
    """Neighbouring shards, some values of which have yet to be made (`Load`)."""

    first: int
    rows: list[tuple[Any, ...]]
    names: tuple[str, ...]

    @property
    def waits(self) -> bool:
        return any(isinstance(value, Load) for row in self.rows for value in row)

    def load(self) -> Loaded:
        """With all values made, arrays in one piece."""
        rows = []
        for k, row in enumerate(self.rows):
            with naming(f"shard {self.first + k} of {', '.join(self.names)}"):
                rows.append(tuple(_compact(value() if isinstance(value, Load) else value) for value in row))
        return Loaded(self.first, rows)

    def __str__(self) -> str:
        return numbered(self.first, len(self.rows))


def numbered(first: int, count: int) -> str:
    """The name of some shards: `shard 3`, `shards 4 to 7`."""
    return f"shard {first}" if count == 1 else f"shards {first} to {first + count - 1}"


def _compact(value: Any) -> Any:
    return np.ascontiguousarray(value) if type(value) is np.ndarray and not value.flags.forc else value


@dataclass(frozen=True)
class Job:
    """One evaluation: the calls to make for each kind of shard, and what becomes of the results.

    `mode` says what programs return: 'value_and_grad' and 'jvp' pairs, 'hvp' what is linear alone, 'map' any result.
    """

    mode: str
    reduction: str
    calls: Mapping[Kind, Call]
    title: str  # what is evaluated, with its place: for messages


def evaluate(block: Block | Loaded, table: Mapping[str, Portable], job: Job) -> Any:
    """The state of a block, or what it needs."""
    loaded = block.load() if isinstance(block, Block) else block
    tree = Tree(partial(combined, REDUCTIONS[job.reduction]))
    for k, values in enumerate(loaded.rows):
        tree.add(_state(loaded.first + k, values, table, job))
    return tree.result()


def _state(number: int, values: tuple[Any, ...], table: Mapping[str, Portable], job: Job) -> Any:
    fixed, plain = kinds_of(values)
    call = job.calls.get(fixed) or job.calls.get(plain)
    if call is None:
        return Need({fixed: tuple(map(example_of, values))})
    with naming(f"shard {number} of {job.title}"):
        return REDUCTIONS[job.reduction].lift(_partial(job.mode, run(table, call, values)))


def _partial(mode: str, result: Any) -> Partial:
    if mode in ("value_and_grad", "jvp"):
        return opened(result[0]), opened(result[1])
    return ((), opened(result)) if mode == "hvp" else (opened(result), ())


def combine(reduction: str, a: Any, b: Any) -> Any:
    """The state of two neighbouring parts of the tree."""
    return combined(REDUCTIONS[reduction], a, b)


@contextlib.contextmanager
def naming(what: str) -> Iterator[None]:
    """Notes on an exception what it happened to."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"This was {what}.")
        raise
