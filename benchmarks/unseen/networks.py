"""NPBench-like applications: neural networks."""

import numpy as np

from benchmarks.hand import by_hand
from benchmarks.unseen.program import program


@program("npbench", lambda r, n, h, s: (r.standard_normal((n, h, s, s)),), (4, 4, 128), (2, 1, 4))
def softmax(x):
    top = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - top)
    p = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(p * p)


def relu(x):
    return np.maximum(x, 0.0)


def log_softmax(x):
    top = np.max(x, axis=-1, keepdims=True)
    return x - top - np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True))


def layers(r, *widths):
    for a, b in zip(widths, widths[1:]):
        yield r.standard_normal((a, b)) / np.sqrt(a)
        yield r.standard_normal(b)


@program("npbench", lambda r, n, c, a, b, d: (r.random((n, c)), *layers(r, c, a, b, d)), (64, 200, 300, 250, 100), (3, 4, 5, 6, 3))
def mlp(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    x = log_softmax(x @ w3 + b3)
    return -np.mean(x[:, 0])


@program(
    "npbench", lambda r, n, h, c, k, d: (r.random((n, h, h, c)), r.standard_normal((k, k, c, d)), r.standard_normal(d)), (4, 24, 3, 5, 16), (1, 5, 2, 3, 2)
)
def conv2d_bias(images, weights, bias):
    k = weights.shape[0]
    n, h, w, _ = images.shape
    out = np.empty((n, h - k + 1, w - k + 1, weights.shape[3]))
    for i in range(h - k + 1):
        for j in range(w - k + 1):
            out[:, i, j, :] = np.sum(images[:, i : i + k, j : j + k, :, np.newaxis] * weights[np.newaxis], axis=(1, 2, 3))
    out = out + bias
    return np.sum(np.tanh(out))


def convolved(x, w, b):
    k = w.shape[0]
    out = np.zeros((x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1, w.shape[3]))
    for p in range(k):
        for q in range(k):
            out += x[:, p : x.shape[1] - k + 1 + p, q : x.shape[2] - k + 1 + q, :] @ w[p, q]
    return relu(out + b)


def pooled(x):
    n, h, w, c = x.shape
    return np.max(x.reshape(n, h // 2, 2, w // 2, 2, c), axis=(2, 4))


def lenet_inputs(r, n, s):
    flat = ((s - 4) // 2 - 4) // 2
    filters = (r.standard_normal((5, 5, 1, 6)) / 5, r.standard_normal(6) / 5, r.standard_normal((5, 5, 6, 16)) / 12, r.standard_normal(16) / 5)
    return (r.random((n, s, s, 1)), *filters, *layers(r, flat * flat * 16, 120, 84, 10))


@program("npbench", lenet_inputs, (8, 28), (1, 16))
def lenet(x, c1, d1, c2, d2, w1, b1, w2, b2, w3, b3):
    x = pooled(convolved(x, c1, d1))
    x = pooled(convolved(x, c2, d2))
    x = x.reshape(x.shape[0], -1)
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    x = log_softmax(x @ w3 + b3)
    return -np.mean(x[:, 3])


def normalised(x):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + 1e-5)


@program(
    "npbench",
    lambda r, n, w, c, d: (r.random((n, w, w, c)), r.standard_normal((c, d)), r.standard_normal((3, 3, d, d)), r.standard_normal((d, c))),
    (4, 20, 32, 8),
    (2, 3, 3, 2),
)
def resnet(x, w1, w2, w3):
    n, h, w, c = x.shape
    y = relu(normalised(x @ w1))
    padded = np.zeros((n, h + 2, w + 2, w1.shape[1]))
    padded[:, 1:-1, 1:-1, :] = y
    z = np.zeros(y.shape)
    for p in range(3):
        for q in range(3):
            z += padded[:, p : p + h, q : q + w, :] @ w2[p, q]
    y = relu(normalised(z))
    y = normalised(y @ w3)
    return np.sum(relu(y + x) ** 2)


@by_hand
def go_fast_adjoint(a):
    n = a.shape[0]
    trace = 0.0
    for i in range(n):
        trace += np.tanh(a[i, i])
    value = 0.0
    bar = np.empty_like(a)
    trace_bar = 0.0
    for i in range(n):
        for j in range(n):
            s = a[i, j] + trace
            value += s * s
            bar[i, j] = 2.0 * s
            trace_bar += 2.0 * s
    for i in range(n):
        t = np.tanh(a[i, i])
        bar[i, i] += trace_bar * (1.0 - t * t)
    return value, bar


@program("npbench", lambda r, n: (r.random((n, n)),), (1200,), (5,), go_fast_adjoint)
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum((a + trace) ** 2)
