from stgrad import runtime


def overwrite_grad(x):
    """Value and gradient of overwrite with respect to x."""
    n = x.shape[0]
    if x.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `y` (line 50: y[0] = 0.0)')
    sum_y = 0.0
    y_bar = runtime.empty(n)
    # grad of line 51: return np.sum(y)
    for i in range(n):
        y_bar[i] = 1.0
    y = runtime.empty(n)
    for i in range(n):
        t = x[i]
        y[i] = t * t
    y_bar[0] = 0.0
    y[0] = 0.0
    x_bar = runtime.empty(n)
    for i in range(n):
        sum_y = runtime.radd(sum_y, y[i])
        t2 = y_bar[i] * x[i]
        x_bar[i] = t2 + t2
    return sum_y, x_bar
