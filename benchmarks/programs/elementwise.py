"""An elementwise expression and its sum: `sum(exp(-a x²) sin(b x) + c x)`."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def wave(x, a, b, c):
    return np.sum(np.exp(-a * x**2) * np.sin(b * x) + c * x)


@by_hand
def adjoint(x, a, b, c):
    x_bar = np.empty_like(x)
    value = a_bar = b_bar = c_bar = 0.0
    for i in range(x.size):
        xi = x[i]
        e = math.exp(-a * xi * xi)
        s, d = e * math.sin(b * xi), e * math.cos(b * xi)
        value += s + c * xi
        a_bar -= s * xi * xi
        b_bar += d * xi
        c_bar += xi
        x_bar[i] = c + b * d - 2.0 * a * xi * s
    return value, x_bar, a_bar, b_bar, c_bar


def ported(np):
    return lambda x, a, b, c: np.sum(np.exp(-a * x**2) * np.sin(b * x) + c * x)


def jax():
    from jax import numpy

    return ported(numpy)


def torch():
    import torch

    return ported(torch)


def autograd():
    import autograd.numpy as anp

    return ported(anp)


def sizes(n):
    return lambda: (np.random.default_rng(0).standard_normal(n), 0.7, 2.3, 0.1)


PROGRAM = Program(
    name="elementwise",
    function=wave,
    wrt=(0, 1, 2, 3),
    sizes={"1e2": sizes(100), "1e4": sizes(10_000), "1e6": sizes(1_000_000)},
    by_hand=adjoint,
    jax=jax,
    torch=torch,
    autograd=autograd,
)
