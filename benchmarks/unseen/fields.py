"""Transport, light and tensors: operators applied again and again, with their adjoints by hand."""

import math

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program

CX = np.array([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, -1.0, -1.0, 1.0])
CY = np.array([0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, -1.0, -1.0])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


@by_hand
def lattice_adjoint(f, rate, steps):
    _, n, m = f.shape
    states = np.empty((steps + 1, 9, n, m))
    states[0] = f
    for t in range(steps):
        now, then = states[t], states[t + 1]
        for i in range(n):
            for j in range(m):
                rho, u, v = 0.0, 0.0, 0.0
                for q in range(9):
                    rho += now[q, i, j]
                    u += CX[q] * now[q, i, j]
                    v += CY[q] * now[q, i, j]
                u /= rho
                v /= rho
                for q in range(9):
                    e = CX[q] * u + CY[q] * v
                    equal = WEIGHTS[q] * rho * (1.0 + 3.0 * e + 4.5 * e * e - 1.5 * (u * u + v * v))
                    to_i, to_j = i + int(CX[q]), j + int(CY[q])
                    to_i = 0 if to_i == n else (n - 1 if to_i < 0 else to_i)
                    to_j = 0 if to_j == m else (m - 1 if to_j < 0 else to_j)
                    then[q, to_i, to_j] = now[q, i, j] + rate * (equal - now[q, i, j])
    value, rate_bar = 0.0, 0.0
    bar, last = np.empty((9, n, m)), states[steps]
    for i in range(n):
        for j in range(m):
            u = last[1, i, j] - last[3, i, j] + last[5, i, j] - last[6, i, j] - last[7, i, j] + last[8, i, j]
            value += u * u
            for q in range(9):
                bar[q, i, j] = 2.0 * u * CX[q]
    before = np.empty((9, n, m))
    for t in range(steps - 1, -1, -1):
        now = states[t]
        for i in range(n):
            for j in range(m):
                rho, u, v = 0.0, 0.0, 0.0
                for q in range(9):
                    rho += now[q, i, j]
                    u += CX[q] * now[q, i, j]
                    v += CY[q] * now[q, i, j]
                inverse = 1.0 / rho
                u *= inverse
                v *= inverse
                rho_bar, u_bar, v_bar = 0.0, 0.0, 0.0
                for q in range(9):
                    to_i, to_j = i + int(CX[q]), j + int(CY[q])
                    to_i = 0 if to_i == n else (n - 1 if to_i < 0 else to_i)
                    to_j = 0 if to_j == m else (m - 1 if to_j < 0 else to_j)
                    g = bar[q, to_i, to_j]
                    e = CX[q] * u + CY[q] * v
                    form = 1.0 + 3.0 * e + 4.5 * e * e - 1.5 * (u * u + v * v)
                    rate_bar += g * (WEIGHTS[q] * rho * form - now[q, i, j])
                    before[q, i, j] = g * (1.0 - rate)
                    g *= rate * WEIGHTS[q]
                    rho_bar += g * form
                    g *= rho
                    e_bar = g * (3.0 + 9.0 * e)
                    u_bar += e_bar * CX[q] - 3.0 * g * u
                    v_bar += e_bar * CY[q] - 3.0 * g * v
                rho_bar -= (u_bar * u + v_bar * v) * inverse
                for q in range(9):
                    before[q, i, j] += rho_bar + (u_bar * CX[q] + v_bar * CY[q]) * inverse
        bar, before = before, bar
    return value, bar, rate_bar


@program("fields", lambda r, n, m, t: (1.0 + 0.1 * r.random((9, n, m)), 0.8, t), (60, 64, 10), (4, 5, 2), lattice_adjoint)
def lattice_boltzmann(f, rate, steps):
    """Two dimensions, nine speeds: relaxation to equilibrium, then streaming around a torus."""
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        u = np.tensordot(CX, f, axes=1) / rho
        v = np.tensordot(CY, f, axes=1) / rho
        moved = np.zeros(f.shape)
        for q in range(9):
            e = CX[q] * u + CY[q] * v
            equal = WEIGHTS[q] * rho * (1.0 + 3.0 * e + 4.5 * e**2 - 1.5 * (u**2 + v**2))
            moved[q] = np.roll(np.roll(f[q] + rate * (equal - f[q]), int(CX[q]), axis=0), int(CY[q]), axis=1)
        f = moved
    return np.sum(np.tensordot(CX, f, axes=1) ** 2)


@by_hand
def sparse_chain_adjoint(values, columns, starts, x, steps):
    n = x.shape[0]
    states = np.empty((steps + 1, n))
    states[0] = x
    for t in range(steps):
        for i in range(n):
            s = 0.0
            for k in range(starts[i], starts[i + 1]):
                s += values[k] * states[t, columns[k]]
            states[t + 1, i] = math.tanh(s)
    value = 0.0
    values_bar, bar, before = np.zeros(values.shape[0]), np.empty(n), np.empty(n)
    for i in range(n):
        value += states[steps, i] * states[steps, i]
        bar[i] = 2.0 * states[steps, i]
    for t in range(steps - 1, -1, -1):
        before[:] = 0.0
        for i in range(n):
            s_bar = bar[i] * (1.0 - states[t + 1, i] * states[t + 1, i])
            for k in range(starts[i], starts[i + 1]):
                values_bar[k] += s_bar * states[t, columns[k]]
                before[columns[k]] += s_bar * values[k]
        bar, before = before, bar
    return value, values_bar, bar


def rows_of(r, n, k, t):
    counts = r.integers(1, 2 * k, n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return r.standard_normal(starts[-1]) / np.sqrt(k), r.integers(0, n, starts[-1]), starts, r.standard_normal(n), t


@program("fields", rows_of, (4000, 12, 10), (6, 2, 2), sparse_chain_adjoint)
def sparse_chain(values, columns, starts, x, steps):
    n = len(starts) - 1
    for _ in range(steps):
        y = np.zeros(n)
        for i in range(n):
            for k in range(starts[i], starts[i + 1]):
                y[i] += values[k] * x[columns[k]]
        x = np.tanh(y)
    return np.sum(x**2)


@by_hand
def radiosity_adjoint(emitted, albedo, factors, bounces):
    n = emitted.shape[0]
    light, gathered = np.empty((bounces + 1, n)), np.empty((bounces, n))
    light[0] = emitted
    for b in range(bounces):
        np.dot(factors, light[b], gathered[b])
        for i in range(n):
            light[b + 1, i] = emitted[i] + albedo[i] * gathered[b, i]
    value = 0.0
    bar, emitted_bar, albedo_bar, weights = np.empty(n), np.zeros(n), np.zeros(n), np.empty((bounces, n))
    for i in range(n):
        value += light[bounces, i] * light[bounces, i]
        bar[i] = 2.0 * light[bounces, i]
    for b in range(bounces - 1, -1, -1):
        for i in range(n):
            emitted_bar[i] += bar[i]
            albedo_bar[i] += bar[i] * gathered[b, i]
            weights[b, i] = bar[i] * albedo[i]
        np.dot(factors.T, weights[b], bar)
    return value, emitted_bar + bar, albedo_bar, weights.T @ light[:bounces]


@program("fields", lambda r, n, b: (r.random(n), 0.3 + 0.5 * r.random(n), r.random((n, n)) / n, b), (500, 12), (4, 3), radiosity_adjoint)
def radiosity(emitted, albedo, factors, bounces):
    light = emitted
    for _ in range(bounces):
        light = emitted + albedo * (factors @ light)
    return np.sum(light**2)


@by_hand
def spectral_element_adjoint(u, D, weights):
    elements, n, _ = u.shape
    value = 0.0
    u_bar, D_bar, weights_bar = np.empty_like(u), np.zeros_like(D), np.empty_like(weights)
    x, y = np.empty((n, n)), np.empty((n, n))
    for e in range(elements):
        for i in range(n):
            for j in range(n):
                x[i, j] = 0.0
                y[i, j] = 0.0
        for i in range(n):
            for k in range(n):
                for j in range(n):
                    x[i, j] += D[i, k] * u[e, k, j]
        for i in range(n):
            for j in range(n):
                s = 0.0
                for k in range(n):
                    s += u[e, i, k] * D[j, k]
                y[i, j] = s
        for i in range(n):
            for j in range(n):
                squares = x[i, j] * x[i, j] + y[i, j] * y[i, j]
                value += weights[e, i, j] * squares
                weights_bar[e, i, j] = squares
                x[i, j] *= 2.0 * weights[e, i, j]
                y[i, j] *= 2.0 * weights[e, i, j]
                u_bar[e, i, j] = 0.0
        for i in range(n):
            for k in range(n):
                s = 0.0
                for j in range(n):
                    u_bar[e, k, j] += D[i, k] * x[i, j]
                    s += x[i, j] * u[e, k, j]
                D_bar[i, k] += s
            for j in range(n):
                for k in range(n):
                    u_bar[e, i, k] += y[i, j] * D[j, k]
                    D_bar[j, k] += y[i, j] * u[e, i, k]
    return value, u_bar, D_bar, weights_bar


@program(
    "fields", lambda r, e, n: (r.random((e, n, n)), r.standard_normal((n, n)), r.random((e, n, n))), (2000, 9), (3, 4), spectral_element_adjoint
)
def spectral_element(u, D, weights):
    """The energy of a field on elements with nodes of Gauss, Lobatto: derivatives by one small matrix in both directions."""
    along = np.einsum("ik,ekj->eij", D, u)
    across = np.einsum("jk,eik->eij", D, u)
    return np.sum(weights * (along**2 + across**2))


@by_hand
def ray_march_adjoint(density, colour, origins, step, steps):
    n = density.shape[0]
    value = 0.0
    density_bar, colour_bar = np.zeros(n), np.zeros(n)
    cells, parts, lights, walls = np.empty(steps, np.int64), np.empty(steps), np.empty(steps + 1), np.empty(steps)
    for r in range(origins.shape[0]):
        light, seen = 1.0, 0.0
        for s in range(steps):
            at = origins[r, 0] + s * step * origins[r, 1]
            cell = min(max(int(at), 0), n - 2)
            part = at - cell
            thick = (1.0 - part) * density[cell] + part * density[cell + 1]
            shade = (1.0 - part) * colour[cell] + part * colour[cell + 1]
            wall = math.exp(-thick * step)
            cells[s], parts[s], lights[s], walls[s] = cell, part, light, wall
            seen += light * (1.0 - wall) * shade
            light *= wall
        value += seen * seen
        seen_bar, light_bar = 2.0 * seen, 0.0
        for s in range(steps - 1, -1, -1):
            cell, part, light, wall = cells[s], parts[s], lights[s], walls[s]
            shade = (1.0 - part) * colour[cell] + part * colour[cell + 1]
            wall_bar = light_bar * light - seen_bar * light * shade
            shade_bar = seen_bar * light * (1.0 - wall)
            light_bar = light_bar * wall + seen_bar * (1.0 - wall) * shade
            thick_bar = -wall_bar * wall * step
            density_bar[cell] += thick_bar * (1.0 - part)
            density_bar[cell + 1] += thick_bar * part
            colour_bar[cell] += shade_bar * (1.0 - part)
            colour_bar[cell + 1] += shade_bar * part
    return value, density_bar, colour_bar


def rays(r, n, k, s):
    return r.random(n), r.random(n), np.stack([n * r.random(k) / 2, r.random(k)], axis=1), 0.4 * n / s, s


@program("fields", rays, (300, 800, 120), (6, 3, 4), ray_march_adjoint, fixed=(2, 3))
def ray_march(density, colour, origins, step, steps):
    total = 0.0
    for ray in range(origins.shape[0]):
        light = 1.0
        seen = 0.0
        for s in range(steps):
            at = origins[ray, 0] + s * step * origins[ray, 1]
            cell = min(max(int(at), 0), density.shape[0] - 2)
            part = at - cell
            thick = (1.0 - part) * density[cell] + part * density[cell + 1]
            shade = (1.0 - part) * colour[cell] + part * colour[cell + 1]
            opacity = 1.0 - np.exp(-thick * step)
            seen += light * opacity * shade
            light *= 1.0 - opacity
        total += seen**2
    return total


@by_hand
def matrix_product_state_adjoint(sites):
    length, d, D, _ = sites.shape
    envs, halves = np.empty((length + 1, D, D)), np.empty((length, d, D, D))
    scales, summed = np.empty(length), np.empty((D, D))
    for a in range(D):
        for b in range(D):
            envs[0, a, b] = 1.0 if a == b else 0.0
    value = 0.0
    for k in range(length):
        envs[k + 1] = 0.0
        for s in range(d):
            np.dot(envs[k], sites[k, s], halves[k, s])
            envs[k + 1] += np.dot(sites[k, s].T, halves[k, s], summed)
        norm = 0.0
        for a in range(D):
            norm += envs[k + 1, a, a]
        scales[k] = norm
        value += math.log(norm)
        for a in range(D):
            for b in range(D):
                envs[k + 1, a, b] /= norm
    bar, other, product = np.zeros((D, D)), np.empty((D, D)), np.empty((D, D))
    sites_bar = np.empty_like(sites)
    for k in range(length - 1, -1, -1):
        inner = 0.0
        for a in range(D):
            for b in range(D):
                inner += bar[a, b] * envs[k + 1, a, b]
                bar[a, b] /= scales[k]
        for a in range(D):
            bar[a, a] += (1.0 - inner) / scales[k]
        other[:, :] = 0.0
        for s in range(d):
            np.dot(halves[k, s], bar.T, sites_bar[k, s])
            np.dot(sites[k, s], bar, product)
            sites_bar[k, s] += np.dot(envs[k].T, product, summed)
            other += np.dot(product, sites[k, s].T, summed)
        bar, other = other, bar
    return value, sites_bar


@program("fields", lambda r, k, d, D: (r.standard_normal((k, d, D, D)) / D,), (60, 2, 40), (3, 2, 3), matrix_product_state_adjoint)
def matrix_product_state(sites):
    """The logarithm of the norm of a chain of tensors, contracted from left to right."""
    env = np.eye(sites.shape[2])
    log_norm = 0.0
    for site in sites:
        env = np.einsum("ab,sac,sbd->cd", env, site, site)
        scale = np.trace(env)
        env = env / scale
        log_norm += np.log(scale)
    return log_norm
