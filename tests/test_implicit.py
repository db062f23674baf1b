"""Functions given by equations: roots, fixed points, linear solves; both modes, two orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors

JIT = pytest.mark.parametrize("jit", [False, True])
A = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
B = np.array([1.0, 2.0, 3.0])


def bisect(f, bracket):
    low, high = bracket - 1.0, bracket + 3.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if f(low) * f(middle) <= 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def cube_root(a):
    return stgrad.custom_root(lambda x: x**3 - a, a / 2.0, bisect)


@JIT
def test_scalar_root(jit):
    a = 2.0
    x = a ** (1 / 3)
    assert cube_root(a) == pytest.approx(x)
    assert stgrad.jit(cube_root)(a) == pytest.approx(x)
    assert stgrad.grad(cube_root, jit=jit)(a) == pytest.approx(x / (3 * a))
    assert stgrad.grad(cube_root, mode="forward", jit=jit)(a) == pytest.approx(x / (3 * a))
    assert stgrad.jvp(cube_root, (a,), (2.0,), jit=jit) == pytest.approx((x, 2 * x / (3 * a)))
    for mode in ("auto", "reverse", "forward"):
        assert stgrad.hessian(cube_root, mode=mode, jit=jit)(a) == pytest.approx(-2 * x / (9 * a * a))


def newton(f, x):
    for _ in range(30):
        jacobian = stgrad.jacfwd(f)(x)
        x = x - np.linalg.solve(jacobian, f(x))
    return x


def intersection(p, q):
    def f(x):
        return np.array([x[0] ** 2 + x[1] ** 2 - p[0], x[0] * x[1] * q - p[1]])

    return np.sum(stgrad.custom_root(f, np.array([2.0, 0.3]), newton) * np.array([1.0, 3.0]))


def intersection_by_hand(p, q):
    """x0 x1 = c, x0^2 + x1^2 = r."""
    r, c = p[0], p[1] / q
    s, d = np.sqrt(r + 2 * c), np.sqrt(r - 2 * c)
    return (s + d) / 2 + 3 * (s - d) / 2


@JIT
def test_system(jit):
    p, q = np.array([4.0, 0.9]), 1.3
    assert intersection(p, q) == pytest.approx(intersection_by_hand(p, q))
    got, want = (stgrad.grad(f, (0, 1), jit=j)(p, q) for f, j in ((intersection, jit), (intersection_by_hand, False)))
    np.testing.assert_allclose(got[0], want[0])
    assert got[1] == pytest.approx(want[1])
    assert stgrad.jvp(intersection, (p, q), (p, 2.0), jit=jit)[1] == pytest.approx(np.dot(want[0], p) + 2 * want[1])
    if not jit:
        for mode in ("auto", "reverse"):
            np.testing.assert_allclose(stgrad.hessian(intersection, mode=mode, jit=jit)(p, q), stgrad.hessian(intersection_by_hand, jit=False)(p, q))


@JIT
def test_fixed_point(jit):
    def f(a):
        return stgrad.fixed_point(lambda x: np.cos(a * x), np.full(3, 0.5))

    a = np.array([0.3, 0.9, 1.2])
    x = f(a)
    np.testing.assert_allclose(x, np.cos(a * x))
    want = -x * np.sin(a * x) / (1 + a * np.sin(a * x))
    np.testing.assert_allclose(stgrad.grad(lambda a: np.sum(f(a)), jit=jit)(a), want)
    np.testing.assert_allclose(stgrad.jvp(f, (a,), (np.ones(3),), jit=jit)[1], want)
    step = 1e-6
    if not jit:
        second = [stgrad.grad(lambda a: np.sum(f(a)), jit=False)(a + s * step) for s in (1, -1)]
        np.testing.assert_allclose(np.diag(stgrad.hessian(lambda a: np.sum(f(a)), jit=False)(a)), (second[0] - second[1]) / (2 * step), rtol=1e-5)
    assert stgrad.grad(lambda t: stgrad.fixed_point(lambda x: math.cos(t * x), 1.0), jit=jit)(1.0) == pytest.approx(-0.297, abs=1e-3)
    with pytest.raises(ArithmeticError, match="does not converge"):
        stgrad.fixed_point(lambda x: x + 1.0, 0.0, maxiter=10)


def conjugate_gradients(matvec, b):
    x = np.zeros_like(b)
    r = b - matvec(x)
    p = r
    rho = r @ r
    while rho > 1e-28:
        q = matvec(p)
        alpha = rho / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + new / rho * p
        rho = new
    return x


@JIT
def test_linear_solve_by_iteration(jit):
    def f(scale, b):
        return np.sum(stgrad.custom_linear_solve(lambda x: scale * (A @ x), b, conjugate_gradients, symmetric=True) ** 3)

    def reference(scale, b):
        return np.sum(np.linalg.solve(scale * A, b) ** 3)

    assert f(1.5, B) == pytest.approx(reference(1.5, B))
    want = stgrad.grad(reference, (0, 1), jit=False)(1.5, B)
    got = stgrad.grad(f, (0, 1), jit=jit)(1.5, B)
    assert got[0] == pytest.approx(want[0])
    np.testing.assert_allclose(got[1], want[1])
    assert stgrad.jvp(f, (1.5, B), (1.0, B), jit=jit)[1] == pytest.approx(want[0] + want[1] @ B)
    if not jit:
        for mode in ("auto", "reverse"):
            np.testing.assert_allclose(stgrad.hessian(f, mode=mode, jit=jit)(1.5, B), stgrad.hessian(reference, jit=False)(1.5, B), rtol=1e-8)


@JIT
def test_linear_solve_with_a_transposed_one(jit):
    m = A + np.triu(np.ones((3, 3)))

    def solve(matvec, b):
        return np.linalg.solve(m, b)

    def f(b):
        return np.sum(np.sin(stgrad.custom_linear_solve(lambda x: m @ x, b, solve, lambda vecmat, b: np.linalg.solve(m.T, b))))

    def g(b):
        return np.sum(np.sin(stgrad.custom_linear_solve(lambda x: m @ x, b, solve)))

    x = np.linalg.solve(m, B)
    want = np.linalg.solve(m.T, np.cos(x))
    inverse = np.linalg.inv(m)
    for h in (f, g):
        np.testing.assert_allclose(stgrad.grad(h, jit=jit)(B), want)
        assert stgrad.jvp(h, (B,), (B,), jit=jit)[1] == pytest.approx(want @ B)
        np.testing.assert_allclose(stgrad.hessian(h, jit=jit)(B), -inverse.T @ np.diag(np.sin(x)) @ inverse)


@JIT
def test_auxiliary_data_and_loops(jit):
    def solve(f, x):
        steps = 0
        while abs(f(x)) > 1e-13 and steps < 100:
            x = x - f(x) / (3.0 * x * x)
            steps += 1
        return x, steps

    def f(a):
        total = 0.0
        for i in range(3):
            root, steps = stgrad.custom_root(lambda x: x**3 - a * (i + 1), 1.5, solve, has_aux=True)
            if root > 1.3:
                total += root * min(steps, 1)
        return total

    a = 1.1
    want = sum((1 / 3) * ((i + 1) * a) ** (-2 / 3) * (i + 1) for i in range(3) if ((i + 1) * a) ** (1 / 3) > 1.3)
    assert stgrad.grad(f, jit=jit)(a) == pytest.approx(want)
    assert stgrad.grad(f, mode="forward", jit=jit)(a) == pytest.approx(want)


def test_no_parameters():
    assert stgrad.grad(lambda a: a * stgrad.custom_root(lambda x: x * x - 2.0, 1.0, bisect), jit=False)(3.0) == pytest.approx(math.sqrt(2.0))


def test_what_is_refused():
    with pytest.raises(errors.ShapeError, match="another structure or shape") as caught:
        stgrad.grad(lambda a: np.sum(stgrad.custom_root(lambda x: np.sum(x) - a, np.ones(2), lambda f, x: x)), jit=False)(1.0)
    assert caught.value.loc.file == __file__
    with pytest.raises(errors.TypeInferenceError, match="must return a pair"):
        stgrad.grad(lambda a: stgrad.custom_root(lambda x: x - a, a, bisect, has_aux=True)[0], jit=False)(1.0)


# --------------------------------------------------------------------------- SciPy


@JIT
def test_root_finders_of_scipy(jit):
    from scipy import optimize

    def kepler(e, m, method):
        f = lambda x, e: x - e * math.sin(x) - m  # noqa: E731
        if method == "brentq":
            return optimize.brentq(f, 0.0, math.pi, args=(e,))
        if method == "bisect":
            return optimize.bisect(f, 0.0, math.pi, args=(e,))
        if method == "newton":
            return optimize.newton(f, m, fprime=lambda x, e: 1.0 - e * math.cos(x), args=(e,), tol=1e-12)
        if method == "halley":
            return optimize.newton(f, m, lambda x, e: 1.0 - e * math.cos(x), (e,), 1e-12, 50, lambda x, e: e * math.sin(x))
        return optimize.newton(f, m, args=(e,), tol=1e-12)

    e, m = 0.4, 1.1
    for method in ("brentq", "bisect", "newton", "halley", "secant"):
        x = kepler(e, m, method)
        assert stgrad.jit(lambda e, m: kepler(e, m, method))(e, m) == pytest.approx(x, abs=1e-13)  # noqa: B023
        slope = 1 - e * math.cos(x)
        want = (math.sin(x) / slope, 1 / slope)
        assert stgrad.grad(kepler, (0, 1), jit=jit)(e, m, method) == pytest.approx(want, rel=1e-10)
        assert stgrad.jvp(lambda e, m: kepler(e, m, method), (e, m), (1.0, 2.0), jit=jit)[1] == pytest.approx(want[0] + 2 * want[1])  # noqa: B023
    second = -e * math.sin(x) / slope**3
    assert stgrad.grad(stgrad.grad(lambda m: kepler(e, m, "brentq"), jit=False), jit=jit)(m) == pytest.approx(second)


def test_the_same_of_several_roots():
    from scipy import optimize

    f = lambda x: math.sin(5.0 * x) * (x - 0.3) + 0.05  # noqa: E731
    for a, b in ((-2.0, 1.9), (-1.0, 2.0), (0.1, 1.0), (-3.0, 3.1)):
        if f(a) * f(b) < 0:
            for find in (optimize.brentq, optimize.bisect):
                assert stgrad.jit(lambda a, b: find(f, a, b))(a, b) == pytest.approx(find(f, a, b), abs=1e-11)  # noqa: B023
    for x0 in (0.5, 1.5, -0.7):
        assert stgrad.jit(lambda x: optimize.newton(f, x))(x0) == pytest.approx(optimize.newton(f, x0), abs=1e-12)
    with pytest.raises(ValueError, match="different signs"):
        stgrad.jit(lambda a, b: optimize.brentq(lambda x: x * x + 1.0, a, b))(0.0, 1.0)


@JIT
def test_quadrature(jit):
    from scipy import integrate

    def f(w, b):
        value, error = integrate.quad(lambda x, w: math.exp(-w * x * x) * math.cos(20.0 * x), 0.0, b, args=(w,))
        return value

    def by_quad(g, b):
        return integrate.quad(g, 0.0, b)[0]

    w, b = 0.7, 3.0
    assert stgrad.jit(f)(w, b) == pytest.approx(f(w, b), abs=1e-10)
    want = (by_quad(lambda x: -x * x * math.exp(-w * x * x) * math.cos(20 * x), b), math.exp(-w * b * b) * math.cos(20 * b))
    assert stgrad.grad(f, (0, 1), jit=jit)(w, b) == pytest.approx(want, abs=1e-9)
    assert stgrad.jvp(f, (w, b), (1.0, 1.0), jit=jit)[1] == pytest.approx(sum(want), abs=1e-9)
    if not jit:
        second = by_quad(lambda x: x**4 * math.exp(-w * x * x) * math.cos(20 * x), b)
        assert stgrad.grad(stgrad.grad(f, jit=False), jit=False)(w, b) == pytest.approx(second, abs=1e-8)
    with pytest.raises(ValueError, match="infinite end"):
        stgrad.jit(lambda b: integrate.quad(lambda x: math.exp(-x), 0.0, b)[0])(math.inf)


def two_equations(x, a):
    return [x[0] * np.cos(x[1]) - a, x[1] * x[0] - x[1] - 5.0]


def valley(x, a):
    return np.array([a * (1.0 - x[0]), 10.0 * (x[1] - a * x[0] ** 2)])


def chain(x, a):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = (3.0 - 2.0 * x[i]) * x[i] + a
        if i > 0:
            y[i] -= x[i - 1]
        if i < len(x) - 1:
            y[i] -= 2.0 * x[i + 1]
    return y


SYSTEMS = [(two_equations, np.array([1.0, 1.0]), 4.0), (valley, np.array([-1.2, 1.0]), 2.0), (chain, -np.ones(6), 1.0)]


@pytest.mark.parametrize(("equations", "start", "a"), SYSTEMS, ids=lambda v: getattr(v, "__name__", ""))
def test_the_hybrid_method_finds_the_root_of_scipy(equations, start, a):
    from scipy import optimize

    from stgrad.frontend import systems

    np.testing.assert_allclose(systems.root(equations, start, args=(a,)).x, optimize.root(equations, start, args=(a,)).x, rtol=1e-12)
    np.testing.assert_allclose(systems.fsolve(equations, start, a), optimize.fsolve(equations, start, a), rtol=1e-12)


@JIT
@pytest.mark.parametrize(("equations", "start", "a"), SYSTEMS, ids=lambda v: getattr(v, "__name__", ""))
def test_systems_of_equations(equations, start, a, jit):
    from scipy import optimize

    def solved(a):
        found = optimize.root(equations, start, args=(a,), tol=1e-13)
        if not found.success:
            raise RuntimeError(found.message)
        return np.sum(np.sin(found.x)) * a

    h = 1e-6
    want = (solved(a + h) - solved(a - h)) / (2 * h)
    assert stgrad.grad(solved, jit=jit)(a) == pytest.approx(want, rel=1e-7)
    assert stgrad.jvp(solved, (a,), (2.0,), jit=jit)[1] == pytest.approx(2.0 * want, rel=1e-7)


def test_systems_with_their_jacobian_and_second_derivatives():
    from scipy import optimize

    def slopes(x, a):
        return np.array([[np.cos(x[1]), -x[0] * np.sin(x[1])], [x[1], x[0] - 1.0]])

    def by_root(a):
        return optimize.root(lambda x, a: (two_equations(x, a), slopes(x, a)), [1.0, 1.0], a, jac=True, tol=1e-13)["x"][0]

    def by_fsolve(a):
        return optimize.fsolve(two_equations, [1.0, 1.0], (a,), fprime=slopes, xtol=1e-13)[0]

    h = 1e-4
    want = (by_root(4.0 + h) - 2.0 * by_root(4.0) + by_root(4.0 - h)) / h**2
    for function in (by_root, by_fsolve):
        assert stgrad.grad(stgrad.grad(function, jit=False), jit=False)(4.0) == pytest.approx(want, rel=1e-4)


@JIT
def test_a_system_without_a_root_is_an_error(jit):
    from scipy import optimize

    with pytest.raises(RuntimeError, match="not solved"):
        stgrad.grad(lambda a: optimize.fsolve(lambda x: x * x + a, np.ones(1))[0], jit=jit)(1.0)
    with pytest.raises(errors.UnsupportedSyntaxError, match="methods other than 'hybr'"):
        stgrad.grad(lambda a: optimize.root(lambda x: x - a, 1.0, method="lm").x[0], jit=True)(1.0)


def root_of_parts(p):
    """Of a number and an array together."""

    def solve(_, __):
        return math.sqrt(p), math.sqrt(p) * np.array([p, 2.0 * p])

    a, b = stgrad.custom_root(lambda s: (s[0] ** 2 - p, s[1] - s[0] * np.array([p, 2.0 * p])), (1.0, np.ones(2)), solve)
    return a * np.sum(b**2)


def fixed_pair(p):
    x, y = stgrad.fixed_point(lambda s: (0.5 * (s[0] + p / s[0]), 0.3 * s[1] + np.cos(s[0])), (1.0, np.zeros(3)))
    return x + np.sum(y**2)


def fixed_parts(p):
    found = stgrad.fixed_point(lambda s: {"a": 0.5 * (s["a"] + p / s["a"]), "b": [0.3 * s["b"][0] + np.cos(s["a"])]}, {"a": 1.0, "b": [np.zeros(3)]})
    return found["a"] * np.sum(found["b"][0])


@JIT
@pytest.mark.parametrize("f", [root_of_parts, fixed_pair, fixed_parts])
def test_structures(f, jit):
    check_gradient(f, (2.0,), jit=jit)


def test_structures_outside_of_programs():
    x, y = stgrad.fixed_point(lambda s: (0.5 * (s[0] + 2.0 / s[0]), 0.5 * s[1] + s[0]), (1.0, np.zeros(2)))
    np.testing.assert_allclose([x, *y], [math.sqrt(2.0), 2.0 * math.sqrt(2.0), 2.0 * math.sqrt(2.0)])


def test_parts_of_different_dtypes_are_refused():
    def root(p):
        a, b = stgrad.custom_root(lambda s: (s[0] - p, s[1] - p * (1.0 + 2.0j)), (1.0, 1.0j), lambda *_: (p, p * (1.0 + 2.0j)))
        return a * np.abs(b) ** 2

    with pytest.raises(errors.TypeInferenceError, match="numbers of different dtypes"):
        stgrad.grad(root, jit=False)(2.0)
