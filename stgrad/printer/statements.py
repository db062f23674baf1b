"""Statements of the IR -> `ast` statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from stgrad import ir
from stgrad.errors import InternalError
from stgrad.ir.ops import operation
from stgrad.printer.expressions import BINARY, Expressions, signed
from stgrad.printer.unparse import Comment

_IN_PLACE = ("+", "-", "*", "/")


class Statements:
    """Writes blocks, in order: a comment stands where the note changes from that of the statement before."""

    def __init__(self, types: Mapping[str, ir.Type], spell: dict[str, str]) -> None:
        self.types = types
        self.write = Expressions(spell, types)
        self.note: str | None = None
        self.made: dict[ast.stmt, ir.Stmt] = {}  # which statement each node comes from

    def block(self, block: ir.Block) -> list[ast.stmt]:
        """The statements of a block, with `pass` where there are none."""
        statements = self.plain_block(block)
        return statements if any(not isinstance(s, Comment) for s in statements) else [*statements, ast.Pass()]

    def plain_block(self, block: ir.Block) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for stmt in block:
            if stmt.note and stmt.note != self.note:
                self.note = stmt.note
                out.append(self.of(Comment(stmt.note), stmt))
            out.extend(self.of(node, stmt) for node in self.statement(stmt))
        return out

    def of(self, node: ast.stmt, stmt: ir.Stmt) -> ast.stmt:
        """The node, on record as made from a statement, unless it was made from one inside it."""
        self.made.setdefault(node, stmt)
        return node

    def statement(self, stmt: ir.Stmt) -> list[ast.stmt]:
        match stmt:
            case ir.Assign():
                return [self.assign(stmt)]
            case ir.Store():
                return [self.store(stmt)]
            case ir.Stack():
                return [ast.Assign([self.write.var(ir.Var(stmt.name), store=True)], ast.List([], ast.Load()))]
            case ir.Push():
                return [ast.Expr(self.method(stmt.stack, "append", self.write.expr(stmt.value)))]
            case ir.Pop():
                return [ast.Assign([self.write.var(stmt.target, store=True)], self.method(stmt.stack, "pop"))]
            case ir.If():
                return [self.branch(stmt)]
            case ir.For():
                return [self.loop(stmt)]
            case ir.While():
                return [self.while_loop(stmt)]
            case ir.Custom():
                return [Comment("custom gradient"), *self.plain_block(stmt.body)]
            case ir.Effect():
                return [self.effect(stmt)]
        raise InternalError(f"not a statement: {stmt!r}")

    def method(self, name: str, method: str, *args: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(self.write.var(ir.Var(name)), method, ast.Load()), list(args), [])

    # assignments

    def assign(self, stmt: ir.Assign) -> ast.stmt:
        shorter = self.in_place(stmt)
        if shorter is not None:
            return shorter
        targets: list[ast.expr] = [self.write.var(target, store=True) for target in stmt.targets]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        return ast.Assign([target], self.write.call(stmt.op, stmt.args, stmt.kwargs))

    def in_place(self, stmt: ir.Assign) -> ast.stmt | None:
        """`x += v`, for scalars only: with arrays it would write through other names."""
        if operation(stmt.op).symbol not in _IN_PLACE or len(stmt.targets) != 1 or len(stmt.args) != 2 or stmt.kwargs:
            return None
        known = self.types.get(stmt.target.name)
        if stmt.args[0] != stmt.target or known is None or known.array:
            return None
        return self.augmented(self.write.var(stmt.target, store=True), stmt.op, stmt.args[1])

    def augmented(self, target: ast.Name | ast.Subscript, op: str, value: Any) -> ast.stmt:
        symbol, value = signed(operation(op).symbol, value)
        return ast.AugAssign(target, BINARY[symbol](), self.write.expr(value))

    def store(self, stmt: ir.Store) -> ast.stmt:
        if stmt.mode == "add_at":
            args = [self.write.var(stmt.target), self.write.expr(stmt.index), self.write.expr(stmt.value)]
            return ast.Expr(ast.Call(self.write.function("np.add.at"), list(args), []))
        known = self.types.get(stmt.target.name)
        scalar = known is not None and known.rank == 0
        if stmt.index == ir.ALL and stmt.mode == "add" and not scalar:
            return self.augmented(self.write.var(stmt.target, store=True), "np.add", stmt.value)
        # Numba does not lower `y[...] = v`.
        whole = ast.Tuple([], ast.Load()) if scalar else ast.Slice()
        index = whole if stmt.index == ir.ALL else self.write.index(stmt.index)
        target = ast.Subscript(self.write.var(stmt.target), index, ast.Store())
        if stmt.mode == "add":
            return self.augmented(target, "np.add", stmt.value)
        return ast.Assign([target], self.write.expr(stmt.value))

    # compound statements

    def branch(self, stmt: ir.If) -> ast.stmt:
        if not stmt.then and stmt.orelse:
            return ast.If(self.write.negated(stmt.cond), self.block(stmt.orelse), [])
        return ast.If(self.write.test(stmt.cond), self.block(stmt.then), self.block(stmt.orelse) if stmt.orelse else [])

    def loop(self, stmt: ir.For) -> ast.stmt:
        if stmt.step != ir.Const(1):
            bounds = [stmt.start, stmt.stop, stmt.step]
        else:
            bounds = [stmt.stop] if stmt.start == ir.Const(0) else [stmt.start, stmt.stop]
        counts = ast.Call(self._range(stmt), [self.write.expr(bound) for bound in bounds], [])
        return ast.For(self.write.var(stmt.var, store=True), counts, self.block(stmt.body), [])

    def _range(self, stmt: ir.For) -> ast.expr:
        if not stmt.parallel:
            return ast.Name("range", ast.Load())
        self.write.modules.add("numba")
        return ast.Attribute(ast.Name("numba", ast.Load()), "prange", ast.Load())

    def while_loop(self, stmt: ir.While) -> ast.stmt:
        if not stmt.head:
            return ast.While(self.write.test(stmt.cond), self.block(stmt.body), [])
        leave = ast.If(self.write.negated(stmt.cond), [ast.Break()], [])
        return ast.While(ast.Constant(True), [*self.plain_block(stmt.head), leave, *self.plain_block(stmt.body)], [])

    def effect(self, stmt: ir.Effect) -> ast.stmt:
        if stmt.op == "print" and stmt.kwargs:
            return ast.Expr(self.write.call("breakpoint", ()))
        match stmt.op, stmt.args:
            case "raise", (ir.Const(value=str() as name), *message):
                return ast.Raise(self.write.call(name, tuple(message)), None)
            case "check_equal", (left, right, message):
                raised = ast.Raise(self.write.call("ValueError", (message,)), None)
                return ast.If(self.write.call("np.not_equal", (left, right)), [raised], [])
            case "check_position", (position, extent, message):
                raised = ast.Raise(self.write.call("IndexError", (message,)), None)
                inside = ast.Compare(self.write.call("np.negative", (extent,)), [ast.LtE(), ast.Lt()], [self.write.expr(o) for o in (position, extent)])
                return ast.If(ast.UnaryOp(ast.Not(), inside), [raised], [])
            case "check_rows", (array, message):
                flag = ast.Attribute(ast.Attribute(self.write.expr(array), "flags", ast.Load()), "c_contiguous", ast.Load())
                return ast.If(ast.UnaryOp(ast.Not(), flag), [ast.Raise(self.write.call("ValueError", (message,)), None)], [])
            case "check_index", (indices, extent, message):
                raised = ast.Raise(self.write.call("IndexError", (message,)), None)
                return ast.If(self.write.call("runtime.outside", (indices, extent)), [raised], [])
        return ast.Expr(self.write.call(stmt.op, stmt.args, stmt.kwargs))
