from stgrad import runtime


def horner_grad(coefficients, x):
    """Value and gradient of horner with respect to coefficients and x."""
    n = coefficients.shape[0]
    y = 0.0
    t = coefficients[::-1]
    t2 = t.shape[0]
    y_stack = runtime.empty(t2)
    for k in range(t2):
        y_stack[k] = y
        c = t[k]
        y = y * x + c
    y_bar = 1.0
    x_bar = 0.0
    t3 = runtime.empty(n)
    for i in range(n):
        t3[i] = 0.0
    for k in range(t2 - 1, -1, -1):
        # grad of line 87: y = y * x + c
        c_bar = y_bar
        y_2 = y_stack[k]
        t4 = y_bar
        y_bar *= x
        x_bar += t4 * y_2
        # grad of line 86: for c in coefficients[::-1]:
        t3[k] += c_bar
    coefficients_bar = runtime.empty(n)
    t5 = n - 1
    for i in range(n):
        coefficients_bar[i] = t3[t5 - i]
    return y, coefficients_bar, x_bar
