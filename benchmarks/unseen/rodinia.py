"""Rodinia-like programs: heat of a chip, speckles, paths, networks, clusters, particles, fluxes, alignment."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def hotspot_adjoint(temp, power, steps):
    n, m = temp.shape
    a, b = temp.copy(), np.empty((n, m))
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                up, down, left, right = max(i - 1, 0), min(i + 1, n - 1), max(j - 1, 0), min(j + 1, m - 1)
                c = a[i, j]
                d = power[i, j] + (a[down, j] + a[up, j] - 2.0 * c) * 0.1 + (a[i, right] + a[i, left] - 2.0 * c) * 0.1 + (80.0 - c) * 0.01
                b[i, j] = c + 0.5 * d
        a, b = b, a
    value = 0.0
    bar, old = np.empty((n, m)), np.empty((n, m))
    power_bar = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            value += a[i, j] * a[i, j]
            bar[i, j] = 2.0 * a[i, j]
    value /= n * m
    bar /= n * m
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                up, down, left, right = max(i - 1, 0), min(i + 1, n - 1), max(j - 1, 0), min(j + 1, m - 1)
                power_bar[i, j] += 0.5 * bar[i, j]
                old[i, j] = 0.795 * bar[i, j] + 0.05 * (bar[up, j] + bar[down, j] + bar[i, left] + bar[i, right])
        bar, old = old, bar
    return value, bar, power_bar


@program("rodinia", lambda r, n, t: (80.0 + r.random((n, n)), r.random((n, n)), t), (128, 30), (5, 2), hotspot_adjoint)
def hotspot(temp, power, steps):
    n, m = temp.shape
    result = np.empty((n, m))
    temp = temp.copy()
    for t in range(steps):
        for i in range(n):
            for j in range(m):
                c = temp[i, j]
                up = temp[i - 1, j] if i > 0 else c
                down = temp[i + 1, j] if i < n - 1 else c
                left = temp[i, j - 1] if j > 0 else c
                right = temp[i, j + 1] if j < m - 1 else c
                delta = power[i, j] + (down + up - 2.0 * c) * 0.1 + (right + left - 2.0 * c) * 0.1 + (80.0 - c) * 0.01
                result[i, j] = c + 0.5 * delta
        temp, result = result, temp
    return np.mean(temp * temp)


@program("rodinia", lambda r, n, t: (r.random((n, n)), 0.5, t), (150, 10), (5, 2))
def srad(image, lam, steps):
    n, m = image.shape
    J = np.exp(image)
    north = np.maximum(np.arange(n) - 1, 0)
    south = np.minimum(np.arange(n) + 1, n - 1)
    west = np.maximum(np.arange(m) - 1, 0)
    east = np.minimum(np.arange(m) + 1, m - 1)
    for t in range(steps):
        mean = np.mean(J)
        var = np.mean(J * J) - mean * mean
        q0 = var / (mean * mean)
        dN = J[north, :] - J
        dS = J[south, :] - J
        dW = J[:, west] - J
        dE = J[:, east] - J
        G2 = (dN**2 + dS**2 + dW**2 + dE**2) / J**2
        L = (dN + dS + dW + dE) / J
        num = 0.5 * G2 - (1.0 / 16.0) * L**2
        den = 1.0 + 0.25 * L
        qsqr = num / den**2
        c = 1.0 / (1.0 + (qsqr - q0) / (q0 * (1.0 + q0)))
        c = np.clip(c, 0.0, 1.0)
        D = c * dN + c[south, :] * dS + c * dW + c[:, east] * dE
        J = J + 0.25 * lam * D
    return np.sum(np.log(J))


@program("rodinia", lambda r, n, m: (r.random((n, m)), 0.1), (200, 300), (4, 5))
def pathfinder(wall, temperature):
    rows, cols = wall.shape
    cost = wall[0].copy()
    for i in range(1, rows):
        new = np.empty(cols)
        for j in range(cols):
            a = cost[max(j - 1, 0)]
            b = cost[j]
            c = cost[min(j + 1, cols - 1)]
            low = min(a, b, c)
            s = math.exp((low - a) / temperature) + math.exp((low - b) / temperature) + math.exp((low - c) / temperature)
            new[j] = wall[i, j] + low - temperature * math.log(s)
        cost = new
    return np.min(cost)


def backprop_inputs(r, n, i, h, o):
    return r.random((n, i)), r.random((n, o)), r.random((i + 1, h)) - 0.5, r.random((h + 1, o)) - 0.5


@program("rodinia", backprop_inputs, (30, 64, 16, 4), (2, 4, 3, 2))
def backprop(inputs, targets, w1, w2):
    error = 0.0
    hidden = np.zeros(w1.shape[1])
    for s in range(inputs.shape[0]):
        for h in range(w1.shape[1]):
            total = w1[0, h]
            for i in range(inputs.shape[1]):
                total += w1[i + 1, h] * inputs[s, i]
            hidden[h] = 1.0 / (1.0 + math.exp(-total))
        for o in range(w2.shape[1]):
            total = w2[0, o]
            for h in range(w1.shape[1]):
                total += w2[h + 1, o] * hidden[h]
            out = 1.0 / (1.0 + math.exp(-total))
            error += (targets[s, o] - out) ** 2
    return error / inputs.shape[0]


@by_hand
def kmeans_adjoint(points, centres):
    value = 0.0
    p_bar, c_bar = np.empty_like(points), np.zeros_like(centres)
    n, d = points.shape
    for i in range(n):
        best, at = np.inf, 0
        for k in range(centres.shape[0]):
            s = 0.0
            for j in range(d):
                e = points[i, j] - centres[k, j]
                s += e * e
            if s < best:
                best, at = s, k
        value += best
        for j in range(d):
            e = 2.0 * (points[i, j] - centres[at, j])
            p_bar[i, j] = e
            c_bar[at, j] -= e
    return value, p_bar, c_bar


@program("rodinia", lambda r, n, k, d: (r.random((n, d)), r.random((k, d))), (4000, 20, 10), (6, 3, 2), kmeans_adjoint)
def kmeans(points, centres):
    distances = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(distances, axis=1))


@program("rodinia", lambda r, n, k: (r.random((n, k, 4)), r.random((n, k)), 0.5), (40, 24), (3, 2))
def lavamd(particles, charges, alpha):
    boxes, per_box, _ = particles.shape
    a2 = 2.0 * alpha * alpha
    forces = np.zeros((boxes, per_box, 4))
    for b in range(boxes):
        for other in range(max(b - 1, 0), min(b + 2, boxes)):
            for i in range(per_box):
                for j in range(per_box):
                    r2 = (
                        particles[b, i, 0]
                        + particles[other, j, 0]
                        - (
                            particles[b, i, 1] * particles[other, j, 1]
                            + particles[b, i, 2] * particles[other, j, 2]
                            + particles[b, i, 3] * particles[other, j, 3]
                        )
                    )
                    vij = math.exp(-a2 * r2)
                    fs = 2.0 * vij
                    forces[b, i, 0] += charges[other, j] * vij
                    forces[b, i, 1] += charges[other, j] * fs * (particles[b, i, 1] - particles[other, j, 1])
                    forces[b, i, 2] += charges[other, j] * fs * (particles[b, i, 2] - particles[other, j, 2])
                    forces[b, i, 3] += charges[other, j] * fs * (particles[b, i, 3] - particles[other, j, 3])
    return np.sum(forces * forces)


def flux(density, mx, my, energy):
    vx, vy = mx / density, my / density
    pressure = 0.4 * (energy - 0.5 * density * (vx * vx + vy * vy))
    return vx, vy, pressure


@program(
    "rodinia",
    lambda r, n: (r.random((n, 4)) + np.array([1.0, 0.1, 0.1, 3.0]), r.integers(0, n, (n, 3)), r.standard_normal((n, 3, 2)), r.random(n) + 0.5),
    (12_000,),
    (6,),
)
def cfd_flux(state, neighbours, normals, areas):
    fluxes = np.zeros(state.shape)
    for i in range(state.shape[0]):
        vx, vy, p = flux(state[i, 0], state[i, 1], state[i, 2], state[i, 3])
        speed = math.sqrt(vx * vx + vy * vy) + math.sqrt(1.4 * p / state[i, 0])
        for e in range(3):
            j = neighbours[i, e]
            nx, ny = normals[i, e, 0], normals[i, e, 1]
            length = math.sqrt(nx * nx + ny * ny)
            wx, wy, q = flux(state[j, 0], state[j, 1], state[j, 2], state[j, 3])
            other = math.sqrt(wx * wx + wy * wy) + math.sqrt(1.4 * q / state[j, 0])
            factor = -length * 0.2 * 0.5 * (speed + other)
            a, b = vx * nx + vy * ny, wx * nx + wy * ny
            fluxes[i, 0] += factor * (state[i, 0] - state[j, 0]) + 0.5 * (state[i, 0] * a + state[j, 0] * b)
            fluxes[i, 1] += factor * (state[i, 1] - state[j, 1]) + 0.5 * (state[i, 1] * a + p * nx + state[j, 1] * b + q * nx)
            fluxes[i, 2] += factor * (state[i, 2] - state[j, 2]) + 0.5 * (state[i, 2] * a + p * ny + state[j, 2] * b + q * ny)
            fluxes[i, 3] += factor * (state[i, 3] - state[j, 3]) + 0.5 * ((state[i, 3] + p) * a + (state[j, 3] + q) * b)
    return np.sum((fluxes / areas[:, None]) ** 2)


@program("rodinia", lambda r, n, m: (r.random((n, m)), 0.3), (200, 220), (4, 5))
def needleman_wunsch(similarity, penalty):
    n, m = similarity.shape
    table = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        table[i, 0] = -penalty * i
    for j in range(1, m + 1):
        table[0, j] = -penalty * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = table[i - 1, j - 1] + similarity[i - 1, j - 1]
            b = table[i - 1, j] - penalty
            c = table[i, j - 1] - penalty
            top = max(a, max(b, c))
            table[i, j] = top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top))
    return table[n, m]
