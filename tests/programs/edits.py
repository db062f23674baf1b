"""Lists of run-time length that change in the middle: queues, stacks, sorted lists, windows."""

import numpy as np

from .registry import example, positive, vector


@example(vector(5), jit=True)
def sorted_by_insertion(x):
    out = []
    for v in x:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    return sum(i * v * v for i, v in enumerate(out))


@example(vector(5), jit=True)
def inserts_in_front(x):
    out = []
    for v in x:
        out.insert(0, v * v)
    return sum(i * v for i, v in enumerate(out))


@example(vector(4), 3, jit=True)
def inserts_anywhere(x, n):
    out = [1.0]
    for i in range(n):
        out.insert(-1, x[i] * x[0])
        out.insert(100, x[i] * 2)
    return sum(i * v for i, v in enumerate(out))


@example(vector(5), 7, jit=True)
def rotates_a_queue(x, n):
    q = list(x)
    s = 0.0
    for _ in range(n):
        v = q.pop(0)
        q.append(v * 0.5)
        s += v * v
    return s


@example(vector(7), jit=True)
def breadth_first(x):
    n = len(x)
    queue = [0]
    seen = [False] * n
    d = np.zeros(n)
    seen[0] = True
    while queue:
        u = queue.pop(0)
        for v in (2 * u + 1, 2 * u + 2):
            if v < n and not seen[v]:
                seen[v] = True
                d[v] = d[u] + x[v] ** 2
                queue.append(v)
    return np.sum(d * x)


@example(vector(5), 2, jit=True)
def sliding_window(x, k):
    w = []
    s = 0.0
    for v in x:
        w.append(v)
        if len(w) > k:
            del w[0]
        s += max(w) * sum(w)
    return s


@example(vector(6), jit=True)
def monotone_stack(x):
    stack = []
    s = 0.0
    for i in range(len(x)):
        while stack and x[stack[-1]] > x[i]:
            j = stack.pop()
            s += x[j] * x[i] * (i - j)
        stack.append(i)
    return s + sum(x[j] ** 2 for j in stack)


@example(positive(5), jit=True)
def largest_rectangle(h):
    stack = []
    best = 0.0
    i = 0
    while i < len(h):
        if not stack or h[i] >= h[stack[-1]]:
            stack.append(i)
            i += 1
        else:
            top = stack.pop()
            width = i if not stack else i - stack[-1] - 1
            best = max(best, h[top] * width)
    while stack:
        top = stack.pop()
        width = len(h) if not stack else len(h) - stack[-1] - 1
        best = max(best, h[top] * width)
    return best**2


@example(vector(6), jit=True)
def cycles_leave_a_stack(x):
    stack = []
    s = 0.0
    for v in x:
        stack.append(v)
        while len(stack) >= 3 and abs(stack[-1] - stack[-2]) >= abs(stack[-2] - stack[-3]):
            s += (stack[-2] - stack[-3]) ** 2
            del stack[-3:-1]
    return s + sum(v * v for v in stack)


@example(vector(4), 3)
def slices_get_other_numbers_of_items(x, n):
    out = [1.0]
    for i in range(n):
        out.append(x[i])
        out[i : i + 1] = [x[i + 1], x[i] ** 2]
    out.reverse()
    return sum(i * v for i, v in enumerate(out))


@example(vector(3), 3)
def rows_move(x, n):
    rows = [x, 2 * x]
    for i in range(n):
        rows.insert(1, rows[0] * rows[-1])
        if i % 2:
            first = rows.pop(0)
            rows[0] = rows[0] + first
    return np.sum(rows[0] * rows[-1]) + len(rows)


@example(vector(5), jit=True)
def pairs_at_run_time_places(x):
    out = []
    for i, v in enumerate(x):
        out.insert(i // 2, (v * v, i))
    s = 0.0
    for v, i in out:
        s = s * 0.5 + v * i
    return s


@example(vector(5), 4, jit=True)
def removes_by_value(x, n):
    q = [2 * k for k in range(n)]
    q.remove(4)
    s = x[q.index(6)] ** 2
    for k in q:
        s += x[k // 2] ** 3 * q.count(k)
    return s


@example(vector(5), jit=True)
def empties_a_buffer(x):
    buffer = []
    s = 0.0
    for v in x:
        buffer.append(v)
        if len(buffer) == 2:
            s += buffer[0] * buffer[1]
            buffer.clear()
    return s + sum(buffer)


@example(vector(5), jit=True)
def grown_by_the_item(x):
    xs = [x[0]]

    def more():
        for v in x:
            xs.append(v * x[1])
        return x[2]

    xs.append(more())
    xs += [more(), 3.0]
    return sum(v * v for v in xs) * len(xs) + xs[-1] * xs[6]


@example(vector(5))
def grown_by_the_index(x):
    xs = [x[0], 2.0]

    def more():
        for v in x:
            xs.append(v * x[1])
        return 1

    xs[more()] = x[3] ** 2
    return sum(xs) + xs[more() - 2] * xs[1]


@example(vector(5))
def a_list_of_nothing(x):
    xs = []
    for _ in range(len(x)):
        xs.append(None)
    return x[0] * len(xs)
