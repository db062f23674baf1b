"""Numbers that NumPy refuses, known to the running program alone: the same class of exceptions from gradients, compiled and not, and in handlers."""

import warnings

import numpy as np
import pytest

import stgrad

X = np.array([1.5, 2.0, 3.0, -1.0])

PROGRAMS = {
    "percentile": (lambda x, q: np.percentile(x, q), (101.0, -1.0, np.array([50.0, 120.0]), np.nan)),
    "nanpercentile": (lambda x, q: np.nanpercentile(x, q), (101.0,)),
    "quantile": (lambda x, q: np.quantile(x, q), (1.5, -0.1)),
    "bincount": (lambda x, i: np.bincount(i, weights=x), (np.array([0, -1, 1, 1]), np.array([0, -2_000_000_000, 1, 1]))),
    "delete": (lambda x, i: np.delete(x, i), (9, -9, np.array([0, 7]))),
    "insert": (lambda x, i: np.insert(x, i, 2.0), (9, -9, np.array([0, 7]))),
    "choose": (lambda x, i: np.choose(i, [x, x * 2]), (np.array([0, 1, 2, 0]), np.array([0, -1, 0, 0]))),
    "reduceat": (lambda x, i: np.add.reduceat(x, i), (np.array([0, 9]), np.array([-1]))),
    "vander": (lambda x, n: np.vander(x, n), (-1,)),
    "polyfit": (lambda x, n: np.polyfit(x, x * x, n), (-1,)),
    "interp": (lambda x, n: np.interp(x, np.arange(2.0)[:n], np.arange(2.0)[:n]), (0,)),
    "take": (lambda x, i: np.take(x, i), (np.array([0, 7]), -9)),
    "maximum": (lambda x, n: np.max(x[:n]), (0,)),
    "minimum of rows": (lambda x, n: np.min(np.outer(x[:n], x), axis=0), (0,)),
    "argmax": (lambda x, n: x[np.argmax(x[:n])], (0,)),
    "largest of a list": (lambda x, t: max([v for v in x if v > t]), (9.0,)),
    "step": (lambda x, n: x[::n], (0,)),
    "shift": (lambda x, n: (1 << n) * x, (-1,)),
    "repeat": (lambda x, n: np.repeat(x, n), (-1,)),
    "linspace": (lambda x, n: np.linspace(0.0, x[0], n), (-1,)),
    "full": (lambda x, n: np.full(n, x[0]), (-1,)),
}
CASES = [(name, f, value) for name, (f, values) in PROGRAMS.items() for value in values]


@pytest.mark.parametrize(("name", "f", "value"), CASES, ids=[f"{name}-{k}" for k, (name, _, _) in enumerate(CASES)])
@pytest.mark.parametrize("jit", [False, True])
def test_raises_as_numpy_does(name, f, value, jit) -> None:
    def total(x, value):
        return np.sum(f(x, value))

    with pytest.raises(Exception) as theirs:  # noqa: PT011
        total(X, value)
    with pytest.raises(theirs.type):
        stgrad.grad(total, jit=jit)(X, value)


@pytest.mark.parametrize(("name", "f", "value"), CASES, ids=[f"{name}-{k}" for k, (name, _, _) in enumerate(CASES)])
def test_a_handler_is_taken(name, f, value, monkeypatch) -> None:
    """Compiled where the condition is one that the program can test, in plain Python else."""
    monkeypatch.setenv("STGRAD_PLAIN", "1")

    def handled(x, value):
        try:
            y = np.sum(f(x, value))
        except (ValueError, IndexError):
            y = x[0] ** 3
        return 2.0 * y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stgrad.errors.RunsPlainlyWarning)
        assert stgrad.value_and_grad(handled)(X, value)[0] == handled(X, value) == 2.0 * X[0] ** 3
        np.testing.assert_allclose(stgrad.grad(handled)(X, value), [6.0 * X[0] ** 2, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("places", [np.array([-1, 0]), np.array([-1]), np.array([4, 4]), -1])
def test_places_below_zero_count_from_the_end(places) -> None:
    weights = np.arange(1.0, 7.0)

    def f(x):
        y = np.insert(x, places, 8.0)
        return np.sum(y * weights[: len(y)])

    for jit in (False, True):
        assert stgrad.value_and_grad(f, jit=jit)(X)[0] == f(X)


def checked_first(a, x):
    np.linalg.cholesky(a)
    return x * x


def read_for_its_place(a, x):
    a[0, 5]
    return x * x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "good", "bad"), [(checked_first, np.eye(2), -np.eye(2)), (read_for_its_place, np.zeros((1, 6)), np.zeros((1, 5)))])
def test_what_nobody_reads_is_run_for_what_it_raises(f, good, bad, jit) -> None:
    g = stgrad.grad(f, argnums=1, jit=jit)
    assert g(good, 3.0) == 6.0
    with pytest.raises((ValueError, IndexError)):
        g(bad, 3.0)
