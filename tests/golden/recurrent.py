import numpy as np

from stgrad import runtime


def recurrent_grad(W, x, n):
    """Value and gradient of recurrent with respect to W and x."""
    n_2 = W.shape[1]
    n_3 = W.shape[0]
    n_4 = x.shape[0]
    t = x.shape[0]
    runs = 0 < n
    h = runtime.empty(n_3)
    for i in range(n_3):
        h[i] = 0.0
    if runs:
        if n_2 != t:
            raise ValueError('matmul: shapes do not fit')
        t2 = W @ x
    else:
        t2 = runtime.empty(n_3)
        for i in range(n_3):
            t2[i] = 0.0
    h_stack = runtime.empty((max(n, 0), W.shape[0]))
    for t3 in range(n):
        h_3 = h_stack[t3]
        for i in range(n_3):
            h_3[i] = runtime.tanh(t2[i] + h[i])
        h = h_3
    t4 = 0.0
    for i in range(n_3):
        t4 = runtime.radd(t4, h[i])
    h_bar = runtime.empty(n_3)
    # grad of line 64: return np.sum(h)
    for i in range(n_3):
        h_bar[i] = 1.0
    t5 = runtime.empty(n_3)
    for i in range(n_3):
        t5[i] = 0.0
    t6 = runtime.empty(n_3)
    t_16_spare = runtime.empty(n_3)
    for t3 in range(n - 1, -1, -1):
        t_16_spare, t6 = t6, t_16_spare
        # grad of line 63: h = np.tanh(W @ x + h)
        for i in range(n_3):
            t7 = h_stack[t3, i]
            t8 = h_bar[i] * (1.0 - t7 * t7)
            t6[i] = t8
            t5[i] += t8
        h_bar = t6
    if runs:
        W_bar = runtime.empty((n_3, n_4))
        for i in range(n_3):
            t9 = t5[i]
            for j in range(n_4):
                W_bar[i, j] = t9 * x[j]
        x_bar = np.transpose(W) @ t5
    else:
        W_bar = runtime.empty((n_3, n_2))
        for i in range(n_3):
            for j in range(n_2):
                W_bar[i, j] = 0.0
        x_bar = runtime.empty(n_4)
        for i in range(n_4):
            x_bar[i] = 0.0
    return t4, W_bar, x_bar
