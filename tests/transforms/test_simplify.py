"""Copies, constants and transposes that are seen through."""

import numpy as np
import pytest

import stgrad
from stgrad.ir import Assign, Const, Effect, Function, If, Type, Var
from stgrad.printer import to_source
from stgrad.transforms.simplify import simplify


def kalman(F, P):
    Q = F @ P @ F.T
    return np.sum(np.sin(Q @ F.T.T))


def turned_between(a):
    b = a.T
    a = a * 2.0
    c = b.T
    c = c * a
    return np.sum(c * c)


def written_between(a):
    b = a.T
    c = b.T
    c[0, 1] = 3.0 * a[1, 0]
    return np.sum(a * a * b)


def looped(a):
    b = a.T
    for _ in range(3):
        a = np.sin(b.T)
        b = a.T * 0.5
    return np.sum(a * b.T)


def scaled(x):
    y = 1.0 * x
    z = y / 1.0
    z[0] = z[0] * x[1]
    return np.sum(x * y * z)


A = np.random.default_rng(3).normal(size=(3, 3))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(("f", "arguments"), [(kalman, (A, A + 1.0)), (turned_between, (A,)), (written_between, (A,)), (looped, (A,)), (scaled, (A[0],))])
def test_against_differences(f, arguments, jit):
    found = stgrad.grad(f, tuple(range(len(arguments))), jit=jit)(*arguments)
    for k, gradient in enumerate(found):
        for at in np.ndindex(gradient.shape):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [np.array(a) for a in arguments]
                moved[k][at] += h
                ends.append(f(*moved))
            np.testing.assert_allclose(gradient[at], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_no_transpose_of_a_transpose_is_left():
    text = stgrad.grad(kalman, ("F", "P")).source(A, A)
    assert "np.transpose(np.transpose(F)" not in text
    lines = stgrad.grad(scaled).source(A[0]).splitlines()
    assert not any("1.0 *" in line for line in lines if "#" not in line)


def rosenbrock(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2.0
    return total


def test_powers_0_and_1_are_no_powers():
    """The second derivative of a square, element by element: `x ** 0` once more for each was most of its time."""
    x, v = np.linspace(0.5, 1.5, 4), np.arange(4.0)
    assert "pow" not in stgrad.hvp(rosenbrock).lowered(x, v)
    third = stgrad.grad(lambda x, v: np.sum(stgrad.grad(lambda y: np.sum(y**1 * y**0 * v) + y[0] ** 2)(x)))
    np.testing.assert_allclose(third(x, v), [2.0, 0.0, 0.0, 0.0])
    h = 1e-6
    gradient = stgrad.grad(rosenbrock)
    np.testing.assert_allclose(stgrad.hvp(rosenbrock)(x, v), (gradient(x + h * v) - gradient(x - h * v)) / (2 * h), rtol=1e-6)


def test_powers_of_nan():
    def one(x):
        return x**0.0 + x**0

    assert stgrad.jit(one)(np.nan) == one(np.nan) == 2.0


def test_systems_of_equations_read_as_in_books():
    text = stgrad.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), (0, 1)).source(A, A[0])
    assert "np.outer(b_bar, " in text
    assert "expand_dims" not in text


def test_an_item_that_nobody_reads_is_taken_off_its_stack():
    """What a stack holds comes off in order, also where one of the items is not used; what only computes goes."""
    stack = Assign((Var("s"),), "runtime.new_stack", (Const(0.0),))
    pushes = [Effect("runtime.push", (Var("s"), Const(value))) for value in (1.0, 2.0)]
    pops = [Assign((Var(name),), "runtime.pop", (Var("s"),)) for name in ("a", "b")]
    unread = Assign((Var("c"),), "np.sin", (Var("a"),))
    number = Type("float64", weak=True)
    fn = Function("f", (), (stack, *pushes, *pops, unread), Var("b"), dict.fromkeys("sabc", number))
    space = {}
    exec(to_source(simplify(fn)), space)
    assert space["f"]() == 1.0
    assert "sin" not in to_source(simplify(fn))


def of_booleans(op, args):
    """`c = op(args)`; what c stands for then decides a branch."""
    types = {"a": Type("bool", weak=True), "b": Type("bool", weak=True), "x": Type("float64"), "y": Type("float64")}
    body = (
        Assign((Var("b"),), op, args),
        If(Var("b"), (Assign((Var("y"),), "np.sin", (Var("x"),)),), (Assign((Var("y"),), "np.cos", (Var("x"),)),)),
    )
    return to_source(simplify(Function("f", (Var("a"), Var("x")), body, Var("y"), types)))


@pytest.mark.parametrize(
    ("op", "args", "wanted"),
    [
        ("np.logical_and", (Const(True), Const(True)), "np.sin(x)"),
        ("np.logical_and", (Var("a"), Const(False)), "np.cos(x)"),
        ("np.logical_or", (Var("a"), Const(True)), "np.sin(x)"),
        ("np.logical_or", (Const(False), Const(False)), "np.cos(x)"),
        ("not", (Const(False),), "np.sin(x)"),
        ("np.logical_not", (Const(True),), "np.cos(x)"),
    ],
)
def test_logical_operations_decide_branches(op, args, wanted):
    text = of_booleans(op, args)
    assert f"= {wanted}" in text or f"return {wanted}" in text
    assert " if " not in text


@pytest.mark.parametrize(("op", "args"), [("np.logical_and", (Const(True), Var("a"))), ("np.logical_or", (Var("a"), Const(False)))])
def test_what_decides_nothing_is_left_out(op, args):
    text = of_booleans(op, args)
    assert " if a else " in text
    assert "logical" not in text


def asked_again(x, n):
    """As libraries do: a condition of options alone around code that may raise."""
    ready = True
    if n > 2 and ready:
        if x.shape[0] == 0:
            raise ValueError("nothing")
        y = np.sum(x)
    else:
        y = np.prod(x)
    scale = 4.0
    while scale > 1.5:
        scale = scale / 2.0
    return y * y * scale


@pytest.mark.parametrize("jit", [False, True])
def test_options_decide_what_may_raise(jit):
    x = np.array([0.5, 1.5, 2.0])
    gradient = stgrad.grad(asked_again, jit=jit)
    np.testing.assert_allclose(gradient(x, 3), np.full(3, 2.0 * np.sum(x)))
    with pytest.raises(ValueError, match="nothing"):
        gradient(np.zeros(0), 3)
