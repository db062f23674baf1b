"""Derivatives of products of arrays and of what is linear in data on a grid.

Most are compositions of matmul, reshape and transpose, as NumPy computes them. Complex: a cotangent meets conjugates.
"""

from __future__ import annotations

import string

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .broadcasting import unbroadcast, widen
from .core import adjoint, composite, samples, static, tangent
from .reductions import last

# ------------------------------------------------------------------ matrix products


def conj(x):
    return np.conjugate(x) if np.iscomplexobj(x) else x


def hermitian(x):
    """The conjugate transpose of the last two axes."""
    return conj(np.transpose(x) if np.ndim(x) == 2 else np.swapaxes(x, -1, -2))


@adjoint(np.matmul)
def matmul(y, y_bar, x1, x2):
    """a (..., m, k) @ b (..., k, n): a_bar = y_bar b^H, b_bar = a^H y_bar; vectors are rows and columns."""
    if np.ndim(x1) == 1 and np.ndim(x2) == 1:
        return y_bar * conj(x2), y_bar * conj(x1)
    if np.ndim(x1) == 1 and np.ndim(x2) == 2:
        return np.matmul(conj(x2), y_bar), np.outer(conj(x1), y_bar)
    if np.ndim(x1) == 2 and np.ndim(x2) == 1:
        return np.outer(y_bar, conj(x2)), np.matmul(hermitian(x1), y_bar)
    if np.ndim(x1) == 1:
        x1_bar = np.matmul(conj(x2), np.expand_dims(y_bar, -1))[..., 0]
        return unbroadcast(x1_bar, x1), np.expand_dims(conj(x1), 1) * np.expand_dims(y_bar, -2)
    if np.ndim(x2) == 1:
        x2_bar = np.matmul(hermitian(x1), np.expand_dims(y_bar, -1))[..., 0]
        return np.expand_dims(y_bar, -1) * conj(x2), unbroadcast(x2_bar, x2)
    if np.ndim(x2) == 2 and np.ndim(x1) > 2:  # one product for all of the stack, rather than a stack of products to add
        return np.matmul(y_bar, hermitian(x2)), np.matmul(hermitian(rows_of(x1)), rows_of(y_bar))
    return unbroadcast(np.matmul(y_bar, hermitian(x2)), x1), unbroadcast(np.matmul(hermitian(x1), y_bar), x2)


def rows_of(x):
    """All rows of a stack of matrices, one below the other."""
    return np.reshape(x, (-1, np.shape(x)[-1]))


@tangent(np.matmul, multilinear=True)
def matmul_dot(y, x1, x2, x1_dot, x2_dot):
    return np.matmul(x1_dot, x2) + np.matmul(x1, x2_dot)


@composite(np.dot)
def dot(a, b, out=None):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return np.matmul(a, b)
    return np.tensordot(a, b, axes=((-1,), (-2 if np.ndim(b) > 1 else -1,)))


@composite(np.inner)
def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(a) <= 2 and np.ndim(b) == 1:
        return np.matmul(a, b)
    return np.tensordot(a, b, axes=((-1,), (-1,)))


@composite(np.vdot)
def vdot(a, b):
    return np.matmul(conj(np.ravel(a)), np.ravel(b))


@composite(np.vecdot, np.linalg.vecdot)
def vecdot(x1, x2, *, axis=-1):
    return np.sum(conj(x1) * x2, axis=axis)


@composite(np.matvec)
def matvec(x1, x2):
    return np.matmul(x1, np.expand_dims(x2, -1))[..., 0]


@composite(np.vecmat)
def vecmat(x1, x2):
    return np.matmul(np.expand_dims(conj(x1), -2), x2)[..., 0, :]


@composite(np.linalg.matmul)
def linalg_matmul(x1, x2):
    return np.matmul(x1, x2)


def flat(x):
    return x if np.ndim(x) == 1 else np.ravel(x)


def shaped(x_bar, x):
    return x_bar if np.ndim(x) == 1 else np.reshape(x_bar, np.shape(x))


@adjoint(np.outer, np.linalg.outer)
def outer(y, y_bar, a, b, out=None):
    a_bar = np.matmul(y_bar, conj(flat(b)))
    b_bar = np.matmul(conj(flat(a)), y_bar)
    return shaped(a_bar, a), shaped(b_bar, b)


@tangent(np.outer, np.linalg.outer, multilinear=True)
def outer_dot(y, a, b, a_dot, b_dot, out=None):
    return np.outer(a_dot, b) + np.outer(a, b_dot)


@static
def contraction(axes, rank_a, rank_b):
    """The free and the contracted axes of both factors, not negative."""
    if isinstance(axes, int):
        axes = tuple(range(rank_a - axes, rank_a)), tuple(range(axes))
    one, two = ((i,) if isinstance(i, int) else tuple(i) for i in axes)
    one, two = normalize_axis_tuple(one, rank_a), normalize_axis_tuple(two, rank_b)
    free_a = tuple(i for i in range(rank_a) if i not in one)
    return free_a, one, tuple(i for i in range(rank_b) if i not in two), two


def total(shape):
    n = 1
    for extent in shape:
        n = n * extent
    return n


@composite(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    free_a, sum_a, free_b, sum_b = contraction(axes, np.ndim(a), np.ndim(b))
    rows = tuple(np.shape(a)[i] for i in free_a)
    columns = tuple(np.shape(b)[i] for i in free_b)
    n = total(tuple(np.shape(a)[i] for i in sum_a))
    left = np.reshape(np.transpose(a, free_a + sum_a), (total(rows), n))
    right = np.reshape(np.transpose(b, sum_b + free_b), (n, total(columns)))
    return np.reshape(np.matmul(left, right), rows + columns)


@composite(np.kron)
def kron(a, b):
    rank = np.ndim(a) if np.ndim(a) > np.ndim(b) else np.ndim(b)
    left = (1,) * (rank - np.ndim(a)) + np.shape(a)
    right = (1,) * (rank - np.ndim(b)) + np.shape(b)
    spread_a = np.reshape(a, tuple(left[k // 2] if k % 2 == 0 else 1 for k in range(2 * rank)))
    spread_b = np.reshape(b, tuple(right[k // 2] if k % 2 == 1 else 1 for k in range(2 * rank)))
    return np.reshape(spread_a * spread_b, tuple(left[k] * right[k] for k in range(rank)))


@composite(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Of vectors with three components."""
    u = last(a, axisa if axis is None else axis)
    v = last(b, axisb if axis is None else axis)
    if np.shape(u)[-1] != 3 or np.shape(v)[-1] != 3:
        raise ValueError("np.cross is differentiated for vectors with three components")
    w = (
        u[..., 1] * v[..., 2] - u[..., 2] * v[..., 1],
        u[..., 2] * v[..., 0] - u[..., 0] * v[..., 2],
        u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0],
    )
    return np.stack(w, axis=axisc if axis is None else axis)


@composite(np.linalg.cross)
def linalg_cross(x1, x2, *, axis=-1):
    return np.cross(x1, x2, axis=axis)


@samples(np.matmul)
def _(rng):
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2))):
        yield (rng.normal(size=a), rng.normal(size=b)), {}
    yield (rng.normal(size=(4, 1, 2, 3)), rng.normal(size=(5, 3, 2))), {}
    yield (rng.normal(size=(2, 3)), rng.normal(size=(5, 3, 2))), {}
    yield (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)), rng.normal(size=3) + 1j * rng.normal(size=3)), {}
    yield (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)), rng.normal(size=(3, 2))), {}


@samples(np.dot, np.inner)
def _(rng):
    yield (rng.normal(size=(2, 3)), 2.0), {}
    yield (rng.normal(size=3), rng.normal(size=3)), {}
    yield (rng.normal(size=(2, 3)), rng.normal(size=3)), {}
    yield (rng.normal(size=3), rng.normal(size=(3, 3))), {}
    yield (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))), {}
    yield (rng.normal(size=(2, 3, 3)), rng.normal(size=(4, 3, 3))), {}
    yield (rng.normal(size=(2, 3, 3)), rng.normal(size=3)), {}


@samples(np.vdot)
def _(rng):
    yield (rng.normal(size=(2, 3)), rng.normal(size=(2, 3))), {}
    yield (rng.normal(size=3) + 1j, rng.normal(size=3) - 1j), {}


@samples(np.vecdot, np.linalg.vecdot)
def _(rng):
    yield (rng.normal(size=(2, 3)) + 1j, rng.normal(size=3)), {}


@samples(np.matvec)
def _(rng):
    yield (rng.normal(size=(4, 2, 3)), rng.normal(size=3)), {}


@samples(np.vecmat)
def _(rng):
    yield (rng.normal(size=(4, 2)), rng.normal(size=(2, 3))), {}


@samples(np.linalg.matmul)
def _(rng):
    yield (rng.normal(size=(4, 2)), rng.normal(size=(2, 3))), {}


@samples(np.outer, np.linalg.outer)
def _(rng):
    yield (rng.normal(size=3), rng.normal(size=2)), {}
    yield (rng.normal(size=3) + 1j * rng.normal(size=3), rng.normal(size=2) + 1j), {}


@samples(np.outer)
def _(rng):
    yield (rng.normal(size=(3, 2)), 2.0), {}


@samples(np.tensordot, np.linalg.tensordot)
def _(rng):
    a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 4, 5))
    yield (a, b), {}
    yield (a, b), {"axes": ((1, -1), (0, 1))}
    yield (a, b), {"axes": ((2,), (1,))}
    yield (a, a), {"axes": ((0, 1, 2), (0, 1, 2))}
    yield (a, rng.normal(size=2)), {"axes": 0}


@samples(np.kron)
def _(rng):
    yield (rng.normal(size=3), rng.normal(size=2)), {}
    yield (rng.normal(size=(2, 3)), rng.normal(size=(3, 2))), {}
    yield (rng.normal(size=3), rng.normal(size=(2, 2))), {}


@samples(np.cross)
def _(rng):
    yield (rng.normal(size=3), rng.normal(size=3)), {}
    yield (rng.normal(size=(2, 3)), rng.normal(size=3)), {}
    yield (rng.normal(size=(3, 2)), rng.normal(size=(3, 2))), {"axis": 0}


@samples(np.linalg.cross)
def _(rng):
    yield (rng.normal(size=(2, 3)), rng.normal(size=(2, 3))), {}


# ------------------------------------------------------------------ einsum


@static
def parsed(subscripts, ranks):
    """Subscripts as explicit letters: the inputs, then the output; an ellipsis becomes letters of its own."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    spare = [c for c in string.ascii_letters if c not in subscripts]
    wide = max(r - len(t.replace("...", "")) for t, r in zip(terms, ranks))
    if not arrow:
        letters = "".join(terms).replace(".", "")
        output = "..." * ("..." in inputs) + "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    dots = "".join(spare[:wide])
    full = []
    for term, rank in zip(terms, ranks):
        count = rank - len(term.replace("...", ""))
        full.append(term.replace("...", dots[wide - count :]))
    return tuple(full), output.replace("...", dots)


@static
def plan(terms, output, which):
    """For one operand: the einsum that yields the letters which the other factors know, the axes of the missing letters, for
    each letter where it stands in the operand, and whether a letter stands there twice."""
    once = "".join(dict.fromkeys(terms[which]))
    rest = [t for i, t in enumerate(terms) if i != which]
    known = "".join(c for c in once if c in output or any(c in t for t in rest))
    missing = tuple(i for i, c in enumerate(once) if c not in known)
    return ",".join([output, *rest]) + "->" + known, missing, tuple(terms[which].index(c) for c in once), once != terms[which]


@static
def diagonal_shapes(term):
    """The shape that turns the positions along each axis into an index over the distinct letters."""
    once = "".join(dict.fromkeys(term))
    return tuple(tuple(-1 if d == c else 1 for d in once) for c in term)


def operand_bar(y_bar, terms, output, operands, which):
    """The cotangent of one operand: einsum of y_bar with the others, spread over what was summed, put on the diagonals."""
    x = operands[which]
    formula, missing, places, repeated = plan(terms, output, which)
    r = np.einsum(formula, y_bar, *tuple(conj(o) for i, o in enumerate(operands) if i != which))
    if len(missing) > 0:
        r = np.expand_dims(r, missing)
        r = np.broadcast_to(r, tuple(np.shape(x)[k] if i in missing else np.shape(r)[i] for i, k in enumerate(places)))
    if not repeated:
        return unbroadcast(widen(r, x), x)  # a letter may stand for one item in every other factor
    x_bar = np.zeros_like(x)
    r = r if np.iscomplexobj(x) else np.real(r)
    x_bar[tuple(np.reshape(np.arange(np.shape(x)[k]), shape) for k, shape in enumerate(diagonal_shapes(terms[which])))] = r
    return x_bar


@adjoint(np.einsum)
def einsum(y, y_bar, subscripts, *operands, optimize=False):
    terms, output = parsed(subscripts, tuple(np.ndim(x) for x in operands))
    return (None, *tuple(operand_bar(y_bar, terms, output, operands, i) for i in range(len(operands))))


@tangent(np.einsum, multilinear=True)
def einsum_dot(y, subscripts, *operands_and_dots, optimize=False):
    n = len(operands_and_dots) // 2
    operands, dots = operands_and_dots[:n], operands_and_dots[n:]
    terms = tuple(np.einsum(subscripts, *operands[:i], dots[i], *operands[i + 1 :]) for i in range(n))
    y_dot = terms[0]
    for term in terms[1:]:
        y_dot = y_dot + term
    return y_dot


@samples(np.einsum)
def _(rng):
    a, b, c = rng.normal(size=(2, 3)), rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    yield ("ij,jk->ik", a, b), {}
    yield ("ij,jk", a, b), {}
    yield ("ij,jk,kl->il", a, b, c), {}
    yield ("ij->", a), {}
    yield ("ij,kl->i", a, b), {}
    yield ("ii->i", c), {}
    yield ("ii", c), {}
    yield ("ij,kk->j", a, c), {}
    yield ("...ij,...jk->...ik", rng.normal(size=(2, 1, 2, 3)), rng.normal(size=(5, 3, 2))), {}
    yield ("i...,i...->...", a, a + 1.0), {}
    yield ("i,j->ij", a[0] + 1j * a[1], b[0]), {}
    yield ("ij,ij->ij", a, rng.normal(size=(1, 3))), {}
    yield ("ij,ij->", a, rng.normal(size=(2, 1))), {}
    yield ("ij,j,jk->ik", a, rng.normal(size=1), rng.normal(size=(1, 2))), {}
