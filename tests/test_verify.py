"""Every broken invariant is seen, and named; sound programs pass."""

import pytest

from stgrad.errors import InternalError
from stgrad.ir import (
    ALL,
    NONE,
    Assign,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    If,
    Loc,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Store,
    Type,
    Var,
    While,
)
from stgrad.verify import verify

FLOAT, INT, VECTOR = Type("float64", weak=True), Type("int64", weak=True), Type("float64", (Dim("n"),), array=True)
TYPES = {n: FLOAT for n in ("x", "y", "z", "c", "bar")} | {"i": INT, "n": INT, "v": VECTOR, "s": FLOAT, "vs": VECTOR}
X, Y, Z, C, I, N, V, BAR = map(Var, ("x", "y", "z", "c", "i", "n", "v", "bar"))
ZERO, ONE = Const(0), Const(1)


def let(target, op, *args):
    return Assign((target,), op, args)


def sin(target, arg):
    return let(target, "np.sin", arg)


def function(*body, result=X, types=TYPES, **facts):
    return Function("f", (X, N, V), tuple(body), result, types, **facts)


def loop(*body, var=I):
    return For(var, ZERO, N, ONE, tuple(body))


SOUND = {
    "straight": function(sin(Y, X), sin(Y, Y), result=Pack((Y, Pack((X, NONE))))),
    "both branches": function(If(X, (sin(Y, X),), (sin(Y, N),)), result=Y),
    "branch that raises": function(If(X, (sin(Y, X),), (Effect("raise", (Const("ValueError"), Const("no"))),)), result=Y),
    "loop carried": function(sin(Y, X), loop(sin(Z, Y), sin(Y, Z)), result=Y),
    "counter twice": function(loop(sin(Y, I)), loop(sin(Y, I))),
    "head of a while": function(While((sin(C, X),), C, (sin(X, C),)), result=C),
    "stacks": function(Stack("s"), Stack("vs"), Push("s", X), Push("vs", V), Pop(Y, "s"), Pop(V, "vs"), result=Y),
    "stores": function(Store(V, ZERO, X), Store(V, ALL, X, "add"), Store(V, Slice(NONE, N, NONE), X, "add_at")),
    "custom": function(Custom((Y,), (X,), (sin(Y, X),), (BAR,), (let(Z, "np.multiply", BAR, Y),), (Z,)), result=Y),
    "constants": function(let(Y, "np.dot", Var("data"), V), result=Y, constants={"data": object()}),
    "defaults": function(defaults={"v": None}),
}

BROKEN = {
    "`y` is read but not assigned": function(sin(Z, Y)),
    "`y` is read but not assigned before": function(result=Pack((X, Y))),
    "`z` is read but not assigned": function(If(X, (sin(Z, X),)), sin(Y, Z)),
    "`y` is read but not assigned b": function(loop(sin(Y, X)), result=Y),
    "`i` is read but not assigned": function(loop(), result=I),
    "`c` is read but not assigned": function(While((), C, (sin(C, X),))),
    "`x2` has no type": function(sin(Var("x2"), X)),
    "`data` has no type": Function("f", (Var("data"),), (), NONE, {}),
    "two parameters": Function("f", (X, X), (), NONE, TYPES),
    "defaults for what is no parameter": function(defaults={"q": 1}),
    "counter `i` is assigned in its loop": function(loop(sin(I, X))),
    "counter `i` is assigned in": function(loop(loop())),
    "is an array": function(loop(var=V)),
    "stack `s` is not declared": function(Push("s", X)),
    "stack `vs` is not declared": function(Pop(V, "vs")),
    "is a stack, and is read": function(Stack("s"), sin(Y, Var("s"))),
    "is a stack, and is assigned": function(Stack("s"), sin(Var("s"), X)),
    "declared as a stack": function(sin(Y, X), Stack("y")),
    "not of one rank": function(let(Y, "alias", V)),
    "`s` is float and `v`": function(Stack("s"), Push("s", V)),
    "which is no array": function(Store(X, ALL, X)),
    "unknown mode 'sub'": function(Store(V, ALL, X, "sub")),
    "not an operand: 1.0": function(let(Y, "np.sin", 1.0)),
    "not an operand: Assign": function(let(Y, "np.sin", Pack((sin(Z, X),)))),
    "takes 2 operands, not 1": function(let(Y, "getitem", V)),
    "without targets": function(Assign((), "np.sin", (X,))),
    "an adjoint for each output": function(Custom((Y,), (X,), (sin(Y, X),), (), (), (NONE,))),
    "`z` is read but": function(Custom((Y,), (X,), (sin(Y, X),), (BAR,), (), (Z,))),
}

MATRIX = Type("float64", (Dim("n"), Dim("m")), array=True)
MORE = {**TYPES, "m": MATRIX, "b": Type("bool"), "w": Type("complex128")}
M, B, W = Var("m"), Var("b"), Var("w")


def malformed(*body):
    return Function("f", (X, N, V, M, B, W), body, X, MORE)


# What each statement says is impossible, whatever stands around it.
MALFORMED = {
    "there is no operation `np.nothing`": malformed(let(Y, "np.nothing", X)),
    "the condition `v` is an array": malformed(If(V, (sin(Y, X),))),
    "the condition `m` is an array": malformed(While((), M, (sin(Y, X),))),
    "the stop of a loop, `x`, is no integer": malformed(For(I, ZERO, X, ONE, ())),
    "the start of a loop, `0.5`, is no integer": malformed(For(I, Const(0.5), N, ONE, ())),
    "the step of a loop is 0": malformed(For(I, ZERO, N, ZERO, ())),
    "`m`, which is float64[n, m], is stored into one element of `v`": malformed(Store(V, ZERO, M)),
    "`w`, which is complex, is stored into `v`": malformed(Store(V, ZERO, W)),
    "2 positions in an array of rank 1": malformed(Store(V, Pack((ZERO, ONE)), X)),
    "`np.sin` of rank 1 is given to `y`": malformed(sin(Y, V)),
    "`np.less` gives a truth value, and `y` is float": malformed(let(Y, "np.less", X, ONE)),
    "a part of rank 1 is given to `y`": malformed(let(Y, "getitem", M, ZERO)),
    "the position `x` is no integer": malformed(let(Y, "getitem", V, X)),
    "an element of `x`, which is no array": malformed(let(Y, "getitem", X, ZERO)),
    "the extent of axis 2 of `m`": malformed(let(I, "shape", M, Const(2))),
    "the extent of `x`, which is no array": malformed(let(I, "shape", X, ZERO)),
    "`not` takes 1 operands, not 2": malformed(let(B, "not", B, B)),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound(name):
    verify(SOUND[name])


@pytest.mark.parametrize("message", BROKEN)
def test_broken(message):
    with pytest.raises(InternalError) as caught:
        verify(BROKEN[message])
    assert message in str(caught.value)
    assert "bug of stgrad" in str(caught.value)


@pytest.mark.parametrize("message", MALFORMED)
def test_malformed(message):
    with pytest.raises(InternalError) as caught:
        verify(MALFORMED[message])
    assert message in str(caught.value)


def test_every_pass_is_verified_in_tests():
    """`STGRAD_CHECK` is set for the suite, and a pass that breaks the program is found behind it."""
    from stgrad.transforms.pipeline import CHECK, Trace

    assert CHECK
    with pytest.raises(InternalError, match="no operation"):
        Trace().add("a pass", malformed(let(Y, "np.nothing", X)))


def test_the_message_has_the_place_and_the_program():
    statement = Assign((Z,), "np.sin", (Y,), loc=Loc("m.py", 3, 0, 9, "z = sin(y)"))
    with pytest.raises(InternalError) as caught:
        verify(function(statement))
    text = str(caught.value)
    assert "at m.py:3" in text
    assert "in: z: float = np.sin(y)" in text
    assert text.endswith("def f(x: float, n: int, v: float64['n']):\n    z: float = np.sin(y)\n    return x")
