"""The tables on the terminal and the JSON file."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.bars import Bar, Results
from benchmarks.variants import NAMES

OUTPUT = Path(__file__).parent / "output"


def seconds(value: float) -> str:
    """A time with three digits.

    >>> seconds(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def times_table(results: Results) -> Table:
    """Median times; behind each competitor our time over its (below 1: we are faster), with quartiles."""
    table = Table(title="value and gradient: median time (our time over it, quartiles)")
    table.add_column("program")
    table.add_column("size")
    present = [n for n in NAMES if any(n in r["seconds"] or n in r["failures"] for r in results.timed)]
    for name in present:
        table.add_column(name, justify="right")
    for row in results.timed:
        table.add_row(row["program"], row["size"], *(_cell(row, name) for name in present))
    return table


def _cell(row: Any, name: str) -> str:
    failed = name in row["failures"]
    if name not in row["seconds"]:
        return "[red]failed[/red]" if failed else "–"
    text = seconds(row["seconds"][name]["median"])
    if name in row["ratios"]:
        s = row["ratios"][name]
        text += f"\n{s['median']:.3g} ({s['low']:.2g} to {s['high']:.2g})"
    return text + ("\n[red]wrong[/red]" if failed else "")


def start_table(results: Results) -> Table:
    table = Table(title="first call in a fresh process: seconds from its start, functions compiled, peak memory")
    for column in ("program", "size", "variant", "imports", "cold", "warm", "compiled cold", "compiled warm", "peak MB"):
        table.add_column(column, justify="left" if column in ("program", "size", "variant") else "right")
    for row in results.started:
        cold, warm = row["cold"], row["warm"]
        spent = (f"{seconds:.2f}" for seconds in (warm["imports"], cold["total"], warm["total"]))
        counts = (f"{number:.0f}" for number in (cold["compilations"], warm["compilations"], warm["peak MB"]))
        table.add_row(row["program"], row["size"], row["variant"], *spent, *counts)
    return table


def memory_table(results: Results) -> Table:
    table = Table(title="peak memory that the largest size adds, MB")
    present = [n for n in NAMES if any(n in row["grown MB"] for row in results.grown)]
    for column in ("program", "size", *present):
        table.add_column(column, justify="left" if column in ("program", "size") else "right")
    for row in results.grown:
        table.add_row(row["program"], row["size"], *(f"{row['grown MB'][n]:.0f}" if n in row["grown MB"] else "–" for n in present))
    return table


def bars_table(title: str, bars: tuple[Bar, ...], results: Results) -> Table:
    table = Table(title=title)
    for column in ("what", "bar", "measured", "verdict"):
        table.add_column(column, justify="right" if column in ("bar", "measured") else "left")
    for bar in bars:
        value, verdict = bar.verdict(results)
        colour = "green" if verdict == "met" else "red" if verdict.startswith("missed") else "yellow"
        shown = "–" if value is None else f"{value:.3g} {bar.unit}"
        table.add_row(bar.what, f"≤ {bar.limit:.3g} {bar.unit}", shown, f"[{colour}]{verdict}[/{colour}]")
    return table


def failures(results: Results, console: Console) -> None:
    for row in results.timed:
        for name, message in row["failures"].items():
            console.print(f"{row['program']} {row['size']} {name}: {message}", style="red", markup=False)


def write(results: Results, clock: str) -> Path:
    """Everything measured, where, and by which clock."""
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "results.json"
    machine = {"clock": clock, "machine": platform.machine(), "python": platform.python_version(), **_versions()}
    path.write_text(json.dumps({"machine": machine, "timed": results.timed, "started": results.started, "grown": results.grown}, indent=1))
    return path


def read() -> Results:
    """The last run."""
    stored = json.loads((OUTPUT / "results.json").read_text())
    return Results(stored["timed"], stored["started"], stored["grown"])


def machine() -> dict[str, str]:
    """Where the last run was measured: clock, kind of processor, versions."""
    found: dict[str, str] = json.loads((OUTPUT / "results.json").read_text())["machine"]
    return found


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for package in ("numpy", "numba", "jax", "torch", "autograd"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
