"""What temporaries are called."""

import numpy as np
import pytest

import stgrad
from stgrad.frontend.wishes import is_unnamed, wish_of
from stgrad.ir import Const, Pack, Slice, Var

X, Y, T = Var("x"), Var("_y__2"), Var("_t_3")


@pytest.mark.parametrize(
    ("op", "args", "aim", "wish"),
    [
        ("np.sin", (X,), "", "_sin_x"),
        ("np.sin", (T,), "", "_t"),
        ("np.sin", (T,), "K", "_K_sin"),
        ("np.matmul", (X, Y), "K", "_x_y"),
        ("np.matmul", (X, T), "K", "_K_part"),
        ("np.transpose", (Y,), "", "_y_T"),
        ("np.add", (X, Y), "K", "_K_part"),
        ("np.add", (X, Y), "", "_t"),
        ("shape", (X, Const(0)), "", "_n_x"),
        ("shape", (X, Const(1)), "", "_n1_x"),
        ("getitem", (X, Const(-1)), "", "_x_m1"),
        ("getitem", (X, Pack((Var("i"), Const(2)))), "", "_x_i_2"),
        ("getitem", (X, Slice(Const(1), None, None)), "", "_x_part"),
        ("np.linalg.inv", (Var("a_matrix_of_covariances"),), "", "_t"),
    ],
)
def test_wishes(op, args, aim, wish):
    assert wish_of(op, args, aim) == wish


def test_unnamed():
    assert is_unnamed("_t") and is_unnamed("_t_12")
    assert not any(map(is_unnamed, ("t", "_t_T", "_tanh_x", "_t_1_bar", "_x")))


def dynamics(y, p):
    return np.array([p[0] * np.sin(y[1]), -y[0]])


def step(y, p):
    k1 = dynamics(y, p)
    k2 = dynamics(y + 0.1 * k1, p)
    return y + 0.05 * (k1 + k2)


def loss(F, p, y):
    for _ in range(3):
        y = step(F @ y, p)
    return np.sum(np.exp(y))


def test_the_program_speaks_of_what_the_user_wrote():
    text = stgrad.grad(loss, ("F", "p")).source(np.eye(2), np.ones(2), np.ones(2))
    for name in ("F_y", "y_bar", "k1_part", "k2_part_bar", "sin_k2_part"):
        assert name in text
    assert "__" not in text


def test_names_of_users_are_theirs():
    def f(x):
        sin_x = 2.0 * x
        x_part = np.sin(x) * sin_x
        return x_part * np.sin(sin_x) + x_part

    gradient = stgrad.grad(f)
    np.testing.assert_allclose(gradient(0.3), (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6, rtol=1e-7)
    assert "sin_x = 2.0 * x" in gradient.source(0.3)
