"""`python -m benchmarks`: measure every program, print the tables and the bars, write JSON and a plot."""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from rich.console import Console  # noqa: E402

from benchmarks import bars, page, plot, report, startup  # noqa: E402
from benchmarks.program import load, names  # noqa: E402

DOCS = Path(__file__).resolve().parent.parent / "docs"
STARTED = ("rosenbrock", "logistic", "jacobi_2d", "rk4_fit")  # first calls, cold and warm
MEASURED = ("logistic", "while_loop", "jacobi_2d", "elementwise", "burgers", "lstm", "gmm", "conv2d")  # peak memory


def main() -> None:
    options = parse()
    console = Console(width=None if sys.stdout.isatty() else 200)
    if options.report:
        results = report.read()
    else:
        chosen = options.programs or names()
        timed = [row for name in chosen for row in timed_alone(name, options, console)]
        started = [row for name in STARTED if name in chosen and not options.no_start for row in _started(name, console)]
        grown = [_grown(name, console) for name in MEASURED if name in chosen and not options.no_memory]
        results = bars.Results(timed, started, grown)
        report.write(results, options.clock)
    console.print(report.times_table(results))
    if results.started:
        console.print(report.start_table(results))
    if results.grown:
        console.print(report.memory_table(results))
    console.print(report.bars_table("first bars", bars.FIRST, results))
    console.print(report.bars_table("final bars", bars.FINAL, results))
    report.failures(results, console)
    if options.plot:
        plot.draw(results, DOCS / "benchmarks.png")
        page.write(results, DOCS / "benchmarks.md", report.machine())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of programs; all without")
    parser.add_argument("--sizes", nargs="*", help="only these sizes")
    parser.add_argument("--variants", nargs="*", help="only these competitors")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu counts processor time, for busy machines")
    parser.add_argument("--no-start", action="store_true", help="leave out cold and warm starts")
    parser.add_argument("--no-memory", action="store_true", help="leave out peak memory")
    parser.add_argument("--report", action="store_true", help="print the last run again")
    parser.add_argument("--plot", action="store_true", help="write docs/benchmarks.md and its plot")
    return parser.parse_args()


def timed_alone(name: str, options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """A program measured in a process of its own, so that nothing of another one is in its way."""
    command = [sys.executable, "-m", "benchmarks.one", name, "--rounds", str(options.rounds), "--clock", options.clock]
    for option in ("sizes", "variants"):
        if getattr(options, option):
            command += [f"--{option}", *getattr(options, option)]
    console.print(f"measuring {name}", style="dim")
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        console.print(f"{name} failed: {ran.stderr[-500:]}", style="red", markup=False)
        return []
    rows: list[dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
    return rows


def _started(name: str, console: Console) -> list[dict[str, Any]]:
    console.print(f"starting {name}", style="dim")
    return startup.started(name, next(iter(load(name).sizes)))


def _grown(name: str, console: Console) -> dict[str, Any]:
    console.print(f"memory of {name}", style="dim")
    sizes = list(load(name).sizes)
    return startup.memory(name, sizes[0], sizes[-1], ("stgrad", "by hand", "jax expert" if load(name).jax_expert else "jax"))


if __name__ == "__main__":
    threads.take_one_core()
    main()
