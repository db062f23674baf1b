"""PolyBench, linear algebra: factorisations and solvers, written out."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


def positive(r, n):
    A = r.random((n, n))
    return A @ A.T / n + np.eye(n)


def dominant(r, n):
    return r.random((n, n)) / n + 2.0 * np.eye(n)


@program("polybench", lambda r, n: (positive(r, n),), (250,), (5,))
def cholesky(A):
    L = A.copy()
    n = L.shape[0]
    for i in range(n):
        for j in range(i):
            L[i, j] -= L[i, :j] @ L[j, :j]
            L[i, j] /= L[j, j]
        L[i, i] -= L[i, :i] @ L[i, :i]
        L[i, i] = np.sqrt(L[i, i])
    total = 0.0
    for i in range(n):
        total += np.sum(L[i, : i + 1])
    return total


@by_hand
def durbin_adjoint(r):
    n = r.size
    Y = np.zeros((n, n))
    alphas, betas = np.empty(n), np.empty(n)
    Y[0, 0] = alphas[0] = -r[0]
    betas[0] = 1.0
    for k in range(1, n):
        betas[k] = (1.0 - alphas[k - 1] * alphas[k - 1]) * betas[k - 1]
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * Y[k - 1, i]
        alphas[k] = -s / betas[k]
        for i in range(k):
            Y[k, i] = Y[k - 1, i] + alphas[k] * Y[k - 1, k - i - 1]
        Y[k, k] = alphas[k]
    value = 0.0
    bar, old = np.empty(n), np.empty(n)
    for i in range(n):
        value += Y[n - 1, i] * Y[n - 1, i]
        bar[i] = 2.0 * Y[n - 1, i]
    r_bar = np.zeros(n)
    beta_bar = alpha_bar = 0.0
    for k in range(n - 1, 0, -1):
        a_bar = alpha_bar + bar[k]
        for i in range(k):
            a_bar += bar[i] * Y[k - 1, k - i - 1]
        s_bar = -a_bar / betas[k]
        beta_bar -= a_bar * alphas[k] / betas[k]
        r_bar[k] += s_bar
        for i in range(k):
            old[i] = bar[i] + alphas[k] * bar[k - i - 1] + s_bar * r[k - i - 1]
            r_bar[k - i - 1] += s_bar * Y[k - 1, i]
        alpha_bar = -2.0 * alphas[k - 1] * betas[k - 1] * beta_bar
        beta_bar *= 1.0 - alphas[k - 1] * alphas[k - 1]
        bar, old = old, bar
    r_bar[0] -= alpha_bar + bar[0]
    return value, r_bar


@program("polybench", lambda r, n: (r.random(n) / n,), (1500,), (6,), durbin_adjoint)
def durbin(r):
    n = r.shape[0]
    y = np.zeros(n)
    alpha = -r[0]
    beta = 1.0
    y[0] = alpha
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] = y[:k] + alpha * y[:k][::-1]
        y[k] = alpha
    return np.sum(y * y)


@program("polybench", lambda r, m, n: (r.random((m, n)) + np.eye(m, n),), (200, 150), (5, 4))
def gramschmidt(A):
    A = A.copy()
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(R) + np.sum(Q[0])


@program("polybench", lambda r, n: (dominant(r, n),), (180,), (5,))
def lu(A):
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A * A)


@program("polybench", lambda r, n: (dominant(r, n), r.random(n)), (180,), (5,))
def ludcmp(A, b):
    A = A.copy()
    n = A.shape[0]
    x = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return np.sum(x * x)


@by_hand
def trisolv_adjoint(L, b):
    n = b.size
    x = np.empty(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    value = 0.0
    bar = np.empty(n)
    for i in range(n):
        value += x[i] * x[i]
        bar[i] = 2.0 * x[i]
    L_bar = np.zeros(L.shape)
    for i in range(n - 1, -1, -1):
        s_bar = bar[i] / L[i, i]
        L_bar[i, i] = -s_bar * x[i]
        for j in range(i):
            L_bar[i, j] = -s_bar * x[j]
            bar[j] -= s_bar * L[i, j]
        bar[i] = s_bar
    return value, L_bar, bar


@program("polybench", lambda r, n: (dominant(r, n), r.random(n)), (1800,), (5,), trisolv_adjoint)
def trisolv(L, b):
    x = np.zeros(b.shape[0])
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x * x)
