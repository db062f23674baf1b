"""Matrix products into given memory: every rank, layout and size against NumPy, in plain Python and compiled."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from stgrad import runtime


@numba.njit
def compiled(a, b, out, total):
    """All three forms at once: compiling is what takes time here."""
    runtime.add_matmul(a, b, total)
    return runtime.matmul(a, b), runtime.matmul(a, b, out)


plain = compiled.py_func


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: np.asfortranarray(x),
    "rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "columns": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
    "part": lambda x: np.pad(x, 1)[(slice(1, -1),) * x.ndim],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "turned": lambda x: np.pad(x.T, 1)[(slice(1, -1),) * x.ndim].T,
    "spread": lambda x: np.broadcast_to(x[:1], x.shape),
}
SHAPES = [((m, k), (k, n)) for m, k, n in [(1, 1, 1), (2, 3, 4), (5, 4, 7), (4, 0, 3), (0, 3, 2), (3, 2, 0), (1, 60, 5), (30, 1, 40), (17, 33, 9)]]
SHAPES += [((m, k), (k,)) for m, k in [(1, 1), (3, 5), (0, 4), (4, 0), (1, 300), (12, 20), (40, 30)]]
SHAPES += [((k,), (k, n)) for k, n in [(1, 1), (3, 5), (0, 4), (4, 0), (300, 1), (20, 12), (40, 30)]]


PAIRS = [("C", "C"), ("F", "C"), ("C", "F"), *((x, "C") for x in list(LAYOUTS)[2:]), *(("C", x) for x in list(LAYOUTS)[2:])]
PAIRS += [("columns", "part"), ("part", "columns")]


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_products_are_those_of_numpy(left, right):
    for dtype in (np.float64, np.float32) if left == right == "C" else (np.float64,):
        check(LAYOUTS[left], LAYOUTS[right], dtype)


def check(left, right, dtype):
    rng = np.random.default_rng(0)
    close = {"rtol": 1e-5, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for shape_a, shape_b in SHAPES:
        a, b = left(rng.standard_normal(shape_a).astype(dtype)), right(rng.standard_normal(shape_b).astype(dtype))
        expected = a @ b
        start = rng.standard_normal(expected.shape).astype(dtype)
        for run in (compiled, plain):
            out, total = np.full(expected.shape, np.nan, dtype), start.copy()
            made, same = run(a, b, out, total)
            for array in (made, same, out, total - start):
                np.testing.assert_allclose(array, expected, **close)
            assert made.dtype == dtype and made.flags.c_contiguous and np.shares_memory(same, out) or not out.size


@pytest.mark.parametrize("run", [compiled, plain])
def test_extents_that_do_not_match_raise(run):
    for a, b, out in [((3, 4), (5, 6), (3, 6)), ((3, 4), (4, 6), (2, 6)), ((3, 4), (5,), (3,)), ((3,), (4, 2), (2,)), ((30, 40), (50,), (30,))]:
        with pytest.raises(ValueError):
            run(np.ones(a), np.ones(b), np.ones(out), np.ones(out))


def test_nan_in_old_memory_does_not_matter():
    for n in (2, 30):
        out = np.full((n, n), np.nan)
        compiled(np.ones((n, n)), np.ones((n, n)), out, out.copy())
        np.testing.assert_array_equal(out, n)


STACKS = [((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 1, 6, 9), (2, 9, 7)), ((0, 3, 4), (0, 4, 2)), ((2, 8, 9), (1, 9, 8))]


@pytest.mark.parametrize("layout", ["C", "columns", "backwards"])
@pytest.mark.parametrize(("shape_a", "shape_b"), STACKS)
def test_stacks_are_multiplied_one_by_one(shape_a, shape_b, layout):
    rng = np.random.default_rng(0)
    a, b = LAYOUTS[layout](rng.standard_normal(shape_a)), np.swapaxes(rng.standard_normal((*shape_b[:-2], *shape_b[:-3:-1])), -1, -2)
    expected = a @ b
    for run in (compiled, plain):
        out, total = np.full(expected.shape, np.nan), np.ones(expected.shape)
        for made in (*run(a, b, out, total), total - 1.0):
            np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


def test_stacks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="extents"):
        compiled(np.ones((2, 3, 4)), np.ones((3, 4, 3)), np.ones((3, 3, 3)), np.ones((3, 3, 3)))
