"""ADBench- and GradBench-like programs: mixtures, bundles, recurrent nets, a hand, regressions, point clouds."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


def mixture(r, n, d, k):
    lowers = r.standard_normal((k, d * (d - 1) // 2)) / 4
    return r.standard_normal(k), r.standard_normal((k, d)), r.standard_normal((k, d)) / 2, lowers, r.standard_normal((n, d))


@program("adbench", mixture, (400, 10, 8), (4, 3, 2))
def gmm(alphas, means, logdiags, lowers, x):
    n, d = x.shape
    K = means.shape[0]
    total = 0.0
    terms = np.empty(K)
    for i in range(n):
        for k in range(K):
            sq = 0.0
            at = 0
            for a in range(d):
                q = math.exp(logdiags[k, a]) * (x[i, a] - means[k, a])
                for b in range(a):
                    q += lowers[k, at] * (x[i, b] - means[k, b])
                    at += 1
                sq += q * q
            terms[k] = alphas[k] + np.sum(logdiags[k]) - 0.5 * sq
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    prior = 0.5 * (np.sum(np.exp(2.0 * logdiags)) + np.sum(lowers**2)) - np.sum(logdiags)
    return total - n * (np.max(alphas) + np.log(np.sum(np.exp(alphas - np.max(alphas))))) + prior


def rotated(w, v):
    theta2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if theta2 > 0.0:
        theta = math.sqrt(theta2)
        c, s = math.cos(theta), math.sin(theta)
        axis = w / theta
        return v * c + np.cross(axis, v) * s + axis * (np.dot(axis, v) * (1.0 - c))
    return v + np.cross(w, v)


def bundle_inputs(r, n, m, p):
    return r.random((n, 11)) / 10 + 0.1, r.random((m, 3)), r.random(p), r.random((p, 2)), r.integers(0, n, p), r.integers(0, m, p)


@program("adbench", bundle_inputs, (20, 500, 6000), (2, 3, 4))
def bundle_residual(cameras, points, weights, features, cams, pts):
    total = 0.0
    for o in range(weights.shape[0]):
        camera = cameras[cams[o]]
        turned = rotated(camera[0:3], points[pts[o]] - camera[3:6])
        projected = turned[0:2] / (turned[2] + 3.0)
        r2 = projected[0] ** 2 + projected[1] ** 2
        distortion = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
        error = weights[o] * (camera[6] * distortion * projected + camera[7:9] - features[o])
        total += np.sum(error**2) + (1.0 - weights[o] ** 2) ** 2
    return total


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_inputs(r, layers, t, b):
    return r.random((layers, 4, 2 * b)) - 0.5, r.random((2, b)), r.random((layers, 2, b)), r.random((t, b))


@program("adbench", lstm_inputs, (2, 300, 14), (2, 4, 3))
def lstm_model(main, extra, state, sequence):
    b = sequence.shape[1]
    state = state.copy()
    total = 0.0
    for t in range(sequence.shape[0] - 1):
        x = sequence[t] * extra[0]
        for k in range(main.shape[0]):
            hidden, cell = state[k, 0], state[k, 1]
            forget = sigmoid(x * main[k, 0, :b] + main[k, 0, b:])
            ingate = sigmoid(hidden * main[k, 1, :b] + main[k, 1, b:])
            outgate = sigmoid(x * main[k, 2, :b] + main[k, 2, b:])
            change = np.tanh(hidden * main[k, 3, :b] + main[k, 3, b:])
            cell = cell * forget + ingate * change
            hidden = outgate * np.tanh(cell)
            state[k, 0] = hidden
            state[k, 1] = cell
            x = hidden
        prediction = x * extra[1]
        total += np.sum(sequence[t + 1] * (prediction - np.log(2.0 + np.sum(np.exp(prediction)))))
    return -total / sequence.size


def euler(angles):
    cx, sx = math.cos(angles[0]), math.sin(angles[0])
    cy, sy = math.cos(angles[1]), math.sin(angles[1])
    cz, sz = math.cos(angles[2]), math.sin(angles[2])
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    Ry = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    Rz = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return Rz @ Ry @ Rx


def hand_inputs(r, bones, n):
    base = np.tile(np.eye(4), (bones, 1, 1))
    base[:, :3, 3] = r.random((bones, 3))
    weights = r.random((bones, n))
    parents = np.arange(bones) - 1
    return r.standard_normal((bones, 3)) / 3, base, r.random((n, 3)), weights / np.sum(weights, axis=0), r.random((n, 3)), parents


@program("adbench", hand_inputs, (20, 1500), (3, 4))
def hand(theta, base, vertices, weights, observed, parents):
    bones = theta.shape[0]
    n = vertices.shape[0]
    absolute = np.zeros((bones, 4, 4))
    for b in range(bones):
        local = np.eye(4)
        local[:3, :3] = euler(theta[b])
        relative = base[b] @ local
        if parents[b] < 0:
            absolute[b] = relative
        else:
            absolute[b] = absolute[parents[b]] @ relative
    homogeneous = np.hstack((vertices, np.ones((n, 1))))
    posed = np.zeros((n, 3))
    for b in range(bones):
        posed += weights[b][:, None] * (homogeneous @ absolute[b].T)[:, :3]
    return np.sum((posed - observed) ** 2)


@by_hand
def least_squares_adjoint(w, A, b):
    r = A @ w - b
    value = np.sum(r * r)
    r *= 2.0
    A_bar = np.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A_bar[i, j] = r[i] * w[j]
    return value, r @ A, A_bar, -r


@program("adbench", lambda r, n, d: (r.random(d), r.random((n, d)), r.random(n)), (6000, 250), (5, 3), least_squares_adjoint)
def least_squares(w, A, b):
    return np.sum((A @ w - b) ** 2)


@program("adbench", lambda r, n: (r.standard_normal(n),), (400_000,), (7,))
def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@program("adbench", lambda r, n, m: (r.random((n, 3)), r.random((m, 3))), (600, 500), (4, 3))
def chamfer(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        nearest = 1e300
        for j in range(b.shape[0]):
            d = (a[i, 0] - b[j, 0]) ** 2 + (a[i, 1] - b[j, 1]) ** 2 + (a[i, 2] - b[j, 2]) ** 2
            if d < nearest:
                nearest = d
        total += math.sqrt(nearest)
    return total


@program("adbench", lambda r, n, k, b: (r.standard_normal((n, k)) / 4, 0.7, 0.2, b), (2000, 100, 20), (4, 5, 3))
def stochastic_volatility(noise, persistence, scale, burn):
    paths, steps = noise.shape
    total = 0.0
    for i in range(paths):
        h = 0.0
        r = 0.0
        for t in range(steps):
            h = persistence * h + scale * noise[i, t]
            if t >= burn:
                r += math.exp(0.5 * h) * noise[i, t]
        total += max(r, 0.0)
    return total / paths
