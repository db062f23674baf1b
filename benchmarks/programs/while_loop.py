"""A `while` of unknown length: quadratic decay until a threshold."""

import numpy as np

from benchmarks.hand import strict
from benchmarks.program import Program


def decay(x, rate, threshold):
    while x > threshold:
        x = x - rate * x * x
    return x


@strict
def adjoint(x, rate, threshold):
    """A list of fixed blocks, with a strip-mined inner loop."""
    blocks = [np.empty(4096)]
    last = 0
    while True:
        block = blocks[-1]
        last = 0
        while x > threshold and last < 4096:
            block[last] = x
            x = x - rate * x * x
            last += 1
        if x <= threshold:
            break
        blocks.append(np.empty(4096))
    rate_bar, x_bar = 0.0, 1.0
    for b in range(len(blocks) - 1, -1, -1):
        block = blocks[b]
        for i in range(last - 1, -1, -1):
            old = block[i]
            rate_bar -= x_bar * old * old
            x_bar *= 1.0 - 2.0 * rate * old
        last = 4096
    return x, x_bar, rate_bar


def jax_expert():
    """JAX has no reverse mode of `while_loop`: a scan of a known number of steps that stops moving."""
    from jax import lax
    from jax import numpy as jnp

    def run(x, rate, threshold):
        return lax.scan(lambda x, _: (jnp.where(x > threshold, x - rate * x * x, x), None), x, None, length=BOUND)[0]

    return run


def same():
    return decay


BOUND = 0  # steps that are certainly enough, for a scan


def sizes(threshold):
    def inputs():
        global BOUND
        BOUND = int(1.1 / threshold)
        return 0.5, 1.0, threshold

    return inputs


PROGRAM = Program(
    name="while_loop",
    function=decay,
    wrt=(0, 1),
    sizes={"1e2": sizes(1e-2), "1e4": sizes(1e-4), "1e6": sizes(1e-6)},
    by_hand=adjoint,
    jax_expert=jax_expert,
    torch=same,
    autograd=same,
    upto={"torch": "1e2", "torch.compile": "", "autograd": "1e2"},
)
