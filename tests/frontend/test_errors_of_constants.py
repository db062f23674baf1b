"""What Python refuses to do with constants is raised where the program comes to it, and sizes of lists of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import stgrad


def message_of_none(x, limit=None):
    if x > 10.0:
        raise ValueError("at most %g" % (1 / limit))
    return x * x


def sum_of_none(x, limit=None):
    if x > 10.0:
        x = x * (limit + 1.0)
    return x * x


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [message_of_none, sum_of_none])
def test_operations_on_none_in_a_branch(f, jit, monkeypatch):
    monkeypatch.setenv("STGRAD_PLAIN", "0")
    gradient = stgrad.grad(f, jit=jit)
    assert gradient(1.5) == 3.0
    with pytest.raises(ValueError if f is message_of_none else TypeError):  # what a message says is not computed
        gradient(11.0)


def test_operations_on_none_on_every_path():
    with pytest.raises(TypeError, match="unsupported operand type"):
        stgrad.grad(lambda x, limit=None: x * (1.0 / limit), jit=True)(1.5)


@pytest.mark.parametrize("jit", [False, True])
def test_size_of_a_list_of_arrays(jit):
    def f(x, y):
        return np.size([x, y]) * np.sum(x * y) + np.size((1.0, x[0])) * x[0] + np.size(x)

    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.1])
    np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x, y), 6.0 * y + np.array([2.0, 0.0, 0.0]))


def rows_of_many(x):
    if x.shape == (3,):
        return np.sum(x**2)
    return np.sum(x[:, 0]) * len(x)


def imported_where_needed(x):
    if any("symbolic" in str(type(v)) for v in x):
        from no_such_module import eye
    elif np.sum(x) > 100.0:
        import no_such_package.algebra as algebra

        return algebra.total(x)
    else:
        eye = np.eye
    return np.sum(eye(3) @ x**2)


def unpacked_elsewhere(x):
    if x[0] > 10.0:
        a, b = np.sin(x[0]), np.cos(x[0]), x[1]
        return a * b
    return np.sum(x**2)


def joined_elsewhere(x):
    parts = np.ones((2, 2))
    if x[0] > 10.0:
        parts = np.hstack([parts, np.ones((3, 2))])
    return np.sum(x**2) + np.sum(parts)


@pytest.mark.parametrize("f", [rows_of_many, imported_where_needed, unpacked_elsewhere, joined_elsewhere])
def test_what_python_refuses_on_a_path_not_taken(f):
    x = np.array([0.5, 1.5, -0.3])
    for jit in (False, True):
        np.testing.assert_allclose(stgrad.grad(f, jit=jit)(x), 2.0 * x)


def test_what_python_refuses_on_the_path_taken():
    with pytest.raises(IndexError, match="too many indices"):
        stgrad.grad(rows_of_many, jit=True)(np.ones(4))
    with pytest.raises(ImportError, match="no_such_package"):
        stgrad.grad(imported_where_needed, jit=True)(np.array([100.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="unpack"):
        stgrad.grad(unpacked_elsewhere, jit=True)(np.array([11.0, 1.0]))


def test_an_import_on_every_path_is_refused_with_its_line():
    def f(x):
        import no_such_module

        return no_such_module.f(x)

    with pytest.raises(stgrad.errors.UndefinedNameError, match=r"No module named 'no_such_module'[\s\S]*import no_such_module"):
        stgrad.grad(f, jit=True)(1.0)


def test_an_import_may_be_tried():
    def f(x):
        try:
            import no_such_module
        except ImportError:
            no_such_module = None
        return x * x if no_such_module is None else no_such_module.f(x)

    assert stgrad.grad(f, jit=True)(1.5) == 3.0
