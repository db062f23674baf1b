"""PolyBench: data mining, filters, dynamic programming."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@program("polybench", lambda r, n, m: (r.random((n, m)),), (500, 300), (6, 4))
def correlation(data):
    n = data.shape[0]
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev = np.where(stddev <= 0.1, 1.0, stddev)
    centred = (data - mean) / (np.sqrt(n) * stddev)
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = centred[:, i] @ centred[:, i + 1 :]
    return np.sum(corr**2)


@program("polybench", lambda r, n, m: (r.random((n, m)),), (400, 160), (6, 4))
def covariance(data):
    n, m = data.shape
    mean = np.zeros(m)
    for j in range(m):
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    centred = data - mean
    cov = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            for k in range(n):
                cov[i, j] += centred[k, i] * centred[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return np.sum(cov * cov)


@program("polybench", lambda r, n, m: (0.25, r.random((n, m))), (400, 300), (5, 6))
def deriche(alpha, image):
    n, m = image.shape
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = k
    a2 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    y1 = np.empty((n, m))
    y2 = np.empty((n, m))
    for i in range(n):
        ym1, ym2, xm1 = 0.0, 0.0, 0.0
        for j in range(m):
            y1[i, j] = a1 * image[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = image[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
        yp1, yp2, xp1, xp2 = 0.0, 0.0, 0.0, 0.0
        for j in range(m - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = image[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    out = y1 + y2
    for j in range(m):
        tm1, ym1, ym2 = 0.0, 0.0, 0.0
        for i in range(n):
            y1[i, j] = a1 * out[i, j] + a2 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = out[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
        tp1, tp2, yp1, yp2 = 0.0, 0.0, 0.0, 0.0
        for i in range(n - 1, -1, -1):
            y2[i, j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = out[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    out = y1 + y2
    return np.sum(out * out)


@program("polybench", lambda r, n: (r.random((n, n)),), (120,), (6,))
def floyd_warshall(paths):
    paths = paths.copy()
    n = paths.shape[0]
    for k in range(n):
        paths = np.minimum(paths, np.add.outer(paths[:, k], paths[k, :]))
    return np.sum(paths)


@program("polybench", lambda r, n: (r.random((n, n)),), (150,), (6,))
def nussinov(scores):
    n = scores.shape[0]
    table = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + scores[i, j])
            else:
                best = max(best, table[i + 1, j - 1])
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table[0, n - 1]


@by_hand
def dynprog_adjoint(W):
    n = W.shape[0]
    c = np.zeros((n, n))
    for i in range(n - 1):
        for j in range(i + 1, n):
            s = 0.0
            for k in range(i + 1, j):
                s += c[i, k] * W[k, j]
            c[i, j] = 0.5 * s + W[i, j]
    bar = np.zeros((n, n))
    W_bar = np.zeros((n, n))
    bar[0, n - 1] = 1.0
    for i in range(n - 2, -1, -1):
        for j in range(n - 1, i, -1):
            s_bar = 0.5 * bar[i, j]
            W_bar[i, j] += bar[i, j]
            if s_bar != 0.0:
                for k in range(i + 1, j):
                    bar[i, k] += s_bar * W[k, j]
                    W_bar[k, j] += s_bar * c[i, k]
    return c[0, n - 1], W_bar


@program("polybench", lambda r, n: (r.random((n, n)) / n,), (250,), (6,), dynprog_adjoint)
def dynprog(W):
    n = W.shape[0]
    c = np.zeros((n, n))
    for i in range(n - 1):
        for j in range(i + 1, n):
            s = 0.0
            for k in range(i + 1, j):
                s += c[i, k] * W[k, j]
            c[i, j] = 0.5 * s + W[i, j]
    return c[0, n - 1]
