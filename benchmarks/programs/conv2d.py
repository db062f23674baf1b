"""A convolution of images written as loops, a rectifier and a squared sum; differentiated in the kernel, the bias and the image."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def activity(image, kernel, bias):
    height, width, inputs = image.shape
    size, _, _, outputs = kernel.shape
    total = 0.0
    out = np.empty(outputs)
    for i in range(height - size + 1):
        for j in range(width - size + 1):
            for o in range(outputs):
                out[o] = bias[o]
            for a in range(size):
                for b in range(size):
                    for c in range(inputs):
                        for o in range(outputs):
                            out[o] += image[i + a, j + b, c] * kernel[a, b, c, o]
            for o in range(outputs):
                active = max(out[o], 0.0)
                total += active * active
    return total


@by_hand
def adjoint(image, kernel, bias):
    """Forward and reverse pixel by pixel; nothing is kept."""
    height, width, inputs = image.shape
    size, _, _, outputs = kernel.shape
    out = np.empty(outputs)
    image_bar, kernel_bar, bias_bar = np.zeros(image.shape), np.zeros(kernel.shape), np.zeros(outputs)
    total = 0.0
    for i in range(height - size + 1):
        for j in range(width - size + 1):
            for o in range(outputs):
                out[o] = bias[o]
            for a in range(size):
                for b in range(size):
                    for c in range(inputs):
                        x = image[i + a, j + b, c]
                        for o in range(outputs):
                            out[o] += x * kernel[a, b, c, o]
            for o in range(outputs):
                active = max(out[o], 0.0)
                total += active * active
                out[o] = 2.0 * active
                bias_bar[o] += 2.0 * active
            for a in range(size):
                for b in range(size):
                    for c in range(inputs):
                        x, x_bar = image[i + a, j + b, c], 0.0
                        for o in range(outputs):
                            x_bar += out[o] * kernel[a, b, c, o]
                            kernel_bar[a, b, c, o] += out[o] * x
                        image_bar[i + a, j + b, c] += x_bar
    return total, image_bar, kernel_bar, bias_bar


def jax():
    """Loops over pixels; the innermost ones as one product."""
    from jax import lax
    from jax import numpy as jnp

    def run(image, kernel, bias):
        height, width, inputs = image.shape
        size, _, _, outputs = kernel.shape
        columns = width - size + 1

        def pixel(k, total):
            patch = lax.dynamic_slice(image, (k // columns, k % columns, 0), (size, size, inputs))
            active = jnp.maximum(jnp.tensordot(patch, kernel, 3) + bias, 0.0)
            return total + jnp.sum(active * active)

        return lax.fori_loop(0, (height - size + 1) * columns, pixel, 0.0)

    return run


def jax_expert():
    from jax import lax
    from jax import numpy as jnp

    def run(image, kernel, bias):
        out = lax.conv_general_dilated(image[None], kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        active = jnp.maximum(out + bias, 0.0)
        return jnp.sum(active * active)

    return run


def torch():
    from torch.nn.functional import conv2d, relu

    def run(image, kernel, bias):
        active = relu(conv2d(image.permute(2, 0, 1)[None], kernel.permute(3, 2, 0, 1), bias))
        return (active * active).sum()

    return run


def autograd():
    """Shifted images times slices of the kernel."""
    import autograd.numpy as anp

    def run(image, kernel, bias):
        size = kernel.shape[0]
        rows, columns = image.shape[0] - size + 1, image.shape[1] - size + 1
        out = bias
        for a in range(size):
            for b in range(size):
                out = out + anp.dot(image[a : a + rows, b : b + columns], kernel[a, b])
        active = anp.maximum(out, 0.0)
        return anp.sum(active * active)

    return run


def sizes(n, inputs, outputs):
    def make():
        rng = np.random.default_rng(0)
        return rng.standard_normal((n, n, inputs)), rng.standard_normal((3, 3, inputs, outputs)) * 0.2, rng.standard_normal(outputs)

    return make


PROGRAM = Program(
    name="conv2d",
    function=activity,
    wrt=(0, 1, 2),
    sizes={"8² 2-4": sizes(8, 2, 4), "32² 8-16": sizes(32, 8, 16), "128² 8-32": sizes(128, 8, 32)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"jax": "32² 8-16"},
)
