"""Programs as text; the notation is told of in `stgrad.ir.text`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any

import numpy as np

from stgrad.ir import core as ir
from stgrad.ir.ops import TABLE
from stgrad.ir.walks import assigns
from stgrad.types import Dim, Type

WEAK = {"float": "float64", "int": "int64", "complex": "complex128", "bool": "bool"}
_PYTHON = {python: name for name, python in WEAK.items()}
CLASSES = {"float": float, "int": int, "bool": bool, "complex": complex, "str": str}  # constants that are classes of Python


@cache
def symbols() -> dict[str, str]:
    """Operations of two operands that are written with an operator, by name; each operator stands for one of them."""
    found: dict[str, str] = {}
    for name, known in TABLE.items():
        if known.symbol and name not in ("np.negative", "np.positive", "np.invert"):
            found.setdefault(known.symbol, name)
    return {name: symbol for symbol, name in found.items()}


def dump(fn: ir.Function, *, idle: bool = True) -> str:
    """A program as text; `idle=False` leaves out the types of names that do not occur in it.

    >>> x, y = ir.Var("x"), ir.Var("y")
    >>> print(dump(ir.Function("f", (x,), (ir.Assign((y,), "np.sin", (x,)),), y, {"x": Type("float64"), "y": Type("float64", weak=True)})))
    def f(x: float64):
        y: float = np.sin(x)
        return y
    """
    return "\n".join(_Writer(fn, idle).lines())


def dump_statement(stmt: ir.Stmt, fn: ir.Function) -> str:
    """The first line of a statement of a program."""
    writer = _Writer(fn, False)
    if not isinstance(stmt, ir.Assign):
        writer.typed.update(fn.types)
    return next(writer.statement(replace(stmt, note=None)))


class _Writer:
    """Lines of one program; `typed` are the names whose type has been said."""

    def __init__(self, fn: ir.Function, idle: bool) -> None:
        self.fn = fn
        self.idle = idle
        self.typed: set[str] = set()

    def lines(self) -> Iterator[str]:
        fn = self.fn
        params = []
        for p in fn.params:
            given = f" = {constant(fn.defaults[p.name])}" if p.name in fn.defaults else ""
            params.append(f"{self.declared(p.name)}{given}")
        yield from (f"@constants({', '.join(fn.constants)})",) if fn.constants else ()
        yield from (f"@written({', '.join(sorted(fn.written))})",) if fn.written else ()
        yield f"def {fn.name}({', '.join(params)}):"
        if fn.doc or fn.body and fn.body[0].note:
            yield "    " + repr(fn.doc)
        body = list(self.block(fn.body)) if fn.body else []
        for name in fn.types if self.idle else ():
            if name not in self.typed:
                yield f"    {self.declared(name)}"
        yield from body
        yield f"    return {operand(fn.result)}"

    def declared(self, name: str) -> str:
        """A name, with its type where it is told of for the first time."""
        if name in self.typed or name not in self.fn.types:
            return name
        self.typed.add(name)
        return f"{name}: {type_text(self.fn.types[name])}"

    def ahead(self, names: Iterable[str]) -> Iterator[str]:
        """Types of names that are not bound by a plain assignment."""
        for name in names:
            if name not in self.typed and name in self.fn.types:
                yield self.declared(name)

    def block(self, block: ir.Block) -> Iterator[str]:
        empty = True
        for stmt in block:
            empty = False
            for line in self.statement(stmt):
                yield "    " + line
        if empty:
            yield "    pass"

    def statement(self, stmt: ir.Stmt) -> Iterator[str]:
        if stmt.note is not None:
            yield repr(stmt.note)
        match stmt:
            case ir.Assign() if len(stmt.targets) != 1:
                yield from self.ahead(assigns(stmt))
                yield f"{operand(ir.Pack(stmt.targets))} = {call(stmt)}"
            case ir.Assign():
                yield f"{self.declared(stmt.target.name)} = {expression(stmt)}"
            case ir.Store():
                yield _store(stmt)
            case ir.Stack():
                yield f"{self.declared(stmt.name)} = stack()"
            case ir.Push():
                yield f"push({stmt.stack}, {operand(stmt.value)})"
            case ir.Pop():
                yield f"{self.declared(stmt.target.name)} = pop({stmt.stack})"
            case ir.Effect():
                yield call(stmt)
            case _:
                yield from self.compound(stmt)

    def compound(self, stmt: ir.Stmt) -> Iterator[str]:
        match stmt:
            case ir.If():
                yield f"if {operand(stmt.cond)}:"
                yield from self.block(stmt.then)
                if stmt.orelse:
                    yield "else:"
                    yield from self.block(stmt.orelse)
            case ir.For():
                yield from self.ahead(assigns(stmt))
                bounds = ", ".join(map(operand, (stmt.start, stmt.stop, stmt.step)))
                kept = "" if stmt.snapshots is None else f", snapshots={operand(stmt.snapshots)}"
                yield f"for {stmt.var.name} in {'parallel' if stmt.parallel else 'range'}({bounds}{kept}):"
                yield from self.block(stmt.body)
            case ir.While():
                kept = "" if stmt.snapshots is None else f", snapshots={operand(stmt.snapshots)}"
                yield "while True:" if stmt.trips is None else f"while counted({stmt.trips.name}{kept}):"
                yield from self.block(stmt.head) if stmt.head else ()
                yield f"    if not {operand(stmt.cond)}: break"
                yield from self.block(stmt.body) if stmt.body else ()
            case ir.Custom():
                yield from self.custom(stmt)

    def custom(self, stmt: ir.Custom) -> Iterator[str]:
        said = {"rule": (stmt.rule, "pullback"), "owner": (stmt.owner, "")}
        facts = [f"{key}={value!r}" for key, (value, usual) in said.items() if value != usual]
        facts += [f"fixed={operand(ir.Pack(stmt.fixed))}"] if stmt.fixed else []
        yield f"with custom({', '.join([operand(ir.Pack(stmt.outputs)), operand(ir.Pack(stmt.inputs)), *facts])}):"
        yield from self.block(stmt.body)
        yield from self.ahead(v.name for v in stmt.bars)
        yield f"with derivative({operand(ir.Pack(stmt.bars))}, {operand(ir.Pack(stmt.results))}):"
        yield from self.block(stmt.pullback)


def _store(stmt: ir.Store) -> str:
    if stmt.mode in ("set", "add"):
        return f"{element(stmt.target, stmt.index)} {'=' if stmt.mode == 'set' else '+='} {operand(stmt.value)}"
    return f"{stmt.mode}({operand(stmt.target)}, {operand(stmt.index)}, {operand(stmt.value)})"


def expression(stmt: ir.Assign) -> str:
    """The right side of an assignment to one name."""
    args, op = stmt.args, stmt.op
    if not stmt.kwargs:
        if op == "alias" and len(args) == 1:
            return operand(args[0])
        if op == "getitem" and len(args) == 2 and isinstance(args[0], ir.Var):
            return element(args[0], args[1])
        if op in symbols() and len(args) == 2 and all(isinstance(a, (ir.Var, ir.Const)) for a in args):
            return f"{_factor(args[0])} {symbols()[op]} {_factor(args[1])}"
        if op == "np.negative" and len(args) == 1 and isinstance(args[0], ir.Var):
            return f"-{operand(args[0])}"
    return call(stmt)


def _factor(value: ir.Operand) -> str:
    """An operand beside an operator: `-1.0 ** x` would be something else."""
    text = operand(value)
    return f"({text})" if text.startswith("-") else text


def call(stmt: ir.Assign | ir.Effect) -> str:
    keywords = [f"{key}={operand(value)}" for key, value in stmt.kwargs]
    dotted = all(part.isidentifier() for part in stmt.op.split(".")) and stmt.op not in ("not", "raise", "stack", "pop", "push", "add_at")
    return f"{stmt.op if dotted else repr(stmt.op)}({', '.join([*map(operand, stmt.args), *keywords])})"


def element(array: ir.Var, index: ir.Operand) -> str:
    """`x[i, 1:n]`."""
    parts = index.items if isinstance(index, ir.Pack) and index.items else (index,)
    inner = ", ".join(_range(p) if isinstance(p, ir.Slice) else operand(p) for p in parts)
    return f"{operand(array)}[{inner}{',' if isinstance(index, ir.Pack) and len(index.items) == 1 else ''}]"


def _range(part: ir.Slice) -> str:
    lower, upper, step = ("" if o == ir.NONE else operand(o) for o in (part.lower, part.upper, part.step))
    return f"{lower}:{upper}" + (f":{step}" if step else "")


def operand(value: Any) -> str:
    """An operand; `<...>` for what is none."""
    match value:
        case ir.Var(name=str() as name):
            return name
        case ir.Const():
            return constant(value.value)
        case ir.Pack():
            inner = ", ".join(map(operand, value.items))
            return f"({inner},)" if len(value.items) == 1 else f"({inner})"
        case ir.Slice():
            return f"slice({operand(value.lower)}, {operand(value.upper)}, {operand(value.step)})"
    return f"<{value!r}>"


def constant(value: Any) -> str:
    """A literal."""
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, int, str, bytes):
        return "..." if value is Ellipsis else repr(value)
    if kind is float:
        return repr(value) if isfinite(value) else f"float({str(value)!r})"
    if kind is complex:
        return f"const_complex({constant(value.real)}, {constant(value.imag)})"
    if kind in (tuple, slice):
        parts = value if kind is tuple else (value.start, value.stop, value.step)
        return f"const{'' if kind is tuple else '_slice'}({', '.join(map(constant, parts))})"
    if isinstance(value, np.dtype):
        return f"np.dtype({value.str!r})"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}({constant(value.item())})"
    if isinstance(value, type):
        name: str = getattr(value, "__name__", "")
        if CLASSES.get(name) is value:
            return f"const({name})"
        if getattr(np, name, None) is value:
            return f"np.{name}"
    return f"<{value!r}>"


def type_text(known: Type) -> str:
    """A type: `float`, `float64`, `float64['n', 3]`, `int('n' + 1)`."""
    weak = known.weak and not known.array and known.dtype in _PYTHON
    name = _PYTHON[known.dtype] if weak else "bool_" if known.dtype == "bool" else known.dtype
    name = name if name.isidentifier() else f"dtype({name!r})"
    if known.array:
        name += f"[{', '.join(map(dim_text, known.dims)) or '()'}]"
    if known.value is not None:
        name += f"({dim_text(known.value)})"
    return f"weak({name})" if known.weak and not weak else name


def dim_text(dim: Dim) -> str:
    if dim.symbol is None:
        return str(dim.offset)
    sign = f" {'-' if dim.offset < 0 else '+'} {abs(dim.offset)}" if dim.offset else ""
    return f"{dim.symbol!r}{sign}"
