"""Evaluations that go to Dask's workers at once: one message to the first, which passes it on and adds up what comes back.

A task takes tens of milliseconds through the scheduler, whose messages wait for each other; a call of a worker takes a few. Workers stand in a tree: each
sends to at most `CHILDREN` others, evaluates the blocks that it holds meanwhile, and answers for all below it, so a thousand workers are a few messages
deep, and none of them waits for more than `CHILDREN`. Nothing is lost by it: where a worker is gone, or has another block than it was thought to have,
the blocks at it and below are `Lost`, and the evaluation goes through the scheduler.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed.protocol import pickle

from stgrad.distributed.engines import Lost
from stgrad.distributed.reductions import Span, joined

CHILDREN = 4  # the cheapest for trees of 10 to 1,000 workers by the costs that `python -m benchmarks.shards` measures

_tables: dict[str, Any] = {}  # on a worker: the programs that were sent


@dataclass(frozen=True)
class Relay:
    """A worker, the blocks that it evaluates (numbers and keys), and those that it passes the message on to."""

    address: str
    blocks: tuple[tuple[int, str], ...]
    below: tuple[Relay, ...] = ()

    def numbers(self) -> Iterable[int]:
        """The blocks of the tree."""
        yield from (number for number, _ in self.blocks)
        for child in self.below:
            yield from child.numbers()

    def addresses(self) -> Iterable[str]:
        """The workers of the tree."""
        yield self.address
        for child in self.below:
            yield from child.addresses()


def tree(workers: Sequence[tuple[str, Sequence[tuple[int, str]]]], children: int = CHILDREN) -> Relay:
    """Workers and their blocks, the first on top; neighbours are below the same ones, so that what they answer can be added early.

    >>> [list(child.addresses()) for child in tree([(name, ()) for name in "abcdefg"], children=2).below]
    [['b', 'c', 'd'], ['e', 'f', 'g']]
    """
    (address, blocks), rest = workers[0], workers[1:]
    parts = min(children, len(rest))
    cuts = [len(rest) * k // parts for k in range(parts + 1)] if parts else [0]
    below = tuple(tree(rest[a:b], children) for a, b in zip(cuts, cuts[1:], strict=False))
    return Relay(address, tuple(blocks), below)


@dataclass(frozen=True)
class Evaluation:
    """What all workers are told: `function` of each block, the programs called `name`, and `shared`; `combine` adds neighbours."""

    function: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    name: str
    shared: Any


@dataclass
class Answer:
    """The states below a worker, as far as neighbours add up, and what went wrong instead, by block."""

    spans: list[Span] = field(default_factory=list)
    problems: dict[int, Lost | BaseException] = field(default_factory=dict)

    def add(self, other: Answer, combine: Callable[[Any, Any], Any]) -> None:
        """Take in the answer for other blocks."""
        self.spans = joined(self.spans + other.spans, combine)
        self.problems |= other.problems

    def results(self) -> list[Any]:
        """In the order of the blocks: states, spans of them, or `Lost`. What a function raised for the first such block is raised."""
        for _, problem in sorted(self.problems.items(), key=lambda item: item[0]):
            if not isinstance(problem, Lost):
                raise problem
        found = {span.first: span if span.count > 1 else span.state for span in self.spans} | self.problems
        return [found[number] for number in sorted(found)]


class Direct:
    """Calls the workers of a Client."""

    def __init__(self, client: Any, children: int = CHILDREN) -> None:
        self._client, self._children = client, children
        self._calls = ThreadPoolExecutor(8, "stgrad-dask")  # `Client.run` waits; this way others can wait for it with a time limit
        self._plan: tuple[tuple[str, ...], Relay] | None = None
        self._ids: dict[frozenset[str], str] = {}
        self._sent: set[tuple[str, str]] = set()

    def plan(self, placed: Sequence[Any]) -> Relay | None:
        """Which worker evaluates which blocks, and tells whom; None where one has none of them, or too many."""
        keys = tuple(future.key for future in placed)
        if self._plan is None or self._plan[0] != keys:
            holders, count = self._client.who_has(list(placed)), len(self._client.scheduler_info(n_workers=-1)["workers"])
            chosen: dict[str, list[tuple[int, str]]] = {}
            for number, key in enumerate(keys):
                there = holders.get(key, ())
                if not there:
                    return None
                chosen.setdefault(min(sorted(there), key=lambda w: len(chosen.get(w, ()))), []).append((number, key))
            if max(map(len, chosen.values())) > -(-len(keys) // max(count, 1)):
                return None
            self._plan = keys, tree(list(chosen.items()), self._children)
        return self._plan[1]

    def gone(self) -> set[str]:
        """The workers of the plan that the scheduler has no more."""
        planned = self._plan[1].addresses() if self._plan is not None else ()
        return set(planned) - set(self._client.scheduler_info(n_workers=-1)["workers"])

    def forget(self) -> None:
        """Some worker is gone."""
        self._plan = None
        self._sent.clear()

    def submit(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], plan: Relay, table: Mapping[str, Any], shared: Any
    ) -> Future[list[Any]]:
        """The results for the blocks of a plan, in their order, as `Answer.results` has them."""
        name = self._ids.setdefault(frozenset(table), uuid.uuid4().hex)
        addressed = {(worker, name) for worker in plan.addresses()}
        programs = None if addressed <= self._sent else pickle.dumps(table)
        self._sent |= addressed
        told = pickle.dumps(Evaluation(function, combine, name, shared))
        return self._calls.submit(self._asked, plan, told, programs)

    def _asked(self, plan: Relay, told: bytes, programs: bytes | None) -> list[Any]:
        found: Answer = self._client.run(_relayed, plan, told, programs, workers=[plan.address])[plan.address]
        return found.results()

    def close(self) -> None:
        self._calls.shutdown(wait=False, cancel_futures=True)


async def _relayed(own: Relay, told: bytes, programs: bytes | None, *, dask_worker: Any) -> Answer:
    """On a worker: pass the message on, evaluate the blocks that are here, add up what comes back."""
    asked = [asyncio.ensure_future(_child(dask_worker, child, told, programs)) for child in own.below]
    evaluation = pickle.loads(told)
    if programs is not None:
        _tables[evaluation.name] = pickle.loads(programs)
    answer = Answer()
    for number, key in own.blocks:
        answer.add(await _evaluated(number, key, evaluation, dask_worker), evaluation.combine)
    for below in asked:
        answer.add(await below, evaluation.combine)
    return answer


async def _child(dask_worker: Any, child: Relay, told: bytes, programs: bytes | None) -> Answer:
    """What another worker answers; all below it is lost with it."""
    try:
        reply = await dask_worker.rpc(child.address).run(function=_RELAYED, args=pickle.dumps((child, told, programs)))
        if reply["status"] == "OK":
            found: Answer = reply["result"]
            return found
        reason = str(reply.get("text", reply["status"]))
    except (OSError, asyncio.CancelledError) as problem:  # errors of connections are OSErrors
        reason = str(problem) or type(problem).__name__
    return Answer(problems=dict.fromkeys(child.numbers(), Lost(f"{child.address}: {reason}")))


async def _evaluated(number: int, key: str, evaluation: Evaluation, dask_worker: Any) -> Answer:
    """The state of a block, or what was raised. Beside the event loop, so that the worker lives on."""
    if key not in dask_worker.data or evaluation.name not in _tables:
        return Answer(problems={number: Lost("the worker was started anew")})
    run = partial(evaluation.function, dask_worker.data[key], _tables[evaluation.name], evaluation.shared)
    task = asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], run)
    await asyncio.wait([task])
    problem = task.exception()
    return Answer(problems={number: problem}) if problem is not None else Answer([Span(number, 1, task.result())])


_RELAYED = pickle.dumps(_relayed)
