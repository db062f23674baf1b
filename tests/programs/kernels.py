"""Numerical kernels as people write them: solvers, recurrences, simulations, models, losses."""

import math

import numpy as np
from scipy.special import logsumexp as scipy_logsumexp

from .registry import example, matrix, positive, spd, vector


@example(1.2, 0.3, 5)
def runge_kutta(y, k, steps):
    def slope(t, y):
        return -k * y + math.sin(t)

    t, h = 0.0, 0.1
    for _ in range(steps):
        a = slope(t, y)
        b = slope(t + h / 2, y + h / 2 * a)
        c = slope(t + h / 2, y + h / 2 * b)
        d = slope(t + h, y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        t = t + h
    return y


@example(2.0, jit=True)
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = x - (x * x - a) / (2.0 * x)
    return x


@example(0.5, order=1)
def bisection(a):
    lo, hi = 0.0, 2.0
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        if mid * mid * mid < a:
            lo = mid
        else:
            hi = mid
    x = 0.5 * (lo + hi)
    return x - (x**3 - a) / (3.0 * x * x)


@example(vector(6), 0.7, jit=True)
def horner(c, x):
    y = 0.0
    for i in range(len(c) - 1, -1, -1):
        y = y * x + c[i]
    return y


@example(3.6, 0.2, 12)
def logistic_map(r, x, n):
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


@example(0.5, 1.2, 0.3, 0.1)
def kalman_step(x, p, z, r):
    a, q = 0.9, 0.05
    x = a * x
    p = a * p * a + q
    k = p / (p + r)
    x = x + k * (z - x)
    p = (1.0 - k) * p
    return x * x + p


@example(vector(2), spd(2), matrix(3, 2), order=1)
def kalman_filter(m, p, observations):
    a = np.array([[1.0, 0.1], [0.0, 1.0]])
    q, r = 0.1 * np.eye(2), 0.5 * np.eye(2)
    loss = 0.0
    for z in observations:
        m = a @ m
        p = a @ p @ a.T + q
        s = p + r
        k = p @ np.linalg.inv(s)
        e = z - m
        loss += e @ np.linalg.solve(s, e) + np.log(np.linalg.det(s))
        m = m + k @ e
        p = p - k @ p
    return loss


@example(matrix(5, 5), 3, jit=True)
def heat(u, steps):
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        u = v * v
    return np.sum(u)


@example(matrix(4, 4), 2)
def jacobi_by_elements(u, sweeps):
    n = u.shape[0]
    new = u.copy()
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] * u[i, j] + u[i, j + 1])
        u, new = new, u
    return np.sum(u * u)


@example(vector(5), 4.0 + positive(5), vector(5, 2), vector(5, 3), jit=True)
def thomas_solver(a, b, c, d):
    n = len(d)
    b, d = b.copy(), d.copy()
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return np.sum(x * x)


@example(spd(4), jit=True)
def cholesky_by_hand(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = math.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return np.sum(low * low * low)


@example(spd(3) + np.eye(3))
def gauss_elimination_in_place(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return np.sum(a * a)


@example(matrix(3, 2), matrix(3, 2, 1), positive(3), 2)
def n_body(x, v, m, steps):
    dt = 0.05
    for _ in range(steps):
        a = np.zeros_like(x)
        for i in range(len(m)):
            for j in range(len(m)):
                if i != j:
                    d = x[j] - x[i]
                    r = np.sqrt(np.sum(d * d) + 0.01)
                    a[i] += m[j] * d / r**3
        v = v + dt * a
        x = x + dt * v
    return np.sum(x * x) + 0.5 * np.sum(m[:, None] * v * v)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@example(matrix(4, 2), 0.5 * matrix(12, 3), 0.5 * matrix(12, 2, 1), vector(12), order=1, argnums=(0, 1, 2, 3))
def lstm(xs, wh, wx, b):
    h, c = np.zeros(3), np.zeros(3)
    for x in xs:
        z = wh @ h + wx @ x + b
        i, f, o, g = sigmoid(z[:3]), sigmoid(z[3:6]), sigmoid(z[6:9]), np.tanh(z[9:])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.sum(h * h)


@example(positive(3), np.abs(matrix(3, 3)), np.abs(matrix(3, 4)), np.array([0, 2, 1, 3]))
def hmm_forward(start, transition, emission, observed):
    transition = transition / np.sum(transition, axis=1, keepdims=True)
    alpha = start * emission[:, observed[0]]
    loglik = 0.0
    for t in range(1, len(observed)):
        alpha = (alpha @ transition) * emission[:, observed[t]]
        s = np.sum(alpha)
        loglik += np.log(s)
        alpha = alpha / s
    return loglik


@example(100.0, 95.0, 0.5, 0.02, 0.25, jit=True)
def black_scholes(s, k, t, r, sigma):
    d1 = (math.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
    n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
    return s * n1 - k * math.exp(-r * t) * n2


@example(1.0, 0.2, 0.05, vector(8), 0.9)
def asian_option_path(s, sigma, r, normals, strike):
    dt = 1.0 / len(normals)
    total = 0.0
    for z in normals:
        s *= math.exp((r - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * z * 0.1)
        total += s
    return math.exp(-r) * max(total / len(normals) - strike, 0.0)


@example(vector(2), matrix(2, 2), positive(2), matrix(5, 2, 3), order=1, argnums=(0, 1, 2))
def gaussian_mixture(logits, means, scales, data):
    loss = 0.0
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    for x in data:
        terms = np.zeros(len(logits))
        for k in range(len(logits)):
            d = (x - means[k]) / scales[k]
            terms[k] = log_weights[k] - 0.5 * np.sum(d * d) - 2 * np.log(scales[k])
        m = np.max(terms)
        loss -= m + np.log(np.sum(np.exp(terms - m)))
    return loss


@example(0.3 * matrix(3, 4), vector(3), matrix(6, 4, 2), np.array([0, 2, 1, 1, 0, 2]), argnums=(0, 1))
def softmax_regression(w, b, x, y):
    z = x @ w.T + b
    z = z - np.max(z, axis=1, keepdims=True)
    p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(p[np.arange(len(y)), y]) + 0.01 * np.sum(w * w)


@example(0.5 * matrix(4, 3), vector(4), 0.5 * matrix(2, 4), vector(2), vector(3), jit=True)
def two_layers(w1, b1, w2, b2, x):
    h = np.tanh(np.dot(w1, x) + b1)
    y = np.dot(w2, h) + b2
    return np.sum(y * y)


@example(vector(6), vector(3))
def convolution_by_hand(x, k):
    n = len(x) - len(k) + 1
    y = np.zeros(n)
    for i in range(n):
        for j in range(len(k)):
            y[i] += x[i + j] * k[j]
    return np.sum(y * y)


@example(vector(4), vector(4, 5))
def rosenbrock_and_himmelblau(x, y):
    r = np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    return r + (x[0] ** 2 + y[1] - 11.0) ** 2


@example(0.8, 10)
def arctan_series(x, n):
    s = 0.0
    sign = 1.0
    p = x
    for k in range(n):
        s += sign * p / (2 * k + 1)
        sign = -sign
        p *= x * x
    return s


@example(positive(5), 0.3)
def dynamic_time_warping(x, gamma):
    y = x[::-1] * 1.5
    n, m = len(x), len(y)
    d = np.zeros((n + 1, m + 1))
    d[0, 1:] = 10.0
    d[1:, 0] = 10.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            a, b, c = d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]
            lowest = min(a, b, c)
            d[i, j] = cost + lowest - gamma * math.log(math.exp((lowest - a) / gamma) + math.exp((lowest - b) / gamma) + math.exp((lowest - c) / gamma))
    return d[n, m]


@example(spd(3), vector(3), 2)
def conjugate_gradients(a, b, steps):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    for _ in range(steps):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return np.sum(x * x)


@example(spd(3), 6)
def power_iteration(a, steps):
    v = np.ones(a.shape[0])
    for _ in range(steps):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ a @ v


@example(vector(4), 0.1, 5)
def gradient_descent_inside(x, rate, steps):
    w = np.zeros(4)
    for _ in range(steps):
        g = 2.0 * (w - x) + 0.1 * w**3
        w = w - rate * g
    return np.sum(w * x)


@example(positive(4), 3)
def quadrature(c, n):
    total = 0.0
    h = 1.0 / n
    for i in range(n):
        x = (i + 0.5) * h
        total += h * math.exp(-c[0] * x) * (c[1] + c[2] * x) ** c[3]
    return total


@example(vector(3), vector(3, 1))
def normalised_products(a, x):
    for _ in range(2):
        y = x * a
        x = y * np.sum(y)
    return np.sum(x * x)


@example(0.5 * matrix(3, 3), positive(3))
def normalised_rows(a, x):
    for _ in range(2):
        y = x @ (a * a)
        x = y / np.sum(y)
    return np.sum(x * x)


@example(vector(3), matrix(3, 3), matrix(3, 4), np.array([0, 3, 1, 1]), argnums=(0, 1, 2), jit=True)
def forward_algorithm(log_start, log_change, log_emit, seen):
    """Probabilities of a chain of hidden states in logarithms, with SciPy's sum of exponentials."""
    log_alpha = log_start
    for y in seen:
        log_alpha = scipy_logsumexp(log_alpha[:, None] + log_change, axis=0) + log_emit[:, y]
    return scipy_logsumexp(log_alpha) + np.sum(scipy_logsumexp(log_emit, axis=1))
