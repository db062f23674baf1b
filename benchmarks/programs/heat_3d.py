"""A linear seven-point stencil in three dimensions, in two alternating arrays (NPBench)."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def heat(start, steps):
    A = start.copy()
    B = start.copy()
    for t in range(steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )
    return np.sum(A * A)


@by_hand
def smooth(A, B):
    n, m, o = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(1, o - 1):
                around = A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k] + A[i, j, k + 1] + A[i, j, k - 1]
                B[i, j, k] = 0.125 * around + 0.25 * A[i, j, k]


@by_hand
def smooth_adjoint(A_bar, B_bar, w):
    """`w` is a workspace with two more cells on every axis, zero in its two outer layers."""
    n, m, o = A_bar.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(1, o - 1):
                w[i + 1, j + 1, k + 1] = 0.125 * B_bar[i, j, k]
                B_bar[i, j, k] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            for k in range(1, o + 1):
                around = w[i + 1, j, k] + w[i - 1, j, k] + w[i, j + 1, k] + w[i, j - 1, k] + w[i, j, k + 1] + w[i, j, k - 1]
                A_bar[i - 1, j - 1, k - 1] += around + 2.0 * w[i, j, k]


@by_hand
def adjoint(start, steps):
    n, m, o = start.shape
    A, B = start.copy(), start.copy()
    for _ in range(steps):
        smooth(A, B)
        smooth(B, A)
    value = 0.0
    A_bar = np.empty((n, m, o))
    for i in range(n):
        for j in range(m):
            for k in range(o):
                value += A[i, j, k] * A[i, j, k]
                A_bar[i, j, k] = 2.0 * A[i, j, k]
    B_bar = np.zeros((n, m, o))
    w = np.zeros((n + 2, m + 2, o + 2))
    for _ in range(steps):
        smooth_adjoint(B_bar, A_bar, w)
        smooth_adjoint(A_bar, B_bar, w)
    for i in range(n):
        for j in range(m):
            for k in range(o):
                A_bar[i, j, k] += B_bar[i, j, k]
    return value, A_bar


def inside(A):
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
        + A[1:-1, 1:-1, 1:-1]
    )


def jax():
    from jax import lax
    from jax import numpy as jnp

    def step(t, state):
        A, B = state
        B = B.at[1:-1, 1:-1, 1:-1].set(inside(A))
        A = A.at[1:-1, 1:-1, 1:-1].set(inside(B))
        return A, B

    def run(start, steps):
        A, _ = lax.fori_loop(0, steps, step, (start, start))
        return jnp.sum(A * A)

    return run


def jax_expert():
    """Padding instead of scattered updates, and one array instead of two."""
    from jax import lax
    from jax import numpy as jnp

    def run(start, steps):
        inner = jnp.zeros(start.shape, bool).at[1:-1, 1:-1, 1:-1].set(True)

        def smooth(A):
            return jnp.where(inner, inside(jnp.pad(A, 1)), start)

        A, _ = lax.scan(lambda A, _: (smooth(smooth(A)), None), start, None, length=steps)
        return jnp.sum(A * A)

    return run


def torch():
    def smooth(A, B):
        B = B.clone()
        B[1:-1, 1:-1, 1:-1] = inside(A)
        return B

    def run(start, steps):
        A = B = start
        for _ in range(steps):
            B = smooth(A, B)
            A = smooth(B, A)
        return (A * A).sum()

    return run


def autograd():
    """No writes into arrays in autograd: borders are put around each new inside."""
    import autograd.numpy as anp

    def smooth(A):
        new = inside(A)
        for axis in (2, 1, 0):
            inner = tuple([slice(1, -1)] * axis)
            first, last = A[(*inner, slice(0, 1))], A[(*inner, slice(-1, None))]
            new = anp.concatenate((first, new, last), axis=axis)
        return new

    def run(start, steps):
        A = start
        for _ in range(2 * steps):
            A = smooth(A)
        return anp.sum(A * A)

    return run


def sizes(steps, n):
    return lambda: (np.random.default_rng(0).random((n, n, n)), steps)


PROGRAM = Program(
    name="heat_3d",
    function=heat,
    wrt=(0,),
    sizes={"5x10³": sizes(5, 10), "20x40³": sizes(20, 40), "20x100³": sizes(20, 100)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "5x10³", "autograd": "20x40³"},
)
