"""What keeps its shape and its length: items of a list of arrays, partners of a strict zip, samples, parts, and numbers of every precision."""

import itertools

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import errors
from stgrad.errors import RunsPlainlyWarning

X = np.array([1.0, 2.0, 0.5])


def shrinking(x, n):
    kept = []
    for i in range(n):
        kept.append(x[: 2 - i])
    return sum(v.sum() * len(v) for v in kept)


def replaced(x, n):
    kept = [x * i for i in range(len(x))]
    kept[0] = x[:n]
    return sum(v.sum() * len(v) for v in kept)


def mixed(x, n):
    kept = []
    for i in range(n):
        kept.append(x * i)
        kept.append(x[:1])
    return kept[-1].sum() * len(kept[-1])


def rows_of_lists(x, n):
    kept = []
    for i in range(n):
        kept.append([x[j] for j in range(i + 1)])
    return sum(sum(v) for v in kept)


def joined(x, n):
    kept, more = [], []
    for i in range(n):
        kept.append(x * i)
        more.append(x[:1])
    return sum(v.sum() * len(v) for v in kept + more)


def as_table(x, n):
    kept = []
    for i in range(n):
        kept.append(x[: 2 - i])
    return np.array(kept).sum()


RAGGED = {f: n for f, n in ((shrinking, 2), (replaced, 1), (mixed, 2), (rows_of_lists, 2), (joined, 2))}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", RAGGED)
def test_an_item_of_one_number_is_not_stretched_to_the_shape_of_its_neighbours(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_SHORT", "0")  # where extents are known, so is it which of the items has which
    with pytest.raises(errors.TypeInferenceError, match=r"the arrays in a list have different shapes \(line") as refused:
        stgrad.value_and_grad(f, jit=jit)(X, RAGGED[f])
    assert "one shape" in str(refused.value)


@pytest.mark.parametrize("f", RAGGED)
def test_such_a_list_runs_in_plain_python(f, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    monkeypatch.setenv("STGRAD_SHORT", "0")
    n, step = RAGGED[f], 1e-6
    with pytest.warns(RunsPlainlyWarning):
        value, slope = stgrad.value_and_grad(f)(X, n)
    assert value == f(X, n)
    assert np.allclose(slope, [(f(X + step * e, n) - f(X - step * e, n)) / (2 * step) for e in np.eye(3)], atol=1e-7)


@pytest.mark.parametrize("f", [replaced, mixed])
def test_such_a_list_of_known_extents(f):
    n, step = RAGGED[f], 1e-6
    value, slope = stgrad.value_and_grad(f, jit=True)(X, n)
    assert value == pytest.approx(f(X, n))
    assert np.allclose(slope, [(f(X + step * e, n) - f(X - step * e, n)) / (2 * step) for e in np.eye(3)], atol=1e-7)


def test_no_table_is_made_of_rows_that_differ(monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with pytest.raises(ValueError, match="inhomogeneous"):
        stgrad.value_and_grad(as_table)(X, 2)


@pytest.mark.parametrize("f", RAGGED)
def test_rows_of_one_shape_are_a_list(f):
    one = X[:1]
    assert stgrad.value_and_grad(f)(one, 1)[0] == f(one, 1)


def test_a_batch_has_results_of_one_shape():
    with pytest.raises(errors.TypeInferenceError, match="different shapes"):
        stgrad.vmap(lambda x: x[x > 1.0])(np.array([[2.0, 3.0], [0.0, 3.0]]))


def strict_loop(x, n):
    s = 0.0
    for a, b in zip(x, x[:n], strict=True):
        s += a * b
    return s


ZIPS = {
    "loop": (strict_loop, 2),
    "in a sum": (lambda x, n: sum(a * b for a, b in zip(x[:n], x, strict=True)), 1),
    "known lists": (lambda x, n: sum([a * b for a, b in zip([x[0], x[1]], [x[2]], strict=True)]), 1),
    "a range": (lambda x, n: sum(a * b for a, b in zip(range(n), x, strict=True)), 4),
    "the third": (lambda x, n: sum(a * b * c for a, b, c in zip(x, x, x[:n], strict=True)), 2),
    "with numbers": (lambda x, n: sum(b * k for (k, _), b in zip(enumerate(x), x[:n], strict=True)), 2),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", ZIPS)
def test_a_strict_zip_raises_what_python_raises(name, jit):
    f, n = ZIPS[name]
    with pytest.raises(ValueError) as expected:
        f(X, n)
    with pytest.raises(ValueError) as raised:
        stgrad.grad(f, jit=jit)(X, n)
    assert str(raised.value) == str(expected.value)


def test_a_strict_zip_of_equal_lengths_is_a_zip():
    assert stgrad.value_and_grad(strict_loop)(X, 3)[0] == strict_loop(X, 3)
    check_gradient(lambda x: sum(a * b[0] for a, b in zip(x, itertools.product(x[:1], x), strict=True)), (X,))  # its extent is compiled in


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [1, 2])
def test_samples_of_an_interpolation_are_as_many_as_their_places(n, jit):
    with pytest.raises(ValueError, match="fp and xp are not of the same length"):
        stgrad.grad(lambda x, n: np.interp(0.5, np.arange(n) * 1.0, x), jit=jit)(X, n)


@pytest.mark.parametrize("jit", [False, True])
def test_no_parts_are_no_division(jit):
    with pytest.raises(ZeroDivisionError):
        stgrad.grad(lambda x, n: sum((p**2).sum() for p in np.split(x, n)), jit=jit)(X, 0)
    with pytest.raises(ValueError, match="larger than 0"):
        stgrad.grad(lambda x, n: sum((p**2).sum() for p in np.array_split(x, n)), jit=jit)(X, 0)


def test_extended_precision_is_refused_where_it_begins():
    for f, x in ((lambda x: np.sum(x * x), X.astype(np.longdouble)), (lambda x: np.sum(x.astype(np.longdouble) * x), X)):
        with pytest.raises(errors.TypeInferenceError, match="more than double precision"):
            stgrad.grad(f, jit=True)(x)


def test_half_precision_runs_in_plain_python():
    half = X.astype(np.float16)
    with pytest.raises(errors.NotCompiledError, match="half precision"):
        stgrad.grad(lambda x: np.sum(x * x), jit=True)(half)
    assert stgrad.grad(lambda x: np.sum(x * x), jit=False)(half).dtype == np.float16
