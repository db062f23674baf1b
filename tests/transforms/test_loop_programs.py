"""Loop programs as numerical people write them: sweeps, tables, lattices, pairs, histograms; first order, and second where it is cheap."""

import math

import numpy as np
import pytest
from thorough import check_gradient


def thomas(a, b, c, d):
    n = len(d)
    cp = np.empty(n)
    dp = np.empty(n)
    x = np.empty(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[n - 1] = dp[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return np.sum(x * x)


def binomial(s, k, r, v, n):
    dt = 1.0 / n
    u = math.exp(v * math.sqrt(dt))
    d = 1.0 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    val = np.empty(n + 1)
    for i in range(n + 1):
        val[i] = max(k - s * u ** (2.0 * i - n), 0.0)
    for j in range(n - 1, -1, -1):
        for i in range(j + 1):
            cont = disc * (p * val[i + 1] + (1.0 - p) * val[i])
            ex = k - s * u ** (2.0 * i - j)
            val[i] = max(cont, ex)
    return val[0]


def leven(x, y):
    n, m = len(x), len(y)
    D = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        D[i, 0] = 1.3 * i
    for j in range(m + 1):
        D[0, j] = 1.1 * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            D[i, j] = min(D[i - 1, j] + 1.3, D[i, j - 1] + 1.1, D[i - 1, j - 1] + cost)
    return D[n, m]


def redblack(u, steps):
    u = u.copy()
    for t in range(steps):
        for c in range(2):
            for i in range(1, u.shape[0] - 1):
                for j in range(1 + (i + c) % 2, u.shape[1] - 1, 2):
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) * (1.0 + 0.1 * u[i, j])
    return np.sum(u * u)


def histo(x, w, idx):
    h = np.zeros(4)
    for i in range(len(x)):
        h[idx[i]] += math.sin(x[i]) * w[idx[i]]
    t = 0.0
    for b in range(4):
        t += h[b] * h[b]
    return t


def ising(s, J):
    e = 0.0
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            e -= J[i, j] * math.tanh(s[i, j]) * (s[(i + 1) % s.shape[0], j] + s[i, (j + 1) % s.shape[1]])
    return e


def pairs(x, q):
    e = 0.0
    for i in range(len(q)):
        for j in range(i + 1, len(q)):
            r2 = 0.0
            for k in range(x.shape[1]):
                d = x[i, k] - x[j, k]
                r2 += d * d
            inv = 1.0 / r2
            s6 = inv * inv * inv
            e += q[i] * q[j] * math.sqrt(inv) + 4.0 * (s6 * s6 - s6)
    return e


def matvecs(W, x, n):
    h = x.copy()
    z = np.empty(len(x))
    for t in range(n):
        for i in range(len(x)):
            z[i] = 0.0
            for j in range(len(x)):
                z[i] += W[j, i] * h[j]
        for i in range(len(x)):
            h[i] = math.tanh(z[i])
    return np.sum(h * h)


def stencil3(k, u, steps):
    v = u.copy()
    for t in range(steps):
        w = v.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = w[i, j] + 0.1 * k[i, j] * (w[i + 1, j] + w[i - 1, j] + w[i, j + 1] + w[i, j - 1] - 4.0 * w[i, j]) * math.exp(
                    -k[i, j]
                )
    return np.sum(v * v)


def kmeansish(x, c):
    total = 0.0
    for p in range(x.shape[0]):
        best = 1e10
        for k in range(c.shape[0]):
            s = 0.0
            for d in range(x.shape[1]):
                s += (x[p, d] - c[k, d]) ** 2
            if s < best:
                best = s
        total += best
    return total


R = np.random.default_rng(3)
PROGRAMS = [
    (thomas, (R.random(6), 2 + R.random(6), R.random(6), R.random(6))),
    (binomial, (1.0, 1.05, 0.03, 0.3, 6)),
    (leven, (R.random(4) * 2, R.random(5) * 2)),
    (redblack, (R.random((5, 6)), 2)),
    (histo, (R.random(6), R.random(4), np.array([0, 1, 2, 3, 1, 1]))),
    (ising, (R.random((3, 4)), R.random((3, 4)))),
    (pairs, (R.random((4, 3)) * 3, R.random(4))),
    (matvecs, (R.random((4, 4)), R.random(4), 3)),
    (stencil3, (R.random((4, 5)), R.random((4, 5)), 2)),
    (kmeansish, (R.random((5, 3)), R.random((3, 3)))),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_gradients(f, args):
    check_gradient(f, args, order=2 if f in (thomas, matvecs, kmeansish) else 1, jit=False)
