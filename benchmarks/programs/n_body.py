"""Gravitating bodies integrated by leapfrog; the final kinetic energy differentiated in masses, positions and velocities."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program

SOFT = 0.05


def final_energy(mass, start, velocity, dt, steps):
    n = len(mass)
    x = start.copy()
    v = velocity.copy()
    a = np.zeros((n, 3))
    for t in range(steps):
        a[:, :] = 0.0
        for i in range(n):
            for j in range(i):
                dx = x[i, 0] - x[j, 0]
                dy = x[i, 1] - x[j, 1]
                dz = x[i, 2] - x[j, 2]
                r2 = dx * dx + dy * dy + dz * dz + SOFT
                w = 1.0 / (r2 * math.sqrt(r2))
                a[i, 0] -= mass[j] * w * dx
                a[i, 1] -= mass[j] * w * dy
                a[i, 2] -= mass[j] * w * dz
                a[j, 0] += mass[i] * w * dx
                a[j, 1] += mass[i] * w * dy
                a[j, 2] += mass[i] * w * dz
        v += dt * a
        x += dt * v
    return 0.5 * np.sum(mass[:, None] * v**2)


@by_hand
def accelerate(x, mass, a):
    n = len(mass)
    for i in range(n):
        a[i, 0] = a[i, 1] = a[i, 2] = 0.0
    for i in range(n):
        ax = ay = az = 0.0
        xi, yi, zi, mi = x[i, 0], x[i, 1], x[i, 2], mass[i]
        for j in range(i):
            dx, dy, dz = xi - x[j, 0], yi - x[j, 1], zi - x[j, 2]
            r2 = dx * dx + dy * dy + dz * dz + SOFT
            w = 1.0 / (r2 * math.sqrt(r2))
            wj, wi = mass[j] * w, mi * w
            ax -= wj * dx
            ay -= wj * dy
            az -= wj * dz
            a[j, 0] += wi * dx
            a[j, 1] += wi * dy
            a[j, 2] += wi * dz
        a[i, 0] += ax
        a[i, 1] += ay
        a[i, 2] += az


@by_hand
def accelerate_adjoint(x, mass, a_bar, x_bar, mass_bar):
    n = len(mass)
    for i in range(n):
        bx = by = bz = m_bar = 0.0
        xi, yi, zi, mi = x[i, 0], x[i, 1], x[i, 2], mass[i]
        ai0, ai1, ai2 = a_bar[i, 0], a_bar[i, 1], a_bar[i, 2]
        for j in range(i):
            dx, dy, dz = xi - x[j, 0], yi - x[j, 1], zi - x[j, 2]
            r2 = dx * dx + dy * dy + dz * dz + SOFT
            w = 1.0 / (r2 * math.sqrt(r2))
            gx, gy, gz = mi * a_bar[j, 0] - mass[j] * ai0, mi * a_bar[j, 1] - mass[j] * ai1, mi * a_bar[j, 2] - mass[j] * ai2
            m_bar += w * (dx * a_bar[j, 0] + dy * a_bar[j, 1] + dz * a_bar[j, 2])
            mass_bar[j] -= w * (dx * ai0 + dy * ai1 + dz * ai2)
            q = -3.0 * w / r2 * (gx * dx + gy * dy + gz * dz)
            dx, dy, dz = w * gx + q * dx, w * gy + q * dy, w * gz + q * dz
            bx += dx
            by += dy
            bz += dz
            x_bar[j, 0] -= dx
            x_bar[j, 1] -= dy
            x_bar[j, 2] -= dz
        x_bar[i, 0] += bx
        x_bar[i, 1] += by
        x_bar[i, 2] += bz
        mass_bar[i] += m_bar


@by_hand
def adjoint(mass, start, velocity, dt, steps):
    """Positions are kept; velocities are needed nowhere in between."""
    n = len(mass)
    xs = np.empty((steps + 1, n, 3))
    xs[0] = start
    v, a = velocity.copy(), np.empty((n, 3))
    for t in range(steps):
        accelerate(xs[t], mass, a)
        for i in range(n):
            for k in range(3):
                v[i, k] += dt * a[i, k]
                xs[t + 1, i, k] = xs[t, i, k] + dt * v[i, k]
    value = 0.0
    mass_bar, v_bar, x_bar, a_bar = np.empty(n), np.empty((n, 3)), np.zeros((n, 3)), a
    for i in range(n):
        mass_bar[i] = 0.5 * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        value += mass[i] * mass_bar[i]
        for k in range(3):
            v_bar[i, k] = mass[i] * v[i, k]
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            for k in range(3):
                v_bar[i, k] += dt * x_bar[i, k]
                a_bar[i, k] = dt * v_bar[i, k]
        accelerate_adjoint(xs[t], mass, a_bar, x_bar, mass_bar)
    return value, mass_bar, x_bar, v_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(mass, start, velocity, dt, steps):
        n = len(mass)

        def pair(k, state):
            a, x = state
            i, j = k // n, k % n
            d = x[i] - x[j]
            r2 = jnp.sum(d * d) + SOFT
            w = jnp.where(j < i, 1.0 / (r2 * jnp.sqrt(r2)), 0.0)
            return a.at[i].add(-mass[j] * w * d).at[j].add(mass[i] * w * d), x

        def step(t, state):
            x, v = state
            a, _ = lax.fori_loop(0, n * n, pair, (jnp.zeros((n, 3)), x))
            v = v + dt * a
            return x + dt * v, v

        _, v = lax.fori_loop(0, steps, step, (start, velocity))
        return 0.5 * jnp.sum(mass[:, None] * v**2)

    return run


def step_of(np, mass, dt):
    def step(x, v):
        d = x[:, None, :] - x[None, :, :]
        r2 = np.sum(d * d, 2) + SOFT
        w = mass[None, :] / (r2 * np.sqrt(r2))
        v = v - dt * np.sum(w[:, :, None] * d, 1)
        return x + dt * v, v

    return step


def jax_expert():
    """All pairs at once."""
    from jax import lax
    from jax import numpy as jnp

    def run(mass, start, velocity, dt, steps):
        step = step_of(jnp, mass, dt)
        (_, v), _ = lax.scan(lambda s, _: (step(*s), None), (start, velocity), None, length=steps)
        return 0.5 * jnp.sum(mass[:, None] * v**2)

    return run


def looped(np):
    def run(mass, start, velocity, dt, steps):
        step = step_of(np, mass, dt)
        x, v = start, velocity
        for _ in range(steps):
            x, v = step(x, v)
        return 0.5 * np.sum(mass[:, None] * v**2)

    return run


def torch():
    import torch

    return looped(torch)


def autograd():
    import autograd.numpy as anp

    return looped(anp)


def sizes(n, steps):
    def inputs():
        rng = np.random.default_rng(0)
        return rng.uniform(0.5, 1.5, n) / n, rng.standard_normal((n, 3)), 0.3 * rng.standard_normal((n, 3)), 0.01, steps

    return inputs


PROGRAM = Program(
    name="n_body",
    function=final_energy,
    wrt=(0, 1, 2),
    sizes={"5, 10 steps": sizes(5, 10), "30, 100 steps": sizes(30, 100), "300, 100 steps": sizes(300, 100)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "5, 10 steps", "torch.compile": "5, 10 steps", "autograd": "30, 100 steps"},
)
