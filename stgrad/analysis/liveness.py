"""Which names are read later, before they are bound again."""

from __future__ import annotations

from collections.abc import Iterable

from stgrad.analysis.manager import kept
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    For,
    Function,
    If,
    Pop,
    Push,
    Stmt,
    While,
    assigned,
    assigns,
    certain,
    exposed,
    operand_vars,
    operands,
    raises,
    reads,
    rule_reads,
)
from stgrad.ir.ops import contents, operation


def result_names(fn: Function) -> set[str]:
    return set(operand_vars(fn.result))


def observed(fn: Function) -> set[str]:
    """What a caller sees of a call: the results, and the parameters that are written to."""
    return result_names(fn) | fn.written


def live_before(block: Block, live: frozenset[str]) -> frozenset[str]:
    """Names live before a block, by those live behind it."""
    return exposed(block) if raises(block) else (live - certain(block)) | exposed(block)


def live_at_end(loop: For | While, live: frozenset[str]) -> frozenset[str]:
    """Names live at the end of a loop's body, by those live behind the loop: read there, or in the next iteration."""
    if isinstance(loop, For):
        return live | exposed(loop.body) - {loop.var.name}
    return live | exposed(loop.head) | (exposed(loop.body) | set(operand_vars(loop.cond))) - certain(loop.head)


class Liveness:
    """Names live after each statement: read later, on some path, before they are assigned.

    A store into an array reads it. `after[id(stmt)]` holds for the statement objects of one block tree.
    """

    def __init__(self, block: Block, live_out: Iterable[str]) -> None:
        self.after: dict[int, frozenset[str]] = {}
        self.before = self._block(block, frozenset(live_out))

    def _block(self, block: Block, live: frozenset[str]) -> frozenset[str]:
        for stmt in reversed(block):
            self.after[id(stmt)] = self.after.get(id(stmt), frozenset()) | live
            live = self._stmt(stmt, frozenset() if raises((stmt,)) else live)
        return live

    def _stmt(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        if isinstance(stmt, If):
            return self._block(stmt.then, live) | self._block(stmt.orelse, live) | set(reads(stmt))
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, live)
        if isinstance(stmt, Custom):
            live = live | rule_reads((stmt,))
            return self._block(stmt.body, live) | set(reads(stmt))
        used = set(reads(stmt))
        if isinstance(stmt, (Push, Pop)):
            used.add(stmt.stack)
        return (live - set(assigns(stmt))) | used

    def _loop(self, stmt: For | While, live: frozenset[str]) -> frozenset[str]:
        end = live_at_end(stmt, live)
        if isinstance(stmt, For):
            self._block(stmt.body, end)
        else:
            body = self._block(stmt.body, end)
            self._block(stmt.head, body | live | set(operand_vars(stmt.cond)))
        return end | {n for operand in operands(stmt) for n in operand_vars(operand)}


@kept
def liveness(fn: Function) -> Liveness:
    """The liveness of a program's names, by what a caller sees."""
    return Liveness(fn.body, observed(fn))


class ContentLiveness(Liveness):
    """Names whose contents are read later: an array that only gives its extents is not among them."""

    def _stmt(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        if isinstance(stmt, Assign) and operation(stmt.op).extents:
            return (live - set(assigns(stmt))) | contents(stmt)
        if isinstance(stmt, Push) and stmt.stack not in live or isinstance(stmt, Pop) and stmt.target.name not in live:
            return live
        return super()._stmt(stmt, live)

    def _loop(self, stmt: For | While, live: frozenset[str]) -> frozenset[str]:
        """Until nothing is added: what is pushed counts where it is popped for something that does."""
        head = live
        while True:
            if isinstance(stmt, For):
                entry = self._block(stmt.body, head) - {stmt.var.name}
            else:
                body = self._block(stmt.body, head)
                entry = self._block(stmt.head, body | live | set(operand_vars(stmt.cond)))
            if entry | live <= head:
                return head | {n for operand in operands(stmt) for n in operand_vars(operand)}
            head = head | entry | live


class TripLiveness(ContentLiveness):
    """The same, trip by trip: what a loop does not bind is not live at the end of a trip because the next one may read it, as that may not either.

    A branch of a loop that alone reads such a name leaves it out in every trip that goes the other way.
    """

    def _loop(self, stmt: For | While, live: frozenset[str]) -> frozenset[str]:
        whole = ContentLiveness((stmt,), live)
        end = live | (whole.after[id(stmt.body[-1])] & assigned(stmt.body) if stmt.body else frozenset())
        body = self._block(stmt.body, end)
        if isinstance(stmt, While):
            self._block(stmt.head, body | live | set(operand_vars(stmt.cond)))
        return whole.before
