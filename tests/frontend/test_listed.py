"""What NumPy makes an array of where it wants one: lists, lists that grow, ranges, `x.flat`; by position, by name, beside operators, in stores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.fft
import scipy.signal
from scipy.special import logsumexp
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.3, 1.7, 2.2, -0.4])


def by_name(x):
    total = 0.0
    for i in range(3):
        total += logsumexp(a=[x[i] + total, x[i + 1]], b=[0.5, 0.5 * i + 0.1])
    return total + np.dot(a=[x[0], x[1]], b=[1.0, 2.0]) + np.interp(x=0.5 * x[0], xp=[-5.0, 0, 5], fp=[x[0], x[1], x[2]])


def transposed(x):
    rows = []
    for i in range(len(x)):
        rows.append(x * x[i])
    return np.sum(np.transpose(rows)[0] * x) + np.sum(np.moveaxis(rows, 0, 1)[1])


def reduced(x):
    rows = []
    for i in range(len(x)):
        rows.append(np.sin(x) * x[i])
    return np.sum(np.mean(rows, axis=0) * x) + np.max(a=rows) + np.linalg.norm(rows) + np.sum(np.sum(rows, axis=1) ** 2)


def looked_at_before_a_change(x):
    items = []
    for i in range(len(x)):
        items.append(x[i] ** 2)
    y, z, w, v = np.ravel(items), np.transpose(items), np.reshape(items, (2, 2)), np.atleast_2d(items)
    items[0] = 100.0 * x[1]
    return np.sum(y * x) + np.sum(z) + np.sum(w[0] * x[:2]) + v[0, 0] + np.sum(items)


def range_stored(x):
    n = x.shape[0]
    a = np.zeros((n, 2))
    a[:, 0] = range(n)
    a[:, 1] = x
    a[:, 1] += range(1, n + 1)
    return np.sum(a[:, 0] * a[:, 1] ** 2)


def range_beside_an_array(x):
    n = len(x)
    return np.sum(np.interp(range(n), range(n), x) * range(n)) + np.dot(range(n), x) + np.sum(x * range(1, n + 1)) + np.sum((x < range(n)) * x)


def list_beside_an_array(x):
    return np.sum(np.where(x > [0, 1, 2, 3], x, x**2)) + np.sum(([1.0, 2.0, 3.0, 4.0] >= x) * x)


def flat(x):
    a = np.reshape(x, (2, 2))
    s = np.sin(a.flat) * np.cos(a.T.flat)
    return np.sum(s * a.flat) + np.sum(a.flat > 0.5) * x[0] + np.dot(a.flat, x)


def grids_of_lists(x):
    u, v = np.meshgrid([x[0], x[1]], x.tolist())
    p, q = np.broadcast_arrays([x[0], x[1]], [[x[2]], [x[3]]])
    return np.sum(u * v**2) + np.sum(p * q)


def numbers_as_arrays(x):
    p, g = np.broadcast_arrays(abs(x[0]), x[1])
    out = np.zeros(p.shape)
    low = (0 <= p) & (p < 1)
    out[low] = g[low] * p[low] ** 2
    return np.sum(out)


def integers_factorised(x):
    a = np.linalg.det(np.linalg.inv([[1, 2], [3, 5]]) * x[0]) + np.trace(np.linalg.inv([[1, 2, 0], [0, 3, 1], [1, 0, 1]])) * x[1]
    return a + np.linalg.norm([3, 4]) * x[2] + np.linalg.solve([[2, 1], [1, 3]], x[:2])[0] + np.linalg.eigvalsh([[2, 1], [1, 3]])[0] * x[0]


def options_that_change_nothing(x):
    return np.sum(np.arccos(x / 10.0, casting="safe") + np.add(x, x, casting="same_kind", subok=True, order="K"))


def arguments_by_name(x):
    return np.sum(np.broadcast_to(array=x[:, None], shape=(4, 3)) ** 2)


PROGRAMS = [
    by_name, transposed, reduced, looked_at_before_a_change, range_stored, range_beside_an_array, list_beside_an_array, flat, grids_of_lists,
    numbers_as_arrays, integers_factorised, options_that_change_nothing, arguments_by_name,
]  # fmt: skip


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_right(program, jit):
    check_gradient(program, (X,), 1 if jit else 2, jit=jit)


def test_items_of_narrow_floats_are_pythons():
    x = np.array([0.1, 0.7], np.float32)
    assert stgrad.value_and_grad(lambda x: np.sum(np.array(x.tolist()) ** 3))(x)[0] == np.sum(np.array(x.tolist()) ** 3)


SIDES = {
    "and": lambda x: x[0] ** 2 if x[0] < 6.0 else x[0] & (x[0] - 1.0),
    "shift": lambda x: x[0] ** 2 if x[0] < 6.0 else float(x[0]) << 2,
    "invert": lambda x: x[0] ** 2 if x[0] < 6.0 else ~x[0],
    "order": lambda x: x[0] ** 2 if x[0] < 6.0 else float([x[0], x[1]] > x[0]),
    "range": lambda x: x[0] ** 2 if x[0] < 6.0 else np.sum(np.arange(0.0, 1.0, x[:1])),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", SIDES)
def test_what_python_does_not_define_is_its_type_error_where_it_is_reached(name, jit):
    f = SIDES[name]
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(X), [0.6, 0.0, 0.0, 0.0])
    with pytest.raises(TypeError):
        f(X + 10.0)
    with pytest.raises(TypeError):
        stgrad.grad(f, jit=jit)(X + 10.0)


def test_what_python_does_not_define_is_refused_with_a_place():
    with pytest.raises(errors.TypeInferenceError, match="`and` is not defined for float64") as found:
        stgrad.grad(lambda x: x[0] & 3)(X)
    assert "test_listed.py" in str(found.value)


def parts_set_by_name(x):
    y = x * 1.0
    y.real = -y
    z = x + 1j * x**2
    z.real = x * 3.0
    z.imag = x[0]
    return np.sum(y * x) + np.sum(np.abs(z) ** 2)


def as_many_as_the_rank(x):
    a, b = np.reshape(x, (2, 2)), x[:2]
    rank = np.linalg.matrix_rank(a)
    if rank == 2:
        return np.sum(np.linalg.solve(a, b))
    return sum(a[0, k] for k in itertools.combinations(range(2), rank))


def options_of_transforms(x):
    return np.sum(scipy.fft.irfft(scipy.fft.rfft(x, workers=1), n=6, overwrite_x=True)[:4] * x) + np.sum(scipy.signal.resample(x, 9) ** 2)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("program", [parts_set_by_name, as_many_as_the_rank, options_of_transforms], ids=lambda f: f.__name__)
def test_right_too(program, jit):
    check_gradient(program, (X,), 1 if jit else 2, jit=jit)


def test_integers_of_the_running_program_that_must_be_known():
    with pytest.raises(errors.NeedStaticError, match="combined"):
        stgrad.grad(lambda x: sum(a * b for a, b in itertools.combinations(range(3), int(x[0]))) * x[0])(X)


def copied_where_it_is_the_callers(x, copy):
    y = np.asarray(x)
    if copy and np.may_share_memory(x, y):
        y = y.copy()
    y *= 2.0
    return np.sum(y**2)


@pytest.mark.parametrize("jit", [False, True])
def test_whether_memory_is_shared(jit):
    check_gradient(copied_where_it_is_the_callers, (X, True), 1, jit=jit)
    with pytest.raises(errors.UnsupportedSyntaxError, match="share memory"):
        stgrad.grad(lambda x: np.sum(x) * np.may_share_memory(x, x[1:]), jit=jit)(X)


def table(x, y):
    rows = [[None] * len(x) for _ in range(len(y))]
    for i in range(len(y)):
        for j in range(len(x)):
            rows[i][j] = np.sin(x[j]) * y[i]
    return np.sum(np.array(rows)) * rows[1][2]


@pytest.mark.parametrize("jit", [False, True])
def test_a_table_that_begins_with_none(jit):
    x, y = np.array([0.3, -0.7, 1.2]), np.array([1.0, 0.5])
    found = stgrad.grad(table, jit=jit)(x, y)
    ends = [[table(x + h * np.eye(3)[k], y) for h in (1e-6, -1e-6)] for k in range(3)]
    np.testing.assert_allclose(found, [(a - b) / 2e-6 for a, b in ends], rtol=1e-6)
    with pytest.raises(stgrad.errors.StgradError, match="a list of lists holds None"):
        stgrad.grad(table, jit=True)(np.ones(100), np.ones(80))
