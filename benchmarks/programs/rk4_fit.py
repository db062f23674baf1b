"""The misfit of a Lotka-Volterra model to observations, integrated by RK4 in plain Python over arrays that are written in place."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def slope(z, p, out):
    out[0] = p[0] * z[0] - p[1] * z[0] * z[1]
    out[1] = p[2] * z[0] * z[1] - p[3] * z[1]


def misfit(p, start, data, h, substeps):
    z = start.copy()
    k1 = np.empty(2)
    k2 = np.empty(2)
    k3 = np.empty(2)
    k4 = np.empty(2)
    total = 0.0
    for t in range(len(data)):
        for s in range(substeps):
            slope(z, p, k1)
            slope(z + 0.5 * h * k1, p, k2)
            slope(z + 0.5 * h * k2, p, k3)
            slope(z + h * k3, p, k4)
            z += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        total += np.sum((z - data[t]) ** 2)
    return total


@by_hand
def adjoint(p, start, data, h, substeps):
    """Only the state at each step is kept; the stages are computed again from it."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    n = len(data)
    states = np.empty((n * substeps + 1, 2))
    u, v = start[0], start[1]
    total, m, sixth, half = 0.0, 0, h / 6.0, 0.5 * h
    for t in range(n):
        for _ in range(substeps):
            states[m, 0], states[m, 1] = u, v
            m += 1
            k1, l1 = a * u - b * u * v, c * u * v - d * v
            x, y = u + half * k1, v + half * l1
            k2, l2 = a * x - b * x * y, c * x * y - d * y
            x, y = u + half * k2, v + half * l2
            k3, l3 = a * x - b * x * y, c * x * y - d * y
            x, y = u + h * k3, v + h * l3
            k4, l4 = a * x - b * x * y, c * x * y - d * y
            u += sixth * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            v += sixth * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        total += (u - data[t, 0]) ** 2 + (v - data[t, 1]) ** 2
    states[m, 0], states[m, 1] = u, v
    u_bar = v_bar = a_bar = b_bar = c_bar = d_bar = 0.0
    for t in range(n - 1, -1, -1):
        u_bar += 2.0 * (states[m, 0] - data[t, 0])
        v_bar += 2.0 * (states[m, 1] - data[t, 1])
        for _ in range(substeps):
            m -= 1
            u, v = states[m, 0], states[m, 1]
            x2, y2 = u + half * (a * u - b * u * v), v + half * (c * u * v - d * v)
            x3, y3 = u + half * (a * x2 - b * x2 * y2), v + half * (c * x2 * y2 - d * y2)
            x4, y4 = u + h * (a * x3 - b * x3 * y3), v + h * (c * x3 * y3 - d * y3)
            ku, kv = sixth * u_bar, sixth * v_bar
            pu, pv = u_bar, v_bar  # of the state, from all stages
            su, sv = 0.0, 0.0  # of a stage's argument
            for x, y, w, step in ((x4, y4, 1.0, h), (x3, y3, 2.0, half), (x2, y2, 2.0, half), (u, v, 1.0, 0.0)):
                k_bar, l_bar = w * ku + su, w * kv + sv
                xy = x * y
                a_bar += k_bar * x
                b_bar -= k_bar * xy
                c_bar += l_bar * xy
                d_bar -= l_bar * y
                x_bar = k_bar * (a - b * y) + l_bar * c * y
                y_bar = l_bar * (c * x - d) - k_bar * b * x
                pu += x_bar
                pv += y_bar
                if step == h:
                    su, sv = h * x_bar, h * y_bar
                else:
                    su, sv = half * x_bar, half * y_bar
            u_bar, v_bar = pu, pv
    return total, np.array([a_bar, b_bar, c_bar, d_bar]), np.array([u_bar, v_bar])


def ported(stack):
    def slope(z, p):
        return stack([p[0] * z[0] - p[1] * z[0] * z[1], p[2] * z[0] * z[1] - p[3] * z[1]])

    def step(z, p, h):
        k1 = slope(z, p)
        k2 = slope(z + 0.5 * h * k1, p)
        k3 = slope(z + 0.5 * h * k2, p)
        k4 = slope(z + h * k3, p)
        return z + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    return step


def jax():
    from jax import lax
    from jax import numpy as jnp

    step = ported(jnp.stack)

    def run(p, start, data, h, substeps):
        def row(t, state):
            z, total = state
            z = lax.fori_loop(0, substeps, lambda s, z: step(z, p, h), z)
            return z, total + jnp.sum((z - data[t]) ** 2)

        return lax.fori_loop(0, len(data), row, (start, 0.0))[1]

    return run


def jax_expert():
    """Scalars instead of arrays of two, scans instead of loops, the substeps unrolled by four."""
    from jax import lax

    def run(p, start, data, h, substeps):
        a, b, c, d = p

        def slope(u, v):
            uv = u * v
            return a * u - b * uv, c * uv - d * v

        def step(z, _):
            u, v = z
            k1, l1 = slope(u, v)
            k2, l2 = slope(u + 0.5 * h * k1, v + 0.5 * h * l1)
            k3, l3 = slope(u + 0.5 * h * k2, v + 0.5 * h * l2)
            k4, l4 = slope(u + h * k3, v + h * l3)
            return (u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), v + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)), None

        def row(z, seen):
            (u, v), _ = lax.scan(step, z, None, length=substeps, unroll=4)
            return (u, v), (u - seen[0]) ** 2 + (v - seen[1]) ** 2

        return lax.scan(row, (start[0], start[1]), data)[1].sum()

    return run


def looped(stack):
    step = ported(stack)

    def run(p, start, data, h, substeps):
        z, total = start, 0.0
        for t in range(len(data)):
            for _ in range(substeps):
                z = step(z, p, h)
            total = total + ((z - data[t]) ** 2).sum()
        return total

    return run


def torch():
    import torch

    return looped(torch.stack)


def autograd():
    import autograd.numpy as anp

    return looped(anp.stack)


def sizes(rows, substeps):
    def inputs():
        data = 10.0 + 5.0 * np.random.default_rng(0).random((rows, 2))
        return np.array([0.55, 0.028, 0.024, 0.8]), np.array([30.0, 4.0]), data, 1.0 / substeps, substeps

    return inputs


PROGRAM = Program(
    name="rk4_fit",
    function=misfit,
    wrt=(0, 1),
    sizes={"21x20": sizes(21, 20), "21x500": sizes(21, 500), "21x50000": sizes(21, 50_000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch": "21x20", "torch.compile": "", "autograd": "21x20", "jax": "21x500"},
    tolerance=1e-7,
)
