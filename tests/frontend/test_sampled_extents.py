"""Extents of results that are read off samples hold for every size of the arguments, not for those of the samples alone."""

import itertools
import warnings

import numpy as np
import pytest
from thorough import check_gradient

import stgrad
from stgrad import rules
from stgrad.frontend.infer import by_example
from stgrad.ir import Dim, Type


def vector(symbol, offset=0):
    return Type("float64", (Dim(symbol, offset),), array=True)


def extents(call, *args, **kwargs):
    fresh = iter(range(100))
    found = by_example(call, args, kwargs, lambda: Dim(f"~{next(fresh)}"))
    return [str(d) for t in (found if isinstance(found, tuple) else (found,)) for d in t.dims]


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (lambda: extents(np.diff, vector("n")), ["n-1"]),
        (lambda: extents(np.pad, vector("n"), (1, 2)), ["n+3"]),
        (lambda: extents(np.pad, vector("n", -3), (1, 2)), ["~0"]),  # 3 where n is below 3
        (lambda: extents(np.convolve, vector("n"), [1.0, 2.0, 1.0], "same"), ["~0"]),  # 3 where n is below 3
        (lambda: extents(np.convolve, vector("n"), vector("m"), "valid"), ["~0"]),
        (lambda: extents(np.linalg.qr, Type("float64", (Dim("n"), Dim(None, 4)), array=True)), ["n", "~0", "~1", "4"]),
        (lambda: extents(np.linalg.qr, Type("float64", (Dim("n"), Dim(None, 40)), array=True)), ["n", "~0", "~1", "40"]),
        (lambda: extents(np.einsum, "ij,kj->ik", *(Type("float64", (Dim(a), Dim(b)), array=True) for a, b in ("nm", "kl"))), ["n", "k"]),
        (lambda: extents(np.subtract.outer, vector("n"), vector("m", -20)), ["n", "m-20"]),
        (lambda: extents(np.full, (2,), 1.0), ["2"]),
        (lambda: extents(np.lib.stride_tricks.sliding_window_view, vector("n"), 30), ["n-29", "30"]),  # none of less than 30
    ],
)
def test_only_what_holds_for_every_size_is_claimed(found, right):
    assert found() == right


@pytest.mark.parametrize("jit", [False, True])
def test_extents_that_must_be_one_constant_each(jit):
    def solved(a, b):
        return np.sum(np.linalg.solve(a, np.broadcast_to(b, (2, 3, 4))) ** 2)

    random = np.random.default_rng(0)
    check_gradient(solved, (random.normal(size=(2, 3, 3)) + 3.0 * np.eye(3), random.normal(size=(3, 4))), jit=jit)


def test_what_must_agree_is_found_and_nothing_claimed_of_it():
    def same_length_ends(a, b):
        if len(a) != len(b):
            raise ValueError("lengths differ")
        return np.zeros(len(a) - len(b) + 1)

    assert extents(same_length_ends, vector("n"), vector("m")) == ["1"]  # proved: the call raises where they differ

    def lengths_of_all_but_short_ones(a, b):
        if len(a) != len(b) and min(len(a), len(b)) > 3:
            raise ValueError("lengths differ")
        return np.zeros(abs(len(a) - len(b)) + 1)

    assert extents(lengths_of_all_but_short_ones, vector("n"), vector("m")) == ["~0"]


def smoothed_twice(x):
    y = x
    for _ in range(2):
        y = np.convolve(y, [0.25, 0.5, 0.25], "same")
    return np.sum(y**2)


def padded_tail(x):
    return np.sum(np.pad(x[2:], (1, 2), constant_values=2.0) ** 2) + np.sum(x)


def valid_of_both(x):
    return np.sum(np.convolve(x, [1.0, 2.0, 3.0], "valid") ** 3)


@pytest.mark.parametrize("function", [smoothed_twice, padded_tail, valid_of_both])
@pytest.mark.parametrize("size", [6, 3, 2])
def test_short_arrays(function, size):
    x = np.linspace(0.5, 1.5, size)
    value, _ = stgrad.value_and_grad(function, jit=False)(x)
    assert np.isclose(value, function(x))
    check_gradient(function, [x])


def test_slices_that_leave_out_more_than_there_is():
    def counted(x):
        return x[3:].shape[0] * np.sum(x)

    g = stgrad.grad(counted, jit=False)
    assert g(np.ones(5)).tolist() == [2.0] * 5
    assert g(np.ones(2)).tolist() == [0.0, 0.0]


def test_branches_for_short_arrays_are_not_refused():
    def guarded(x):
        return np.sum(x[3:] ** 2) if x.shape[0] > 3 else np.sum(x)

    g = stgrad.grad(guarded, jit=False)
    assert g(np.ones(2)).tolist() == [1.0, 1.0]
    assert g(np.ones(4)).tolist() == [0.0, 0.0, 0.0, 2.0]


def typed(value, symbols, shared):
    """Arrays as their types: a symbol for each axis, or one for each size."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(typed(v, symbols, shared) for v in value)
    if type(value) is float:
        return Type("float64", weak=True)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fciub":
        return value
    dims = [Dim(None, 1) if n == 1 else Dim(f"size{n}" if shared else f"axis{len(symbols)}_{k}") for k, n in enumerate(value.shape)]
    symbols.update({d.symbol: n for d, n in zip(dims, value.shape, strict=True) if d.symbol is not None})
    return Type(value.dtype.name, tuple(dims), array=True)


def contradicted(claims, result, symbols):
    if isinstance(claims, tuple):
        return any(contradicted(c, r, symbols) for c, r in zip(claims, result, strict=True))
    if claims.rank != np.ndim(result):
        return True
    known = [(d, n) for d, n in zip(claims.dims, np.shape(result), strict=True) if d.symbol is None or d.symbol in symbols]
    return any(n != max(symbols.get(d.symbol, 0) + d.offset, 0) for d, n in known)


LEFT_OUT = {"np.arange", "unbroadcast"}  # read otherwise; not NumPy's
LEFT_OUT |= {"scipy.linalg.lstsq"}  # its residuals are a number, or an empty array


@pytest.mark.parametrize("shared", [False, True])
def test_claims_of_every_operation_hold_for_its_samples(shared):
    rules.load_scipy()
    checked, wrong = 0, set()
    for name, rule in rules.TABLE.items():
        for args, kwargs in samples_of(rule) if name not in LEFT_OUT else ():
            symbols = {}
            types = typed(args, symbols, shared), {k: typed(v, symbols, shared) for k, v in kwargs.items()}
            try:
                result = rule.op(*args, **kwargs)
                claims = by_example(rule.op, *types, lambda: Dim("unknown"), values_decide=rule.fresh_shape)
            except Exception:  # noqa: BLE001  (operations of the compiler's own, and sizes that are read otherwise)
                continue
            checked += 1
            wrong |= {name} if contradicted(claims, result, symbols) else set()
    assert checked > 1000 and not wrong, (checked, wrong)


def samples_of(rule):
    rng = np.random.default_rng(0)
    for sample in rule.samples or ():
        for args in itertools.islice(sample(rng), 4) if callable(sample) else [sample]:
            split = isinstance(args, tuple) and len(args) == 2 and isinstance(args[0], tuple) and isinstance(args[1], dict)
            yield args if split else (args if isinstance(args, tuple) else (args,), {})


def covariances(x, n):
    return np.sum(np.cov(np.outer(x, x * x)[:, :n], ddof=2))


def variances(x, n):
    return np.nanvar(x[:n], ddof=2) + np.nanstd(x[:n], ddof=2)


@pytest.mark.parametrize("function", [covariances, variances])
def test_more_degrees_of_freedom_than_observations(function):
    x = np.array([1.0, 2.0, 4.0])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (1, 2, 3):
            for jit in (False, True):
                value, gradient = stgrad.value_and_grad(function, jit=jit)(x, n)
                np.testing.assert_allclose(value, function(x, n))
    check_gradient(function, (x, 3))


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("ddof", [2, 3])
def test_derivatives_without_degrees_of_freedom(ddof, jit):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stgrad.value_and_grad(lambda x, n: np.var(x[:n], ddof=ddof), jit=jit)(np.array([1.0, 2.0, 4.0]), 2)
    np.testing.assert_array_equal(np.hstack(found), [np.inf, -np.inf, np.inf, 0.0])


def test_windows_longer_than_the_samples():
    def energy(y):
        return np.sum((np.lib.stride_tricks.sliding_window_view(y, 8)[::4] * np.hanning(8)) ** 2)

    check_gradient(energy, (np.sin(np.arange(24) * 0.7),), order=1, jit=True)
    with pytest.raises(ValueError):  # noqa: PT011  (NumPy's message in plain Python, that of the loop in compiled code)
        stgrad.grad(energy)(np.ones(5))
