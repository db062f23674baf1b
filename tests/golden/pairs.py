import numpy as np


def pairs_grad(S, d):
    """Value and gradient of pairs with respect to S and d."""
    n = S.shape[0]
    n_2 = S.shape[1]
    n_3 = d.shape[0]
    total = 0.0
    t = S.shape[0]
    for i in range(t):
        for j in range(i, S.shape[1]):
            total += S[i, j] * d[i] * d[j]
    S_bar = np.empty((n, n_2))
    for i_2 in range(n):
        for j_2 in range(n_2):
            S_bar[i_2, j_2] = 0.0
    d_bar = np.empty(n_3)
    for i_2 in range(n_3):
        d_bar[i_2] = 0.0
    for i in range(t - 1, -1, -1):
        for j in range(S.shape[1] - 1, i - 1, -1):
            t_5_2 = S[i, j]
            t_6_2 = d[i]
            t_8_2 = d[j]
            # grad of line 105: total += S[i, j] * d[i] * d[j]
            d_bar[j] += t_5_2 * t_6_2
            d_bar[i] += t_8_2 * t_5_2
            S_bar[i, j] += t_8_2 * t_6_2
    return total, S_bar, d_bar
