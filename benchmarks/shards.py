"""`python -m benchmarks.shards`: what an evaluation over shards costs besides the shards, two workers against one, and weak scaling by measured costs.

The simulation has one number for what goes by once and one for each worker: a star of messages through the scheduler, as `stgrad.distributed` sends them.
Both are fitted to evaluations of next to nothing on clusters of 1 to 16 workers in this process, whose own work counts too: it is an upper bound.
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
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from stgrad import distributed  # noqa: E402

PLOT = Path(__file__).resolve().parent.parent / "docs" / "shards.png"
SIZES = (10, 1_000, 10_000, 100_000)  # numbers in the gradient
COUNTS = (1, 2, 4, 8, 16)
WORKERS = np.unique(np.logspace(0, 3, 60).astype(int))
SHARDS = (0.1, 1.0, 10.0)  # seconds


def light(w, x):
    return np.sum(w) * x


def heavy(w, x, n):
    """About 0.1 s for n of ten million."""
    s = w[0]
    for i in range(n):
        s = 0.999 * s + x * w[i % 4]
    return s


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """The median of some calls, behind two that compile and place."""
    run(), run()
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


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


def speedup(name: str, n: int, rounds: int) -> float:
    """The time of one worker over that of two: the median ratio of evaluations that take turns."""
    w, shards = np.ones(4), [float(i) for i in range(8)]
    with (
        distributed.value_and_grad(heavy, shards="x", engine=engine(name, 1)) as one,
        distributed.value_and_grad(heavy, shards="x", engine=engine(name, 2)) as two,
    ):
        one(w, shards, n), two(w, shards, n), one(w, shards, n), two(w, shards, n)
        ratios = []
        for _ in range(rounds):
            started = time.perf_counter()
            one(w, shards, n)
            between = time.perf_counter()
            two(w, shards, n)
            ratios.append((between - started) / (time.perf_counter() - between))
    return statistics.median(ratios)


def control(rounds: int) -> float:
    """The same for hashes without anything of ours: what the machine gives two threads."""
    data = bytes(50_000_000)

    def hashed(_: int) -> None:
        hashlib.sha256(data).digest()

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        return statistics.median(
            seconds(lambda: list(one.map(hashed, range(4))), 1) / seconds(lambda: list(two.map(hashed, range(4))), 1) for _ in range(rounds)
        )


def costs(rounds: int) -> tuple[float, float, list[float]]:
    """Seconds of an evaluation that go by once, and for each worker, and what they were fitted to."""
    from distributed import Client, LocalCluster

    taken = []
    for count in COUNTS:
        with LocalCluster(n_workers=count, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
            both = distributed.value_and_grad(light, shards="x", engine=client, blocks=1)
            taken.append(seconds(lambda: both(np.ones(10), [float(i) for i in range(count)]), rounds))  # noqa: B023
    each, once = np.polyfit(COUNTS, taken, 1)
    return max(float(once), 0.0), float(each), taken


def efficiency(workers: Any, shard: float, once: float, each: float) -> Any:
    """Of weak scaling, one shard for each worker: the time of the shard over all of the time."""
    return shard / (shard + once + each * workers)


def draw(found: dict[str, list[float]], once: float, each: float, taken: list[float]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    for name, times in found.items():
        left.loglog([8 * n for n in SIZES], times, marker="o", label=name)
    left.set(xlabel="bytes of the gradient", ylabel="ms of an evaluation, 2 workers, 4 shards")
    left.legend(frameon=False)
    for shard in SHARDS:
        right.semilogx(WORKERS, 100.0 * efficiency(WORKERS, shard, once, each), label=f"shards of {shard:g} s")
    right.semilogx(COUNTS, [100.0 * 0.1 / (0.1 + t) for t in taken], "k.", label="measured costs, 0.1 s")
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
    table = Table("engine", *(f"{8 * n:,} bytes" for n in SIZES), "2 workers over 1", title="ms of an evaluation of next to nothing")
    for name, times in found.items():
        table.add_row(name, *(f"{t:.1f}" for t in times), f"{speedup(name, 10_000_000, max(3, options.rounds // 8)):.2f}")
    console.print(table)
    console.print(f"two threads over one without anything of ours: {control(3):.2f}")
    once, each, taken = costs(options.rounds)
    console.print(f"{1e3 * once:.1f} ms once and {1e3 * each:.2f} ms for each worker; measured", [f"{1e3 * t:.1f}" for t in taken], "for", COUNTS)
    for shard in SHARDS:
        largest = (shard / 0.9 - shard - once) / each
        console.print(f"shards of {shard:g} s: {100 * efficiency(1000, shard, once, each):.0f} % with 1,000 workers; 90 % with up to {max(0, int(largest)):,}")
    if options.plot:
        draw(found, once, each, taken)


if __name__ == "__main__":
    main()
