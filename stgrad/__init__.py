"""Gradients of plain Python and NumPy functions: readable adjoint source, compiled with Numba."""

from stgrad.api import (
    cfunc,
    compile,
    custom_gradient,
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
)

__version__ = "0.1.0"
__all__ = [
    "cfunc", "compile", "custom_gradient", "elementwise_grad", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip
