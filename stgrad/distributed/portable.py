"""A compiled program as it travels: the text, and how it is called. A worker makes it callable once, and keeps it.

Nothing in it refers to the function it was made from: neither its source nor the compiler is needed where it runs. Values from outside that are
arrays are passed with each evaluation, as they are at that time.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stgrad import loader
from stgrad.cache import fingerprint, write_source
from stgrad.calls import calling, wrapper
from stgrad.calls.arguments import fixed_node, hashable, passed
from stgrad.calls.program_cache import Ready
from stgrad.errors import ShardError
from stgrad.instances import attributes_of, make
from stgrad.prepared import Program
from stgrad.request import Options
from stgrad.transformed import OTHER_EXTENTS, Transformed
from stgrad.values import rebuild

Kind = tuple[Any, ...]  # the descriptions of a shard's values


@dataclass(frozen=True)
class Portable:
    """A program; `version` is that of stgrad."""

    key: str
    ready: Ready
    unbox: tuple[int, ...]
    options: Options
    version: str


@dataclass(frozen=True)
class FromShard:
    """A place in the arguments of a program that the shards fill: which of their values, and its description."""

    index: int
    node: Any


@dataclass(frozen=True)
class Call:
    """A program and what all shards give it: for each argument its leaves, or the value of the shard; captured arrays last.

    `otherwise` is the call to make where this one finds extents to differ that its program takes to be equal.
    """

    program: str
    groups: tuple[Any, ...]
    hidden: tuple[Any, ...]
    otherwise: Call | None = None


def portable(target: Transformed, program: Program) -> Portable:
    """What travels of a program of `target`, the same each time."""
    found = _travelling.get(program)
    if found is None:
        found = _travelling[program] = _portable(target, program)
    return found


_travelling: WeakKeyDictionary[Program, Portable] = WeakKeyDictionary()


def _portable(target: Transformed, program: Program) -> Portable:
    ready = replace(program.ready, captures=())
    unbox = tuple(i for i, node in enumerate(passed(program.nodes)) if isinstance(node, wrapper.Array) and node.ndim == 0)
    content = repr((ready.text, ready.name, ready.params, ready.result, unbox, target.options))
    return Portable(hashlib.sha256(content.encode()).hexdigest()[:16], ready, unbox, target.options, fingerprint()[1])


# --------------------------------------------------------------------------- what shards are to programs


def kind_of(nodes: Sequence[Any]) -> Kind:
    """What tells shards apart that need programs of their own, as a key of a dictionary."""
    return tuple(map(hashable, nodes))


def kinds_of(values: Sequence[Any]) -> tuple[Kind, Kind]:
    """The kind of a shard: with its integers compiled in, and without."""
    nodes = [wrapper.describe(v) for v in values]
    fixed = [fixed_node(n, v) for n, v in zip(nodes, values, strict=True)]
    return kind_of(fixed), kind_of(nodes)


def example_of(value: Any) -> Any:
    """A small value that is compiled for as this one is: arrays of the same type, of extents 1 where this has extent 1, else 2.

    >>> example_of((np.ones((500, 1)), 3))
    (array([[0.],
           [0.]]), 3)
    """
    if type(value) is np.ndarray:
        return np.zeros([1 if n == 1 else 2 for n in value.shape], value.dtype)
    if isinstance(value, (tuple, list)):
        return rebuild(value, [example_of(v) for v in value])
    if type(value) is dict:
        return {k: example_of(v) for k, v in value.items()}
    attributes = attributes_of(value)
    return value if attributes is None else make(type(value), {k: example_of(v) for k, v in attributes.items()})


# --------------------------------------------------------------------------- on the worker

_known: dict[str, Callable[..., Any]] = {}
_lock = threading.RLock()


def run(table: Mapping[str, Portable], call: Call, values: Sequence[Any]) -> Any:
    """The result of a program for a shard with these values."""
    flat: list[Any] = []
    for group in call.groups:
        flat.extend(wrapper.leaves(group.node, values[group.index]) if isinstance(group, FromShard) else group)
    flat.extend(call.hidden)
    try:
        program = table[call.program]
        return _callable(program, flat)(*_given(program, flat))
    except OTHER_EXTENTS:
        if call.otherwise is None:
            raise
        return run(table, call.otherwise, values)


def _callable(program: Portable, flat: Sequence[Any]) -> Callable[..., Any]:
    found = _known.get(program.key)
    if found is None:
        with _lock:
            found = _known.get(program.key)
            if found is None:
                found = _known[program.key] = _made(program, flat)
    return found


def _made(program: Portable, flat: Sequence[Any]) -> Callable[..., Any]:
    if program.version != fingerprint()[1]:
        raise ShardError(
            f"the worker has stgrad {fingerprint()[1]}, the client {program.version}",
            reason="programs call helpers of the version that made them",
            hint="install the same version everywhere",
        )
    ready, options = program.ready, program.options
    compiled = loader.load(ready.text, ready.name, jit=options.jit, parallel=options.parallel, checked=options.outside)
    if options.jit:
        with _alone(write_source(ready.text, ready.name, loader.options_text(options.parallel, options.outside))):
            loader.warm(compiled, _given(program, flat))
    return calling.Run(calling.guarded(compiled, ready.params), program.unbox, [], ready.result, options.jit)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process of a machine at a time: the first one compiles, the others find its native code on disk."""
    try:
        import fcntl

        file = path.open("rb")
    except (ImportError, OSError):  # Windows, or nothing can be written: each compiles for itself
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file unlocks it


def _given(program: Portable, flat: Sequence[Any]) -> list[Any]:
    """The arguments as the program may have them: copies of what it writes to; else arrays that came without permission to write look writable.

    Numba takes arrays for reading alone for another type, and would compile the program for each mixture of both.
    """
    found = []
    for param, value in zip(program.ready.params, flat, strict=True):
        if type(value) is np.ndarray and param.written:
            value = value.copy(order="K")
        elif type(value) is np.ndarray and not value.flags.writeable and value.flags.forc:
            value = _writable(value)
        found.append(value)
    return found


class _Memory:
    """The memory of an array, for `np.asarray`; keeps it alive."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(_Memory(array))
