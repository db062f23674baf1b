"""`try` around what may raise as the program runs: both paths of each program."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from programs.registry import example, matrix, positive, spd, vector


@example(0.3, 2.0, jit=True)
@example(1.5, 2.0)
def clamped_angle(z, y):
    try:
        a = math.acos(z)
    except ValueError:
        a = 0.5 * z * y
    return a * y


@example(2.0, 3.0)
@example(2.0, 0.0, argnums=(0,))
def ratio(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return a * a + b


@example(np.array([1.0, 2.0, -0.5, 3.0, -1.0]), jit=True)
def skipped_trips(x):
    total = 1.0
    for v in x:
        try:
            total = total + math.log(float(v)) / float(v)
        except (ValueError, ZeroDivisionError):
            total = total * 0.5 + v
            continue
        total = total * 1.01
    return total


@example(positive(3))
@example(np.array([1.0, 2.0, -3.0, 4.0]), jit=True)
def loop_that_is_left(x):
    total, k = 0.0, 0
    try:
        for v in x:
            total += math.sqrt(v)
            k += 1
    except ValueError:
        total = total * total + k
    else:
        total = -total
    return total


@example(spd(2), vector(2))
def solved_or_multiplied(a, b):
    try:
        y = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        y = a @ b
    return np.sum(y * y)


@example(vector(2))
def singular_matrix(b):
    a = np.outer(np.array([1.0, 2.0]), np.array([3.0, 1.0])) * b[0] ** 0
    try:
        y = np.linalg.inv(a) @ b
    except np.linalg.LinAlgError:
        y = a @ b * b
    return np.sum(y * y)


@example(matrix(3, 3), order=1)
@example(matrix(3, 3), order=1, jit=True)
def more_and_more_jitter(a):
    k = a + a.T
    for jitter in (0.0, 0.1, 10.0):
        try:
            root = np.linalg.cholesky(k + jitter * np.eye(3))
            break
        except np.linalg.LinAlgError:
            continue
    else:
        return np.sum(k)
    return np.sum(np.log(np.diag(root)))


@example(spd(2), order=1)
def factor_of_scipy(a):
    try:
        c = scipy.linalg.cholesky(a + a.T, lower=True)
    except scipy.linalg.LinAlgError:
        c = a * 2.0
    return np.sum(c * c) + c[1, 0]


@example(vector(3), 1, argnums=(0,), jit=True)
@example(vector(3), 7, argnums=(0,))
@example(vector(3), -4, argnums=(0,))
@example(vector(3), -1, argnums=(0,))
def item_or_product(x, k):
    try:
        v = x[k]
    except IndexError:
        v = x[-1] * x[0]
    return v * v


class SolverError(Exception):
    """As packages define them."""


class Negative(SolverError):
    """One of them."""


def checked_root(v):
    if v < 0.0:
        raise Negative("negative")
    if v > 10.0:
        raise SolverError("large")
    return math.sqrt(v)


@example(2.0)
@example(-2.0)
@example(20.0, jit=True)
def classes_of_users(x):
    try:
        y = checked_root(x) * x
    except Negative:
        y = x * 3.0
    except SolverError as problem:
        y = x * x if "large" in str(problem) else 0.0
    return y * y


@example(1.0, 2.0)
@example(1.0, 0.0, argnums=(0,))
@example(-0.1, 2.0, jit=True)
def nested(x, y):
    try:
        try:
            v = checked_root(x) / y
        except ZeroDivisionError:
            v = 2.0 * x
        w = v * v
    except SolverError:
        w = 3.0 * x * y
    return w


@example(2.0)
@example(-2.0, jit=True)
def finally_behind_return(x):
    n = 0.0
    try:
        return math.log(x) * 2.0
    except ValueError:
        n = 1.0
    finally:
        n = n + 1.0
    return n * x * x


@example(2.0)
@example(-2.0)
def finally_that_returns(x):
    y = x
    try:
        y = math.log(x)
    finally:
        return x * y * y  # noqa: B012


@example(3.0)
@example(0.3, jit=True)
def tried_again(x):
    step = 1.0
    for _ in range(10):
        try:
            y = math.log(x - step)
            break
        except ValueError:
            step *= 0.5
    else:
        y = 0.0
    return y * step


@example(np.array([1.0, 0.5, -4.0]))
def list_that_grows_whatever_comes(x):
    out = []
    for i in range(len(x)):
        try:
            out.append(math.sqrt(x[i + 1]) * x[i])
        except Exception:  # noqa: BLE001
            out.append(x[i] * x[i])
    return sum(out) + max(out)


@example(np.array([1.0, 0.5, -4.0]))
def list_that_grows(x):
    out = []
    for i in range(len(x)):
        try:
            out.append(math.sqrt(float(x[i])))
        except ValueError:
            out.append(x[i] * x[i])
    return sum(out) + max(out)


@example(2.0, 3.0)
@example(2.0, -1.0)
@example(0.5, 2.0, jit=True)
@example(-0.5, 2.0)
def anything(x, y):
    try:
        if x > 1.0:
            z = math.log(y) * x
        else:
            z = x / y
            z = z * z
        for _ in range(3):
            z = z + math.sqrt(z - 0.01)
    except Exception:  # noqa: BLE001
        z = x * 7.0
    return z


@example(3.0, jit=True)
@example(1.0)
def loop_of_unknown_length(x):
    n, y = 0, x
    try:
        while math.log(y) > -1.0:
            y = y - 0.7
            n += 1
    except ValueError:
        y = y * y + n
    return y * x


@example(vector(3), vector(2))
@example(vector(3), vector(3, 1))
def shapes_that_differ(x, y):
    try:
        z = np.sum(x + y)
        z = z + x @ y
    except ValueError:
        z = np.sum(x * x) * y[0]
    return z * z


@example(2.0)
@example(1000.0)
def too_large(x):
    try:
        e = math.exp(x)
    except OverflowError:
        e = x * 2.0
    try:
        p = x**300.5
    except OverflowError:
        p = x * x
    return e / 1000.0 + p * 1e-90


class Total:
    def __init__(self):
        self.total, self.bad = 0.0, 0

    def add(self, a, b):
        self.total += math.sqrt(a - b)


@example(2.3)
def objects(x):
    sums = Total()
    for i in range(5):
        try:
            sums.add(x, i)
        except ValueError:
            sums.bad += 1
    return sums.total * sums.bad + sums.total


@example(np.array([1.5, -2.0, 3.0, 0.5]), jit=True)
def counts_of_a_dict(x):
    """What is kept for the way back is a whole number: it has no adjoint, and the name that it goes to has none from there on."""
    counts = {"ok": 0, "bad": 0}
    s = 0.0
    for v in x:
        try:
            s += math.sqrt(v - 1.0) * v
            counts["ok"] += 1
        except ValueError:
            counts["bad"] += 1
            s += v * counts["bad"]
    return s + counts["ok"]


@example(0.5)
@example(-0.5)
@example(1.5)
def as_far_as_it_came(x):
    y = x
    try:
        y = y * 2.0
        z = math.log(x)
        y = y + z
        w = math.acos(x)
        y = y * w
    except ValueError:
        y = y * 10.0
    return y


@example(2.0)
@example(-2.0, jit=True)
def nothing_or_a_number(x):
    def safe(v):
        try:
            return math.log(v)
        except ValueError:
            return None

    a = safe(x)
    return x * x if a is None else a * 2.0


@example(3.0)
@example(1.5)
def first_kind_that_fits(x):
    try:
        v = 1.0 / (x - 1.0)
        w = math.sqrt(x - 2.0)
    except ZeroDivisionError:
        return x
    except ValueError:
        return v * x
    return v * w


@example(2.0)
@example(-3.0, jit=True)
def raised_again(x):
    try:
        try:
            y = math.log(x)
        except ValueError:
            if x < 0.0:
                raise
            y = 0.0
    except ValueError:
        y = x * x
    return y * x


@example(np.array([1.0, 3.0, 7.0]))
def emptied_stack(x):
    stack = []
    for v in x:
        if v > 2.0:
            stack.append(v)
    s = 0.0
    for i in range(4):
        try:
            s += stack.pop() ** 2 * (i + 1)
        except IndexError:
            s *= x[0]
    return s


@example(np.array([1.0, 3.0, 7.0]))
@example(np.array([1.0, 1.5]))
def search_that_runs_out(x):
    i = 0
    try:
        while True:
            if x[i] > 2.0:
                break
            i += 1
    except IndexError:
        i = 0
    return x[i] ** 2 * (i + 1)


@example(np.array([0.7, 1.3, 0.4, 2.0, 1.1]), jit=True)
def reweighted_line(y):
    design = np.column_stack([np.ones(len(y)), np.arange(len(y), dtype=float)])
    w, line = np.ones(len(y)), np.zeros(2)
    for _ in range(2):
        try:
            line = np.linalg.solve(design.T @ np.diag(w) @ design, design.T @ (w * y))
        except np.linalg.LinAlgError:
            break
        w = 1.0 / (1.0 + (y - design @ line) ** 2)
    return line @ line
