import numpy as np

from stgrad import runtime


def broadcast_grad(W, x):
    """Value and gradient of broadcast with respect to W and x."""
    n = x.shape[0]
    n_2 = W.shape[1]
    n_3 = W.shape[0]
    if n != n_2:
        raise ValueError('operands could not be broadcast together (line 72: return np.mean((W - x) ** 2))')
    total = 0.0
    # grad of line 72: return np.mean((W - x) ** 2)
    t = 1.0 / max(n_3 * n_2, 1)
    x_bar = runtime.empty(n_2)
    for i in range(n_2):
        x_bar[i] = 0.0
    t2 = runtime.empty((n_3, n_2))
    for i in range(n_3):
        for j in range(n_2):
            t3 = W[i, j] - x[j]
            total = runtime.radd(total, t3 * t3)
            t4 = t * (2.0 * t3)
            t2[i, j] = t4
            x_bar[j] -= t4
    return total / np.float64(n_3 * n_2), t2, x_bar
