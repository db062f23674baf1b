from stgrad import runtime


def pairs_grad(S, d):
    """Value and gradient of pairs with respect to S and d."""
    n = S.shape[0]
    n_2 = S.shape[1]
    n_3 = d.shape[0]
    if S.shape[0] > 0:
        if S.shape[1] > d.shape[0]:
            raise IndexError('index `j` is out of bounds for axis 0 of `d` (line 105: total += S[i, j] * d[i] * d[j])')
    total = 0.0
    S_bar = runtime.empty((n, n_2))
    for i_2 in range(n):
        for j_2 in range(n_2):
            S_bar[i_2, j_2] = 0.0
    d_bar = runtime.empty(n_3)
    for i_2 in range(n_3):
        d_bar[i_2] = 0.0
    t = S.shape[1]
    for i in range(S.shape[0]):
        if t > i:
            if i >= d.shape[0]:
                raise IndexError('index `i` is out of bounds for axis 0 of `d` (line 105: total += S[i, j] * d[i] * d[j])')
        d_bar_i = 0.0
        for j in range(i, S.shape[1]):
            total = runtime.radd(total, S[i, j] * d[i] * d[j])
            S_i_j = S[i, j]
            d_i = d[i]
            d_j = d[j]
            # grad of line 105: total += S[i, j] * d[i] * d[j]
            d_bar[j] += S_i_j * d_i
            d_bar_i = runtime.radd(d_bar_i, d_j * S_i_j)
            S_bar[i, j] += d_j * d_i
        if d_bar_i != 0.0:
            d_bar[i] += d_bar_i
    return total, S_bar, d_bar
