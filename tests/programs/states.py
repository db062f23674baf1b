"""Time loops over arrays: the state is made anew in each trip, written in place, kept for two trips, returned, shared or left alone."""

import numpy as np
from programs.registry import example, matrix, positive, spd, vector


@example(vector(3), vector(3, 1))
def overwritten_in_a_loop_for_a_test(x, y):
    s = x @ y
    for i in range(3):
        x[i] = x[i] * 2.0
    if x[0] > 0.1:
        s = s * 2.0
    return s


@example(vector(3), vector(3, 1), 3)
def overwritten_in_a_branch_for_a_test(x, y, n):
    s = np.sin(x) @ y
    if n > 2:
        x[0] = 0.0
    if x[0] > 0.1:
        s = s * 2.0
    return s


@example(vector(3), vector(3, 1), 2)
def overwritten_in_a_while_for_a_test(x, y, n):
    s = x @ y
    k = 0
    while k < n:
        x[k] = 0.5
        k += 1
    return s * 3.0 if x[0] > 0.1 else s


@example(matrix(3, 3), vector(3), jit=True)
def power_iteration(a, x):
    for _ in range(4):
        y = a @ x
        x = y / np.sqrt(np.sum(y * y))
    return x @ (a @ x)


@example(matrix(3, 3) * 0.3, matrix(3, 2), vector(3), matrix(4, 2, 1), vector(3, 2), jit=True)
def recurrent_network(w, u, b, xs, h):
    loss = 0.0
    for t in range(xs.shape[0]):
        h = np.tanh(w @ h + u @ xs[t] + b)
        loss += np.sum(h * h)
    return loss


@example(positive(3), matrix(3, 3) ** 2, positive(9).reshape(3, 3), jit=True)
def scaled_forward_algorithm(start, a, e):
    alpha = start * e[0]
    total = 0.0
    for t in range(1, e.shape[0]):
        alpha = (a.T @ alpha) * e[t]
        s = np.sum(alpha)
        total += np.log(s)
        alpha = alpha / s
    return total


@example(vector(4), vector(4, 1), 1.3, 0.1, jit=True)
def velocity_verlet(x, v, k, dt):
    a = -k * x * x * x
    for _ in range(3):
        x = x + dt * v + 0.5 * dt * dt * a
        new = -k * x * x * x
        v = v + 0.5 * dt * (a + new)
        a = new
    return np.sum(x * x) + np.sum(v * v)


@example(matrix(3, 3), vector(3), vector(3, 1), 0.1, 0.9)
def momentum(a, b, x, rate, keep):
    v = np.zeros(3)
    for _ in range(3):
        v = keep * v - rate * (a @ x - b + x * x * x)
        x = x + v
    return np.sum(x * x)


@example(matrix(3, 3) * 0.3, matrix(3, 2), spd(3), spd(2))
def riccati(a, b, q, r):
    p = q
    for _ in range(3):
        k = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        p = q + a.T @ p @ (a - b @ k)
    return np.trace(p)


@example(vector(7), 0.3, jit=True)
def lax_wendroff(u, c):
    for _ in range(3):
        new = u.copy()
        for i in range(1, u.size - 1):
            d = u[i + 1] - 2.0 * u[i] + u[i - 1]
            new[i] = u[i] - 0.5 * c * u[i] * (u[i + 1] - u[i - 1]) + 0.5 * c * c * d
        u = new
    return np.sum(u * u)


@example(vector(7), 0.3, 0.2, jit=True)
def burgers_in_place(u, c, v):
    for _ in range(3):
        f = 0.5 * u * u
        u[1:-1] = u[1:-1] - c * (f[1:-1] - f[:-2]) + v * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**3)


@example(vector(7), 0.3)
def two_half_steps_in_place(u, c):
    for _ in range(3):
        u[1:-1] = u[1:-1] * u[:-2] * c
        u[2:-2] = u[2:-2] * u[4:] + u[:-4]
        u[0] = np.sin(u[1])
    return np.sum(u**3)


@example(matrix(5, 4) * 0.3 + 1.0, matrix(5, 4, 1), matrix(5, 4, 2), 0.05)
def shallow_water(h, u, v, dt):
    for _ in range(2):
        hu, hv = h * u, h * v
        h[1:-1, 1:-1] -= dt * (hu[2:, 1:-1] - hu[:-2, 1:-1] + hv[1:-1, 2:] - hv[1:-1, :-2])
        u[1:-1, 1:-1] -= dt * (u[1:-1, 1:-1] * (u[2:, 1:-1] - u[:-2, 1:-1]) + h[2:, 1:-1] - h[:-2, 1:-1])
        v[1:-1, 1:-1] -= dt * (v[1:-1, 1:-1] * (v[1:-1, 2:] - v[1:-1, :-2]) + h[1:-1, 2:] - h[1:-1, :-2])
    return np.sum(h * h) + np.sum(u * v)


@example(vector(4), vector(4, 1))
def two_trips_back(a, b):
    for _ in range(4):
        c = a * 0.5 + b * b
        b = a
        a = c
    return np.sum(a * b)


@example(vector(4), vector(4, 1))
def three_trips_back(a, b):
    c = a * b
    for _ in range(5):
        a, b, c = np.sin(a) + c, a, b
    return np.sum(a * b + c)


@example(vector(4), 0)
def no_trip(x, n):
    for _ in range(n):
        x = np.sin(x) * x
    return np.sum(x * x)


@example(vector(4), 3)
def a_view_of_the_state_is_kept(x, n):
    first = x[:2]
    for _ in range(n):
        x = np.sin(x) * x
        first = x[1:3] * first
    return np.sum(first) + np.sum(x)


@example(vector(4), 3)
def the_state_of_one_trip_is_kept(x, n):
    kept = x
    for i in range(n):
        x = np.sin(x) * x
        if i == 1:
            kept = x
    return np.sum(kept * x)


@example(vector(4), 0.2)
def left_early(x, limit):
    for _ in range(10):
        x = x * x * 0.5
        if np.sum(x) < limit:
            break
    return np.sum(x)


@example(vector(4), 0.7)
def states_in_nested_loops(x, c):
    total = 0.0
    for i in range(2):
        y = x * (i + 1.0)
        for _ in range(2):
            y = np.cos(y) * y + c * x
        x = x + 0.1 * y
        total = total + np.sum(y * y)
    return total + np.sum(x)


@example(vector(4), 0.7)
def written_after_it_was_made(x, c):
    for _ in range(3):
        y = np.sin(x) * c
        y[0] = x[1] * y[2]
        x = y
    return np.sum(x * x)


@example(vector(4), 3)
def a_swap_of_two_states(x, n):
    a, b = x * 1.0, x * x
    for _ in range(n):
        b = a * b
        a, b = b, a
    return np.sum(a * 2.0 + b)


@example(matrix(2, 3), vector(2))
def first_step_has_another_shape(w, h):
    for _ in range(1):
        h = np.tanh(w.T @ h)
    return np.sum(h * h)


@example(0.04, 0.3, matrix(7, 2), jit=True)
def antithetic_paths(v0, xi, z):
    """Two sweeps of paths one after the other: the second derivative keeps the end of the first by reference."""
    n, m = z.shape
    payoff = 0.0
    for sign in (1, -1):
        v = np.full(n, v0)
        for t in range(m):
            v = v + xi * np.sqrt(np.maximum(v, 0.0)) * sign * z[:, t]
        payoff += np.mean(v)
    return payoff / 2
