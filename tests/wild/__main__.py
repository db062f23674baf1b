"""`python -m wild`: differentiate functions that others wrote.

python -m wild run --out before.jsonl
python -m wild run --jit --share 5 numba.tests.test_stencils
python -m wild run --held-out --counts
python -m wild collect
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("STGRAD_PROGRAM_CACHE", "0")  # the compiler is under test

import typer  # noqa: E402
from fuzz.runner import forked  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress, TextColumn, TimeElapsedColumn  # noqa: E402
from rich.table import Table  # noqa: E402

from .cases import FILE, Case, load, save  # noqa: E402
from .packages import field_of, held_out, sources  # noqa: E402

app = typer.Typer(pretty_exceptions_enable=False)
console = Console(soft_wrap=True)
KINDS = ("right", "wrong", "refused", "crash", "killed")


def chosen(names: Sequence[str], held: bool, share: int) -> list[Case]:
    """The cases that are asked for: by part of their names, from one side of the lot, one in `share`."""
    cases = [c for c in load() if held_out(c.target) == held]
    return [c for c in cases if not names or any(name in c.target for name in names)][::share]


def results(cases: Sequence[Case], jit: bool, jobs: int, limit: float, out: Path | None) -> list[dict[str, Any]]:
    """What becomes of each case, in order; each is also a line of `out` as soon as it is known."""
    from .judging import judge

    found: dict[int, dict[str, Any]] = {}
    columns = (TextColumn("{task.completed} of {task.total}"), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(cases))
        for result in forked(lambda i: {"seed": i, **judge(cases[i], jit)}, iter(range(len(cases))), jobs, limit):
            number = result.pop("seed")
            case = cases[number]
            found[number] = {"target": case.target, "source": case.source, **result}
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(found[number]) + "\n")
            counts = collections.Counter(r["kind"] for r in found.values())
            progress.update(task, advance=1, description=" ".join(f"{k} {counts[k]}" for k in KINDS))
    return [found[i] for i in sorted(found)]


def counted(rows: Sequence[dict[str, Any]], key: str) -> Table:
    """A table of kinds by source or field."""
    table = Table("", *KINDS, "% right")
    groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        for name in (row["source"] if key == "source" else field_of(row["source"]), "all"):
            groups[name][row["kind"]] += 1
    for name in sorted(groups, key=lambda n: (n == "all", n)):
        counts = groups[name]
        table.add_row(name, *(str(counts[k]) for k in KINDS), f"{100 * counts['right'] / counts.total():.0f}")
    return table


def reasons(rows: Sequence[dict[str, Any]]) -> None:
    """What is not right, the most frequent reason first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = collections.defaultdict(list)
    for row in rows:
        if row["kind"] != "right":
            groups[row["kind"], row.get("why", "")].append(row)
    for (kind, why), members in sorted(groups.items(), key=lambda item: (item[0][0] == "refused", -len(item[1]))):
        console.print(f"{len(members):5} {kind}: {why}", markup=False, highlight=False)
        for row in members[:6]:
            console.print(f"        {row['target']}  {row.get('place', '')}", markup=False, highlight=False)


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="parts of the names of functions")] = None,
    jit: Annotated[bool, typer.Option("--jit", help="compile with Numba")] = False,
    held: Annotated[bool, typer.Option("--held-out", help="the third that is not looked at")] = False,
    counts: Annotated[bool, typer.Option("--counts", help="only numbers")] = False,
    share: Annotated[int, typer.Option(help="one case in so many")] = 1,
    jobs: Annotated[int, typer.Option(help="processes at a time")] = 1,
    limit: Annotated[float, typer.Option(help="seconds for one case")] = 30.0,
    key: Annotated[str, typer.Option("--by", help="field or source")] = "field",
    out: Annotated[Path | None, typer.Option(help="a file for every result, as JSON lines")] = None,
) -> None:
    """Differentiate the cases and hold them against differences."""
    if out is not None:
        out = out.absolute()
        out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some packages write where they run
        rows = results(chosen(names or [], held, share), jit, jobs, limit, out)
    console.print(counted(rows, key))
    if not counts:
        reasons(rows)


@app.command()
def collect(names: Annotated[list[str] | None, typer.Argument(help="only these sources")] = None, limit: float = 150.0) -> None:
    """Draw the cases anew; each source in a process of its own, without Numba's compiler."""
    kept = [c for c in (load() if FILE.exists() else []) if names and c.source not in names]
    for name, wanted in sources().items():
        if not names or name in names:
            found = _collected(name, wanted, limit)
            console.print(f"{len(found):4} {name}", highlight=False)
            kept += found
            save(kept)


def _collected(name: str, wanted: int, limit: float) -> list[Case]:
    """Drawn in a folder that goes away: what packages write where they run goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawn.json"
        drawn = f"collecting.collect({name!r}, {wanted})"
        program = f"from pathlib import Path; from wild import cases, collecting; cases.save({drawn}, Path({str(file)!r}))"
        for compiler in ("1", "0"):  # some packages cannot be imported without Numba's compiler
            environment = {**os.environ, "NUMBA_DISABLE_JIT": compiler, "MPLBACKEND": "Agg", "PYTHONPATH": str(Path(__file__).parent.parent)}
            try:
                subprocess.run([sys.executable, "-c", program], env=environment, timeout=limit, capture_output=True, cwd=folder)
            except subprocess.TimeoutExpired:
                return []
            if found := load(file) if file.exists() else []:
                return found
        return []


if __name__ == "__main__":
    app()
