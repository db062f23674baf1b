"""Loops that bind an array anew, longer or shorter in each trip, and what reads it in the next trip, behind the loop, and in second derivatives."""

import numpy as np
import pytest
from thorough import check_gradient

import stgrad

X = np.array([0.3, -0.2, 0.9, 1.4, 1.1, 1.6, -0.5, -0.1])


def items_of_known_number(x):
    v = np.ones(4) * x[0]
    for i in range(2):
        v = np.append(v, x[i])
    return np.sum(v**2)


def framed(x):
    v = np.ones(4) * x[0]
    total = 0.0
    for _ in range(3):
        v = np.pad(v, 1) * 0.5
        total += np.sum(v**2)
    return total * x[1]


def of_the_trip_before(x):
    v, last = x[:2], x[:2]
    for i in range(3):
        last = v
        v = np.kron(np.tanh(v), x[i : i + 2])
    return np.sum(v * x[0]) + np.sum(last**3)


def appended_to_the_one_before(x):
    v, last = x[:1], x[:1]
    for i in range(3):
        last = v
        v = np.append(v, np.sin(v[-1]) * x[i])
    return np.sum(v**2) + last[-1] * np.sum(last)


def from_constants(x, c):
    v = last = c
    for i in range(2):
        last = v.copy()
        v = np.concatenate((x[i : i + 2], v))
    return np.sum(v**2) + np.sum(last * x[0])


def stopped_before(x):
    return from_constants(x, stgrad.stop_gradient(x[:3]))


def run_lengths(x):
    """The probabilities of how long ago the mean has changed: one more with each observation."""
    mean, count, weight, total = np.zeros(1), np.ones(1), np.ones(1), 0.0
    for t in range(len(x)):
        fit = np.exp(-0.5 * (x[t] - mean) ** 2 * count / (count + 1)) * np.sqrt(count / (count + 1))
        weight = np.append(np.sum(weight * fit) * 0.1, weight * fit * 0.9)
        total += np.log(np.sum(weight))
        weight = weight / np.sum(weight)
        mean = np.append(0.0, (count * mean + x[t]) / (count + 1))
        count = np.append(1.0, count + 1)
    return total


def corners_cut(x):
    q = x.reshape(-1, 2)
    for _ in range(2):
        a, b = 0.75 * q[:-1] + 0.25 * q[1:], 0.25 * q[:-1] + 0.75 * q[1:]
        new = np.empty((2 * len(a), 2))
        new[::2], new[1::2] = a, b
        q = np.vstack((q[:1], new, q[-1:]))
    return np.sum(np.sqrt(np.sum(np.diff(q, axis=0) ** 2, axis=1) + 1e-3))


def fibonacci_words(x):
    a, b = x[:1], x[1:3]
    for i in range(4):
        a, b = b, np.concatenate((np.sin(b), a * x[i]))
    return np.sum(a**2) + np.sum(b * np.arange(len(b)))


def repaired_in_a_handler(x):
    v, total = x[:2], 0.0
    for i in range(6):
        try:
            total += v[i] * x[i]
            v = v[1:] if i % 2 else np.append(v, x[i] ** 2)
        except IndexError:
            v = np.concatenate((v, v * x[0]))
            total -= np.sum(v)
    return total + np.sum(v**3)


def queue(x):
    q, total, k = x[:3], 0.0, 0
    while len(q) > 0 and k < 12:
        head = q[0]
        q = q[1:]
        total += head**2
        if head > 0.5 and k < 6:
            q = np.append(q, [head * 0.7, head * x[k % 8]])
        k += 1
    return total


def bordered(x):
    a = np.array([[x[0]]])
    for i in range(1, 4):
        n = a.shape[0]
        b = np.zeros((n + 1, n + 1))
        b[:n, :n], b[n, :n], b[:n, n], b[n, n] = a, x[i] * a[-1], x[i + 1], 2.0
        a = b
    return np.linalg.det(a) + np.sum(a**2)


OTHERS = [fibonacci_words, repaired_in_a_handler, queue, bordered]
PROGRAMS = [items_of_known_number, framed, of_the_trip_before, appended_to_the_one_before, run_lengths, corners_cut, *OTHERS]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f):
    check_gradient(f, (X,))


@pytest.mark.parametrize("jit", [False, True])
def test_a_stopped_array_that_the_loop_replaces(jit):
    expected = stgrad.grad(from_constants, jit=jit)(X, X[:3])
    check_gradient(lambda x: from_constants(x, X[:3]), (X,), jit=jit)
    np.testing.assert_allclose(stgrad.grad(stopped_before, jit=jit)(X), expected, rtol=1e-14)


def deflected(x):
    """Elimination in place, and a diagonal of which second derivatives keep the elements, not a view of what the sweep restores."""
    a = x.reshape(3, 3).copy()
    for k in range(3):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
        for i in range(k + 1, 3):
            a[i, k:] -= a[i, k] / a[k, k] * a[k, k:]
    return np.log(np.abs(np.prod(np.diag(a)))) + np.sum(np.diagonal(a) ** 2)


def test_a_diagonal_of_what_is_overwritten():
    check_gradient(deflected, (np.array([2.0, 1.0, 0.5, 1.5, 3.0, 0.2, 0.7, 0.9, 2.5]),))
