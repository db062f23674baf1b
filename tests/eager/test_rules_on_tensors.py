"""Every rule of the table on tensors: on bare arrays, recorded, and forwards, the derivatives must be the same."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import stgrad.eager as tf
from stgrad.eager.dispatch import apply, bind, tensors_in
from stgrad.rules.core import TABLE

for _name in ("special", "scipy_linalg", "scipy_lu", "scipy_fft", "signal", "stats", "ndimage", "resampling"):
    try:
        importlib.import_module(f"stgrad.rules.{_name}")
    except ModuleNotFoundError:
        continue

NAMES = sorted(name for name, rule in TABLE.items() if rule.samples and rule.kind != "nondiff")


def lifted(x):
    """A sample's argument with its float arrays as tensors."""
    if isinstance(x, (tuple, list)):
        return type(x)([lifted(e) for e in x])
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        return tf.convert_to_tensor(x)
    return x


def loss(y):
    """A real number that depends on every differentiable result."""
    total = 0.0
    for i, part in enumerate(flat(y)):
        if isinstance(part, tf.Tensor) and part._a.dtype.kind in "fc":
            weight = tf.constant(np.random.default_rng(i).uniform(0.5, 1.5, size=part._a.shape), tf.float64)
            total = total + tf.reduce_sum(weight * tf.cast(tf.math.real(part) + tf.math.imag(part), tf.float64))
    return total


def flat(y):
    return [leaf for e in y for leaf in flat(e)] if isinstance(y, (tuple, list)) else [y]


def calls(name):
    rng = np.random.default_rng(0)
    for gen in TABLE[name].samples:
        for args, kwargs in gen(rng):
            yield tuple(lifted(a) for a in args), kwargs


@pytest.mark.parametrize("name", NAMES)
def test_rule(name):
    op = bind(TABLE[name].op)
    for args, kwargs in list(calls(name))[:6]:
        xs = tensors_in(args)
        if not xs:
            continue
        bare = gradients(op, args, kwargs, xs)
        with tf.GradientTape() as outer:
            outer.watch(xs)
            recorded = gradients(op, args, kwargs, xs)
        for a, b in zip(bare, recorded):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
        forward(op, args, kwargs, xs, bare)


def gradients(op, args, kwargs, xs):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = loss(apply(op, args, kwargs))
    return tape.gradient(y, xs) if isinstance(y, tf.Tensor) else [None] * len(xs)


def direction(rng, a):
    real = rng.normal(size=a.shape)
    return real + 1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else real


def forward(op, args, kwargs, xs, bars):
    """The dot-product identity between the two modes."""
    rng = np.random.default_rng(7)
    dots = [
        tf.constant(rng.normal(size=x._a.shape) + (1j * rng.normal(size=x._a.shape) if x._a.dtype.kind == "c" else 0), x.dtype) for x in xs
    ]
    if op.name in HERMITIAN:
        dots = [tf.constant(d.numpy() + np.conj(np.swapaxes(d.numpy(), -1, -2))) for d in dots]
    with tf.autodiff.ForwardAccumulator(list({x._id: x for x in xs}.values()), dots) as accumulator:
        y = loss(apply(op, args, kwargs))
    if not isinstance(y, tf.Tensor):
        return
    found = accumulator.jvp(y, unconnected_gradients="zero").numpy()
    expected = sum(np.real(np.sum(np.conj(g.numpy()) * d.numpy())) for g, d in zip(bars, dots) if g is not None)
    single = any(x._a.dtype in (np.float32, np.complex64) for x in xs)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if single else 1e-7, atol=1e-5 if single else 1e-8)


HERMITIAN = {f"{m}.{n}" for m in ("np.linalg", "scipy.linalg") for n in ("cholesky", "cho_factor", "eigh", "eigvalsh")}
