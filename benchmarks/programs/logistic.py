"""A scalar loop of known length: the logistic map at its first bifurcation, where derivatives neither explode nor underflow."""

import numpy as np

from benchmarks.hand import strict
from benchmarks.program import Program


def logistic(r, x, n):
    for i in range(n):
        x = r * x * (1.0 - x)
    return x


@strict
def adjoint(r, x, n):
    xs = np.empty(n)
    for i in range(n):
        xs[i] = x
        x = r * x * (1.0 - x)
    r_bar, x_bar = 0.0, 1.0
    for i in range(n - 1, -1, -1):
        old = xs[i]
        r_bar += x_bar * (old * (1.0 - old))
        x_bar *= r * (1.0 - 2.0 * old)
    return x, r_bar, x_bar


def jax():
    from jax import lax

    return lambda r, x, n: lax.fori_loop(0, n, lambda i, x: r * x * (1.0 - x), x)


def jax_expert():
    from jax import lax

    def run(r, x, n):
        return lax.scan(lambda x, _: (r * x * (1.0 - x), None), x, None, length=n, unroll=8)[0]

    return run


def same():
    return logistic


def sizes(n):
    return lambda: (3.0, 0.2, n)


PROGRAM = Program(
    name="logistic",
    function=logistic,
    wrt=(0, 1),
    sizes={"1e2": sizes(100), "1e4": sizes(10_000), "1e6": sizes(1_000_000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=same,
    autograd=same,
    upto={"torch": "1e4", "torch.compile": "1e2", "autograd": "1e4"},
)
