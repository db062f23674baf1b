"""The engine of Ray: the cluster that `ray.init` found or started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stgrad.distributed.engines import Combine, Lost, Tell
from stgrad.distributed.worker import Block
from stgrad.errors import ShardError


class Ray:
    """Functions as Ray's tasks, which it runs again where a worker is lost."""

    copies = trees = True

    def __init__(self, retries: int = 3) -> None:
        import ray  # not before it is asked for: it is an optional extra

        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(include_dashboard=False, log_to_driver=False)
        self._run = ray.remote(max_retries=retries)(_run)

    @property
    def workers(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def place(self, block: Block) -> Any:
        return self._run.remote(_load, block) if block.waits else self._ray.put(block.load())

    def lost(self, placed: Any) -> bool:
        return False  # Ray makes it again, or functions that take it are `Lost`

    def share(self, value: Any) -> Any:
        return self._ray.put(value)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._run.remote(function, *args)

    def submit_all(self, function: Callable[..., Any], placed: Sequence[Any], table: Any, shared: Any, combine: Combine | None) -> list[Any]:
        return [self.submit(function, p, table, shared) for p in placed]

    def gather(self, refs: Sequence[Any], patience: float, tell: Tell) -> list[Any]:
        waiting, places = list(refs), {ref: at for at, ref in enumerate(refs)}
        while waiting:
            ready, waiting = self._ray.wait(waiting, timeout=patience)
            if not ready:
                raise TimeoutError
            tell(places[ready[0]])
        return [self._result(ref) for ref in refs]

    def drop(self, shared: Any) -> None:
        """The last reference frees it."""

    def cancel(self, refs: Sequence[Any]) -> None:
        for ref in refs:
            self._ray.cancel(ref, force=False)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()

    def _result(self, ref: Any) -> Any:
        lost = self._ray.exceptions
        try:
            return self._ray.get(ref)
        except lost.RayTaskError as problem:
            cause = problem.cause if isinstance(problem.cause, BaseException) else problem
            raise cause from None
        except lost.OutOfMemoryError as problem:
            raise ShardError("a worker ran out of memory", reason=str(problem), hint="use smaller shards") from problem
        except (lost.ObjectLostError, lost.WorkerCrashedError, lost.OwnerDiedError, lost.NodeDiedError) as problem:
            return Lost(str(problem))


def _run(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _load(block: Block) -> Any:
    return block.load()
