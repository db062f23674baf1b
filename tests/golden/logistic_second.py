import numpy as np


def logistic_grad_grad(r, x0, n):
    """Gradient of logistic_grad with respect to r."""
    x = x0
    x_stack_2 = np.empty(max(n, 0))
    x_stack = np.empty(max(n, 0))
    for i in range(n):
        x_stack_2[i] = x
        x_stack[i] = x
        x = r * x * (1.0 - x)
    x_bar = 1.0
    t = n - 1
    x_2_stack = np.empty(max(t + 1, 0))
    x_bar_stack = np.empty(max(t + 1, 0))
    for i in range(t, -1, -1):
        x_bar_stack[t - i] = x_bar
        x = x_stack[i]
        x_2_stack[t - i] = x
        # grad of line 16: x = r * x * (1.0 - x)
        x_bar *= (1.0 - x) * r - r * x
    r_bar = 0.0
    x_bar_bar = 0.0
    t2 = t + 1
    x_stack_bar = np.empty(max(t2, 0))
    for i in range(t2):
        x_bar = x_bar_stack[t - i]
        x_2 = x_2_stack[t - i]
        t3 = 1.0 - x_2
        t4 = x_bar * t3
        t5 = x_bar_bar * r
        r_bar += x_bar_bar * t4
        t5 += x_2
        t6 = -x_bar_bar
        x_bar_bar = t6 * (r * x_2)
        t7 = t6 * x_bar
        x_bar_bar += t5 * t3
        x_2_bar = t4 - t5 * x_bar
        r_bar += t7 * x_2
        x_2_bar += t7 * r
        x_stack_bar[i] = x_2_bar
    x_bar = 0.0
    for i in range(n - 1, -1, -1):
        x = x_stack_2[i]
        t8 = x_bar * (1.0 - x)
        x_bar = -(x_bar * (r * x))
        r_bar += t8 * x
        x_bar += t8 * r
        x_bar += x_stack_bar[i]
    return r_bar
