"""A `while` of unknown length: an oscillator integrated by Heun's method with adaptive steps."""

import math

import numpy as np

from benchmarks.hand import strict
from benchmarks.program import Program

TOLERANCE = 1e-4


def oscillate(x, v, k, t_end):
    t = 0.0
    h = 0.01
    while t < t_end:
        x1 = x + h * v
        v1 = v - h * k * x
        x_new = x + 0.5 * h * (v + v1)
        v_new = v - 0.5 * h * k * (x + x1)
        error = abs(x_new - x1) + abs(v_new - v1)
        if error < 2.0 * TOLERANCE:
            t = t + h
            x = x_new
            v = v_new
        h = h * min(1.5, max(0.5, 0.9 * math.sqrt(TOLERANCE / (error + 1e-12))))
    return x * x + v


@strict
def adjoint(x, v, k, t_end):
    block = np.empty((1024, 3))
    blocks = [block]
    t, h, n = 0.0, 0.01, 0
    while t < t_end:
        row = n & 1023
        if row == 0 and n:
            block = np.empty((1024, 3))
            blocks.append(block)
        stop = row
        while t < t_end and stop < 1024:
            block[stop, 0], block[stop, 1], block[stop, 2] = x, v, h
            stop += 1
            x1, v1 = x + h * v, v - h * k * x
            x_new, v_new = x + 0.5 * h * (v + v1), v - 0.5 * h * k * (x + x1)
            error = abs(x_new - x1) + abs(v_new - v1)
            if error < 2.0 * TOLERANCE:
                t, x, v = t + h, x_new, v_new
            h *= min(1.5, max(0.5, 0.9 * math.sqrt(TOLERANCE / (error + 1e-12))))
        n += stop - row
    value = x * x + v
    x_bar, v_bar, h_bar, k_bar = 2.0 * x, 1.0, 0.0, 0.0
    for b in range(len(blocks) - 1, -1, -1):
        block = blocks[b]
        for i in range(min(n - 1024 * b, 1024) - 1, -1, -1):
            x, v, h = block[i, 0], block[i, 1], block[i, 2]
            x1, v1 = x + h * v, v - h * k * x
            x_new, v_new = x + 0.5 * h * (v + v1), v - 0.5 * h * k * (x + x1)
            error = abs(x_new - x1) + abs(v_new - v1)
            s = 0.9 * math.sqrt(TOLERANCE / (error + 1e-12))
            error_bar = 0.0
            if 0.5 < s < 1.5:
                error_bar = -0.5 * h_bar * h * s / (error + 1e-12)
            h_bar *= min(1.5, max(0.5, s))
            dx, dv = math.copysign(error_bar, x_new - x1), math.copysign(error_bar, v_new - v1)
            if error_bar < 0.0:
                dx, dv = -math.copysign(error_bar, x_new - x1), -math.copysign(error_bar, v_new - v1)
            xn_bar, vn_bar = dx, dv
            if error < 2.0 * TOLERANCE:
                xn_bar += x_bar
                vn_bar += v_bar
                x_bar, v_bar = 0.0, 0.0
            half = 0.5 * h
            x1_bar = -dx - vn_bar * half * k
            v1_bar = -dv + xn_bar * half
            x_bar += xn_bar - vn_bar * half * k + x1_bar - v1_bar * h * k
            v_bar += vn_bar + xn_bar * half + v1_bar + x1_bar * h
            h_bar += 0.5 * (xn_bar * (v + v1) - vn_bar * k * (x + x1)) + x1_bar * v - v1_bar * k * x
            k_bar -= vn_bar * half * (x + x1) + v1_bar * h * x
    return value, x_bar, v_bar, k_bar


def jax_expert():
    """JAX has no reverse mode of `while_loop`: a scan of a bounded number of steps that stops moving."""
    from jax import lax
    from jax import numpy as jnp

    def run(x, v, k, t_end):
        def step(state, _):
            t, h, x, v = state
            x1, v1 = x + h * v, v - h * k * x
            x_new, v_new = x + 0.5 * h * (v + v1), v - 0.5 * h * k * (x + x1)
            error = jnp.abs(x_new - x1) + jnp.abs(v_new - v1)
            live = t < t_end
            taken = live & (error < 2.0 * TOLERANCE)
            h_new = h * jnp.minimum(1.5, jnp.maximum(0.5, 0.9 * jnp.sqrt(TOLERANCE / (error + 1e-12))))
            moved = jnp.where(taken, t + h, t), jnp.where(live, h_new, h), jnp.where(taken, x_new, x), jnp.where(taken, v_new, v)
            return moved, None

        (_, _, x, v), _ = lax.scan(step, (jnp.zeros(()), jnp.full((), 0.01), x, v), None, length=BOUND)
        return x * x + v

    return run


BOUND = 0  # steps that are certainly enough, for a scan


def sizes(t_end):
    def inputs():
        global BOUND
        BOUND = int(t_end * 96) + 20
        return 1.0, 0.3, 1.1, t_end

    return inputs


def torch():
    import torch

    def run(x, v, k, t_end):
        t = 0.0
        h = torch.tensor(0.01, dtype=torch.float64)
        while t < t_end:
            x1 = x + h * v
            v1 = v - h * k * x
            x_new = x + 0.5 * h * (v + v1)
            v_new = v - 0.5 * h * k * (x + x1)
            error = torch.abs(x_new - x1) + torch.abs(v_new - v1)
            if error < 2.0 * TOLERANCE:
                t = t + h
                x = x_new
                v = v_new
            h = h * torch.clamp(0.9 * torch.sqrt(TOLERANCE / (error + 1e-12)), 0.5, 1.5)
        return x * x + v

    return run


def autograd():
    import autograd.numpy as anp

    def run(x, v, k, t_end):
        t = 0.0
        h = 0.01
        while t < t_end:
            x1 = x + h * v
            v1 = v - h * k * x
            x_new = x + 0.5 * h * (v + v1)
            v_new = v - 0.5 * h * k * (x + x1)
            error = abs(x_new - x1) + abs(v_new - v1)
            if error < 2.0 * TOLERANCE:
                t = t + h
                x = x_new
                v = v_new
            h = h * min(1.5, max(0.5, 0.9 * anp.sqrt(TOLERANCE / (error + 1e-12))))
        return x * x + v

    return run


PROGRAM = Program(
    name="adaptive",
    function=oscillate,
    wrt=(0, 1, 2),
    sizes={"1e2": sizes(1.4), "1e4": sizes(140.0), "1e6": sizes(14_000.0)},
    by_hand=adjoint,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch": "1e2", "torch.compile": "", "autograd": "1e2"},
    tolerance=1e-5,  # step sizes feed back: rounding grows with the number of steps,
)
