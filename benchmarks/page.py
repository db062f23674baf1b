"""The page of the documentation that shows the last run: `python -m benchmarks --report --plot` writes it beside the plot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import bars
from benchmarks.bars import Results
from benchmarks.report import seconds
from benchmarks.unseen.report import HEADING

SHOWN = ("by hand", "stgrad primal", "jax", "jax expert", "torch", "torch.compile", "autograd")
INTRODUCTION = """# Benchmarks

Value and gradient of {count} programs against the adjoint an expert would write by hand in Numba and against other tools: same inputs, results
compared, calls interleaved in one process, one thread. Given is our median time, and our time over that of each competitor, with the quartiles
of the ratio at the largest size: below 1 stgrad is faster. `stgrad primal` is `stgrad.jit` of the function alone, so that column tells what the gradient
costs more. `make bench` repeats all of it on your machine; the programs are in `benchmarks/programs`, the adjoints by hand beside them.

![time of the others in multiples of ours](benchmarks.png)
"""


def write(results: Results, path: Path, machine: Mapping[str, str]) -> None:
    """Write the page; the section on unseen programs stays. `machine`: clock and versions of the run."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.items() if name not in ("clock", "machine"))
    clock = "processor time" if machine["clock"] == "cpu" else "wall-clock time"
    lines = [
        INTRODUCTION.format(count=len({row["program"] for row in results.timed})),
        f"This run: {clock} on one core of {machine['machine']}, {versions}. First calls are wall-clock time, other jobs included.",
        "",
        "## Times",
        *_times(results),
        "## First calls",
        *_starts(results),
        "## What is promised",
        "",
        *_bars(results),
    ]
    text = "\n".join(lines) + "\n"
    _, heading, section = path.read_text().partition(HEADING) if path.exists() else ("", "", "")
    path.write_text(f"{text.rstrip()}\n\n{heading}{section}" if heading else text)


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> list[str]:
    return ["", *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)), ""]


def _times(results: Results) -> list[str]:
    present = [name for name in SHOWN if any(name in row["ratios"] for row in results.timed)]
    largest = {row["program"]: row["size"] for row in results.timed}

    def cell(row: bars.Row, name: str) -> str:
        if name not in row["ratios"]:
            return ""
        ratio = row["ratios"][name]
        spread = f" ({ratio['low']:.2g} to {ratio['high']:.2g})" if row["size"] == largest[row["program"]] else ""
        return f"{ratio['median']:.3g}{spread}"

    rows = ([r["program"], r["size"], seconds(r["seconds"]["stgrad"]["median"]), *(cell(r, n) for n in present)] for r in results.timed)
    return _table(["program", "size", "stgrad", *present], rows)


def _starts(results: Results) -> list[str]:
    head = ["program", "variant", "imports of NumPy and Numba, s", "cold, s", "warm, s", "functions compiled, warm"]
    rows = (
        [
            r["program"],
            r["variant"],
            f"{r['warm']['imports']:.2f}",
            f"{r['cold']['total']:.2f}",
            f"{r['warm']['total']:.2f}",
            f"{r['warm']['compilations']:.0f}",
        ]
        for r in results.started
    )
    return _table(head, rows)


def _bars(results: Results) -> list[str]:
    verdicts = ((bar, *bar.verdict(results)) for bar in (*bars.FIRST, *bars.FINAL))
    rows = (
        [bar.what, f"≤ {bar.limit:.3g} {bar.unit}", "" if value is None else f"{value:.3g} {bar.unit}", verdict] for bar, value, verdict in verdicts
    )
    return _table(["what", "bar", "measured", "verdict"], rows)
