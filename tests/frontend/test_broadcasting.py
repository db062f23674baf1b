"""Extents that only the running program knows: equal, 1 or 0, they mean what NumPy makes of them, or raise what it raises."""

import itertools

import numpy as np
import pytest

import stgrad

X = np.array([0.3, 0.7, -0.4, 1.1, 2.5, 0.2])
W = np.arange(1.0, 13.0).reshape(3, 4) / 7.0


def product(x, n, m):
    return np.sum(x[:n] * np.sin(x[:m]))


def three(x, n, m):
    return np.sum(x[:n] * x[:m] + x * x[:m])


def column(x, n, m):
    w = np.outer(x, x)
    return np.sum((w[:, :n] * w[:, :m]) ** 2)


def both_axes(x, n, m):
    w = np.outer(x, x)
    return np.sum(w[:n] * w[:, :m])


def chosen(x, n, m):
    return np.sum(np.where(x[:n] > 0.5, x[:m], x[:n] * x[:m]))


def stored(x, n, m):
    a = np.zeros(6)
    a[6 - n :] = x[:m]
    return np.sum(a * a * x)


def added(x, n, m):
    a = x[:n] * 2.0
    a += x[:m]
    a *= np.cos(x[:m])
    return np.sum(a)


def made(x, n, m):
    return np.sum(np.ones(n) * x[:m] * x[1]) + np.sum(x * x)


def masked(x, n, m):
    few = x[x > np.sort(x)[6 - n - 1]] if n < 6 else x
    return np.sum(few * x[:m])


def in_loop(x, n, m):
    total = 0.0
    for i in range(3):
        total += np.sum(x[i : i + n] * x[i : i + m])
    return total


def widened(x, n, m):
    s = x[:n] * 1.0
    for i in range(m):
        s = s * x[:m] + 1.0
    return np.sum(s * s)


def not_used(x, n, m):
    y = x[:n] * x[:m]  # noqa: F841
    return np.sum(x * x)


def largest(x, n, m):
    return np.sum(np.maximum(x[:n], x[:m]) * x[:m])


PROGRAMS = [product, three, column, both_axes, chosen, stored, added, made, masked, in_loop, widened, not_used, largest]
EXTENTS = [(0, 1), (1, 0), (1, 1), (1, 3), (3, 1), (3, 3), (2, 3), (6, 1), (1, 6), (0, 0), (0, 2)]


def difference(f, x, *rest):
    """The gradient, by central differences."""
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    return np.array([(f(x + h, *rest) - f(x - h, *rest)) / 2e-6 for h in steps]).reshape(x.shape)


def check(f, x, rest, *, jit):
    transformed = stgrad.value_and_grad(f, jit=jit)
    try:
        value = f(x, *rest)
    except ValueError as problem:
        with pytest.raises(type(problem), match="broadcast"):
            transformed(x, *rest)
        return
    got, gradient = transformed(x, *rest)
    np.testing.assert_allclose(got, value, rtol=1e-12)
    np.testing.assert_allclose(gradient, difference(f, x, *rest), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_does(program, extents):
    check(program, X, extents, jit=False)


@pytest.mark.parametrize("program", [product, column, stored, added, in_loop, widened], ids=lambda f: f.__name__)
def test_one_function_for_all_extents(program):
    """The same object meets extents that agree and that do not, in native code, in any order."""
    transformed = stgrad.value_and_grad(program)
    for extents in [(3, 3), (1, 3), (3, 3), (3, 1), (2, 3), (1, 1), (0, 1)]:
        try:
            value = program(X, *extents)
        except ValueError:
            with pytest.raises(ValueError, match="broadcast"):
                transformed(X, *extents)
            continue
        got, gradient = transformed(X, *extents)
        np.testing.assert_allclose(got, value, rtol=1e-12)
        np.testing.assert_allclose(gradient, difference(program, X, *extents), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", [product, both_axes, largest, widened], ids=lambda f: f.__name__)
@pytest.mark.parametrize("extents", [(1, 6), (6, 1), (6, 6)], ids=str)
def test_second_order(program, extents):
    first = stgrad.grad(program, jit=False)
    weights = np.cos(np.arange(6.0))

    def along(x):
        return np.sum(stgrad.grad(program)(x, *extents) * weights)

    got = stgrad.grad(along, jit=False)(X)
    expected = [np.sum((first(X + h, *extents) - first(X - h, *extents)) * weights) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


def test_programs_whose_extents_agree_do_not_stretch():
    def neighbours(x):
        return np.sum(x[1:] * x[:-1])

    text = stgrad.grad(product).lowered(X, 3, 3)
    assert "stretch" not in text and "could not be broadcast" in text
    assert "could not" not in stgrad.grad(neighbours).lowered(X)


def test_the_error_has_its_place():
    with pytest.raises(ValueError, match=r"could not be broadcast together \(line \d+: return np.sum\(x\[:n\] \* np.sin"):
        stgrad.grad(product)(X, 2, 3)


def test_columns_in_a_loop():
    def weighted(w, y):
        total = 0.0
        for b in range(w.shape[1]):
            total += np.sum((w[:, b : b + 1] * y) ** 2)
        return total

    for y in (X[:3], X[:3, None], X[:1], np.outer(X[:3], X[:2])):
        gradient = stgrad.grad(weighted)(W, y)
        np.testing.assert_allclose(gradient, difference(weighted, W, y), rtol=1e-6)


def test_a_function_that_writes_runs_once():
    """What a program changes outside is changed once, whatever its extents are."""

    def scaled(out, x, n):
        out += 1.0
        out *= x[:n]

    for n in (1, 6):
        out = np.ones(6)
        stgrad.jit(scaled)(out, X, n)
        np.testing.assert_allclose(out, 2.0 * X[:n] * np.ones(6))


@pytest.mark.parametrize("n", range(4))
def test_lists_of_extents(n):
    """Elementwise operations of three operands, each with a few or no items."""

    def f(x, a, b, c):
        return np.sum(x[:a] * x[:b] - x[:c])

    for rest in itertools.product((n,), (0, 1, 2, 3), (0, 1, 3)):
        check(f, X, rest, jit=False)


def test_extents_are_compared_before_what_relies_on_them():
    """Also where the one that is read by afterwards is known from the start."""

    def narrowed(A):
        for j, _ in enumerate(A, start=1):
            A[1:] -= A[1:, j : j + 1]
        return A[0, 1] + A[1, 1] ** 2

    A = np.outer(X[:2], X[:3])
    text = stgrad.grad(narrowed).lowered(A).split("# grad of")[0]
    loop = text[text.index("for k in") :]
    assert loop.index("could not be broadcast together") < loop.index("] += ")
    np.testing.assert_allclose(stgrad.grad(narrowed)(A), difference(narrowed, A), rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_one_item_is_stored_into_an_axis_of_more(jit):
    """A small array of one item has no elements for the others."""

    def f(A, x):
        A[1] = np.full(1, 2.0) * x[0]
        A[0] += np.ones(1)
        x += np.zeros(1)
        return np.sum(A**2) * np.sum(x)

    A = np.outer(X[:2], X[:3])
    gradients = stgrad.grad(f, (0, 1), jit=jit)(A, X[:2])
    np.testing.assert_allclose(gradients[0], difference(lambda A: f(A, X[:2].copy()), A), rtol=1e-6)
    np.testing.assert_allclose(gradients[1], difference(lambda x: f(A.copy(), x), X[:2]), rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
def test_a_stack_of_matrices_and_one_column(jit):
    def f(x):
        return np.sum((np.ones((2, 3, 3)) @ x[None][..., None]) ** 2)

    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X[:3]), difference(f, X[:3]), rtol=1e-6)


def stored(x, y):
    first = y[0]
    x = x * 1.0
    for _ in range(y.size):
        x[2:] = x[1::2]
    return first


def stored_in_a_branch(x, y):
    x = x * 1.0
    if y[0] > 0.0:
        x[2:] = x[1::2]
    return y[1] * y[0]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("f", [stored, stored_in_a_branch], ids=lambda f: f.__name__)
def test_a_store_that_nothing_reads_raises_where_it_does_not_fit(f, n, jit):
    """Of known extents, too: then nothing but the extents themselves tells."""
    x, y = np.ones(n), np.ones(3)
    slope = stgrad.grad(f, argnums=1, jit=jit)
    if n == 5:
        for _ in range(2):
            with pytest.raises(ValueError, match="could not be broadcast"):
                slope(x, y)
    else:
        assert np.array_equal(slope(x, y), [1.0, 0.0, 0.0] if f is stored else [1.0, 1.0, 0.0])
    assert np.array_equal(stgrad.grad(stored_in_a_branch, argnums=1, jit=jit)(np.ones(5), -y), [-1.0, -1.0, 0.0])
