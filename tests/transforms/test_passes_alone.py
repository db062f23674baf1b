"""Passes alone: a program in, one pass, a program out, all in the text of the IR (`stgrad.ir.text`)."""

from __future__ import annotations

import pytest

from stgrad.errors import InternalError
from stgrad.testing.passes import run_pass


def check(name: str, before: str, after: str) -> None:
    assert run_pass(name, before) == after.strip()


def test_small() -> None:
    """Elements of a small array are scalars."""
    check(
        "small",
        """
def turn(a: float, b: float):
    v: float64[2] = np.empty((2,))
    v[0] = a
    v[1] = b
    w: float64[2] = v * v
    s: float64 = w[0]
    t: float64 = w[1]
    u: float64 = s - t
    return u
""",
        """
def turn(a: float, b: float):
    s: float64 = a * a
    t: float64 = b * b
    u: float64 = s - t
    return u
""",
    )


def test_storage() -> None:
    """A list that a counted loop fills is an array."""
    check(
        "storage",
        """
def power(x: float, n: int('n')):
    s: float = stack()
    y: float = x
    i: int
    for i in range(0, n, 1):
        push(s, y)
        y = y * y
    y_bar: float = 1.0
    last: int = n - 1
    for i in range(last, -1, -1):
        old: float = pop(s)
        t: float = old + old
        y_bar = y_bar * t
    return y_bar
""",
        """
def power(x: float, n: int('n')):
    y: float = x
    _t: int = max(n, 0)
    s: float64['trips'] = np.empty(_t)
    i: int
    for i in range(0, n, 1):
        s[i] = y
        y = y * y
    y_bar: float = 1.0
    last: int = n - 1
    for i in range(last, -1, -1):
        old: float = s[i]
        t: float = old + old
        y_bar = y_bar * t
    return y_bar
""",
    )


def test_casts() -> None:
    """A Python number takes the dtype of what it meets."""
    check(
        "casts",
        """
def half(x: float32, k: int):
    y: float32 = x * 0.5
    z: float32 = y ** 3
    return z
""",
        """
def half(x: float32, k: int):
    y: float32 = x * np.float32(0.5)
    _t_2: float32 = y * y
    z: float32 = _t_2 * y
    return z
""",
    )


def test_loops() -> None:
    """Statements on arrays are one loop, without temporaries."""
    check(
        "loops",
        """
def norm(x: float64['n'], a: float):
    n: int('n') = shape(x, 0)
    y: float64['n'] = a * x
    z: float64['n'] = np.sin(y)
    s: float64 = np.sum(z)
    return s
""",
        """
def norm(x: float64['n'], a: float):
    n_2: int = shape(x, 0)
    n: int('n') = shape(x, 0)
    s: float64 = 0.0
    i: int
    for i in range(0, n_2, 1):
        _t: float64 = x[i]
        y_i: float64 = a * _t
        z_i: float64 = runtime.sin(y_i)
        s = runtime.radd(s, z_i)
    return s
""",
    )


def test_invariants() -> None:
    """What the inner loop does not change moves before it; what may fail stays."""
    check(
        "invariants",
        """
def sums(x: float64['m'], n: int('n'), k: int('k')):
    s: float = 0.0
    i: int
    for i in range(0, n, 1):
        j: int
        for j in range(0, i, 1):
            t: int = i * k
            u: int = t + j
            v: float64 = x[u]
            w: float64 = 1.0 / t
            s = s + v
            s = s + w
    return s
""",
        """
def sums(x: float64['m'], n: int('n'), k: int('k')):
    s: float = 0.0
    i: int
    for i in range(0, n, 1):
        t: int = i * k
        j: int
        for j in range(0, i, 1):
            u: int = t + j
            v: float64 = x[u]
            w: float64 = 1.0 / t
            s = s + v
            s = s + w
    return s
""",
    )


def test_registers() -> None:
    """An element that stands still is summed up in a local."""
    check(
        "registers",
        """
def rows(a: float64['n', 'm'], y: float64['n']):
    n: int('n') = shape(a, 0)
    m: int('m') = shape(a, 1)
    i: int
    for i in range(0, n, 1):
        j: int
        for j in range(0, m, 1):
            t: float64 = a[i, j]
            y[i] += t
    return y
""",
        """
def rows(a: float64['n', 'm'], y: float64['n']):
    n: int('n') = shape(a, 0)
    m: int('m') = shape(a, 1)
    i: int
    for i in range(0, n, 1):
        y_i: float64 = 0.0
        j: int
        for j in range(0, m, 1):
            t: float64 = a[i, j]
            y_i = runtime.radd(y_i, t)
        y[i] += y_i
    return y
""",
    )


def test_packed() -> None:
    """Sums may be reordered, and functions run on several elements."""
    check(
        "packed",
        """
def total(x: float64['n']):
    n: int('n') = shape(x, 0)
    s: float = 0.0
    i: int
    for i in range(0, n, 1):
        t: float64 = x[i]
        u: float64 = np.exp(t)
        s = s + u
    return s
""",
        """
def total(x: float64['n']):
    n: int('n') = shape(x, 0)
    s: float = 0.0
    i: int
    for i in range(0, n, 1):
        t: float64 = x[i]
        u: float64 = runtime.exp(t)
        s = runtime.radd(s, u)
    return s
""",
    )


def test_growable() -> None:
    """A list that is left is memory that grows."""
    check(
        "growable",
        """
def halve(x: float):
    s: float = stack()
    n: int = 0
    while True:
        c: bool = x > 1.0
        if not c: break
        push(s, x)
        x = x * 0.5
        n = n + 1
    i: int
    for i in range(0, n, 1):
        x = pop(s)
    return x
""",
        """
def halve(x: float):
    s: float = runtime.new_stack(0.0)
    n: int = 0
    while True:
        c: bool = x > 1.0
        if not c: break
        runtime.push(s, x)
        x = x * 0.5
        n = n + 1
    i: int
    for i in range(0, n, 1):
        x = runtime.pop(s)
    return x
""",
    )


def test_foreign() -> None:
    """What Numba does not have goes to Python."""
    check(
        "foreign",
        """
def running(a: float64['n', 'm']):
    y: float64['n', 'm'] = np.cumprod(a, axis=1)
    return y
""",
        """
def running(a: float64['n', 'm']):
    y: float64['n', 'm'] = runtime.call_python('lambda x0: np.cumprod(x0, axis=1)', 'float64[:, :]', a)
    return y
""",
    )


def test_tidy() -> None:
    """A restored value has its old name."""
    check(
        "tidy",
        """
def power(x: float, n: int('n')):
    y: float = x
    s: float64['n'] = np.empty((n,))
    i: int
    for i in range(0, n, 1):
        s[i] = y
        y = y * y
    y_bar: float = 1.0
    last: int = n - 1
    for i in range(last, -1, -1):
        y_2: float = s[i]
        t: float = y_2 + y_2
        y_bar = y_bar * t
    return y_bar
""",
        """
def power(x: float, n: int('n')):
    y: float = x
    s: float64['n'] = np.empty((n,))
    i: int
    for i in range(0, n, 1):
        s[i] = y
        y = y * y
    y_bar: float = 1.0
    last: int = n - 1
    for i in range(last, -1, -1):
        y = s[i]
        t: float = y + y
        y_bar = y_bar * t
    return y_bar
""",
    )


def test_products() -> None:
    """All products of the loop write to one array."""
    check(
        "products",
        """
def steps(a: float64['n', 'n'], x: float64['n'], k: int):
    s: float = 0.0
    i: int
    for i in range(0, k, 1):
        y: float64['n'] = np.matmul(a, x)
        t: float64 = y[0]
        s = s + t
    return s
""",
        """
def steps(a: float64['n', 'n'], x: float64['n'], k: int):
    s: float = 0.0
    n: int = shape(a, 0)
    y_work: float64['n'] = np.empty(n)
    i: int
    for i in range(0, k, 1):
        y: float64['n'] = runtime.matmul(a, x, out=y_work)
        t: float64 = y[0]
        s = s + t
    return s
""",
    )


def test_pages() -> None:
    """Arrays of run-time extents have huge pages."""
    check(
        "pages",
        """
def fill(x: float64['n']):
    n: int('n') = shape(x, 0)
    y: float64['n'] = np.empty((n,))
    z: float64[3] = np.empty((3,))
    i: int
    for i in range(0, n, 1):
        t: float64 = x[i]
        y[i] = t
    for i in range(0, 3, 1):
        z[i] = 0.0
    return (y, z)
""",
        """
def fill(x: float64['n']):
    n: int('n') = shape(x, 0)
    y: float64['n'] = runtime.empty((n,))
    z: float64[3] = np.empty((3,))
    i: int
    for i in range(0, n, 1):
        t: float64 = x[i]
        y[i] = t
    for i in range(0, 3, 1):
        z[i] = 0.0
    return (y, z)
""",
    )


def test_a_sum_that_its_loop_reads_stays_in_memory() -> None:
    program = """
def f(y: float64['n'], n: int('n'), k: int):
    s: float64 = 0.0
    i: int
    for i in range(0, n, 1):
        y[k] += 1.0
        t: float64 = y[i]
        s = s + t
    return s
"""
    check("registers", program, program)


def test_a_loop_whose_reversal_overwrites_what_trips_hand_on_is_not_united() -> None:
    """`at` goes from trip to trip, and the reversal restores it under its own name."""
    program = """
def f(x: float64['n'], n: int('n'), x_bar: float64['n']):
    ats: int = stack()
    at: int = 0
    i: int
    for i in range(0, n, 1):
        push(ats, at)
        at = at + 1
    last: int = n - 1
    for i in range(last, -1, -1):
        at = pop(ats)
        x_bar[at] += 1.0
    return x_bar
"""
    check("sweeps", program, program)


def test_a_program_that_is_none_is_refused() -> None:
    with pytest.raises(InternalError, match="`y` is read but not assigned before"):
        run_pass("casts", "def f(x: float):\n    return y")
    with pytest.raises(KeyError, match="no_such_pass"):
        run_pass("no_such_pass", "def f(x: float):\n    return x")
