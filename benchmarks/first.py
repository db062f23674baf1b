"""One first call in a fresh process: `python -m benchmarks.first NAME VARIANT` prints seconds, compilations and peak memory as JSON."""

from __future__ import annotations

import time

START = time.perf_counter()

from benchmarks import threads  # noqa: E402

threads.pin()

import json  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from numba.core import event  # noqa: E402


def main() -> None:
    name, variant = sys.argv[1:3]
    np.zeros(1)
    foundation = time.perf_counter() - START
    from benchmarks import variants
    from benchmarks.program import load

    program = load(name)
    size = sys.argv[3] if len(sys.argv) > 3 else list(program.sizes)[0]
    args = program.sizes[size]()
    compiled = _Counter()
    event.register("numba:compile", compiled)
    before = time.perf_counter()
    call = variants.make(variant, program, args)
    call()
    end = time.perf_counter()
    row = {"imports": foundation, "first call": end - before, "total": end - START, "compilations": compiled.count, "peak MB": megabytes()}
    json.dump(row, sys.stdout)


def megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Counter(event.Listener):
    """Counts the functions that Numba compiles rather than loads."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


if __name__ == "__main__":
    threads.take_one_core()
    main()
