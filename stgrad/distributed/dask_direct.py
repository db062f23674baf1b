"""Evaluations that go to Dask's workers at once: one message to the first, which passes it on and adds up what comes back.

A task takes tens of milliseconds through the scheduler, whose messages wait for each other; a call of a worker takes one or two. Workers stand in a
tree: each tells others, evaluates the blocks that it holds meanwhile, and answers for all below it. Whoever was told goes on telling until all are, so
the first to be told have the most below them and all answer at about the same time: the broadcast that is optimal in the postal model (Karp, Sahay,
Santos and Schauser 1993, "Optimal broadcast and summation in the LogP model"). Nothing is lost by it: where a worker is gone, or has another block than
it was thought to have, the blocks at it and below are `Lost`, and the evaluation goes through the scheduler.
"""

from __future__ import annotations

import asyncio
import heapq
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed.protocol import pickle

from stgrad.distributed.engines import Lost
from stgrad.distributed.reductions import Span, joined

GAP = 0.2  # what a worker spends on each that it tells, of what a message down and the answer up take: `python -m benchmarks.shards` measures both
LATENT = 1 << 17  # bytes of a message whose transfer takes as long as all else about it

_RELAY = "stgrad_relay"  # what workers call a message to each other

_tables: dict[str, Any] = {}  # on a worker: the programs that were sent


@dataclass(frozen=True)
class Relay:
    """A worker, the blocks that it evaluates (numbers and keys), and those that it passes the message on to."""

    address: str
    blocks: tuple[tuple[int, str], ...]
    below: tuple[Relay, ...] = ()

    def packed(self) -> bytes:
        """What its worker is sent: its blocks, and what it sends to whom, which it need not look into."""
        return bytes(pickle.dumps((self.blocks, [(child.address, child.packed()) for child in self.below])))

    def addresses(self) -> Iterable[str]:
        """The workers of the tree."""
        yield self.address
        for child in self.below:
            yield from child.addresses()


def numbers(packed: bytes) -> Iterable[int]:
    """The blocks of a tree.

    >>> list(numbers(Relay("a", ((0, "x"), (3, "y")), (Relay("b", ((1, "z"),)),)).packed()))
    [0, 3, 1]
    """
    blocks, below = pickle.loads(packed)
    yield from (number for number, _ in blocks)
    for _, child in below:
        yield from numbers(child)


def tree(workers: Sequence[tuple[str, Sequence[tuple[int, str]]]], gap: float = GAP) -> Relay:
    """Workers and their blocks, the first on top; neighbours are below the same ones, so that what they answer can be added early.

    A worker tells another each `gap`, and the other one can tell more after 1. With a gap of 0 the first tells all, without end each tells one.

    >>> for gap in (0.0, 1.0, 100.0):
    ...     [list(child.addresses()) for child in tree([(name, ()) for name in "abcdefgh"], gap).below]
    [['b'], ['c'], ['d'], ['e'], ['f'], ['g'], ['h']]
    [['b', 'c', 'd', 'e'], ['f', 'g'], ['h']]
    [['b', 'c', 'd', 'e', 'f', 'g', 'h']]
    """
    below: list[list[int]] = [[] for _ in workers]
    free = [(0.0, 0)]  # when, and who can tell the next one
    for told in range(1, len(workers)):
        now, who = heapq.heappop(free)
        below[who].append(told)
        heapq.heappush(free, (now + gap, who))
        heapq.heappush(free, (now + 1.0, told))
    ordered = iter(workers)

    def relay(who: int) -> Relay:
        address, blocks = next(ordered)
        return Relay(address, tuple(blocks), tuple(map(relay, below[who])))

    return relay(0)


def gap_of(size: int, gap: float = GAP) -> float:
    """The gap for messages of so many bytes: their transfer is most of what each takes where they are large."""
    return (gap + size / LATENT) / (1.0 + size / LATENT)


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


@dataclass(frozen=True)
class Plan:
    """Which worker evaluates which of these blocks, and tells whom: made and packed once for all evaluations of them."""

    keys: tuple[str, ...]
    size: int
    first: str
    addresses: frozenset[str]
    packed: bytes


class Direct:
    """Calls the workers of a Client."""

    def __init__(self, client: Any, gap: float = GAP) -> None:
        self._client, self._gap = client, gap
        self._calls = ThreadPoolExecutor(8, "stgrad-dask")  # `Client.run` waits; this way others can wait for it with a time limit
        self._plan: Plan | None = None
        self._ids: dict[frozenset[str], str] = {}
        self._sent: set[tuple[str, str]] = set()

    def _planned(self, placed: Sequence[Any], size: int) -> Plan | None:
        """The plan for some blocks and messages of about so many bytes; None where no worker has one of them, or one too many."""
        keys = tuple(future.key for future in placed)
        if self._plan is None or (self._plan.keys, self._plan.size) != (keys, size):
            holders, count = self._client.who_has(list(placed)), len(self._client.scheduler_info(n_workers=-1)["workers"])
            chosen: dict[str, list[tuple[int, str]]] = {}
            for number, key in enumerate(keys):
                there = holders.get(key, ())
                if not there:
                    return None
                chosen.setdefault(min(sorted(there), key=lambda w: len(chosen.get(w, ()))), []).append((number, key))
            if max(map(len, chosen.values())) > -(-len(keys) // max(count, 1)):
                return None
            whole = tree(list(chosen.items()), gap_of(size, self._gap))
            self._plan = Plan(keys, size, whole.address, frozenset(whole.addresses()), whole.packed())
        return self._plan

    def gone(self) -> set[str]:
        """The workers of the plan that the scheduler has no more."""
        planned = self._plan.addresses if self._plan is not None else frozenset()
        return set(planned) - set(self._client.scheduler_info(n_workers=-1)["workers"])

    def forget(self) -> None:
        """Some worker is gone."""
        self._plan = None
        self._sent.clear()

    def submit(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], placed: Sequence[Any], table: Mapping[str, Any], shared: Any
    ) -> Future[list[Any]] | None:
        """The results for the blocks, in their order, as `Answer.results` has them; None where some are not at workers evenly."""
        name = self._ids.setdefault(frozenset(table), uuid.uuid4().hex)
        told = pickle.dumps(Evaluation(function, combine, name, shared))
        plan = self._planned(placed, 1 << len(told).bit_length())
        if plan is None:
            return None
        addressed = {(worker, name) for worker in plan.addresses}
        programs = None if addressed <= self._sent else pickle.dumps({name: table})
        self._sent |= addressed
        return self._calls.submit(self._asked, plan, told, programs)

    def _asked(self, plan: Plan, told: bytes, programs: bytes | None) -> list[Any]:
        found: Answer = pickle.loads(self._client.run(_begun, plan.packed, told, programs, workers=[plan.first])[plan.first])
        return found.results()

    def close(self) -> None:
        self._calls.shutdown(wait=False, cancel_futures=True)


async def _begun(packed: bytes, told: bytes, programs: bytes | None, *, dask_worker: Any) -> bytes:
    """On a worker: the first evaluation with some programs, which are kept for those that follow, or any by the one on top."""

    async def again(packed: bytes, told: bytes) -> bytes:
        return await _relayed(dask_worker, None, packed, told)

    if programs is not None:
        _tables.update(pickle.loads(programs))
        dask_worker.handlers[_RELAY] = again
    return await _relayed(dask_worker, programs, packed, told)


async def _relayed(dask_worker: Any, programs: bytes | None, packed: bytes, told: bytes) -> bytes:
    """On a worker: pass the message on, evaluate the blocks that are here, add up what comes back. Bytes are the cheapest to send."""
    blocks, below = pickle.loads(packed)
    asked = [asyncio.ensure_future(_child(dask_worker, programs, address, child, told)) for address, child in below]
    await asyncio.sleep(0)  # all are sent before anything is evaluated here
    evaluation = pickle.loads(told)
    answer = Answer()
    for number, key in blocks:
        answer.add(await _evaluated(number, key, evaluation, dask_worker), evaluation.combine)
    for child in asked:
        answer.add(await child, evaluation.combine)
    return bytes(pickle.dumps(answer))


async def _child(dask_worker: Any, programs: bytes | None, address: str, packed: bytes, told: bytes) -> Answer:
    """What another worker answers; all below it is lost with it."""
    child = dask_worker.rpc(address)
    try:
        if programs is None:
            reply = {"result": await getattr(child, _RELAY)(packed=packed, told=told)}
        else:
            reply = await child.run(function=_BEGUN, args=pickle.dumps((packed, told, programs)))
        if reply.get("result") is not None:
            found: Answer = pickle.loads(reply["result"])
            return found
        reason = str(reply.get("text", "the worker was started anew"))  # it knows no such message
    except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001  (what a worker meets is raised here again)
        reason = str(problem) or type(problem).__name__
    return Answer(problems=dict.fromkeys(numbers(packed), Lost(f"{address}: {reason}")))


async def _evaluated(number: int, key: str, evaluation: Evaluation, dask_worker: Any) -> Answer:
    """The state of a block, or what was raised. Beside the event loop, so that the worker lives on."""
    if key not in dask_worker.data or evaluation.name not in _tables:
        return Answer(problems={number: Lost("the worker was started anew")})
    run = partial(evaluation.function, dask_worker.data[key], _tables[evaluation.name], evaluation.shared)
    task = asyncio.get_running_loop().run_in_executor(dask_worker.executors["default"], run)
    await asyncio.wait([task])
    problem = task.exception()
    return Answer(problems={number: problem}) if problem is not None else Answer([Span(number, 1, task.result())])


_BEGUN = pickle.dumps(_begun)
