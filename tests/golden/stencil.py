import numpy as np

from stgrad import runtime


def stencil_grad(u, steps):
    """Value and gradient of stencil with respect to u."""
    n = u.shape[0]
    u_part_work = runtime.empty_near(max(n - 2, 0))
    w_work = np.zeros(n + 2)
    u_2 = runtime.empty(n)
    for i in range(n):
        u_2[i] = u[i]
    for t in range(steps):
        for i in range(n - 2):
            t2 = 0.25 * (u_2[i] + 2.0 * u_2[i + 1] + u_2[i + 2])
            u_part_work[i] = t2
        for i in range(n - 2):
            u_2[i + 1] = u_part_work[i]
    t3 = 0.0
    u_2_bar = runtime.empty_near(n)
    for i in range(n):
        t4 = u_2[i]
        t3 = runtime.radd(t3, t4 * t4)
        u_2_bar[i] = 2.0 * t4
    for t in range(steps - 1, -1, -1):
        # grad of line 56: u[1:-1] = 0.25 * (u[:-2] + 2.0 * u[1:-1] + u[2:])
        for i in range(n - 2):
            t5 = u_2_bar[i + 1]
            u_2_bar[i + 1] = 0.0
            w_work[i + 2] = t5
        for i in range(n):
            t6 = 0.5 * w_work[i + 1]
            u_2_bar[i] += 0.25 * (w_work[i] + w_work[i + 2]) + t6
    return t3, u_2_bar
