"""Operations that Numba lacks: NumPy's value, dtype and shape, in native code alone, for edges too; derivatives at both orders."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from thorough import check_gradient

import stgrad

R = np.random.default_rng(0)
X, Y, M, T = R.normal(size=6), R.normal(size=6), R.normal(size=(4, 5)), R.normal(size=(2, 3, 4))
S = R.normal(size=(2, 3, 3)) + 3.0 * np.eye(3)
P = S @ S.transpose(0, 2, 1)
EDGES = np.array([0.0, -0.0, 1.5, -2.5, 0.5, np.inf, -np.inf, np.nan, 1e300])
TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])

CASES = {
    "rint": (lambda x: np.round(x), (EDGES,)),
    "round to tenths": (lambda x: np.around(x, 1), (X,)),
    "round to tens": (lambda x: np.round(x, -1), (30.0 * X,)),
    "round of a number": (lambda x: np.round(x[0], 2) + np.around(x[1]), (X,)),
    "fix": (lambda x: np.fix(x), (EDGES,)),
    "heaviside": (lambda x, y: np.heaviside(x, y), (EDGES, 0.5)),
    "sinc": (lambda x: np.sinc(x), (np.array([0.0, 0.5, -1.5, 2.0]),)),
    "nan_to_num": (lambda x: np.nan_to_num(x), (EDGES,)),
    "nan_to_num with numbers": (lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0), (EDGES,)),
    "angle": (lambda x, y: np.angle(x + 1j * y), (X, Y)),
    "angle of a real number": (lambda x: np.angle(x), (X,)),
    "clip below": (lambda x: np.clip(x, 0.2, None), (EDGES,)),
    "clip above": (lambda x: np.clip(x, None, 0.2), (EDGES,)),
    "fmax of a constant": (lambda x: np.fmax(x, 0.5), (EDGES,)),
    "logaddexp of a constant": (lambda x: np.logaddexp(0.0, x), (EDGES[:7],)),
    "hypot of an integer": (lambda x: np.hypot(x, 3), (X,)),
    "sum of a number": (lambda x: np.sum(x[0]) + np.max(x[1]) + np.mean(x[2]), (X,)),
    "sort columns": (lambda m: np.sort(m, axis=0), (M,)),
    "sort rows of a stack": (lambda t: np.sort(t, axis=1), (T,)),
    "sort all": (lambda m: np.sort(m, axis=None), (M,)),
    "argsort columns": (lambda m: np.argsort(m, axis=0), (M,)),
    "argmax of a stack": (lambda t: np.argmax(t, axis=1), (T,)),
    "argmin with dimensions": (lambda m: np.argmin(m, axis=1, keepdims=True), (TIES,)),
    "cumprod": (lambda m: np.cumprod(m, axis=1), (M,)),
    "cumprod of a stack": (lambda t: np.cumprod(t, axis=-2), (T,)),
    "cumsum of a stack": (lambda t: np.cumsum(t, axis=1), (T,)),
    "cumsum of nothing": (lambda t: np.cumsum(t, axis=1), (T[:, :0],)),
    "count_nonzero": (lambda t: np.count_nonzero(t > 0.0, axis=1), (T,)),
    "nanmax": (lambda m: np.nanmax(m, axis=0), (np.array([[1.0, np.nan], [np.nan, 2.0]]),)),
    "nanmin": (lambda m: np.nanmin(m, axis=1, keepdims=True), (np.array([[1.0, np.nan], [np.nan, 2.0]]),)),
    "tile": (lambda x: np.tile(x, 3), (X,)),
    "tile a matrix": (lambda m: np.tile(m, (2, 1, 3)), (M,)),
    "tile by an argument": (lambda x, n: np.tile(x, (n, 2)), (X, 3)),
    "repeat": (lambda m: np.repeat(m, 2, axis=1), (M,)),
    "repeat by an argument": (lambda m, n: np.repeat(m, n, axis=0), (M, 3)),
    "repeat by counts": (lambda m, n: np.repeat(m, n, axis=0), (M, np.array([2, 0, 1, 3]))),
    "pad": (lambda x: np.pad(x, 2), (X,)),
    "pad by an argument": (lambda m, n: np.pad(m, ((n, 0), (1, n)), constant_values=1.5), (M, 2)),
    "pad with edges": (lambda m: np.pad(m, 2, mode="edge"), (M,)),
    "pad by reflection": (lambda m: np.pad(m, ((3, 9), (0, 2)), mode="reflect"), (M,)),
    "pad by reflection of one": (lambda x: np.pad(x[:1], 2, mode="reflect"), (X,)),
    "pad by symmetry": (lambda x: np.pad(x, (7, 15), mode="symmetric"), (X,)),
    "pad by wrapping": (lambda x: np.pad(x, (7, 15), mode="wrap"), (X,)),
    "linspace": (lambda x: np.linspace(x[0], x[1], 7), (X,)),
    "linspace without end": (lambda x, n: np.linspace(x[0], 2, n, endpoint=False), (X, 5)),
    "linspace of one": (lambda x: np.linspace(x[0], x[1], 1), (X,)),
    "diag_indices": (lambda m: m[np.diag_indices(4)], (M,)),
    "triu_indices": (lambda m: m[np.triu_indices(4, 1)], (M,)),
    "trace": (lambda m: np.trace(m) + np.trace(m, 1), (M,)),
    "diagonal": (lambda m: np.diagonal(m, -1), (M,)),
    "tril_indices": (lambda m, n: m[np.tril_indices(n)], (M, 4)),
    "correlate": (lambda x, y: np.correlate(x, y[:4], mode="full"), (X, Y)),
    "unwrap": (lambda x: np.unwrap(x), (9.0 * X,)),
    "unwrap columns": (lambda m: np.unwrap(m, axis=0, discont=4.0), (9.0 * M,)),
    "bincount by position": (lambda k, w: np.bincount(k, w), (np.array([0, 2, 1, 2]), X[:4])),
    "searchsorted of a constant": (lambda x: np.searchsorted(np.sort(x), 0.5), (X,)),
    "searchsorted by position": (lambda x, y: np.searchsorted(np.sort(x), y, "right"), (X, Y)),
    "three parts": (lambda x, m: np.concatenate((x, 2.0 * x, x[:1]), axis=-1), (X, M)),
    "three parts of stacks": (lambda t: np.concatenate((t, 2.0 * t, t), axis=-1), (T,)),
    "columns": (lambda x, y: np.stack((x, y, x), axis=-1), (X, Y)),
    "inverses": (lambda s: np.linalg.inv(s), (S,)),
    "determinants": (lambda s: np.linalg.det(s), (S,)),
    "factors": (lambda p: np.linalg.cholesky(p), (P,)),
    "systems": (lambda s, t: np.linalg.solve(s, t), (S, T)),
    "systems with one right side": (lambda s, t: np.linalg.solve(s, t[0]), (S, T)),
    "i0": (lambda x: np.i0(x), (X,)),
    "gammaln": (lambda x: sp.gammaln(np.abs(x) + 0.5), (X,)),
    "ndtr of a matrix": (lambda m: sp.ndtr(m), (M,)),
    "betainc": (lambda x: sp.betainc(1.5, 2.0, 1.0 / (1.0 + np.exp(-x))), (X,)),
    "softmax": (lambda m: sp.softmax(m, axis=1), (M,)),
    "log_softmax": (lambda m: sp.log_softmax(m, axis=0), (M,)),
    "scipy cholesky": (lambda p: sl.cholesky(p[0]) + sl.cholesky(p[1], lower=True), (P,)),
    "cho_solve": (lambda p, x: sl.cho_solve(sl.cho_factor(p[0]), x[:3]) + sl.cho_solve(sl.cho_factor(p[0], lower=True), x[:3]), (P, X)),
    "cho_factor": (lambda p: sl.cho_factor(p[0])[0], (P,)),
    "squeeze to a number": (lambda x: np.squeeze(np.mean(x, axis=0, keepdims=True), axis=0) * x, (X,)),
    "squeeze of all axes": (lambda m: np.squeeze(np.mean(m, keepdims=True)) * m, (M,)),
    "any and all of a number": (lambda x: x * 2.0 if np.any(x[0] > 0.1) and np.all(x[1]) else x * 3.0, (X,)),
    "moveaxis of a vector": (lambda x: np.moveaxis(x, (-1,), (0,)) * np.moveaxis(x, 0, -1), (X,)),
}  # fmt: skip
FLAT = {
    "rint", "round to tenths", "round to tens", "round of a number", "fix", "heaviside", "argsort columns", "argmax of a stack", "argmin with dimensions",
    "count_nonzero", "searchsorted of a constant", "searchsorted by position", "cumsum of nothing",
}  # fmt: skip
AT_EDGES = {name for name, (_, args) in CASES.items() if any(a is EDGES for a in args) or name.startswith(("nanm", "logaddexp"))}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_that_of_numpy(name):
    function, args = CASES[name]
    compiled = stgrad.jit(function)
    with np.errstate(all="ignore"):
        expected, found = function(*args), compiled(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    assert "call_python" not in compiled.lowered(*args)


@pytest.mark.parametrize("name", [n for n, (_, args) in CASES.items() if all(np.asarray(a).dtype.kind == "f" for a in args)])
def test_single_precision_stays(name):
    function, args = CASES[name]
    with np.errstate(all="ignore"):
        args = tuple(np.float32(a) for a in args)
        expected, found = function(*args), stgrad.jit(function)(*args)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if name not in ("pad by wrapping", "scipy cholesky"):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in CASES if n not in FLAT | AT_EDGES])
def test_the_gradient_is_that_of_plain_python_and_native(name):
    function, args = CASES[name]
    floats = tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f")

    def weighed(*args):
        y = function(*args)
        return np.sum(np.sin(y) * y)

    compiled = stgrad.grad(weighed, argnums=floats)
    for found, expected in zip(compiled(*args), stgrad.grad(weighed, argnums=floats, jit=False)(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert "call_python" not in compiled.lowered(*args)


@pytest.mark.parametrize("name", ["sort rows of a stack", "cumprod of a stack", "pad by symmetry", "unwrap columns", "systems", "softmax", "cho_solve"])
def test_derivatives_of_order_two(name):
    function, args = CASES[name]

    def weighed(*args):
        y = function(*args)
        return np.sum(np.sin(y) * y)

    check_gradient(weighed, args, argnums=tuple(range(len(args))))


def test_what_is_not_covered_stays_a_call():
    def ordered(m):
        return np.argsort(m, axis=0, kind="stable")

    ties = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 2.0]])
    np.testing.assert_array_equal(stgrad.jit(ordered)(ties), ordered(ties))
    assert "call_python" in stgrad.jit(ordered).lowered(ties)


NAN, INFINITE = np.array([[1.0, np.nan], [np.nan, 2.0]]), np.array([[np.inf, 1.0], [1.0, 2.0]])
REFUSED = {
    "a negative number of points": (lambda x, n: np.linspace(0.0, x[0], n), (X, -2)),
    "a negative border": (lambda x, n: np.pad(x, (1, n)), (X, -1)),
    **{f"a negative border, {m}": (lambda x, n, m=m: np.pad(x, (n, 1), mode=m), (X, -1)) for m in ("edge", "reflect", "symmetric", "wrap")},
    **{f"a border of nothing, {m}": (lambda x, n, m=m: np.pad(x, (n, 1), mode=m), (X[:0], 1)) for m in ("edge", "reflect", "symmetric", "wrap")},
    "negative copies": (lambda x, n: np.tile(x, n), (X, -1)),
    "negative repeats": (lambda m, n: np.repeat(m, n, axis=0), (M, -1)),
    "repeats of other rows": (lambda m, n: np.repeat(m, n, axis=0), (M, np.array([1, 2, 3]))),
    "the position of nothing": (lambda m: np.argmax(m, axis=1, keepdims=True), (M[:, :0],)),
    "the extreme of nothing": (lambda m: np.nanmax(m, axis=0), (M[:0],)),
    "a factor of what is not a number": (lambda m: sl.cholesky(m), (NAN,)),
    "a factor of what is infinite": (lambda m: sl.cho_factor(m)[0], (INFINITE,)),
    "a factor of an oblong matrix": (lambda m: sl.cholesky(m, lower=True), (M,)),
    "a solution for what is not a number": (lambda m, x: sl.cho_solve((m, True), x[:2]), (NAN, X)),
    "a factor of an indefinite matrix": (lambda m: sl.cholesky(m), (np.array([[1.0, 3.0], [3.0, 1.0]]),)),
    "inverses of singular matrices": (lambda s: np.linalg.inv(0.0 * s), (S,)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name):
    function, args = REFUSED[name]
    with pytest.raises((ValueError, np.linalg.LinAlgError)) as plain:
        function(*args)
    with pytest.raises(plain.type):
        stgrad.jit(function)(*args)


def test_functions_of_scipy_that_compiled_code_calls_are_elements_of_loops():
    from stgrad.ir.ops import operation
    from stgrad.rules import TABLE, load_scipy
    from stgrad.runtime.special import ARITY

    load_scipy()
    rules = ((name, TABLE.get(f"scipy.special.{name}")) for name in ARITY)
    elements = {name for name, rule in rules if rule is not None and rule.partials and rule.partials.__module__.startswith("stgrad.")}
    assert elements == {name for name in ARITY if operation(f"scipy.special.{name}").fused}


def test_special_functions_of_complex_arrays():
    def total(x):
        return np.sum(np.abs(sp.gamma(x + 0.5j)))

    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(stgrad.jit(total)(x), total(x), rtol=1e-14)


def test_operations_of_a_loop_are_native():
    """Rounded to the nearest image, in a loop over pairs."""

    def energy(x, box):
        total = 0.0
        for i in range(len(x)):
            for j in range(i):
                d = x[i] - x[j]
                d = d - box * np.round(d / box)
                total += np.sum(d * d)
        return total

    x = R.normal(size=(5, 3))
    check_gradient(energy, (x, 2.0))
    assert "call_python" not in stgrad.grad(energy).lowered(x, 2.0)
