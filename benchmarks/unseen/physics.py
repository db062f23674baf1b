"""NPBench-like applications: fluids, weather, particles."""

import numpy as np

from benchmarks.unseen.program import program


@program("npbench", lambda r, n, t: (r.random((n, n)), r.random((n, n)), r.random((n, n)), 1.0, 0.1, t, 5), (61, 10), (6, 2))
def cavity_flow(u, v, p, rho, nu, steps, relaxations):
    u, v, p = u.copy(), v.copy(), p.copy()
    n = u.shape[0]
    dx, dy, dt = 2.0 / (n - 1), 2.0 / (n - 1), 0.1 / n**2
    b = np.zeros((n, n))
    for t in range(steps):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for q in range(relaxations):
            pn = p.copy()
            p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2 - dx**2 * dy**2 * b[1:-1, 1:-1]) / (
                2 * (dx**2 + dy**2)
            )
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0.0
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = 0.0
        u[-1, :] = 1.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
    return np.sum(u * u) + np.sum(v * v)


def periodic(f):
    """Differences to the right and left neighbour along the last axis of a channel."""
    wide = np.empty((f.shape[0], f.shape[1] + 2))
    wide[:, 1:-1] = f
    wide[:, 0] = f[:, -1]
    wide[:, -1] = f[:, 0]
    return wide


@program("npbench", lambda r, n, t: (r.random((n, n)), r.random((n, n)), 1.0, t), (101, 20), (6, 2))
def channel_flow(u, v, force, steps):
    n = u.shape[1]
    dx = 2.0 / (n - 1)
    dt = 0.05 / n**2
    for t in range(steps):
        wu, wv = periodic(u), periodic(v)
        du = wu[1:-1, 1:-1] - wu[1:-1, :-2]
        dv = wv[1:-1, 1:-1] - wv[1:-1, :-2]
        lap_u = wu[1:-1, 2:] - 4.0 * wu[1:-1, 1:-1] + wu[1:-1, :-2] + wu[2:, 1:-1] + wu[:-2, 1:-1]
        lap_v = wv[1:-1, 2:] - 4.0 * wv[1:-1, 1:-1] + wv[1:-1, :-2] + wv[2:, 1:-1] + wv[:-2, 1:-1]
        new_u, new_v = np.zeros_like(u), np.zeros_like(v)
        new_u[1:-1, :] = u[1:-1, :] - dt / dx * (u[1:-1, :] * du + v[1:-1, :] * (u[1:-1, :] - u[:-2, :])) + 0.1 * dt / dx**2 * lap_u + force * dt
        new_v[1:-1, :] = v[1:-1, :] - dt / dx * (u[1:-1, :] * dv + v[1:-1, :] * (v[1:-1, :] - v[:-2, :])) + 0.1 * dt / dx**2 * lap_v
        u, v = new_u, new_v
    return np.sum(u) + np.sum(v * v)


@program("npbench", lambda r, i, j, k: (r.random((i + 4, j + 4, k)), r.random((i, j, k))), (96, 96, 40), (4, 5, 3))
def hdiff(in_field, coeff):
    lap = 4.0 * in_field[1:-1, 1:-1, :] - (in_field[2:, 1:-1, :] + in_field[:-2, 1:-1, :] + in_field[1:-1, 2:, :] + in_field[1:-1, :-2, :])
    flx = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    flx = np.where(flx * (in_field[2:-1, 2:-2, :] - in_field[1:-2, 2:-2, :]) > 0, 0.0, flx)
    fly = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    fly = np.where(fly * (in_field[2:-2, 2:-1, :] - in_field[2:-2, 1:-2, :]) > 0, 0.0, fly)
    out = in_field[2:-2, 2:-2, :] - coeff * (flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :])
    return np.sum(out * out)


@program(
    "npbench", lambda r, i, j, k: tuple(r.random(s) for s in ((i, j, k), (i + 1, j, k), (i, j, k), (i, j, k), (i, j, k))), (32, 32, 60), (3, 2, 5)
)
def vadv(utens_stage, wcon, u_stage, u_pos, utens):
    nx, ny, nz = u_pos.shape
    dtr_stage = 3.0 / 20.0
    bet_m, bet_p = 0.5, 0.5
    ccol = np.empty((nx, ny, nz))
    dcol = np.empty((nx, ny, nz))
    data_col = np.empty((nx, ny))
    utens_out = np.empty((nx, ny, nz))
    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * bet_m
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr_stage - ccol[:, :, k]
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided
    for k in range(1, nz - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * bet_m
        cs = gcv * bet_m
        acol = gav * bet_p
        ccol[:, :, k] = gcv * bet_p
        bcol = 4.0 + dtr_stage - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(nz - 1, nz):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * bet_m
        acol = gav * bet_p
        bcol = 4.0 + dtr_stage - acol
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(nz - 1, nz - 2, -1):
        data_col[:] = dcol[:, :, k]
        utens_out[:, :, k] = dtr_stage * (data_col - u_pos[:, :, k])
    for k in range(nz - 2, -1, -1):
        data_col[:] = dcol[:, :, k] - ccol[:, :, k] * data_col
        utens_out[:, :, k] = dtr_stage * (data_col - u_pos[:, :, k])
    return np.sum(utens_out * utens_out)


def accelerations(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3 = inv_r3 ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


@program("npbench", lambda r, n, t: (r.random((n, 1)), r.standard_normal((n, 3)), r.standard_normal((n, 3)), t, 0.01, 1.0, 0.1), (80, 10), (4, 2))
def nbody(mass, pos, vel, steps, dt, G, softening):
    vel = vel - np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = accelerations(pos, mass, G, softening)
    for i in range(steps):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = accelerations(pos, mass, G, softening)
        vel = vel + acc * dt / 2.0
    return 0.5 * np.sum(mass * vel**2) + np.sum(pos * pos)
