"""`python -m benchmarks.ablation`: what each pass that can be left out is worth, and to which programs.

For every program of both sets the compiler says which passes change it; the gradient is then timed with all passes and without each of those, one
process a program, interleaved. A ratio of 1.5 is a gradient that takes half as long again without the pass.
"""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import stgrad  # noqa: E402
from benchmarks import measure, program  # noqa: E402
from benchmarks.unseen.program import load as unseen  # noqa: E402
from stgrad.transforms.registry import REGISTRY  # noqa: E402

OPTIONAL = tuple(p.name for p in REGISTRY if p.optional and not p.asked)


@dataclass(frozen=True)
class Subject:
    """A program of one of the sets: what is differentiated, in what, small and full arguments."""

    function: Callable[..., Any]
    wrt: Sequence[int]
    small: tuple[Any, ...]
    full: tuple[Any, ...]


def subject(name: str) -> Subject:
    """The program of a name, `own/...` or `unseen/...`."""
    where, _, short = name.partition("/")
    if where == "own":
        own = program.load(short)
        sizes = list(own.sizes.values())
        return Subject(own.function, own.wrt, sizes[0](), sizes[-1]())
    other = unseen()[short]
    small = other.args(small=True)
    return Subject(other.function, other.wrt(small), small, other.args())


def names() -> list[str]:
    return [*(f"own/{name}" for name in program.ORDER), *(f"unseen/{name}" for name in unseen())]


def changing(it: Subject) -> list[str]:
    """The passes that change the program: those whose stage differs from the one before."""
    stages = stgrad.grad(it.function, tuple(it.wrt), jit=False).stages(*it.small)
    texts = [(name, _code(text)) for name, text in stages.items()]
    return [name for (_, before), (name, after) in zip(texts, texts[1:], strict=False) if name in OPTIONAL and after != before]


def _code(text: str) -> list[str]:
    """The lines of a stage but for the docstring, which only the later ones have."""
    return [line for line in text.splitlines() if not line.lstrip().startswith('"""')]


def worth(name: str, wanted: Sequence[str], rounds: int) -> dict[str, float]:
    """Time without a pass over time with all, for each of the passes wanted that changes the program."""
    it = subject(name)
    variants = {"": (), **{p: (p,) for p in changing(it) if p in wanted}}
    if len(variants) == 1:
        return {}
    calls = {}
    for left_out, without in variants.items():
        gradient = stgrad.value_and_grad(it.function, tuple(it.wrt), without=without)
        gradient(*it.full)
        calls[left_out] = lambda gradient=gradient: gradient(*it.full)
    times = measure.interleaved(calls, rounds, "cpu")
    base = measure.spread(times.pop("")).median
    return {p: measure.spread(samples).median / base for p, samples in times.items()}


def table(found: dict[str, dict[str, float]]) -> Table:
    """The passes by their geometric mean over the programs that they change."""
    by_pass: dict[str, dict[str, float]] = {}
    for name, ratios in found.items():
        for left_out, ratio in ratios.items():
            by_pass.setdefault(left_out, {})[name] = ratio
    shown = Table("without", "programs", "mean", "worst", "best")
    for left_out, ratios in sorted(by_pass.items(), key=lambda item: -_mean(item[1].values())):
        most, least = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
        shown.add_row(
            left_out, str(len(ratios)), f"{_mean(ratios.values()):.2f}", f"{ratios[most]:.2f} {most}", f"{ratios[least]:.2f} {least}"
        )
    return shown


def _mean(ratios: Any) -> float:
    logs = [math.log(r) for r in ratios]
    return math.exp(sum(logs) / len(logs))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("programs", nargs="*", help="own/NAME or unseen/NAME; all without")
    parser.add_argument("--passes", nargs="*", default=list(OPTIONAL), choices=OPTIONAL)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--one", action="store_true", help="measure the one program here, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(worth(options.programs[0], options.passes, options.rounds)))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    found: dict[str, dict[str, float]] = {}
    for name in options.programs or names():
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.ablation", "--one", name, "--rounds", str(options.rounds)]
        ran = subprocess.run([*command, "--passes", *options.passes], capture_output=True, text=True, check=False)
        if ran.returncode:
            console.print(f"{name} failed: {ran.stderr[-500:]}", style="red", markup=False)
            continue
        found[name] = json.loads(ran.stdout.splitlines()[-1])
        console.print(name, " ".join(f"{p} {ratio:.2f}" for p, ratio in found[name].items()), style="dim", markup=False)
    console.print(table(found))


if __name__ == "__main__":
    threads.take_one_core()
    main()
