"""The table of the unseen set, its JSON file, and its section on the page of benchmarks."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.report import OUTPUT, seconds

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "benchmarks.md"
HEADING = "## Programs that nobody tuned for"
WORST = 12
INTRODUCTION = """{count} programs, the kernels of PolyBench and others in the manner of NPBench, Rodinia and ADBench, written before anything of them was
measured (`benchmarks/unseen`): value and gradient in all floats, over the faster of `stgrad.jit` and `numba.njit` of the function. `python -m
benchmarks.unseen --page` repeats it. What it shows is mended in the mechanism that it shows, never for the row.
"""

Row = dict[str, Any]


def mean(values: Iterable[float]) -> float:
    """The geometric mean.

    >>> mean([1.0, 4.0])
    2.0
    """
    found = list(values)
    return math.exp(sum(map(math.log, found)) / len(found)) if found else math.nan


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Worst first."""
    return sorted(rows, key=lambda row: -float(row["over primal"]["median"]))


def table(rows: list[Row]) -> Table:
    shown = Table(title="value and gradient over the faster primal, worst first")
    for column in ("program", "suite", "stgrad", "primal", "by", "over primal", "over by hand", "first call, s"):
        shown.add_column(column, justify="left" if column in ("program", "suite", "by") else "right")
    for row in ordered(rows):
        shown.add_row(*_cells(row))
    return shown


def _cells(row: Row) -> list[str]:
    ratio, hand = row["over primal"], row["over by hand"]
    times = (seconds(row["seconds"][name]["median"]) for name in ("stgrad", row["primal"]))
    spread = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return [row["program"], row["suite"], *times, row["primal"], spread, f"{hand['median']:.2f}" if hand else "", f"{row['first call']:.1f}"]


def summary(rows: list[Row]) -> Iterator[str]:
    """Geometric means and the worst."""
    over = {row["program"]: float(row["over primal"]["median"]) for row in rows}
    hand = {row["program"]: float(row["over by hand"]["median"]) for row in rows if row["over by hand"]}
    for name, ratios in (("the primal", over), ("by hand", hand)):
        if ratios:
            worst = max(ratios, key=lambda n: ratios[n])
            yield f"over {name}: geometric mean {mean(ratios.values()):.2f} of {len(ratios)} programs, worst {ratios[worst]:.2f} ({worst})"


def failures(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        for name, message in row["failures"].items():
            yield f"{row['program']} {name}: {message.splitlines()[0]}"


def write(rows: list[Row], clock: str, whole: bool) -> Path:
    """What was measured; a run of some programs has a file of its own."""
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / ("unseen.json" if whole else "unseen_part.json")
    path.write_text(json.dumps({"date": str(datetime.date.today()), "clock": clock, "rows": rows}, indent=1))
    return path


def read() -> list[Row]:
    """The last whole run."""
    rows: list[Row] = json.loads((OUTPUT / "unseen.json").read_text())["rows"]
    return rows


def section(rows: list[Row], date: str) -> str:
    """The section in Markdown: date, means, the worst rows."""
    head = ["program", "stgrad", "primal", "over primal", "over by hand"]
    lines = [HEADING, "", INTRODUCTION.format(count=len(rows)), f"Run of {date}, processor time, one core.", ""]
    lines += [f"- {line}" for line in summary(rows)]
    lines += ["", "The worst:", "", f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for row in ordered(rows)[:WORST]:
        program, _, ours, primal, _, over, hand, _ = _cells(row)
        lines.append(f"| {' | '.join((program, ours, primal, over, hand))} |")
    return "\n".join(lines) + "\n"


def page(rows: list[Row], path: Path = PAGE) -> None:
    """Write the section, in place of the one that is there."""
    before = path.read_text().split(HEADING)[0].rstrip()
    path.write_text(f"{before}\n\n{section(rows, str(datetime.date.today()))}")
