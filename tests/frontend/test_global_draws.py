"""Draws from NumPy's global generator, and from Numba's in compiled code: the numbers of plain runs, bit for bit, and derivatives in the parameters."""

from __future__ import annotations

import gc
import warnings

import numba
import numpy as np
import pytest

import stgrad
from stgrad import errors
from stgrad.runtime import generators


def every_distribution(a, b, n):
    s = 0.0
    for i in range(n):
        s += np.random.random() * np.random.normal(a, b) + np.random.uniform(-b, a + 2.0)
        if i % 3 == 0:
            s += np.random.exponential(b) - np.random.randn() * np.random.standard_normal()
        else:
            s *= 0.5 + 0.1 * np.random.rand() + np.random.rayleigh(b) + 0.01 * np.random.lognormal(0.1 * a, 0.2 * b)
    return s + np.random.standard_exponential() * a


def arrays(a, b, n):
    z = np.random.normal(a, b, size=(n, 2))
    w = np.random.randn(2, n) + np.random.rand(n) + np.random.random(size=n)
    u = np.random.uniform(0.0, np.full(2, b))
    e = np.random.exponential(a, 3)
    return np.sum(np.tanh(z) @ w) + np.sum(u * u) + np.sum(e) * np.random.random_sample()


def seeded(a, b, n):
    np.random.seed(n + 5)
    total = 0.0
    for _ in range(n):
        path = a
        for _ in range(3):
            path *= np.exp(0.1 * b * np.random.normal() - 0.005 * b * b)
        total += max(path - 1.0, 0.0)
    return total / n


def integers(a, b, n):
    s = 0.0
    for k in range(1, 3 * n):
        s += a ** np.random.randint(4) * np.random.randint(-k, k * k) + b * np.random.randint(k, k + 1)
    return np.tanh(s / 1e4) + b * np.random.randint(2**40, 2**50) / 2**50 + a * np.random.random()


def resampled(a, b, n):
    x = np.sin(a * np.arange(1.0, n + 1.0))
    at = np.random.randint(0, n, size=n)
    s = np.sum(x[at] ** 2) + np.random.choice(x) + np.sum(np.random.choice(x, size=(2, n)) ** 3)
    s += b * np.sum(np.random.choice(n, 4, p=np.arange(1.0, n + 1.0) / (n * (n + 1) / 2)) * 0.1)
    order = np.random.permutation(n)
    np.random.shuffle(x)
    s += np.sum(x[order] * np.arange(n)) + np.sum(np.random.choice(x, 3, replace=False) * np.arange(3))
    return s + np.random.randn() * np.sum(np.random.permutation(x)[:2])


PROGRAMS = (every_distribution, arrays, seeded, integers, resampled)


def run(f, *args):
    np.random.seed(11)
    np.random.standard_normal()  # the other one of a pair is kept
    value = f(*args)
    return value, np.random.random(), np.random.standard_normal()


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_numbers_of_a_plain_run(f):
    for _ in range(3):  # the second call goes another way
        plain, compiled = run(f, 1.3, 0.7, 8), run(stgrad.jit(f), 1.3, 0.7, 8)
        np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-14)
        assert compiled[1:] == plain[1:], "the generator goes on from where a plain run would leave it"


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_in_the_parameters(f, jit):
    gradient, h = stgrad.value_and_grad(f, (0, 1), jit=jit, mode="reverse"), 1e-6
    for _ in range(3):
        (value, (a_bar, b_bar)), *behind = run(gradient, 1.3, 0.7, 8)
        plain = run(f, 1.3, 0.7, 8)
        np.testing.assert_allclose(value, plain[0], rtol=1e-14)
        np.testing.assert_allclose(a_bar, (run(f, 1.3 + h, 0.7, 8)[0] - run(f, 1.3 - h, 0.7, 8)[0]) / (2 * h), rtol=1e-6)
        np.testing.assert_allclose(b_bar, (run(f, 1.3, 0.7 + h, 8)[0] - run(f, 1.3, 0.7 - h, 8)[0]) / (2 * h), rtol=1e-6)
        assert behind == list(plain[1:])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [every_distribution, seeded], ids=lambda f: f.__name__)
def test_derivatives_that_run_the_function_once(f, jit):
    """A tangent program, the gradient pushed forward, and the gradient by either mode draw what the function draws."""
    args, direction = (1.3, 0.7, 8), (1.0, 2.0, None)
    (value, gradient), *behind = run(stgrad.value_and_grad(f, (0, 1), jit=jit, mode="reverse"), *args)
    (found, tangent), *after = run(lambda *a: stgrad.jvp(f, a, direction, jit=jit), *args)
    np.testing.assert_allclose((found, tangent), (value, gradient[0] + 2.0 * gradient[1]))
    assert after == behind
    for mode in ("forward", "auto"):
        (found, other), *after = run(stgrad.value_and_grad(f, (0, 1), jit=jit, mode=mode), *args)
        np.testing.assert_allclose((found, *other), (value, *gradient))
        assert after == behind
    product = run(lambda *a: stgrad.hvp(f, a, direction, jit=jit)[:2], *args)[0]
    plus, minus = (run(stgrad.grad(f, (0, 1), jit=jit), 1.3 + h, 0.7 + 2.0 * h, 8)[0] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(product, (np.array(plus) - minus) / 2e-6, rtol=1e-5, atol=1e-7)


def test_tangents_with_the_generator_of_an_argument():
    def walk(a, rng, n):
        s = a
        for _ in range(n):
            s = np.sin(s + rng.normal(0.0, a))
        return s

    for jit in (False, True):
        one, other = np.random.default_rng(5), np.random.default_rng(5)
        value, slope = stgrad.value_and_grad(walk, jit=jit)(0.4, one, 6)
        np.testing.assert_allclose(stgrad.jvp(walk, (0.4, other, 6), (1.0, None, None), jit=jit), (value, slope))
        assert one.random() == other.random()


@numba.njit
def numbas(a, n, seed):
    if seed >= 0:
        np.random.seed(seed)
    s = 0.0
    for _ in range(n):
        s += np.tanh(a * np.random.normal()) * np.random.random() + a * np.random.randint(3)
    return s


def test_compiled_functions_draw_from_their_own_generator():
    gradient, h = stgrad.value_and_grad(numbas, jit=True), 1e-6
    before = np.random.get_state()[1].copy()
    for _ in range(3):
        value, a_bar = gradient(0.8, 9, 4)
        assert value == numbas(0.8, 9, 4)
        np.testing.assert_allclose(a_bar, (numbas(0.8 + h, 9, 4) - numbas(0.8 - h, 9, 4)) / (2 * h), rtol=1e-6)
    numbas(0.8, 1, 4)
    expected = [numbas(0.8, 3, -1), numbas(0.8, 3, -1)]
    numbas(0.8, 1, 4)
    assert [gradient(0.8, 3, -1)[0], gradient(0.8, 3, -1)[0]] == expected, "each call goes on where the last one stopped"
    assert np.array_equal(before, np.random.get_state()[1])


def both(a, n):
    return numbas(a, n, 3) * np.random.random()


def marked(a, n):
    for _ in stgrad.checkpointed(range(n)):
        a = np.sin(a) * np.random.random()
    return a


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (lambda: stgrad.jacobian(lambda x: x * np.random.random(3), jit=True)(np.ones(3)), "more than once"),
        (lambda: stgrad.linearize(seeded, 1.0, 0.5, 3)[1](1.0, 0.0, None), "inside another function"),
        (lambda: stgrad.grad(lambda x: x[0] * np.random.random(), mode="forward", jit=True)(np.ones(2)), "inside another function"),
        (lambda: stgrad.grad(lambda x: stgrad.jvp(seeded, (x, 0.5, 3), (1.0, 0.0, None))[1], jit=True)(1.0), "inside another function"),
        (lambda: stgrad.grad(every_distribution, jit=True, memory=10**6)(1.0, 0.5, 3), "more than once"),
        (lambda: stgrad.grad(lambda x: stgrad.grad(seeded)(x, 0.5, 3), jit=True)(1.0), "inside another function"),
        (lambda: stgrad.grad(marked, jit=True)(1.0, 6), "more than once"),
        (lambda: stgrad.grad(both, jit=True)(1.0, 3), "others in compiled code"),
    ],
)
def test_what_would_draw_again_or_in_another_order_is_refused(use, why):
    with pytest.raises(errors.UnsupportedSyntaxError, match=why):
        use()


def test_wrong_parameters_raise_as_in_numpy():
    with pytest.raises(ValueError, match="scale < 0"):
        stgrad.grad(lambda s: np.random.normal(0.0, s), jit=True)(-1.0)


def test_no_trip_calls_python():
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.NativeCodeWarning)
        stgrad.grad(every_distribution, jit=True)(1.3, 0.71, 4)


def test_an_unused_draw_is_drawn():
    def burnt(x, n):
        for _ in range(n):
            np.random.normal()
        return x * np.random.random()

    np.random.seed(2)
    expected = burnt(2.0, 5)
    np.random.seed(2)
    assert stgrad.value_and_grad(burnt, jit=True)(2.0, 5)[0] == expected


# --------------------------------------------------------------------------- generators that are passed in


def of_a_generator(a, b, n, rng):
    s = rng.lognormal(a, 0.1 * b)
    for i in range(n):
        s += rng.random() * rng.normal(a, b) + rng.uniform(-b, a + 2.0) - rng.standard_exponential() * b
        if rng.integers(3) == 0:
            s *= 1.0 + 0.1 * np.sin(a * np.sum(rng.standard_normal(size=(2, i + 1)))) * rng.integers(2, 4, endpoint=True)
    return s + np.sum(rng.exponential(a, size=n) * np.arange(n))


def order_of_a_generator(a, b, n, rng):
    x = np.sin(a * np.arange(1.0, n + 1.0))
    rng.shuffle(x)
    at = rng.integers(0, n, size=(n, 2))
    s = np.sum(x[at] ** 2) * rng.integers(2**40, 2**50) / 2**50 + rng.choice(x) + b * np.sum(rng.choice(x, 4, p=np.full(n, 1.0 / n)))
    return s + np.sum(rng.permutation(x) * np.arange(n)) + b * np.sum(x[rng.permutation(n)] * np.arange(n)) + rng.random()


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
@pytest.mark.parametrize("f", [of_a_generator, order_of_a_generator])
def test_generators_that_are_passed_in(f, bits, jit):
    gradient, h = stgrad.value_and_grad(f, (0, 1), jit=jit), 1e-6
    fresh = lambda: np.random.Generator(bits(9))  # noqa: E731
    for _ in range(2):
        mine, its = fresh(), fresh()
        value, (a_bar, b_bar) = gradient(1.3, 0.7, 7, its)
        np.testing.assert_allclose(value, f(1.3, 0.7, 7, mine), rtol=1e-14)
        assert its.random() == mine.random(), "it goes on from where the program stopped"
        np.testing.assert_allclose(a_bar, (f(1.3 + h, 0.7, 7, fresh()) - f(1.3 - h, 0.7, 7, fresh())) / (2 * h), rtol=1e-6)
        np.testing.assert_allclose(b_bar, (f(1.3, 0.7 + h, 7, fresh()) - f(1.3, 0.7 - h, 7, fresh())) / (2 * h), rtol=1e-6)


def test_what_a_generator_does_not_draw_here():
    with pytest.raises(errors.UndefinedNameError, match="a `Generator` has no attribute `poisson` here"):
        stgrad.grad(lambda x, rng: x * rng.poisson(2.0), jit=True)(1.0, np.random.default_rng(1))


# --------------------------------------------------------------------------- generators that the program seeds, in loops


def seeded_by_an_argument(a, b, n, seed):
    rng = np.random.default_rng(seed)
    first, total = rng.normal(), 0.0
    for _ in range(n):
        path = a * np.exp(0.3 * b * rng.normal() + 0.1 * first)
        if path > 1.0:
            total += path * rng.random()
    return total / n + rng.uniform(0.0, b)


def seeded_by_constants(a, b, n, seed):
    """Constants before the loop, then draws of the running program; two generators of one seed stay two."""
    rng, other = np.random.default_rng(7), np.random.default_rng(7)
    total = rng.normal(size=3).sum() * a
    for i in range(n + seed):
        inner = np.random.default_rng(i)
        total += np.exp(0.1 * b * rng.normal()) * other.random() * inner.uniform(0.0, a)
    return total / n + rng.uniform(0.0, b) + other.normal() * a


def seeded_with_moving_parameters(a, b, n, seed):
    rng = np.random.default_rng(5)
    z = rng.standard_normal(4)
    return np.sum(z * rng.normal(a, b, size=4)) + rng.uniform(a, 2.0 + b) * rng.exponential(b) + np.sum(rng.normal(a, np.abs(z))) + n * seed


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [seeded_by_an_argument, seeded_by_constants, seeded_with_moving_parameters])
def test_generators_that_the_program_seeds(f, jit):
    gradient, h = stgrad.value_and_grad(f, (0, 1), jit=jit), 1e-6
    for seed in (3, 3, 4):
        value, (a_bar, b_bar) = gradient(1.3, 0.7, 7, seed)
        np.testing.assert_allclose(value, f(1.3, 0.7, 7, seed), rtol=1e-14)
        np.testing.assert_allclose(a_bar, (f(1.3 + h, 0.7, 7, seed) - f(1.3 - h, 0.7, 7, seed)) / (2 * h), rtol=1e-6)
        np.testing.assert_allclose(b_bar, (f(1.3, 0.7 + h, 7, seed) - f(1.3, 0.7 - h, 7, seed)) / (2 * h), rtol=1e-6)


def test_many_generators_do_not_end_the_one_that_is_drawn_from():
    def many(a, n):
        rng, total = np.random.default_rng(n), 0.0
        for i in range(n):
            inner = np.random.default_rng(i)
            total += a * inner.random() * rng.random()
        return total

    value, _ = stgrad.value_and_grad(many, jit=True)(1.5, 6000)
    gc.collect()
    np.testing.assert_allclose(value, many(1.5, 6000), rtol=1e-13)
    assert len(generators._KNOWN) < 100, "they are gone with the arrays of their addresses"


@pytest.mark.parametrize("draw", ["global", "passed"])
def test_extents_that_differ_as_the_program_runs_draw_nothing_twice(draw):
    def windowed(a, x, n, rng):
        s = 0.0
        for i in range(3):
            z = np.random.normal() if rng is None else rng.normal()
            s += np.sum(x[i : i + n] * z * a * x[:3])
        return s

    gradient = stgrad.value_and_grad(windowed, jit=True)
    for n in (3, 1, 3, 1):
        results = []
        for run in (lambda *args: gradient(*args)[0], windowed):
            np.random.seed(3)
            results.append((run(2.0, np.arange(6.0), n, None if draw == "global" else np.random.default_rng(1)), np.random.random()))
        np.testing.assert_allclose(*results, rtol=1e-14)


# --------------------------------------------------------------------------- generators of modules and objects

RNG = np.random.default_rng(21)


class Simulator:
    def __init__(self, n, seed):
        self.n, self.rng, self.weights = n, np.random.default_rng(seed), np.arange(1.0, n + 1.0)

    def price(self, a, b):
        return sum(self.weights[i] * np.exp(a + b * self.rng.normal()) for i in range(self.n))


def of_the_module(a, b):
    return sum(np.sin(a + b * RNG.normal()) * RNG.random() for _ in range(5))


@pytest.mark.parametrize("jit", [False, True])
def test_generators_of_objects_and_modules(jit):
    h = 1e-6
    price = lambda a, b: Simulator(6, 4).price(a, b)  # noqa: E731
    its, mine = Simulator(6, 4), Simulator(6, 4)
    for _ in range(3):  # each call goes on where the last one stopped
        value, (a_bar, b_bar) = stgrad.value_and_grad(Simulator.price, (1, 2), jit=jit)(its, 0.2, 0.3)
        np.testing.assert_allclose(value, mine.price(0.2, 0.3), rtol=1e-14)
    value, (a_bar, b_bar) = stgrad.value_and_grad(Simulator.price, (1, 2), jit=jit)(Simulator(6, 4), 0.2, 0.3)
    np.testing.assert_allclose(a_bar, (price(0.2 + h, 0.3) - price(0.2 - h, 0.3)) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(b_bar, (price(0.2, 0.3 + h) - price(0.2, 0.3 - h)) / (2 * h), rtol=1e-6)
    gradient = stgrad.value_and_grad(of_the_module, jit=jit)
    for _ in range(3):
        state = RNG.bit_generator.state
        value, _ = gradient(0.2, 0.3)
        after, RNG.bit_generator.state = RNG.bit_generator.state, state
        np.testing.assert_allclose(value, of_the_module(0.2, 0.3), rtol=1e-14)
        assert after == RNG.bit_generator.state


def test_generators_in_functions_that_run_in_plain_python(monkeypatch):
    """What is passed on to plain Python is the generator, also where it stands in an object."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    seen = []

    def spoken(a, rng):
        seen.append(type(rng))
        return a * a

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert stgrad.grad(spoken)(3.0, np.random.default_rng(1)) == 6.0
    assert set(seen) == {np.random.Generator}


def test_a_generator_without_a_seed_is_another_one_in_each_call():
    gradient = stgrad.value_and_grad(lambda s: s * np.random.default_rng().normal(), jit=True)
    found = [gradient(2.0) for _ in range(4)]
    assert len({value for value, _ in found}) == 4
    np.testing.assert_allclose([value for value, _ in found], [2.0 * s_bar for _, s_bar in found], rtol=1e-14)


def test_pullbacks_are_of_what_was_drawn_for_the_value():
    def pair(x, n):
        s = sum(np.sin(x * np.random.normal()) * np.random.random() for _ in range(n))
        return s, x * np.random.normal()

    h = 1e-6
    for _ in range(3):
        np.random.seed(3)
        value, pullback = stgrad.vjp(pair, 1.2, 5)
        after = np.random.random()
        plain = {}
        for x in (1.2, 1.2 + h, 1.2 - h):
            np.random.seed(3)
            plain[x] = np.array(pair(x, 5))
        np.testing.assert_allclose(value, plain[1.2], rtol=1e-14)
        assert after == np.random.random()
        for cotangents in ((1.0, 0.0), (0.5, 2.0)):
            np.testing.assert_allclose(pullback(cotangents)[0], np.dot(cotangents, (plain[1.2 + h] - plain[1.2 - h]) / (2 * h)), rtol=1e-6)


def test_default_rng_of_a_generator_is_that_generator():
    """As libraries write it, so that a seed or a generator may be passed."""

    def seeded_or_not(a, rng=None):
        rng = np.random.default_rng(rng)
        return a * rng.normal() + rng.random()

    def of_a_module(a):
        rng = np.random.default_rng(RNG)
        return a * rng.normal() + rng.random()

    gradient = stgrad.value_and_grad(seeded_or_not, jit=True)
    for seed in (5, 6):
        assert gradient(1.5, seed)[0] == gradient(1.5, np.random.default_rng(seed))[0] == seeded_or_not(1.5, seed)
    state = RNG.bit_generator.state
    values = [stgrad.value_and_grad(of_a_module, jit=True)(1.5)[0], of_a_module(1.5)]
    RNG.bit_generator.state = state
    assert [of_a_module(1.5), of_a_module(1.5)] == values
    with pytest.raises(errors.UnsupportedSyntaxError, match="a state of its own"):
        bits = np.random.PCG64(3)
        stgrad.grad(lambda a: a * np.random.default_rng(bits).normal(), jit=True)(1.0)
