from stgrad import runtime


def logistic_grad_grad(r, x0, n):
    """Gradient of logistic_grad with respect to r."""
    x = x0
    x_stack_2 = runtime.empty(max(n, 0))
    x_stack = runtime.empty(max(n, 0))
    for t in range(n):
        x_stack_2[t] = x
        x_stack[t] = x
        x = r * x * (1.0 - x)
    x_bar = 1.0
    t2 = n - 1
    x_bar_stack = runtime.empty(max(t2 + 1, 0))
    x_2_stack = runtime.empty(max(t2 + 1, 0))
    for t in range(t2, -1, -1):
        x_bar_stack[t2 - t] = x_bar
        x = x_stack[t]
        x_2_stack[t2 - t] = x
        # grad of line 16: x = r * x * (1.0 - x)
        x_bar *= (1.0 - x) * r - r * x
    r_bar = 0.0
    x_bar_bar = 0.0
    t3 = t2 + 1
    x_stack_bar = runtime.empty(max(t3, 0))
    for t in range(t3):
        x_bar = x_bar_stack[t2 - t]
        x = x_2_stack[t2 - t]
        t4 = 1.0 - x
        t5 = x_bar * t4
        t6 = x_bar_bar * r
        r_bar += x_bar_bar * t5
        t6 += x
        t7 = -x_bar_bar
        x_bar_bar = t7 * (r * x)
        t8 = t7 * x_bar
        x_bar_bar += t6 * t4
        x_2_bar = t5 - t6 * x_bar
        r_bar += t8 * x
        x_2_bar += t8 * r
        x_stack_bar[t] = x_2_bar
    x_bar = 0.0
    for t in range(n - 1, -1, -1):
        x = x_stack_2[t]
        t9 = x_bar * (1.0 - x)
        x_bar = -(x_bar * (r * x))
        r_bar += t9 * x
        x_bar += t9 * r
        x_bar += x_stack_bar[t]
    return r_bar
