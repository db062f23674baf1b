"""Evaluations that go to Dask's workers at once: one message to each, which evaluates the blocks that it holds.

A task takes tens of milliseconds through the scheduler, whose messages wait for each other; a call of the workers takes a few. Nothing is lost by it: where
a worker is gone, or has another block than it was thought to have, the answer is `Lost`, and the evaluation goes through the scheduler.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from stgrad.distributed.engines import Lost

_tables: dict[str, Any] = {}  # on a worker: the programs that were sent


@dataclass(frozen=True)
class Part:
    """The result for one block of a message."""

    answer: Future[dict[str, Any]]
    worker: str
    at: int

    def result(self) -> Any:
        """What the function returned, or `Lost`; what it raised is raised."""
        found = self.answer.result()[self.worker]
        if isinstance(found, BaseException):
            return Lost(f"{self.worker}: {found}")
        result, problem = found[self.at]
        if problem is not None:
            raise problem
        return result


class Direct:
    """Calls the workers of a Client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._calls = ThreadPoolExecutor(8, "stgrad-dask")  # `Client.run` waits; this way others can wait for it with a time limit
        self._plan: tuple[tuple[str, ...], dict[str, list[str]]] | None = None
        self._ids: dict[frozenset[str], str] = {}
        self._sent: set[tuple[str, str]] = set()

    def plan(self, placed: Sequence[Any]) -> dict[str, list[str]] | None:
        """Which worker evaluates which blocks, by key; None where one has none of them, or too many."""
        keys = tuple(future.key for future in placed)
        if self._plan is None or self._plan[0] != keys:
            holders, count = self._client.who_has(list(placed)), len(self._client.scheduler_info(n_workers=-1)["workers"])
            chosen: dict[str, list[str]] = {}
            for key in keys:
                there = holders.get(key, ())
                if not there:
                    return None
                chosen.setdefault(min(sorted(there), key=lambda w: len(chosen.get(w, ()))), []).append(key)
            if max(map(len, chosen.values())) > -(-len(keys) // max(count, 1)):
                return None
            self._plan = keys, chosen
        return self._plan[1]

    def gone(self) -> set[str]:
        """The workers of the plan that the scheduler has no more."""
        planned = self._plan[1].keys() if self._plan is not None else ()
        return set(planned) - set(self._client.scheduler_info(n_workers=-1)["workers"])

    def forget(self) -> None:
        """Some worker is gone."""
        self._plan = None
        self._sent.clear()

    def submit(
        self, function: Callable[..., Any], placed: Sequence[Any], plan: Mapping[str, Sequence[str]], table: Mapping[str, Any], shared: Any
    ) -> list[Part]:
        """The parts of an answer, in the order of what is placed."""
        name = self._ids.setdefault(frozenset(table), uuid.uuid4().hex)
        new = any((worker, name) not in self._sent for worker in plan)
        self._sent.update((worker, name) for worker in plan)
        answer = self._calls.submit(
            self._client.run, _evaluate, function, dict(plan), name, table if new else None, shared, workers=list(plan), on_error="return"
        )
        places = {key: (worker, at) for worker, own in plan.items() for at, key in enumerate(own)}
        return [Part(answer, *places[key]) for key in (future.key for future in placed)]

    def close(self) -> None:
        self._calls.shutdown(wait=False, cancel_futures=True)


async def _evaluate(
    function: Callable[..., Any], plan: dict[str, list[str]], name: str, table: Any, shared: Any, *, dask_worker: Any
) -> list[tuple[Any, BaseException | None]]:
    """On a worker: the results of its blocks, or what was raised. Beside the event loop, so that the worker lives on."""
    if table is not None:
        _tables[name] = table
    loop = asyncio.get_running_loop()
    results: list[tuple[Any, BaseException | None]] = []
    for key in plan[dask_worker.address]:
        if key not in dask_worker.data or name not in _tables:
            results.append((Lost("the worker was started anew"), None))
            continue
        task = loop.run_in_executor(dask_worker.executors["default"], function, dask_worker.data[key], _tables[name], shared)
        await asyncio.wait([task])
        problem = task.exception()
        results.append((None if problem else task.result(), problem))
    return results
