"""The log-likelihood of a hidden Markov model by the forward algorithm, in logarithms, written with loops."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def log_likelihood(log_start, log_move, log_emit, seen):
    n = len(log_start)
    alpha = log_start + log_emit[:, seen[0]]
    new = np.empty(n)
    for t in range(1, len(seen)):
        for j in range(n):
            top = alpha[0] + log_move[0, j]
            for i in range(1, n):
                top = max(top, alpha[i] + log_move[i, j])
            total = 0.0
            for i in range(n):
                total += math.exp(alpha[i] + log_move[i, j] - top)
            new[j] = top + math.log(total) + log_emit[j, seen[t]]
        alpha[:] = new
    top = np.max(alpha)
    return top + np.log(np.sum(np.exp(alpha - top)))


@by_hand
def adjoint(log_start, log_move, log_emit, seen):
    """Probabilities of the step before are kept as they are computed: no second exponentials."""
    n, T = len(log_start), len(seen)
    kept, inverse = np.empty((T, n, n)), np.empty((T, n))
    alpha, new, top = np.empty(n), np.empty(n), np.empty(n)
    for j in range(n):
        alpha[j] = log_start[j] + log_emit[j, seen[0]]
    for t in range(1, T):
        for j in range(n):
            top[j] = alpha[0] + log_move[0, j]
            new[j] = 0.0
        for i in range(1, n):
            for j in range(n):
                top[j] = max(top[j], alpha[i] + log_move[i, j])
        for i in range(n):
            for j in range(n):
                p = math.exp(alpha[i] + log_move[i, j] - top[j])
                kept[t, i, j] = p
                new[j] += p
        for j in range(n):
            inverse[t, j] = 1.0 / new[j]
            alpha[j] = top[j] + math.log(new[j]) + log_emit[j, seen[t]]
    largest = np.max(alpha)
    total = 0.0
    bar = np.empty(n)
    for j in range(n):
        bar[j] = math.exp(alpha[j] - largest)
        total += bar[j]
    for j in range(n):
        bar[j] /= total
    move_bar, emit_bar = np.zeros((n, n)), np.zeros(log_emit.shape)
    for t in range(T - 1, 0, -1):
        for j in range(n):
            emit_bar[j, seen[t]] += bar[j]
            new[j] = bar[j] * inverse[t, j]
        for i in range(n):
            s = 0.0
            for j in range(n):
                p = kept[t, i, j] * new[j]
                move_bar[i, j] += p
                s += p
            bar[i] = s
    for j in range(n):
        emit_bar[j, seen[0]] += bar[j]
    return largest + math.log(total), bar, move_bar, emit_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(log_start, log_move, log_emit, seen):
        def body(t, alpha):
            terms = alpha[:, None] + log_move
            top = jnp.max(terms, axis=0)
            return top + jnp.log(jnp.sum(jnp.exp(terms - top), axis=0)) + log_emit[:, seen[t]]

        alpha = lax.fori_loop(1, len(seen), body, log_start + log_emit[:, seen[0]])
        top = jnp.max(alpha)
        return top + jnp.log(jnp.sum(jnp.exp(alpha - top)))

    return run


def jax_expert():
    """A scan over emissions that are gathered beforehand."""
    from jax import lax
    from jax.scipy.special import logsumexp

    def run(log_start, log_move, log_emit, seen):
        emitted = log_emit.T[seen]
        moves = log_move.T

        def body(alpha, e):
            return logsumexp(alpha + moves, axis=1) + e, None

        return logsumexp(lax.scan(body, log_start + emitted[0], emitted[1:], unroll=2)[0])

    return run


def looped(np, logsumexp):
    def run(log_start, log_move, log_emit, seen):
        alpha = log_start + log_emit[:, seen[0]]
        for t in range(1, len(seen)):
            alpha = logsumexp(alpha[:, None] + log_move, 0) + log_emit[:, seen[t]]
        return logsumexp(alpha, 0)

    return run


def torch():
    import torch

    return looped(torch, torch.logsumexp)


def autograd():
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    return looped(anp, logsumexp)


def sizes(states, length):
    def inputs():
        rng = np.random.default_rng(0)
        start, move, emit = (
            np.log(p / p.sum(-1, keepdims=True)) for p in (rng.random(states), rng.random((states, states)), rng.random((states, 8)))
        )
        return start, move, emit, rng.integers(0, 8, length)

    return inputs


PROGRAM = Program(
    name="hmm",
    function=log_likelihood,
    wrt=(0, 1, 2),
    sizes={"4, 50": sizes(4, 50), "16, 1000": sizes(16, 1000), "64, 1000": sizes(64, 1000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "", "autograd": "16, 1000"},
)
