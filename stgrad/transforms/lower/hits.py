"""Loops that add what a cotangent is a factor of are left out where that cotangent is zero.

    z = d if hit else 0.0                      z = d if hit else 0.0
    for k in range(n):                  ->     if z != 0.0:
        x_bar[k] += z * w[k]                       for k in range(n):
                                                       x_bar[k] += z * (a[k] - b[k])

The derivative of a minimum, or of what a mask chooses, meets few of the elements: the nearest of many points. Where it is zero, so is all that such a
loop adds: a factor that might be infinite is taken for zero there, as the test beside it says, and needs no test in the loop. Arrays of the compiler that
only such loops read are not kept for them: their elements are made where they are read (`late`).

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def nearest(x, y):
    ...     return np.sum(np.min(np.sum((x[:, None] - y) ** 2, axis=2), axis=1))
    >>> text = stgrad.grad(nearest).lowered(np.ones((4, 3)), np.ones((5, 3)))
    >>> "isfinite" in text, "if t" in text
    (False, True)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    map_blocks,
    reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.lower.late import late

BOOL = Type("bool")
ZERO = Const(0.0)


def hits(fn: Function) -> Function:
    """The program with tests of zero cotangents before the loops that they make useless."""
    state = _Hits(dict(fn.types), Names([*fn.types, *(p.name for p in fn.params)]), definitions(fn).reads, definitions(fn).counts)
    body = state.block(fn.body)
    return late(replace(fn, body=body, types=state.types), frozenset(state.guards)) if state.guards else fn


def _chosen(stmt: Stmt) -> tuple[str, Operand] | None:
    """Of `y = 0.0 if test else v`, either way round: y and v."""
    if not isinstance(stmt, If) or len(stmt.then) != 1 or len(stmt.orelse) != 1:
        return None
    arms = (stmt.then[0], stmt.orelse[0])
    if not all(isinstance(a, Assign) and a.op == "alias" for a in arms) or assigns(arms[0]) != assigns(arms[1]):
        return None
    values = [a.args[0] for a in arms if isinstance(a, Assign) and a.args[0] != ZERO]
    return (assigns(arms[0])[0], values[0]) if len(values) == 1 else None


@dataclass
class _Hits:
    types: dict[str, Type]
    names: Names
    read: Counter[str]
    bound: Counter[str]
    guards: list[str] = field(default_factory=list)  # the tests that were made

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        sparse: dict[str, set[str]] = {}  # cotangents that are often zero, each with the tests that say so
        for stmt in statements:
            found = _chosen(stmt)
            if found and self.bound[found[0]] == 2 and self.types[found[0]].dtype == "float64":
                sparse[found[0]] = set()
            tested = _tested(stmt)
            if tested in sparse:
                sparse[tested] |= set(assigns(stmt))
            result += self.guarded(stmt, sparse) if isinstance(stmt, For) else [map_blocks(self.block, stmt)]
        return tuple(result)

    def guarded(self, loop: For, sparse: dict[str, set[str]]) -> list[Stmt]:
        inside = {n for s in walk((loop,)) for n in reads(s)}
        for zero in (z for z in sparse if z in inside):
            within = _Within(self.types, zero, set(sparse[zero]))
            body = within.block(loop.body)
            if body is not None and within.adds and self.local(loop, within.sums):
                test = Var(self.names.fresh("_t"))
                self.types[test.name] = BOOL
                self.guards.append(test.name)
                return [Assign((test,), "np.not_equal", (Var(zero), ZERO)), If(test, (replace(loop, body=body),))]
        return [map_blocks(self.block, loop)]

    def local(self, loop: For, sums: set[str]) -> bool:
        """Whether nothing but the loop reads what it binds."""
        inside = Counter(n for s in walk(loop.body) for n in reads(s))
        counters = {s.var.name for s in walk((loop,)) if isinstance(s, For)}
        return all(self.read[n] == inside[n] for s in walk(loop.body) for n in assigns(s) if n not in counters | sums)


def _tested(stmt: Stmt) -> str:
    """The name that `t = z == 0.0` tests."""
    if isinstance(stmt, Assign) and stmt.op == "np.equal" and stmt.args[1] == ZERO and isinstance(stmt.args[0], Var):
        return stmt.args[0].name
    return ""


@dataclass
class _Within:
    """One loop, as it runs where `zero` is not: what is zero whenever that is, what is finite then, and what is false here."""

    types: dict[str, Type]
    zero: str
    false: set[str]
    none: set[str] = field(default_factory=set)
    finite: set[str] = field(default_factory=set)
    sums: set[str] = field(default_factory=set)
    adds: bool = False

    def block(self, statements: Block) -> Block | None:
        """The statements, or None where one has an effect that need not vanish."""
        self.none.add(self.zero)
        result: list[Stmt] = []
        for stmt in statements:
            made = self.statement(stmt)
            if made is None:
                return None
            result.append(made)
        return tuple(result)

    def statement(self, stmt: Stmt) -> Stmt | None:
        if isinstance(stmt, For):
            body = self.block(stmt.body)
            return None if body is None else replace(stmt, body=body)
        if isinstance(stmt, Store):
            self.adds = True
            return stmt if stmt.mode == "add" and self.vanishes(stmt.value) else None
        if isinstance(stmt, If):
            return self.choice(stmt)
        return stmt if isinstance(stmt, Assign) and self.assign(stmt) else None

    def choice(self, stmt: If) -> Stmt | None:
        """`w = 0.0 if zero == 0.0 and not isfinite(v) else v` is `w = v` here."""
        found = _chosen(stmt)
        if found is None or not isinstance(stmt.cond, Var) or stmt.cond.name not in self.false or stmt.orelse[0].args[0] == ZERO:  # type: ignore[union-attr]
            return None
        self.finite.add(found[0])
        return stmt.orelse[0]

    def assign(self, stmt: Assign) -> bool:
        """Note what a statement makes; False where it does more than make a number."""
        name = stmt.target.name
        if len(stmt.targets) != 1 or stmt.kwargs or name == self.zero or self.types[name].array:
            return False
        known = operation(stmt.op)
        if _tested(stmt) == self.zero or stmt.op == "np.logical_and" and any(isinstance(a, Var) and a.name in self.false for a in stmt.args):
            self.false.add(name)
        elif (known.symbol == "+" or stmt.op == "runtime.radd") and stmt.args[0] == stmt.target and self.vanishes(stmt.args[1]):
            self.sums.add(name)
            self.adds = True
        elif self.product(stmt) or (known.symbol in ("+", "-") or stmt.op == "alias") and all(map(self.vanishes, stmt.args)):
            self.none.add(name)
        elif name in reads(stmt):
            return False
        return stmt.op == "getitem" or known.total or name in self.sums

    def product(self, stmt: Assign) -> bool:
        if stmt.op != "np.multiply":
            return False
        a, b = stmt.args
        return any(self.vanishes(x) and (isinstance(y, Const) or isinstance(y, Var) and y.name in self.finite | self.none) for x, y in ((a, b), (b, a)))

    def vanishes(self, operand: Operand) -> bool:
        return isinstance(operand, Var) and operand.name in self.none
