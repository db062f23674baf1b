"""Signals, images and neighbours: frames cut of a series, a picture moved under another, distances learnt."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def lpc_adjoint(x, width, order):
    value, x_bar = 0.0, np.zeros_like(x)
    r, r_bar, bar, before = np.empty(order + 1), np.empty(order + 1), np.empty(order + 1), np.empty(order + 1)
    rows, errors, ks = np.zeros((order + 1, order + 1)), np.empty(order + 1), np.empty(order + 1)
    for start in range(0, len(x) - width + 1, width):
        frame, frame_bar = x[start : start + width], x_bar[start : start + width]
        for k in range(order + 1):
            r[k] = 0.0
            for j in range(width - k):
                r[k] += frame[j] * frame[j + k]
        rows[0, 0], errors[0] = 1.0, r[0] + 1e-6
        for i in range(1, order + 1):
            acc = r[i]
            for j in range(1, i):
                acc += rows[i - 1, j] * r[i - j]
            k = -acc / errors[i - 1]
            for j in range(1, i):
                rows[i, j] = rows[i - 1, j] + k * rows[i - 1, i - j]
            rows[i, i] = ks[i] = k
            errors[i] = errors[i - 1] * (1.0 - k * k)
        value += math.log(errors[order])
        error_bar = 1.0 / errors[order]
        r_bar[:] = 0.0
        bar[:] = 0.0
        for i in range(order, 0, -1):
            k, error = ks[i], errors[i - 1]
            k_bar = bar[i] - 2.0 * k * error_bar * error
            error_bar *= 1.0 - k * k
            for j in range(1, i):
                k_bar += bar[j] * rows[i - 1, i - j]
            acc_bar = -k_bar / error
            error_bar += acc_bar * k
            r_bar[i] += acc_bar
            for j in range(1, i):
                before[j] = bar[j] + k * bar[i - j] + acc_bar * r[i - j]
                r_bar[i - j] += acc_bar * rows[i - 1, j]
            bar, before = before, bar
        r_bar[0] += error_bar
        for k in range(order + 1):
            for j in range(width - k):
                frame_bar[j] += r_bar[k] * frame[j + k]
                frame_bar[j + k] += r_bar[k] * frame[j]
    return value, x_bar


@program("signal", lambda r, n, w, p: (np.cumsum(r.standard_normal(n)) * 0.1, w, p), (80000, 200, 10), (24, 8, 2), lpc_adjoint)
def lpc(x, width, order):
    """Linear prediction of each frame by Levinson's recursion."""
    total = 0.0
    for start in range(0, len(x) - width + 1, width):
        frame = x[start : start + width]
        r = np.zeros(order + 1)
        for k in range(order + 1):
            r[k] = np.dot(frame[: width - k], frame[k:])
        a = np.zeros(order + 1)
        a[0] = 1.0
        err = r[0] + 1e-6
        for i in range(1, order + 1):
            acc = r[i]
            for j in range(1, i):
                acc += a[j] * r[i - j]
            k = -acc / err
            new = a.copy()
            for j in range(1, i):
                new[j] = a[j] + k * a[i - j]
            new[i] = k
            a = new
            err *= 1.0 - k * k
        total += np.log(err)
    return total


@by_hand
def image_warp_adjoint(image, reference, affine):
    rows, cols = reference.shape
    loss, image_bar = 0.0, np.zeros_like(image)
    y_bars, x_bars = np.zeros(3), np.zeros(3)
    for i in range(rows):
        for j in range(cols):
            y = affine[0, 0] * i + affine[0, 1] * j + affine[0, 2]
            x = affine[1, 0] * i + affine[1, 1] * j + affine[1, 2]
            if y < 0 or x < 0 or y >= rows - 1 or x >= cols - 1:
                continue
            a, b = int(y), int(x)
            fy, fx = y - a, x - b
            top = (1.0 - fx) * image[a, b] + fx * image[a, b + 1]
            low = (1.0 - fx) * image[a + 1, b] + fx * image[a + 1, b + 1]
            gap = (1.0 - fy) * top + fy * low - reference[i, j]
            loss += gap * gap
            g = 2.0 * gap
            image_bar[a, b] += g * (1.0 - fy) * (1.0 - fx)
            image_bar[a, b + 1] += g * (1.0 - fy) * fx
            image_bar[a + 1, b] += g * fy * (1.0 - fx)
            image_bar[a + 1, b + 1] += g * fy * fx
            y_bar = g * (low - top)
            x_bar = g * ((1.0 - fy) * (image[a, b + 1] - image[a, b]) + fy * (image[a + 1, b + 1] - image[a + 1, b]))
            y_bars[0] += y_bar * i
            y_bars[1] += y_bar * j
            y_bars[2] += y_bar
            x_bars[0] += x_bar * i
            x_bars[1] += x_bar * j
            x_bars[2] += x_bar
    return loss, image_bar, np.stack((y_bars, x_bars))


def pictures(r, n):
    rows = np.arange(n)
    smooth = np.sin(rows[:, None] / 9.0) * np.cos(rows / 7.0)
    return smooth, smooth + 0.01 * r.random((n, n)), np.array([[0.9512, 0.0213, 2.0027], [-0.0114, 0.9621, 4.5038]])


@program("signal", pictures, (300,), (7,), image_warp_adjoint, fixed=(1,))
def image_warp(image, reference, affine):
    """A picture, interpolated along an affine map, against another."""
    rows, cols = reference.shape
    loss = 0.0
    for i in range(rows):
        for j in range(cols):
            y = affine[0, 0] * i + affine[0, 1] * j + affine[0, 2]
            x = affine[1, 0] * i + affine[1, 1] * j + affine[1, 2]
            if y < 0 or x < 0 or y >= rows - 1 or x >= cols - 1:
                continue
            a, b = int(y), int(x)
            fy, fx = y - a, x - b
            value = (1 - fy) * ((1 - fx) * image[a, b] + fx * image[a, b + 1]) + fy * ((1 - fx) * image[a + 1, b] + fx * image[a + 1, b + 1])
            loss += (value - reference[i, j]) ** 2
    return loss


@by_hand
def soft_knn_adjoint(A, bandwidth, X, y, queries, targets):
    n, d = X.shape
    m, value = queries.shape[0], 0.0
    A_bar, X_bar, y_bar, bandwidth_bar = np.zeros((d, d)), np.zeros((n, d)), np.zeros(n), 0.0
    queries_bar, targets_bar = np.zeros((m, d)), np.empty(m)
    gaps, projected, distances, weights = np.empty((n, d)), np.empty((n, d)), np.empty(n), np.empty(n)
    part, moved_bar = np.empty((d, d)), np.empty((n, d))
    for q in range(m):
        for i in range(n):
            for c in range(d):
                gaps[i, c] = X[i, c] - queries[q, c]
        np.dot(gaps, A, projected)
        low = np.inf
        for i in range(n):
            square = 1e-9
            for c in range(d):
                square += projected[i, c] * projected[i, c]
            distances[i] = math.sqrt(square)
            low = min(low, distances[i])
        total = seen = 0.0
        for i in range(n):
            weights[i] = math.exp((low - distances[i]) / bandwidth)
            total += weights[i]
            seen += weights[i] * y[i]
        seen /= total
        value += (seen - targets[q]) ** 2
        bar = 2.0 * (seen - targets[q]) / m
        targets_bar[q] = -bar
        for i in range(n):
            w = weights[i] / total
            y_bar[i] += bar * w
            logit_bar = bar * w * (y[i] - seen)
            bandwidth_bar += logit_bar * distances[i] / (bandwidth * bandwidth)
            pull = -logit_bar / (bandwidth * distances[i])
            for c in range(d):
                projected[i, c] *= pull
        A_bar += np.dot(gaps.T, projected, part)
        np.dot(projected, A.T, moved_bar)
        for i in range(n):
            for c in range(d):
                X_bar[i, c] += moved_bar[i, c]
                queries_bar[q, c] -= moved_bar[i, c]
    return value / m, A_bar, bandwidth_bar, X_bar, y_bar, queries_bar, targets_bar


def neighbours(r, n, m, d):
    return r.standard_normal((d, d)), 0.5, r.random((n, d)), r.standard_normal(n), r.random((m, d)), r.standard_normal(m)


@program("ml", neighbours, (300, 100, 6), (4, 3, 2), soft_knn_adjoint)
def soft_knn(A, bandwidth, X, y, queries, targets):
    """Soft nearest neighbours under a metric that is learnt."""
    loss = 0.0
    for q in range(queries.shape[0]):
        diff = (X - queries[q]) @ A
        d = np.sqrt(np.sum(diff**2, axis=1) + 1e-9)
        w = np.exp(-(d - d.min()) / bandwidth)
        w = w / w.sum()
        loss += (w @ y - targets[q]) ** 2
    return loss / queries.shape[0]
