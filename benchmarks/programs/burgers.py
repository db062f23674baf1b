"""A non-linear stencil: Burgers' equation in one dimension with upwind differences, matched to a final state."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def mismatch(start, target, viscosity, c, steps):
    u = start.copy()
    for t in range(steps):
        flux = 0.5 * u * u
        u[1:-1] = u[1:-1] - c * (flux[1:-1] - flux[:-2]) + viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum((u - target) ** 2)


@by_hand
def adjoint(start, target, viscosity, c, steps):
    n = start.size
    states = np.empty((steps + 1, n))
    for i in range(n):
        states[0, i] = start[i]
    for t in range(steps):
        old, new = states[t], states[t + 1]
        new[0], new[n - 1] = old[0], old[n - 1]
        for i in range(1, n - 1):
            flow = 0.5 * c * (old[i] * old[i] - old[i - 1] * old[i - 1])
            new[i] = old[i] - flow + viscosity * (old[i + 1] - 2.0 * old[i] + old[i - 1])
    value = 0.0
    bar = np.empty(n + 2)  # the cotangent of states[t], with a zero at either end
    other = np.zeros(n + 2)
    bar[0] = bar[n + 1] = 0.0
    for i in range(n):
        r = states[steps, i] - target[i]
        value += r * r
        bar[i + 1] = 2.0 * r
    target_bar = -bar[1 : n + 1]
    viscosity_bar = 0.0
    for t in range(steps - 1, -1, -1):
        old = states[t]
        first, last = bar[1], bar[n]
        bar[1] = bar[n] = 0.0  # the ends are copied: no stencil writes them
        for i in range(1, n - 1):
            viscosity_bar += bar[i + 1] * (old[i + 1] - 2.0 * old[i] + old[i - 1])
        for i in range(n):
            here = bar[i + 1] * (1.0 - 2.0 * viscosity)
            other[i + 1] = here + viscosity * (bar[i] + bar[i + 2]) + c * old[i] * (bar[i + 2] - bar[i + 1])
        other[1] += first
        other[n] += last
        bar, other = other, bar
    return value, bar[1 : n + 1].copy(), target_bar, viscosity_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(start, target, viscosity, c, steps):
        def step(t, u):
            flux = 0.5 * u * u
            return u.at[1:-1].set(u[1:-1] - c * (flux[1:-1] - flux[:-2]) + viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2]))

        return jnp.sum((lax.fori_loop(0, steps, step, start) - target) ** 2)

    return run


def jax_expert():
    """Padding instead of a scattered update."""
    from jax import lax
    from jax import numpy as jnp

    def run(start, target, viscosity, c, steps):
        inner = jnp.zeros(start.shape, bool).at[1:-1].set(True)

        def step(u, _):
            left, right = jnp.roll(u, 1), jnp.roll(u, -1)
            new = u - 0.5 * c * (u * u - left * left) + viscosity * (right - 2.0 * u + left)
            return jnp.where(inner, new, start), None

        return jnp.sum((lax.scan(step, start, None, length=steps)[0] - target) ** 2)

    return run


def torch():
    def run(start, target, viscosity, c, steps):
        u = start
        for _ in range(steps):
            flux = 0.5 * u * u
            new = u.clone()
            new[1:-1] = u[1:-1] - c * (flux[1:-1] - flux[:-2]) + viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u = new
        return ((u - target) ** 2).sum()

    return run


def autograd():
    import autograd.numpy as anp

    def run(start, target, viscosity, c, steps):
        u = start
        for _ in range(steps):
            flux = 0.5 * u * u
            new = u[1:-1] - c * (flux[1:-1] - flux[:-2]) + viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            u = anp.concatenate((u[:1], new, u[-1:]))
        return anp.sum((u - target) ** 2)

    return run


def sizes(steps, n):
    def inputs():
        x = np.linspace(0.0, 1.0, n)
        return 1.0 + 0.5 * np.sin(6.283 * x), np.cos(3.0 * x), 0.2, 0.1, steps

    return inputs


PROGRAM = Program(
    name="burgers",
    function=mismatch,
    wrt=(0, 1, 2),
    sizes={"20x50": sizes(20, 50), "500x1000": sizes(500, 1000), "1000x10000": sizes(1000, 10_000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "20x50", "autograd": "500x1000"},
)
