"""One thread that has sweeps compiled while the program runs on, mostly by another process (see `aside`).

It is a daemon, started when there is something to do and gone when there is not. At the end of the process what it is doing is given
up: its child is ended, an exception is raised in it, and the interpreter waits until it has left native code. A fork waits until it
holds no lock of the compiler.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

WAITING = 32  # jobs; more are turned away
PATIENCE = 20.0  # seconds that the end of the process waits for native code


class _GiveUpError(BaseException):
    """Raised in the thread when the process ends."""


def _nothing() -> None:
    pass


def _unless_given_up(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """What Python says of exceptions that nothing can catch, in a `__del__` or where the thread begins and ends, without those of the end."""
    return lambda problem: None if issubclass(problem.exc_type, _GiveUpError) else hook(problem)


class Worker:
    """A queue of jobs and the thread that does them."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[Callable[[], None]] = queue.Queue(WAITING)
        self._lock = threading.Lock()
        self._busy = threading.RLock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._registered = False
        self.stop: Callable[[], None] = _nothing  # ends what a job waits for

    def submit(self, job: Callable[[], None]) -> bool:
        """Have a job done; False where there are too many. A job raises nothing."""
        with self._lock:
            if self._closed:
                return False
            try:
                self._jobs.put_nowait(job)
            except queue.Full:
                return False
            if self._thread is None:
                self._start()
        return True

    def wait(self) -> None:
        """Until every job that was handed in is done."""
        while (thread := self._thread) is not None:
            thread.join()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A part of a job in which a fork may happen: it holds no lock."""
        self._busy.release()
        try:
            yield
        finally:
            self._busy.acquire()

    @property
    def closed(self) -> bool:
        return self._closed

    def _start(self) -> None:
        if not self._registered:
            self._registered = True
            atexit.register(self.close)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(before=self._pause, after_in_parent=self._resume, after_in_child=self._reset)
        self._thread = threading.Thread(target=self._work, name="stgrad-compile", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            while True:
                with self._lock:
                    if self._closed or self._jobs.empty():
                        self._thread = None
                        return
                    job = self._jobs.get_nowait()
                with self._busy:
                    job()
        except _GiveUpError:
            self._thread = None
        except RuntimeError as problem:  # Python makes one of what is raised in a `__set_name__`
            if not isinstance(problem.__cause__, _GiveUpError):
                raise
            self._thread = None

    def _pause(self) -> None:
        self._busy.acquire()

    def _resume(self) -> None:
        self._busy.release()

    def _reset(self) -> None:
        """In the child of a fork the thread does not exist."""
        self._busy, self._lock = threading.RLock(), threading.Lock()
        self._thread, self._jobs = None, queue.Queue(WAITING)

    def close(self) -> None:
        """Give up what is being done, and take nothing more."""
        self._closed = True
        sys.unraisablehook, threading.excepthook = _unless_given_up(sys.unraisablehook), _unless_given_up(threading.excepthook)
        self.stop()
        thread, end = self._thread, monotonic() + PATIENCE
        while thread is not None and thread.ident is not None and thread.is_alive() and monotonic() < end:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_GiveUpError))
            thread.join(0.1)  # again where some `finally` or `__del__` swallowed it


worker = Worker()
