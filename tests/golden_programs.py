"""The programs whose generated source stands in `golden/`: name, function, what to differentiate in, example arguments."""

from __future__ import annotations

import math

import numpy as np

X = np.array([0.5, 1.5, 2.5])
W = np.arange(6.0).reshape(2, 3) / 4.0


def logistic(r, x0, n):
    x = x0
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def piecewise(x, c):
    if x > c:
        y = math.sin(x)
    elif x > 0.0:
        y = x**2
    else:
        y = -x
    return y * c


def early_exit(x, limit):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0.0:
            continue
        if s > limit:
            break
        s += x[i] ** 2
    return s


def overwrite(x):
    y = x * x
    y[0] = 0.0
    return np.sum(y)


def stencil(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.25 * (u[:-2] + 2.0 * u[1:-1] + u[2:])
    return np.sum(u**2)


def recurrent(W, x, n):
    h = np.zeros(W.shape[0])
    for _ in range(n):
        h = np.tanh(W @ x + h)
    return np.sum(h)


def elementwise(x, a):
    return np.sum(np.exp(-a * x**2) * np.sin(x))


def broadcast(W, x):
    return np.mean((W - x) ** 2)


def normalise(x):
    return np.sum(x / np.sqrt(np.sum(x * x)))


def softmax_loss(scores, label):
    scores = scores - np.max(scores)
    return np.log(np.sum(np.exp(scores))) - scores[label]


def horner(coefficients, x):
    y = 0.0
    for c in coefficients[::-1]:
        y = y * x + c
    return y


def rotate(x, y, angle):
    c, s = math.cos(angle), math.sin(angle)
    return c * x - s * y, s * x + c * y


def calls_helper(x, y):
    u, v = rotate(x, y, 0.5)
    return u * v


def pairs(S, d):
    total = 0.0
    for i in range(S.shape[0]):
        for j in range(i, S.shape[1]):
            total += S[i, j] * d[i] * d[j]
    return total


PROGRAMS = {
    "logistic": (logistic, (0, 1), (3.5, 0.2, 10)),
    "newton": (newton, 0, (2.0,)),
    "piecewise": (piecewise, 0, (2.0, 1.0)),
    "early_exit": (early_exit, 0, (X, 4.0)),
    "overwrite": (overwrite, 0, (X,)),
    "stencil": (stencil, 0, (X, 3)),
    "recurrent": (recurrent, (0, 1), (W, X, 5)),
    "elementwise": (elementwise, (0, 1), (X, 2.0)),
    "broadcast": (broadcast, (0, 1), (W, X)),
    "normalise": (normalise, 0, (X,)),
    "softmax_loss": (softmax_loss, 0, (X, 1)),
    "horner": (horner, (0, 1), (X, 2.0)),
    "calls_helper": (calls_helper, (0, 1), (1.0, 2.0)),
    "pairs": (pairs, (0, 1), (np.ones((3, 3)), X)),
}
