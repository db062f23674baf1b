"""Programs that need to know how many items an array has: extents up to 64 are compiled in for them, and tested at each call."""

import itertools
import math

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import distributed, errors

X = np.array([0.7, 1.3, 2.1, 0.4])


def keys_by_place(x):
    d = {f"k{i}": v for i, v in enumerate(x)}
    return sum((d[f"k{i}"] * i for i in range(len(x))), 0.0)


def keys_in_pairs(x):
    d = {(i, j): x[i] * x[j] for i in range(len(x)) for j in range(i)}
    return sum(v * (k[0] + 1) for k, v in d.items())


def stars(x):
    def ends(*a):
        return a[0] * a[-1] + len(a)

    return ends(*x) + sum([*x, 1.0]) * math.hypot(*x)


def chained(x):
    return math.prod(itertools.chain(x[:2], itertools.repeat(x[-1], 2)))


def first_of_a_zip(x):
    z = zip(x, x[1:], strict=False)
    a, b = next(z)
    return a * b + sum(u * v for u, v in z)


def first_of_a_map(x):
    m = map(lambda v: v**2, x)
    return next(m) * 3 + sum(m)


def counted_bits(x):
    return sum(v * bin(i).count("1") for i, v in enumerate(x))


def named(x):
    def model(k0, k1, **others):
        return k0 * math.exp(-k1) + sum(others.values())

    return model(**{f"k{i}": v for i, v in enumerate(x)})


PROGRAMS = [keys_by_place, keys_in_pairs, stars, chained, first_of_a_zip, first_of_a_map, counted_bits, named]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_right(f, jit):
    check_gradient(f, (X,), order=1 if jit else 2, jit=jit)


@pytest.mark.parametrize("jit", [False, True])
def test_every_length_has_its_program(jit):
    gradient = stgrad.value_and_grad(keys_by_place, jit=jit)
    for n in (4, 6, 1, 4, 6, 3, 4, 0, 6):
        x = np.linspace(1.0, 2.0, n)
        value, x_bar = gradient(x)
        assert value == pytest.approx(keys_by_place(x))
        np.testing.assert_array_equal(x_bar, np.arange(n))


def test_while_condition_of_items():
    def below(x):
        return sum(v**2 for v in itertools.takewhile(lambda v: v < 2.0, x)) + sum(itertools.dropwhile(lambda v: v < 2.0, x))

    for jit in (False, True):
        check_gradient(below, (X,), jit=jit)
        np.testing.assert_allclose(stgrad.grad(below, jit=jit)(np.array([0.5, 3.0, 1.0])), [1.0, 1.0, 1.0])


def test_long_arrays_are_refused():
    with pytest.raises(errors.NeedStaticError):
        stgrad.grad(keys_by_place, jit=False)(np.ones(65))


def test_callers_that_know_types_only():
    import numba

    with pytest.raises(errors.UnsupportedCallerError, match="shape of `x`"):
        stgrad.grad(keys_by_place).compile_for((numba.float64[::1],))
    compiled = stgrad.grad(keys_by_place).dispatcher(X)
    np.testing.assert_array_equal(numba.njit(lambda x: compiled(x))(X), np.arange(4.0))
    with pytest.raises(ValueError, match="compiled for another"):
        numba.njit(lambda x: compiled(x))(np.ones(5))


def test_a_jacobian_and_a_map():
    def powers(x):
        d = {f"k{i}": v for i, v in enumerate(x)}
        return np.array([d[f"k{i}"] ** (i + 1) for i in range(len(x))])

    expected = np.diag((np.arange(4) + 1) * X ** np.arange(4))
    np.testing.assert_allclose(stgrad.jacobian(powers)(X), expected)
    rows = np.stack([X, X + 0.5])
    np.testing.assert_allclose(stgrad.vmap(stgrad.grad(keys_by_place))(rows), np.tile(np.arange(4.0), (2, 1)))
    np.testing.assert_allclose(stgrad.hessian(keys_in_pairs)(X)[1, 0], 2.0)


def test_shards_of_all_lengths_have_one_program():
    def loss(w, shard):
        d = {f"k{i}": v * w for i, v in enumerate(shard)}
        return d["k0"] ** 2

    with pytest.raises(errors.UnsupportedCallerError, match="how many items a shard has"):
        distributed.grad(loss, shards="shard")(1.0, [np.ones(3), np.ones(4)])


def test_the_text_says_what_it_is_for():
    def of_all_lengths(x):
        return np.sum(x**2)

    assert "Only for x of shape (4,)." in stgrad.grad(keys_by_place, jit=False).source(X)
    assert "Only for" not in stgrad.grad(of_all_lengths, jit=False).source(X)


def test_long_axes_stay_free():
    def f(m):
        d = {f"k{i}": row for i, row in enumerate(m)}
        return sum((np.sum(d[f"k{i}"] ** 2) * i for i in range(len(m))), 0.0)

    gradient = stgrad.grad(f, jit=False)
    for columns in (65, 70, 3):
        m = np.ones((2, columns))
        np.testing.assert_array_equal(gradient(m), [np.zeros(columns), np.full(columns, 2.0)])
    assert "Only for m of shape (2, " in gradient.source(np.ones((2, 65)))
