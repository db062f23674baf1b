"""Gauss-Seidel smoothing in place: each cell reads neighbours that are already new (PolyBench's seidel-2d)."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def seidel(start, steps):
    A = start.copy()
    n = A.shape[0]
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
    return np.sum(A * A)


@by_hand
def adjoint(start, steps):
    """Each sweep backwards, gathering: the chain through the row is carried in registers."""
    A = start.copy()
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            left = A[i, 0]
            for j in range(1, n - 1):
                others = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                )
                left = (others + left) / 9.0
                A[i, j] = left
    value = 0.0
    A_bar = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            value += A[i, j] * A[i, j]
            A_bar[i, j] = 2.0 * A[i, j]
    row = np.zeros(n + 2)
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            carried = 0.0
            for j in range(n - 2, 0, -1):
                carried = (A_bar[i, j] + carried) * (1.0 / 9.0)
                row[j + 1] = carried
            for j in range(n):
                both = row[j + 2] + row[j + 1] + row[j]
                A_bar[i - 1, j] += both
                A_bar[i + 1, j] += both
            for j in range(1, n - 1):
                A_bar[i, j] = row[j + 1] + row[j]
            A_bar[i, 0] += row[2]
            A_bar[i, n - 1] += row[n - 1]
    return value, A_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def run(start, steps):
        n = start.shape[0]

        def cell(j, state):
            A, i = state
            window = lax.dynamic_slice(A, (i - 1, j - 1), (3, 3))
            return A.at[i, j].set(jnp.sum(window) / 9.0), i

        def row(i, A):
            return lax.fori_loop(1, n - 1, cell, (A, i))[0]

        A = lax.fori_loop(0, steps, lambda t, A: lax.fori_loop(1, n - 1, row, A), start)
        return jnp.sum(A * A)

    return run


def jax_expert():
    """Row by row: what is known beforehand as vectors, then a linear recurrence along the row by `associative_scan`."""
    from jax import lax
    from jax import numpy as jnp

    def run(start, steps):
        n = start.shape[0]
        ninth = jnp.full(n - 2, 1.0 / 9.0).at[0].set(0.0)

        def row(above, rows):
            here, below = rows
            known = above[:-2] + above[1:-1] + above[2:] + here[1:-1] + here[2:] + below[:-2] + below[1:-1] + below[2:]
            known = known.at[0].add(here[0]) / 9.0
            _, new = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (ninth, known))
            new = jnp.concatenate((here[:1], new, here[-1:]))
            return new, new

        def sweep(A, _):
            _, inner = lax.scan(row, A[0], (A[1:-1], A[2:]))
            return jnp.concatenate((A[:1], inner, A[-1:])), None

        A, _ = lax.scan(sweep, start, None, length=steps)
        return jnp.sum(A * A)

    return run


def sizes(steps, n):
    return lambda: (np.random.default_rng(0).random((n, n)), steps)


PROGRAM = Program(
    name="seidel_2d",
    function=seidel,
    wrt=(0,),
    sizes={"4x12²": sizes(4, 12), "20x100²": sizes(20, 100), "20x400²": sizes(20, 400)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    upto={"jax": "4x12²"},
)
