"""`x.strides` and `as_strided`, where each axis steps along an axis of the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from thorough import check_gradient

import stgrad
from stgrad import errors

X = np.array([0.4, 0.7, 0.2, 0.9, 0.5, 0.3])
M = np.outer(X, X[::-1]) + np.eye(6)


def rolling(x: Any, w: Any = 3) -> Any:
    shape = x.shape[:-1] + (x.shape[-1] - w + 1, w)
    windows = as_strided(x, shape=shape, strides=x.strides + (x.strides[-1],))
    return np.sum(np.std(windows, axis=-1) ** 2)


def strided_windows(x: Any) -> Any:
    windows = as_strided(x, ((x.shape[0] - 2) // 2 + 1, 2), (2 * x.strides[0], x.strides[0]))
    return np.sum(windows[:, 0] * windows[:, 1] ** 2)


def patches(m: Any) -> Any:
    p = as_strided(m, (5, 4, 2, 3), m.strides + m.strides)
    return np.sum(np.max(p * p, axis=(2, 3)))


def turned(m: Any) -> Any:
    t = as_strided(m.T, (6, 6), m.T.strides[::-1]) if m.ndim < 2 else as_strided(m, (6, 6), (m.strides[1], m.strides[0]))
    return np.sum(t @ np.arange(6.0) * t[0])


@pytest.mark.parametrize(("function", "x"), [(rolling, X), (rolling, M), (strided_windows, X), (patches, M), (turned, M)])
def test_gradient(function: Any, x: Any) -> None:
    check_gradient(function, (x,), order=1)
    check_gradient(function, (x,), order=1, jit=True)


def test_windows_of_a_view() -> None:
    """Strides are those of the view, whatever lies in memory."""
    x = M[:, ::2]
    gradient = stgrad.grad(rolling, jit=False)(x)
    assert gradient == pytest.approx(stgrad.grad(rolling, jit=False)(x.copy()))


@pytest.mark.parametrize("strides", [(16, 8), (0, 8)])
def test_what_reads_memory_is_refused(strides: Any) -> None:
    with pytest.raises(errors.UnsupportedSyntaxError, match="steps along an axis of the array"):
        stgrad.grad(lambda x: np.sum(as_strided(x, (2, 2), strides)), jit=False)(X)


def kept_from_writing(x: Any) -> Any:
    y = x * 2.0
    y.setflags(write=False)
    z = y.copy() if not y.flags.writeable or not y.flags["ALIGNED"] else y
    z[0] = 3.0 * x[1]
    return np.sum(z * z) + np.sum(np.require(x, requirements="W"))


def test_flags() -> None:
    check_gradient(kept_from_writing, (X,), order=1)

    def written(x: Any) -> Any:
        y = x * 2.0
        y.setflags(write=False)
        y[0] = x[1]
        return np.sum(y)

    with pytest.raises(ValueError, match="read-only"):
        stgrad.grad(written, jit=False)(X)


@pytest.mark.parametrize(("function", "message"), [(lambda x: x.strides, "strides or flags"), (lambda x: x if x.flags.c_contiguous else 2 * x, "c_contiguous")])
def test_what_lies_in_memory_is_not_known(function: Any, message: str) -> None:
    with pytest.raises(errors.StgradError, match=message):
        stgrad.vjp(function, X, jit=False)


def written_through(x: Any) -> Any:
    fine = x > 0.0
    windows = as_strided(fine, (x.size - 1, 2), (fine.strides[0], fine.strides[0]))
    windows[x[1:] < 0.3] = False
    return np.sum(x[fine] ** 2)


def test_writes_to_windows_are_refused_by_compiled_code_alone(monkeypatch: Any) -> None:
    """NumPy takes them: one write changes several items."""
    with pytest.raises(errors.AliasingError, match="of which items share memory, is written to"):
        stgrad.grad(written_through, jit=True)(X)
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    with pytest.warns(UserWarning, match="plain Python"):
        np.testing.assert_allclose(stgrad.grad(written_through)(X), [0.8, 0.0, 0.0, 1.8, 1.0, 0.6])
