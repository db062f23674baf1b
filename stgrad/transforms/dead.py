"""Statements whose results nobody reads are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stgrad.analysis.alias import Classes
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    If,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    While,
    assigned,
    assigns,
    changed,
    operand_vars,
    reads,
    rule_reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.ir.units import UNITS


def eliminate_dead(block: Block, live_out: Iterable[str], types: Mapping[str, Type], classes: Classes | None = None) -> Block:
    """The block without statements whose results nobody reads.

    A store lives as long as some name of its alias class does; a branch or loop as long as something in it; a stack as long as
    something is popped from it that lives.
    """
    return _Eliminator(classes or Classes(block, types)).block(block, set(live_out))[0]


class _Eliminator:
    def __init__(self, classes: Classes) -> None:
        self.classes = classes

    def block(self, block: Block, live: set[str]) -> tuple[Block, set[str]]:
        kept: list[Stmt] = []
        for stmt in reversed(block):
            new, live = self.stmt(stmt, live)
            if new is not None:
                kept.append(new)
        return tuple(reversed(kept)), live

    def stmt(self, stmt: Stmt, live: set[str]) -> tuple[Stmt | None, set[str]]:
        match stmt:
            case Assign():
                if not any(t.name in live for t in stmt.targets) and not operation(stmt.op).takes and not (stmt.op in UNITS and UNITS[stmt.op].acts):
                    return None, live
                return stmt, (live - set(assigns(stmt))) | set(reads(stmt))
            case Store():
                if not self._stored_live(stmt.target.name, live):
                    return None, live
                return stmt, live | set(reads(stmt))
            case Push():
                return (stmt, live | set(reads(stmt))) if stmt.stack in live else (None, live)
            case Pop():
                # a pop whose value is dead still has to take the value off a stack that lives
                if stmt.target.name not in live and stmt.stack not in live:
                    return None, live
                return stmt, (live - {stmt.target.name}) | {stmt.stack}
            case Stack():
                return (stmt, live) if stmt.name in live else (None, live)
            case If():
                return self._if(stmt, live)
            case For() | While():
                return self._loop(stmt, live)
            case Custom():
                return self._custom(stmt, live)
            case Effect():
                return stmt, live | set(reads(stmt))
        raise AssertionError(stmt)

    def _stored_live(self, target: str, live: set[str]) -> bool:
        return target in live or any(self.classes.same(target, name) for name in live)

    def _if(self, stmt: If, live: set[str]) -> tuple[Stmt | None, set[str]]:
        then, live_then = self.block(stmt.then, set(live))
        orelse, live_else = self.block(stmt.orelse, set(live))
        if _idle(then) and _idle(orelse):
            return None, live
        return changed(stmt, then=then, orelse=orelse), live_then | live_else | set(reads(stmt))

    def _loop(self, stmt: For | While, live: set[str]) -> tuple[Stmt | None, set[str]]:
        if isinstance(stmt, While) and self._useless(stmt, live):
            return None, live
        head = set(live)
        while True:
            if isinstance(stmt, For):
                body, entry = self.block(stmt.body, set(head))
                entry.discard(stmt.var.name)
                new: Stmt = changed(stmt, body=body)
                empty = _idle(body)
            else:
                body, before = self.block(stmt.body, set(head))
                empty = _idle(body) and not any(isinstance(s, Effect) for s in walk(stmt.head)) and not self._needed(stmt, live)
                first, entry = self.block(stmt.head, before | live | set(operand_vars(stmt.cond)))
                new = changed(stmt, head=first, body=body)
            if empty:
                return None, live
            entry = entry | set(reads(stmt))
            if entry <= head:
                return new, head
            head |= entry

    def _useless(self, stmt: While, live: set[str]) -> bool:
        """Whether nothing that a loop does is read behind it: what it goes by is not, either."""
        inner = (*stmt.head, *stmt.body)
        if assigned(inner) & live or any(isinstance(s, (Effect, Custom)) for s in walk(inner)):
            return False
        stacks = {s.stack for s in walk(inner) if isinstance(s, (Push, Pop))}
        return not stacks & live and not any(self._stored_live(s.target.name, live) for s in walk(inner) if isinstance(s, Store))

    def _needed(self, stmt: While, live: set[str]) -> bool:
        return any(n in live for s in walk(stmt.head) for n in assigns(s))

    def _custom(self, stmt: Custom, live: set[str]) -> tuple[Stmt | None, set[str]]:
        if not any(n in live for n in ({o.name for o in stmt.outputs} | assigned(stmt.body))):
            body, entry = self.block(stmt.body, set(live))  # what it leaves is read by pullbacks, too, which may stand elsewhere by now
            return (None, live) if _idle(body) else (If(Const(True), body, (), stmt.loc), entry)  # it raises, or prints
        inner = live | rule_reads((stmt,)) | {o.name for o in stmt.outputs}  # all of them stay together, until nothing is differentiated any more
        body, entry = self.block(stmt.body, inner)
        return changed(stmt, body=body), entry | set(reads(stmt))


def _idle(block: Block) -> bool:
    """Whether a block does nothing: empty, or marks of the reverse pass alone, of statements that restore nothing."""
    return all(isinstance(s, Effect) and s.op == "restore" and s.args[2] == Const(False) for s in block)
