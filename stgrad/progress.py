"""Signs of life: what the compiler is doing, for the log, and for a person who waits.

Records go to the logger `stgrad`: INFO for what was made and in what time, DEBUG for each stage. What takes longer than PATIENCE seconds is told in one line on
standard error, where that is a terminal or a notebook; `STGRAD_QUIET=1` silences it. `shown` tells all of it, to those who asked.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG = logging.getLogger("stgrad")
LOG.addHandler(logging.NullHandler())
PATIENCE = 2.0  # seconds before somebody is told

_here = threading.local()


class Work:
    """Something that may take long: whose, and which stage of it is running."""

    def __init__(self, name: str, stage: str) -> None:
        self.name, self.stage = name, stage
        self.began = time.perf_counter()
        self._timer: threading.Timer | None = None
        _listener()(self, None)
        if _listener() is _nobody and _somebody_waits():
            self._timer = threading.Timer(PATIENCE, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def done(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        spent = time.perf_counter() - self.began
        LOG.info("%s: %s took %.2f s", self.name, self.stage, spent)
        _listener()(self, spent)

    def _tell(self) -> None:
        print(f"stgrad: {self.name}: {self.stage} takes more than {PATIENCE:g} s (STGRAD_QUIET=1 hides this)", file=sys.stderr)


@contextmanager
def working(name: str, stage: str) -> Iterator[None]:
    """While a program is made; programs that are made on the way belong to it."""
    if getattr(_here, "work", None) is not None:
        yield
        return
    _here.work = work = Work(name, stage)
    try:
        yield
    finally:
        _here.work = None
        work.stage = stage
        work.done()


def at(stage: str) -> None:
    """The stage that is done of what this thread is making."""
    work = getattr(_here, "work", None)
    if work is not None:
        work.stage = f"generating its program (after stage '{stage}')"
        LOG.debug("%s: %s, %.3f s", work.name, stage, time.perf_counter() - work.began)
        _listener()(work, None)


@contextmanager
def shown(title: str) -> Iterator[None]:
    """Tell on standard error what this thread is making, and what took how long when it is done."""
    from rich.console import Console
    from rich.markup import escape

    console, spent, began = Console(stderr=True, highlight=False, soft_wrap=True), dict[str, float](), time.perf_counter()
    before = _listener()
    with console.status(escape(title)) as status:

        def listen(work: Work, seconds: float | None) -> None:
            if seconds is None:
                status.update(escape(f"{title}: {work.stage}"))
            else:
                spent[work.stage] = spent.get(work.stage, 0.0) + seconds

        _here.listener = listen
        try:
            yield
        finally:
            _here.listener = before
    parts = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in spent.items()) or "it was there already"
    console.print(f"{title}: {time.perf_counter() - began:.2f} s ({parts})", markup=False)


def _nobody(work: Work, seconds: float | None) -> None:
    """A listener that does nothing."""


def _listener() -> Callable[[Work, float | None], None]:
    """Who is told in this thread: of each stage of a work, and in the end of its seconds."""
    found: Callable[[Work, float | None], None] = getattr(_here, "listener", _nobody)
    return found


def _somebody_waits() -> bool:
    if os.environ.get("STGRAD_QUIET", "") not in ("", "0") or sys.stderr is None:
        return False
    return sys.stderr.isatty() or "ipykernel" in sys.modules
