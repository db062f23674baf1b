"""`tf.linalg`: decompositions, solvers and parts of matrices, batched over leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad.eager import ops_math
from stgrad.eager.calling import check_kind, pair, run, static
from stgrad.eager.convert import convert_to_tensor
from stgrad.eager.dispatch import apply
from stgrad.eager.errors import InvalidArgumentError
from stgrad.eager.indexing import PUT
from stgrad.eager.ops_array import eye
from stgrad.eager.ops_products import cross, einsum, global_norm, l2_normalize, matmul, matvec, norm, normalize, tensordot
from stgrad.eager.ops_reduce import reduce_sum
from stgrad.eager.tensor import Tensor

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eig", "eigh", "eigvals",
    "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "lstsq", "lu", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "sqrtm", "svd",
    "tensor_diag", "tensor_diag_part", "tensordot", "trace", "triangular_solve",
]  # fmt: skip


def _matrix(x: Any, name: str, square: bool = False) -> Tensor:
    t = convert_to_tensor(x)
    check_kind(t, "fc", name)
    if t._a.ndim < 2:
        raise InvalidArgumentError(f"Input tensor {0} must have rank >= 2, got {t._a.ndim}", name)
    if square and t._a.shape[-1] != t._a.shape[-2]:
        raise InvalidArgumentError(f"Input matrix must be square, got shape {list(t._a.shape)}", name)
    return t


def det(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Determinants."""
    return run(np.linalg.det, _matrix(input, "MatrixDeterminant", True))


def slogdet(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """Signs and logarithms of the absolute values of determinants."""
    return tuple(run(np.linalg.slogdet, _matrix(input, "LogMatrixDeterminant", True)))


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """log det of positive definite matrices."""
    diagonal = ops_math.real(diag_part(cholesky(matrix)))
    return reduce_sum(ops_math.log(diagonal), axis=-1) * 2.0


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Inverses."""
    t = _matrix(input, "MatrixInverse", True)
    y = run(np.linalg.inv, t)
    return _adjoint(y) if adjoint else y


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X with matrix X = rhs, where `rhs` holds columns."""
    a, b = pair(_matrix(matrix, "MatrixSolve", True), rhs, "MatrixSolve")
    _matrix(b, "MatrixSolve")
    return run(np.linalg.solve, _adjoint(a) if adjoint else a, b)


def _adjoint(t: Tensor) -> Any:
    return ops_math.conj(run(np.swapaxes, t, -1, -2))


adjoint = _adjoint


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes exchanged."""
    t = convert_to_tensor(a)
    return _adjoint(t) if conjugate else run(np.swapaxes, t, -1, -2)


def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X with T X = rhs, T the lower (or upper) triangle of the matrix."""
    a, b = pair(_matrix(matrix, "MatrixTriangularSolve", True), rhs, "MatrixTriangularSolve")
    triangle = run(np.tril if lower else np.triu, a)
    return run(np.linalg.solve, _adjoint(triangle) if adjoint else triangle, b)


def cholesky(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """L with L L^H = input; the lower triangle is read."""
    t = _matrix(input, "Cholesky", True)
    try:
        return run(np.linalg.cholesky, t)
    except InvalidArgumentError:  # as TensorFlow on the CPU: NaN instead of an error
        return Tensor(np.tril(np.full_like(t._a, np.nan)))


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """X with L L^H X = rhs."""
    factor = convert_to_tensor(chol)
    return triangular_solve(factor, triangular_solve(factor, rhs), adjoint=True)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """Q and R with Q R = input."""
    q, r = run(np.linalg.qr, _matrix(input, "Qr"), "complete" if full_matrices else "reduced")
    return q, r


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values s, and u, v with u diag(s) v^H = tensor."""
    t = _matrix(tensor, "Svd")
    if not compute_uv:
        return run(np.linalg.svd, t, full_matrices=False, compute_uv=False)
    u, s, vh = run(np.linalg.svd, t, full_matrices=full_matrices)
    return s, u, _adjoint(vh)


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of self-adjoint matrices."""
    t = _matrix(tensor, "SelfAdjointEigV2", True)
    w, v = run(np.linalg.eigh, run(np.tril, t) + _adjoint(run(np.tril, t, -1)))  # only the lower triangle is read
    return w, v


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues of self-adjoint matrices."""
    return eigh(tensor)[0]


def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors; complex."""
    t = _matrix(tensor, "Eig", True)
    w, v = run(np.linalg.eig, ops_math.cast(t, np.complex64 if t._a.dtype.itemsize == 4 else np.complex128))
    return w, v


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues; complex."""
    return eig(tensor)[0]


def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None) -> Tensor:
    """The least-squares solution, by the normal equations."""
    a, b = pair(matrix, rhs, "MatrixSolveLs")
    rows, columns = a._a.shape[-2:]
    ah, small = _adjoint(a), min(rows, columns)
    ridge = Tensor((l2_regularizer * np.eye(small)).astype(a._a.dtype))
    if rows >= columns:
        return solve(matmul(ah, a) + ridge, matmul(ah, b))
    return matmul(ah, solve(matmul(a, ah) + ridge, b))


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse."""
    return run(np.linalg.pinv, _matrix(a, "Pinv"))


def expm(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The matrix exponential, by scaling and squaring with a Padé approximant (Higham 2005, degree 7)."""
    t = _matrix(input, "Expm", True)
    squarings = max(0, int(np.ceil(np.log2(max(np.max(np.sum(np.abs(t._a), axis=-2), initial=0.0), 1e-30) / 0.95))))
    a = t / float(2**squarings)
    one = Tensor(np.broadcast_to(np.eye(t._a.shape[-1], dtype=t._a.dtype), t._a.shape))
    a2 = matmul(a, a)
    a4, b = matmul(a2, a2), (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
    a6 = matmul(a4, a2)
    odd = matmul(a, a6 * b[7] + a4 * b[5] + a2 * b[3] + one * b[1])
    even = a6 * b[6] + a4 * b[4] + a2 * b[2] + one * b[0]
    y = solve(even - odd, even + odd)
    for _ in range(squarings):
        y = matmul(y, y)
    return y


def sqrtm(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The principal square root of symmetric positive semidefinite matrices."""
    w, v = eigh(input)
    return matmul(v * run(np.expand_dims, ops_math.sqrt(w), -2), v, adjoint_b=True)


def lu(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:  # noqa: A002
    """L and U in one matrix, and the permutation; no derivative."""
    import scipy.linalg

    packed, pivots = scipy.linalg.lu_factor(_matrix(input, "Lu", True)._a)
    order = np.arange(len(pivots))
    for i, p in enumerate(pivots):
        order[[i, p]] = order[[p, i]]
    return Tensor(packed), Tensor(order.astype(np.int32))


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values are above the tolerance."""
    return Tensor(np.int32(np.linalg.matrix_rank(_matrix(a, "MatrixRank")._a, tol)))


# ------------------------------------------------------------------ diagonals and triangles


def diag(diagonal: Any, name: str = "diag", k: int = 0) -> Tensor:
    """Matrices with the last axis on their diagonals."""
    t = convert_to_tensor(diagonal)
    n = t._a.shape[-1] + abs(k)
    rows = np.arange(t._a.shape[-1])
    index = (Ellipsis, rows + max(-k, 0), rows + max(k, 0))
    return apply(PUT, (t, index, (*t._a.shape[:-1], n, n)))


def diag_part(input: Any, name: str = "diag_part", k: int = 0) -> Tensor:  # noqa: A002
    """The diagonals of matrices."""
    return run(np.diagonal, _any_matrix(input), k, -2, -1)


def _any_matrix(x: Any) -> Tensor:
    t = convert_to_tensor(x)
    if t._a.ndim < 2:
        raise InvalidArgumentError(f"input must be at least 2-dim, received shape: {list(t._a.shape)}", "MatrixDiagPartV3")
    return t


def set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: int = 0) -> Tensor:  # noqa: A002
    """Matrices with another main diagonal."""
    a, d = pair(input, diagonal, "MatrixSetDiag")
    on = np.eye(*a._a.shape[-2:], dtype=bool)
    columns = a._a.shape[-1]
    wide = run(np.expand_dims, d, -1) if d._a.shape[-1] == a._a.shape[-2] else run(np.expand_dims, d, -2)
    return run(np.where, Tensor(np.broadcast_to(on, a._a.shape)), run(np.broadcast_to, wide, (*a._a.shape[:-1], columns)), a)


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """Matrices with only so many diagonals below and above the main one; -1 keeps all."""
    t, low, high = _any_matrix(input), static(num_lower), static(num_upper)
    distance = np.arange(t._a.shape[-2])[:, None] - np.arange(t._a.shape[-1])
    band = ((low < 0) | (distance <= low)) & ((high < 0) | (-distance <= high))
    return run(np.where, Tensor(np.broadcast_to(band, t._a.shape)), t, Tensor(t._a.dtype.type(0)))


def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor of twice the rank with the elements on its diagonal."""
    t = convert_to_tensor(diagonal)
    flat = run(np.diag, run(np.reshape, t, (-1,)))
    return run(np.reshape, flat, (*t._a.shape, *t._a.shape))


def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The diagonal of a tensor of even rank."""
    t = convert_to_tensor(input)
    shape = t._a.shape[: t._a.ndim // 2]
    n = int(np.prod(shape))
    return run(np.reshape, run(np.diagonal, run(np.reshape, t, (n, n))), shape)


def trace(x: Any, name: str | None = None) -> Tensor:
    """Sums of diagonals."""
    return reduce_sum(diag_part(x), axis=-1)
