import numpy as np

from stgrad import runtime


def newton_grad(a):
    """Value and gradient of newton with respect to a."""
    x_stack = runtime.new_stack(0.0)
    x = a
    trips = 0
    while np.abs(x * x - a) > 1e-12:
        runtime.push(x_stack, x)
        if x == 0.0:
            raise ZeroDivisionError('float division by zero')
        x = 0.5 * (x + a / x)
        trips += 1
    x_bar = 1.0
    a_bar = 0.0
    for k in range(trips):
        x_2 = runtime.pop(x_stack)
        # grad of line 23: x = 0.5 * (x + a / x)
        t = 1.0 / x_2
        a_bar += x_bar * (0.5 * t)
        x_bar *= 0.5 + 0.5 * (-(a / x_2) * t)
    # grad of line 21: x = a
    a_bar += x_bar
    return x, a_bar
