"""Throughput of `runtime`'s elementary functions in a compiled loop, against those that Numba calls: prints a table of ratios."""

import math
import re
import statistics
import time

import numba
import numpy as np

from stgrad import runtime

N, ROUNDS = 10_000, 41
OWN = {"pow": "runtime.pow(x[i], 1.7)"}
LIBRARY = {"sigmoid": "1.0 / (1.0 + math.exp(-x[i]))", "pow": "x[i] ** 1.7"}
NAMES = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "pow")


def loop(expression, chained):
    """y[i] = f(x[i]), or with each argument depending on the value before."""
    text = "def run(x, y):\n    v = 0.0\n    for i in range(x.size):\n"
    text += f"        v = {expression.replace('x[i]', '(x[i] + 1e-20 * v)')}\n" if chained else f"        v = {expression}\n"
    space = {"math": math, "runtime": runtime}
    exec(text + "        y[i] = v\n", space)
    return numba.njit(error_model="numpy")(space["run"])


def seconds(run, x, y):
    start = time.perf_counter()
    run(x, y)
    return time.perf_counter() - start


def packed(run):
    """Whether the loop has packed multiplications."""
    return any(re.search(r"vmulp[sd]\s+.*%[yz]mm|mulp[sd]\s", text) for text in run.inspect_asm().values())


def measure(name, dtype, chained):
    """Own time over the library's (median of rounds), own nanoseconds, whether packed."""
    own = loop(OWN.get(name, f"runtime.{name}(x[i])"), chained)
    library = loop(LIBRARY.get(name, f"math.{name}(x[i])"), chained)
    x = np.random.default_rng(0).uniform(0.1, 3.0, N).astype(dtype)
    y = np.empty_like(x)
    seconds(own, x, y), seconds(library, x, y)
    pairs = [(seconds(own, x, y), seconds(library, x, y)) for _ in range(ROUNDS)]
    return statistics.median(a / b for a, b in pairs), min(a for a, _ in pairs) / N * 1e9, packed(own)


def main():
    print(f"{'':10}{'float64':>9}{'ns':>7}{'packed':>8}{'float32':>9}{'ns':>7}{'packed':>8}{'chained float64':>18}{'ns':>7}")
    for name in NAMES:
        cells = ""
        for dtype in (np.float64, np.float32):
            ratio, own, is_packed = measure(name, dtype, False)
            cells += f"{ratio:9.3f}{own:7.2f}{'yes' if is_packed else 'NO':>8}"
        ratio, own, _ = measure(name, np.float64, True)
        print(f"{name:10}{cells}{ratio:18.3f}{own:7.2f}", flush=True)


if __name__ == "__main__":
    main()
