"""One training step's gradient of a perceptron with two hidden layers on a batch of digits-like images, in float64."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def loss(W1, b1, W2, b2, W3, b3, x, target):
    h1 = np.maximum(x @ W1 + b1, 0.0)
    h2 = np.maximum(h1 @ W2 + b2, 0.0)
    z = h2 @ W3 + b3
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.sum(log_p * target) / x.shape[0]


@by_hand
def activate(z, b):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = max(z[i, j] + b[j], 0)


@by_hand
def gate(h_bar, h, b_bar):
    """Zero where the unit is off, with the column sums."""
    b_bar[:] = 0
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            value = h_bar[i, j] if h[i, j] > 0 else b_bar.dtype.type(0)
            h_bar[i, j] = value
            b_bar[j] += value


@by_hand
def output(z, b, target, b_bar):
    """The loss; z becomes its gradient."""
    n, m = z.shape
    b_bar[:] = 0
    total = b_bar[0]
    scale = b_bar.dtype.type(1.0 / n)
    for i in range(n):
        top = z[i, 0] + b[0]
        for j in range(m):
            z[i, j] += b[j]
            top = max(top, z[i, j])
        norm = scale * 0
        weight = norm
        for j in range(m):
            z[i, j] -= top
            total -= target[i, j] * z[i, j]
            weight += target[i, j]
            norm += np.exp(z[i, j])
        total += weight * np.log(norm)
        for j in range(m):
            z_bar = (np.exp(z[i, j]) / norm * weight - target[i, j]) * scale
            z[i, j] = z_bar
            b_bar[j] += z_bar
    return total * scale


@by_hand
def adjoint(W1, b1, W2, b2, W3, b3, x, target):
    n = x.shape[0]
    h1 = np.empty((n, W1.shape[1]), x.dtype)
    h2 = np.empty((n, W2.shape[1]), x.dtype)
    z = np.empty((n, W3.shape[1]), x.dtype)
    np.dot(x, W1, h1)
    activate(h1, b1)
    np.dot(h1, W2, h2)
    activate(h2, b2)
    np.dot(h2, W3, z)
    b1_bar, b2_bar, b3_bar = np.empty_like(b1), np.empty_like(b2), np.empty_like(b3)
    W1_bar, W2_bar, W3_bar = np.empty_like(W1), np.empty_like(W2), np.empty_like(W3)
    value = output(z, b3, target, b3_bar)
    np.dot(h2.T, z, W3_bar)
    h2_bar = np.empty_like(h2)
    np.dot(z, W3.T, h2_bar)
    gate(h2_bar, h2, b2_bar)
    np.dot(h1.T, h2_bar, W2_bar)
    h1_bar = np.empty_like(h1)
    np.dot(h2_bar, W2.T, h1_bar)
    gate(h1_bar, h1, b1_bar)
    np.dot(x.T, h1_bar, W1_bar)
    return value, W1_bar, b1_bar, W2_bar, b2_bar, W3_bar, b3_bar


def jax():
    from jax import numpy as jnp

    def run(W1, b1, W2, b2, W3, b3, x, target):
        h1 = jnp.maximum(x @ W1 + b1, 0.0)
        h2 = jnp.maximum(h1 @ W2 + b2, 0.0)
        z = h2 @ W3 + b3
        z = z - jnp.max(z, axis=1, keepdims=True)
        log_p = z - jnp.log(jnp.sum(jnp.exp(z), axis=1, keepdims=True))
        return -jnp.sum(log_p * target) / x.shape[0]

    return run


def jax_expert():
    import jax
    from jax import numpy as jnp

    def run(W1, b1, W2, b2, W3, b3, x, target):
        h1 = jax.nn.relu(x @ W1 + b1)
        h2 = jax.nn.relu(h1 @ W2 + b2)
        return -jnp.sum(jax.nn.log_softmax(h2 @ W3 + b3) * target) / x.shape[0]

    return run


def torch():
    from torch import log_softmax, relu

    def run(W1, b1, W2, b2, W3, b3, x, target):
        h1 = relu(x @ W1 + b1)
        h2 = relu(h1 @ W2 + b2)
        return -(log_softmax(h2 @ W3 + b3, dim=1) * target).sum() / x.shape[0]

    return run


def autograd():
    import autograd.numpy as anp

    def run(W1, b1, W2, b2, W3, b3, x, target):
        h1 = anp.maximum(x @ W1 + b1, 0.0)
        h2 = anp.maximum(h1 @ W2 + b2, 0.0)
        z = h2 @ W3 + b3
        z = z - anp.max(z, axis=1, keepdims=True)
        log_p = z - anp.log(anp.sum(anp.exp(z), axis=1, keepdims=True))
        return -anp.sum(log_p * target) / x.shape[0]

    return run


def sizes(batch, widths, dtype="float64"):
    def inputs():
        rng = np.random.default_rng(0)
        parameters = []
        for n, m in zip(widths, widths[1:]):
            parameters += [rng.standard_normal((n, m)) * np.sqrt(2.0 / n), rng.standard_normal(m) * 0.1]
        x = rng.random((batch, widths[0]))
        target = np.eye(widths[-1])[rng.integers(0, widths[-1], batch)]
        return tuple(a.astype(dtype) for a in (*parameters, x, target))

    return inputs


def program(dtype, tolerance):
    return Program(
        name=f"mlp_{dtype}",
        function=loss,
        wrt=(0, 1, 2, 3, 4, 5),
        sizes={"32x(64-32-32-10)": sizes(32, (64, 32, 32, 10), dtype), "128x(784-256-128-10)": sizes(128, (784, 256, 128, 10), dtype)},
        by_hand=adjoint,
        jax=jax,
        jax_expert=jax_expert,
        torch=torch,
        autograd=autograd,
        tolerance=tolerance,
    )


PROGRAM = program("float64", 1e-8)
