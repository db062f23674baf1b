"""Many programs in forked workers: a crash of the process, or one that never ends, is the result of a program like any other."""

from __future__ import annotations

import itertools
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

BATCH = 40  # programs that a worker does before a fresh one takes its place

Work = Callable[[int], dict[str, Any]]


class Late(BaseException):
    """The time of a program is over."""


@dataclass
class Worker:
    """A forked process that works through seeds and writes a line of JSON for each."""

    pid: int
    pipe: int
    seeds: list[int]
    since: float
    done: int = 0
    rest: bytes = b""
    lines: list[dict[str, Any]] = field(default_factory=list)


def forked(work: Work, seeds: Iterator[int], jobs: int, limit: float) -> Iterator[dict[str, Any]]:
    """The results of `work` for seeds, as they come; {'seed': n, 'kind': 'killed', ...} where its process died or had to be ended.

    Args:
        work: called in a worker; what it returns goes through JSON.
        seeds: taken from as long as it has some.
        jobs: how many processes at a time.
        limit: seconds for one seed.
    """
    selector = selectors.DefaultSelector()
    try:
        for _ in range(jobs):
            _start(selector, work, _taken(seeds), limit)
        while selector.get_map():
            yield from _served(selector, work, seeds, limit)
    finally:
        for key in list(selector.get_map().values()):
            _ended(selector, key.data)


def _served(selector: selectors.BaseSelector, work: Work, seeds: Iterator[int], limit: float) -> Iterator[dict[str, Any]]:
    """What has come within a second, and new workers for those that are done."""
    events = selector.select(timeout=1.0)
    for key, _ in events:
        worker: Worker = key.data
        content = os.read(worker.pipe, 1 << 20)
        if content:
            yield from _lines(worker, content)
        else:
            status = _ended(selector, worker)
            left = worker.seeds[worker.done :]
            if left:
                yield {"seed": left[0], "kind": "killed", "detail": f"the process ended with status {status}"}
            _start(selector, work, left[1:] or _taken(seeds), limit)
    for key in list(selector.get_map().values()):
        if time.monotonic() - key.data.since > 2 * limit + 5:
            os.kill(key.data.pid, signal.SIGKILL)  # the end of its pipe follows
            key.data.since = time.monotonic()


def _lines(worker: Worker, content: bytes) -> Iterator[dict[str, Any]]:
    *complete, worker.rest = (worker.rest + content).split(b"\n")
    for line in complete:
        worker.done += 1
        worker.since = time.monotonic()
        yield json.loads(line)


def _taken(seeds: Iterator[int]) -> list[int]:
    return list(itertools.islice(seeds, BATCH))


def _start(selector: selectors.BaseSelector, work: Work, seeds: list[int], limit: float) -> None:
    if not seeds:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _child(work, seeds, writing, limit)
    os.close(writing)
    selector.register(reading, selectors.EVENT_READ, Worker(pid, reading, seeds, time.monotonic()))


def _ended(selector: selectors.BaseSelector, worker: Worker) -> int:
    selector.unregister(worker.pipe)
    os.close(worker.pipe)
    try:
        os.kill(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return os.waitpid(worker.pid, 0)[1]


def _child(work: Work, seeds: list[int], pipe: int, limit: float) -> None:
    """Never returns."""

    def late(*_: Any) -> None:
        raise Late

    code = 1
    try:
        signal.signal(signal.SIGALRM, late)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for seed in seeds:
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, limit)
            try:
                found = work(seed)
            except Late:
                found = {"seed": seed, "kind": "killed", "detail": f"takes longer than {limit:.0f} s"}
            signal.setitimer(signal.ITIMER_REAL, 0)
            found["seconds"] = round(time.perf_counter() - start, 3)
            os.write(pipe, json.dumps(found).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)
