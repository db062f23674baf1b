"""`jacobian`, `hessian`, `jvp`, `hvp` and `elementwise_grad`: shapes, structures, and values against differences."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import stgrad
from stgrad.errors import NotDifferentiableError

BOTH = pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
X = np.array([0.3, 1.0, 2.0])
A = np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 3.0]])


def wave(x, a):
    return a * np.sin(x)


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def structured(p):
    return {"sum": np.sum(p["w"] ** 2), "both": (p["w"] * p["b"], p["n"] * p["b"])}


def differences(f, x, h=1e-6):
    columns = [(f(x + h * e.reshape(x.shape)) - f(x - h * e.reshape(x.shape))) / (2 * h) for e in np.eye(x.size)]
    return np.stack(columns, axis=-1).reshape(np.shape(f(x)) + x.shape)


@BOTH
def test_jacobian_of_arrays(jit):
    def f(x):
        return np.outer(A @ x, x)

    j = stgrad.jacobian(f, jit=jit)
    assert j(X).shape == (2, 3, 3)
    np.testing.assert_allclose(j(X), differences(f, X), rtol=1e-7, atol=1e-7)


def test_jacobian_of_several_arguments():
    by_x, by_a = stgrad.jacobian(wave, (0, "a"), jit=False)(X, 2.0)
    np.testing.assert_allclose(by_x, np.diag(2.0 * np.cos(X)))
    np.testing.assert_allclose(by_a, np.sin(X))


def test_jacobian_of_structures():
    j = stgrad.jacobian(structured, jit=False)({"w": np.array([1.0, 2.0]), "b": 3.0, "n": 2})
    np.testing.assert_array_equal(j["sum"]["w"], [2.0, 4.0])
    assert j["sum"]["b"] == 0.0
    assert j["sum"]["n"] is None
    np.testing.assert_array_equal(j["both"][0]["w"], 3.0 * np.eye(2))
    np.testing.assert_array_equal(j["both"][0]["b"], [1.0, 2.0])
    assert j["both"][1]["b"] == 2.0


def test_jacobian_of_nothing_and_of_numbers():
    assert stgrad.jacobian(lambda x: x[:0], jit=False)(X).shape == (0, 3)
    assert stgrad.jacobian(lambda x: x**3, jit=False)(2.0) == 12.0
    assert stgrad.jacobian(lambda x: x**2, jit=False)(X.astype(np.float32)).dtype == np.float32


def test_keywords_and_decorators():
    @stgrad.jacobian(argnums="a", jit=False)
    def f(x, a=2.0):
        return a**2 * x

    np.testing.assert_allclose(f(X), 4.0 * X)
    np.testing.assert_allclose(f(x=X, a=3.0), 6.0 * X)


@pytest.mark.parametrize("f", [lambda x: np.outer(A @ x, x), lambda x: {"a": (x[0] * x, 2), "b": np.sum(x)}, lambda x: x[:0]])
def test_the_modes_agree(f):
    want = stgrad.jacobian(f, mode="reverse", jit=False)(X)
    for found in (stgrad.jacfwd(f, jit=False)(X), stgrad.jacrev(f, jit=False)(X), stgrad.jacobian(f, jit=False)(X)):
        assert repr(want) == repr(found) or np.allclose(want, found)


@BOTH
def test_hessian(jit):
    h = stgrad.hessian(rosenbrock, jit=jit)(X)
    np.testing.assert_allclose(h, differences(stgrad.grad(rosenbrock, jit=False), X), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(h, h.T)


def test_hessian_in_two_arguments():
    (xx, xa), (ax, aa) = stgrad.hessian(lambda x, a: np.sum(a * x**2), (0, 1), jit=False)(X, 3.0)
    np.testing.assert_allclose(xx, 6.0 * np.eye(3))
    np.testing.assert_allclose(xa, 2.0 * X)
    np.testing.assert_allclose(ax, 2.0 * X)
    assert aa == 0.0


@BOTH
def test_jvp(jit):
    value, tangent = stgrad.jvp(wave, (X, 2.0), (np.array([1.0, 0.0, -1.0]), 0.5), jit=jit)
    np.testing.assert_allclose(value, wave(X, 2.0))
    np.testing.assert_allclose(tangent, 2.0 * np.cos(X) * [1.0, 0.0, -1.0] + 0.5 * np.sin(X))


def test_jvp_through_branches_loops_and_integers():
    def power(x, n):
        y = 1.0
        for _ in range(n):
            y = y * x if y < 100.0 else y
        return y, x

    assert stgrad.jvp(power, (2.0, 3), (1.0, None), jit=False) == ((8.0, 2.0), (12.0, 1.0))


def test_jvp_is_the_jacobian_times_a_vector():
    def f(x):
        return {"y": A @ np.tanh(x), "s": np.sum(x * x)}

    v = np.array([0.1, -2.0, 0.7])
    tangent = stgrad.jvp(f, (X,), (v,), jit=False)[1]
    j = stgrad.jacobian(f, jit=False)(X)
    np.testing.assert_allclose(tangent["y"], j["y"] @ v)
    np.testing.assert_allclose(tangent["s"], j["s"] @ v)


@BOTH
def test_hvp(jit):
    v = np.array([1.0, -1.0, 0.5])
    (product,) = stgrad.hvp(rosenbrock, (X,), (v,), jit=jit)
    np.testing.assert_allclose(product, stgrad.hessian(rosenbrock, jit=False)(X) @ v)


def test_hvp_of_several_arguments():
    by_x, by_a, by_n = stgrad.hvp(lambda x, a, n: np.sum(a**n * x), (X, 2.0, 3), (np.ones(3), 1.0, None), jit=False)
    np.testing.assert_allclose(by_x, 12.0 * np.ones(3))
    np.testing.assert_allclose(by_a, 12.0 * 3 + 12.0 * np.sum(X))
    assert by_n is None


@pytest.mark.parametrize("product", [stgrad.jvp, stgrad.hvp])
@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        (X, (X,), TypeError, "primals are a tuple with an entry for each argument, not of type ndarray"),
        ((X,), X, TypeError, "tangents are a tuple"),
        ((X,), (X, X), TypeError, "1 primals and 2 tangents"),
        ((X,), (1.0,), ValueError, r"tangent 0 has shape \(\), its primal has \(3,\)"),
        ((X,), (np.ones((2, 3)),), ValueError, r"tangent 0 has shape \(2, 3\)"),
        (([X, X],), ([X],), TypeError, "tangent 0 has 1 leaves, its primal has 2"),
        (({"a": X},), ({"a": X[:2]},), ValueError, "tangent 0 has shape"),
    ],
)
def test_tangents_are_not_broadcast(product, primals, tangents, error, message):
    with pytest.raises(error, match=message):
        product(lambda x: np.sum(x[0]), primals, tangents)


def test_elementwise_grad():
    np.testing.assert_allclose(stgrad.elementwise_grad(np.tanh, jit=False)(X), 1.0 - np.tanh(X) ** 2)
    np.testing.assert_allclose(stgrad.elementwise_grad(stgrad.elementwise_grad(lambda x: x**3), jit=False)(X), 6.0 * X)


def test_a_jacobian_is_a_program():
    """It is differentiated again, called in other functions, and printed."""
    j = stgrad.jacobian(wave, jit=False)
    np.testing.assert_allclose(stgrad.grad(lambda x: np.sum(j(x, 2.0)), jit=False)(X), -2.0 * np.sin(X))
    np.testing.assert_allclose(stgrad.jacobian(lambda x: stgrad.grad(rosenbrock)(x) * 2.0, jit=False)(X), 2.0 * stgrad.hessian(rosenbrock, jit=False)(X))
    assert "def wave_jacobian(x, a):" in j.lowered(X, 2.0)


def test_the_jacobian_of_a_vector_reshapes_nothing():
    text = stgrad.jacobian(np.tanh).lowered(X)
    assert "call_python" not in text and "reshape" not in text


def test_integers_have_no_jacobian():
    with pytest.raises(NotDifferentiableError, match="cannot differentiate with respect to `x`"):
        stgrad.jacobian(lambda x: x * 2, jit=False)(np.arange(3))
    with pytest.raises(TypeError, match="takes a function, not int"):
        stgrad.jacobian(0)


def overwrites(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * np.sin(x[i])
    return x * 2.0


@pytest.mark.parametrize("structure", [lambda x: x, lambda x: (x, 2.0), lambda x: {"x": [x]}], ids=["array", "tuple", "dict"])
def test_functions_that_write_to_their_arguments(structure):
    def f(p):
        if isinstance(p, tuple):
            return overwrites(p[0])
        return overwrites(p["x"][0] if isinstance(p, dict) else p)

    def bare(j):
        return j[0] if isinstance(j, tuple) else j["x"][0] if isinstance(j, dict) else j

    wanted = differences(lambda x: overwrites(x.copy()), X)
    x = X.copy()
    np.testing.assert_allclose(bare(stgrad.jacobian(f, jit=False)(structure(x))), wanted, rtol=1e-6, atol=1e-6)
    v = structure(np.array([1.0, 2.0, -1.0])) if not isinstance(structure(x), tuple) else (np.array([1.0, 2.0, -1.0]), 0.0)
    np.testing.assert_allclose(stgrad.jvp(f, (structure(x),), (v,), jit=False)[1], wanted @ [1.0, 2.0, -1.0], rtol=1e-6)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("make", [stgrad.jacfwd, stgrad.jacrev, stgrad.jacobian])
@pytest.mark.parametrize("jit", [False, True])
def test_results_without_a_derivative_have_none(make, jit):
    x = np.array([0.4, 0.9, -0.2])
    flag, order, most, twice = make(lambda x: (x[0] > 0.5, np.argsort(x), np.argmax(x), 2.0 * x), jit=jit)(x)
    assert flag is order is most is None
    np.testing.assert_array_equal(twice, 2.0 * np.eye(3))


def turned(x):
    return x * x * (1.0 + 2.0j)


@BOTH
def test_complex_results_of_real_arguments_have_both_parts(jit):
    x = np.array([0.5, 1.5])
    wanted = np.diag(2.0 * x) * (1.0 + 2.0j)
    for derivative in (stgrad.jacobian, stgrad.jacfwd):
        np.testing.assert_allclose(derivative(turned, jit=jit)(x), wanted)
        np.testing.assert_allclose(derivative(lambda x: np.sum(turned(x)), jit=jit)(x), np.sum(wanted, axis=0))
    for rows in (stgrad.jacrev, stgrad.elementwise_grad, stgrad.batch_jacobian, functools.partial(stgrad.sparse_jacobian, mode="reverse")):
        with pytest.raises(NotDifferentiableError, match=r"the result is complex(?s:.)*return x \* x"):
            rows(turned, jit=jit)(x)
    np.testing.assert_allclose(stgrad.jacrev(lambda x: turned(x).imag, jit=jit)(x), wanted.imag)


@BOTH
@pytest.mark.parametrize("derivative", [stgrad.jacobian, stgrad.jacfwd, stgrad.jacrev])
def test_a_jacobian_has_the_type_of_its_argument(derivative, jit):
    x = np.array([0.5, 1.5])
    for result, given in ((np.float32, np.float64), (np.float64, np.float32)):
        found = derivative(lambda x, result=result: (x * x).astype(result), jit=jit)(x.astype(given))
        assert found.dtype == given
        np.testing.assert_allclose(found, np.diag(2.0 * x))


def moved_axes(x, w):
    """Forward mode refuses it: whether the product's reshape is a view is known at run time."""
    y = np.moveaxis(np.transpose(x, (2, 0, 1)).copy(), 0, -1)
    y[0, :, 1:3] *= 2.0
    return np.sum(w * x**2) + np.tensordot(x, y, 3)


@BOTH
def test_products_with_the_hessian_that_are_found_backwards(jit):
    x, v = np.arange(24.0).reshape(2, 3, 4), np.ones((2, 3, 4))
    wanted = (stgrad.grad(moved_axes, jit=jit)(x + 1.0, 2.0) - stgrad.grad(moved_axes, jit=jit)(x - 1.0, 2.0)) / 2.0
    for argnums in (0, "x"):
        np.testing.assert_allclose(stgrad.hvp(moved_axes, argnums, jit=jit)(x, 2.0, v), wanted)
    np.testing.assert_allclose(stgrad.hvp(lambda *args: moved_axes(*args), 0, jit=jit)(x, 2.0, v), wanted)
    along_w, along_x = stgrad.hvp(moved_axes, (1, 0), jit=jit)(x, 2.0, (0.0, v))
    np.testing.assert_allclose(along_x, wanted)
    np.testing.assert_allclose(along_w, 2.0 * np.sum(x))
