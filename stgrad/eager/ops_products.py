"""Products of tensors, norms and clipping by their TensorFlow names."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import operators, ops_math
from stgrad.eager.calling import check_kind, pair, run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import bind, compute
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.ops_reduce import reduce_max, reduce_sum
from stgrad.eager.tensor import Tensor

_MATMUL = bind(np.matmul)


def _turn(t: Tensor, adjoint: bool) -> Any:
    turned = run(np.swapaxes, t, -1, -2)
    return ops_math.conj(turned) if adjoint else turned


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False,
    a_is_sparse: bool = False, b_is_sparse: bool = False, output_type: Any = None, grad_a: bool = False, grad_b: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The product of matrices, batched over leading axes."""
    x, y = pair(a, b, "MatMul")
    if x._a.ndim < 2 or y._a.ndim < 2:
        raise InvalidArgumentError(f"In[{int(x._a.ndim >= 2)}] ndims must be >= 2", "MatMul")
    if transpose_a or adjoint_a:
        x = _turn(x, adjoint_a)
    if transpose_b or adjoint_b:
        y = _turn(y, adjoint_b)
    if x._a.shape[-1] != y._a.shape[-2]:
        raise InvalidArgumentError(f"Matrix size-incompatible: In[0]: {_dims(x)}, In[1]: {_dims(y)}", "MatMul")
    if x._a.ndim == y._a.ndim == 2:
        return compute(_MATMUL, np.matmul, (x, y))
    return run(np.matmul, x, y)


operators.PRODUCT.append(matmul)


def _dims(t: Tensor) -> str:
    return str(list(t._a.shape)).replace(" ", "")


def matvec(a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None) -> Tensor:
    """Matrix times vector, batched."""
    product = matmul(a, run(np.expand_dims, convert_to_tensor(b), -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return run(np.squeeze, product, axis=-1)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum over paired axes of an outer product."""
    x, y = pair(a, b, "Tensordot")
    return run(np.tensordot, x, y, axes=static(axes))


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Einstein summation."""
    first = convert_to_tensor(inputs[0])
    operands = [pair(first, x, "Einsum")[1] for x in inputs]
    return run(np.einsum, equation.replace(" ", ""), *operands)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of 3-vectors on the last axis."""
    return run(np.cross, *pair(a, b, "Cross"))


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Vector norms over one axis, or all; matrix norms over two. The derivative of the 2-norm at 0 is nan, as in TensorFlow."""
    t = convert_to_tensor(tensor)
    check_kind(t, "fc", "Norm")
    over = static(axis)
    if isinstance(over, tuple) and len(over) == 2 and ord not in ("euclidean", "fro"):
        return _matrix_norm(t, ord, over, keepdims)
    if ord in ("euclidean", "fro", 2, 2.0):
        return ops_math.sqrt(reduce_sum(ops_math.real(t * ops_math.conj(t)), over, keepdims))
    size = ops_math.abs(t)
    if ord == 1:
        return reduce_sum(size, over, keepdims)
    if ord == np.inf:
        return reduce_max(size, over, keepdims)
    if isinstance(ord, str) or ord <= 0:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return ops_math.pow(reduce_sum(ops_math.pow(size, ord), over, keepdims), 1.0 / ord)


def _matrix_norm(t: Tensor, ord: Any, over: tuple[int, ...], keepdims: bool) -> Tensor:  # noqa: A002
    rows, columns = (i % t._a.ndim for i in over)
    if ord in (1, np.inf):
        summed, kept = (rows, columns) if ord == 1 else (columns, rows)
        y = reduce_max(reduce_sum(ops_math.abs(t), summed, True), kept, True)
    elif ord == 2:
        moved = run(np.moveaxis, t, (rows, columns), (-2, -1))
        y = reduce_max(run(_singular_values, moved), -1)
        return run(np.expand_dims, y, tuple(sorted((rows, columns)))) if keepdims else y
    else:
        raise ValueError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, np.inf], got {ord}")
    return y if keepdims else run(np.squeeze, y, axis=(rows, columns))


def _singular_values(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """x / sqrt(max(sum(x²), epsilon))."""
    t = convert_to_tensor(x)
    return t * ops_math.rsqrt(ops_math.maximum(reduce_sum(ops_math.square(t), axis, keepdims=True), epsilon))


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """The tensor over its norm, and the norm."""
    length = norm(tensor, ord, axis, keepdims=True)
    return convert_to_tensor(tensor) / length, length


# ------------------------------------------------------------------ clipping


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """Clipped to a range; the derivative passes on its borders."""
    x, low = pair(t, clip_value_min, "ClipByValue")
    high = pair(x, clip_value_max, "ClipByValue")[1]
    return run(np.clip, x, low, high)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Scaled down to a norm of at most `clip_norm`."""
    x = convert_to_tensor(t)
    clip = convert_to_tensor(clip_norm, dtype_hint=x.dtype)
    squares = reduce_sum(x * x, axes, keepdims=True)
    positive = Tensor(squares._a > 0)
    safe = run(np.where, positive, squares, Tensor(np.ones_like(squares._a)))
    length = run(np.where, positive, ops_math.sqrt(safe), squares)
    return x * clip / ops_math.maximum(length, clip)


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The 2-norm of all tensors together; None entries are left out."""
    halves = [reduce_sum(ops_math.square(convert_to_tensor(t))) for t in t_list if t is not None]
    if not halves:
        return Tensor(np.float32(0))
    return ops_math.sqrt(ops_math.add_n(halves))


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> tuple[list[Any], Any]:
    """All tensors scaled by one factor, so that their common norm is at most `clip_norm`; and that norm."""
    if isinstance(t_list, Tensor):
        raise TypeError("`t_list` should be a sequence of tensors")
    length = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    one = Tensor(length._a.dtype.type(1))
    scale = clip_norm * ops_math.minimum(one / length, one / clip_norm)
    if not np.isfinite(length._a):
        scale = scale + Tensor(length._a.dtype.type(np.nan))
    return [None if t is None else convert_to_tensor(t) * scale for t in t_list], length
