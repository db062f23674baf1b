"""Paths that end in `raise`: nothing behind them runs, and no sweep comes back by them."""

import numpy as np
import pytest

import stgrad
from stgrad.analysis.liveness import Liveness
from stgrad.ir import Assign, Const, Effect, If, Var, certain, exposed, raises

STOP = Effect("raise", (Const("ValueError"), Const("no")), ())
BIND = Assign((Var("a"),), "alias", (Var("x"),))
READ = Assign((Var("b"),), "alias", (Var("a"),))


def test_what_a_block_binds_and_reads():
    branch = If(Var("c"), (BIND,), (STOP,))
    assert certain((branch,)) == {"a"}
    assert exposed((branch, READ)) == {"c", "x"}
    assert exposed((STOP, READ)) == set()
    assert not raises((branch,))
    assert raises((READ, If(Var("c"), (STOP,), (BIND, STOP))))
    assert certain((If(Var("c"), (BIND,), ()),)) == set()


def test_nothing_is_live_behind_a_raise():
    found = Liveness((If(Var("c"), (BIND,), (STOP,)), READ), {"b"})
    assert found.before == {"c", "x"}
    assert found.after[id(STOP)] == {"a"}  # behind the branch; the statement itself lets nothing through


def one_side(x, y):
    out = np.zeros(3)
    for j in range(len(y)):
        if y[j] > 0:
            a = x * y[j]
        else:
            raise ValueError("no")
        out = out * 0.5 + np.sin(a)
    return np.sum(out)


def both_in_turn(x, y):
    s = 0.0
    for j in range(len(y)):
        if y[j] <= 0:
            raise ValueError("no")
        elif y[j] > 5.0:
            raise ValueError("no")
        else:
            a = x[0] * y[j]
            b = a if a > 1.0 else a * a
        s = s * a + b
    return s


def in_a_list(x, y):
    out = []
    for j in range(len(y)):
        out.append(x * y[j] if y[j] > 0 else 1.0)
    return sum([np.sum(np.sin(o)) for o in out])


def in_the_other_arm(x, y):
    t = x
    for j in range(len(y)):
        if y[j] <= 0:
            u = x
            raise ValueError(f"no {u}")
        u = t * y[j]
        t = np.cos(u) * t
    return np.sum(t)


X, Y = np.array([0.3, -0.7, 1.2]), np.array([1.0, 0.5, 2.0])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [one_side, both_in_turn, in_a_list, in_the_other_arm])
def test_gradients(f, jit):
    found = stgrad.value_and_grad(f, (0, 1), jit=jit)(X, Y)
    assert found[0] == pytest.approx(f(X, Y))
    for k in range(2):
        for i in range(3):
            ends = [f(*[a + h * np.eye(3)[i] * (j == k) for j, a in enumerate((X, Y))]) for h in (1e-6, -1e-6)]
            assert found[1][k][i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)
    assert np.sum(found[1][0]) == pytest.approx(stgrad.jvp(f, (X, Y), (np.ones(3), np.zeros(3)), jit=jit)[1])
    second = stgrad.hessian(f, jit=jit)(X, Y)
    np.testing.assert_allclose(second, second.T, atol=1e-12)
    shifted = [stgrad.grad(f, jit=jit)(X + h * np.eye(3)[0], Y) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(second[0], (shifted[0] - shifted[1]) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [one_side, both_in_turn, in_the_other_arm])
def test_the_exception(f, jit):
    with pytest.raises(ValueError, match="no"):
        stgrad.grad(f, jit=jit)(X, -Y)


def nested(x, y):
    out = np.zeros(3)
    for i in range(3):
        for j in range(3):
            if y[j] > 100.0:
                raise ValueError("no")
            if x[i] > -5.0:
                t = x[i] * y[j]
                if t > 1e6:
                    raise OverflowError("no")
                else:
                    u = np.sin(t)
            else:
                u = x[i] ** 2
            out[i] += u * out[i - 1] + u
    return np.sum(out**2)


def in_a_dict(x, y):
    state = {"a": x[0], "b": np.zeros(3)}
    for i in range(4):
        if state["a"] > 1e9:
            raise ValueError("no")
        else:
            state["a"] = state["a"] * 0.9 + x[i % 3] ** 2
            state["b"] = state["b"] * state["a"] + y
    return np.sum(state["b"] * x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [one_side, both_in_turn, in_the_other_arm, nested, in_a_dict])
def test_trips_that_run_again(f, jit):
    whole = stgrad.value_and_grad(f, (0, 1), jit=jit)(X, Y)
    value, gradients = stgrad.value_and_grad(f, (0, 1), jit=jit, memory="1 kB")(X, Y)
    assert value == pytest.approx(f(X, Y))
    for one, other in zip(gradients, whole[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
