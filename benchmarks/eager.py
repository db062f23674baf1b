"""The eager API against other tapes: `python -m benchmarks.eager` prints medians of many rounds, in microseconds.

Peers run in processes of their own: with STGRAD_PEERS=DIR[:DIR...] also in the interpreters of other environments. First comes the cost
of recording one operation beyond NumPy's own, then whole steps, recording and gradient: a chain of 200 operations on a scalar; a small network,
(32, 10) inputs and 20 hidden units; a recurrent one, 10 steps of 16 units; a classifier of three layers, (128, 64) inputs. Our tape is shown
twice: interpreted, and as it runs once its reverse sweep is compiled. With `--cpu` processor time is measured.
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
from types import SimpleNamespace
from typing import Any

import numpy as np

N, ROUNDS, INNER, RECURRENT = 100, 25, 10, 10
ROOT = Path(__file__).resolve().parent.parent
PEERS = ("interpreted", "compiled", "tensorflow", "autograd", "torch")
BARS = {"chain": "torch", "mlp": "torch"}  # the compiled tape is to be ahead of these
clock = time.process_time if "--cpu" in sys.argv else time.perf_counter


def seconds(run: Callable[[], Any], inner: int = INNER) -> float:
    """Median time of one run."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = clock()
        for _ in range(inner):
            run()
        times.append((clock() - start) / inner)
    return statistics.median(times)


Arrays = list[np.ndarray]


def draw(*shapes: tuple[int, ...]) -> Arrays:
    rng = np.random.default_rng(0)
    return [0.3 * rng.normal(size=s).astype(np.float32) for s in shapes]


def data() -> dict[str, tuple[np.ndarray, Arrays]]:
    """The input and the weights of each program."""
    shapes: dict[str, list[tuple[int, ...]]] = {
        "mlp": [(32, 10), (10, 20), (20,), (20, 1), (1,)],
        "rnn": [(RECURRENT, 8, 4), (4, 16), (16, 16), (16,), (16, 1)],
        "classifier": [(128, 64), (64, 64), (64,), (64, 32), (32,), (32, 10), (10,)],
    }
    drawn = {name: draw(*listed) for name, listed in shapes.items()}
    return {name: (arrays[0], arrays[1:]) for name, arrays in drawn.items()}


LABELS = np.eye(10, dtype=np.float32)[np.arange(128) % 10]

# --------------------------------------------------------------------------- the programs, by peer


def losses(lib: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """The networks with the functions of a library: tanh, relu, mean, log_softmax, sum, zeros."""

    def mlp(x: Any, w: Any) -> Any:
        return lib.mean((lib.tanh(x @ w[0] + w[1]) @ w[2] + w[3]) ** 2)

    def rnn(x: Any, w: Any) -> Any:
        h = lib.tanh(x[0] @ w[0] + w[2])
        for t in range(1, RECURRENT):
            h = lib.tanh(x[t] @ w[0] + h @ w[1] + w[2])
        return lib.mean((h @ w[3]) ** 2)

    def classifier(x: Any, w: Any) -> Any:
        h = lib.relu(lib.relu(x @ w[0] + w[1]) @ w[2] + w[3])
        return -lib.mean(lib.sum(lib.labels * lib.log_softmax(h @ w[4] + w[5])))

    return {"mlp": mlp, "rnn": rnn, "classifier": classifier}


def with_tape(tf: Any, **options: Any) -> dict[str, Callable[[], Any]]:
    """`stgrad.eager` and TensorFlow: the same text."""
    lib = SimpleNamespace(
        tanh=tf.tanh, relu=tf.nn.relu, mean=tf.reduce_mean, log_softmax=tf.nn.log_softmax, labels=tf.constant(LABELS),
        sum=lambda t: tf.reduce_sum(t, axis=1),
    )  # fmt: skip
    start = tf.constant(0.5)

    def chain() -> Any:
        with tf.GradientTape(**options) as tape:
            tape.watch(start)
            y = start
            for _ in range(N):
                y = tf.sin(y) * 1.01
        return tape.gradient(y, start)

    def step(name: str, loss: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        x, weights = tf.constant(data()[name][0]), [tf.Variable(w) for w in data()[name][1]]

        def run() -> Any:
            with tf.GradientTape(**options) as tape:
                y = loss(x, weights)
            return tape.gradient(y, weights)

        return run

    return {"chain": chain} | {name: step(name, loss) for name, loss in losses(lib).items()}


def with_autograd() -> dict[str, Callable[[], Any]]:
    import autograd.numpy as anp
    from autograd import grad
    from autograd.scipy.special import logsumexp

    lib = SimpleNamespace(
        tanh=anp.tanh, relu=lambda t: anp.maximum(t, 0.0), mean=anp.mean, labels=LABELS, sum=lambda t: anp.sum(t, axis=1),
        log_softmax=lambda t: t - logsumexp(t, axis=1, keepdims=True),
    )  # fmt: skip

    def chain(y: Any) -> Any:
        for _ in range(N):
            y = anp.sin(y) * 1.01
        return y

    def step(name: str, loss: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        x, weights = data()[name]
        gradient = grad(lambda w: loss(x, w))
        return lambda: gradient(weights)

    chain_grad = grad(chain)
    return {"chain": lambda: chain_grad(0.5)} | {name: step(name, loss) for name, loss in losses(lib).items()}


def with_torch() -> dict[str, Callable[[], Any]]:
    import torch

    torch.set_num_threads(1)
    lib = SimpleNamespace(
        tanh=torch.tanh, relu=torch.relu, mean=torch.mean, log_softmax=lambda t: torch.log_softmax(t, 1), labels=torch.tensor(LABELS),
        sum=lambda t: t.sum(1),
    )  # fmt: skip
    start = torch.tensor(0.5, requires_grad=True)

    def chain() -> Any:
        y = start
        for _ in range(N):
            y = torch.sin(y) * 1.01
        return torch.autograd.grad(y, start)

    def step(name: str, loss: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        x, weights = torch.tensor(data()[name][0]), [torch.tensor(w, requires_grad=True) for w in data()[name][1]]
        return lambda: torch.autograd.grad(loss(x, weights), weights)

    return {"chain": chain} | {name: step(name, loss) for name, loss in losses(lib).items()}


def with_stgrad(how: str) -> dict[str, Callable[[], Any]]:
    """Our tape; compiled means that the programs are there when the clock starts."""
    import stgrad.eager as tf
    from stgrad.eager import repeats

    if how == "interpreted":
        return with_tape(tf, compile=False)
    repeats.settings.seconds = 0.0
    found = with_tape(tf)
    for run in found.values():
        for _ in range(5):
            run()
        repeats.worker.wait()
        for _ in range(50):
            run()
    return found


def programs(peer: str) -> dict[str, Callable[[], Any]]:
    if peer in ("interpreted", "compiled"):
        return with_stgrad(peer)
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
        command = [python, "-m", "benchmarks.eager", peer, *(["--cpu"] if "--cpu" in sys.argv else [])]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            return times
    return None


def main() -> None:
    asked = [a for a in sys.argv[1:] if not a.startswith("-")]
    if asked:
        print(json.dumps({name: 1e6 * seconds(run) for name, run in programs(asked[0]).items()}))
        return
    print("recording, us an operation above NumPy's own (bar: 2.5)")
    for name, cost in recording_cost().items():
        print(f"  {name:<18}{cost:8.2f}")
    found = {peer: measured(peer) or {} for peer in PEERS}
    print(f"{'step with gradient, us':<24}" + "".join(f"{peer:>13}" for peer in PEERS) + "   bar")
    for name in found["compiled"]:
        times = [found[peer].get(name) for peer in PEERS]
        print(f"  {name:<22}" + "".join(f"{'-' if t is None else f'{t:.0f}':>13}" for t in times) + _bar(name, found))


def _bar(name: str, found: dict[str, dict[str, float]]) -> str:
    """How the compiled tape stands to what it is to beat."""
    other = found.get(BARS.get(name, ""), {}).get(name)
    if other is None:
        return ""
    return f"   {'met' if found['compiled'][name] < other else 'MISSED'}: {other / found['compiled'][name]:.1f} times as fast as {BARS[name]}"


if __name__ == "__main__":
    main()
