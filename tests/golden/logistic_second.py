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
        x_part = 1.0 - x
        x_part_bar = x_bar * x_part
        t4 = x_part_bar - x * x_bar - x_bar_bar * (r * x_bar + x_bar * r)
        x_stack_bar[t] = t4
        r_bar += x_bar_bar * (x_part_bar - x_bar * x)
        x_bar_bar = x * x_part + x_bar_bar * (r * x_part - r * x)
    x_bar = 0.0
    for t in range(n - 1, -1, -1):
        x = x_stack_2[t]
        x_part_2 = 1.0 - x
        r_bar += x_bar * (x_part_2 * x)
        x_bar = x_stack_bar[t] + x_bar * (x_part_2 * r - r * x)
    return r_bar
