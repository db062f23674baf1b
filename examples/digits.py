"""A small neural network that reads handwritten digits, in plain NumPy, trained with a compiled gradient.

The data are scikit-learn's 1,797 digits of 8 by 8 pixels. The network has one hidden layer; the optimiser is Adam, written out.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import stgrad

HIDDEN, EPOCHS, BATCH, LEARNING_RATE, DECAY = 64, 60, 50, 3e-3, 1e-4


def network(weights, x):
    """Scores (n, 10) of the images `x` (n, 64)."""
    w1, b1, w2, b2 = weights
    return np.tanh(x @ w1 + b1) @ w2 + b2


def loss(weights, x, labels):
    """Cross entropy of the labels (n,), and a penalty on large weights."""
    scores = network(weights, x)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(scores), axis=1))
    penalty = 0.0
    for w in weights:
        penalty += np.sum(w * w)
    return np.mean(log_sum - scores[np.arange(len(labels)), labels]) + DECAY * penalty


def initial(rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases of both layers."""
    return [
        rng.normal(0.0, 1.0 / 8.0, (64, HIDDEN)),
        np.zeros(HIDDEN),
        rng.normal(0.0, 1.0 / np.sqrt(HIDDEN), (HIDDEN, 10)),
        np.zeros(10),
    ]


class Adam:
    """Kingma and Ba, 2015, algorithm 1; the weights change in place."""

    def __init__(self, weights: list[np.ndarray]) -> None:
        self.mean = [np.zeros_like(w) for w in weights]
        self.square = [np.zeros_like(w) for w in weights]
        self.count = 0

    def step(self, weights: list[np.ndarray], bars: list[np.ndarray]) -> None:
        self.count += 1
        for w, bar, m, v in zip(weights, bars, self.mean, self.square, strict=True):
            m += 0.1 * (bar - m)
            v += 0.001 * (bar * bar - v)
            rate = LEARNING_RATE * np.sqrt(1.0 - 0.999**self.count) / (1.0 - 0.9**self.count)
            w -= rate * m / (np.sqrt(v) + 1e-8)


def accuracy(weights: list[np.ndarray], x: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(np.argmax(network(weights, x), axis=1) == labels))


def main() -> None:
    console = Console()
    rng = np.random.default_rng(0)
    images, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(images / 16.0, labels, test_size=0.2, random_state=0, stratify=labels)
    weights = initial(rng)
    optimiser = Adam(weights)
    gradient = stgrad.value_and_grad(loss)
    with console.status("compiling the gradient"):
        gradient(weights, x[:BATCH], y[:BATCH])

    started = time.perf_counter()
    columns = (TextColumn("training"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("train", total=EPOCHS, now="")
        for _ in range(EPOCHS):
            order = rng.permutation(len(x))
            for batch in np.array_split(order, len(x) // BATCH):
                value, bars = gradient(weights, x[batch], y[batch])
                optimiser.step(weights, bars)
            progress.update(task, advance=1, now=f"loss {value:.4f}, test accuracy {accuracy(weights, x_test, y_test):.3f}")
    right = accuracy(weights, x_test, y_test)
    took = time.perf_counter() - started
    console.print(f"{right:.1%} of {len(x_test)} unseen digits read correctly after {EPOCHS} epochs, {took:.1f} s")
    assert right > 0.95


if __name__ == "__main__":
    main()
