"""Gradients of plain Python and NumPy functions: readable adjoint source, compiled with Numba."""

from stgrad.api import cfunc, compile, custom_gradient, grad, jit, stop_gradient, value_and_grad
from stgrad.batches import vmap
from stgrad.differentials import elementwise_grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, vjp

__version__ = "0.1.0"
__all__ = [
    "cfunc", "compile", "custom_gradient", "elementwise_grad", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "linearize", "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
