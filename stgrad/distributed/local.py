"""Engines of one machine: threads, and processes that share memory through files."""

from __future__ import annotations

import itertools
import mmap
import multiprocessing
import os
import pickle
import queue
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba import cloudpickle

from stgrad.distributed.engines import Combine, Lost, Tell
from stgrad.distributed.worker import Block
from stgrad.errors import ShardError

SMALL = 1 << 14  # bytes that go with each function rather than through a file
OPEN = 256  # files that a process keeps open


def on_executor(executor: Executor) -> Threads | Processes:
    """The engine of an executor that the user has."""
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, executor)
    if isinstance(executor, ProcessPoolExecutor):
        return Processes(executor._max_workers, executor)  # type: ignore[attr-defined]
    raise ShardError(f"a {type(executor).__name__} is no executor of threads or processes", hint="pass a ThreadPoolExecutor or ProcessPoolExecutor")


def gathered(futures: Sequence[Future[Any]], patience: float, tell: Tell) -> list[Any]:
    """The results of futures in order; see `engines.Engine.gather`."""
    ready: queue.SimpleQueue[int] = queue.SimpleQueue()
    for position, future in enumerate(futures):
        future.add_done_callback(lambda _, at=position: ready.put(at))  # type: ignore[misc]
    for _ in futures:
        try:
            tell(ready.get(timeout=patience))
        except queue.Empty:
            raise TimeoutError from None
    return [_result(future) for future in futures]


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenExecutor as problem:
        return Lost(f"a worker process ended: {problem}")


class Threads:
    """Threads of this process: compiled programs run without the GIL, and see the user's own arrays."""

    copies = trees = False

    def __init__(self, workers: int | None = None, executor: ThreadPoolExecutor | None = None) -> None:
        self._own = executor is None
        self._count = workers or os.cpu_count() or 1
        self._pool = executor or ThreadPoolExecutor(self._count, "stgrad-shards")

    @property
    def workers(self) -> int:
        return self._count

    def place(self, block: Block) -> Any:
        return self._pool.submit(block.load) if block.waits else block

    def lost(self, placed: Any) -> bool:
        return isinstance(placed, Future) and placed.done() and placed.exception() is not None

    def share(self, value: Any) -> Any:
        return value

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._pool.submit(_resolved, function, args)

    def submit_all(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine | None) -> list[Any]:
        return [self.submit(function, p, table, shared) for p in placed]

    def gather(self, refs: Sequence[Future[Any]], patience: float, tell: Tell) -> list[Any]:
        return gathered(refs, patience, tell)

    def drop(self, shared: Any) -> None:
        """The last reference frees it."""

    def cancel(self, refs: Sequence[Future[Any]]) -> None:
        for ref in refs:
            ref.cancel()

    def close(self) -> None:
        if self._own:
            self._pool.shutdown(cancel_futures=True)


def _resolved(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    # What is waited for was submitted before: a pool starts tasks in order, so it runs or is done.
    return function(*(a.result() if isinstance(a, Future) else a for a in args))


# --------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Spooled:
    """A value in a file: a pickle without its buffers, and where in the file these are."""

    path: str
    pickled: bytes
    places: tuple[tuple[int, int], ...]

    def value(self) -> Any:
        """The value; its arrays are the file's memory, and writes to them stay in this process."""
        if not self.places:
            return pickle.loads(self.pickled)
        with open(self.path, "rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return pickle.loads(self.pickled, buffers=[view[start : start + size] for start, size in self.places])


def spool(value: Any, path: str) -> Spooled:
    """Write the buffers of a value to a file."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with open(path, "wb") as file:
        for buffer in buffers:
            file.seek(-(-file.tell() // 64) * 64)  # as NumPy aligns its own memory
            with buffer.raw() as raw:
                places.append((file.tell(), raw.nbytes))
                file.write(raw)
        if any(size for _, size in places):
            file.truncate(max(file.tell(), 1))
        else:
            file.write(b"\0")  # an empty file cannot be mapped
    return Spooled(path, pickled, tuple(places))


def _spool_block(pickled: bytes, path: str) -> Spooled:
    block: Block = pickle.loads(pickled)
    return spool(block.load(), path)


_opened: OrderedDict[str, Any] = OrderedDict()
_opening = threading.Lock()


def _run(pickled: bytes) -> Any:
    """A function and its arguments, in a worker process."""
    function, args = pickle.loads(pickled)
    return function(*(_value(a) if isinstance(a, Spooled) else a for a in args))


def _value(spooled: Spooled) -> Any:
    with _opening:
        if spooled.path not in _opened:
            _opened[spooled.path] = spooled.value()
        _opened.move_to_end(spooled.path)
        while len(_opened) > OPEN:
            _opened.popitem(last=False)
        return _opened[spooled.path]


class Processes:
    """Processes of this machine. Data lie in files that all of them map: any process can take any block, and a killed one takes nothing with it."""

    copies, trees = True, False

    def __init__(self, workers: int | None = None, executor: ProcessPoolExecutor | None = None) -> None:
        self._own = executor is None
        self._count = workers or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="stgrad-shards-")
        self._numbers = itertools.count()
        self._pool = executor or self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._count, multiprocessing.get_context("spawn"))

    @property
    def workers(self) -> int:
        return self._count

    def _path(self) -> str:
        return str(Path(self._folder.name) / f"{next(self._numbers)}.bin")

    def place(self, block: Block) -> Any:
        path = self._path()
        return self._submitted(_spool_block, cloudpickle.dumps(block), path) if block.waits else spool(block.load(), path)

    def lost(self, placed: Any) -> bool:
        return isinstance(placed, Future) and placed.done() and placed.exception() is not None

    def share(self, value: Any) -> Any:
        return spool(value, self._path())

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        try:
            given = [a.result() if isinstance(a, Future) else a for a in args]
        except BrokenExecutor as problem:
            failed: Future[Any] = Future()
            failed.set_exception(problem)
            return failed
        return self._submitted(_run, cloudpickle.dumps((function, given)))

    def _submitted(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        with self._lock:
            try:
                return self._pool.submit(function, *args)
            except BrokenExecutor:
                if not self._own:
                    raise ShardError("the process pool is broken: one of its processes ended", hint='pass engine="processes", which starts a new one') from None
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new()
                return self._pool.submit(function, *args)

    def submit_all(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine | None) -> list[Any]:
        return [self.submit(function, p, table, shared) for p in placed]

    def gather(self, refs: Sequence[Future[Any]], patience: float, tell: Tell) -> list[Any]:
        return gathered(refs, patience, tell)

    def drop(self, shared: Any) -> None:
        """Nobody asks for this value again."""
        if isinstance(shared, Future) and shared.done() and not shared.exception():
            shared = shared.result()
        if isinstance(shared, Spooled):
            Path(shared.path).unlink(missing_ok=True)  # processes that have it mapped keep it

    def cancel(self, refs: Sequence[Future[Any]]) -> None:
        for ref in refs:
            ref.cancel()

    def close(self) -> None:
        if self._own:
            self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()
