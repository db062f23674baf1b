"""Matrices."""

from __future__ import annotations

import numpy as np

from stgrad.eager.translations.bodies import body
from stgrad.frontend.library import refuse


@body("linalg.solve")
def solve(matrix, rhs, adjoint=False, name=None):  # type: ignore[no-untyped-def]
    return np.linalg.solve(np.swapaxes(matrix, -1, -2) if adjoint else matrix, rhs)


@body("linalg.inv")
def inv(input, adjoint=False, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    y = np.linalg.inv(input)
    return np.swapaxes(y, -1, -2) if adjoint else y


@body("linalg.det")
def det(input, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.linalg.det(input)


@body("linalg.cholesky")
def cholesky(input, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    return np.linalg.cholesky(input)


@body("linalg.trace")
def trace(x, name=None):  # type: ignore[no-untyped-def]
    return np.trace(x, axis1=-2, axis2=-1)


@body("linalg.diag_part")
def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):  # type: ignore[no-untyped-def]  # noqa: A002
    refuse(k != 0, "tf.linalg.diag_part of another diagonal")
    return np.diagonal(input, 0, -2, -1)


@body("linalg.diag")
def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):  # type: ignore[no-untyped-def]
    refuse(k != 0 or num_rows != -1 or num_cols != -1, "tf.linalg.diag of another form")
    n = diagonal.shape[-1]
    return np.expand_dims(diagonal, -1) * np.eye(n, dtype=diagonal.dtype)


@body("linalg.matvec")
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):  # type: ignore[no-untyped-def]
    left = np.swapaxes(a, -1, -2) if transpose_a or adjoint_a else a
    return np.squeeze(left @ np.expand_dims(b, -1), -1)


@body("linalg.matrix_transpose")
def matrix_transpose(a, name="matrix_transpose", conjugate=False):  # type: ignore[no-untyped-def]
    return np.swapaxes(a, -1, -2)


@body("linalg.band_part")
def band_part(input, num_lower, num_upper, name=None):  # type: ignore[no-untyped-def]  # noqa: A002
    kept = input if num_lower < 0 else np.triu(input, -num_lower)
    return kept if num_upper < 0 else np.tril(kept, num_upper)
