"""Signs of life: what the compiler is doing, for the log, and for a person who waits.

Records go to the logger `stgrad`: INFO for what was made and in what time, DEBUG for each stage. What takes longer than PATIENCE seconds is told in one line on
standard error, where that is a terminal or a notebook; `STGRAD_QUIET=1` silences it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
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
        if _somebody_waits():
            self._timer = threading.Timer(PATIENCE, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def done(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        LOG.info("%s: %s took %.2f s", self.name, self.stage, time.perf_counter() - self.began)

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


def _somebody_waits() -> bool:
    if os.environ.get("STGRAD_QUIET", "") not in ("", "0") or sys.stderr is None:
        return False
    return sys.stderr.isatty() or "ipykernel" in sys.modules
