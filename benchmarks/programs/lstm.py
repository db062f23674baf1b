"""A recurrent network with gates (LSTM) over a sequence, with a linear read-out and squared errors, written one time step after the other."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def sequence_loss(W, U, b, v, x, y):
    n = U.shape[0]
    h = np.zeros((x.shape[1], n))
    c = np.zeros((x.shape[1], n))
    total = 0.0
    for t in range(x.shape[0]):
        z = x[t] @ W + h @ U + b
        i = 1.0 / (1.0 + np.exp(-z[:, :n]))
        f = 1.0 / (1.0 + np.exp(-z[:, n : 2 * n]))
        o = 1.0 / (1.0 + np.exp(-z[:, 2 * n : 3 * n]))
        g = np.tanh(z[:, 3 * n :])
        c = f * c + i * g
        h = o * np.tanh(c)
        total += np.sum((h @ v - y[t]) ** 2)
    return total


@by_hand
def gates(z, U_part, b, old_c, c, th, h):
    """One step: z holds x W and becomes the gates."""
    m, n = c.shape
    for p in range(m):
        for q in range(3 * n):
            z[p, q] = 1.0 / (1.0 + math.exp(-(z[p, q] + U_part[p, q] + b[q])))
        for q in range(3 * n, 4 * n):
            z[p, q] = math.tanh(z[p, q] + U_part[p, q] + b[q])
        for q in range(n):
            c[p, q] = z[p, n + q] * old_c[p, q] + z[p, q] * z[p, 3 * n + q]
            th[p, q] = math.tanh(c[p, q])
            h[p, q] = z[p, 2 * n + q] * th[p, q]


@by_hand
def gates_adjoint(z, old_c, th, h_bar, c_bar, z_bar, b_bar):
    m, n = th.shape
    for p in range(m):
        for q in range(n):
            i, f, o, g = z[p, q], z[p, n + q], z[p, 2 * n + q], z[p, 3 * n + q]
            cb = c_bar[p, q] + h_bar[p, q] * o * (1.0 - th[p, q] * th[p, q])
            z_bar[p, q] = cb * g * i * (1.0 - i)
            z_bar[p, n + q] = cb * old_c[p, q] * f * (1.0 - f)
            z_bar[p, 2 * n + q] = h_bar[p, q] * th[p, q] * o * (1.0 - o)
            z_bar[p, 3 * n + q] = cb * i * (1.0 - g * g)
            c_bar[p, q] = cb * f
        for q in range(4 * n):
            b_bar[q] += z_bar[p, q]


@by_hand
def adjoint(W, U, b, v, x, y):
    """The input's product for all steps at once, and the weights' gradients as products over the whole sequence."""
    T, m, k = x.shape
    n = U.shape[0]
    z, z_bar = np.empty((T, m, 4 * n)), np.empty((T, m, 4 * n))
    hs, cs, th = np.zeros((T + 1, m, n)), np.zeros((T + 1, m, n)), np.empty((T, m, n))
    np.dot(x.reshape(T * m, k), W, z.reshape(T * m, 4 * n))
    part, e = np.empty((m, 4 * n)), np.empty((T, m))
    total = 0.0
    for t in range(T):
        np.dot(hs[t], U, part)
        gates(z[t], part, b, cs[t], cs[t + 1], th[t], hs[t + 1])
        for p in range(m):
            s = 0.0
            for q in range(n):
                s += hs[t + 1, p, q] * v[q]
            e[t, p] = s - y[t, p]
            total += e[t, p] * e[t, p]
    b_bar, v_bar, h_bar, c_bar = np.zeros(4 * n), np.zeros(n), np.zeros((m, n)), np.zeros((m, n))
    for t in range(T - 1, -1, -1):
        for p in range(m):
            r = 2.0 * e[t, p]
            for q in range(n):
                h_bar[p, q] += r * v[q]
                v_bar[q] += r * hs[t + 1, p, q]
        gates_adjoint(z[t], cs[t], th[t], h_bar, c_bar, z_bar[t], b_bar)
        np.dot(z_bar[t], U.T, h_bar)
    flat = z_bar.reshape(T * m, 4 * n)
    W_bar, U_bar = np.empty((k, 4 * n)), np.empty((n, 4 * n))
    np.dot(x.reshape(T * m, k).T, flat, W_bar)
    np.dot(hs[:T].reshape(T * m, n).T, flat, U_bar)
    return total, W_bar, U_bar, b_bar, v_bar


def step_of(sigmoid, tanh):
    def step(z, c):
        n = c.shape[1]
        c = sigmoid(z[:, n : 2 * n]) * c + sigmoid(z[:, :n]) * tanh(z[:, 3 * n :])
        return sigmoid(z[:, 2 * n : 3 * n]) * tanh(c), c

    return step


def jax():
    from jax import lax
    from jax import numpy as jnp

    step = step_of(lambda z: 1.0 / (1.0 + jnp.exp(-z)), jnp.tanh)

    def run(W, U, b, v, x, y):
        zero = jnp.zeros((x.shape[1], U.shape[0]))

        def body(t, state):
            h, c, total = state
            h, c = step(x[t] @ W + h @ U + b, c)
            return h, c, total + jnp.sum((h @ v - y[t]) ** 2)

        return lax.fori_loop(0, x.shape[0], body, (zero, zero, 0.0))[2]

    return run


def jax_expert():
    """The input's product and the read-out for all steps at once."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    step = step_of(jax.nn.sigmoid, jnp.tanh)

    def run(W, U, b, v, x, y):
        zero = jnp.zeros((x.shape[1], U.shape[0]))

        def body(state, z):
            h, c = step(z + state[0] @ U, state[1])
            return (h, c), h

        hs = lax.scan(body, (zero, zero), x @ W + b)[1]
        return jnp.sum((hs @ v - y) ** 2)

    return run


def looped(step, zeros):
    def run(W, U, b, v, x, y):
        h = c = zeros((x.shape[1], U.shape[0]))
        total = 0.0
        for t in range(x.shape[0]):
            h, c = step(x[t] @ W + h @ U + b, c)
            total = total + ((h @ v - y[t]) ** 2).sum()
        return total

    return run


def torch():
    import torch

    return looped(step_of(torch.sigmoid, torch.tanh), lambda shape: torch.zeros(shape, dtype=torch.float64))


def autograd():
    import autograd.numpy as anp

    return looped(step_of(lambda z: 1.0 / (1.0 + anp.exp(-z)), anp.tanh), anp.zeros)


def sizes(steps, batch, inputs, units):
    def make():
        rng = np.random.default_rng(0)
        W, U = rng.standard_normal((inputs, 4 * units)) / np.sqrt(inputs), rng.standard_normal((units, 4 * units)) / np.sqrt(units)
        b, v = rng.standard_normal(4 * units) * 0.1, rng.standard_normal(units)
        return W, U, b, v, rng.standard_normal((steps, batch, inputs)), rng.standard_normal((steps, batch))

    return make


PROGRAM = Program(
    name="lstm",
    function=sequence_loss,
    wrt=(0, 1, 2, 3),
    sizes={"10x4x(8-8)": sizes(10, 4, 8, 8), "50x16x(32-64)": sizes(50, 16, 32, 64), "100x32x(64-128)": sizes(100, 32, 64, 128)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "10x4x(8-8)"},
)
