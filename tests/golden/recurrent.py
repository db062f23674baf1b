import numpy as np

from stgrad import runtime


def recurrent_grad(W, x, n):
    """Value and gradient of recurrent with respect to W and x."""
    n_2 = W.shape[0]
    n_3 = W.shape[1]
    n_4 = x.shape[0]
    h = runtime.empty(n_2)
    for i in range(n_2):
        h[i] = 0.0
    h_stack = runtime.empty((max(n, 0), n_2))
    t_7_work = runtime.empty(n_2)
    for t in range(n):
        if n_3 != n_4:
            raise ValueError('matmul: shapes do not fit')
        t2 = runtime.matmul(W, x, out=t_7_work)
        h_3 = h_stack[t]
        for i in range(n_2):
            h_3[i] = runtime.tanh(t2[i] + h[i])
        h = h_3
    t3 = 0.0
    for i in range(n_2):
        t3 = runtime.radd(t3, h[i])
    h_bar = runtime.empty(n_2)
    # grad of line 64: return np.sum(h)
    for i in range(n_2):
        h_bar[i] = 1.0
    W_bar = runtime.empty((n_2, n_3))
    for i in range(n_2):
        for j in range(n_3):
            W_bar[i, j] = 0.0
    x_bar = runtime.empty(n_4)
    for i in range(n_4):
        x_bar[i] = 0.0
    t_14_sum = runtime.empty(n_2)
    for i in range(n_2):
        t_14_sum[i] = 0.0
    t4 = runtime.empty(n_2)
    t_14_spare = runtime.empty(n_2)
    t_18_work = runtime.empty(n_3)
    for t in range(n - 1, -1, -1):
        if n_3 != n_4:
            raise ValueError('operands could not be broadcast together')
        t_14_spare, t4 = t4, t_14_spare
        # grad of line 63: h = np.tanh(W @ x + h)
        for i in range(n_2):
            t5 = h_stack[t, i]
            t6 = h_bar[i] * (1.0 - t5 * t5)
            t4[i] = t6
            t_14_sum[i] += t6
        t7 = runtime.matmul(np.transpose(W), t4, out=t_18_work)
        for i in range(n_3):
            x_bar[i] += t7[i]
        h_bar = t4
    if n_4 != n_3:
        raise ValueError('operands could not be broadcast together')
    for i in range(n_2):
        t8 = t_14_sum[i]
        for j in range(n_3):
            W_bar[i, j] += t8 * x[j]
    return t3, W_bar, x_bar
