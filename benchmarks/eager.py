"""The eager API against other tapes: `python -m benchmarks.eager` prints medians of many rounds, in microseconds.

Peers run in processes of their own: with STGRAD_PEERS=DIR[:DIR...] also in the interpreters of other environments. `ops` is the cost of
recording one operation beyond NumPy's own; `chain` a chain of 200 operations on a scalar and its gradient; `mlp` one gradient of a
small network, (32, 10) inputs and 20 hidden units.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

N, ROUNDS, INNER = 100, 25, 10
ROOT = Path(__file__).resolve().parent.parent
PEERS = ("stgrad", "tensorflow", "autograd", "torch")


def seconds(run: Callable[[], Any], inner: int = INNER) -> float:
    """Median time of one run."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(inner):
            run()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def data() -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 10)).astype(np.float32)
    return x, [0.3 * rng.normal(size=s).astype(np.float32) for s in ((10, 20), (20,), (20, 1), (1,))]


# --------------------------------------------------------------------------- the programs, by peer


def with_tape(tf: Any) -> dict[str, Callable[[], Any]]:
    """`stgrad.eager` and TensorFlow: the same text."""
    start = tf.constant(0.5)
    x, weights = tf.constant(data()[0]), [tf.Variable(w) for w in data()[1]]

    def chain() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(start)
            y = start
            for _ in range(N):
                y = tf.sin(y) * 1.01
        return tape.gradient(y, start)

    def mlp() -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.tanh(x @ weights[0] + weights[1])
            loss = tf.reduce_mean((hidden @ weights[2] + weights[3]) ** 2)
        return tape.gradient(loss, weights)

    return {"chain": chain, "mlp": mlp}


def with_autograd() -> dict[str, Callable[[], Any]]:
    import autograd.numpy as anp
    from autograd import grad

    x, weights = data()

    def chain(y: Any) -> Any:
        for _ in range(N):
            y = anp.sin(y) * 1.01
        return y

    def mlp(w: Any) -> Any:
        return anp.mean((anp.tanh(x @ w[0] + w[1]) @ w[2] + w[3]) ** 2)

    chain_grad, mlp_grad = grad(chain), grad(mlp)
    return {"chain": lambda: chain_grad(0.5), "mlp": lambda: mlp_grad(weights)}


def with_torch() -> dict[str, Callable[[], Any]]:
    import torch

    torch.set_num_threads(1)
    start = torch.tensor(0.5, requires_grad=True)
    x, weights = torch.tensor(data()[0]), [torch.tensor(w, requires_grad=True) for w in data()[1]]

    def chain() -> Any:
        y = start
        for _ in range(N):
            y = torch.sin(y) * 1.01
        return torch.autograd.grad(y, start)

    def mlp() -> Any:
        loss = ((torch.tanh(x @ weights[0] + weights[1]) @ weights[2] + weights[3]) ** 2).mean()
        return torch.autograd.grad(loss, weights)

    return {"chain": chain, "mlp": mlp}


def programs(peer: str) -> dict[str, Callable[[], Any]]:
    if peer == "stgrad":
        import stgrad.eager as tf

        return with_tape(tf)
    if peer == "tensorflow":
        import tensorflow as tf

        return with_tape(tf)
    return with_autograd() if peer == "autograd" else with_torch()


def recording_cost() -> dict[str, float]:
    """Microseconds that recording adds to an operation on a scalar and on ten numbers, the median of 40 pairs of short runs."""
    import stgrad.eager as tf

    found = {}
    for name, ours, plain in (("multiply", lambda t: t * t, lambda a: a * a), ("sin", tf.sin, np.sin)):
        for label, value in (("scalar", np.float32(0.5)), ("10", np.full(10, 0.5, np.float32))):
            t, extra = tf.constant(value), []
            for _ in range(40):
                with tf.GradientTape() as tape:
                    tape.watch(t)
                    extra.append(_loop(ours, t) - _loop(plain, t._a))
            found[f"{name}, {label}"] = 1e6 * statistics.median(extra)
    return found


def _loop(f: Callable[[Any], Any], x: Any, n: int = 200) -> float:
    start = time.perf_counter()
    for _ in range(n):
        f(x)
    return (time.perf_counter() - start) / n


# --------------------------------------------------------------------------- processes


def interpreters() -> list[str]:
    others = [p for p in os.environ.get("STGRAD_PEERS", "").split(":") if p]
    return [sys.executable, *[str(Path(p) / "bin" / "python") for p in others]]


def measured(peer: str) -> dict[str, float] | None:
    """Times of a peer in the first interpreter that has it; None where none does."""
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for python in interpreters():
        command = [python, "-m", "benchmarks.eager", peer]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            return times
    return None


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps({name: 1e6 * seconds(run) for name, run in programs(sys.argv[1]).items()}))
        return
    print("recording, us an operation above NumPy's own (bar: 2.5)")
    for name, cost in recording_cost().items():
        print(f"  {name:<18}{cost:8.2f}")
    print(f"{'gradient, us':<20}{'chain of 200':>14}{'small network':>16}")
    for peer in PEERS:
        times = measured(peer)
        print(f"  {peer:<18}" + ("  not installed" if times is None else f"{times['chain']:14.0f}{times['mlp']:16.0f}"))


if __name__ == "__main__":
    main()
