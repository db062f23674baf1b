"""`python -m benchmarks.shards`: what an evaluation over shards costs besides the shards, two workers against one, and weak scaling by measured costs.

The simulation walks the tree of messages that `stgrad.distributed` sends, with three measured numbers: what an evaluation by one worker takes, what a
step down the tree and up again takes, and what each further worker takes of the one that tells it. All are of evaluations of next to nothing.
"""

from __future__ import annotations

from benchmarks import threads

threads.pin()

import argparse  # noqa: E402
import functools  # noqa: E402
import hashlib  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402
from concurrent.futures import ThreadPoolExecutor  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from stgrad import distributed  # noqa: E402
from stgrad.distributed.dask_direct import GAP, Relay, tree  # noqa: E402

PLOT = Path(__file__).resolve().parent.parent / "docs" / "shards.png"
SIZES = (10, 1_000, 10_000, 100_000)  # numbers in the gradient
COUNTS = (1, 2, 4, 6, 8)
WORKERS = np.unique(np.logspace(0, 3, 60).astype(int))
SHARDS = (0.1, 1.0, 10.0)  # seconds, simulated
SHORT = (0.025, 0.1)  # seconds, measured


def light(w, x):
    return np.sum(w) * x


def heavy(w, x, n):
    """A path that no optimizer shortens; `steps` finds how long it is for a shard of some seconds."""
    s = w[0]
    for i in range(n):
        s = 0.999 * s + x * w[i % 4]
    return s


def times(run: Callable[[], Any], rounds: int) -> list[float]:
    """The seconds of some calls, behind two that compile and place."""
    run(), run()
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return taken


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """The median of some calls."""
    return statistics.median(times(run, rounds))


def overheads(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of an evaluation of four shards that do nothing, by the size of the gradient."""
    found: dict[str, list[float]] = {}
    for name in ("threads", "processes", "dask"):
        with distributed.value_and_grad(light, shards="x", engine=engine(name, 2)) as both:
            found[name] = [1e3 * seconds(functools.partial(both, np.ones(n), [1.0, 2.0, 3.0, 4.0]), rounds) for n in SIZES]
    return found


def engine(name: str, workers: int) -> Any:
    if name == "dask":
        from stgrad.distributed.on_dask import Dask

        return Dask(workers=workers)
    return distributed.Processes(workers) if name == "processes" else distributed.Threads(workers)


def steps(shard: float) -> int:
    """So many make a shard that takes so many seconds on this machine."""
    n = 10_000_000
    with distributed.value_and_grad(heavy, shards="x", engine=engine("threads", 1)) as both:
        return int(n * shard / seconds(lambda: both(np.ones(4), [1.0], n), 5))


def speedup(name: str, n: int, rounds: int) -> list[float]:
    """The time of one worker over that of two for eight shards: the quartiles of ratios of medians that follow each other.

    Engines take turns and are closed between: workers, scheduler and clients of one that waits take some per cent of a core (7 with Dask).
    """
    w, shards = np.ones(4), [float(i) for i in range(8)]
    ratios: list[float] = []
    for _ in range(max(3, rounds // 4)):  # short ones: what the machine gives changes from minute to minute
        taken = []
        for workers in (1, 2):
            with distributed.value_and_grad(heavy, shards="x", engine=engine(name, workers)) as both:
                taken.append(statistics.median(times(lambda both=both: both(w, shards, n), 5)))
        ratios.append(taken[0] / taken[1])
    return statistics.quantiles(ratios, n=4)


def control(rounds: int) -> float:
    """The same for hashes without anything of ours: what the machine gives two threads."""
    data = bytes(50_000_000)

    def hashed(_: int) -> None:
        hashlib.sha256(data).digest()

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        return statistics.median(
            seconds(lambda: list(one.map(hashed, range(4))), 1) / seconds(lambda: list(two.map(hashed, range(4))), 1) for _ in range(rounds)
        )


@dataclass(frozen=True)
class Costs:
    """Seconds: of an evaluation by one worker, of a step down and up the tree, and of each further worker that one worker tells."""

    once: float
    step: float
    each: float

    def tree(self, workers: int, gap: float = GAP) -> float:
        """Until all of the workers have answered, the shard apart: in the tree that `dask_direct.tree` makes."""
        return self._below(tree([(str(k), ()) for k in range(workers)], gap))

    def _below(self, relay: Relay) -> float:
        return max((self.step + k * self.each + self._below(child) for k, child in enumerate(relay.below)), default=0.0)

    def efficiency(self, workers: int, shard: float, gap: float = GAP) -> float:
        """Of weak scaling, one shard for each worker: the time of the shard over all of the time."""
        return shard / (shard + self.once + self.tree(workers, gap))


def costs(rounds: int) -> tuple[Costs, dict[str, list[float]]]:
    """What messages cost, and what that was fitted to.

    The step is fitted to evaluations by workers in a chain, of which one works at a time; what a worker spends on each that it tells to its processor
    time where it tells all others: on this machine they wait for each other's cores, which workers of a cluster do not.
    """
    from distributed import Client, LocalCluster

    from stgrad.distributed.on_dask import Dask

    taken: dict[str, list[float]] = {"chain": [], "star": []}
    with LocalCluster(n_workers=max(COUNTS), threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for form, gap in (("chain", 1e3), ("star", 0.0)):
            both = distributed.value_and_grad(light, shards="x", engine=Dask(client, gap=gap), blocks=1)
            for count in COUNTS:
                run = functools.partial(both, np.ones(10), [float(i) for i in range(count)])
                seconds(run, 1)
                before = client.run(time.process_time)
                lasted = seconds(run, rounds)
                spent = max(after - before[worker] for worker, after in client.run(time.process_time).items())
                taken[form].append(lasted if form == "chain" else spent / (rounds + 2))
    (step, once), (each, _) = (np.polyfit(COUNTS, taken[form], 1) for form in ("chain", "star"))
    return Costs(max(float(once + step), 0.0), float(step), float(each)), taken


def draw(found: dict[str, list[float]], measured: Costs) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    for name, times in found.items():
        left.loglog([8 * n for n in SIZES], times, marker="o", label=name)
    left.set(xlabel="bytes of the gradient", ylabel="ms of an evaluation, 2 workers, 4 shards")
    left.legend(frameon=False)
    for shard in SHARDS:
        right.semilogx(WORKERS, [100.0 * measured.efficiency(int(n), shard) for n in WORKERS], label=f"shards of {shard:g} s")
    right.semilogx(WORKERS, [100.0 * measured.efficiency(int(n), 0.1, gap=0.0) for n in WORKERS], "C0:", label="0.1 s, in a star")
    right.axhline(90.0, color="0.7", linewidth=1)
    right.set(xlabel="workers, simulated", ylabel="efficiency of weak scaling, %", ylim=(0, 101))
    right.legend(frameon=False)
    figure.savefig(PLOT, dpi=120, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--plot", action="store_true", help="draw docs/shards.png")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    found = overheads(options.rounds)
    console = Console()
    table = Table("engine", *(f"{8 * n:,} bytes" for n in SIZES), title="ms of an evaluation of next to nothing, 2 workers")
    gains = Table("engine", *(f"shards of {shard:g} s" for shard in SHORT), title="2 workers over 1: median and quartiles")
    ns = [steps(shard) for shard in SHORT]
    for name, taken in found.items():
        table.add_row(name, *(f"{t:.1f}" for t in taken))
        gains.add_row(name, *(f"{b:.2f} ({a:.2f} to {c:.2f})" for a, b, c in (speedup(name, n, options.rounds) for n in ns)))
    console.print(table)
    console.print(gains)
    console.print(f"two threads over one without anything of ours: {control(3):.2f}")
    measured, messages = costs(options.rounds)
    for form, lasted in messages.items():
        console.print(f"{form}: {', '.join(f'{1e3 * t:.2f}' for t in lasted)} ms with {COUNTS} workers")
    console.print(f"{1e3 * measured.once:.1f} ms once, {1e3 * measured.step:.2f} for a step, {1e3 * measured.each:.2f} for each further worker of one")
    for gap in sorted({0.1, 0.14, GAP, 0.2, 0.3, 0.5, 1.0}):
        row = ", ".join(f"{1e3 * (measured.once + measured.tree(n, gap)):.1f}" for n in (10, 100, 1000))
        console.print(f"gap {gap}: {row} ms with 10, 100 and 1,000 workers")
    for shard in SHARDS:
        console.print(f"shards of {shard:g} s: {100 * measured.efficiency(1000, shard):.0f} % with 1,000 workers")
    if options.plot:
        draw(found, measured)


if __name__ == "__main__":
    main()
