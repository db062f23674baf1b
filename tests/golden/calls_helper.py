def calls_helper_grad(x, y):
    """Value and gradient of calls_helper with respect to x and y."""
    u = 0.8775825618903728 * x - 0.479425538604203 * y
    v = 0.479425538604203 * x + 0.8775825618903728 * y
    # grad of line 93: return c * x - s * y, s * x + c * y
    y_bar = u * 0.8775825618903728
    x_bar = u * 0.479425538604203
    y_bar += -v * 0.479425538604203
    x_bar += v * 0.8775825618903728
    return u * v, x_bar, y_bar
