import numpy as np

from stgrad import runtime


def stencil_grad(u, steps):
    """Value and gradient of stencil with respect to u."""
    n = u.shape[0]
    t_7_work = np.empty(max(n - 2, 0))
    w_work = np.zeros(n + 2)
    w_2_work = np.zeros(n + 2)
    u_2 = np.empty(n)
    for i in range(n):
        u_2[i] = u[i]
    for i_2 in range(steps):
        for i in range(n - 2):
            t = 0.25 * (u_2[i] + 2.0 * u_2[i + 1] + u_2[i + 2])
            t_7_work[i] = t
        for i in range(n - 2):
            u_2[i + 1] = t_7_work[i]
    t2 = 0.0
    u_2_bar = np.empty(n)
    for i in range(n):
        t3 = u_2[i]
        t2 = runtime.radd(t2, t3 * t3)
        u_2_bar[i] = 2.0 * t3
    for i_2 in range(steps - 1, -1, -1):
        # grad of line 56: u[1:-1] = 0.25 * (u[:-2] + 2.0 * u[1:-1] + u[2:])
        for i in range(n - 2):
            t4 = u_2_bar[i + 1] * 0.25
            u_2_bar[i + 1] = 0.0
            w_work[i + 2] = t4
            w_2_work[i + 2] = t4 * 2.0
        for i in range(n):
            t5 = w_work[i] + w_2_work[i + 1] + w_work[i + 2]
            u_2_bar[i] += t5
    return t2, u_2_bar
