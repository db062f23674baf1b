"""Soft dynamic time warping of two series: a table filled cell by cell with soft minima."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def distance(x, y, gamma):
    n, m = len(x), len(y)
    R = np.full((n + 1, m + 1), 1e10)
    R[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = R[i, j], R[i, j + 1], R[i + 1, j]
            low = min(a, min(b, c))
            total = math.exp((low - a) / gamma) + math.exp((low - b) / gamma) + math.exp((low - c) / gamma)
            R[i + 1, j + 1] = (x[i] - y[j]) ** 2 + low - gamma * math.log(total)
    return R[n, m]


@by_hand
def adjoint(x, y, gamma):
    """The three weights of a cell's soft minimum are kept."""
    n, m = len(x), len(y)
    weights = np.empty((n, m, 3))
    above, row = np.full(m + 1, 1e10), np.empty(m + 1)
    above[0] = 0.0
    by = 1.0 / gamma
    for i in range(n):
        c = row[0] = 1e10
        for j in range(m):
            a, b = above[j], above[j + 1]
            low = min(a, min(b, c))
            wa, wb, wc = math.exp((low - a) * by), math.exp((low - b) * by), math.exp((low - c) * by)
            total = wa + wb + wc
            share = 1.0 / total
            weights[i, j, 0], weights[i, j, 1], weights[i, j, 2] = wa * share, wb * share, wc * share
            d = x[i] - y[j]
            c = d * d + low - gamma * math.log(total)
            row[j + 1] = c
        above, row = row, above
    value = above[m]
    x_bar, y_bar = np.empty(n), np.zeros(m)
    bars, up = np.zeros(m + 1), np.zeros(m + 1)
    bars[m] = 1.0
    for i in range(n - 1, -1, -1):
        for j in range(m + 1):
            up[j] = 0.0
        s = 0.0
        here = bars[m]
        for j in range(m - 1, -1, -1):
            g = 2.0 * here * (x[i] - y[j])
            s += g
            y_bar[j] -= g
            up[j + 1] += here * weights[i, j, 1]
            up[j] += here * weights[i, j, 0]
            here = bars[j] + here * weights[i, j, 2]
        x_bar[i] = s
        bars, up = up, bars
    return value, x_bar, y_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(x, y, gamma):
        n, m = len(x), len(y)

        def cell(k, R):
            i, j = k // m, k % m
            a, b, c = R[i, j], R[i, j + 1], R[i + 1, j]
            low = jnp.minimum(a, jnp.minimum(b, c))
            total = jnp.exp((low - a) / gamma) + jnp.exp((low - b) / gamma) + jnp.exp((low - c) / gamma)
            return R.at[i + 1, j + 1].set((x[i] - y[j]) ** 2 + low - gamma * jnp.log(total))

        start = jnp.full((n + 1, m + 1), 1e10).at[0, 0].set(0.0)
        return lax.fori_loop(0, n * m, cell, start)[n, m]

    return run


def jax_expert():
    """Anti-diagonal by anti-diagonal, each a vector over the rows."""
    from jax import lax
    from jax import numpy as jnp

    def run(x, y, gamma):
        n, m = len(x), len(y)
        i = jnp.arange(n)

        def diagonal(state, k):
            older, old = state  # R[i + 1, j + 1] on the two diagonals before
            j = k - i
            inside = (j >= 0) & (j < m)
            a = jnp.concatenate((jnp.where(k == 0, 0.0, 1e10)[None], older[:-1]))
            b = jnp.concatenate((jnp.full(1, 1e10), old[:-1]))
            terms = jnp.stack((a, b, old))
            low = jnp.min(terms, axis=0)
            soft = low - gamma * jnp.log(jnp.sum(jnp.exp((low - terms) / gamma), axis=0))
            new = jnp.where(inside, (x - y[jnp.clip(j, 0, m - 1)]) ** 2 + soft, 1e10)
            return (old, new), None

        big = jnp.full(n, 1e10)
        (_, last), _ = lax.scan(diagonal, (big, big), jnp.arange(n + m - 1))
        return last[n - 1]

    return run


def sizes(n):
    def inputs():
        rng = np.random.default_rng(0)
        return np.cumsum(rng.standard_normal(n)) * 0.3, np.cumsum(rng.standard_normal(n)) * 0.3, 1.0

    return inputs


PROGRAM = Program(
    name="soft_dtw",
    function=distance,
    wrt=(0, 1),
    sizes={"10²": sizes(10), "100²": sizes(100), "1000²": sizes(1000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    upto={"jax": "100²"},
)
