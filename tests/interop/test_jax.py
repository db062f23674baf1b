"""Functions of NumPy inside JAX's programs."""

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from stgrad.interop.jax import function  # noqa: E402

jnp = jax.numpy
X = jnp.array([0.3, 0.4])
P = {"w": jnp.arange(6.0).reshape(3, 2) * 0.1, "b": 0.5}


def network(p, x, n, sizes):
    h = np.tanh(p["w"] @ x + p["b"]) * sizes["k"]
    return np.sum(h**n) * np.sum(h)


def reference(p, x, n, sizes):
    h = jnp.tanh(p["w"] @ x + p["b"]) * sizes["k"]
    return jnp.sum(h**n) * jnp.sum(h)


def close(ours, theirs) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 2e-5, 1e-6), ours, theirs)


def of(f):
    return lambda p, x: f(p, x, 3, {"k": 2, "m": 1})


def test_derivatives_are_those_of_jax() -> None:
    ours, theirs = of(function(network)), of(reference)
    close(ours(P, X), theirs(P, X))
    close(jax.jit(jax.grad(ours, argnums=(0, 1)))(P, X), jax.grad(theirs, argnums=(0, 1))(P, X))
    second = jax.jit(jax.jacrev(jax.grad(lambda x: ours(P, x))))(X)
    close(second, jax.hessian(lambda x: theirs(P, x))(X))


def test_maps() -> None:
    batch = jnp.stack([X, 2.0 * X, 3.0 * X])
    ours, theirs = (jax.vmap(jax.grad(lambda x, f=f: of(f)(P, x))) for f in (function(network), reference))
    close(jax.jit(ours)(batch), theirs(batch))


def test_structures_and_integers() -> None:
    taken = function(lambda x, i: (x[i] * 2.0, {"sum": np.sum(x), "count": len(i)}))
    at = jnp.array([1, 0])
    value, rest = jax.jit(taken)(X, at)
    close(value, jnp.array([0.8, 0.6]))
    assert int(rest["count"]) == 2
    close(jax.grad(lambda x: jnp.sum(taken(x, at)[0] * jnp.array([1.0, 10.0])))(X), jnp.array([20.0, 2.0]))


def test_the_form_of_the_result_may_be_given() -> None:
    def strict(a):
        if a > 0.9:
            raise ValueError("too large to be run at one")
        return math.sin(a)

    assert float(jax.jit(jax.grad(function(strict, jax.ShapeDtypeStruct((), jnp.float32))))(0.5)) == pytest.approx(math.cos(0.5), rel=1e-5)
    by_arguments = function(lambda x: x * 2.0, lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype))
    close(by_arguments(X), 2.0 * X)
