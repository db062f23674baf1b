"""PolyBench, linear algebra: products of matrices and vectors."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def gemm_adjoint(alpha, beta, C, A, B):
    P = A @ B
    R = alpha * P + beta * C
    value = np.sum(R * R)
    R *= 2.0
    alpha_bar, beta_bar = np.sum(R * P), np.sum(R * C)
    C_bar = beta * R
    R *= alpha
    return value, alpha_bar, beta_bar, C_bar, R @ B.T, A.T @ R


@program("polybench", lambda r, n, m, k: (1.5, 1.2, r.random((n, m)), r.random((n, k)), r.random((k, m))), (300, 320, 340), (3, 4, 5), gemm_adjoint)
def gemm(alpha, beta, C, A, B):
    R = alpha * A @ B + beta * C
    return np.sum(R * R)


@program("polybench", lambda r, n: (1.5, 1.2, r.random((n, n)), *(r.random(n) for _ in range(6))), (1000,), (5,))
def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ A) / A.shape[0] + z
    w = alpha * (A @ x)
    return np.sum(w * w)


@program("polybench", lambda r, n: (1.5, 1.2, r.random((n, n)), r.random((n, n)), r.random(n)), (1200,), (5,))
def gesummv(alpha, beta, A, B, x):
    y = alpha * A @ x + beta * B @ x
    return np.sum(y**2)


@program("polybench", lambda r, m, n: (1.5, 1.2, r.random((m, n)), r.random((m, m)), r.random((m, n))), (150, 180), (4, 5))
def symm(alpha, beta, C, A, B):
    C = C.copy()
    temp2 = np.empty(C.shape[1])
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2
    return np.sum(C * C)


@program("polybench", lambda r, n, m: (1.5, 1.2, r.random((n, n)), r.random((n, m)), r.random((n, m))), (150, 120), (4, 5))
def syr2k(alpha, beta, C, A, B):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]
    return np.sum(C * C)


@program("polybench", lambda r, n, m: (1.5, 1.2, r.random((n, n)), r.random((n, m))), (200, 160), (4, 5))
def syrk(alpha, beta, C, A):
    C = C.copy()
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]
    return np.sum(C * C)


@program("polybench", lambda r, m, n: (1.5, r.random((m, m)), r.random((m, n))), (180, 200), (4, 5))
def trmm(alpha, A, B):
    B = B.copy()
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j] / B.shape[0]
    B *= alpha
    return np.sum(B * B)


def k2mm_inputs(r, i, j, k, m):
    return 1.5, 1.2, r.random((i, k)), r.random((k, j)), r.random((j, m)), r.random((i, m))


@program("polybench", k2mm_inputs, (250, 230, 240, 260), (2, 3, 4, 5))
def k2mm(alpha, beta, A, B, C, D):
    R = alpha * A @ B @ C + beta * D
    return np.mean(R * R)


@by_hand
def k3mm_adjoint(A, B, C, D):
    E, F = A @ B, C @ D
    G = E @ F
    value = np.sum(G * G) / G.size
    G *= 2.0 / G.size
    E_bar, F_bar = G @ F.T, E.T @ G
    return value, E_bar @ B.T, A.T @ E_bar, F_bar @ D.T, C.T @ F_bar


@program("polybench", lambda r, n, m: (r.random((n, m)), r.random((m, n)), r.random((n, m)), r.random((m, n))), (240, 220), (4, 3), k3mm_adjoint)
def k3mm(A, B, C, D):
    G = A @ B @ (C @ D)
    return np.mean(G * G)


@by_hand
def atax_adjoint(A, x):
    t = A @ x
    y = t @ A
    value = np.sum(y * y)
    y *= 2.0
    t_bar = A @ y
    A_bar = np.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A_bar[i, j] = t[i] * y[j] + t_bar[i] * x[j]
    return value, A_bar, t_bar @ A


@program("polybench", lambda r, m, n: (r.random((m, n)), r.random(n)), (1200, 1400), (4, 5), atax_adjoint)
def atax(A, x):
    y = (A @ x) @ A
    return np.sum(y * y)


@program("polybench", lambda r, n, m: (r.random((n, m)), r.random(m), r.random(n)), (1400, 1200), (4, 5))
def bicg(A, p, r):
    s = r @ A
    q = A @ p
    return np.sum(s * s) + np.sum(q * q)


@program("polybench", lambda r, R, Q, P: (r.random((R, Q, P)), r.random((P, P))), (40, 50, 70), (2, 3, 4))
def doitgen(A, C4):
    A = A.copy()
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C4
    return np.sum(A * A)


@program("polybench", lambda r, n: (r.random((n, n)), *(r.random(n) for _ in range(4))), (1300,), (5,))
def mvt(A, x1, x2, y1, y2):
    x1 = x1 + A @ y1
    x2 = x2 + A.T @ y2
    return np.sum(x1 * x2)
