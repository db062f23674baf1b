"""Derivatives of library functions themselves, and what newcomers pass by mistake."""

import math

import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.testing import check_gradient


def test_gradients_of_library_functions():
    assert stgrad.grad(np.sin, jit=False)(1.0) == math.cos(1.0)
    assert stgrad.grad(math.sin, jit=False)(1.0) == math.cos(1.0)
    assert stgrad.grad(np.sum, jit=False)(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert stgrad.grad(np.multiply, argnums=1, jit=False)(2.0, 3.0) == 2.0
    assert stgrad.grad(stgrad.grad(np.square, jit=False), jit=False)(3.0) == 2.0


def test_keywords_of_library_functions():
    value, pullback = stgrad.vjp(lambda x: np.sum(x, axis=0), np.ones((2, 3)), jit=False)
    assert pullback(np.arange(3.0))[0].tolist() == [[0.0, 1.0, 2.0]] * 2
    assert np.allclose(stgrad.grad(np.linalg.norm, jit=False)(np.array([3.0, 4.0])), [0.6, 0.8])


class Model:
    def __call__(self, x):
        return x * x


@pytest.mark.parametrize("jit", [False, True])
def test_functions_of_scipy(jit):
    """What stands for their calls stands for them, too."""
    from scipy import linalg, special, stats

    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    cases = [(linalg.solve_triangular, (a, b)), (linalg.inv, (a,)), (special.logsumexp, (b,)), (stats.norm.logpdf, (0.3,)), (stats.alpha.logpdf, (0.3, 2.0))]
    for f, args in cases:
        value, pullback = stgrad.vjp(f, *args, jit=jit)
        np.testing.assert_allclose(value, f(*args))
        wanted = stgrad.vjp(lambda *args, f=f: f(*args), *args, jit=jit)[1](np.ones_like(value))
        for bar, other in zip(pullback(np.ones_like(value)), wanted, strict=True):
            np.testing.assert_allclose(bar, other)


MISTAKES = [
    (lambda: stgrad.grad(math.sin(1.0)), TypeError, "takes a function, not float"),
    (lambda: stgrad.grad(Model), TypeError, "not the class Model"),
    (lambda: stgrad.grad(len)([1.0]), errors.SourceNotFoundError, "no Python source"),
    (lambda: stgrad.grad(lambda x: None)(1.0), errors.NotDifferentiableError, "is a `return` missing"),
    (lambda: stgrad.grad(lambda x: x * x)(np.ones(3)), errors.NotDifferentiableError, "returns an array of float64"),
    (lambda: stgrad.grad(lambda x: x[0] * x[1])([1, 2]), errors.NotDifferentiableError, "a list without floats"),
    (lambda: stgrad.grad(lambda x: x * x)(3), errors.NotDifferentiableError, "it is an int"),
    (lambda: stgrad.grad(lambda x: np.sine(x))(1.0), errors.UndefinedNameError, "did you mean `sin`"),
    (lambda: stgrad.grad(lambda x: x.summ())(np.ones(3)), errors.UndefinedNameError, "did you mean `sum`"),
    (lambda: stgrad.grad(lambda x: x * float(input()))(1.0), errors.UnsupportedSyntaxError, "`input` is not supported"),
    (lambda: stgrad.grad(lambda x: x(1.0))(1.0), errors.UnknownFunctionError, "it is a float"),
]


@pytest.mark.parametrize(("run", "error", "words"), MISTAKES)
def test_mistakes(run, error, words):
    with pytest.raises(error) as found:
        run()
    assert words in str(found.value)


@pytest.mark.parametrize("jit", [True, False], ids=["numba", "python"])
def test_what_vectorize_makes_is_differentiated_itself(jit):
    import numba

    @numba.vectorize
    def pressure(t, p):
        return np.exp(0.1 * t) / p if t > 0.0 else t * p

    @numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def energy(x, result):
        result[0] = 0.0
        for v in x:
            result[0] += v * v

    gradient = stgrad.grad(pressure, argnums=(0, 1), jit=jit)
    for t in (2.0, -1.0):
        expected = (0.1 * np.exp(0.1 * t) / 3.0, -np.exp(0.1 * t) / 9.0) if t > 0.0 else (3.0, t)
        np.testing.assert_allclose(gradient(t, 3.0), expected, rtol=1e-12)
    np.testing.assert_allclose(stgrad.grad(energy, jit=jit)(np.array([1.0, -2.0])), [2.0, -4.0])
    check_gradient(pressure, (2.0, 3.0), jit=jit)  # it takes no complex numbers
