import numpy as np

from stgrad import runtime


def recurrent_grad(W, x, n):
    """Value and gradient of recurrent with respect to W and x."""
    n_2 = W.shape[0]
    n_3 = W.shape[1]
    n_4 = x.shape[0]
    h = np.empty(n_2)
    for i in range(n_2):
        h[i] = 0.0
    h_stack = np.empty((max(n, 0), n_2))
    for i_2 in range(n):
        t = W @ x
        h_3 = np.empty(n_2)
        for i in range(n_2):
            t2 = runtime.tanh(t[i] + h[i])
            h_3[i] = t2
            h_stack[i_2, i] = t2
        h = h_3
    t3 = 0.0
    for i in range(n_2):
        t3 = runtime.radd(t3, h[i])
    h_bar = np.empty(n_2)
    # grad of line 64: return np.sum(h)
    for i in range(n_2):
        h_bar[i] = 1.0
    W_bar = np.empty((n_2, n_3))
    for i in range(n_2):
        for j in range(n_3):
            W_bar[i, j] = 0.0
    x_bar = np.empty(n_4)
    for i in range(n_4):
        x_bar[i] = 0.0
    for i_2 in range(n - 1, -1, -1):
        if n_4 != n_3:
            raise ValueError('operands could not be broadcast together')
        t4 = np.empty(n_2)
        # grad of line 63: h = np.tanh(W @ x + h)
        for i in range(n_2):
            t5 = h_stack[i_2, i]
            t6 = h_bar[i] * (1.0 - t5 * t5)
            t4[i] = t6
            for j in range(n_3):
                W_bar[i, j] += t6 * x[j]
        t7 = np.transpose(W) @ t4
        for i in range(n_3):
            x_bar[i] += t7[i]
        h_bar = t4
    return t3, W_bar, x_bar
