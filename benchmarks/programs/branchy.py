"""A nest of loops with a branch inside: soft and hard springs between all pairs of a row of masses."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def energy(x, stiffness, cutoff):
    n = len(x)
    total = 0.0
    for i in range(n):
        for j in range(i):
            d = x[i] - x[j]
            if d > cutoff:
                total = total + stiffness * cutoff * (2.0 * d - cutoff)
            elif d < 0.0:
                total = total - d * d * d
            else:
                total = total + stiffness * d * d
        total = total * 0.999
    return total


@by_hand
def adjoint(x, stiffness, cutoff):
    n = len(x)
    total = 0.0
    for i in range(n):
        for j in range(i):
            d = x[i] - x[j]
            if d > cutoff:
                total = total + stiffness * cutoff * (2.0 * d - cutoff)
            elif d < 0.0:
                total = total - d * d * d
            else:
                total = total + stiffness * d * d
        total = total * 0.999
    x_bar = np.zeros(n)
    stiffness_bar, total_bar = 0.0, 1.0
    for i in range(n - 1, -1, -1):
        total_bar *= 0.999
        x_i_bar = 0.0
        for j in range(i - 1, -1, -1):
            d = x[i] - x[j]
            if d > cutoff:
                d_bar = total_bar * stiffness * cutoff * 2.0
                stiffness_bar += total_bar * cutoff * (2.0 * d - cutoff)
            elif d < 0.0:
                d_bar = -3.0 * total_bar * d * d
            else:
                d_bar = 2.0 * total_bar * stiffness * d
                stiffness_bar += total_bar * d * d
            x_i_bar += d_bar
            x_bar[j] -= d_bar
        x_bar[i] += x_i_bar
    return total, x_bar, stiffness_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(x, stiffness, cutoff):
        n = len(x)

        def pair(j, state):
            total, i = state
            d = x[i] - x[j]
            term = lax.cond(
                d > cutoff,
                lambda d: stiffness * cutoff * (2.0 * d - cutoff),
                lambda d: jnp.where(d < 0.0, -d * d * d, stiffness * d * d),
                d,
            )
            return total + jnp.where(j < i, term, 0.0), i

        def row(i, total):
            return lax.fori_loop(0, n, pair, (total, i))[0] * 0.999

        return lax.fori_loop(0, n, row, 0.0)

    return run


def vectorised(np):
    def run(x, stiffness, cutoff):
        n = len(x)
        d = x[:, None] - x[None, :]
        hard = stiffness * cutoff * (2.0 * d - cutoff)
        term = np.where(d > cutoff, hard, np.where(d < 0.0, -d * d * d, stiffness * d * d))
        rows = np.tril(term, -1).sum(axis=1)
        weights = 0.999 ** np.arange(n, 0, -1)
        return np.sum(rows * weights)

    return run


def jax_expert():
    from jax import numpy

    return vectorised(numpy)


def torch():
    import torch

    def run(x, stiffness, cutoff):
        n = len(x)
        d = x[:, None] - x[None, :]
        hard = stiffness * cutoff * (2.0 * d - cutoff)
        term = torch.where(d > cutoff, hard, torch.where(d < 0.0, -d * d * d, stiffness * d * d))
        return (torch.tril(term, -1).sum(dim=1) * 0.999 ** torch.arange(n, 0, -1, dtype=x.dtype)).sum()

    return run


def autograd():
    import autograd.numpy as anp

    return vectorised(anp)


def sizes(n):
    return lambda: (np.random.default_rng(0).standard_normal(n), 1.3, 0.8)


PROGRAM = Program(
    name="branchy",
    function=energy,
    wrt=(0, 1),
    sizes={"15²": sizes(15), "150²": sizes(150), "1500²": sizes(1500)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "150²"},
)
