"""Lists that grow, and lists, dicts and tuples that change in loops and branches."""

import numpy as np

from .registry import example, matrix, positive, vector


@example(vector(4), jit=True)
def appends_in_a_loop(x):
    xs = []
    for i in range(len(x)):
        xs.append(x[i] * x[i])
    return sum(xs) * xs[-1] + xs[0] * len(xs)


@example(vector(4), jit=True)
def array_of_appended(x):
    xs = []
    for v in x:
        xs.append(np.sin(v))
    a = np.array(xs)
    return np.sum(a * a * x)


@example(vector(5), jit=True)
def appends_under_a_condition(x):
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v * v)
    s = 0.0
    for k in kept:
        s += k * k
    return s + len(kept) * x[0]


@example(vector(5), jit=True)
def trajectory(x):
    state = x[0]
    history = [state]
    for i in range(1, len(x)):
        state = state * 0.5 + x[i] * history[-1]
        history.append(state)
    return np.sum(np.array(history) ** 2)


@example(vector(3), 4, jit=True)
def appends_arrays(x, n):
    rows = [x]
    for i in range(n):
        rows.append(np.sin(rows[-1]) * x)
    return np.sum(np.array(rows) ** 2) + rows[2][0]


@example(vector(3), 4)
def appends_arrays_in_a_while(x, n):
    rows = []
    y = x
    while len(rows) < n:
        y = y * x
        rows.append(y)
    return np.sum(np.stack(rows)) + np.sum(rows[-1] * rows[0])


@example(matrix(3, 4), jit=True)
def nested_appends(a):
    rows = []
    for i in range(a.shape[0]):
        row = []
        for j in range(a.shape[1]):
            row.append(a[i, j] ** 2)
        rows.append(row)
    return np.sum(np.array(rows) * a) + rows[1][2] * rows[-1][-1]


@example(matrix(3, 4), jit=True)
def appends_in_two_loops(a):
    flat = []
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            flat.append(a[i, j] * i)
    return sum(flat) * flat[3]


@example(vector(5), jit=True)
def counts_down(x):
    back = []
    for i in range(len(x) - 1, -1, -2):
        back.append(x[i] * x[0])
    front = []
    for i in range(len(x) - 1, -1, -1):
        front.append(x[i] * i)
    return sum(back) * front[1] + front[-2]


@example(vector(4))
def appends_pairs(x):
    pairs = []
    for i in range(len(x)):
        pairs.append((x[i], x[i] * x[i]))
    s = 0.0
    for a, b in pairs:
        s += a * b
    return s + pairs[0][1]


@example(vector(4))
def appends_records(x):
    items = []
    for v in x:
        items.append({"v": v, "w": v * v})
    return sum(item["v"] * item["w"] for item in items)


@example(vector(6), jit=True)
def stack_of_numbers(x):
    stack = []
    for v in x:
        stack.append(v * v)
        if len(stack) > 2:
            b = stack.pop()
            a = stack.pop()
            stack.append(a * b)
    return stack[-1] + stack[0]


@example(vector(4))
def extends(x):
    xs = [x[0]]
    for v in x:
        xs.extend([v, v * v])
        xs += [v * 3.0]
    ys = list(x)
    ys.extend(x * x)
    return sum(xs) * xs[4] + sum(ys) * ys[-1]


@example(vector(4))
def stores_into_a_growing_list(x):
    xs = []
    for v in x:
        xs.append(v * v)
    for i in range(1, len(xs)):
        xs[i] = xs[i] * xs[i - 1]
    xs[0] += xs[-1]
    return xs[0] * xs[2]


@example(vector(4))
def slices_and_sums_of_growing_lists(x):
    xs = []
    for v in x:
        xs.append(v * v)
    ys = xs[1:] + [x[0]] + xs[:2]
    zs = xs[:]
    zs[0] = 0.0
    return sum(ys) * ys[1] + sum(zs) * xs[0]


@example(positive(4))
def builtins_of_growing_lists(x):
    xs = []
    for v in x:
        xs.append(v * v)
    return max(xs) * min(xs) + sorted(xs)[1] + np.mean(xs) * np.sum(xs) + sum(reversed(xs)) + sum(a * b for a, b in zip(xs, x)) + (xs[1] if xs else 0.0)


@example(vector(5))
def enumerates_a_growing_list(x):
    xs = []
    for v in x:
        xs.append(v * v)
    s = 0.0
    for i, v in enumerate(xs):
        s += i * v * v
    return s + sum([v * x[0] for v in xs])


@example(vector(5))
def comprehension_with_a_condition(x):
    big = [v * v for v in x if v > 0.0]
    return sum(big) * len(big) + sum(v for v in x if v < 0.0)


@example(vector(3), vector(4, 1))
def comprehension_of_two_loops(x, y):
    table = [a * b for a in x for b in y]
    rows = [[a * b for b in y] for a in x]
    return sum(table) * table[-1] + rows[1][2] + sum(sum(row) * row[0] for row in rows)


def fill(out, x):
    for v in x:
        out.append(v * v)


@example(vector(4))
def helper_appends(x):
    out = []
    fill(out, x)
    fill(out, x * 2.0)
    return sum(out) * out[-1]


@example(vector(4))
def two_names_of_a_growing_list(x):
    xs = []
    table = {"xs": xs}
    ys = xs
    for v in x:
        ys.append(v)
    return sum(xs) * table["xs"][1]


@example(vector(4))
def integers_then_floats(x):
    xs = [1]
    for v in x:
        xs.append(v)
    return sum(xs) * xs[1]


@example(vector(4))
def a_list_restarts_in_each_trip(x):
    s = 0.0
    for i in range(1, 4):
        xs = []
        for j in range(i):
            xs.append(x[j] * x[i])
        s += sum(xs) * xs[0]
    return s


@example(vector(4), jit=True)
def entries_change_in_a_loop(x):
    state = [0.0, 1.0]
    table = {"sum": 0.0, "count": 0}
    for v in x:
        state[0] = state[0] + v
        state[1] *= v
        table["sum"] += state[0] * v
        table["count"] += 1
    return state[0] * state[1] + table["sum"] * table["count"]


@example(vector(4), jit=True)
def entries_change_in_a_branch(x):
    state = [x[0], x[1]]
    if x[2] > 0.0:
        state[0] = x[2] * x[3]
    else:
        state[1] = x[3]
    best = {"v": x[0]}
    for v in x:
        if v > best["v"]:
            best["v"] = v * v
    return state[0] * state[1] + best["v"]


@example(1.2, 0.7)
def rotates_a_list(x, y):
    h = [x, y, x * y]
    for _ in range(3):
        h = [h[2], h[0], h[1] * x]
    for _ in range(2):
        h[0], h[1], h[2] = h[1], h[2], h[0] * y
    return h[0] + 2.0 * h[1] + 3.0 * h[2] * h[0]


@example(1.2, 0.7)
def branch_swaps_entries(x, y):
    h = [x, y]
    for k in range(3):
        if k % 2 == 0:
            h[0], h[1] = h[1], h[0] * x
        else:
            h = [h[1], h[0]]
    return h[0] + 2.0 * h[1] * h[0]


@example(vector(3))
def two_names_of_a_list(x):
    a = [x[0], x[1]]
    b = a
    pair = (a, x[2])
    b[0] = x[2] * x[1]
    pair[0][1] = b[0] * x[0]
    for v in x:
        b[0] = b[0] * v
    return a[0] + 2.0 * a[1]


@example(vector(3))
def nested_lists_change(x):
    grid = [[x[0], x[1]], [x[2], 1.0]]
    row = grid[1]
    for v in x:
        grid[0][1] += v
        row[0] *= v
    return grid[0][0] * grid[0][1] + grid[1][0] * grid[1][1]


@example(vector(3))
def lists_of_arrays_change(x):
    layers = [x, x * x]
    for _ in range(2):
        for i in range(len(layers)):
            layers[i] = np.sin(layers[i]) * x
    return np.sum(layers[0] * layers[1])


@example(vector(3))
def kinds_that_differ_are_fine_until_read(x):
    t = 0.0
    s = 0.0
    for i in range(3):
        t = x * i
        s += np.sum(t * t)
    if s > 0.0:
        u = x[0]
    else:
        u = "none"
    u = s * 2.0
    return u * s


@example(1.3, 0.7)
def state_of_a_simulation(x, y):
    state = {"position": x, "velocity": y, "path": []}

    def step(s, dt):
        s["velocity"] -= s["position"] * dt
        s["position"] += s["velocity"] * dt
        s["path"].append(s["position"])
        return s

    for _ in range(4):
        state = step(state, 0.1)
    return state["position"] ** 2 + sum(state["path"])


@example(vector(4), 0.4, jit=True)
def an_item_to_a_name_of_its_own(x, c):
    box = [c * 2.0, x * c]
    a = box[1]
    a[0] = c
    b = [c * c]
    s = b[0]
    s *= c
    return np.sum(box[1] * x) + b[0] + s


@example({"w": vector(3), "b": 0.3}, vector(3, 1), jit=True)
def dict_argument_with_other_items(params, x):
    params["b"] = params["b"] * 2.0
    params["w"] = np.sin(params["w"]) * params["b"]
    return np.sum(params["w"] * x) + params["b"]


@example([vector(3), 0.3], 2, jit=True)
def list_argument_with_other_items(pair, n):
    for _ in range(n):
        pair[0] = pair[0] * pair[1]
        pair[1] += 0.5
    return np.sum(pair[0]) * pair[1]


@example([vector(3), vector(3, 1)], False, jit=True)
def list_argument_under_a_condition(pair, flag):
    if flag:
        pair[0] = pair[1]
    return np.sum(pair[0] * pair[0] * pair[1])


@example(vector(5), matrix(3, 2), 0.7, jit=True)
def around_a_star(x, a, w):
    first, *rest = x
    s = first * w
    for r in rest:
        s = s * 0.9 + r * r
    kept = []
    for v in x:
        if v > -3.0:
            kept.append(v * w)
    head, *middle, tail = kept
    *rows, last = a
    for row in rows:
        last = last + row * row
    return s + rest[-1] + len(rest) * w + head * tail + sum(m * m for m in middle) + np.sum(last)


@example(vector(5), 0.7, jit=True)
def list_of_a_slice_backwards(x, w):
    part = list(x[2:0:-1])
    part.append(w)
    other = list(x[1:4:2])
    other.append(w * w)
    return sum(part) * other[0] + sum(v * v for v in other)


@example(vector(4), matrix(3, 4), 0, jit=True)
def list_of_slices_that_no_trip_enlarges(x, a, n):
    rows = [a[0, 2:4] * 2.0]
    for _ in range(n):
        rows.append(x[:2])
    more = [a[1, 1:] * x[1:]]
    if n > 1:
        for k in range(n):
            more.append(x[k : k + 3])
    return np.sum(rows[-1]) * rows[0][1] + np.sum(more[-1] ** 2)


@example(matrix(3, 2), 0.7, jit=True)
def one_column_by_path(a, w):
    v = np.mean(a, axis=1, keepdims=True) if w > 0.5 else a[::-1, 1:] * w
    u = a[:, 1:] * w if w > 0.5 else np.sum(a, axis=1, keepdims=True)
    return np.sum(v * v * u)


@example(positive(5))
def a_list_that_grew_beside_an_array(x):
    found = []
    for v in x:
        if v > 0.6:
            found.extend((v, v * v))
    joined = np.hstack((x, found))
    return np.sum(joined * np.arange(1.0, 1.0 + len(joined)))


@example(positive(5))
def rows_of_lists_that_grew(x):
    squares, halves = [], []
    for v in x:
        if v > 0.6:
            squares.append(v * v)
            halves.append(0.5 * v)
    return np.sum(np.array([squares, halves]).T * np.array([1.0, 3.0]))


@example(positive(5))
def rows_in_a_type_of_their_own(x):
    return np.sum(np.array([3.0 * x, 7.0 * x], dtype=np.int64) * x)
