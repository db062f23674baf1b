"""A call option under Heston's model by Monte Carlo, path by path: its price differentiated in all seven parameters."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def price(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
    paths, steps = noise.shape[0], noise.shape[1]
    dt = maturity / steps
    root_dt = math.sqrt(dt)
    across = math.sqrt(1.0 - rho * rho)
    total = 0.0
    for p in range(paths):
        x = math.log(spot)
        v = variance
        for t in range(steps):
            level = max(v, 0.0)
            s = math.sqrt(level + 1e-12)
            first = noise[p, t, 0]
            second = rho * first + across * noise[p, t, 1]
            x = x + (rate - 0.5 * level) * dt + s * root_dt * first
            v = v + kappa * (theta - level) * dt + xi * s * root_dt * second
        total += max(math.exp(x) - strike, 0.0)
    return math.exp(-rate * maturity) * total / paths


@by_hand
def adjoint(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
    """Path by path: the variances of one path are kept, and paths that end out of the money are not swept back."""
    paths, steps = noise.shape[0], noise.shape[1]
    dt = maturity / steps
    root_dt = math.sqrt(dt)
    across = math.sqrt(1.0 - rho * rho)
    vs, roots = np.empty(steps), np.empty(steps)
    log_spot = math.log(spot)
    total = 0.0
    x0_bar = v0_bar = kappa_bar = theta_bar = xi_bar = rho_bar = rate_bar = 0.0
    slope = rho / across
    for p in range(paths):
        x, v = log_spot, variance
        for t in range(steps):
            level = max(v, 0.0)
            s = math.sqrt(level + 1e-12)
            vs[t], roots[t] = v, s
            first = noise[p, t, 0]
            x += (rate - 0.5 * level) * dt + s * root_dt * first
            v += kappa * (theta - level) * dt + xi * s * root_dt * (rho * first + across * noise[p, t, 1])
        end = math.exp(x)
        if end > strike:
            total += end - strike
            x_bar, v_bar = end, 0.0
            x0_bar += end
            for t in range(steps - 1, -1, -1):
                level, s = max(vs[t], 0.0), roots[t]
                first, other = noise[p, t, 0], noise[p, t, 1]
                second = rho * first + across * other
                move = v_bar * root_dt
                xi_bar += move * s * second
                rho_bar += move * s * (first - slope * other)
                kappa_bar += v_bar * (theta - level)
                theta_bar += v_bar
                s_bar = root_dt * x_bar * first + move * xi * second
                level_bar = 0.5 * s_bar / s - (0.5 * x_bar + kappa * v_bar) * dt
                if vs[t] > 0.0:
                    v_bar += level_bar
            v0_bar += v_bar
    factor = math.exp(-rate * maturity) / paths
    rate_bar = x0_bar * maturity * factor - maturity * factor * total
    return (
        factor * total, factor * x0_bar / spot, factor * v0_bar, factor * kappa_bar * dt, factor * theta_bar * kappa * dt,
        factor * xi_bar, factor * rho_bar * xi, rate_bar,
    )  # fmt: skip


def stepped(np, root, maximum):
    def step(x, v, z, kappa, theta, xi, rho, rate, dt):
        level = maximum(v, 0.0)
        s = np.sqrt(level + 1e-12)
        second = rho * z[..., 0] + np.sqrt(1.0 - rho * rho) * z[..., 1]
        x = x + (rate - 0.5 * level) * dt + s * root(dt) * z[..., 0]
        return x, v + kappa * (theta - level) * dt + xi * s * root(dt) * second

    return step


def jax():
    """Path by path, step by step."""
    from jax import lax
    from jax import numpy as jnp

    step = stepped(jnp, jnp.sqrt, jnp.maximum)

    def run(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
        paths, steps = noise.shape[:2]
        dt = maturity / steps

        def path(p, total):
            x, _ = lax.fori_loop(0, steps, lambda t, s: step(*s, noise[p, t], kappa, theta, xi, rho, rate, dt), (jnp.log(spot), variance))
            return total + jnp.maximum(jnp.exp(x) - strike, 0.0)

        return jnp.exp(-rate * maturity) * lax.fori_loop(0, paths, path, 0.0) / paths

    return run


def jax_expert():
    """All paths at once, a scan over time."""
    from jax import lax
    from jax import numpy as jnp

    step = stepped(jnp, jnp.sqrt, jnp.maximum)

    def run(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
        paths, steps = noise.shape[:2]
        dt = maturity / steps
        start = jnp.full(paths, jnp.log(spot)), jnp.full(paths, variance)
        (x, _), _ = lax.scan(lambda s, z: (step(*s, z, kappa, theta, xi, rho, rate, dt), None), start, noise.transpose(1, 0, 2))
        return jnp.exp(-rate * maturity) * jnp.mean(jnp.maximum(jnp.exp(x) - strike, 0.0))

    return run


def looped(np, maximum):
    """All paths at once, a loop over time."""
    step = stepped(np, math.sqrt, maximum)

    def run(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
        steps = noise.shape[1]
        x, v = np.log(spot), variance
        for t in range(steps):
            x, v = step(x, v, noise[:, t], kappa, theta, xi, rho, rate, maturity / steps)
        return np.exp(-rate * maturity) * maximum(np.exp(x) - strike, 0.0).mean()

    return run


def torch():
    import torch

    return looped(torch, lambda a, b: torch.clamp(a, min=b))


def autograd():
    import autograd.numpy as anp

    step = stepped(anp, math.sqrt, anp.maximum)

    def run(spot, variance, kappa, theta, xi, rho, rate, strike, maturity, noise):
        steps = noise.shape[1]
        x, v = anp.log(spot), variance
        for t in range(steps):
            x, v = step(x, v, noise[:, t], kappa, theta, xi, rho, rate, maturity / steps)
        return anp.exp(-rate * maturity) * anp.mean(anp.maximum(anp.exp(x) - strike, 0.0))

    return run


def sizes(paths, steps):
    return lambda: (100.0, 0.04, 1.5, 0.05, 0.4, -0.6, 0.02, 95.0, 1.0, np.random.default_rng(0).standard_normal((paths, steps, 2)))


PROGRAM = Program(
    name="heston",
    function=price,
    wrt=(0, 1, 2, 3, 4, 5, 6),
    sizes={"10x10": sizes(10, 10), "1000x50": sizes(1000, 50), "20000x100": sizes(20_000, 100)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "1000x50", "torch.compile": "", "autograd": "1000x50"},
)
