"""`np.einsum` as matrix products: values and gradients against NumPy, what becomes of each form, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad

EXTENTS = dict(zip("abcdehijklqs", (2, 3, 4, 5, 6, 2, 2, 3, 4, 5, 3, 3)))
PRODUCTS = [  # subscripts, and how many matrix products the gradient has
    ("ij,jk->ik", 3),
    ("eij,ejk->eik", 3),
    ("ik,ekj->eij", 3),
    ("jk,eik->eij", 3),
    ("eij,ekj->ik", 3),
    ("bqhd,bkhd->bhqk", 3),
    ("bhqk,bkhd->bqhd", 3),
    ("ij,j->i", 2),
    ("ijk,jil->lk", 3),
    ("aij,bjk->ikab", 3),
    ("ab,sac,sbd->cd", 6),
    ("ij,jk,kl,l->i", 6),
]
ELEMENTS = ["ij,ij->i", "bij,bj->bi", "i,j->ij", "ij,kl->i", "iaj,a->ij", "ij,kj->", "ia,ib,ic->abc"]


def squared(subscripts):
    return lambda *factors: np.sum(np.einsum(subscripts, *factors) ** 2)


def arrays(subscripts, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [rng.standard_normal([EXTENTS[c] for c in term]).astype(dtype) for term in subscripts.partition("->")[0].split(",")]


@pytest.mark.parametrize(
    ("subscripts", "jit"),
    [(s, False) for s in (*dict(PRODUCTS), *ELEMENTS)] + [(s, True) for s in ("ik,ekj->eij", "bqhd,bkhd->bhqk", "ab,sac,sbd->cd", "eij,ekj->ik", "bij,bj->bi")],
)
def test_values_and_gradients_are_those_of_numpy(subscripts, jit):
    function, factors = squared(subscripts), arrays(subscripts)
    value, bars = stgrad.value_and_grad(function, tuple(range(len(factors))), jit=jit)(*factors)
    np.testing.assert_allclose(value, function(*factors), rtol=1e-12)
    rng = np.random.default_rng(1)
    for k, bar in enumerate(bars):
        step = 1e-5 * rng.standard_normal(bar.shape)
        ahead, behind = ([*factors[:k], factors[k] + s, *factors[k + 1 :]] for s in (step, -step))
        np.testing.assert_allclose(np.sum(bar * step), (function(*ahead) - function(*behind)) / 2.0, rtol=1e-6)


@pytest.mark.parametrize(("subscripts", "most"), PRODUCTS)
def test_contractions_are_matrix_products(subscripts, most):
    factors = arrays(subscripts)
    text = stgrad.grad(squared(subscripts), tuple(range(len(factors)))).lowered(*factors)
    assert 0 < text.count("matmul(") + text.count(" @ ") <= most + 1 and "call_python" not in text


@pytest.mark.parametrize("subscripts", ELEMENTS)
def test_products_of_elements_are_native_loops(subscripts):
    factors = arrays(subscripts)
    assert "call_python" not in stgrad.grad(squared(subscripts), tuple(range(len(factors)))).lowered(*factors)


def test_pairs_are_taken_in_the_cheapest_order():
    def norm(left, site):
        return np.sum(np.einsum("ab,sac,sbd->cd", left, site, site))

    text = stgrad.jit(norm).lowered(np.eye(3), np.ones((2, 3, 4)))
    assert text.count("matmul(") == 2 and "for i" in text


def test_single_precision_stays():
    factors = arrays("eij,ejk->eik", np.float32)
    value, bars = stgrad.value_and_grad(squared("eij,ejk->eik"), (0, 1))(*factors)
    assert all(b.dtype == np.float32 for b in bars)
    np.testing.assert_allclose(value, squared("eij,ejk->eik")(*factors), rtol=1e-5)


def test_axes_that_become_one_are_compared_one_by_one():
    """2 by 6 is not 3 by 4, though both have twelve elements."""
    gradient = stgrad.grad(squared("ijk,ijl->kl"), (0, 1))
    gradient(np.ones((2, 6, 2)), np.ones((2, 6, 3)))
    with pytest.raises(ValueError, match="einsum"):
        gradient(np.ones((2, 6, 2)), np.ones((3, 4, 3)))


@pytest.mark.parametrize("subscripts", ["iij,jk->ik", "ij,jk->ik"])
def test_others_stay_numpys(subscripts):
    """A diagonal, and complex numbers."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3,) * len(subscripts.split(",")[0])), rng.standard_normal((3, 2)) + 0.5j

    def function(x):
        return np.sum(np.abs(np.einsum(subscripts, x, b)) ** 2)

    step = 1e-5 * rng.standard_normal(a.shape)
    slope = (function(a + step) - function(a - step)) / 2.0
    np.testing.assert_allclose(np.sum(stgrad.grad(function)(a) * step), slope, rtol=1e-6)


def test_what_moves_axes_is_a_view_in_native_code():
    def moved(x):
        return np.reshape(np.swapaxes(x, 1, -1), (len(x), -1)) @ np.ones(6) + np.sum(np.moveaxis(x, 0, 2) @ np.ones((2, 3)))

    assert "call_python" not in stgrad.jit(moved).lowered(np.ones((2, 2, 3)))
    np.testing.assert_allclose(stgrad.jit(moved)(np.arange(12.0).reshape(2, 2, 3)), moved(np.arange(12.0).reshape(2, 2, 3)))


def test_diagonals_along_two_axes_are_views():
    def traces(x):
        square = x @ np.swapaxes(x, 1, 2)
        return np.sum(np.trace(square, axis1=1, axis2=2) ** 2) + np.sum(np.diagonal(square[0]) ** 3)

    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    step = 1e-5 * np.random.default_rng(1).standard_normal(x.shape)
    gradient = stgrad.grad(traces)
    assert "call_python" not in gradient.lowered(x)
    np.testing.assert_allclose(np.sum(gradient(x) * step), (traces(x + step) - traces(x - step)) / 2.0, rtol=1e-6)
