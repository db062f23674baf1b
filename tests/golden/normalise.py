import numpy as np

from stgrad import runtime


def normalise_grad(x):
    """Value and gradient of normalise with respect to x."""
    n = x.shape[0]
    t = 0.0
    t2 = 0.0
    # grad of line 76: return np.sum(x / np.sqrt(np.sum(x * x)))
    t3 = 0.0
    for i in range(n):
        t4 = x[i]
        t = runtime.radd(t, t4 * t4)
    t5 = np.sqrt(t)
    t6 = 1.0 / t5
    x_bar = runtime.empty(n)
    for i in range(n):
        t7 = x[i] / t5
        t2 = runtime.radd(t2, t7)
        t3 = runtime.radd(t3, -t7 / t5)
        x_bar[i] = t6
    ret = t3 * (0.5 / (t5 if t5 > 0.0 else np.inf))
    for i in range(n):
        t8 = ret * x[i]
        x_bar[i] += t8
        x_bar[i] += t8
    return t2, x_bar
