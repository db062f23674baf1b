"""The IR as text: what each statement looks like, and that reading it gives the program again."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import fields
from typing import Any

import numpy as np
import programs
import pytest
from programs.registry import EXAMPLES

import stgrad
from stgrad.assumed import compile_program
from stgrad.errors import StgradError
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
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Store,
    Type,
    Var,
    While,
    walk,
)
from stgrad.ir import Stmt as Statements
from stgrad.ir.core import Statement
from stgrad.ir.text import dump, parse
from stgrad.program import spec_of

for _module in pkgutil.iter_modules(programs.__path__):
    importlib.import_module(f"programs.{_module.name}")

EVERYTHING = '''
@constants(data)
@written(v)
def f(x: float, n: int('n'), v: float64['n', 3], w: float32['n' - 1] = None, k: int = -2):
    'All kinds of statements.'
    gone: complex
    'a note'
    y: float = np.sin(x)
    y = x
    y = -x
    y = (-1.0) * x
    c: bool_ = y < 0.0
    c = 'not'(c)
    c = np.logical_and(c, True)
    q: float64[3]
    r: float64[3, 3]
    (q, r) = np.linalg.qr(v, mode='reduced')
    e: float64 = v[n, -1]
    row: float64[3] = v[0]
    part: float64['n' - 1, 3] = v[1:, :]
    same: float64[()] = v[..., None, 0:n:2]
    other: weak(float32) = cast(x, np.float32)
    one: float32 = np.multiply(np.float32(0.5), x, dtype=const(float))
    z: complex = const_complex(1.0, float('-inf'))
    big: float = max(float('inf'), n)
    t: dtype('<U3') = np.dtype('<f8')
    v[0] = row
    v[...] += 1.0
    add_at(v, (slice(None, n, None), 0), x)
    s: float = stack()
    i: int
    for i in range(0, n, 1):
        push(s, y)
    for i in parallel(n, 0, -1, snapshots=None):
        y = pop(s)
    if c:
        pass
    else:
        'raise'('ValueError', 'no')
    while True:
        c = y < 1.0
        if not c: break
        y = y + 1.0
    with custom((y,), (x,), owner='g', fixed=(n,)):
        y = np.exp(x)
    bar: float
    with derivative((bar,), (bar,)):
        pass
    return (y, (q, r), (z,), ())
'''.strip()


def test_every_statement_is_read_and_written() -> None:
    fn = parse(EVERYTHING, {"data": np.ones(3)})
    assert dump(fn) == EVERYTHING
    assert {type(s) for s in walk(fn.body)} == set(Statements.__args__)  # type: ignore[attr-defined]
    assert fn.types["part"] == Type("float64", (Dim("n", -1), Dim(None, 3)), array=True)
    assert fn.types["n"] == Type("int64", weak=True, value=Dim("n"))
    assert fn.defaults == {"w": None, "k": -2}
    assert fn.constants["data"].shape == (3,)


X, Y, N, V = map(Var, ("x", "y", "n", "v"))

STATEMENTS = {
    "y = x": Assign((Y,), "alias", (X,)),
    "y = -1": Assign((Y,), "alias", (Const(-1),)),
    "y = -x": Assign((Y,), "np.negative", (X,)),
    "y = x ** 2": Assign((Y,), "np.power", (X, Const(2))),
    "y = v[0,]": Assign((Y,), "getitem", (V, Pack((Const(0),)))),
    "y = v[()]": Assign((Y,), "getitem", (V, Pack(()))),
    "y = v[::-1]": Assign((Y,), "getitem", (V, Slice(NONE, NONE, Const(-1)))),
    "y = np.true_divide(x, n)": Assign((Y,), "np.true_divide", (X, N)),
    "y = 'unit:1:f'(x)": Assign((Y,), "unit:1:f", (X,)),
    "v[...] = x": Store(V, ALL, X),
    "push(s, x)": Push("s", X),
    "check_equal(n, 3, 'extents')": Effect("check_equal", (N, Const(3), Const("extents"))),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement(text: str) -> None:
    fn = Function("f", (X, N, V), (STATEMENTS[text],), NONE)
    assert dump(fn).splitlines()[1].strip() == text
    assert parse(dump(fn)).body == fn.body


def test_nested_statements() -> None:
    inner = If(X, (For(N, Const(0), X, Const(1), ()),), (If(Y, (), ()),))
    loop = While((), X, (inner, Stack("s"), Pop(Y, "s")))
    fn = Function("f", (X, Y), (loop, Custom((Y,), (X,), (), (N,), (), (NONE,), rule="vjp", note="a rule")), Y)
    assert parse(dump(fn)).body == fn.body


WRONG = [
    "x = 1",
    "def f(x):\n    return",
    "def f(x: [1]):\n    return x",
    "def f(x):\n    import os\n    return x",
    "def f(x):\n    while x:\n        pass\n    return x",
    "def f(x):\n    y = x + x * x\n    return y",
    "def f(x):\n    x.y = 1\n    return x",
    "def f(x):\n    y = <object>\n    return y",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_program(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)


def test_what_has_no_text_is_shown() -> None:
    assert "<1.0>" in dump(Function("f", (X,), (Assign((Y,), "np.sin", (1.0,)),), Y))  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """A program without the places in the user's file; NaN equals NaN."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, Statement):
        return type(value), *(plain(getattr(value, f.name)) for f in fields(value) if f.name != "loc")  # type: ignore[arg-type]
    return repr(value)


def stages(example: Any) -> dict[str, Function]:
    wrt = example.argnums or tuple(i for i, a in enumerate(example.args) if isinstance(a, (float, np.ndarray)))
    bound = inspect.signature(example.function).bind(*example.args)
    bound.apply_defaults()
    target = stgrad.value_and_grad(example.function, wrt, jit=False)
    return compile_program(target, {k: spec_of(v, k) for k, v in bound.arguments.items()}, keep=True).trace.stages


@pytest.mark.parametrize("example", EXAMPLES[5::60], ids=lambda e: e.name)
def test_programs_of_the_corpus(example: Any) -> None:
    try:
        programs = stages(example)
    except StgradError:
        pytest.skip("not differentiated in its arrays and floats")
    for fn in programs.values():
        text = dump(fn)
        again = parse(text, fn.constants)
        assert dump(again) == text
        assert (again.name, again.params, again.types, again.doc, again.written) == (fn.name, fn.params, fn.types, fn.doc, fn.written)
        assert repr(again.defaults) == repr(dict(fn.defaults))
        assert plain((*again.body, again.result)) == plain((*fn.body, fn.result))
