"""Robotics and mechanics: chains, bodies and clouds of points, written over the joints and pairs."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def pendulum_chain_adjoint(theta, omega, lengths, spring, drag, steps):
    n, h = theta.shape[0], 0.01
    angles, speeds, sines = np.empty((steps + 1, n)), np.empty((steps + 1, n)), np.empty((steps, n))
    angles[0], speeds[0] = theta, omega
    energy = 0.0
    for t in range(steps):
        for i in range(n):
            sines[t, i] = math.sin(angles[t, i])
            a = -9.81 / lengths[i] * sines[t, i] - drag * speeds[t, i]
            if i > 0:
                a += spring * (angles[t, i - 1] - angles[t, i])
            if i < n - 1:
                a += spring * (angles[t, i + 1] - angles[t, i])
            speeds[t + 1, i] = speeds[t, i] + h * a
        for i in range(n):
            angles[t + 1, i] = angles[t, i] + h * speeds[t + 1, i]
            energy += 0.5 * speeds[t + 1, i] * speeds[t + 1, i]
    theta_bar, omega_bar, lengths_bar, pulls = np.zeros(n), np.zeros(n), np.zeros(n), np.empty(n)
    spring_bar = drag_bar = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            bar = omega_bar[i] + speeds[t + 1, i] / steps + h * theta_bar[i]
            pull = h * bar
            pulls[i] = pull
            lengths_bar[i] += pull * 9.81 / (lengths[i] * lengths[i]) * sines[t, i]
            drag_bar -= pull * speeds[t, i]
            omega_bar[i] = bar - drag * pull
        for i in range(n):
            theta_bar[i] -= pulls[i] * 9.81 / lengths[i] * math.cos(angles[t, i])
        for i in range(n - 1):
            stretch = pulls[i + 1] - pulls[i]
            spring_bar -= stretch * (angles[t, i + 1] - angles[t, i])
            theta_bar[i] += spring * stretch
            theta_bar[i + 1] -= spring * stretch
    return energy / steps, theta_bar, omega_bar, lengths_bar, spring_bar, drag_bar


@program(
    "robotics",
    lambda r, n, t: (r.standard_normal(n) * 0.3, np.zeros(n), 1.0 + r.random(n), 2.0, 0.1, t),
    (50, 1600),
    (4, 3),
    pendulum_chain_adjoint,
)
def pendulum_chain(theta, omega, lengths, spring, drag, steps):
    theta = theta.copy()
    omega = omega.copy()
    n = theta.shape[0]
    h = 0.01
    energy = 0.0
    for _ in range(steps):
        for i in range(n):
            a = -9.81 / lengths[i] * math.sin(theta[i]) - drag * omega[i]
            if i > 0:
                a += spring * (theta[i - 1] - theta[i])
            if i < n - 1:
                a += spring * (theta[i + 1] - theta[i])
            omega[i] += h * a
        for i in range(n):
            theta[i] += h * omega[i]
        energy += 0.5 * np.sum(omega**2)
    return energy / steps


@by_hand
def plummer_adjoint(x, v, m, eps, steps):
    n, h = x.shape[0], 0.01
    places, v = np.empty((steps + 1, n, 3)), v.copy()
    places[0] = x
    d = np.empty(3)
    for t in range(steps):
        now = places[t]
        for i in range(n):
            for j in range(i + 1, n):
                r2 = eps * eps
                for c in range(3):
                    d[c] = now[j, c] - now[i, c]
                    r2 += d[c] * d[c]
                force = h / (r2 * math.sqrt(r2))
                for c in range(3):
                    v[i, c] += m[j] * force * d[c]
                    v[j, c] -= m[i] * force * d[c]
        places[t + 1] = now + h * v
    value = np.sum(places[steps] ** 2) + np.sum(v**2)
    x_bar, v_bar, m_bar, eps_bar = 2.0 * places[steps], 2.0 * v, np.zeros(n), 0.0
    for t in range(steps - 1, -1, -1):
        now = places[t]
        v_bar += h * x_bar
        for i in range(n):
            for j in range(i + 1, n):
                r2 = eps * eps
                for c in range(3):
                    d[c] = now[j, c] - now[i, c]
                    r2 += d[c] * d[c]
                force = h / (r2 * math.sqrt(r2))
                along_i = along_j = 0.0
                for c in range(3):
                    along_i += v_bar[i, c] * d[c]
                    along_j += v_bar[j, c] * d[c]
                m_bar[j] += force * along_i
                m_bar[i] -= force * along_j
                r2_bar = -3.0 * force / r2 * (m[j] * along_i - m[i] * along_j)
                eps_bar += eps * r2_bar
                for c in range(3):
                    d_bar = force * (m[j] * v_bar[i, c] - m[i] * v_bar[j, c]) + r2_bar * d[c]
                    x_bar[j, c] += d_bar
                    x_bar[i, c] -= d_bar
    return value, x_bar, v_bar, m_bar, eps_bar


@program(
    "robotics",
    lambda r, n, t: (r.standard_normal((n, 3)), r.standard_normal((n, 3)) * 0.1, r.random(n) + 0.5, 0.3, t),
    (30, 120),
    (3, 2),
    plummer_adjoint,
)
def plummer(x, v, m, eps, steps):
    """Bodies under softened gravity; the pull of each pair is added to both."""
    n = x.shape[0]
    x = x.copy()
    v = v.copy()
    h = 0.01
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                d = x[j] - x[i]
                r2 = d @ d + eps**2
                f = d / (r2 * np.sqrt(r2))
                v[i] += h * m[j] * f
                v[j] -= h * m[i] * f
        x += h * v
    return np.sum(x * x) + np.sum(v * v)


@by_hand
def arm_chain_adjoint(angles, dh, target):
    n = angles.shape[0]
    poses, joints, value = np.zeros((n + 1, 3, 4)), np.zeros((n, 4, 4)), 0.0
    for k in range(3):
        poses[0, k, k] = 1.0
    for i in range(n):
        c, s, ca, sa = math.cos(angles[i]), math.sin(angles[i]), math.cos(dh[i, 0]), math.sin(dh[i, 0])
        a, A = dh[i, 1], joints[i]
        A[0, 0], A[0, 1], A[0, 2], A[0, 3] = c, -s * ca, s * sa, a * c
        A[1, 0], A[1, 1], A[1, 2], A[1, 3] = s, c * ca, -c * sa, a * s
        A[2, 1], A[2, 2], A[2, 3], A[3, 3] = sa, ca, dh[i, 2], 1.0
        for k in range(3):
            for j in range(4):
                total = 0.0
                for q in range(4):
                    total += poses[i, k, q] * A[q, j]
                poses[i + 1, k, j] = total
            value += (poses[i + 1, k, 3] - target[k]) ** 2
    angles_bar, dh_bar, target_bar = np.empty(n), np.empty((n, 3)), np.zeros(3)
    bar, before, A_bar = np.zeros((3, 4)), np.empty((3, 4)), np.empty((4, 4))
    for i in range(n - 1, -1, -1):
        A = joints[i]
        for k in range(3):
            gap = 2.0 * (poses[i + 1, k, 3] - target[k])
            bar[k, 3] += gap
            target_bar[k] -= gap
        for q in range(3):
            for j in range(4):
                A_bar[q, j] = poses[i, 0, q] * bar[0, j] + poses[i, 1, q] * bar[1, j] + poses[i, 2, q] * bar[2, j]
        for k in range(3):
            for q in range(4):
                before[k, q] = bar[k, 0] * A[q, 0] + bar[k, 1] * A[q, 1] + bar[k, 2] * A[q, 2] + bar[k, 3] * A[q, 3]
        bar, before = before, bar
        c, s, ca, sa = A[0, 0], A[1, 0], A[2, 2], A[2, 1]
        a = dh[i, 1]
        c_bar = A_bar[0, 0] + ca * A_bar[1, 1] - sa * A_bar[1, 2] + a * A_bar[0, 3]
        s_bar = A_bar[1, 0] - ca * A_bar[0, 1] + sa * A_bar[0, 2] + a * A_bar[1, 3]
        ca_bar = A_bar[2, 2] - s * A_bar[0, 1] + c * A_bar[1, 1]
        sa_bar = A_bar[2, 1] + s * A_bar[0, 2] - c * A_bar[1, 2]
        angles_bar[i] = c * s_bar - s * c_bar
        dh_bar[i, 0], dh_bar[i, 1], dh_bar[i, 2] = ca * sa_bar - sa * ca_bar, c * A_bar[0, 3] + s * A_bar[1, 3], A_bar[2, 3]
    return value, angles_bar, dh_bar, target_bar


@program("robotics", lambda r, n: (r.standard_normal(n), r.random((n, 3)), np.array([1.0, 0.5, 0.2])), (3000,), (3,), arm_chain_adjoint)
def arm_chain(angles, dh, target):
    """Joints by Denavit and Hartenberg, one frame after the other."""
    T = np.eye(4)
    reach = 0.0
    for i in range(angles.shape[0]):
        c, s = np.cos(angles[i]), np.sin(angles[i])
        ca, sa = np.cos(dh[i, 0]), np.sin(dh[i, 0])
        a, d = dh[i, 1], dh[i, 2]
        A = np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]])
        T = T @ A
        reach += np.sum((T[:3, 3] - target) ** 2)
    return reach


@by_hand
def icp_adjoint(w, t, source, target):
    n, m = source.shape[0], target.shape[0]
    angle = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-12)
    k = w / angle
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    sine, cosine, square = math.sin(angle), math.cos(angle), K @ K
    R = np.eye(3) + sine * K + (1.0 - cosine) * square
    value, R_bar, t_bar = 0.0, np.zeros((3, 3)), np.zeros(3)
    source_bar, target_bar, p = np.empty((n, 3)), np.zeros((m, 3)), np.empty(3)
    for i in range(n):
        for c in range(3):
            p[c] = R[c, 0] * source[i, 0] + R[c, 1] * source[i, 1] + R[c, 2] * source[i, 2] + t[c]
        near, e = 0, np.inf
        for j in range(m):
            d = (target[j, 0] - p[0]) ** 2 + (target[j, 1] - p[1]) ** 2 + (target[j, 2] - p[2]) ** 2
            if d < e:
                near, e = j, d
        value += e / (e + 0.01)
        weight = 2.0 * 0.01 / (e + 0.01) ** 2
        for c in range(3):
            p[c] = weight * (p[c] - target[near, c])
            t_bar[c] += p[c]
            target_bar[near, c] -= p[c]
            for q in range(3):
                R_bar[c, q] += p[c] * source[i, q]
        for q in range(3):
            source_bar[i, q] = R[0, q] * p[0] + R[1, q] * p[1] + R[2, q] * p[2]
    K_bar = sine * R_bar + (1.0 - cosine) * (R_bar @ K.T + K.T @ R_bar)
    k_bar = np.array([K_bar[2, 1] - K_bar[1, 2], K_bar[0, 2] - K_bar[2, 0], K_bar[1, 0] - K_bar[0, 1]])
    angle_bar = np.sum(R_bar * (cosine * K + sine * square)) - np.sum(k_bar * k) / angle
    return value, k_bar / angle + angle_bar * k, t_bar, source_bar, target_bar


@program(
    "robotics",
    lambda r, n, m: (0.1 * r.standard_normal(3), 0.1 * r.standard_normal(3), r.random((n, 3)), r.random((m, 3))),
    (1000, 400),
    (4, 5),
    icp_adjoint,
)
def icp(w, t, source, target):
    """A cloud of points moved onto another, each to the nearest, under a loss that forgives outliers."""
    angle = np.sqrt(w @ w + 1e-12)
    k = w / angle
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    R = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
    moved = source @ R.T + t
    cost = 0.0
    for i in range(moved.shape[0]):
        d = np.sum((target - moved[i]) ** 2, axis=1)
        j = np.argmin(d)
        e = d[j]
        cost += e / (e + 0.01)
    return cost
