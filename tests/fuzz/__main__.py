"""`python -m tests.fuzz`: random programs for some minutes, or one by its seed.

python -m tests.fuzz --minutes 10 --jobs 2
python -m tests.fuzz --show 1234 --shrink
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("STGRAD_PROGRAM_CACHE", "0")  # the compiler is under test
os.environ.setdefault("STGRAD_CACHE_DIR", tempfile.mkdtemp(prefix="stgrad-fuzz-"))

import typer  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from .generator import Draft, generate  # noqa: E402
from .oracle import GOOD, Mode, check  # noqa: E402
from .runner import forked  # noqa: E402
from .shrink import shrink  # noqa: E402

console = Console(soft_wrap=True)


def worker(mode: Mode, seed: int) -> dict[str, Any]:
    """The result of one seed, for a line of JSON."""
    found = check(generate(seed), mode, seed)
    return {"seed": seed, "kind": found.kind, "signature": found.signature, "detail": found.detail[:2000]}


def small(draft: Draft, mode: Mode, seed: int, seconds: float) -> Draft:
    """The program of the same fault that is left after shrinking."""
    wanted = check(draft, mode, seed).signature
    return shrink(draft, lambda d: check(d, mode, seed).signature == wanted, seconds)


def show(seed: int, mode: Mode, seconds: float) -> None:
    """One program, what becomes of it, and what it shrinks to."""
    draft = generate(seed)
    found = check(draft, mode, seed)
    if seconds and found.kind != "ok":
        draft = small(draft, mode, seed, seconds)
        found = check(draft, mode, seed)
    console.print(draft.text, markup=False, highlight=False)
    for name, value in draft.args.items():
        console.print(f"{name} = {value!r}", markup=False, highlight=False)
    console.print(f"\nseed {seed}: {found.kind}: {found.detail}", markup=False, highlight=False)


def run(mode: Mode, first: int, count: int | None, minutes: float, jobs: int, out: Path, limit: float) -> dict[str, list[dict[str, Any]]]:
    """Results by signature; each is also a line of `out`."""
    found: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    kinds: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + minutes * 60
    seeds = itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(first) if count is None else iter(range(first, first + count)))
    columns = (TextColumn("{task.completed} programs"), TimeElapsedColumn(), TextColumn("{task.description}"))
    with out.open("a") as file, Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=None)
        for result in forked(lambda seed: worker(mode, seed), seeds, jobs, limit):
            file.write(json.dumps(result) + "\n")
            file.flush()
            kinds[result["kind"]] += 1
            signature = result.get("signature") or f"{result['kind']}: {result['detail']}"
            found[signature].append(result)
            if result["kind"] not in GOOD and len(found[signature]) == 1:
                progress.console.print(f"seed {result['seed']}: {signature}", markup=False, highlight=False)
            progress.update(task, advance=1, description=" ".join(f"{k} {n}" for k, n in kinds.most_common()))
    return found


def summary(found: dict[str, list[dict[str, Any]]]) -> None:
    """Counts, faults by signature, refusals by reason."""
    total = sum(map(len, found.values()))
    kinds: collections.Counter[str] = collections.Counter()
    for results in found.values():
        kinds[results[0]["kind"]] += len(results)
    console.print(f"{total} programs: {', '.join(f'{n} {k}' for k, n in kinds.most_common())}", highlight=False)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    for title, wanted in (("faults", lambda k: k not in GOOD), ("refusals", lambda k: k == "refused")):
        console.print(f"\n{title}:")
        for signature, results in ordered:
            if wanted(results[0]["kind"]):
                seeds = ", ".join(str(r["seed"]) for r in results[:4])
                console.print(f"{len(results):6} {signature}  (seeds {seeds})", markup=False, highlight=False)


def main(
    minutes: Annotated[float, typer.Option(help="how long")] = 1.0,
    programs: Annotated[int | None, typer.Option(help="how many, at most")] = None,
    jobs: Annotated[int, typer.Option(help="processes at a time")] = 1,
    seed: Annotated[int | None, typer.Option(help="the first seed; a random one by default")] = None,
    order: Annotated[int, typer.Option(help="1, or 2 for second derivatives too")] = 1,
    jit: Annotated[bool, typer.Option("--jit", help="compile with Numba")] = False,
    parallel: Annotated[bool, typer.Option("--parallel", help="with threads, under Numba")] = False,
    recorded: Annotated[bool, typer.Option("--recorded", help="as refused programs run: recorded in plain Python")] = False,
    limit: Annotated[float | None, typer.Option(help="seconds for one program")] = None,
    out: Annotated[Path | None, typer.Option(help="a file for every result, as JSON lines")] = None,
    only: Annotated[int | None, typer.Option("--show", help="print the program of this seed, and what becomes of it")] = None,
    shrinking: Annotated[float, typer.Option("--shrink", help="seconds for making a program that is shown small")] = 0.0,
) -> None:
    """Random programs, differentiated and held against differences."""
    mode = Mode(jit or parallel, parallel, order, recorded)
    if only is not None:
        show(only, mode, shrinking)
        return
    first = random.SystemRandom().randrange(10**9) if seed is None else seed
    file = out or Path(tempfile.gettempdir()) / f"fuzz-{first}.jsonl"
    console.print(f"from seed {first}, {'Numba' if mode.jit else 'plain'}, order {order}; results in {file}", highlight=False)
    start = time.monotonic()
    found = run(mode, first, programs, minutes, jobs, file, limit or (180.0 if mode.jit else 20.0))
    summary(found)
    count = sum(map(len, found.values()))
    console.print(f"\n{count / (time.monotonic() - start):.1f} programs a second", highlight=False)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    app()
