"""The engine of `dask.distributed`: a LocalCluster, or any Client.

Lineage is Dask's: what was made by functions is made again where a worker is lost. What was sent from here (blocks of arrays, large arguments) has
none; where it is lost, functions that take it are cancelled, which is `Lost`, and the evaluation sends it again.
"""

from __future__ import annotations

import asyncio
import pickle
import queue
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass
from typing import Any

import dask
import distributed
from distributed.comm.core import CommClosedError

from stgrad.distributed.dask_direct import GAP, Direct
from stgrad.distributed.engines import Combine, Lost, Tell
from stgrad.distributed.shards import Partition, as_array
from stgrad.distributed.worker import Block, Load, Loaded
from stgrad.errors import ShardError

SMALL = 1 << 15  # bytes that go with each task rather than to the workers before
PATIENCE = 30.0  # seconds in which a worker should be there
TICK = "distributed.admin.tick.interval"
_GONE = (CancelledError, asyncio.CancelledError, CommClosedError)


def _calmly() -> dict[str, Any]:
    """Settings for a cluster on the cores that the shards are to have: its processes look after themselves every 20 ms, which takes 7 % of a core."""
    usual = dask.config.get(TICK) == "20ms"  # what somebody has set stays
    return {TICK: "500ms"} if usual else {}


@dataclass(eq=False)
class Large:
    """A value that tasks take from a worker's memory, and messages have in them."""

    value: Any
    future: Any = None


@dataclass(frozen=True)
class Relayed:
    """The results for so many blocks, all in one answer."""

    answer: Future[list[Any]]
    count: int


class Dask:
    """A cluster by its Client."""

    copies = trees = True

    def __init__(self, client: Any = None, workers: int | None = None, gap: float = GAP) -> None:
        self._cluster = None
        if client is None:
            with dask.config.set(_calmly()):  # workers take the settings that hold where they are started
                self._cluster = client = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        self._own = not isinstance(client, distributed.Client)
        self.client = distributed.Client(client, set_as_default=False) if self._own else client
        self._direct = Direct(self.client, gap)

    @property
    def workers(self) -> int:
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard."""
        return str(self.client.dashboard_link)

    def place(self, block: Block) -> Any:
        if not block.waits:
            return self._scattered(block.load())
        rows = [tuple(self._computed(value) for value in row) for row in block.rows]
        return self.client.submit(_load, block.first, rows, block.names, pure=False)

    def _computed(self, value: Any) -> Any:
        return self.client.compute(value.delayed) if isinstance(value, Partition) else value

    def lost(self, placed: Any) -> bool:
        placed = placed.future if isinstance(placed, Large) else placed
        return isinstance(placed, distributed.Future) and placed.status in ("cancelled", "lost", "error")

    def share(self, value: Any) -> Any:
        buffers: list[pickle.PickleBuffer] = []
        size = len(distributed.protocol.pickle.dumps(value, buffer_callback=buffers.append, protocol=5)) + sum(b.raw().nbytes for b in buffers)
        return value if size < SMALL else Large(value)

    def _passed(self, value: Any) -> Any:
        """What stands for a value in a task: the future of a large one, which is sent when a task needs it."""
        if not isinstance(value, Large):
            return value
        if value.future is None or self.lost(value.future):
            value.future = self._scattered(value.value)
        return value.future

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        if self.client.status != "running":
            raise self._disconnected()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(function, *map(self._passed, args), pure=False)

    def submit_all(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine | None) -> list[Any]:
        ready = all(isinstance(p, distributed.Future) and p.status == "finished" for p in placed)
        answer = self._direct_answer(function, placed, table, shared, combine) if combine is not None and placed and ready else None
        if answer is None:
            return [self.submit(function, p, table, shared) for p in placed]
        return [Relayed(answer, len(placed))]

    def _direct_answer(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine) -> Future[list[Any]] | None:
        given = (value.value if isinstance(value, Large) else value for value in (table, shared))
        try:
            return self._direct.submit(function, combine, placed, *given)
        except (*_GONE, OSError):
            return None  # the scheduler will say what is wrong

    def gather(self, refs: Sequence[Any], patience: float, tell: Tell) -> list[Any]:
        if refs and isinstance(refs[0], Relayed):
            return self._answered(refs[0], patience, tell)
        ready: queue.SimpleQueue[int] = queue.SimpleQueue()
        for position, ref in enumerate(refs):
            ref.add_done_callback(lambda _, at=position: ready.put(at))
        for _ in refs:
            try:
                tell(ready.get(timeout=patience))
            except queue.Empty:
                raise TimeoutError from None
        return self._results(refs)

    def _answered(self, ref: Relayed, patience: float, tell: Tell) -> list[Any]:
        until = time.monotonic() + patience
        while not wait([ref.answer], timeout=min(1.0, patience)).done:
            if time.monotonic() > until:
                self._direct.forget()
                raise TimeoutError
            gone = self._gone_workers()
            if gone:  # a message to one that is not there waits for half a minute
                self._direct.forget()
                return [Lost(gone)] * ref.count
        problem = ref.answer.exception()
        if problem is not None and not isinstance(problem, (*_GONE, OSError)):
            raise problem
        results = [self._gone(problem)] * ref.count if problem is not None else ref.answer.result()
        if any(isinstance(result, Lost) for result in results):
            self._direct.forget()
        for at in range(ref.count):
            tell(at)
        return results

    def _gone_workers(self) -> str:
        try:
            return ", ".join(sorted(self._direct.gone()))
        except (*_GONE, OSError) as problem:
            return self._gone(problem).reason

    def _results(self, refs: Sequence[Any]) -> list[Any]:
        if all(ref.status == "finished" for ref in refs):
            try:
                return list(self.client.gather(list(refs)))
            except _GONE as problem:
                return [self._gone(problem)] * len(refs)
        return [self._result(ref) for ref in refs]

    def _result(self, ref: Any) -> Any:
        try:
            return ref.result()
        except distributed.KilledWorker as problem:  # after Dask has tried it again by itself
            return Lost(f"{problem.allowed_failures + 1} workers in turn ended while they ran it: out of memory, or killed", cost=2)
        except _GONE as problem:
            return self._gone(problem)

    def _gone(self, problem: BaseException) -> Lost:
        if self.client.status != "running":
            raise self._disconnected() from problem
        return Lost(str(problem) or type(problem).__name__)

    def _disconnected(self) -> ShardError:
        return ShardError(
            "the connection to the scheduler is lost",
            reason=f"the Client is {self.client.status}: the scheduler ended or was started anew, and what workers held is gone",
            hint="make a new Client and a new function with it",
        )

    def _scattered(self, value: Any) -> Any:
        """The value in some worker's memory. A worker that ends meanwhile closes a connection: then to another one, for a while."""
        until = time.monotonic() + PATIENCE
        while True:
            if self.client.status != "running":
                raise self._disconnected()
            try:
                return self.client.scatter(value, hash=False)
            except (*_GONE, OSError) as problem:  # a TimeoutError is one
                if time.monotonic() > until:
                    reason = "no worker is there" if isinstance(problem, TimeoutError) else str(problem) or type(problem).__name__
                    raise ShardError("data cannot be sent to the workers", reason=reason, hint="see the logs of the scheduler and of the workers") from problem
            time.sleep(0.2)

    def drop(self, shared: Any) -> None:
        """The last reference frees it."""

    def cancel(self, refs: Sequence[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel([ref for ref in refs if isinstance(ref, distributed.Future)], force=True)

    def close(self) -> None:
        self._direct.close()
        if self._own:
            self.client.close()
        if self._cluster is not None:
            self._cluster.close()


def _load(first: int, rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> Loaded:
    """A block whose partitions Dask has computed."""
    made = [tuple(v if isinstance(v, Load) else as_array(v) for v in row) for row in rows]
    return Block(first, made, names).load()
