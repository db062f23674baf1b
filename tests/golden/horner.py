from stgrad import runtime


def horner_grad(coefficients, x):
    """Value and gradient of horner with respect to coefficients and x."""
    n = coefficients.shape[0]
    y = 0.0
    coefficients_part = coefficients[::-1]
    n_coefficients_part = coefficients_part.shape[0]
    y_stack = runtime.empty(n_coefficients_part)
    for k in range(n_coefficients_part):
        y_stack[k] = y
        c = coefficients_part[k]
        y = y * x + c
    y_bar = 1.0
    x_bar = 0.0
    coefficients_part_bar = runtime.empty(n)
    for i in range(n):
        coefficients_part_bar[i] = 0.0
    for k in range(n_coefficients_part - 1, -1, -1):
        # grad of line 87: y = y * x + c
        c_bar = y_bar
        y_2 = y_stack[k]
        y_part_bar = y_bar
        y_bar *= x
        x_bar += y_part_bar * y_2
        # grad of line 86: for c in coefficients[::-1]:
        coefficients_part_bar[k] += c_bar
    coefficients_bar = runtime.empty(n)
    t = n - 1
    for i in range(n):
        coefficients_bar[i] = coefficients_part_bar[t - i]
    return y, coefficients_bar, x_bar
