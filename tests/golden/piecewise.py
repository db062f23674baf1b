import math

import numpy as np


def piecewise_grad(x, c):
    """Value and gradient of piecewise with respect to x."""
    t = x > c
    y = math.sin(x) if t else x * x if x > 0.0 else -x
    if t:
        # grad of line 29: y = math.sin(x)
        x_bar = c * np.cos(x)
    elif x > 0.0:
        # grad of line 31: y = x**2
        x_bar = c * (2 * x)
    else:
        # grad of line 33: y = -x
        x_bar = -c
    return y * c, x_bar
