"""Handmade typed programs for the tests of the lowering: each statement is built and run on a sample at once.

Sizes of the sample tell the symbols: an extent within 9 of a symbol's size is that symbol plus a constant.
"""

from __future__ import annotations

import functools
from types import EllipsisType
from typing import Any

import numba
import numpy as np

from stgrad import runtime
from stgrad.ir import (
    Assign,
    Const,
    Dim,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
)
from stgrad.names import Names
from stgrad.printer import to_source
from stgrad.transforms.lower import lower
from stgrad.verify import verify

SIZES = {"n": 30, "m": 50, "k": 70}


def dim_of(extent: int) -> Dim:
    for symbol, size in SIZES.items():
        if abs(extent - size) < 10:
            return Dim(symbol, extent - size)
    return Dim(None, extent)


class Builder:
    """Collects statements; `env` has a sample value of every name."""

    def __init__(self, **params: Any) -> None:
        self.names = Names()
        self.types: dict[str, Type] = {}
        self.env: dict[str, Any] = {}
        self.body: list[Stmt] = []
        self.params = []
        for name, value in params.items():
            if isinstance(value, tuple):
                value = np.random.default_rng(len(self.params)).normal(size=tuple(SIZES.get(s, s) for s in value))
            self.params.append(self.bind(name, value))

    def bind(self, name: str, value: Any) -> Var:
        self.names.reserve([name])
        self.env[name] = value
        if isinstance(value, np.ndarray):
            self.types[name] = Type(str(value.dtype), tuple(map(dim_of, value.shape)), array=True)
        else:
            weak = not isinstance(value, np.generic)
            dtype = str(np.asarray(value).dtype)
            known = dim_of(value) if weak and dtype == "int64" and dim_of(value).symbol else None
            self.types[name] = Type(dtype, weak=weak, value=known)
        return Var(name)

    def value(self, operand: Operand) -> Any:
        match operand:
            case Var(name):
                return self.env[name]
            case Const(value):
                return value
            case Pack(items):
                return tuple(map(self.value, items))
            case Slice(a, b, c):
                return slice(self.value(a), self.value(b), self.value(c))
        raise AssertionError(operand)

    def __call__(self, op: str, *args: Any, to: str = "", **kwargs: Any) -> Var:
        operands = tuple(map(operand, args))
        named = tuple((k, operand(v)) for k, v in kwargs.items())
        value = run(op, [self.value(a) for a in operands], {k: self.value(v) for k, v in named})
        target = self.bind(to or self.names.fresh("_t"), value)
        self.body.append(Assign((target,), op, operands, named))
        return target

    def store(self, target: Var, index: Any, value: Any, mode: str = "set") -> None:
        stmt = Store(target, operand(index), operand(value), mode)
        array, where, what = self.env[target.name], self.value(stmt.index), self.value(stmt.value)
        if mode == "add_at":
            np.add.at(array, where, what)
        else:
            array[where] = what if mode == "set" else array[where] + what
        self.body.append(stmt)

    def function(self, *result: Var) -> Function:
        out = result[0] if len(result) == 1 else Pack(result)
        return Function("f", tuple(self.params), tuple(self.body), out, self.types)


def operand(value: Any) -> Operand:
    if isinstance(value, (Var, Const, Pack, Slice)):
        return value
    if isinstance(value, tuple):
        return Pack(tuple(map(operand, value)))
    if isinstance(value, slice):
        return Slice(operand(value.start), operand(value.stop), operand(value.step))
    assert value is None or isinstance(value, (int, float, complex, str, type, np.generic, EllipsisType))
    return Const(value)


def run(op: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if op == "getitem":
        return args[0][args[1]]
    if op == "shape":
        return args[0].shape[args[1]]
    if op == "alias":
        return args[0]
    if op == "unbroadcast":
        return runtime_unbroadcast(*args)
    if op in ("float", "int", "bool"):
        return {"float": float, "int": int, "bool": bool}[op](args[0])
    return functools.reduce(getattr, op.split(".")[1:], np)(*args, **kwargs)


def runtime_unbroadcast(g: Any, like: Any) -> Any:
    shape = np.shape(like)
    g = np.asarray(g)
    g = g.sum(tuple(range(g.ndim - len(shape))))
    for axis, extent in enumerate(shape):
        if extent == 1 != g.shape[axis]:
            g = g.sum(axis, keepdims=True)
    return g


def execute(fn: Function, args: list[Any], *, jit: bool = False) -> Any:
    """Run the text of a function on copies of the arguments."""
    if not hasattr(runtime, "unbroadcast"):
        runtime.unbroadcast = runtime_unbroadcast  # type: ignore[attr-defined]
    space: dict[str, Any] = {}
    exec(to_source(fn), space)  # noqa: S102
    call = space[fn.name]
    if jit:
        call = numba.njit(error_model="numpy")(call)
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    result = call(*args)
    return (result, args)


def same(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    """Equal values, dtypes and shapes."""
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y, tolerance)
        return
    assert np.shape(a) == np.shape(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        tolerance = max(tolerance, 1e-5 if a.dtype == np.float32 else 0.0)
    np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


def check(fn: Function, *args: Any, jit: bool = True, show: bool = False) -> Function:
    """Compare the array program, its lowered form in Python, and compiled."""
    lowered = lower(fn)
    verify(lowered)
    if show:
        print(to_source(fn), to_source(lowered))
    with np.errstate(all="ignore"):
        want = execute(fn, list(args))
        same(want, execute(lowered, list(args)))
    if jit:
        same(want, execute(lowered, list(args), jit=True))
    return lowered


__all__ = ["Builder", "For", "If", "Pop", "Push", "Stack", "While", "check", "execute", "same", "to_source"]
