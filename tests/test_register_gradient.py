"""`register_gradient`: foreign functions with a derivative, in both modes, twice, in compiled programs."""

from __future__ import annotations

import ctypes
import ctypes.util
import math

import numba
import numpy as np
import pytest
from scipy import interpolate

import stgrad
from stgrad import errors

LIB = ctypes.CDLL(ctypes.util.find_library("m"))
LIB.cbrt.argtypes, LIB.cbrt.restype = [ctypes.c_double], ctypes.c_double
LIB.fma.argtypes, LIB.fma.restype = [ctypes.c_double] * 3, ctypes.c_double
JIT = pytest.mark.parametrize("jit", [False, True])
X = np.array([0.3, 0.7, 1.2])


@stgrad.register_gradient(LIB.cbrt)
def cbrt_vjp(y, y_bar, x):
    return y_bar / (3.0 * y * y)


stgrad.register_gradient(LIB.fma, jvp=lambda y, primals, tangents: primals[1] * tangents[0] + primals[0] * tangents[1] + tangents[2])
spline = interpolate.CubicSpline(np.linspace(0.0, 4.0, 9), np.sin(np.linspace(0.0, 4.0, 9)))
slope = spline.derivative()
stgrad.register_gradient(spline, lambda y, y_bar, x: y_bar * slope(x))
stgrad.register_gradient(slope, lambda y, y_bar, x: y_bar * curvature(x))
curvature = slope.derivative()
stgrad.register_gradient(curvature, lambda y, y_bar, x: None)


def opaque(a, b, *, power=2):
    """What no reader takes."""
    return eval("(np.sum(a @ a.T, axis=1) + b) ** power", {"np": np, "a": a, "b": b, "power": power})


def opaque_vjp(y, g, a, b, *, power=2):
    inner = np.sum(a @ a.T, axis=1) + b
    g = g * power * inner ** (power - 1)
    one = np.ones(a.shape[0])
    return np.outer(g, a.T @ one) + np.outer(one, a.T @ g), np.sum(g)


stgrad.register_gradient(opaque, opaque_vjp)


@JIT
def test_c_functions(jit):
    def f(x):
        total = 0.0
        for i in range(3):
            if x > 0.5:
                total += LIB.cbrt(x * (i + 1.0)) ** 2
            x = LIB.fma(x, x, 0.25)
        return total

    def reference(x):
        total = 0.0
        for i in range(3):
            if x > 0.5:
                total += np.cbrt(x * (i + 1.0)) ** 2
            x = x * x + 0.25
        return total

    assert f(0.8) == pytest.approx(reference(0.8))
    want = stgrad.grad(reference, jit=False)(0.8)
    assert stgrad.grad(f, jit=jit)(0.8) == pytest.approx(want)
    assert stgrad.jvp(f, (0.8,), (2.0,), jit=jit) == pytest.approx((reference(0.8), 2 * want))
    for mode in ("auto",) if jit else ("auto", "reverse", "forward"):
        assert stgrad.hessian(f, mode=mode, jit=jit)(0.8) == pytest.approx(stgrad.hessian(reference, jit=False)(0.8))


@JIT
def test_objects_of_a_package(jit):
    def f(x):
        return np.sum(spline(x) ** 2)

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), 2 * spline(X) * slope(X))
    want = np.diag(2 * slope(X) ** 2 + 2 * spline(X) * curvature(X))
    np.testing.assert_allclose(stgrad.hessian(f, jit=jit)(X), want)
    if not jit:
        np.testing.assert_allclose(stgrad.hessian(f, mode="reverse", jit=jit)(X), want)


@JIT
def test_arrays_and_keywords(jit):
    a, b = np.arange(6.0).reshape(3, 2) / 5.0, 0.7

    def plain(a, b, power=2):
        return (np.sum(a @ a.T, axis=1) + b) ** power

    def f(a, b):
        return np.sum(opaque(a, b)) + np.sum(np.sin(opaque(a, b, power=3)))

    def reference(a, b):
        return np.sum(plain(a, b)) + np.sum(np.sin(plain(a, b, 3)))

    for got, want in zip(stgrad.grad(f, (0, 1), jit=jit)(a, b), stgrad.grad(reference, (0, 1), jit=False)(a, b), strict=True):
        np.testing.assert_allclose(got, want)
    value, tangent = stgrad.jvp(f, (a, b), (a, 2.0), jit=jit)
    assert (value, tangent) == pytest.approx(stgrad.jvp(reference, (a, b), (a, 2.0), jit=False))
    if not jit:
        np.testing.assert_allclose(stgrad.hessian(f, jit=jit)(a, b), stgrad.hessian(reference, jit=False)(a, b), rtol=1e-8, atol=1e-8)


def test_several_results():
    def parts(x, options):
        return eval("float(np.sum(x)), (x * options[0], 3)", {"np": np, "x": x, "options": options})

    def rule(y, y_bar, x, options):
        total_bar, (scaled_bar, _) = y_bar
        return total_bar + scaled_bar * options[0], (np.sum(scaled_bar * x), None)

    stgrad.register_gradient(parts, rule)

    def f(x, s):
        total, (scaled, n) = parts(x, (s, 2.5))
        return total * total + np.sum(scaled) * n

    for jit in (False, True):
        got = stgrad.grad(f, (0, 1), jit=jit)(X, 2.0)
        np.testing.assert_allclose(got[0], 2 * np.sum(X) + 6.0)
        assert got[1] == pytest.approx(3 * np.sum(X))


def test_the_result_is_said():
    def needs_five(x):
        return eval("1.0 * x if len(x) == 5 else 1 / 0", {"x": x})

    stgrad.register_gradient(needs_five, lambda y, g, x: g)
    with pytest.raises(errors.TypeInferenceError, match="ZeroDivisionError") as caught:
        stgrad.grad(lambda x: np.sum(needs_five(x)), jit=False)(np.ones(70))  # whose extent is not compiled in
    assert caught.value.loc.file == __file__
    stgrad.register_gradient(needs_five, lambda y, g, x: g, abstract=np.zeros(0))
    np.testing.assert_array_equal(stgrad.grad(lambda x: np.sum(needs_five(x)))(np.ones(5)), np.ones(5))
    stgrad.register_gradient(needs_five, lambda y, g, x: 2.0 * g, abstract=lambda x: x)
    np.testing.assert_array_equal(stgrad.grad(lambda x: np.sum(needs_five(x)))(np.ones(5)), 2 * np.ones(5))


@JIT
def test_results_that_change(jit):
    """A result of another dtype or rank than the example's is refused, not cut off."""

    def count(x):
        return eval("0 if x == 0.5 else x", {"x": x})

    stgrad.register_gradient(count, lambda y, g, x: g)
    f = stgrad.jit(lambda x: count(x) * 2.0) if jit else lambda x: stgrad.value_and_grad(lambda x: count(x) * x, jit=False)(x)
    with pytest.raises(TypeError, match="was made for int64"):
        f(0.7)

    def ragged(x):
        return eval("x if x[0] == 0.5 else x[0]", {"x": x})

    stgrad.register_gradient(ragged, lambda y, g, x: g)
    with pytest.raises((TypeError, ValueError)):
        stgrad.grad(lambda x: np.sum(ragged(x)), jit=jit)(X)


def test_a_rule_that_is_given_again_or_later_is_noticed():
    def cube(x):
        return x**3

    gradient = stgrad.grad(lambda x: cube(x))
    assert gradient(2.0) == 12.0
    stgrad.register_gradient(cube, lambda y, g, x: g * 100.0)
    assert gradient(2.0) == 100.0
    stgrad.register_gradient(cube, lambda y, g, x: g * 200.0)
    assert gradient(2.0) == 200.0


def test_compiled_callers_and_captures():
    table = np.array([1.0, 2.0, 3.0])

    def look_up(x, values):
        return eval("float(values @ x)", {"x": x, "values": values})

    stgrad.register_gradient(look_up, lambda y, g, x, values: (g * values, g * x))
    gradient = stgrad.grad(lambda x: look_up(x, table) ** 2)
    np.testing.assert_allclose(gradient(X), 2 * (table @ X) * table)
    table[0] = 5.0
    np.testing.assert_allclose(gradient(X), 2 * (table @ X) * table)

    @numba.njit
    def caller(x):
        return gradient(x)[0]

    assert caller(X) == pytest.approx(2 * (table @ X) * 5.0)


def test_what_is_refused():
    with pytest.raises(TypeError, match="takes a function"):
        stgrad.register_gradient(3.0, lambda y, g: g)
    with pytest.raises(TypeError, match="a vjp or a jvp"):
        stgrad.register_gradient(math.ldexp, lambda y, g, x: g, jvp=lambda y, p, t: t)

    def bad(x):
        return eval("1.0 * x", {"x": x})

    f = lambda x: np.sum(bad(x))  # noqa: E731
    for rule, message in ((lambda y, g, x: np.sum(g), "returns a float64 as cotangent"), (lambda y, g, x: (g, g), "2 cotangents for 1 argument")):
        stgrad.register_gradient(bad, rule)
        with pytest.raises(errors.ShapeError, match=message) as caught:
            stgrad.grad(f, jit=False)(X)
        assert caught.value.loc.file == __file__
    stgrad.register_gradient(bad, lambda y, g, x: np.clip(g, -1.0, 1.0))
    np.testing.assert_array_equal(stgrad.grad(f, jit=False)(X), np.ones(3))
    with pytest.raises(errors.NotDifferentiableError, match="rule of `bad` is not linear"):
        stgrad.jvp(f, (X,), (X,), jit=False)

    def words(x):
        return eval("'no'", {})

    stgrad.register_gradient(words, lambda y, g, x: g)
    with pytest.raises(errors.TypeInferenceError, match="returned a str"):
        stgrad.grad(lambda x: words(x), jit=False)(2.0)


def test_in_plain_python(monkeypatch):
    """Where the compiler refuses a function and its run is recorded, rules of the user's count all the same."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    @stgrad.custom_vjp
    def five(x):
        return x

    five.defvjp(lambda x: (x, None), lambda _, g: (5.0 * g,))

    def doubled(x):
        return eval("2.0 * x", {"x": x})

    stgrad.register_gradient(doubled, lambda y, g, x: 7.0 * g)

    def f(x):
        with open(__file__):
            y = np.sum(doubled(x)) + np.sum(five(x))
        return y

    def g(x):
        with open(__file__):
            y = x
        with stgrad.insert_grad_of(y) as dy:
            dy = 3.0 * dy
        return np.sum(y)

    with pytest.warns(Warning, match="runs in plain Python"):
        np.testing.assert_array_equal(stgrad.grad(f, jit=False)(X), 12.0)
    with pytest.raises(errors.UnsupportedSyntaxError):
        stgrad.grad(g, jit=False)(X)


def test_another_process_with_a_rule(tmp_path):
    """A program on disk that has read a function is none for a process that gives the function a rule, or another rule."""
    import os
    import subprocess
    import sys

    text = """
import sys, stgrad
def cube(x):
    return x**3
@stgrad.custom_jvp
def square(x):
    return x * x
if sys.argv[1] == "plain":
    square.defjvps(lambda t, y, x: 2.0 * x * t)
else:
    square.defjvps(lambda t, y, x: 50.0 * t)
    stgrad.register_gradient(cube, lambda y, g, x: g * 100.0)
print(stgrad.grad(lambda x: cube(x))(2.0), stgrad.grad(lambda x: square(x))(2.0))
"""
    (tmp_path / "script.py").write_text(text)
    environment = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.path.dirname(os.path.dirname(stgrad.__file__))}

    def run(*arguments):
        command = [sys.executable, str(tmp_path / "script.py"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run("plain") == ["12.0", "4.0"]
    assert run("ruled") == ["100.0", "50.0"]
    assert run("plain") == ["12.0", "4.0"]
