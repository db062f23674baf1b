"""Programs read from text; the notation is told of in `stgrad.ir.text`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad.ir import core as ir
from stgrad.ir.text.writing import CLASSES, WEAK, symbols
from stgrad.types import Dim, Type

_NODES: dict[str, type[ast.AST]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow, "<<": ast.LShift, ">>": ast.RShift,
    "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "@": ast.MatMult,
    "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq,
}  # fmt: skip


def parse(text: str, constants: Mapping[str, Any] | None = None) -> ir.Function:
    """The program that a text tells of; `constants` are the captured arrays that it names.

    Raises:
        SyntaxError: it is no text of a program; the error has the line.

    >>> from stgrad.ir.text import dump
    >>> fn = parse('''
    ... def f(x: float64['n'], n: int('n')):
    ...     s: float = 0.0
    ...     i: int
    ...     for i in range(0, n, 1):
    ...         t: float = x[i]
    ...         s = s + t
    ...     return s
    ... ''')
    >>> fn.body[1].body[1]
    Assign(targets=(Var(name='s'),), op='np.add', args=(Var(name='s'), Var(name='t')), kwargs=(), loc=None, note=None)
    >>> parse(dump(fn)).body == fn.body
    True
    """
    tree = ast.parse(text.strip()).body
    if len(tree) != 1 or not isinstance(tree[0], ast.FunctionDef):
        raise SyntaxError("not one function")
    return _Reader(text).function(tree[0], constants or {})


class _Reader:
    """Statements of one program; `types` are those that were told."""

    def __init__(self, text: str) -> None:
        self.text = text.strip().splitlines()
        self.types: dict[str, Type] = {}

    def fail(self, node: Any) -> SyntaxError:
        line = self.text[node.lineno - 1].strip()
        return SyntaxError(f"no statement, operand or type of the IR: `{ast.unparse(node)}`, in line {node.lineno}: {line}")

    def function(self, node: ast.FunctionDef, constants: Mapping[str, Any]) -> ir.Function:
        params = tuple(ir.Var(a.arg) for a in node.args.args)
        for a in node.args.args:
            if a.annotation is not None:
                self.types[a.arg] = self.type(a.annotation)
        values = [self.operand(d) for d in node.args.defaults]
        defaults = {p.name: v.value for p, v in zip(params[len(params) - len(values) :], values, strict=True) if isinstance(v, ir.Const)}
        said = {d.func.id: [a.id for a in d.args] for d in node.decorator_list}  # type: ignore[attr-defined]
        doc = _string(node.body[0])
        *body, last = node.body if doc is None else node.body[1:]
        if not isinstance(last, ast.Return) or last.value is None:
            raise self.fail(last)
        captured = {name: constants.get(name) for name in said.get("constants", ())}
        block = self.block(body)
        written = frozenset(said.get("written", ()))
        return ir.Function(node.name, params, block, self.operand(last.value), self.types, defaults, doc or "", captured, written)

    def block(self, nodes: list[ast.stmt]) -> ir.Block:
        result: list[ir.Stmt] = []
        note: str | None = None
        custom: ir.Custom | None = None
        for node in nodes:
            if _string(node) is not None:
                note = _string(node)
            elif isinstance(node, ast.AnnAssign) and node.value is None:
                self.declare(node)
            elif isinstance(node, ast.With) and _called(node.items[0].context_expr) == "derivative" and custom is not None:
                result.append(self.derivative(node, custom))
            elif isinstance(node, ast.With):
                custom, note = replace(self.custom(node), note=note), None
            elif not isinstance(node, ast.Pass):
                result.append(replace(self.statement(node), note=note))
                note = None
        return tuple(result)

    def declare(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.fail(node)
        self.types[node.target.id] = self.type(node.annotation)

    def statement(self, node: ast.stmt) -> ir.Stmt:
        match node:
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.declare(node)
                return self.assign(target, value)
            case ast.Assign(targets=[target], value=value):
                return self.assign(target, value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=index), op=ast.Add(), value=value):
                return ir.Store(ir.Var(name), self.index(index), self.operand(value), "add")
            case ast.Expr(value=ast.Call() as value):
                return self.effect(value)
            case ast.If():
                return ir.If(self.operand(node.test), self.block(node.body), self.block(node.orelse))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range" | "parallel" as kind), args=[_, _, _] as bounds) as over):
                start, stop, step = map(self.operand, bounds)
                kept = self.operand(over.keywords[0].value) if over.keywords else None
                return ir.For(ir.Var(name), start, stop, step, self.block(node.body), parallel=kind == "parallel", snapshots=kept)
            case ast.While():
                return self.loop(node)
        raise self.fail(node)

    def loop(self, node: ast.While) -> ir.While:
        for k, inner in enumerate(node.body):
            match inner:
                case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=cond), body=[ast.Break()]):
                    loop = ir.While(self.block(node.body[:k]), self.operand(cond), self.block(node.body[k + 1 :]))
                    match node.test:
                        case ast.Call(func=ast.Name(id="counted"), args=[ast.Name(id=name)], keywords=kept):
                            return replace(loop, trips=ir.Var(name), snapshots=self.operand(kept[0].value) if kept else None)
                    return loop
        raise self.fail(node)

    def assign(self, target: ast.expr, value: ast.expr) -> ir.Stmt:
        match target, value:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="stack"), args=[]):
                return ir.Stack(name)
            case ast.Name(id=name), ast.Call(func=ast.Name(id="pop"), args=[ast.Name(id=stack)]):
                return ir.Pop(ir.Var(name), stack)
            case ast.Name(id=name), _:
                return ir.Assign((ir.Var(name),), *self.operation(value))
            case ast.Tuple(elts=names), _:
                return ir.Assign(tuple(self.var(n) for n in names), *self.operation(value))
            case ast.Subscript(value=array, slice=index), _:
                return ir.Store(self.var(array), self.index(index), self.operand(value))
        raise self.fail(target)

    def effect(self, node: ast.Call) -> ir.Stmt:
        match node:
            case ast.Call(func=ast.Name(id="push"), args=[ast.Name(id=stack), value]):
                return ir.Push(stack, self.operand(value))
            case ast.Call(func=ast.Name(id="add_at"), args=[array, index, value]):
                return ir.Store(self.var(array), self.operand(index), self.operand(value), "add_at")
        return ir.Effect(*self.operation(node))

    def custom(self, node: ast.With) -> ir.Custom:
        made = node.items[0].context_expr
        if not isinstance(made, ast.Call) or len(made.args) != 2:
            raise self.fail(node)
        outputs, inputs = (self.items(a) for a in made.args)
        facts: dict[str, Any] = {k.arg or "": self.items(k.value) if k.arg == "fixed" else ast.literal_eval(k.value) for k in made.keywords}
        return ir.Custom(tuple(o for o in outputs if isinstance(o, ir.Var)), inputs, self.block(node.body), (), (), (), **facts)

    def derivative(self, node: ast.With, custom: ir.Custom) -> ir.Custom:
        made = node.items[0].context_expr
        if not isinstance(made, ast.Call) or len(made.args) != 2:
            raise self.fail(node)
        bars, results = (self.items(a) for a in made.args)
        return replace(custom, bars=tuple(b for b in bars if isinstance(b, ir.Var)), results=results, pullback=self.block(node.body))

    # operations and operands

    def operation(self, node: ast.expr) -> tuple[str, tuple[ir.Operand, ...], tuple[tuple[str, ir.Operand], ...]]:
        """Name, operands and keywords of what is assigned."""
        by_node = {_NODES[symbol]: name for name, symbol in symbols().items()}
        match node:
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in by_node:
                return by_node[type(op)], (self.operand(left), self.operand(right)), ()
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name() as inner):
                return "np.negative", (self.operand(inner),), ()
            case ast.Subscript(value=array, slice=index):
                return "getitem", (self.var(array), self.index(index)), ()
            case ast.Call() if self.literal(node) is None:
                keywords = tuple((k.arg or "", self.operand(k.value)) for k in node.keywords)
                return _called(node), tuple(map(self.operand, node.args)), keywords
        return "alias", (self.operand(node),), ()

    def operand(self, node: ast.expr) -> ir.Operand:
        match node:
            case ast.Name(id=name):
                return ir.Var(name)
            case ast.Tuple():
                return ir.Pack(self.items(node))
            case ast.Slice():
                return ir.Slice(*(ir.NONE if part is None else self.operand(part) for part in (node.lower, node.upper, node.step)))
            case ast.Call(func=ast.Name(id="slice"), args=[lower, upper, step]):
                return ir.Slice(self.operand(lower), self.operand(upper), self.operand(step))
        found = self.literal(node)
        if found is None:
            raise self.fail(node)
        return found

    def index(self, node: ast.expr) -> ir.Operand:
        return self.operand(node)

    def items(self, node: ast.expr) -> tuple[ir.Operand, ...]:
        if not isinstance(node, ast.Tuple):
            raise self.fail(node)
        return tuple(map(self.operand, node.elts))

    def var(self, node: ast.expr) -> ir.Var:
        if not isinstance(node, ast.Name):
            raise self.fail(node)
        return ir.Var(node.id)

    def literal(self, node: ast.expr) -> ir.Const | None:
        """A constant; None for what is none."""
        match node:
            case ast.Constant():
                return ir.Const(node.value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return ir.Const(-value)  # type: ignore[operator]
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if isinstance(getattr(np, name, None), type):
                return ir.Const(getattr(np, name))
            case ast.Call(func=ast.Name(id="const"), args=[ast.Name(id=name)]):
                return ir.Const(CLASSES[name])
            case ast.Call(func=ast.Name(id="const" | "const_slice" as kind), args=args):
                parts = [self.operand(a) for a in args]
                values = tuple(p.value for p in parts if isinstance(p, ir.Const))
                return ir.Const(values if kind == "const" else slice(*values))
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as value)]):
                return ir.Const(float(value))
            case ast.Call(func=ast.Name(id="const_complex"), args=[real, imag]):
                return ir.Const(complex(*(self.operand(a).value for a in (real, imag))))  # type: ignore[union-attr]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=name), args=[inner]) if isinstance(getattr(np, name, None), type):
                return self.scalar(name, inner)
        return None

    def scalar(self, name: str, inner: ast.expr) -> ir.Const | None:
        """`np.float32(0.5)`, `np.dtype('<f8')`."""
        value = self.literal(inner)
        return None if value is None else ir.Const(getattr(np, name)(value.value))

    # types

    def type(self, node: ast.expr) -> Type:
        match node:
            case ast.Call(func=ast.Name(id="weak"), args=[inner]):
                return replace(self.type(inner), weak=True)
            case ast.Call(func=ast.Name(id="dtype"), args=[ast.Constant(value=str() as name)]):
                return Type(name)
            case ast.Call(func=inner, args=[value]):
                return replace(self.type(inner), value=self.dim(value))
            case ast.Subscript(value=inner, slice=dims):
                parts = dims.elts if isinstance(dims, ast.Tuple) else [dims]
                return replace(self.type(inner), dims=tuple(map(self.dim, parts)), array=True, weak=False)
            case ast.Name(id=name):
                return Type(WEAK[name], weak=True) if name in WEAK else Type("bool" if name == "bool_" else name)
        raise self.fail(node)

    def dim(self, node: ast.expr) -> Dim:
        match node:
            case ast.BinOp(left=ast.Constant(value=str() as symbol), op=op, right=ast.Constant(value=int() as offset)):
                return Dim(symbol, -offset if isinstance(op, ast.Sub) else offset)
            case ast.Constant(value=str() as symbol):
                return Dim(symbol)
            case ast.Constant(value=int() as offset):
                return Dim(None, offset)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as offset)):
                return Dim(None, -offset)
        raise self.fail(node)


def _string(node: ast.stmt) -> str | None:
    """The text of a line that is a string."""
    match node:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return text
    return None


def _called(node: ast.expr) -> str:
    """The name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return str(node.func.value) if isinstance(node.func, ast.Constant) else ast.unparse(node.func)
