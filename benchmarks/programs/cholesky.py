"""A Gaussian process's log-density by a Cholesky factorisation written by hand, with the triangular solve, in loops."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def log_density(K, y):
    n = len(y)
    L = np.zeros((n, n))
    z = np.zeros(n)
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = K[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
        s = y[i]
        for k in range(i):
            s -= L[i, k] * z[k]
        z[i] = s / L[i, i]
        total -= 0.5 * z[i] * z[i] + math.log(L[i, i])
    return total


@by_hand
def adjoint(K, y):
    """Smith (1995): the factor is kept, the sweep back runs in place over rows."""
    n = len(y)
    L, L_bar = np.zeros((n, n)), np.zeros((n, n))
    z, z_bar, y_bar = np.empty(n), np.zeros(n), np.empty(n)
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = K[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(s) if i == j else s / L[j, j]
        s = y[i]
        for k in range(i):
            s -= L[i, k] * z[k]
        z[i] = s / L[i, i]
        total -= 0.5 * z[i] * z[i] + math.log(L[i, i])
    K_bar = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        inverse = 1.0 / L[i, i]
        s_bar = (z_bar[i] - z[i]) * inverse
        y_bar[i] = s_bar
        L_bar[i, i] -= inverse + s_bar * z[i]
        for k in range(i):
            L_bar[i, k] -= s_bar * z[k]
            z_bar[k] -= s_bar * L[i, k]
        s_bar = 0.5 * L_bar[i, i] * inverse
        K_bar[i, i] = s_bar
        for k in range(i):
            L_bar[i, k] -= 2.0 * s_bar * L[i, k]
        for j in range(i - 1, -1, -1):
            s_bar = L_bar[i, j] / L[j, j]
            K_bar[i, j] = s_bar
            L_bar[j, j] -= s_bar * L[i, j]
            for k in range(j):
                L_bar[i, k] -= s_bar * L[j, k]
                L_bar[j, k] -= s_bar * L[i, k]
    return total, K_bar, y_bar


def jax():
    """The same loops over rows and columns; the innermost as a masked product."""
    from jax import lax
    from jax import numpy as jnp

    def run(K, y):
        n = len(y)

        def row(i, state):
            L, z, total = state

            def entry(j, L):
                s = K[i, j] - jnp.dot(L[i], L[j])
                safe = jnp.where(i == j, s, 1.0)
                diagonal = jnp.where(j == i, 1.0, L[j, j])
                value = jnp.where(i == j, jnp.sqrt(safe), s / jnp.where(diagonal == 0.0, 1.0, diagonal))
                return L.at[i, j].set(jnp.where(j <= i, value, 0.0))

            L = lax.fori_loop(0, n, entry, L)
            zi = (y[i] - jnp.dot(L[i], z)) / L[i, i]
            return L, z.at[i].set(zi), total - 0.5 * zi * zi - jnp.log(L[i, i])

        return lax.fori_loop(0, n, row, (jnp.zeros((n, n)), jnp.zeros(n), 0.0))[2]

    return run


def with_lapack(np, cholesky, solve):
    """Only the lower triangle of K counts, as in the loops."""

    def run(K, y):
        L = cholesky(K)
        z = solve(L, y)
        return -0.5 * (z * z).sum() - np.log(np.diagonal(L)).sum()

    return run


def jax_expert():
    from jax import numpy as jnp
    from jax.lax import linalg
    from jax.scipy.linalg import solve_triangular

    return with_lapack(
        jnp,
        lambda K: linalg.cholesky(jnp.tril(K) + jnp.tril(K, -1).T, symmetrize_input=False),
        lambda L, y: solve_triangular(L, y, lower=True),
    )


def sizes(n):
    def inputs():
        rng = np.random.default_rng(0)
        x = np.sort(rng.random(n))
        return np.exp(-30.0 * (x[:, None] - x[None, :]) ** 2) + 0.1 * np.eye(n), rng.standard_normal(n)

    return inputs


PROGRAM = Program(
    name="cholesky",
    function=log_density,
    wrt=(0, 1),
    sizes={"8": sizes(8), "50": sizes(50), "300": sizes(300)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    upto={"jax": "50"},
)
