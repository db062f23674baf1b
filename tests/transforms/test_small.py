"""Small local arrays as scalars: random programs over vectors and matrices of 2 and 3 keep their values and gradients."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import jit, value_and_grad
from stgrad.frontend import read
from stgrad.printer import to_source
from stgrad.program import spec_of
from stgrad.transforms.simplify import simplify
from stgrad.transforms.small import small_arrays
from stgrad.verify import verify


def oscillator(start, h, steps):
    k = np.empty(2)
    z = np.array([start, 0.5])
    for _ in range(steps):
        k[0] = z[1]
        k[1] = -np.sin(z[0])
        z = z + h * k
    return np.sum(z * z)


def test_vectors_of_constant_length_are_scalars() -> None:
    text = value_and_grad(oscillator).lowered(1.0, 0.1, 5)
    assert "np.empty(2)" not in text
    assert "z_0" in text
    value, bar = value_and_grad(oscillator)(1.0, 0.1, 5)
    assert np.isclose(value, oscillator(1.0, 0.1, 5))
    assert np.isclose(bar, (oscillator(1.0 + 1e-6, 0.1, 5) - oscillator(1.0 - 1e-6, 0.1, 5)) / 2e-6)


def shifted(x):
    v = np.empty(3)
    v[0] = x[0]
    v[1] = 2.0
    v[2] = x[1]
    w = v[1:]
    v[1:] = v[:2] * x[2]
    w[0] += 1.0
    return v[0] * v[1] + v[2] * w[0] * w[1]


def test_views_and_overlaps() -> None:
    x = np.array([0.3, 0.7, 1.1, 4.0])
    assert np.isclose(jit(shifted)(x), shifted(x))


def matched(x):
    v = np.zeros(3)
    return np.sum(v + x)


def test_another_extent_raises() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        jit(matched)(np.ones(4))


def divided(x):
    v = np.zeros(2)
    v[0] = x
    return v[0] / v[1]


def test_division_by_zero_is_that_of_numpy() -> None:
    with np.errstate(all="ignore"):
        assert np.isinf(jit(divided)(1.0))


class Writer:
    """Statements over vectors of 2 and 3, 2 by 2 and 2 by 3 matrices, and floats, with loops and branches."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines = ["import numpy as np", "def f(x, y, T):", "    a = x[0] * 0.5", "    b = y[1]"]
        self.lines += ["    u = np.array([a, 0.4])", "    v = np.array([1.0, b, a * b])", "    w = np.zeros(3)"]
        self.lines += ["    A = np.array([[a, 1.0], [0.2, b]])", "    B = np.ones((2, 3))"]

    def vector(self) -> str:
        r = self.rng
        return r.choice(["v", "w", "B[0]", "B[1]", "v * w", "np.sin(v)", "u @ B", "w[::-1]", "v + b", "x[:3]", "y", "-w", "v / 3.0"])

    def pair(self) -> str:
        return self.rng.choice(["u", "v[1:]", "w[:2]", "A @ u", "A[0]", "A[:, 1]", "B[:, 2]", "np.tanh(u)", "A.T @ u", "u ** 2", "0.5"])

    def number(self) -> str:
        return self.rng.choice(["a", "b", "u[0]", "v[2]", "w[-1]", "A[0, 1]", "np.sum(w)", "np.dot(v, w)", "np.sum(A)", "0.3", "x[1]"])

    def statement(self, depth: int) -> list[str]:
        r = self.rng
        kind = r.randrange(9 if depth < 2 else 7)
        op = r.choice(["=", "+="])
        if kind == 0:
            return [
                f"{r.choice(['v', 'w', 'B[0]', 'w[:]', 'B[1, :]'])} {op} {self.vector()}"
                if r.random() < 0.7
                else f"v = {self.vector()} * 1.0"
            ]
        if kind == 1:
            return [f"{r.choice(['u[:]', 'A[0]', 'A[:, 1]', 'w[1:]', 'B[:, 0]'])} {op} {self.pair()}"]
        if kind == 2:
            return [f"{r.choice(['u[1]', 'v[0]', 'w[-1]', 'A[1, 0]', 'a'])} {op} 0.5 * {self.number()}"]
        if kind == 3:
            return [f"u = {self.pair()} * {self.number()} + u * 0.1"]
        if kind == 4:
            return ["A = 0.3 * A @ A + A.T" if r.random() < 0.5 else "A[:, :] = A.T"]
        if kind == 5:
            return [f"v, w = {self.vector()} * 0.9, {self.vector()} * 0.7"]
        if kind == 6:
            return [f"for k in range({r.choice([2, 3])}):", f"    w[k] {op} {r.choice(['v[k]', 'k * 0.1', 'w[2 - k] * a'])}"]
        head = f"for t{depth} in range(T):" if kind == 7 else f"if {self.number()} > 0.25:"
        return [head, *("    " + line for _ in range(r.randrange(1, 4)) for line in self.statement(depth + 1))]

    def source(self) -> str:
        for _ in range(self.rng.randrange(2, 9)):
            self.lines += ["    " + line for line in self.statement(0)]
        return "\n".join([*self.lines, "    return np.sum(u) + np.dot(v, w) + np.sum(A) + np.sum(B) + a * b", ""])


def define(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)  # noqa: S102
    return space


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    function = define(Writer(seed).source(), f"<small {seed}>")["f"]
    rng = np.random.default_rng(seed)
    args = {"x": rng.normal(size=5), "y": rng.normal(size=3), "T": 2}
    fn = small_arrays(simplify(read(function, {k: spec_of(v, k) for k, v in args.items()}).function))
    verify(fn)
    want = function(**{k: v.copy() if k != "T" else v for k, v in args.items()})
    got = define(to_source(fn), f"<small {seed} as scalars>")[fn.name](*args.values())
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_gradients(seed: int) -> None:
    function = define(Writer(seed).source(), f"<small {seed}>")["f"]
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=5), rng.normal(size=3)
    value, bar = value_and_grad(function, jit=False)(x, y, 2)
    direction = rng.normal(size=5)
    step = 1e-6 * direction
    want = (function(x + step, y, 2) - function(x - step, y, 2)) / 2e-6
    np.testing.assert_allclose(bar @ direction, want, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(value, function(x, y, 2), rtol=1e-10)


def carried(a, n):
    x = np.array([a, 1.0])
    v = np.array([0.5, a * a])
    for _ in range(n):
        moved = x + 0.1 * v
        if moved[1] > 1.3:
            v = v - 0.1 * moved
        x = moved
    return x[0] * v[1]


def seen_twice(a, n):
    """What is stored after another name looks into the array is seen through both."""
    x = np.array([a, 1.0])
    for _ in range(n):
        moved = np.array([x[1], a])
        x = moved
        moved[0] = moved[0] * a
    return x[0] * x[1]


@pytest.mark.parametrize(("f", "gone"), [(carried, True), (seen_twice, False)])
def test_arrays_that_a_loop_carries(f, gone: bool) -> None:
    found, h = value_and_grad(f, jit=False)(0.7, 5), 1e-6
    np.testing.assert_allclose(found, (f(0.7, 5), (f(0.7 + h, 5) - f(0.7 - h, 5)) / (2.0 * h)), rtol=1e-6)
    text = to_source(small_arrays(simplify(read(f, {"a": spec_of(0.7, "a"), "n": spec_of(5, "n")}).function)))
    assert ("np.empty" not in text) == gone, text


def stiffness(a, u):
    """A small matrix times a vector of an argument, from either side."""
    total = 0.0
    for k in range(u.shape[0]):
        m = np.array([[a, a * a, 1.0], [0.5, a, -a]])
        w = m @ u[k]
        total += w[0] * w[1] ** 2
    return total + np.sum((u[0, :2] * a) @ np.array([[a, 1.0], [2.0, a]])) ** 2


def test_products_with_a_vector_in_memory() -> None:
    u = np.array([[0.3, 1.2, -0.4], [0.8, 0.1, 0.6]])
    text = to_source(small_arrays(simplify(read(stiffness, {"a": spec_of(0.7, "a"), "u": spec_of(u, "u")}).function)))
    assert "np.empty" not in text and "@ u_k" not in text, text
    for compiled in (False, True):
        check_gradient(stiffness, (0.7, u), jit=compiled, order=1)
        with pytest.raises(ValueError):
            stgrad.grad(stiffness, jit=compiled)(0.7, np.ones((2, 4)))
    check_gradient(stiffness, (0.7, u), jit=False)


ROOTS = np.array([0.3, 0.2, 0.5])


def polynomial(x):
    """`a` is longer in each trip, and its extent is one symbol of the loop: written out, three arrays would have one extent."""
    a, one = np.ones(1), np.ones_like(x[0])
    for root in -ROOTS:
        a = np.convolve(a, np.stack((one, root * x[1])))
    b = np.multiply(np.array([0.5]), a)
    return b.shape[0] * x[0] + np.sum(b**2)


def test_a_loop_in_which_an_array_gets_longer_stays_a_loop() -> None:
    x = np.array([1.0, 2.0])
    assert stgrad.value_and_grad(polynomial, jit=False)(x)[0] == pytest.approx(polynomial(x), rel=1e-14)
    check_gradient(polynomial, (x,))


def products_of_factors(x):
    a = np.ones(1)
    for i in range(len(x)):
        a = np.convolve(a, np.array([1.0, x[i]]))
    return np.sum(a**2 * np.arange(len(a)))


def test_what_a_statement_reads_may_be_shorter_than_what_it_binds() -> None:
    """The cotangent of a factor has as many items as the product has more than what was there before: not one."""
    check_gradient(products_of_factors, (np.array([1.0, 0.5, -0.3, 0.7, 0.2, 0.9, -0.4]),), jit=True)


@pytest.mark.parametrize("second", [stgrad.hessian, lambda f: stgrad.jacrev(stgrad.jacfwd(f)), lambda f: stgrad.jacrev(stgrad.grad(f))])
def test_second_derivatives_of_products_whose_extents_change(second):
    """A cotangent of the product never goes by the extents of the factor that it is bound over."""
    x, step = np.array([1.0, 0.5, -0.3, 0.7, 0.2]), 1e-5
    gradient = stgrad.grad(products_of_factors, jit=False)
    expected = np.array([(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(5)])
    np.testing.assert_allclose(second(products_of_factors)(x), expected, rtol=1e-6, atol=1e-7)


def swung(q0, v0, k, steps):
    pos, vel = q0.copy(), np.copy(v0)
    cost = np.sum(q0)
    for _ in range(steps):
        length = np.sqrt(np.sum(pos**2))
        acc = -k * (length - 1.0) * pos / length
        acc[-1] -= 9.81
        if pos[0] > 0.2:
            acc[0] -= vel[0] ** 2
        vel = vel + 0.01 * acc
        pos = pos + 0.01 * vel
        cost += 0.01 * pos[-1] ** 2
    return cost + np.sum(vel * v0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_states_that_begin_as_arguments(n) -> None:
    """Copies of arguments whose extents are known, and sums of these, are elements too."""
    args = (np.linspace(0.3, 0.9, n), np.linspace(-0.2, 0.4, n), 3.0, 7)
    gradient = stgrad.grad(swung, argnums=(0, 1, 2), jit=True)
    for given, wanted in zip(gradient(*args), stgrad.grad(swung, argnums=(0, 1, 2), jit=False)(*args), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-12)
    check_gradient(swung, args, argnums=(0, 1, 2), jit=True)
    if n in (2, 3, 4):
        assert "isfinite(vel" not in gradient.running(*args)
        assert "work" not in gradient.running(*args)


TRANSITION, NOISE, SEEN = np.array([[1.0, 0.1], [0.0, 1.0]]), 0.01 * np.eye(2), np.array([1.0, 0.0])


def filtered(y, r, q):
    x, p, total = np.zeros(2), np.eye(2), 0.0
    for t in range(len(y)):
        x = TRANSITION @ x
        p = TRANSITION @ p @ TRANSITION.T + q * NOISE
        s = SEEN @ p @ SEEN + r
        k = p @ SEEN / s
        v = y[t] - SEEN @ x
        total -= 0.5 * (np.log(s) + v * v / s)
        x = x + k * v
        p = p - np.outer(k, SEEN @ p)
    return total


def test_products_with_short_matrices_from_outside() -> None:
    y = np.sin(0.3 * np.arange(9))
    gradient = stgrad.grad(filtered, argnums=(0, 1, 2), jit=True)
    for given, wanted in zip(gradient(y, 0.5, 1.0), stgrad.grad(filtered, argnums=(0, 1, 2), jit=False)(y, 0.5, 1.0), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-11)
    text = gradient.running(y, 0.5, 1.0)
    assert "matmul" not in text
    assert "range(2)" not in text
    check_gradient(filtered, (y, 0.5, 1.0), argnums=(0, 1, 2), jit=True)


def rotated(a, v):
    w = v.copy()
    for _ in range(3):
        w = a @ w + 0.1 * (w @ a)
        a = 0.5 * (a @ a.T)
    return np.sum(w * w)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_products_of_short_arguments(n) -> None:
    rng = np.random.default_rng(n)
    args = (0.5 * rng.normal(size=(n, n)), rng.normal(size=n))
    check_gradient(rotated, args, argnums=(0, 1), jit=True)


def by_choice(x, w):
    v = np.zeros(3)
    for i in range(len(w)):
        grows = v > 0.1
        v = np.where(grows & (v < 5.0), v * 0.9 + x, v + np.array([w[i], 0.2, -w[i]]))
        v = np.log1p(np.abs(v)) if i % 2 else np.arctan2(v, 1.5 + v * v)
    return np.prod(v) + np.sum(np.where(~(v > 3.0) | (v < -1.0), v, 0.0)) if np.any(v > 0.0) else np.sum(v)


def masked(x, w):
    v = x * 1.0
    for i in range(len(w)):
        v = v * w[i] + x
        v[v < 0.2] *= 3.0
    return np.sum(v[~(v > 3.0)]) + np.sum(1.0 / (v - v[0]), where=v != v[0]) + np.median(v)


def through_memory(x, w):
    v = x * 1.0
    for i in range(len(w)):
        v = np.sort(v) * w[i] + np.cumsum(v)[::-1]
        q, r = np.linalg.qr(np.outer(v, v) + 3.0 * np.eye(3))
        v = np.linalg.solve(q @ r, v) + 0.1 * v
    return np.max(v) * np.sum(v * x)


def from_the_end(x, w):
    states = np.zeros((len(w), 3))
    v = np.array([x[0], 0.3, x[2]])
    for i in range(len(w)):
        v = np.tanh(v * w[i] + 0.1 * v[::-1])
        states[i] = v
    back = states[len(w) - 1]
    cost = 0.0
    for i in range(len(w) - 2, -1, -1):
        back = 0.5 * back + states[i] * x
        cost += back[0] * back[2]
    return cost


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [by_choice, masked, through_memory, from_the_end])
def test_operations_without_a_form_run_in_memory(f) -> None:
    check_gradient(f, (np.array([0.3, 0.2, 0.55]), np.array([0.9, -0.4, 0.7, 0.2])))


def test_choices_and_memory_leave_the_others_scalars() -> None:
    x, w = np.array([0.3, 0.2, 0.55]), np.array([0.9, -0.4, 0.7, 0.2])
    gradient = value_and_grad(by_choice, (0, 1), jit=True)
    gradient(x, w)
    assert "np.log1p(np.float64(" in gradient.running(x, w)
    gradient = value_and_grad(from_the_end, jit=True)
    gradient(x, w)
    assert ".append" not in gradient.running(x, w)


def relaxed(x, steps):
    v = x.copy()
    for _ in range(steps):
        v = 0.5 * v + np.sin(v)
    return v


def test_a_result_is_put_into_memory_at_the_end() -> None:
    program = jit(relaxed)
    x = np.array([0.3, 0.7])
    result = program(x, 3)
    assert np.array_equal(result, relaxed(x, 3)) and not np.shares_memory(result, x)
    text = program.running(x, 3)
    assert text.count("[0]") == 2 and "v = 0.5 * v + np.sin(v)" in text
    np.testing.assert_allclose(stgrad.jacobian(relaxed)(x, 3), stgrad.jacobian(relaxed, jit=False)(x, 3), rtol=1e-13)


def test_results_that_share_memory_share_it() -> None:
    def views(x):
        v = x * 2.0
        return v, v[:2], v

    def given(x):
        v = x
        return v

    x = np.array([1.0, 2.0, 3.0])
    whole, part, again = jit(views)(x)
    assert np.shares_memory(whole, part) and np.shares_memory(whole, again)
    assert np.shares_memory(jit(given)(x), x)
