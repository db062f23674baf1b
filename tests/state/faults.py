"""A process that lets children differentiate a program on a cold cache and stops each at another call of the file system.

`python -m tests.state.faults FOLDER kill|full` prints a JSON list: for each place what the child that was stopped gave, and one after it.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stgrad
import stgrad.program  # noqa: F401  (before the children, which then start at once)
from stgrad import cache

PROGRAM = """
import math
import numpy as np
scale = 2.0
table = np.array([1.0, 2.0])
def f(x): return scale * math.sin(x) * np.sum(table)
def h(x, y): return np.sum(x * y) * scale
"""
WATCHED = ("open", "os.rename", "os.remove", "os.mkdir", "tempfile.mkstemp")


class Fault:
    """Counts calls of the file system in a folder, writes to new files too, and acts at some of them."""

    def __init__(self, folder: Path, stops: Callable[[int], bool], act: Callable[[], None]) -> None:
        self.count, self._folder, self._stops, self._act = 0, str(folder), stops, act
        self._open = os.fdopen
        os.fdopen = lambda *args, **options: _Half(self, self._open(*args, **options))
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: Any) -> None:
        if event in WATCHED and self._folder in str(arguments[:2]):
            self.passed()

    def passed(self) -> None:
        self.count += 1
        if self._stops(self.count):
            self._act()


class _Half:
    """A file of which only a half is written where the fault acts."""

    def __init__(self, fault: Fault, file: Any) -> None:
        self._fault, self._file = fault, file

    def __enter__(self) -> _Half:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        self._file.write(content[: len(content) // 2])
        self._file.flush()
        self._fault.passed()
        self._file.write(content[len(content) // 2 :])


def gradients(folder: Path) -> list[float]:
    sys.path.insert(0, str(folder))
    program = importlib.import_module("faulty_program")
    return [stgrad.grad(program.f, jit=False)(0.5), *stgrad.grad(program.h, jit=False)(np.ones(2), 3.0).tolist()]


def child(folder: Path, stops: Callable[[int], bool], act: Callable[[], None]) -> dict[str, Any]:
    """What a child gives: its results and what it said, or nothing where it died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        fault = Fault(folder / "cache", stops, act)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = gradients(folder)
        os.write(writer, json.dumps({"found": found, "said": [w.category.__name__ for w in said], "calls": fault.count}).encode())
        os._exit(0)
    os.close(writer)
    told = b"".join(iter(lambda: os.read(reader, 65536), b""))
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, **json.loads(told or b"{}")}


def never(count: int) -> bool:
    return False


def die() -> None:
    os._exit(9)


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def clear(folder: Path) -> None:
    for path in (folder / "cache").glob("*"):
        path.unlink()


def run(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    (folder / "faulty_program.py").write_text(PROGRAM)
    os.environ["STGRAD_CACHE_DIR"] = str(folder / "cache")
    os.environ["STGRAD_PROGRAM_CACHE"] = "1"
    os.environ["STGRAD_CHECK"] = "0"
    clear(folder)
    total = child(folder, never, die)["calls"]
    yield {"calls": total}
    for k in range(1, total + 1, 1 if kind == "kill" else 3):
        if k % 2:  # now and then on what the one before has left
            clear(folder)
        stopped = child(folder, (lambda n: n == k) if kind == "kill" else (lambda n: n >= k), die if kind == "kill" else full)  # noqa: B023
        yield {"at": k, "stopped": stopped, "next": child(folder, never, die), "strays": cache.cache_info().strays}


if __name__ == "__main__":
    print(json.dumps(list(run(Path(sys.argv[1]), sys.argv[2]))))
