"""Softmax attention of one head: products, a softmax along rows, and a product again."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def attended(q, k, v, target):
    scores = q @ k.T / math.sqrt(q.shape[1])
    scores = scores - np.max(scores, axis=1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    return np.sum((weights @ v - target) ** 2)


@by_hand
def softmax(scores, scale):
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for j in range(scores.shape[1]):
            top = max(top, scores[i, j])
        total = 0.0
        for j in range(scores.shape[1]):
            scores[i, j] = math.exp((scores[i, j] - top) * scale)
            total += scores[i, j]
        inverse = 1.0 / total
        for j in range(scores.shape[1]):
            scores[i, j] *= inverse


@by_hand
def softmax_adjoint(p, p_bar, scale):
    """p_bar becomes the cotangent of the scores."""
    for i in range(p.shape[0]):
        along = 0.0
        for j in range(p.shape[1]):
            along += p[i, j] * p_bar[i, j]
        for j in range(p.shape[1]):
            p_bar[i, j] = p[i, j] * (p_bar[i, j] - along) * scale


@by_hand
def adjoint(q, k, v, target):
    n, m = q.shape[0], k.shape[0]
    scale = 1.0 / math.sqrt(q.shape[1])
    p, p_bar, out = np.empty((n, m)), np.empty((n, m)), np.empty(target.shape)
    np.dot(q, k.T, p)
    softmax(p, scale)
    np.dot(p, v, out)
    value = 0.0
    for i in range(n):
        for j in range(out.shape[1]):
            r = out[i, j] - target[i, j]
            value += r * r
            out[i, j] = 2.0 * r
    q_bar, k_bar, v_bar = np.empty(q.shape), np.empty(k.shape), np.empty(v.shape)
    np.dot(p.T, out, v_bar)
    np.dot(out, v.T, p_bar)
    softmax_adjoint(p, p_bar, scale)
    np.dot(p_bar, k, q_bar)
    np.dot(p_bar.T, q, k_bar)
    return value, q_bar, k_bar, v_bar


def jax():
    from jax import numpy as jnp

    def run(q, k, v, target):
        scores = q @ k.T / math.sqrt(q.shape[1])
        scores = scores - jnp.max(scores, axis=1, keepdims=True)
        weights = jnp.exp(scores)
        weights = weights / jnp.sum(weights, axis=1, keepdims=True)
        return jnp.sum((weights @ v - target) ** 2)

    return run


def jax_expert():
    import jax

    def run(q, k, v, target):
        return ((jax.nn.softmax(q @ k.T / math.sqrt(q.shape[1])) @ v - target) ** 2).sum()

    return run


def torch():
    from torch.nn.functional import scaled_dot_product_attention

    def run(q, k, v, target):
        return ((scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0] - target) ** 2).sum()

    return run


def autograd():
    import autograd.numpy as anp

    def run(q, k, v, target):
        scores = anp.dot(q, k.T) / math.sqrt(q.shape[1])
        scores = scores - anp.max(scores, axis=1, keepdims=True)
        weights = anp.exp(scores)
        weights = weights / anp.sum(weights, axis=1, keepdims=True)
        return anp.sum((anp.dot(weights, v) - target) ** 2)

    return run


def sizes(n, d):
    return lambda: tuple(np.random.default_rng(0).standard_normal((4, n, d)))


PROGRAM = Program(
    name="attention",
    function=attended,
    wrt=(0, 1, 2),
    sizes={"16x8": sizes(16, 8), "256x64": sizes(256, 64), "2048x64": sizes(2048, 64)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "256x64"},
)
