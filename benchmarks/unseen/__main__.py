"""`python -m benchmarks.unseen`: measure every unseen program, print the table, write JSON; `--page` renews the section of docs/benchmarks.md."""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

from rich.console import Console  # noqa: E402

from benchmarks.unseen import report  # noqa: E402
from benchmarks.unseen.program import load  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of programs; all without")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="cpu", help="cpu counts processor time, for busy machines")
    parser.add_argument("--report", action="store_true", help="print the last run again")
    parser.add_argument("--page", action="store_true", help="write the section of docs/benchmarks.md")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    if options.report:
        rows = report.read()
    else:
        rows = [row for name in options.programs or load() if (row := alone(name, options, console))]
        report.write(rows, options.clock, whole=not options.programs)
    console.print(report.table(rows))
    for line in (*report.summary(rows), *report.failures(rows)):
        console.print(line, markup=False)
    if options.page:
        report.page(rows)


def alone(name: str, options: argparse.Namespace, console: Console) -> dict[str, Any] | None:
    """A program measured in a process of its own; None where it fails."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.unseen.one", name, "--rounds", str(options.rounds), "--clock", options.clock]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        console.print(f"{name} failed: {ran.stderr[-500:]}", style="red", markup=False)
        return None
    row: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    console.print(f"{name} {row['over primal']['median']:.2f}", style="dim")
    return row


if __name__ == "__main__":
    threads.take_one_core()
    main()
