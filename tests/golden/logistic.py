from stgrad import runtime


def logistic_grad(r, x0, n):
    """Value and gradient of logistic with respect to r and x0."""
    x = x0
    x_stack = runtime.empty(max(n, 0))
    for t in range(n):
        x_stack[t] = x
        x = r * x * (1.0 - x)
    x_bar = 1.0
    r_bar = 0.0
    for t in range(n - 1, -1, -1):
        x_2 = x_stack[t]
        x_part = 1.0 - x_2
        # grad of line 16: x = r * x * (1.0 - x)
        r_bar += x_bar * (x_part * x_2)
        x_bar *= x_part * r - r * x_2
    return x, r_bar, x_bar
