from stgrad import runtime


def early_exit_grad(x, limit):
    """Value and gradient of early_exit with respect to x."""
    n = x.shape[0]
    t_5_stack = runtime.new_stack(False)
    s = 0.0
    break_2 = False
    n_x = x.shape[0]
    v_k = 0
    trips = 0
    while v_k < n_x and not break_2:
        if not x[v_k] < 0.0:
            t = s > limit
            runtime.push(t_5_stack, t)
            if t:
                break_2 = True
            else:
                x_i = x[v_k]
                s += x_i * x_i
        v_k += 1
        trips += 1
    x_bar = runtime.empty(n)
    for i in range(n):
        x_bar[i] = 0.0
    t2 = trips - 1
    for k in range(trips):
        v_k = t2 - k
        if not x[v_k] < 0.0:
            if not runtime.pop(t_5_stack):
                # grad of line 44: s += x[i] ** 2
                x_bar[v_k] += 2.0 * x[v_k]
    return s, x_bar
