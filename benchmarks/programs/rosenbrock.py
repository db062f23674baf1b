"""A ten-line function of scalars, called from Python: what a call costs."""

import math

from benchmarks.hand import by_hand
from benchmarks.program import Program


def landscape(x, y, a, b):
    u = a - x
    v = y - x * x
    base = u * u + b * v * v
    if base > 100.0:
        base = 100.0 + math.log(base - 99.0)
    ripple = 0.0
    for k in range(3):
        ripple = ripple + math.cos(k * x) * 0.1
    return base + ripple


@by_hand
def adjoint(x, y, a, b):
    u, v = a - x, y - x * x
    base = u * u + b * v * v
    base_bar = 1.0
    if base > 100.0:
        base_bar = 1.0 / (base - 99.0)
        base = 100.0 + math.log(base - 99.0)
    ripple = 0.1 + 0.1 * math.cos(x) + 0.1 * math.cos(2.0 * x)
    x_bar = -0.1 * math.sin(x) - 0.2 * math.sin(2.0 * x)
    u_bar, v_bar = 2.0 * u * base_bar, 2.0 * b * v * base_bar
    return base + ripple, x_bar - u_bar - 2.0 * x * v_bar, v_bar


def jax():
    from jax import numpy as jnp

    def run(x, y, a, b):
        u = a - x
        v = y - x * x
        base = u * u + b * v * v
        base = jnp.where(base > 100.0, 100.0 + jnp.log(jnp.maximum(base, 100.0) - 99.0), base)
        ripple = 0.0
        for k in range(3):
            ripple = ripple + jnp.cos(k * x) * 0.1
        return base + ripple

    return run


def torch():
    import torch

    def run(x, y, a, b):
        u = a - x
        v = y - x * x
        base = u * u + b * v * v
        if base > 100.0:
            base = 100.0 + torch.log(base - 99.0)
        ripple = 0.0
        for k in range(3):
            ripple = ripple + torch.cos(k * x) * 0.1
        return base + ripple

    return run


def autograd():
    import autograd.numpy as anp

    def run(x, y, a, b):
        u = a - x
        v = y - x * x
        base = u * u + b * v * v
        if base > 100.0:
            base = 100.0 + anp.log(base - 99.0)
        ripple = 0.0
        for k in range(3):
            ripple = ripple + anp.cos(k * x) * 0.1
        return base + ripple

    return run


PROGRAM = Program(
    name="rosenbrock",
    function=landscape,
    wrt=(0, 1),
    sizes={"scalar": lambda: (1.3, 0.4, 1.0, 10.0)},
    by_hand=adjoint,
    jax=jax,
    torch=torch,
    autograd=autograd,
)
