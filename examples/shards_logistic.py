"""Logistic regression on rows that never are in memory at once: shards made on workers, L-BFGS around them.

    python examples/shards_logistic.py --rows 100_000_000 --engine dask
"""

from __future__ import annotations

import argparse
import functools
import time

import numpy as np
import scipy.optimize
from rich.console import Console

from stgrad import distributed

FEATURES = 8
TRUE = np.array([1.0, -2.0, 0.5, 0.0, 1.5, -0.5, 0.25, -1.0])


def loss(w, data):
    """Mean logistic loss of a shard; its last column are labels in {-1, 1}."""
    margin = data[:, -1] * (data[:, :-1] @ w)
    return np.sum(np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)) / len(data)


def shard(rows: int, number: int) -> np.ndarray:
    """The rows of a shard, the same whenever they are made."""
    rng = np.random.default_rng(number)
    x = rng.normal(size=(rows, FEATURES))
    y = np.where(x @ TRUE + rng.logistic(size=rows) > 0.0, 1.0, -1.0)
    return np.column_stack([x, y])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shard", type=int, default=20_000, help="rows of a shard")
    parser.add_argument("--engine", default="threads", choices=("threads", "processes", "dask", "ray"))
    parser.add_argument("--keep", action="store_true", help="keep the shards on the workers between evaluations, where their memory allows it")
    options = parser.parse_args()

    console = Console()
    data = distributed.from_function(functools.partial(shard, options.shard), options.rows // options.shard, keep=options.keep)
    with distributed.value_and_grad(loss, shards="data", reduce="mean", engine=options.engine) as both:
        started = time.perf_counter()
        found = scipy.optimize.minimize(both, np.zeros(FEATURES), args=(data,), jac=True, method="L-BFGS-B")
        seconds = time.perf_counter() - started
    console.print(f"{options.rows:,} rows in {len(data)} shards on {options.engine}: {found.nfev} evaluations in {seconds:.1f} s")
    console.print("weights", found.x.round(2).tolist())
    console.print(f"largest error {np.abs(found.x - TRUE).max():.3f}")


if __name__ == "__main__":
    main()
