"""Likelihoods, dynamic programming and stochastic processes, with their adjoints by hand."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def hawkes_adjoint(base, jump, decay, times, horizon):
    n = times.shape[0]
    value, excited, slope = -base * horizon, 0.0, 0.0
    base_bar, jump_bar, decay_bar = -horizon, 0.0, 0.0
    for i in range(n):
        if i > 0:
            gap = times[i] - times[i - 1]
            fade = math.exp(-decay * gap)
            slope = fade * (slope - gap * (1.0 + excited))
            excited = fade * (1.0 + excited)
        rate = base + jump * excited
        inverse = 1.0 / rate
        value += math.log(rate)
        base_bar += inverse
        jump_bar += inverse * excited
        decay_bar += inverse * jump * slope
        rest = horizon - times[i]
        left = math.exp(-decay * rest)
        value -= jump / decay * (1.0 - left)
        jump_bar -= (1.0 - left) / decay
        decay_bar -= jump * (rest * left / decay - (1.0 - left) / (decay * decay))
    return value, base_bar, jump_bar, decay_bar


@program("statistics", lambda r, n: (0.5, 0.6, 1.2, np.cumsum(r.exponential(size=n)), 1.1 * n), (100_000,), (9,), hawkes_adjoint, fixed=(3, 4))
def hawkes(base, jump, decay, times, horizon):
    log_likelihood = -base * horizon
    excited = 0.0
    for i in range(len(times)):
        if i > 0:
            excited = math.exp(-decay * (times[i] - times[i - 1])) * (1.0 + excited)
        log_likelihood += math.log(base + jump * excited)
        log_likelihood -= jump / decay * (1.0 - math.exp(-decay * (horizon - times[i])))
    return log_likelihood


@by_hand
def cox_adjoint(X, beta, observed):
    n, d = X.shape
    scores = X @ beta
    risks, eta_bar = np.empty(n), np.empty(n)
    total, value = 0.0, 0.0
    for i in range(n):
        scores[i], eta = math.exp(scores[i]), scores[i]
        total += scores[i]
        risks[i] = total
        if observed[i]:
            value += eta - math.log(total)
    later = 0.0
    for i in range(n - 1, -1, -1):
        if observed[i]:
            later -= 1.0 / risks[i]
        eta_bar[i] = scores[i] * later + (1.0 if observed[i] else 0.0)
    X_bar = np.empty((n, d))
    for i in range(n):
        for j in range(d):
            X_bar[i, j] = eta_bar[i] * beta[j]
    return value, X_bar, eta_bar @ X


@program("statistics", lambda r, n, d: (r.standard_normal((n, d)), r.standard_normal(d) / d, r.random(n) < 0.7), (20_000, 30), (9, 3), cox_adjoint)
def cox_partial_likelihood(X, beta, observed):
    """Rows by falling time: those at risk at the time of row i are the rows up to i."""
    eta = X @ beta
    at_risk = np.cumsum(np.exp(eta))
    return np.sum((eta - np.log(at_risk))[observed])


@by_hand
def soft_alignment_adjoint(similarity, gap, temperature):
    n, m = similarity.shape
    H, p, q, s = np.zeros((n + 1, m + 1)), np.empty((n, m)), np.empty((n, m)), np.empty((n, m))
    value = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = H[i, j] + similarity[i, j], H[i, j + 1] - gap, H[i + 1, j] - gap
            top = max(max(a, b), max(c, 0.0))
            ea, eb, ec = math.exp((a - top) / temperature), math.exp((b - top) / temperature), math.exp((c - top) / temperature)
            total = ea + eb + ec + math.exp(-top / temperature)
            H[i + 1, j + 1] = top + temperature * math.log(total)
            p[i, j], q[i, j], s[i, j] = ea / total, eb / total, ec / total
            value += H[i + 1, j + 1]
    bar, similarity_bar, gap_bar = np.ones((n + 1, m + 1)), np.empty((n, m)), 0.0
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            h = bar[i + 1, j + 1]
            similarity_bar[i, j] = h * p[i, j]
            bar[i, j] += h * p[i, j]
            bar[i, j + 1] += h * q[i, j]
            bar[i + 1, j] += h * s[i, j]
            gap_bar -= h * (q[i, j] + s[i, j])
    return value, similarity_bar, gap_bar


@program("statistics", lambda r, n, m: (r.standard_normal((n, m)), 0.4, 0.7), (200, 220), (4, 5), soft_alignment_adjoint, fixed=(2,))
def soft_smith_waterman(similarity, gap, temperature):
    n, m = similarity.shape
    H = np.zeros((n + 1, m + 1))
    total = 0.0
    for i in range(n):
        for j in range(m):
            options = np.array([H[i, j] + similarity[i, j], H[i, j + 1] - gap, H[i + 1, j] - gap, 0.0])
            top = np.max(options)
            H[i + 1, j + 1] = top + temperature * np.log(np.sum(np.exp((options - top) / temperature)))
            total += H[i + 1, j + 1]
    return total


@by_hand
def tau_leap_adjoint(beta, gamma, noise, susceptible, infected, step):
    steps, runs = noise.shape[0], noise.shape[2]
    S, J = np.empty((steps + 1, runs)), np.empty((steps + 1, runs))
    S[0], J[0] = susceptible, infected
    for t in range(steps):
        for k in range(runs):
            sick = beta * S[t, k] * J[t, k] * step
            well = gamma * J[t, k] * step
            new = sick + math.sqrt(sick) * noise[t, 0, k]
            gone = well + math.sqrt(well) * noise[t, 1, k]
            S[t + 1, k] = max(S[t, k] - new, 1e-3)
            J[t + 1, k] = max(J[t, k] + new - gone, 1e-3)
    value, beta_bar, gamma_bar = 0.0, 0.0, 0.0
    S_bar, J_bar = np.zeros(runs), np.empty(runs)
    for k in range(runs):
        value += J[steps, k] * J[steps, k]
        J_bar[k] = 2.0 * J[steps, k]
    for t in range(steps - 1, -1, -1):
        for k in range(runs):
            s, i = S[t, k], J[t, k]
            sick, well = beta * s * i * step, gamma * i * step
            s_bar = S_bar[k] if S[t + 1, k] > 1e-3 else 0.0
            i_bar = J_bar[k] if J[t + 1, k] > 1e-3 else 0.0
            sick_bar = (i_bar - s_bar) * (1.0 + 0.5 * noise[t, 0, k] / math.sqrt(sick))
            well_bar = -i_bar * (1.0 + 0.5 * noise[t, 1, k] / math.sqrt(well))
            beta_bar += sick_bar * s * i * step
            gamma_bar += well_bar * i * step
            S_bar[k] = s_bar + sick_bar * beta * i * step
            J_bar[k] = i_bar + sick_bar * beta * s * step + well_bar * gamma * step
    susceptible_bar, infected_bar = 0.0, 0.0
    for k in range(runs):
        susceptible_bar += S_bar[k]
        infected_bar += J_bar[k]
    return value, beta_bar, gamma_bar, susceptible_bar, infected_bar


@program(
    "statistics", lambda r, t, k: (1.5, 0.3, 0.05 * r.standard_normal((t, 2, k)), 0.9, 0.1, 0.05), (100, 400), (4, 3), tau_leap_adjoint, fixed=(2, 5)
)
def tau_leap(beta, gamma, noise, susceptible, infected, step):
    """An epidemic of susceptible and infected, many runs at once, each leap with noise of the size of its events."""
    runs = noise.shape[2]
    S, J = np.full(runs, susceptible), np.full(runs, infected)
    for t in range(noise.shape[0]):
        sick = beta * S * J * step
        well = gamma * J * step
        new = sick + np.sqrt(sick) * noise[t, 0]
        gone = well + np.sqrt(well) * noise[t, 1]
        S = np.maximum(S - new, 1e-3)
        J = np.maximum(J + new - gone, 1e-3)
    return np.sum(J**2)
