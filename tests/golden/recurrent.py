import numpy as np

from stgrad import runtime


def recurrent_grad(W, x, n):
    """Value and gradient of recurrent with respect to W and x."""
    n_2 = W.shape[1]
    n_3 = W.shape[0]
    n_4 = x.shape[0]
    n_x = x.shape[0]
    runs = 0 < n
    h = runtime.empty(n_3)
    for i in range(n_3):
        h[i] = 0.0
    if runs:
        if n_2 != n_x:
            raise ValueError('matmul: shapes do not fit (line 63: h = np.tanh(W @ x + h))')
        W_x = W @ x
    else:
        W_x = runtime.empty(n_3)
        for i in range(n_3):
            W_x[i] = 0.0
    h_stack = runtime.empty((max(n, 0), W.shape[0]))
    for t in range(n):
        h_3 = h_stack[t]
        for i in range(n_3):
            h_3[i] = runtime.tanh(W_x[i] + h[i])
        h = h_3
    sum_h = 0.0
    for i in range(n_3):
        sum_h = runtime.radd(sum_h, h[i])
    h_bar = runtime.empty(n_3)
    # grad of line 64: return np.sum(h)
    for i in range(n_3):
        h_bar[i] = 1.0
    W_x_bar = runtime.empty(n_3)
    for i in range(n_3):
        W_x_bar[i] = 0.0
    h_part_bar = runtime.empty(n_3)
    h_part_bar_spare = runtime.empty(n_3)
    for t in range(n - 1, -1, -1):
        h_part_bar_spare, h_part_bar = h_part_bar, h_part_bar_spare
        # grad of line 63: h = np.tanh(W @ x + h)
        for i in range(n_3):
            t2 = h_stack[t, i]
            t3 = h_bar[i] * (1.0 - t2 * t2)
            h_part_bar[i] = t3
            W_x_bar[i] += t3
        h_bar = h_part_bar
    if runs:
        W_bar = runtime.empty((n_3, n_4))
        for i in range(n_3):
            t4 = W_x_bar[i]
            for j in range(n_4):
                W_bar[i, j] = t4 * x[j]
        x_bar = np.transpose(W) @ W_x_bar
    else:
        W_bar = runtime.empty((n_3, n_2))
        for i in range(n_3):
            for j in range(n_2):
                W_bar[i, j] = 0.0
        x_bar = runtime.empty(n_4)
        for i in range(n_4):
            x_bar[i] = 0.0
    return sum_h, W_bar, x_bar
