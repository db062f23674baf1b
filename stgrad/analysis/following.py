"""Walks along a program with what is known at each place of it: one for all that rewrite, test or ask by it.

A state says what holds where the walk stands, and changes with the statements: branches begin with what their condition tells and are joined behind
them, a loop begins with what its body leaves alone. `Known` is such a state; others hold more beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from stgrad.analysis.integers import Integers
from stgrad.ir import Assign, Block, Custom, Effect, For, If, Operand, Stmt, While, assigned, raises


class State(Protocol):
    """What holds at a place; `Known` says what each of these does."""

    @property
    def integers(self) -> Integers: ...
    def copy(self: S) -> S: ...
    def fresh(self: S) -> S: ...
    def assign(self, stmt: Assign) -> None: ...
    def forget(self, names: Iterable[str]) -> None: ...
    def where(self: S, condition: Operand, holds: bool) -> S: ...
    def join(self: S, a: S, b: S) -> None: ...
    def take(self: S, other: S) -> None: ...
    def body(self: S, loop: For, changed: set[str]) -> S: ...


S = TypeVar("S", bound=State)


@dataclass
class Following(Generic[S]):
    """A walk; those who rewrite give other statements back, those who ask give back what they are given."""

    known: S

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> Block:
        match stmt:
            case For():
                return self.loop(stmt)
            case While():
                return (self.while_loop(stmt),)
            case If():
                return self.branch(stmt)
            case Custom():
                return (self.custom(stmt),)
        return self.simple(stmt)

    def simple(self, stmt: Stmt) -> Block:
        """A statement without others in it."""
        if isinstance(stmt, Assign):
            self.known.assign(stmt)
        elif not isinstance(stmt, Effect):
            self.known.forget(assigned((stmt,)))
        return (stmt,)

    def conditional(self, block: Block) -> Block:
        """A block that may not run, or not as often as the loops around say."""
        return self.block(block)

    def branch(self, stmt: If) -> Block:
        around, ends, blocks = self.known, [], []
        for block, holds in ((stmt.then, True), (stmt.orelse, False)):
            self.known = around.where(stmt.cond, holds)
            blocks.append(self.conditional(block))
            ends.append(self.known)
        self.known = around
        going_on = [end for end, block in zip(ends, blocks, strict=True) if not raises(block)] or ends
        around.join(going_on[0], going_on[-1])
        return (replace(stmt, then=blocks[0], orelse=blocks[1]),)

    def loop(self, loop: For) -> Block:
        around, integers = self.known, self.known.integers
        self.known, loops = around.body(loop, assigned((loop,))), integers.loops
        integers.loops = (*loops, loop)
        body = self.block(loop.body)
        integers.loops, self.known = loops, around
        return (replace(loop, body=body),)

    def while_loop(self, loop: While) -> Stmt:
        self.known.forget(assigned((loop,)))
        around, self.known = self.known, self.known.copy()
        head = self.conditional(loop.head)
        after, self.known = self.known.where(loop.cond, False), self.known.where(loop.cond, True)
        body = self.conditional(loop.body)
        self.known = around
        around.take(after)
        return replace(loop, head=head, body=body)

    def custom(self, stmt: Custom) -> Stmt:
        body = self.conditional(stmt.body)
        self.known.forget(o.name for o in stmt.outputs)
        around, self.known = self.known, self.known.fresh()
        pullback = self.conditional(stmt.pullback)
        self.known = around
        return replace(stmt, body=body, pullback=pullback)
