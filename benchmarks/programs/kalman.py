"""The negative log-likelihood of a linear Gaussian state-space model by the Kalman filter, scalar observations."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.program import Program


def negative_log_likelihood(F, Q, h, r, y):
    n = F.shape[0]
    m = np.zeros(n)
    P = np.eye(n)
    total = 0.0
    for t in range(len(y)):
        m = F @ m
        P = F @ P @ F.T + Q
        Ph = P @ h
        s = h @ Ph + r
        e = y[t] - h @ m
        k = Ph / s
        m = m + k * e
        P = P - np.outer(k, Ph)
        total += 0.5 * (math.log(2.0 * math.pi * s) + e * e / s)
    return total


@by_hand
def multiply(A, B, C):
    """C = A B: loops for small matrices, BLAS for others."""
    n = A.shape[0]
    if n > 8:
        np.dot(A, B, C)
        return
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
        for k in range(n):
            a = A[i, k]
            for j in range(n):
                C[i, j] += a * B[k, j]


@by_hand
def multiply_transposed(A, B, C):
    """C = A Bᵀ: loops for small matrices, BLAS for others."""
    n = A.shape[0]
    if n > 8:
        np.dot(A, B.T, C)
        return
    for i in range(n):
        for j in range(n):
            c = 0.0
            for k in range(n):
                c += A[i, k] * B[j, k]
            C[i, j] = c


@by_hand
def transposed_multiply(A, B, C):
    """C = Aᵀ B: loops for small matrices, BLAS for others."""
    n = A.shape[0]
    if n > 8:
        np.dot(A.T, B, C)
        return
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
    for k in range(n):
        for i in range(n):
            a = A[k, i]
            for j in range(n):
                C[i, j] += a * B[k, j]


@by_hand
def adjoint(F, Q, h, r, y):
    """States before each prediction and after it are kept; P is symmetric, so F needs one product of P_bar + P_barᵀ."""
    n, T = F.shape[0], len(y)
    before_m, before_P = np.empty((T + 1, n)), np.empty((T + 1, n, n))
    after_m, after_P = np.empty((T, n)), np.empty((T, n, n))
    Phs, ss, es = np.empty((T, n)), np.empty(T), np.empty(T)
    FP = np.empty((n, n))
    total = 0.0
    before_m[0] = 0.0
    for i in range(n):
        for j in range(n):
            before_P[0, i, j] = 1.0 if i == j else 0.0
    for t in range(T):
        multiply(F, before_P[t], FP)
        P = after_P[t]
        multiply_transposed(FP, F, P)
        s, e = r, y[t]
        for i in range(n):
            mi = 0.0
            for j in range(n):
                P[i, j] += Q[i, j]
                mi += F[i, j] * before_m[t, j]
            after_m[t, i] = mi
        for i in range(n):
            Ph = 0.0
            for j in range(n):
                Ph += P[i, j] * h[j]
            Phs[t, i] = Ph
            s += h[i] * Ph
            e -= h[i] * after_m[t, i]
        for i in range(n):
            k = Phs[t, i] / s
            before_m[t + 1, i] = after_m[t, i] + k * e
            for j in range(n):
                before_P[t + 1, i, j] = P[i, j] - k * Phs[t, j]
        ss[t], es[t] = s, e
        total += 0.5 * (math.log(2.0 * math.pi * s) + e * e / s)
    F_bar, Q_bar, h_bar = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    P_bar, other, m_bar, new = np.zeros((n, n)), np.empty((n, n)), np.zeros(n), np.empty(n)
    both = np.empty((n, n))
    r_bar = 0.0
    y_bar = np.empty(T)
    for t in range(T - 1, -1, -1):
        s, e, P, Ph, m = ss[t], es[t], after_P[t], Phs[t], after_m[t]
        u = 0.0  # m_bar . Ph
        w = 0.0  # Ph . P_bar Ph
        for i in range(n):
            u += m_bar[i] * Ph[i]
            row = column = 0.0
            for j in range(n):
                row += P_bar[i, j] * Ph[j]
                column += P_bar[j, i] * Ph[j]
            new[i] = row + column
            w += Ph[i] * row
        e_bar = u / s + e / s
        s_bar = -u * e / (s * s) + w / (s * s) + 0.5 * (1.0 / s - e * e / (s * s))
        for i in range(n):
            new[i] = (m_bar[i] * e - new[i]) / s + s_bar * h[i]  # of Ph
        r_bar += s_bar
        y_bar[t] = e_bar
        for i in range(n):
            g = 0.0
            for j in range(n):
                g += P[i, j] * new[j]
                P_bar[i, j] += new[i] * h[j]
            h_bar[i] += g + s_bar * Ph[i] - e_bar * m[i]
            m_bar[i] -= e_bar * h[i]
        for i in range(n):
            for j in range(n):
                Q_bar[i, j] += P_bar[i, j]
        for i in range(n):
            for j in range(n):
                both[i, j] = P_bar[i, j] + P_bar[j, i]
        multiply(both, F, FP)
        multiply(FP, before_P[t], other)
        for i in range(n):
            for j in range(n):
                F_bar[i, j] += other[i, j] + m_bar[i] * before_m[t, j]
        multiply(P_bar, F, FP)
        transposed_multiply(F, FP, other)
        for i in range(n):
            new[i] = 0.0
        for k in range(n):
            for i in range(n):
                new[i] += F[k, i] * m_bar[k]
        m_bar, new = new, m_bar
        P_bar, other = other, P_bar
    return total, F_bar, Q_bar, h_bar, r_bar, y_bar


def step_of(np):
    def step(m, P, F, Q, h, r, y):
        m = F @ m
        P = F @ P @ F.T + Q
        Ph = P @ h
        s = h @ Ph + r
        e = y - h @ m
        k = Ph / s
        return m + k * e, P - np.outer(k, Ph), 0.5 * (np.log(2.0 * math.pi * s) + e * e / s)

    return step


def jax():
    from jax import lax
    from jax import numpy as jnp

    step = step_of(jnp)

    def run(F, Q, h, r, y):
        def body(t, state):
            m, P, total = state
            m, P, term = step(m, P, F, Q, h, r, y[t])
            return m, P, total + term

        n = F.shape[0]
        return lax.fori_loop(0, len(y), body, (jnp.zeros(n), jnp.eye(n), 0.0))[2]

    return run


def jax_expert():
    from jax import lax
    from jax import numpy as jnp

    step = step_of(jnp)

    def run(F, Q, h, r, y):
        def body(state, yt):
            m, P, term = step(*state, F, Q, h, r, yt)
            return (m, P), term

        n = F.shape[0]
        return lax.scan(body, (jnp.zeros(n), jnp.eye(n)), y, unroll=4)[1].sum()

    return run


def looped(np, zeros, eye):
    step = step_of(np)

    def run(F, Q, h, r, y):
        n = F.shape[0]
        m, P, total = zeros(n), eye(n), 0.0
        for t in range(len(y)):
            m, P, term = step(m, P, F, Q, h, r, y[t])
            total = total + term
        return total

    return run


def torch():
    import torch

    return looped(torch, lambda n: torch.zeros(n, dtype=torch.float64), lambda n: torch.eye(n, dtype=torch.float64))


def autograd():
    import autograd.numpy as anp

    return looped(anp, anp.zeros, anp.eye)


def sizes(n, length):
    def inputs():
        rng = np.random.default_rng(0)
        F = 0.95 * np.linalg.qr(rng.standard_normal((n, n)))[0]
        return F, 0.1 * np.eye(n), rng.standard_normal(n), 0.3, rng.standard_normal(length)

    return inputs


PROGRAM = Program(
    name="kalman",
    function=negative_log_likelihood,
    wrt=(0, 1, 2, 3, 4),
    sizes={"2, 100": sizes(2, 100), "4, 1000": sizes(4, 1000), "16, 1000": sizes(16, 1000)},
    by_hand=adjoint,
    jax=jax,
    jax_expert=jax_expert,
    torch=torch,
    autograd=autograd,
    upto={"torch.compile": "", "autograd": "4, 1000", "torch": "4, 1000"},
)
