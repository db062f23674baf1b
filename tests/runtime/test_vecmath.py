"""Elementary functions of compiled loops: accuracy against mpmath, special values, packed instructions, huge arguments."""

import math
import re

import mpmath
import numba
import numpy as np
import pytest
from scipy import integrate, optimize

import stgrad
from stgrad import runtime
from stgrad.stack_slots import Compiler

UNARY = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf")
EXACT = {
    "log1p": mpmath.log1p,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    **{name: getattr(mpmath, name) for name in ("exp", "expm1", "log", "sin", "cos", "tan", "tanh", "erf")},
}
# A little above the largest errors in 120,000 to 190,000 points each, in units in the last place; the docstrings have the exact numbers.
ULPS = {
    "exp": 0.9, "expm1": 1.6, "log": 0.85, "log1p": 2.1, "sin": 0.8, "cos": 0.8, "tan": 2.1, "tanh": 2.1, "sigmoid": 2.3,
    "erf": 1.4, "pow": 0.9
}  # fmt: skip
EDGES = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-20, 1e-18, 1e-9, 0.25, 0.5, math.sqrt(0.5), 1.0, math.sqrt(2), 2.0, 3.0, 6.0]
EDGES += [0.3465735902799726, 19.0, 36.7, 37.5, 88.72284, 103.97, 708.39, 709.78, 709.79, 745.13, 745.2, 1e3]
EDGES += [k * math.pi / 4 for k in (1, 2, 3, 4, 5, 6, 1000, 1000002)] + [1e6, 1e15, 1e22, 1e300, math.inf, math.nan, 1.7976931348623157e308]


def loop(name, arity=1, **options):
    text = "def run(x, y):\n    for i in range(y.size):\n        y[i] = "
    text += f"runtime.{name}(x[i])\n" if arity == 1 else f"runtime.{name}(x[0, i], x[1, i])\n"
    space = {"runtime": runtime}
    exec(text, space)
    return numba.njit(space["run"], error_model="numpy", **options)


LOOPS = {name: loop(name) for name in UNARY} | {"pow": loop("pow", 2)}


def evaluate(name, x):
    y = np.empty(x.shape[-1], x.dtype)
    LOOPS[name](x, y)
    return y


def points(name, dtype, count, seed=0):
    """Random points at every scale, plain ones and edges, within the domain."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([
        rng.normal(size=count), rng.uniform(-800, 800, count // 2), rng.uniform(0.4, 2.5, count), 10.0 ** rng.uniform(-22, 3, count),
        -(10.0 ** rng.uniform(-22, 1, count)), 10.0 ** rng.uniform(-323, 308, count // 4), EDGES, np.negative(EDGES)
    ])  # fmt: skip
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    return x[x >= 0] if name == "log" else x[x > -1] if name == "log1p" else x


def errors(results, exact, dtype):
    """In units in the last place of the exact result; inf where a special value is wrong."""
    found = np.zeros(len(results))
    for i, (y, e) in enumerate(zip(results.tolist(), exact, strict=True)):
        with np.errstate(over="ignore"):
            nearest = dtype(float(e))
        if math.isnan(y) or math.isnan(nearest) or math.isinf(y) or math.isinf(nearest):
            found[i] = 0.0 if y == nearest or math.isnan(y) and math.isnan(nearest) else math.inf
        else:
            found[i] = abs(mpmath.mpf(y) - e) / mpmath.mpf(float(np.spacing(abs(nearest))))
    return found


def exactly(name, x):
    def one(v):
        if math.isnan(v):
            return mpmath.nan
        if math.isinf(v):
            return mpmath.mpf(float(np.asarray(getattr(runtime, name)(v))))
        return mpmath.mpf(-math.inf) if name == "log" and v == 0 else EXACT[name](mpmath.mpf(v))

    with mpmath.workprec(200):
        return [one(v) for v in x.tolist()]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_accuracy(name, dtype):
    x = points(name, dtype, 400)
    with mpmath.workprec(200):
        found = errors(evaluate(name, x), exactly(name, x), dtype)
    worst = int(np.argmax(found))
    assert found[worst] <= (ULPS[name] if dtype is np.float64 else 0.6), (x[worst], evaluate(name, x)[worst])


def power_points(count, seed=0):
    rng = np.random.default_rng(seed)
    base = np.concatenate([rng.uniform(0.1, 10, count), 10.0 ** rng.uniform(-320, 308, count), rng.uniform(0.9, 1.1, count)])
    exponent = np.concatenate([rng.normal(0, 20, count), rng.uniform(-2, 2, count), rng.normal(0, 2000, count)])
    return np.stack([base, exponent])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_accuracy_of_pow(dtype):
    with np.errstate(over="ignore"):
        x = power_points(500).astype(dtype)
    x = x[:, np.isfinite(x[0]) & (x[0] > 0)]
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(a), mpmath.mpf(b)) for a, b in x.T.tolist()]
        assert errors(evaluate("pow", x), exact, dtype).max() <= (ULPS["pow"] if dtype is np.float64 else 0.6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values_of_pow(dtype):
    values = [0.0, 5e-324, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 1e300, 2.0**53, 2.0**53 + 2, math.inf, math.nan]
    with np.errstate(all="ignore"):
        every = np.array([*values, *np.negative(values)]).astype(dtype)
        x = np.array([(a, b) for a in every for b in every], dtype).T.copy()
        expected = np.power(*x)
    y = evaluate("pow", x)
    np.testing.assert_allclose(y, expected, rtol=2e-15 if dtype is np.float64 else 1e-6)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(y[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("name", UNARY)
def test_special_values(name):
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, -1.0, -2.0, 5e-324, -5e-324])
    y, expected = evaluate(name, x), np.array([getattr(runtime, name)(v) for v in x])
    np.testing.assert_allclose(y, expected, rtol=1e-15)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(y[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*UNARY, "pow"])
def test_loops_are_packed(name, dtype):
    x = np.ones((2, 50) if name == "pow" else 50, dtype)
    evaluate(name, x)
    asm = "\n".join(LOOPS[name].inspect_asm().values())
    assert re.search(r"vmulpd\s+.*%[yz]mm|mulpd\s", asm), "no packed multiplication"
    assert not re.search(rf"callq?\s+.*\b{name}\b", asm)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_anywhere_in_a_vector(name):
    for position in range(37):
        x = np.linspace(-3.0, 3.0, 37)
        x[position] = 1e22
        np.testing.assert_allclose(evaluate(name, x), getattr(np, name)(x), rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_loops_keep_registers_over_the_test_for_huge_arguments(name):
    """The function called for a vector of arguments does nothing but compare them, where all are common ones."""
    evaluate(name, np.ones(50))
    asm = "\n".join(LOOPS[name].inspect_asm().values())
    for lanes in (2, 4, 8):
        body = re.search(rf"^stgrad\.{name}\.rare\.{lanes}:\n(.*?)\bret", asm, re.S | re.M)
        assert body and body[1].count("\n") < 25


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_test_for_huge_arguments_stands_in_vectorised_loops(name):
    """Loops of programs call nothing but what stands behind a test that fails for common arguments."""
    compiled = loop(name, pipeline_class=Compiler)
    for x in (np.linspace(-3.0, 3.0, 37), np.r_[np.ones(5), 1e22, np.ones(31)]):
        y = np.empty_like(x)
        compiled(x, y)
        np.testing.assert_allclose(y, getattr(np, name)(x), rtol=1e-15)
    (asm,) = compiled.inspect_asm().values()
    assert not re.search(rf"call.*stgrad\.{name}\.rare\.", asm) and re.search(rf"stgrad\.{name}\.slow\.\d", asm)


def test_calls_for_huge_arguments_leave_the_frame_alone():
    """A convention of calls by which they may change the frame pointer made LLVM look for vectors of this program 16 bytes beside their places."""

    def energy(p):
        root = optimize.brentq(lambda m: np.tanh(p[0] - m) + p[1] * m, -5, 5)
        return root + integrate.quad(lambda t: np.exp(-p[0] * t) * np.cos(p[1] * t), 0, 2)[0]

    gradient, direction = stgrad.grad(energy), np.cos(np.arange(2) + 1.0)
    p, step = np.array([0.5, 0.2]), 1e-5
    expected = (gradient(p + step * direction) - gradient(p - step * direction)) / (2 * step)
    np.testing.assert_allclose(stgrad.grad(lambda y: np.sum(gradient(y) * direction))(p), expected, rtol=1e-6)


def test_infinite_and_huge_arguments_in_one_vector():
    x = np.array([math.inf, 1e300, -math.inf, math.nan, 1.0, -1e300, 8e5, -0.0, 5e-324] * 4)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(evaluate("sin", x), np.sin(x), rtol=1e-15, atol=0)
        np.testing.assert_allclose(evaluate("cos", x), np.cos(x), rtol=1e-15, atol=0)


def test_scalars_of_other_types():
    @numba.njit
    def f(x, i, b):
        return runtime.exp(i), runtime.exp(b), runtime.pow(x, i), runtime.pow(i, 2), runtime.exp(x)

    assert f(3.0, 2, True) == pytest.approx((math.exp(2), math.e, 9.0, 4.0, math.exp(3)))
    assert numba.typeof(numba.njit(lambda x: np.array([runtime.exp(x)]))(np.float32(1))).dtype == numba.float32


def test_plain_python_takes_scalars_and_arrays():
    for name in UNARY:
        f = getattr(runtime, name)
        assert f(np.float32(0.5)).dtype == np.float32 and f(0.5) == pytest.approx(float(EXACT[name](0.5)))
        assert f(np.array([0.5, 0.25])).shape == (2,)
    assert runtime.pow(2, -1) == 0.5 and runtime.pow(np.float32(2), 0.5).dtype == np.float32
