"""Gradients of plain Python and NumPy functions: readable adjoint source, compiled with Numba."""

from stgrad.api import cfunc, compile, grad, jit, value_and_grad
from stgrad.batches import batch_jacobian, vmap
from stgrad.budgets import Budget
from stgrad.calls.flat import flatten
from stgrad.checkpoints import checkpoint, checkpointed
from stgrad.differentials import elementwise_grad, hessian, jacfwd, jacobian, jacrev, linearize, vjp
from stgrad.directional import hvp, jvp
from stgrad.hooks import custom_gradient, custom_jvp, custom_vjp, insert_grad_of, stop_gradient
from stgrad.implicit import custom_linear_solve, custom_root, fixed_point
from stgrad.profiling import profile
from stgrad.registered import register_gradient
from stgrad.sparse import sparse_hessian, sparse_jacobian, sparsity
from stgrad.standalone import build
from stgrad.taylor import jet

__version__ = "0.2.0"
__all__ = [
    "batch_jacobian", "build", "cfunc", "compile", "elementwise_grad", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jet", "jit", "jvp",
    "linearize", "value_and_grad", "vjp", "vmap",
    "Budget", "checkpoint", "checkpointed",
    "custom_gradient", "custom_jvp", "custom_linear_solve", "custom_root", "custom_vjp", "fixed_point", "insert_grad_of", "register_gradient", "stop_gradient",
    "flatten", "profile", "sparse_hessian", "sparse_jacobian", "sparsity",
]  # fmt: skip
