"""The likelihood of `hmm` with probabilities that are scaled at each step: vector statements and a product in a loop."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def log_likelihood(start, move, emit, seen):
    p = start * emit[:, seen[0]]
    total = 0.0
    for t in range(1, len(seen)):
        s = np.sum(p)
        total += math.log(s)
        p = ((p / s) @ move) * emit[:, seen[t]]
    return total + math.log(np.sum(p))


@by_hand
def adjoint(start, move, emit, seen):
    """Scaled and predicted probabilities are kept; the gradient of `move` is one product over the sequence."""
    n, T = len(start), len(seen)
    scaled, predicted, sums = np.empty((T, n)), np.empty((T, n)), np.empty(T)
    p = np.empty(n)
    total = 0.0
    for j in range(n):
        p[j] = start[j] * emit[j, seen[0]]
    for t in range(1, T):
        s = 0.0
        for j in range(n):
            s += p[j]
        sums[t - 1] = s
        total += math.log(s)
        inverse = 1.0 / s
        for j in range(n):
            scaled[t, j] = p[j] * inverse
            predicted[t, j] = 0.0
        for i in range(n):
            q = scaled[t, i]
            for j in range(n):
                predicted[t, j] += q * move[i, j]
        for j in range(n):
            p[j] = predicted[t, j] * emit[j, seen[t]]
    s = 0.0
    for j in range(n):
        s += p[j]
    total += math.log(s)
    p_bar = np.full(n, 1.0 / s)
    emit_bar, moved = np.zeros(emit.shape), np.zeros((T, n))
    for t in range(T - 1, 0, -1):
        for j in range(n):
            emit_bar[j, seen[t]] += p_bar[j] * predicted[t, j]
            moved[t, j] = p_bar[j] * emit[j, seen[t]]
        inverse = 1.0 / sums[t - 1]
        along = 0.0
        for i in range(n):
            g = 0.0
            for j in range(n):
                g += move[i, j] * moved[t, j]
            p_bar[i] = g
            along += g * scaled[t, i]
        for i in range(n):
            p_bar[i] = (p_bar[i] + 1.0 - along) * inverse
    move_bar = np.empty((n, n))
    np.dot(scaled[1:].T, moved[1:], move_bar)
    start_bar = np.empty(n)
    for j in range(n):
        emit_bar[j, seen[0]] += p_bar[j] * start[j]
        start_bar[j] = p_bar[j] * emit[j, seen[0]]
    return total, start_bar, move_bar, emit_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(start, move, emit, seen):
        def body(t, state):
            p, total = state
            s = jnp.sum(p)
            return ((p / s) @ move) * emit[:, seen[t]], total + jnp.log(s)

        p, total = lax.fori_loop(1, len(seen), body, (start * emit[:, seen[0]], 0.0))
        return total + jnp.log(jnp.sum(p))

    return run


def jax_expert():
    """Emissions gathered beforehand, logarithms taken afterwards."""
    from jax import lax
    from jax import numpy as jnp

    def run(start, move, emit, seen):
        emitted = emit.T[seen]

        def body(p, e):
            s = jnp.sum(p)
            return ((p / s) @ move) * e, s

        p, sums = lax.scan(body, start * emitted[0], emitted[1:], unroll=4)
        return jnp.sum(jnp.log(sums)) + jnp.log(jnp.sum(p))

    return run


def looped(np):
    def run(start, move, emit, seen):
        p = start * emit[:, seen[0]]
        total = 0.0
        for t in range(1, len(seen)):
            s = np.sum(p)
            total = total + np.log(s)
            p = ((p / s) @ move) * emit[:, seen[t]]
        return total + np.log(np.sum(p))

    return run


def torch():
    import torch

    return looped(torch)


def autograd():
    import autograd.numpy as anp

    return looped(anp)


def sizes(states, length):
    def inputs():
        rng = np.random.default_rng(0)
        start, move, emit = (
            p / p.sum(-1, keepdims=True) for p in (rng.random(states), rng.random((states, states)), rng.random((states, 8)))
        )
        return start, move, emit, rng.integers(0, 8, length)

    return inputs


PROGRAM = Program(
    name="hmm_scaled",
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
