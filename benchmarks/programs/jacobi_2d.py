"""A linear five-point stencil in two alternating arrays, written with slices as in NPBench."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def jacobi(start, steps):
    A = start.copy()
    B = start.copy()
    for t in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A)


@by_hand
def smooth(A, B):
    n, m = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])


@by_hand
def smooth_adjoint(A_bar, B_bar, w):
    """`w` is a workspace of shape (n + 2, m + 2), zero in its two outer rings."""
    n, m = A_bar.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            w[i + 1, j + 1] = 0.2 * B_bar[i, j]
            B_bar[i, j] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            A_bar[i - 1, j - 1] += w[i, j] + w[i, j - 1] + w[i, j + 1] + w[i - 1, j] + w[i + 1, j]


@by_hand
def adjoint(start, steps):
    n, m = start.shape
    A, B = start.copy(), start.copy()
    for _ in range(steps):
        smooth(A, B)
        smooth(B, A)
    value = 0.0
    A_bar = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            value += A[i, j] * A[i, j]
            A_bar[i, j] = 2.0 * A[i, j]
    B_bar = np.zeros((n, m))
    w = np.zeros((n + 2, m + 2))
    for _ in range(steps):
        smooth_adjoint(B_bar, A_bar, w)
        smooth_adjoint(A_bar, B_bar, w)
    for i in range(n):
        for j in range(m):
            A_bar[i, j] += B_bar[i, j]
    return value, A_bar


def jax():
    from jax import lax
    from jax import numpy as jnp

    def step(t, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]))
        A = A.at[1:-1, 1:-1].set(0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]))
        return A, B

    def run(start, steps):
        A, _ = lax.fori_loop(0, steps, step, (start, start))
        return jnp.sum(A * A)

    return run


def jax_expert():
    """Padding instead of scattered updates, as XLA fuses it, and one array instead of two."""
    from jax import lax
    from jax import numpy as jnp

    def run(start, steps):
        inner = jnp.zeros(start.shape, bool).at[1:-1, 1:-1].set(True)

        def smooth(A):
            P = jnp.pad(A, 1)
            new = 0.2 * (A + P[1:-1, :-2] + P[1:-1, 2:] + P[2:, 1:-1] + P[:-2, 1:-1])
            return jnp.where(inner, new, start)

        A, _ = lax.scan(lambda A, _: (smooth(smooth(A)), None), start, None, length=steps)
        return jnp.sum(A * A)

    return run


def torch():
    def smooth(A, B):
        B = B.clone()
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
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
        inner = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        return anp.concatenate((A[:1], anp.concatenate((A[1:-1, :1], inner, A[1:-1, -1:]), axis=1), A[-1:]))

    def run(start, steps):
        A = start
        for _ in range(2 * steps):
            A = smooth(A)
        return anp.sum(A * A)

    return run


def sizes(steps, n):
    return lambda: (np.random.default_rng(0).random((n, n)), steps)


PROGRAM = Program(
    name="jacobi_2d",
    function=jacobi,
    wrt=(0,),
    sizes={"10x20²": sizes(10, 20), "50x150²": sizes(50, 150), "40x350²": sizes(40, 350)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "10x20²", "autograd": "50x150²"},
)
