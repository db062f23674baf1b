"""Rosenbrock's function of ten variables, called from Python: what a call costs that makes a new array."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@by_hand
def adjoint(x):
    n = x.size
    x_bar = np.empty(n)
    value = 0.0
    carried = 0.0
    for i in range(n - 1):
        u, w = x[i + 1] - x[i] * x[i], 1.0 - x[i]
        value += 100.0 * u * u + w * w
        x_bar[i] = carried - 400.0 * u * x[i] - 2.0 * w
        carried = 200.0 * u
    x_bar[n - 1] = carried
    return value, x_bar


def ported(np):
    return lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def jax():
    from jax import numpy

    return ported(numpy)


def torch():
    import torch

    return ported(torch)


def autograd():
    import autograd.numpy as anp

    return ported(anp)


PROGRAM = Program(
    name="small_array",
    function=valley,
    wrt=(0,),
    sizes={"10": lambda: (np.random.default_rng(0).standard_normal(10),)},
    by_hand=adjoint,
    jax=jax,
    torch=torch,
    autograd=autograd,
)
