"""Solutions of differential equations by SciPy's calls: values, derivatives in both modes and twice, and what is refused."""

import math

import numpy as np
import pytest
from scipy import integrate

import stgrad
from stgrad import errors
from stgrad.frontend import ode

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
TIMES = np.linspace(0.0, 2.0, 5)


def oscillator(t, y, a, b):
    return [y[1], a * (1.0 - y[0] ** 2) * y[1] - b * y[0]]


def stiff(t, y):
    return np.array([y[1], 50.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau"])
def test_the_steps_are_those_of_scipy(method):
    for span, y0, more in (((0.0, 20.0), [2.0, 0.0], {}), ((3.0, 1.0), [0.1, 0.2], {"t_eval": [3.0, 2.2, 1.0], "max_step": 0.3, "first_step": 0.1})):
        want = integrate.solve_ivp(stiff, span, y0, method, rtol=1e-5, atol=1e-8, **more)
        found = ode.solve_ivp(stiff, span, y0, method, rtol=1e-5, atol=1e-8, **more)
        np.testing.assert_allclose(found.y[:, -1], want.y[:, -1], atol=1e-6)
        assert abs(len(found.t) - len(want.t)) <= (method == "Radau")  # whose Jacobians are other differences
        assert abs(found.nfev - want.nfev) <= (60 if method == "Radau" or more else 0)  # SciPy counts what it needs between the steps


@pytest.mark.parametrize("jit", [False, True])
def test_parameters_start_and_end(jit):
    def f(a, end, y0):
        return np.sum(integrate.solve_ivp(oscillator, (0.0, end), y0, args=(a, 1.3), **TIGHT).y[:, -1] ** 2)

    x = (0.7, 3.0, np.array([1.0, 0.3]))
    value, (a_bar, end_bar, y0_bar) = stgrad.value_and_grad(f, (0, 1, 2), jit=jit)(*x)
    assert value == pytest.approx(f(*x), rel=1e-13)  # the last bit is BLAS's, another one on another processor
    assert a_bar == pytest.approx((f(0.7001, *x[1:]) - f(0.6999, *x[1:])) / 2e-4, rel=1e-6)
    y, slope = end_state(x), np.array(oscillator(3.0, end_state(x), 0.7, 1.3))
    assert end_bar == pytest.approx(2.0 * y @ slope, abs=3e-8)
    step = np.array([1e-4, 0.0])
    assert y0_bar[0] == pytest.approx((f(0.7, 3.0, x[2] + step) - f(0.7, 3.0, x[2] - step)) / 2e-4, rel=1e-6)
    assert jit or stgrad.jvp(f, x, (1.0, 0.5, np.zeros(2)), jit=False)[1] == pytest.approx(a_bar + 0.5 * end_bar, rel=1e-12)


def end_state(x):
    return integrate.solve_ivp(oscillator, (0.0, x[1]), x[2], args=(x[0], 1.3), **TIGHT).y[:, -1]


def test_stiff_methods_by_their_equations():
    """Closed forms: y = exp(-x t) x, and a decay chain."""

    def decay(x):
        s = integrate.solve_ivp(lambda t, y: np.array([-x * y[0], x * y[0] - y[1]]), [0, 2], [x, 0.0], "Radau", t_eval=TIMES[1:], **TIGHT)
        return s.y[0, -1] + 0.0 * s.y[1, 0]

    x = 0.8
    assert stgrad.grad(decay, jit=False)(x) == pytest.approx(math.exp(-2.0 * x) * (1.0 - 2.0 * x), abs=1e-8)
    for method in ("BDF", "LSODA"):  # Radau and DOP853 stand for them where times are asked for
        found = ode.solve_ivp(lambda t, y: -x * y, (0.0, 2.0), [x], method, t_eval=TIMES, **TIGHT)
        np.testing.assert_allclose(found.y[0], x * np.exp(-x * TIMES), rtol=1e-7)


def test_twice():
    def decay(x, end):
        return integrate.solve_ivp(lambda t, y: -x * y, (0.0, end), [x], method=integrate.DOP853, **TIGHT).y[0, -1]

    x, end = 0.8, 1.5
    second = stgrad.hessian(decay, (0, 1), jit=False)(x, end)
    factor = math.exp(-x * end)
    mixed = factor * (x * x * end - 2.0 * x)
    assert second[0][0] == pytest.approx(factor * (x * end * end - 2.0 * end), abs=1e-7)
    assert second[0][1] == pytest.approx(mixed, abs=1e-7)
    assert second[1][0] == pytest.approx(mixed, abs=1e-7)
    assert second[1][1] == pytest.approx(factor * x**3, abs=1e-7)


def test_odeint():
    def chain(rate, y0, end):
        return integrate.odeint(lambda y, t, k: [-k * y[0], k * y[0] - y[1]], (y0, 0.0), [0.0, 0.5 * end, end], (rate,))[1:, 0] @ np.array([1.0, 2.0])

    k, y0, end = 1.7, 0.9, 0.8
    value, bars = stgrad.value_and_grad(chain, (0, 1, 2), jit=False)(k, y0, end)
    half, whole = math.exp(-0.5 * k * end), math.exp(-k * end)
    assert value == pytest.approx(chain(k, y0, end), abs=1e-7)
    want = (-0.5 * end * y0 * half - 2.0 * end * y0 * whole, half + 2.0 * whole, -0.5 * k * y0 * half - 2.0 * k * y0 * whole)
    assert bars == pytest.approx(want, abs=1e-7)
    options = {"args": (k,), "tfirst": True, "rtol": 1e-6, "atol": 1e-6, "hmax": 0.1, "h0": 0.01}
    slope, times = (lambda t, y, k: -k * y), [0.0, 0.3, 0.3, 1.0]
    np.testing.assert_allclose(ode.odeint(slope, 1.0, times, **options), integrate.odeint(slope, 1.0, times, **options), atol=1e-5)


def test_times_shapes_and_complex_numbers():
    def at(x):  # times that move, backwards
        s = integrate.solve_ivp(lambda t, y: -2.0 * y[:, 0], (2.0 * x, 0.0), [1.0], vectorized=True, t_eval=[x, 0.5 * x], **TIGHT)
        return s["y"][0] @ s.t

    def turn(x):
        return np.abs(integrate.solve_ivp(lambda t, y: 1j * x * y + x, (0, 2), [1.0 + 0j], **TIGHT).y[0, -1]) ** 2

    assert stgrad.grad(at, jit=False)(0.4) == pytest.approx(math.exp(0.8) * 1.8 + 0.5 * math.exp(1.2) * 2.2, rel=1e-6)
    assert stgrad.grad(turn, jit=False)(0.8) == pytest.approx((turn(0.8001) - turn(0.7999)) / 2e-4, rel=1e-6)


def test_dense_output():
    def f(x):  # y = exp(-2 (t - 2)), backwards, at times that move
        s = integrate.solve_ivp(lambda t, y: -2.0 * y, (2.0, 0.0), [1.0], method="DOP853", dense_output=True, t_eval=[1.5, x], **TIGHT)
        return s.y[0, 1] + s.sol(0.5 * x)[0] + np.sum(s.sol(np.array([x, 1.0])))

    x = 0.8
    value, bar = stgrad.value_and_grad(f, jit=False)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert bar == pytest.approx(-4.0 * math.exp(-2.0 * (x - 2.0)) - math.exp(-2.0 * (0.5 * x - 2.0)), rel=1e-7)
    for method in ("RK45", "Radau"):
        want, found = (solve(stiff, (0.0, 3.0), [2.0, 0.0], method, dense_output=True, rtol=1e-6, atol=1e-8) for solve in (integrate.solve_ivp, ode.solve_ivp))
        np.testing.assert_allclose(found.sol(np.linspace(0.0, 3.0, 7)), want.sol(np.linspace(0.0, 3.0, 7)), atol=1e-6)


def test_what_is_refused():
    def call(x, **options):
        return integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), [1.0], **options).y[0, -1]

    for options, message in (
        ({"events": lambda t, y: y[0]}, "`events` of"), ({"min_step": 1e-3}, "`min_step` of"), ({"method": "LSODA"}, "give the times that you read"),
        ({"method": "Euler"}, "use one of RK23, RK45, DOP853, Radau"),
    ):  # fmt: skip
        with pytest.raises(errors.UnsupportedSyntaxError, match=message) as caught:
            stgrad.grad(lambda x: call(x, **options), jit=False)(0.5)  # noqa: B023
        assert caught.value.loc.file == __file__
    with pytest.raises(errors.UnsupportedSyntaxError, match="full_output"):
        stgrad.grad(lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0], full_output=1)[0][-1, 0], jit=False)(0.5)


def test_what_the_solvers_raise():
    for times in ([0.5, 3.0], [0.7, 0.2]):
        with pytest.raises(ValueError, match="t_eval"):
            ode.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=times)
    with pytest.raises(RuntimeError, match="step size is less than"):
        ode.solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0])
    with pytest.raises(ValueError, match="1-dimensional"):
        ode.solve_ivp(lambda t, y: y, (0.0, 2.0), 1.0)
    with pytest.raises(RuntimeError, match="method='Radau'"):
        ode.explicit_walk(lambda t, y: -1e4 * y, 0.0, 5.0, 1.0, np.ones(1), -1e4 * np.ones(1), 1e-6, np.inf, 1e-6, 1e-6, "RK23", 1000)
