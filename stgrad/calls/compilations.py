"""Native code made by another process, while this one runs the program before it was lowered, in plain Python.

A thread that compiles would hold the interpreter's lock most of the time. The child gets the text of a program and the types of its arguments, and leaves
native code in the cache directory, where this process finds it. Where there is no such process to be had, or where it ends
without a result, the program is compiled here.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_running: list[subprocess.Popen[bytes]] = []


def child(module: str, **pipes: Any) -> subprocess.Popen[bytes] | None:
    """A process that runs a module of ours; None where no interpreter can be started."""
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.startswith("python"):
        return None
    root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
    try:
        return subprocess.Popen([sys.executable, "-m", module], stderr=subprocess.DEVNULL, env=environment, **pipes)
    except OSError:
        return None


def give_way() -> None:
    """Let other processes run before this one."""
    if hasattr(os, "nice"):
        os.nice(10)


class Compilation:
    """A text that another process compiles for arguments of these types."""

    def __init__(self, text: str, name: str, arguments: tuple[Any, ...], *, parallel: bool, checked: bool) -> None:
        import numba

        types = tuple(numba.typeof(a) for a in arguments)
        with tempfile.TemporaryFile() as question:  # a pipe would hold this process up until the other one reads it
            pickle.dump((text, name, types, parallel, checked), question)
            question.seek(0)
            self._child = child(__name__, stdin=question, stdout=subprocess.DEVNULL)
        if self._child is not None:
            _running.append(self._child)

    @property
    def done(self) -> bool:
        """Whether the other process has ended, or there is none."""
        if self._child is not None and self._child.poll() is not None:
            _running.remove(self._child)
            self._child = None
        return self._child is None

    def wait(self) -> None:
        """Until it is done."""
        if self._child is not None:
            self._child.wait()


class Lazy:
    """A program that runs as it was before it was lowered until there is native code of it."""

    def __init__(self, plain: Callable[..., Any], start: Callable[[tuple[Any, ...]], Compilation]) -> None:
        self.plain, self._start = plain, start
        self.compilation: Compilation | None = None

    @property
    def done(self) -> bool:
        return self.compilation is not None and self.compilation.done

    def __call__(self, *arguments: Any) -> Any:
        if self.compilation is None:
            self.compilation = self._start(arguments)
        with np.errstate(all="ignore"):  # as compiled code does
            return self.plain(*arguments)


def _stop() -> None:
    for process in _running:
        process.kill()


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)


def main() -> None:
    """The child."""
    from stgrad import loader

    give_way()
    text, name, types, parallel, checked = pickle.load(sys.stdin.buffer)
    compiled: Any = loader.load(text, name, parallel=parallel, checked=checked, tell=False)
    compiled.compile(types)


if __name__ == "__main__":
    main()
