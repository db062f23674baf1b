"""Finance and point processes: paths simulated one by one, likelihoods that run through a series."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@by_hand
def garch_adjoint(omega, alpha, beta, returns):
    n = returns.shape[0]
    variances, bar = np.empty(n), np.empty(n)
    mean = np.mean(returns)
    h, value = 0.0, 0.0
    for t in range(n):
        h += (returns[t] - mean) ** 2
    h /= n
    for t in range(n):
        variances[t] = h
        square = returns[t] * returns[t]
        value += math.log(2.0 * math.pi * h) + square / h
        h = omega + alpha * square + beta * h
    h_bar = omega_bar = alpha_bar = beta_bar = 0.0
    for t in range(n - 1, -1, -1):
        square, inverse = returns[t] * returns[t], 1.0 / variances[t]
        omega_bar += h_bar
        alpha_bar += h_bar * square
        beta_bar += h_bar * variances[t]
        bar[t] = 2.0 * returns[t] * (h_bar * alpha + 0.5 * inverse)
        h_bar = h_bar * beta + 0.5 * inverse * (1.0 - square * inverse)
    for t in range(n):
        bar[t] += 2.0 / n * h_bar * (returns[t] - mean)
    return 0.5 * value, omega_bar, alpha_bar, beta_bar, bar


@program("finance", lambda r, n: (0.1, 0.1, 0.8, r.standard_normal(n)), (50000,), (5,), garch_adjoint)
def garch(omega, alpha, beta, returns):
    h = np.var(returns)
    ll = 0.0
    for r in returns:
        ll += np.log(2 * np.pi * h) + r**2 / h
        h = omega + alpha * r**2 + beta * h
    return 0.5 * ll


@by_hand
def local_vol_adjoint(grid, s0, strike, z):
    n, steps = z.shape
    dt = 1.0 / steps
    root = math.sqrt(dt)
    grid_bar, s0_bar, strike_bar, value = np.zeros_like(grid), 0.0, 0.0, 0.0
    cells, parts, prices, vols = np.empty(steps, np.int64), np.empty(steps), np.empty(steps + 1), np.empty(steps)
    for i in range(n):
        s = s0
        for t in range(steps):
            x = min(max((math.log(s) + 1.5) / 3.0 * 11.0, 0.0), 10.999)
            y = t * dt * 11.0
            k, m = int(x), int(y)
            a, b = x - k, y - m
            vol = (1.0 - a) * ((1.0 - b) * grid[k, m] + b * grid[k, m + 1]) + a * ((1.0 - b) * grid[k + 1, m] + b * grid[k + 1, m + 1])
            cells[t], parts[t], prices[t], vols[t] = k, a, s, vol
            s *= math.exp(-0.5 * vol * vol * dt + vol * root * z[i, t])
        if s <= strike:
            continue
        prices[steps] = s
        value += s - strike
        strike_bar -= 1.0 / n
        s_bar = 1.0 / n
        for t in range(steps - 1, -1, -1):
            y = t * dt * 11.0
            m, k, a, s = int(y), cells[t], parts[t], prices[t]
            b, x = y - m, k + a
            vol_bar = s_bar * prices[t + 1] * (root * z[i, t] - vols[t] * dt)
            s_bar *= prices[t + 1] / s
            grid_bar[k, m] += vol_bar * (1.0 - a) * (1.0 - b)
            grid_bar[k, m + 1] += vol_bar * (1.0 - a) * b
            grid_bar[k + 1, m] += vol_bar * a * (1.0 - b)
            grid_bar[k + 1, m + 1] += vol_bar * a * b
            if 0.0 < x < 10.999:
                slope = (1.0 - b) * (grid[k + 1, m] - grid[k, m]) + b * (grid[k + 1, m + 1] - grid[k, m + 1])
                s_bar += vol_bar * slope * 11.0 / 3.0 / s
        s0_bar += s_bar
    return value / n, grid_bar, s0_bar, strike_bar


@program(
    "finance", lambda r, n, t: (0.2 + 0.1 * r.random((12, 12)), 1.0, 1.0, r.standard_normal((n, t))), (500, 50), (4, 3), local_vol_adjoint, fixed=(3,)
)
def local_vol(grid, s0, strike, z):
    """A call under a volatility that stands in a table over price and time."""
    n, steps = z.shape
    dt = 1.0 / steps
    total = 0.0
    for i in range(n):
        s = s0
        for t in range(steps):
            x = min(max((math.log(s) + 1.5) / 3.0 * 11.0, 0.0), 10.999)
            y = t * dt * 11.0
            k = int(x)
            m = int(y)
            a = x - k
            b = y - m
            vol = (1 - a) * (1 - b) * grid[k, m] + a * (1 - b) * grid[k + 1, m] + (1 - a) * b * grid[k, m + 1] + a * b * grid[k + 1, m + 1]
            s = s * math.exp(-0.5 * vol**2 * dt + vol * math.sqrt(dt) * z[i, t])
        total += max(s - strike, 0.0)
    return total / n


@by_hand
def libor_market_adjoint(forwards, vols, z):
    paths, steps = z.shape
    m = forwards.shape[0]
    delta, root = 0.25, math.sqrt(0.25)
    rates, drifts, bonds, bar = np.empty((steps + 1, m)), np.empty((steps, m)), np.empty(m), np.empty(m)
    forwards_bar, vols_bar, value = np.zeros(m), np.zeros(m), 0.0
    for p in range(paths):
        rates[0] = forwards
        for t in range(steps):
            drift = 0.0
            for i in range(t, m):
                L, v = rates[t, i], vols[i]
                drift += delta * L * v / (1.0 + delta * L)
                drifts[t, i] = drift
                rates[t + 1, i] = L * math.exp((v * drift - 0.5 * v * v) * delta + v * root * z[p, t])
        bond, swap = 1.0, 0.0
        for i in range(steps, m):
            bond /= 1.0 + delta * rates[steps, i]
            bonds[i] = bond
            swap += bond * delta * (rates[steps, i] - 0.03)
        if swap <= 0.0:
            continue
        value += swap
        bar[:] = 0.0
        bond_bar = 0.0
        for i in range(m - 1, steps - 1, -1):
            L = rates[steps, i]
            bond_bar += delta * (L - 0.03) / paths
            bond_bar /= 1.0 + delta * L
            bar[i] = bonds[i] * delta / paths - bond_bar * bonds[i] * delta
        for t in range(steps - 1, -1, -1):
            drift_bar = 0.0
            for i in range(m - 1, t - 1, -1):
                L, v = rates[t, i], vols[i]
                share = 1.0 / (1.0 + delta * L)
                e_bar = bar[i] * rates[t + 1, i]
                drift_bar += e_bar * v * delta
                vols_bar[i] += e_bar * ((drifts[t, i] - v) * delta + root * z[p, t]) + drift_bar * delta * L * share
                bar[i] = e_bar / L + drift_bar * delta * v * share * share
        for i in range(m):
            forwards_bar[i] += bar[i]
    return value / paths, forwards_bar, vols_bar


@program(
    "finance",
    lambda r, p, m, t: (0.03 + 0.01 * r.random(m), 0.2 + 0.1 * r.random(m), r.standard_normal((p, t))),
    (400, 20, 15),
    (3, 4, 2),
    libor_market_adjoint,
    fixed=(2,),
)
def libor_market(forwards, vols, z):
    """A swaption in a market model: the drift of each rate sums over those before it."""
    paths, steps = z.shape
    m = forwards.shape[0]
    delta = 0.25
    value = 0.0
    for p in range(paths):
        L = forwards.copy()
        for t in range(steps):
            drift = 0.0
            for i in range(t, m):
                drift += delta * L[i] * vols[i] / (1.0 + delta * L[i])
                L[i] *= np.exp((vols[i] * drift - 0.5 * vols[i] ** 2) * delta + vols[i] * np.sqrt(delta) * z[p, t])
        bond = 1.0
        swap = 0.0
        for i in range(steps, m):
            bond /= 1.0 + delta * L[i]
            swap += bond * delta * (L[i] - 0.03)
        value += max(swap, 0.0)
    return value / paths


@by_hand
def hawkes_multi_adjoint(mu, alpha, beta, times, kinds):
    n, d = times.shape[0], mu.shape[0]
    states, intensities, sums = np.zeros((n, d)), np.empty(n), np.zeros(d)
    for i in range(d):
        for j in range(d):
            sums[j] += alpha[i, j]
    end, last, value = times[n - 1], 0.0, 0.0
    for k in range(n):
        decay, i = math.exp(-beta * (times[k] - last)), kinds[k]
        intensity = mu[i]
        for j in range(d):
            if k:
                states[k, j] = decay * (states[k - 1, j] + (1.0 if j == kinds[k - 1] else 0.0))
            intensity += alpha[i, j] * states[k, j]
        intensities[k] = intensity
        value += math.log(intensity) - sums[i] / beta * (1.0 - math.exp(-beta * (end - times[k])))
        last = times[k]
    mu_bar, alpha_bar, sums_bar, beta_bar, bar = np.full(d, -end), np.zeros((d, d)), np.zeros(d), 0.0, np.zeros(d)
    for k in range(n - 1, -1, -1):
        last = times[k - 1] if k else 0.0
        gap, i, inverse = times[k] - last, kinds[k], 1.0 / intensities[k]
        left, decay = math.exp(-beta * (end - times[k])), math.exp(-beta * gap)
        sums_bar[i] -= (1.0 - left) / beta
        beta_bar += sums[i] / beta * ((1.0 - left) / beta - left * (end - times[k]))
        mu_bar[i] += inverse
        for j in range(d):
            alpha_bar[i, j] += states[k, j] * inverse
            bar[j] += alpha[i, j] * inverse
            beta_bar -= gap * bar[j] * states[k, j]
            bar[j] *= decay
    return value - np.sum(mu) * end, mu_bar, alpha_bar + sums_bar, beta_bar


@program(
    "finance",
    lambda r, d, n: (r.random(d), 0.1 * r.random((d, d)), 1.5, np.cumsum(r.random(n)), r.integers(0, d, n)),
    (5, 10000),
    (2, 6),
    hawkes_multi_adjoint,
    fixed=(3,),
)
def hawkes_multi(mu, alpha, beta, times, kinds):
    """The likelihood of orders of several kinds that excite one another."""
    d = mu.shape[0]
    state = np.zeros(d)
    last = 0.0
    ll = 0.0
    for k in range(times.shape[0]):
        state = state * np.exp(-beta * (times[k] - last))
        i = kinds[k]
        ll += np.log(mu[i] + alpha[i] @ state)
        ll -= np.sum(alpha[:, i]) / beta * (1.0 - np.exp(-beta * (times[-1] - times[k])))
        state[i] += 1.0
        last = times[k]
    return ll - np.sum(mu) * times[-1]
