"""One unseen program in a process of its own: `python -m benchmarks.unseen.one NAME` prints what was measured as JSON."""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import stgrad  # noqa: E402
from benchmarks import measure, variants  # noqa: E402
from benchmarks.one import difference  # noqa: E402
from benchmarks.unseen.program import Function, Unseen, load  # noqa: E402

STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
TOLERANCE = 1e-5  # relative, of a central difference at the best of the steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="cpu")
    options = parser.parse_args()
    json.dump(measured(load()[options.name], options.rounds, options.clock), sys.stdout)


def measured(program: Unseen, rounds: int, clock: str) -> dict[str, Any]:
    """Times, ratios and failures at the natural size."""
    args = program.args()
    gradient, primal = stgrad.value_and_grad(program.function, program.wrt(args)), stgrad.jit(program.function)
    start = time.perf_counter()
    value, bars = gradient(*args)
    first = time.perf_counter() - start
    bars = bars if isinstance(bars, tuple) else (bars,)
    calls: dict[str, Callable[[], Any]] = {"stgrad": lambda: gradient(*args), "stgrad.jit": lambda: primal(*args)}
    failures = {"stgrad": wrong} if (wrong := disagreement(primal, args, bars, program.wrt(args))) else {}
    if program.by_hand is not None:
        expected = [np.asarray(a) for a in program.by_hand(*args)]
        if wrong := difference(expected, [np.asarray(value), *(np.asarray(b) for b in bars)], 1e-8):
            failures["by hand"] = wrong
        calls["by hand"] = lambda: program.by_hand(*args)
    try:
        compiled = variants.njit(program.function)
        compiled(*args)
        calls["numba.njit"] = lambda: compiled(*args)
    except Exception as problem:  # what Numba does not compile has one primal  # noqa: BLE001
        failures["numba.njit"] = f"{type(problem).__name__}: {problem}"[:200]
    for call in calls.values():
        call()
    samples = measure.interleaved(calls, rounds, clock)
    primals = [n for n in ("stgrad.jit", "numba.njit") if n in samples]
    best = min(primals, key=lambda n: measure.spread(samples[n]).median)
    return {
        "program": program.name,
        "suite": program.suite,
        "seconds": {n: vars(measure.spread(s)) for n, s in samples.items()},
        "primal": best,
        "over primal": vars(measure.ratio(samples, "stgrad", best)),
        "over by hand": vars(found) if (found := measure.ratio(samples, "stgrad", "by hand")) else None,
        "first call": first,
        "failures": failures,
    }


def disagreement(function: Function, args: tuple[Any, ...], bars: tuple[Any, ...], places: tuple[int, ...]) -> str:
    """What the derivative in a random direction has against central differences, if anything."""
    rng = np.random.default_rng(2)
    directions = [rng.standard_normal(np.shape(args[k])) for k in places]
    slope = sum(float(np.sum(b * d)) for b, d in zip(bars, directions))
    scale = sum(float(np.sum(np.abs(b * d))) for b, d in zip(bars, directions))

    def moved(h: float) -> float:
        changed = list(args)
        for k, d in zip(places, directions):
            changed[k] = args[k] + h * d
        return float(function(*changed))

    off = min(abs((moved(h) - moved(-h)) / (2.0 * h) - slope) for h in STEPS)
    return "" if off <= TOLERANCE * max(abs(slope), 1e-3 * scale) else f"the slope {slope:.6g} is off by {off:.1e}"


if __name__ == "__main__":
    threads.take_one_core()
    main()
