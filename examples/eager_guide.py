"""The pictures of docs/eager.md: a sigmoid with its derivative, a Hessian, and the Jacobian of a batch.

`python examples/eager_guide.py [FOLDER]` writes them to a folder: examples/output, unless it is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import stgrad.eager as tf  # noqa: E402


def sigmoid(folder: Path) -> None:
    """The function and its derivative at 201 points, from one tape."""
    x = tf.linspace(-10.0, 10.0, 201)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.sigmoid(x)
    slope = tape.gradient(y, x)
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axes.plot(x, y, label="sigmoid(x)")
    axes.plot(x, slope, label="its derivative")
    axes.set_xlabel("x")
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, folder / "eager_sigmoid.png")


def hessian(folder: Path) -> float:
    """The Hessian of a loss in the 5 x 8 weights of a layer, as a 40 x 40 matrix; how far from symmetric it is."""
    x = tf.random.normal([7, 5])
    first, second = (tf.keras.layers.Dense(n, activation=tf.nn.relu) for n in (8, 6))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(second(first(x)) ** 2)
        gradient = inner.gradient(loss, first.kernel)
    h = tf.reshape(outer.jacobian(gradient, first.kernel), [40, 40]).numpy()
    draw(h, "Hessian of the loss in 5 x 8 weights", "weight", "weight", folder / "eager_hessian.png")
    return float(np.abs(h - h.T).max())


def blocks(folder: Path) -> float:
    """The Jacobian (7 6, 7 5) of a batch: each row depends on its own input. The largest entry outside of the blocks."""
    x = tf.random.normal([7, 5])
    layers = [tf.keras.layers.Dense(8, activation=tf.nn.elu), tf.keras.layers.Dense(6, activation=tf.nn.elu)]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = layers[1](layers[0](x))
    full = tape.jacobian(y, x).numpy()
    draw(full.reshape(42, 35), "Jacobian of a batch of 7", "input, by row of the batch", "result, by row of the batch", folder / "eager_blocks.png")
    each = tape.batch_jacobian(y, x).numpy()
    for row in range(7):
        assert np.allclose(full[row, :, row], each[row], atol=1e-6)
        full[row, :, row] = 0.0
    return float(np.abs(full).max())


def draw(matrix: np.ndarray, title: str, xlabel: str, ylabel: str, path: Path) -> None:
    """A matrix as an image, zero in white."""
    figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
    bound = np.abs(matrix).max()
    image = axes.imshow(matrix, cmap="RdBu", vmin=-bound, vmax=bound, interpolation="nearest")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    figure.colorbar(image)
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    folder.mkdir(parents=True, exist_ok=True)
    tf.random.set_seed(2)
    sigmoid(folder)
    print(f"Hessian: asymmetry {hessian(folder):.1e}")
    print(f"batch Jacobian: largest entry outside of the blocks {blocks(folder):.1e}")
    print(f"pictures in {folder}")


if __name__ == "__main__":
    main()
