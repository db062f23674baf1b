"""NPBench-like applications: distances, spectra, sparse products, integration in rings."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def arc_distance_adjoint(theta_1, phi_1, theta_2, phi_2):
    n = theta_1.size
    value = 0.0
    a, b, c, d = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        st, ct = np.sin((theta_2[i] - theta_1[i]) / 2), np.cos((theta_2[i] - theta_1[i]) / 2)
        sp, cp = np.sin((phi_2[i] - phi_1[i]) / 2), np.cos((phi_2[i] - phi_1[i]) / 2)
        c1, c2 = np.cos(theta_1[i]), np.cos(theta_2[i])
        t = st * st + c1 * c2 * sp * sp
        value += 2.0 * np.arctan2(np.sqrt(t), np.sqrt(1.0 - t))
        t_bar = 1.0 / np.sqrt(t * (1.0 - t))
        half = t_bar * st * ct
        a[i] = -half - t_bar * np.sin(theta_1[i]) * c2 * sp * sp
        c[i] = half - t_bar * np.sin(theta_2[i]) * c1 * sp * sp
        d[i] = t_bar * c1 * c2 * sp * cp
        b[i] = -d[i]
    return value, a, b, c, d


@program("npbench", lambda r, n: tuple(r.random(n) for _ in range(4)), (100_000,), (6,), arc_distance_adjoint)
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    distance = 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))
    return np.sum(distance)


@program("npbench", lambda r, n, k: (r.random(n), r.random(n), k), (20_000, 50), (40, 3), fixed=(1,))
def azimint_naive(data, radius, npt):
    rmax = np.max(radius)
    res = np.zeros(npt)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = np.logical_and(r1 <= radius, radius < r2)
        res[i] = data[mask].mean()
    return np.sum(res * res)


@program("npbench", lambda r, n, k: (r.random(n), r.random(n), k), (200_000, 100), (40, 3), fixed=(1,))
def azimint_hist(data, radius, npt):
    bins = np.minimum((radius * npt).astype(np.int64), npt - 1)
    counts = np.bincount(bins, minlength=npt)
    sums = np.bincount(bins, weights=data, minlength=npt)
    res = sums / np.maximum(counts, 1)
    return np.sum(res * res)


def sparse(r, n, k):
    cols = np.sort(r.integers(0, n, (n, k)), axis=1)
    return np.arange(0, n * k + 1, k), cols.reshape(-1), r.random(n * k), r.random(n)


@by_hand
def spmv_adjoint(rows, cols, vals, x):
    value = 0.0
    vals_bar, x_bar = np.empty_like(vals), np.zeros_like(x)
    for i in range(rows.size - 1):
        s = 0.0
        for k in range(rows[i], rows[i + 1]):
            s += vals[k] * x[cols[k]]
        value += s * s
        for k in range(rows[i], rows[i + 1]):
            vals_bar[k] = 2.0 * s * x[cols[k]]
            x_bar[cols[k]] += 2.0 * s * vals[k]
    return value, vals_bar, x_bar


@program("npbench", sparse, (20_000, 40), (6, 3), spmv_adjoint)
def spmv(rows, cols, vals, x):
    y = np.empty(rows.size - 1)
    for i in range(rows.size - 1):
        picked = cols[rows[i] : rows[i + 1]]
        y[i] = vals[rows[i] : rows[i + 1]] @ x[picked]
    return np.sum(y * y)


@program("npbench", lambda r, n, k: (r.random(n), r.random((k, 3)) + 0.5, 0.05), (2000, 60), (12, 3))
def spectrum(grid, lines, width):
    total = np.zeros(grid.shape)
    for k in range(lines.shape[0]):
        total += lines[k, 0] / (1.0 + ((grid - lines[k, 1]) / (width * lines[k, 2])) ** 2)
    return np.sum(np.log(1.0 + total))
