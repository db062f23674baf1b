from stgrad import runtime


def elementwise_grad(x, a):
    """Value and gradient of elementwise with respect to x and a."""
    n = x.shape[0]
    t = -a
    t2 = 0.0
    # grad of line 68: return np.sum(np.exp(-a * x**2) * np.sin(x))
    t3 = 0.0
    x_bar = runtime.empty(n)
    for i in range(n):
        t4 = x[i]
        t5 = runtime.sin(t4)
        t6 = t4 * t4
        t7 = runtime.exp(t * t6)
        t2 = runtime.radd(t2, t7 * t5)
        t8 = t5 * t7
        t3 = runtime.radd(t3, t8 * t6)
        x_bar[i] = t7 * runtime.cos(t4) + t8 * t * (2.0 * t4)
    a_bar = -t3
    return t2, x_bar, a_bar
