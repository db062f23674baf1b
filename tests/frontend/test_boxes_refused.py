"""Arrays without axes: what no variable can be is refused, and recorded in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import errors

X = np.array([0.7, -1.2, 0.4, 1.9])


def dots_changed(x: Any) -> Any:
    a = x[0, ...]
    a *= 2.0
    return x[0] * a


def reshaped_and_changed(x: Any) -> Any:
    a = x[:1].reshape(())
    a += 1.0
    return x[0] * x[0]


def squeezed_and_changed(x: Any) -> Any:
    a = np.squeeze(x[:1])
    a *= 3.0
    return x[0] * x[1]


def one_of_two(x: Any) -> Any:
    a = np.array(x[0])
    b = a if x[1] < 0 else np.array(1.0)
    b += 1.0
    return a * b


def row_of_it(x: Any) -> Any:
    a = np.array(x[0])
    b = a.reshape(1)
    b[0] = x[1] * x[1]
    return a * x[0]


def new_axis(x: Any) -> Any:
    a = np.array(x[0])
    b = a[None]
    a += x[1]
    return b[0] * x[0]


def ravelled(x: Any) -> Any:
    a = np.array(x[0])
    b = a.ravel()
    b[0] *= 3
    return a * a


def broadcast(x: Any) -> Any:
    a = np.array(x[0])
    b = np.broadcast_to(a, (3,))
    a *= 2
    return b.sum() * x[1]


def dots_read_behind_a_write(x: Any) -> Any:
    y = x * 2.0
    a = y[0, ...]
    y[0] = 5.0
    return a * x[1]


def squeezed_read_behind_a_write(x: Any) -> Any:
    y = x * 2.0
    a = np.squeeze(y[:1])
    y[0] = 5.0
    return a * x[1]


def two_in_turn(x: Any) -> Any:
    a = np.array(x[0])
    b = np.array(x[1])
    a, b = (b, a)
    a += 1.0
    return a * b * b


REFUSED = [
    dots_changed,
    reshaped_and_changed,
    squeezed_and_changed,
    one_of_two,
    row_of_it,
    new_axis,
    ravelled,
    broadcast,
    dots_read_behind_a_write,
    squeezed_read_behind_a_write,
    two_in_turn,
]


@pytest.mark.parametrize("function", REFUSED)
def test_what_cannot_be_compiled_is_refused(function: Any) -> None:
    with pytest.raises((errors.AliasingError, errors.TypeInferenceError)) as caught:
        stgrad.grad(function, jit=False)(X.copy())
    assert caught.value.loc is not None


@pytest.mark.filterwarnings("ignore::stgrad.errors.RunsPlainlyWarning")
@pytest.mark.parametrize("function", REFUSED)
def test_plain_python_records_it(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STGRAD_PLAIN", "1")
    value, _ = stgrad.value_and_grad(function, jit=False)(X.copy())
    assert value == pytest.approx(float(function(X.copy())))
