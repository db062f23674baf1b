"""The invariants of the IR, checked: `verify(fn)` raises an `InternalError` that says which one is broken, and prints the IR.

Checked are those of `stgrad.ir`: operands hold no calls; every name that is read has a type and is assigned on every path to
it (a loop may run zero times, a branch may not be taken); loop counters are not assigned in their loop; a name has one kind
and one rank; stacks are declared, and hold what their type says; and what `stgrad.ir.check` says of single statements: operations exist,
ranks and dtypes fit, conditions and bounds are numbers. One pass over the program, no fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, NoReturn

from stgrad import ir
from stgrad.errors import InternalError
from stgrad.ir.check import complaint
from stgrad.ir.text import dump, dump_statement


def verify(fn: ir.Function) -> None:
    """Check a function.

    Raises:
        InternalError: an invariant does not hold.

    >>> x, y = ir.Var("x"), ir.Var("y")
    >>> verify(ir.Function("f", (x,), (), x, {"x": ir.Type("float64")}))
    >>> verify(ir.Function("f", (x,), (), y, {"x": ir.Type("float64")}))
    Traceback (most recent call last):
    stgrad.errors.InternalError: `y` is read but not assigned before
    ...
    """
    _Verifier(fn).run()


class _Verifier:
    """One walk; `known` sets are the names with a value at a point."""

    def __init__(self, fn: ir.Function) -> None:
        self.fn = fn
        self.everything = frozenset(fn.types)
        self.stacks: set[str] = set()
        self.counters: list[str] = []

    def run(self) -> None:
        names = [param.name for param in self.fn.params]
        if len(set(names)) != len(names):
            self.fail("two parameters have the same name", None)
        for name in names:
            self.typed(name, None)
        unknown = set(self.fn.defaults) - set(names)
        if unknown:
            self.fail(f"defaults for what is no parameter: {sorted(unknown)}", None)
        known = self.block(self.fn.body, frozenset(names) | frozenset(self.fn.constants))
        self.reads((self.fn.result,), known, None)

    def fail(self, message: str, stmt: ir.Stmt | None) -> NoReturn:
        reason = "in: " + dump_statement(stmt, self.fn) if stmt is not None else ""
        raise InternalError(message, stmt.loc if stmt is not None else None, dump=dump(self.fn, idle=False), reason=reason)

    # names

    def typed(self, name: str, stmt: ir.Stmt | None) -> None:
        if name not in self.fn.types:
            self.fail(f"`{name}` has no type", stmt)

    def reads(self, operands: Iterable[Any], known: Set[str], stmt: ir.Stmt | None) -> None:
        for operand in operands:
            self.kind(operand, stmt)
            for name in ir.operand_vars(operand):
                if name in self.stacks:
                    self.fail(f"`{name}` is a stack, and is read as a value", stmt)
                if name not in known:
                    self.fail(f"`{name}` is read but not assigned before", stmt)
                if name not in self.fn.constants:
                    self.typed(name, stmt)

    def kind(self, operand: Any, stmt: ir.Stmt | None) -> None:
        match operand:
            case ir.Var(name=str()) | ir.Const():
                return
            case ir.Pack(items=items):
                parts: tuple[Any, ...] = items
            case ir.Slice(lower=lower, upper=upper, step=step):
                parts = (lower, upper, step)
            case _:
                self.fail(f"not an operand: {operand!r}", stmt)
        for part in parts:
            self.kind(part, stmt)

    def binds(self, targets: Iterable[ir.Var], stmt: ir.Stmt) -> frozenset[str]:
        names = [target.name for target in targets]
        for name in names:
            self.typed(name, stmt)
            if name in self.counters:
                self.fail(f"the loop counter `{name}` is assigned in its loop", stmt)
            if name in self.stacks:
                self.fail(f"`{name}` is a stack, and is assigned", stmt)
        return frozenset(names)

    # statements

    def block(self, block: ir.Block, known: Set[str]) -> Set[str]:
        """Check a block that starts with some names known; those that are known at its end."""
        inside = set(known)
        for stmt in block:
            self.reads(ir.operands(stmt), inside, stmt)
            wrong = complaint(stmt, self.fn.types)
            if wrong is not None:
                self.fail(wrong, stmt)
            inside |= self.statement(stmt, inside)
        return inside

    def statement(self, stmt: ir.Stmt, known: Set[str]) -> Set[str]:
        """Check a statement; names that have a value after it."""
        match stmt:
            case ir.Assign():
                self.assign(stmt)
                return self.binds(stmt.targets, stmt)
            case ir.Store():
                self.store(stmt)
            case ir.Stack():
                self.typed(stmt.name, stmt)
                if stmt.name in known:
                    self.fail(f"`{stmt.name}` is a variable, and is declared as a stack", stmt)
                self.stacks.add(stmt.name)
            case ir.Push():
                self.item(stmt.stack, stmt.value, stmt)
            case ir.Pop():
                self.item(stmt.stack, stmt.target, stmt)
                return self.binds((stmt.target,), stmt)
            case ir.If():
                return self.block(stmt.then, known) & self.block(stmt.orelse, known)
            case ir.For():
                return self.loop(stmt, known)
            case ir.While():
                after_head = self.block(stmt.head, known)  # the head runs at least once
                self.reads((stmt.cond,), after_head, stmt)
                self.block(stmt.body, after_head)
                return after_head
            case ir.Custom():
                return self.custom(stmt, known)
            case ir.Effect(op="raise"):
                return self.everything  # nothing behind it is reached
        return frozenset()

    def assign(self, stmt: ir.Assign) -> None:
        if not stmt.targets:
            self.fail("an assignment without targets", stmt)
        if stmt.op == "alias":
            self.same_kind(stmt.target.name, stmt.args[0], stmt)

    def same_kind(self, name: str, operand: ir.Operand, stmt: ir.Stmt) -> None:
        """Two names for one value are both scalars, or both arrays of the same rank."""
        types = self.fn.types
        if not isinstance(operand, ir.Var) or operand.name not in types or name not in types:
            return
        left, right = types[name], types[operand.name]
        if (left.array, left.rank) != (right.array, right.rank):
            self.fail(f"`{name}` is {left} and `{operand.name}` is {right}: not of one rank", stmt)

    def store(self, stmt: ir.Store) -> None:
        if stmt.mode not in ("set", "add", "add_at"):
            self.fail(f"a store of an unknown mode {stmt.mode!r}", stmt)
        known = self.fn.types.get(stmt.target.name)
        if known is not None and not known.array:
            self.fail(f"a store to `{stmt.target.name}`, which is no array", stmt)

    def item(self, stack: str, operand: ir.Operand, stmt: ir.Stmt) -> None:
        if stack not in self.stacks:
            self.fail(f"the stack `{stack}` is not declared", stmt)
        self.same_kind(stack, operand, stmt)

    def loop(self, stmt: ir.For, known: Set[str]) -> Set[str]:
        counter = self.binds((stmt.var,), stmt)
        if self.fn.types[stmt.var.name].array:
            self.fail(f"the loop counter `{stmt.var.name}` is an array", stmt)
        self.counters.append(stmt.var.name)
        after = self.block(stmt.body, known | counter)
        self.counters.pop()
        return after if ir.runs_once(stmt) else frozenset()

    def custom(self, stmt: ir.Custom, known: Set[str]) -> Set[str]:
        after = self.block(stmt.body, known)
        self.reads(stmt.outputs, after, stmt)
        given, made = (stmt.inputs, stmt.outputs) if stmt.rule == "tangent" else (stmt.outputs, stmt.inputs)
        if len(stmt.bars) != len(given) or len(stmt.results) != len(made):
            self.fail("a custom gradient needs an adjoint for each output and a result for each input (a forward rule the other way round)", stmt)
        self.reads(stmt.results, self.block(stmt.pullback, after | self.binds(stmt.bars, stmt)), stmt)
        return after
