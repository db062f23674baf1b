"""One program in a process of its own: `python -m benchmarks.one NAME` prints what was measured as JSON."""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks import measure, variants  # noqa: E402
from benchmarks.program import Program, load  # noqa: E402

REFERENCES = ("by hand", "primal", "stgrad primal", *variants.PEERS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--sizes", nargs="*")
    parser.add_argument("--variants", nargs="*", default=list(variants.NAMES))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall")
    options = parser.parse_args()
    program = load(options.name)
    sizes = [size for size in program.sizes if not options.sizes or size in options.sizes]
    rows = [measured(program, size, options.variants, options.rounds, options.clock) for size in sizes]
    json.dump(rows, sys.stdout)


def measured(program: Program, size: str, wanted: list[str], rounds: int, clock: str) -> dict[str, Any]:
    """Times, ratios and failures at one size."""
    args = program.sizes[size]()
    calls: dict[str, Any] = {}
    first: dict[str, float] = {}
    failures: dict[str, str] = {}
    expected: list[Any] | None = None
    for variant in sorted(wanted, key=lambda v: v != "by hand"):
        if not variants.available(variant, program) or not program.runs(variant, size):
            continue
        try:
            start = time.perf_counter()
            call = variants.make(variant, program, args)
            answer = variants.results(variant, call())
            first[variant] = time.perf_counter() - start
        except Exception as problem:  # a failure of one tool is a result like others  # noqa: BLE001
            failures[variant] = f"{type(problem).__name__}: {problem}"[:300]
            continue
        expected = expected or answer
        wrong = difference(expected, answer, program.tolerance)
        if wrong:
            failures[variant] = wrong
        calls[variant] = call
    samples = measure.interleaved(calls, rounds, clock)
    return {
        "program": program.name,
        "size": size,
        "seconds": {v: vars(measure.spread(s)) for v, s in samples.items()},
        "ratios": {r: vars(s) for r in REFERENCES if (s := measure.ratio(samples, "stgrad", r))},
        "hand over primal": vars(s) if (s := measure.ratio(samples, "by hand", "primal")) else None,
        "first call": first,
        "failures": failures,
    }


def difference(expected: list[Any], answer: list[Any], tolerance: float) -> str:
    """What is wrong with an answer, if anything; a primal has only its value."""
    for k, (a, b) in enumerate(zip(expected, answer, strict=False)):
        if np.shape(a) != np.shape(b) and np.size(a) != np.size(b):
            return f"result {k}: shape {np.shape(b)}, expected {np.shape(a)}"
        scale = np.max(np.abs(a), initial=1e-300)
        off = np.max(np.abs(np.reshape(a, -1) - np.reshape(b, -1)), initial=0.0) / scale
        if not off <= tolerance:
            return f"result {k} differs by {off:.1e} (relative to the largest element)"
    return ""


if __name__ == "__main__":
    threads.take_one_core()
    main()
