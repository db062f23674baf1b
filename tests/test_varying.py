"""Floats from outside that change from program to program: one program serves them all, and each gets its own derivative."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import stgrad

X = np.array([0.1, 0.7, -0.4])


class Model:
    def __init__(self, rate, scale=1.5):
        self.rate, self.scale, self.weights = rate, scale, np.arange(3.0) + rate

    def loss(self, x):
        return np.sum(np.sin(self.rate * x) * self.weights) * self.scale


def differences(f, x, h=1e-6):
    steps = h * np.eye(len(x))
    return np.array([(f(x + s) - f(x - s)) / (2.0 * h) for s in steps])


def closure(rate):
    def f(x):
        return np.sum(np.sin(rate * x) * x)

    return f


def test_one_program_serves_all_numbers_behind_the_first():
    texts = [stgrad.grad(closure(rate)).source(X) for rate in (1.25, 2.5, 3.75, -4.0)]
    assert "1.25" in texts[0]
    assert texts[1] == texts[2] == texts[3] != texts[0]
    assert "rate" in texts[1]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_each_object_has_its_own_derivative(jit, kind):
    for rate in (0.5, 1.5, 2.5, 3.5):
        model = Model(kind(rate), kind(rate) / 4)
        gradient = stgrad.grad(model.loss, jit=jit)
        for _ in range(3):  # by each way of calling it
            np.testing.assert_allclose(gradient(X), differences(model.loss, X), rtol=1e-6)
        model.rate = kind(rate + 0.25)
        for _ in range(3):
            np.testing.assert_allclose(gradient(X), differences(model.loss, X), rtol=1e-6)


def test_further_derivatives_take_them_too():
    for rate in (0.5, 1.5, 2.5):
        model = Model(rate)
        slope = differences(model.loss, X)
        curvature = np.diag(-model.scale * model.weights * rate**2 * np.sin(rate * X))
        np.testing.assert_allclose(stgrad.jvp(model.loss, (X,), (np.ones(3),))[1], slope.sum(), rtol=1e-6)
        np.testing.assert_allclose(stgrad.jacobian(model.loss)(X), slope, rtol=1e-6)
        np.testing.assert_allclose(stgrad.hessian(model.loss)(X), curvature, atol=1e-12)
        np.testing.assert_allclose(stgrad.hvp(model.loss)(X, np.ones(3)), curvature.sum(1), atol=1e-12)
        np.testing.assert_allclose(stgrad.vmap(stgrad.grad(model.loss))(np.stack([X, X])), [slope, slope], rtol=1e-6)
        np.testing.assert_allclose(stgrad.jit(model.loss)(X), model.loss(X))


def test_the_dtype_of_a_result_is_that_of_the_numbers():
    def make(factor):
        return lambda x: factor * x

    x = np.ones(2, np.float32)
    for factor in (1.5, 2.5, 3.5):
        assert stgrad.jit(make(factor))(x).dtype == np.float32
    for factor in (1.5, 2.5, 3.5):
        assert stgrad.jit(make(np.float64(factor)))(x).dtype == np.float64


class Layer:
    def __init__(self, slope):
        self.slope = slope

    def __call__(self, x):
        return np.tanh(self.slope * x)


def test_instances_in_one_program_are_told_apart():
    def stacked(first, second):
        return lambda x: np.sum(second(first(x)))

    for a, b in ((1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (1.0, 5.0), (5.0, 5.0)):
        net = stacked(Layer(a), Layer(b))
        np.testing.assert_allclose(stgrad.grad(net)(X), differences(net, X), rtol=1e-6, atol=1e-8)


def test_what_has_to_be_known_is_compiled_in():
    def make(length, power):
        def f(x):
            y = np.zeros(int(length * 2.0))
            for i in range(len(y)):
                y[i] = x**power
            return np.sum(y) if length > 1.2 else 2.0 * np.sum(y)

        return f

    for length, power in ((1.0, 2.0), (1.5, 3.0), (2.0, 2.5), (2.5, 2.0)):
        f = make(length, power)
        for _ in range(2):
            np.testing.assert_allclose(stgrad.grad(f)(0.4), (f(0.4 + 1e-6) - f(0.4 - 1e-6)) / 2e-6, rtol=1e-6)


def test_exponents_of_products_stay_constants():
    def make(order):
        return lambda x: x**order

    texts = [stgrad.grad(make(order)).source(1.5) for order in (2.0, 3.0, 1.4)]
    assert "2.0 * " in texts[0]
    assert "3.0 * " in texts[1]
    assert "1.4 * " in texts[2]  # the place is known to want constants


def test_another_process_finds_the_program_for_numbers_that_it_never_saw(tmp_path):
    program = """
        import sys, stgrad
        from stgrad.programs import Programs

        def make(rate):
            return lambda x: rate * x * x

        if len(sys.argv) > 2:
            def build(*args, **kwargs):
                raise SystemExit("the function was read again")
            Programs._build = build
        for rate in map(float, sys.argv[1].split(",")):
            assert stgrad.grad(make(rate))(1.5) == 3.0 * rate
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    environment = {**os.environ, "STGRAD_CACHE_DIR": str(tmp_path / "cache"), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": ""}
    for arguments in (["1.0,2.0"], ["7.0,1.0,8.0", "found"]):
        done = subprocess.run([sys.executable, "program.py", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
