"""Ordinary differential equations, and what is fitted to them: fixed steps, steps that adapt, a window of observations."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def advected(s, F, k):
    n = s.shape[0]
    for i in range(n - 3):  # from 0: Numba counts negative positions from the end
        k[i + 2] = (s[i + 3] - s[i]) * s[i + 1] - s[i + 2] + F
    for i in (0, 1, n - 1):
        k[i] = (s[(i + 1) % n] - s[(i - 2) % n]) * s[(i - 1) % n] - s[i] + F


@by_hand
def advected_adjoint(s, k_bar, s_bar):
    n = s.shape[0]
    for i in range(n - 4):
        s_bar[i + 2] = k_bar[i + 1] * s[i] - k_bar[i + 4] * s[i + 3] + k_bar[i + 3] * (s[i + 4] - s[i + 1]) - k_bar[i + 2]
    for i in (0, 1, n - 2, n - 1):
        a, b, c, d = (i - 2) % n, (i - 1) % n, (i + 1) % n, (i + 2) % n
        s_bar[i] = k_bar[b] * s[a] - k_bar[d] * s[c] + k_bar[c] * (s[d] - s[b]) - k_bar[i]


@by_hand
def lorenz96_adjoint(x, F, h, steps):
    n = x.shape[0]
    at, sums = np.empty((steps, 4, n)), np.empty(n)
    now, k = x.copy(), np.zeros(n)
    shares, weights = (0.0, 0.5 * h, 0.5 * h, h), (h / 6.0, h / 3.0, h / 3.0, h / 6.0)
    for t in range(steps):
        sums[:] = now
        for stage in range(4):
            for i in range(n):
                at[t, stage, i] = now[i] + shares[stage] * k[i]
            advected(at[t, stage], F, k)
            for i in range(n):
                sums[i] += weights[stage] * k[i]
        now[:] = sums
    value = np.mean(now * now)
    bar, before, k_bar, s_bar, F_bar = 2.0 / n * now, np.empty(n), np.empty(n), np.zeros(n), 0.0
    for t in range(steps - 1, -1, -1):
        before[:] = bar
        for stage in range(3, -1, -1):
            for i in range(n):
                k_bar[i] = weights[stage] * bar[i] + (shares[stage + 1] * s_bar[i] if stage < 3 else 0.0)
                F_bar += k_bar[i]
            advected_adjoint(at[t, stage], k_bar, s_bar)
            for i in range(n):
                before[i] += s_bar[i]
        bar, before = before, bar
    return value, bar, F_bar


def l96(x, F):
    return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + F


@program("ode", lambda r, n, t: (r.standard_normal(n), 8.0, 0.01, t), (400, 300), (6, 3), lorenz96_adjoint, fixed=(2,))
def lorenz96(x, F, h, steps):
    for _ in range(steps):
        k1 = l96(x, F)
        k2 = l96(x + 0.5 * h * k1, F)
        k3 = l96(x + 0.5 * h * k2, F)
        k4 = l96(x + h * k3, F)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.mean(x**2)


STAGES = np.zeros((7, 7))
STAGES[1, :1] = 1 / 5
STAGES[2, :2] = 3 / 40, 9 / 40
STAGES[3, :3] = 44 / 45, -56 / 15, 32 / 9
STAGES[4, :4] = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
STAGES[5, :5] = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
STAGES[6, :6] = 35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
ERRORS = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


@by_hand
def lotka_step(y, p, h, at, k, ratios):
    """The places and slopes of the seven stages, the error over what is allowed of each number, and their norm."""
    for s in range(7):
        for c in range(2):
            total = 0.0
            for j in range(s):
                total += STAGES[s, j] * k[j, c]
            at[s, c] = y[c] + h * total
        k[s, 0] = p[0] * at[s, 0] - p[1] * at[s, 0] * at[s, 1]
        k[s, 1] = p[2] * at[s, 0] * at[s, 1] - p[3] * at[s, 1]
    error = 0.0
    for c in range(2):
        total = 0.0
        for j in range(7):
            total += ERRORS[j] * k[j, c]
        ratios[c] = h * total / (1e-6 + 1e-6 * abs(at[6, c]))
        error += 0.5 * ratios[c] * ratios[c]
    return math.sqrt(error)


@by_hand
def lotka_step_adjoint(y_bar, new_bar, p_bar, error_bar, p, h, y, at, k, ratios, error):
    """Add to the adjoints of the place and the parameters; what is left is that of the step."""
    h_bar, k_bar = 0.0, np.zeros((7, 2))
    for c in range(2):
        allowed = 1e-6 + 1e-6 * abs(at[6, c])
        bar = error_bar * 0.5 * ratios[c] / error
        new_bar[c] -= bar * ratios[c] / allowed * math.copysign(1e-6, at[6, c])
        h_bar += bar * ratios[c] / h
        for j in range(7):
            k_bar[j, c] = h * ERRORS[j] * bar / allowed
    for s in range(6, -1, -1):
        a, b, f, g = at[s, 0], at[s, 1], k_bar[s, 0], k_bar[s, 1]
        p_bar[0] += f * a
        p_bar[1] -= f * a * b
        p_bar[2] += g * a * b
        p_bar[3] -= g * b
        bars = (f * (p[0] - p[1] * b) + g * p[2] * b, g * (p[2] * a - p[3]) - f * p[1] * a)
        for c in range(2):
            bar = bars[c] + (new_bar[c] if s == 6 else 0.0)
            y_bar[c] += bar
            h_bar += bar * (at[s, c] - y[c]) / h
            for j in range(s):
                k_bar[j, c] += h * STAGES[s, j] * bar
    return h_bar


@by_hand
def lotka_rk45_adjoint(p, y0, end):
    t, h, y, trips = 0.0, 0.05, y0.copy(), 0
    states, steps, marks = np.empty((64, 2)), np.empty(64), np.empty((64, 2), np.bool_)
    at, k, ratios = np.empty((7, 2)), np.empty((7, 2)), np.empty(2)
    while t < end:
        if trips == steps.shape[0]:
            states, steps, marks = np.concatenate((states, states)), np.concatenate((steps, steps)), np.concatenate((marks, marks))
        marks[trips, 0] = t + h > end
        if marks[trips, 0]:
            h = end - t
        states[trips], steps[trips] = y, h
        error = lotka_step(y, p, h, at, k, ratios)
        marks[trips, 1] = error <= 1.0
        if error <= 1.0:
            t += h
            y[:] = at[6]
        h *= min(5.0, max(0.2, 0.9 * (error + 1e-12) ** -0.2))
        trips += 1
    y_bar, new_bar, p_bar, t_bar, h_bar = 2.0 * y, np.zeros(2), np.zeros(4), 0.0, 0.0
    for trip in range(trips - 1, -1, -1):
        before, h = states[trip], steps[trip]
        error = lotka_step(before, p, h, at, k, ratios)
        factor = 0.9 * (error + 1e-12) ** -0.2
        error_bar = -0.2 * h_bar * h * factor / (error + 1e-12) if 0.2 < factor < 5.0 else 0.0
        h_bar *= min(5.0, max(0.2, factor))
        new_bar[:] = 0.0
        if marks[trip, 1]:
            h_bar += t_bar
            new_bar[:] = y_bar
            y_bar[:] = 0.0
        h_bar += lotka_step_adjoint(y_bar, new_bar, p_bar, error_bar, p, h, before, at, k, ratios, error)
        if marks[trip, 0]:
            t_bar -= h_bar
            h_bar = 0.0
    return np.sum(y * y), p_bar, y_bar


def predator(y, p):
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


@program("ode", lambda r, t: (np.array([1.5, 1.0, 0.7, 3.0]), np.array([1.0, 1.0]), t), (240.0,), (2.0,), lotka_rk45_adjoint, fixed=(2,))
def lotka_rk45(p, y0, end):
    """Dormand and Prince with steps that adapt; the derivative goes through their lengths."""
    t, h, y = 0.0, 0.05, y0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = predator(y, p)
        k2 = predator(y + h * k1 / 5, p)
        k3 = predator(y + h * (3 * k1 / 40 + 9 * k2 / 40), p)
        k4 = predator(y + h * (44 * k1 / 45 - 56 * k2 / 15 + 32 * k3 / 9), p)
        k5 = predator(y + h * (19372 * k1 / 6561 - 25360 * k2 / 2187 + 64448 * k3 / 6561 - 212 * k4 / 729), p)
        k6 = predator(y + h * (9017 * k1 / 3168 - 355 * k2 / 33 + 46732 * k3 / 5247 + 49 * k4 / 176 - 5103 * k5 / 18656), p)
        new = y + h * (35 * k1 / 384 + 500 * k3 / 1113 + 125 * k4 / 192 - 2187 * k5 / 6784 + 11 * k6 / 84)
        k7 = predator(new, p)
        e = h * (71 * k1 / 57600 - 71 * k3 / 16695 + 71 * k4 / 1920 - 17253 * k5 / 339200 + 22 * k6 / 525 - k7 / 40)
        error = np.sqrt(np.mean((e / (1e-6 + 1e-6 * np.abs(new))) ** 2))
        if error <= 1.0:
            t = t + h
            y = new
        h = h * min(5.0, max(0.2, 0.9 * (error + 1e-12) ** -0.2))
    return np.sum(y**2)


@by_hand
def convection(s, p):
    return p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]


@by_hand
def convection_adjoint(s, p, bar, p_bar):
    p_bar[0] += bar[0] * (s[1] - s[0])
    p_bar[1] += bar[1] * s[0]
    p_bar[2] -= bar[2] * s[2]
    return bar[1] * (p[1] - s[2]) + bar[2] * s[1] - bar[0] * p[0], bar[0] * p[0] - bar[1] + bar[2] * s[0], -bar[1] * s[0] - bar[2] * p[2]


@by_hand
def moved(x, h, k):
    return x[0] + h * k[0], x[1] + h * k[1], x[2] + h * k[2]


@by_hand
def var4d_adjoint(x0, params, background, binv, observations):
    d, h, n = x0 - background, 0.01, observations.shape[0]
    value = 0.5 * np.sum(d * np.dot(binv, d))
    p = (params[0], params[1], params[2])
    states, x = np.empty((n, 10, 3)), (x0[0], x0[1], x0[2])
    gaps = np.empty((n, 3))
    for o in range(n):
        for t in range(10):
            states[o, t, 0], states[o, t, 1], states[o, t, 2] = x
            k1 = convection(x, p)
            k2 = convection(moved(x, h / 2, k1), p)
            k3 = convection(moved(x, h / 2, k2), p)
            k4 = convection(moved(x, h, k3), p)
            x = moved(moved(moved(moved(x, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4)
        for c in range(3):
            gaps[o, c] = x[c] - observations[o, c]
            value += 0.5 * gaps[o, c] * gaps[o, c]
    bar, p_bar = (0.0, 0.0, 0.0), np.zeros(3)
    for o in range(n - 1, -1, -1):
        bar = (bar[0] + gaps[o, 0], bar[1] + gaps[o, 1], bar[2] + gaps[o, 2])
        for t in range(9, -1, -1):
            x = (states[o, t, 0], states[o, t, 1], states[o, t, 2])
            s2 = moved(x, h / 2, convection(x, p))
            s3 = moved(x, h / 2, convection(s2, p))
            s4 = moved(x, h, convection(s3, p))
            b4 = convection_adjoint(s4, p, (h / 6 * bar[0], h / 6 * bar[1], h / 6 * bar[2]), p_bar)
            b3 = convection_adjoint(s3, p, (h / 3 * bar[0] + h * b4[0], h / 3 * bar[1] + h * b4[1], h / 3 * bar[2] + h * b4[2]), p_bar)
            half = h / 2
            b2 = convection_adjoint(s2, p, (h / 3 * bar[0] + half * b3[0], h / 3 * bar[1] + half * b3[1], h / 3 * bar[2] + half * b3[2]), p_bar)
            b1 = convection_adjoint(x, p, (h / 6 * bar[0] + half * b2[0], h / 6 * bar[1] + half * b2[1], h / 6 * bar[2] + half * b2[2]), p_bar)
            bar = moved(moved(moved(moved(bar, 1.0, b1), 1.0, b2), 1.0, b3), 1.0, b4)
    d_bar = 0.5 * (np.dot(binv, d) + np.dot(binv.T, d))
    return value, d_bar + np.array([bar[0], bar[1], bar[2]]), p_bar, -d_bar, 0.5 * np.outer(d, d)


def lorenz63(s, p):
    x, y, z = s
    sigma, rho, beta = p
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def window(r, n):
    return np.ones(3), np.array([10.0, 28.0, 8.0 / 3.0]), np.array([1.1, 0.9, 1.0]), np.eye(3) + 0.1 * r.random((3, 3)), r.standard_normal((n, 3))


@program("assimilation", window, (100,), (2,), var4d_adjoint, fixed=(4,))
def var4d(x0, params, background, binv, observations):
    """The cost of a trajectory against observations and a background."""
    d = x0 - background
    cost = 0.5 * d @ binv @ d
    x = x0
    h = 0.01
    for k in range(observations.shape[0]):
        for _ in range(10):
            k1 = lorenz63(x, params)
            k2 = lorenz63(x + h / 2 * k1, params)
            k3 = lorenz63(x + h / 2 * k2, params)
            k4 = lorenz63(x + h * k3, params)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        cost += 0.5 * np.sum((x - observations[k]) ** 2)
    return cost
