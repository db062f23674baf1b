"""Partial differential equations as people write them: a limiter, alternating directions, an absorbing layer, finite elements."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def advection_limiter_adjoint(q, speed, steps):
    n, c = q.shape[0], 0.4
    padded, lefts, flux = np.empty((steps, n + 4)), np.empty((steps, n + 1)), np.empty(n + 1)
    q = q.copy()
    for t in range(steps):
        p = padded[t]
        p[2 : n + 2] = q
        p[0], p[1], p[n + 2], p[n + 3] = q[n - 2], q[n - 1], q[0], q[1]
        for i in range(n + 1):
            a, b = p[i + 1] - p[i], p[i + 2] - p[i + 1]
            slope = 2.0 * a * b / (a + b + 1e-12)
            lefts[t, i] = p[i + 1] + (0.5 * slope if a * b > 0.0 else 0.0)
            flux[i] = speed[i] * lefts[t, i]
        for i in range(n):
            q[i] -= c * (flux[i + 1] - flux[i])
    value, bar, p_bar, speed_bar = np.sum(q**3), 3.0 * q * q, np.empty(n + 4), np.zeros(n + 1)
    for t in range(steps - 1, -1, -1):
        p = padded[t]
        p_bar[0] = p_bar[1] = p_bar[n + 2] = p_bar[n + 3] = 0.0
        p_bar[2 : n + 2] = bar
        for i in range(n + 1):
            flux_bar = c * ((bar[i] if i < n else 0.0) - (bar[i - 1] if i else 0.0))
            speed_bar[i] += flux_bar * lefts[t, i]
            left_bar = flux_bar * speed[i]
            a, b = p[i + 1] - p[i], p[i + 2] - p[i + 1]
            inverse = 1.0 / (a + b + 1e-12)
            slope_bar = left_bar * inverse * inverse if a * b > 0.0 else 0.0
            a_bar, b_bar = slope_bar * b * (b + 1e-12), slope_bar * a * (a + 1e-12)
            p_bar[i] -= a_bar
            p_bar[i + 1] += left_bar + a_bar - b_bar
            p_bar[i + 2] += b_bar
        bar[:] = p_bar[2 : n + 2]
        bar[n - 2] += p_bar[0]
        bar[n - 1] += p_bar[1]
        bar[0] += p_bar[n + 2]
        bar[1] += p_bar[n + 3]
    return value, bar, speed_bar


@program("pde", lambda r, n, t: (r.random(n), 0.5 + 0.2 * r.random(n + 1), t), (1000, 400), (9, 3), advection_limiter_adjoint)
def advection_limiter(q, speed, steps):
    """Finite volumes on a ring, with van Leer's limiter."""
    c = 0.4
    for _ in range(steps):
        p = np.concatenate((q[-2:], q, q[:2]))
        d = p[1:] - p[:-1]
        a, b = d[:-1], d[1:]
        slope = np.where(a * b > 0.0, 2.0 * a * b / (a + b + 1e-12), 0.0)
        left = p[1:-2] + 0.5 * slope[:-1]
        flux = speed * left
        q = q - c * (flux[1:] - flux[:-1])
    return np.sum(q**3)


@by_hand
def implicit(k, rhs, upper, x):
    """Solve along a line, with -k, 1 + 2 k and -k in row i."""
    n = k.shape[0]
    inverse = 1.0 / (1.0 + 2.0 * k[0])
    upper[0], x[0] = -k[0] * inverse, rhs[0] * inverse
    for i in range(1, n):
        inverse = 1.0 / (1.0 + 2.0 * k[i] + k[i] * upper[i - 1])
        upper[i], x[i] = -k[i] * inverse, (rhs[i] + k[i] * x[i - 1]) * inverse
    for i in range(n - 2, -1, -1):
        x[i] -= upper[i] * x[i + 1]


@by_hand
def implicit_adjoint(k, x, x_bar, upper, rhs_bar, k_bar):
    """Solve with the transposed matrix for the adjoint of the right side, and add to that of k."""
    n = k.shape[0]
    inverse = 1.0 / (1.0 + 2.0 * k[0])
    upper[0], rhs_bar[0] = -k[1] * inverse, x_bar[0] * inverse
    for i in range(1, n):
        inverse = 1.0 / (1.0 + 2.0 * k[i] + k[i - 1] * upper[i - 1])
        rhs_bar[i] = (x_bar[i] + k[i - 1] * rhs_bar[i - 1]) * inverse
        if i < n - 1:
            upper[i] = -k[i + 1] * inverse
    for i in range(n - 2, -1, -1):
        rhs_bar[i] -= upper[i] * rhs_bar[i + 1]
    for i in range(n):
        k_bar[i] += rhs_bar[i] * ((x[i - 1] if i else 0.0) - 2.0 * x[i] + (x[i + 1] if i < n - 1 else 0.0))


@by_hand
def explicit_adjoint(k, line, before, after, rhs_bar, bar, before_bar, after_bar, k_bar):
    """Of the right side, line + k (before - 2 line + after)."""
    for i in range(k.shape[0]):
        spread = rhs_bar[i] * k[i]
        bar[i] += rhs_bar[i] - 2.0 * spread
        before_bar[i] += spread
        after_bar[i] += spread
        k_bar[i] += rhs_bar[i] * (before[i] - 2.0 * line[i] + after[i])


@by_hand
def heat_adi_adjoint(u, k, steps):
    n = u.shape[0]
    across, halves, states = np.ascontiguousarray(k.T), np.zeros((steps, n, n)), np.zeros((steps + 1, n, n))
    states[0] = u.T  # columns stand as rows where the lines run along them: states and halves are transposed
    rhs, upper, turned = np.empty(n), np.empty(n), np.zeros((n, n))
    for t in range(steps):
        now, half = states[t], np.zeros((n, n))
        for j in range(1, n - 1):
            for i in range(n):
                rhs[i] = now[j, i] + across[j, i] * (now[j - 1, i] - 2.0 * now[j, i] + now[j + 1, i])
            implicit(across[j], rhs, upper, half[j])
        halves[t] = half.T
        for i in range(1, n - 1):
            for j in range(n):
                rhs[j] = halves[t, i, j] + k[i, j] * (halves[t, i - 1, j] - 2.0 * halves[t, i, j] + halves[t, i + 1, j])
            implicit(k[i], rhs, upper, turned[i])
        states[t + 1] = turned.T
    value, bar = np.sum(states[steps] ** 2), 2.0 * states[steps]
    k_bar, across_bar, rhs_bar = np.zeros((n, n)), np.zeros((n, n)), np.empty(n)
    for t in range(steps - 1, -1, -1):
        now, half, after = states[t], halves[t], np.ascontiguousarray(states[t + 1].T)
        after_bar, half_bar = np.ascontiguousarray(bar.T), np.zeros((n, n))
        for i in range(1, n - 1):
            implicit_adjoint(k[i], after[i], after_bar[i], upper, rhs_bar, k_bar[i])
            explicit_adjoint(k[i], half[i], half[i - 1], half[i + 1], rhs_bar, half_bar[i], half_bar[i - 1], half_bar[i + 1], k_bar[i])
        made, made_bar = np.ascontiguousarray(half.T), np.ascontiguousarray(half_bar.T)
        bar = np.zeros((n, n))
        for j in range(1, n - 1):
            implicit_adjoint(across[j], made[j], made_bar[j], upper, rhs_bar, across_bar[j])
            explicit_adjoint(across[j], now[j], now[j - 1], now[j + 1], rhs_bar, bar[j], bar[j - 1], bar[j + 1], across_bar[j])
    return value, np.ascontiguousarray(bar.T), k_bar + across_bar.T


def thomas(a, b, c, d):
    n = d.shape[0]
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[n - 1] = dp[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


@program("pde", lambda r, n, t: (r.random((n, n)), 0.3 + 0.1 * r.random((n, n)), t), (60, 10), (5, 2), heat_adi_adjoint)
def heat_adi(u, k, steps):
    """Heat by alternating directions: tridiagonal systems along columns, then along rows."""
    n = u.shape[0]
    u = u.copy()
    for _ in range(steps):
        half = np.zeros((n, n))
        for j in range(1, n - 1):
            kj = k[:, j]
            half[:, j] = thomas(-kj, 1.0 + 2.0 * kj, -kj, u[:, j] + kj * (u[:, j - 1] - 2.0 * u[:, j] + u[:, j + 1]))
        u = np.zeros((n, n))
        for i in range(1, n - 1):
            ki = k[i]
            u[i] = thomas(-ki, 1.0 + 2.0 * ki, -ki, half[i] + ki * (half[i - 1] - 2.0 * half[i] + half[i + 1]))
    return np.sum(u**2)


@by_hand
def wave_pml_adjoint(c, source, observed, strength):
    n, steps = c.shape[0], source.shape[0]
    h = 1.0 / n
    dt = 0.4 * h
    ramp, damp, gain, courant = np.empty(n), np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        ramp[i] = max(0.0, 1.0 - min(i, n - 1 - i) / 8.0) ** 2
    for i in range(n):
        for j in range(n):
            damp[i, j] = 0.5 * dt * strength * (ramp[i] + ramp[j])
            gain[i, j] = 1.0 / (1.0 + damp[i, j])
            courant[i, j] = (c[i, j] * dt / h) ** 2
    waves, misfit = np.zeros((steps + 2, n, n)), 0.0
    for t in range(steps):
        old, now, new = waves[t], waves[t + 1], waves[t + 2]
        for i in range(n):
            for j in range(n):
                new[i, j] = (2.0 * now[i, j] - (1.0 - damp[i, j]) * old[i, j]) * gain[i, j]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                lap = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1] - 4.0 * now[i, j]
                new[i, j] += courant[i, j] * lap * gain[i, j]
        new[n // 2, n // 2] += dt * dt * source[t]
        for j in range(n):
            misfit += (new[n // 4, j] - observed[t, j]) ** 2
    source_bar, observed_bar, damp_bar, courant_bar = np.empty(steps), np.empty((steps, n)), np.zeros((n, n)), np.zeros((n, n))
    new_bar, now_bar, old_bar, mid = np.zeros((n, n)), np.zeros((n, n)), np.empty((n, n)), n // 2
    for t in range(steps - 1, -1, -1):
        old, now, new = waves[t], waves[t + 1], waves[t + 2]
        for j in range(n):
            gap = 2.0 * (new[n // 4, j] - observed[t, j])
            observed_bar[t, j] = -gap
            new_bar[n // 4, j] += gap
        source_bar[t] = dt * dt * new_bar[mid, mid]
        damp_bar[mid, mid] += new_bar[mid, mid] * gain[mid, mid] * dt * dt * source[t]
        for i in range(n):
            for j in range(n):
                g = new_bar[i, j] * gain[i, j]
                new_bar[i, j] = g
                damp_bar[i, j] += g * (old[i, j] - new[i, j])
                old_bar[i, j] = -(1.0 - damp[i, j]) * g
                now_bar[i, j] += 2.0 * g
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                lap = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1] - 4.0 * now[i, j]
                courant_bar[i, j] += new_bar[i, j] * lap
                g = new_bar[i, j] * courant[i, j]
                now_bar[i, j] -= 4.0 * g
                now_bar[i + 1, j] += g
                now_bar[i - 1, j] += g
                now_bar[i, j + 1] += g
                now_bar[i, j - 1] += g
        new_bar, now_bar, old_bar = now_bar, old_bar, new_bar
    strength_bar = 0.0
    for i in range(n):
        for j in range(n):
            strength_bar += damp_bar[i, j] * 0.5 * dt * (ramp[i] + ramp[j])
            courant_bar[i, j] *= 2.0 * c[i, j] * (dt / h) ** 2
    return misfit, courant_bar, source_bar, observed_bar, strength_bar


@program("pde", lambda r, n, t: (1.0 + 0.2 * r.random((n, n)), r.random(t), r.random((t, n)), 20.0), (60, 80), (10, 4), wave_pml_adjoint)
def wave_pml(c, source, observed, strength):
    """Waves in a medium between absorbing layers, against a seismogram."""
    n = c.shape[0]
    h = 1.0 / n
    dt = 0.4 * h
    depth = np.minimum(np.arange(n), n - 1 - np.arange(n))
    ramp = np.where(depth < 8, (1.0 - depth / 8.0) ** 2, 0.0)
    damp = strength * (ramp[:, None] + ramp[None, :])
    old = np.zeros((n, n))
    now = np.zeros((n, n))
    misfit = 0.0
    for t in range(source.shape[0]):
        lap = np.zeros((n, n))
        lap[1:-1, 1:-1] = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        new = (2.0 * now - (1.0 - 0.5 * damp * dt) * old + (c * dt / h) ** 2 * lap) / (1.0 + 0.5 * damp * dt)
        new[n // 2, n // 2] += dt**2 * source[t]
        old, now = now, new
        misfit += np.sum((now[n // 4] - observed[t]) ** 2)
    return misfit


@by_hand
def fem_energy_adjoint(points, cells, u, k):
    residual, energy = np.zeros(points.shape[0]), 0.0
    B, g, G = np.empty((2, 3)), np.empty(2), np.empty(2)
    for backward in (False, True):
        if backward:
            points_bar, u_bar, k_bar = np.zeros_like(points), np.zeros_like(u), np.empty_like(k)
            for i in range(residual.shape[0]):
                energy += residual[i] * residual[i]
                residual[i] *= 2.0
        for e in range(cells.shape[0]):
            i, j, m = cells[e]
            B[0, 0], B[0, 1], B[0, 2] = points[j, 1] - points[m, 1], points[m, 1] - points[i, 1], points[i, 1] - points[j, 1]
            B[1, 0], B[1, 1], B[1, 2] = points[m, 0] - points[j, 0], points[i, 0] - points[m, 0], points[j, 0] - points[i, 0]
            area = 0.5 * (B[1, 2] * B[0, 1] - B[1, 1] * B[0, 2])
            scale = k[e] / (4.0 * area)
            for c in range(2):
                g[c] = B[c, 0] * u[i] + B[c, 1] * u[j] + B[c, 2] * u[m]
            if not backward:
                for a in range(3):
                    residual[cells[e, a]] += scale * (B[0, a] * g[0] + B[1, a] * g[1]) - area / 3.0
                continue
            for c in range(2):
                G[c] = B[c, 0] * residual[i] + B[c, 1] * residual[j] + B[c, 2] * residual[m]
            inner = g[0] * G[0] + g[1] * G[1]
            k_bar[e] = inner / (4.0 * area)
            area_bar = -scale * inner / area - (residual[i] + residual[j] + residual[m]) / 3.0
            for a in range(3):
                at, after, before = cells[e, a], cells[e, (a + 1) % 3], cells[e, (a + 2) % 3]
                u_bar[at] += scale * (B[0, a] * G[0] + B[1, a] * G[1])
                rise = scale * (G[0] * u[at] + g[0] * residual[at])
                run = scale * (G[1] * u[at] + g[1] * residual[at])
                points_bar[after, 1] += rise
                points_bar[before, 1] -= rise
                points_bar[before, 0] += run
                points_bar[after, 0] -= run
                points_bar[at, 0] += 0.5 * area_bar * B[0, a]
                points_bar[at, 1] += 0.5 * area_bar * B[1, a]
    return energy, points_bar, u_bar, k_bar


def triangles(r, n):
    xs, ys = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.stack((xs.ravel(), ys.ravel()), axis=1) + 0.1 / n * r.standard_normal((n * n, 2))
    i = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    cells = np.concatenate((np.stack((i, i + 1, i + n), 1), np.stack((i + 1, i + n + 1, i + n), 1)))
    return points, cells, r.random(n * n), 1.0 + r.random(len(cells))


@program("pde", triangles, (80,), (4,), fem_energy_adjoint)
def fem_energy(points, cells, u, k):
    """The residual of linear elements, assembled over triangles."""
    n = points.shape[0]
    residual = np.zeros(n)
    for e in range(cells.shape[0]):
        idx = cells[e]
        p = points[idx]
        B = np.array([[p[1, 1] - p[2, 1], p[2, 1] - p[0, 1], p[0, 1] - p[1, 1]], [p[2, 0] - p[1, 0], p[0, 0] - p[2, 0], p[1, 0] - p[0, 0]]])
        area = 0.5 * ((p[1, 0] - p[0, 0]) * (p[2, 1] - p[0, 1]) - (p[2, 0] - p[0, 0]) * (p[1, 1] - p[0, 1]))
        K = k[e] * (B.T @ B) / (4.0 * area)
        local = K @ u[idx]
        for a in range(3):
            residual[idx[a]] += local[a] - area / 3.0
    return np.sum(residual**2)
