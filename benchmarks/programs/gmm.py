"""Fitting a Gaussian mixture: ADBench's objective (weights, means and inverse covariance factors, with a Wishart prior), in loops.

Šrajer, Kukelova, Fitzgibbon: A benchmark of selected algorithmic differentiation tools (2018). The constant of the prior is
left out: it has no gradient.
"""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program

GAMMA, WISHART = 1.0, 0


def objective(alphas, means, icf, x):
    n, d = x.shape
    k = len(alphas)
    centred = np.empty(d)
    terms = np.empty(k)
    slse = 0.0
    for p in range(n):
        for c in range(k):
            squares = 0.0
            logs = 0.0
            for i in range(d):
                centred[i] = x[p, i] - means[c, i]
                logs += icf[c, i]
            for j in range(d):
                q = math.exp(icf[c, j]) * centred[j]
                for i in range(j):
                    q += icf[c, d + j * (j - 1) // 2 + i] * centred[i]
                squares += q * q
            terms[c] = alphas[c] + logs - 0.5 * squares
        top = terms[0]
        for c in range(1, k):
            top = max(top, terms[c])
        total = 0.0
        for c in range(k):
            total += math.exp(terms[c] - top)
        slse += top + math.log(total)
    top = np.max(alphas)
    slse -= n * (top + np.log(np.sum(np.exp(alphas - top))))
    prior = 0.0
    for c in range(k):
        for i in range(d):
            prior += 0.5 * GAMMA * GAMMA * math.exp(2.0 * icf[c, i]) - WISHART * icf[c, i]
        for i in range(d, icf.shape[1]):
            prior += 0.5 * GAMMA * GAMMA * icf[c, i] * icf[c, i]
    return slse + prior


@by_hand
def adjoint(alphas, means, icf, x):
    """Forward and reverse point by point: nothing is kept but the k by d values q of the point."""
    n, d = x.shape
    k, m = icf.shape
    centred, q, terms = np.empty((k, d)), np.empty((k, d)), np.empty(k)
    scale, logs = np.empty((k, d)), np.empty(k)
    alphas_bar, means_bar, icf_bar = np.zeros(k), np.zeros((k, d)), np.zeros((k, m))
    centred_bar = np.empty(d)
    for c in range(k):
        logs[c] = alphas[c]
        for i in range(d):
            scale[c, i] = math.exp(icf[c, i])
            logs[c] += icf[c, i]
    value = 0.0
    for p in range(n):
        top = -np.inf
        for c in range(k):
            squares = 0.0
            at = d
            for j in range(d):
                centred[c, j] = x[p, j] - means[c, j]
            for j in range(d):
                s = scale[c, j] * centred[c, j]
                for i in range(j):
                    s += icf[c, at + i] * centred[c, i]
                at += j
                q[c, j] = s
                squares += s * s
            terms[c] = logs[c] - 0.5 * squares
            top = max(top, terms[c])
        total = 0.0
        for c in range(k):
            terms[c] = math.exp(terms[c] - top)
            total += terms[c]
        value += top + math.log(total)
        for c in range(k):
            w = terms[c] / total
            alphas_bar[c] += w
            for j in range(d):
                centred_bar[j] = 0.0
            at = d
            for j in range(d):
                g = -w * q[c, j]
                icf_bar[c, j] += g * scale[c, j] * centred[c, j]
                centred_bar[j] += g * scale[c, j]
                for i in range(j):
                    icf_bar[c, at + i] += g * centred[c, i]
                    centred_bar[i] += g * icf[c, at + i]
                at += j
            for j in range(d):
                means_bar[c, j] -= centred_bar[j]
    top = np.max(alphas)
    total = 0.0
    for c in range(k):
        total += math.exp(alphas[c] - top)
    value -= n * (top + math.log(total))
    for c in range(k):
        for i in range(d):
            icf_bar[c, i] += alphas_bar[c]
    for c in range(k):
        alphas_bar[c] -= n * math.exp(alphas[c] - top) / total
        for i in range(d):
            e = GAMMA * GAMMA * scale[c, i] * scale[c, i]
            value += 0.5 * e - WISHART * icf[c, i]
            icf_bar[c, i] += e - WISHART
        for i in range(d, m):
            value += 0.5 * GAMMA * GAMMA * icf[c, i] * icf[c, i]
            icf_bar[c, i] += GAMMA * GAMMA * icf[c, i]
    return value, alphas_bar, means_bar, icf_bar


def jax():
    """Loops over points; a component's factor is put together as a matrix."""
    from jax import lax
    from jax import numpy as jnp

    def run(alphas, means, icf, x):
        n, d = x.shape
        k = len(alphas)
        rows, columns = np.tril_indices(d, -1)

        def term(c, xp):
            L = jnp.zeros((d, d)).at[rows, columns].set(icf[c, d:]) + jnp.diag(jnp.exp(icf[c, :d]))
            q = L @ (xp - means[c])
            return alphas[c] + jnp.sum(icf[c, :d]) - 0.5 * jnp.sum(q * q)

        def point(p, total):
            terms = lax.fori_loop(0, k, lambda c, terms: terms.at[c].set(term(c, x[p])), jnp.zeros(k))
            top = jnp.max(terms)
            return total + top + jnp.log(jnp.sum(jnp.exp(terms - top)))

        top = jnp.max(alphas)
        slse = lax.fori_loop(0, n, point, 0.0) - n * (top + jnp.log(jnp.sum(jnp.exp(alphas - top))))
        prior = 0.5 * GAMMA * GAMMA * (jnp.sum(jnp.exp(2.0 * icf[:, :d])) + jnp.sum(icf[:, d:] ** 2)) - WISHART * jnp.sum(icf[:, :d])
        return slse + prior

    return run


def vectorised(np, lower, diagonal, einsum, logsumexp):
    """All points and components at once, as in ADBench's modules."""

    def run(alphas, means, icf, x):
        n, d = x.shape
        L = lower(icf[:, d:], d) + diagonal(np.exp(icf[:, :d]))
        q = einsum("kij,nkj->nki", L, x[:, None, :] - means[None, :, :])
        terms = alphas + np.sum(icf[:, :d], 1) - 0.5 * np.sum(q * q, 2)
        slse = np.sum(logsumexp(terms, 1)) - n * logsumexp(alphas, 0)
        prior = 0.5 * GAMMA * GAMMA * (np.sum(np.exp(2.0 * icf[:, :d])) + np.sum(icf[:, d:] ** 2)) - WISHART * np.sum(icf[:, :d])
        return slse + prior

    return run


def jax_expert():
    from jax import numpy as jnp
    from jax import vmap
    from jax.scipy.special import logsumexp

    def lower(packed, d):
        rows, columns = np.tril_indices(d, -1)
        return jnp.zeros((packed.shape[0], d, d)).at[:, rows, columns].set(packed)

    return vectorised(jnp, lower, vmap(jnp.diag), jnp.einsum, logsumexp)


def torch():
    import torch

    def lower(packed, d):
        rows, columns = np.tril_indices(d, -1)
        return torch.zeros((packed.shape[0], d, d), dtype=packed.dtype).index_put(
            (slice_all(packed), torch.tensor(rows), torch.tensor(columns)), packed
        )

    def slice_all(packed):
        return torch.arange(packed.shape[0])[:, None]

    return vectorised(torch, lower, torch.diag_embed, torch.einsum, torch.logsumexp)


def autograd():
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    def lower(packed, d):
        rows, columns = np.tril_indices(d, -1)
        place = np.zeros((packed.shape[1], d, d))
        place[np.arange(packed.shape[1]), rows, columns] = 1.0
        return anp.einsum("kp,pij->kij", packed, place)

    return vectorised(anp, lower, lambda a: a[:, :, None] * np.eye(a.shape[1]), anp.einsum, logsumexp)


def sizes(n, d, k):
    def inputs():
        rng = np.random.default_rng(0)
        return (
            rng.standard_normal(k),
            rng.standard_normal((k, d)),
            0.3 * rng.standard_normal((k, d * (d + 1) // 2)),
            rng.standard_normal((n, d)),
        )

    return inputs


PROGRAM = Program(
    name="gmm",
    function=objective,
    wrt=(0, 1, 2),
    sizes={"n20 d2 k5": sizes(20, 2, 5), "n1000 d10 k5": sizes(1000, 10, 5), "n1000 d32 k25": sizes(1000, 32, 25)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "n1000 d10 k5", "torch.compile": "n20 d2 k5"},
)
