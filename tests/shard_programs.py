"""What tests of `stgrad.distributed` evaluate; workers import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np


def loss(w, x, y):
    r = x @ w - y
    return np.sum(r * r)


def path_value(spot, sigma, seed, n):
    """A payoff along a path of a generator that is part of the program."""
    state = seed
    s = spot
    for _ in range(n):
        state = (state * 16807) % 2147483647
        s = s * (1.0 + sigma * (state / 2147483647 - 0.5))
    return s * s


class Weights(NamedTuple):
    w: np.ndarray
    b: float


def structured(p, x, scale=2.0):
    r = x @ p["layer"].w + p["layer"].b
    return scale * np.sum(np.tanh(r)) + p["c"]


def picky(w, x):
    if x[0] > 5.0:
        raise ZeroDivisionError("the fifth")
    return np.sum(w * x)


def bounded(w, x):
    if w[0] * x[0] > 5.0:
        raise OverflowError("too large")
    return np.sum(w * x)


def rows(i):
    return np.random.default_rng(i).normal(size=(20, 3))


def targets(i):
    return np.random.default_rng(1000 + i).normal(size=20)


def slow_rows(i):
    time.sleep(1000.0 if i == 2 else 0.0)
    return rows(i)


class DiesOnce:
    """Rows whose first maker is killed, after it left a mark in a folder."""

    def __init__(self, folder: str, always: bool = False) -> None:
        self.folder, self.always = folder, always

    def __call__(self, i: int) -> np.ndarray:
        mark = Path(self.folder) / "killed"
        if i == 2 and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows(i)


def unreadable(i):
    raise FileNotFoundError(f"no file {i}") if i == 3 else ValueError("another")
