"""Facts about programs that several passes need: alias classes, liveness, and the removal of dead statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
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
    assigned,
    assigns,
    changed,
    gathers,
    operand_vars,
    operands,
    reads,
    rule_reads,
    walk,
)
from stgrad.ir.ops import contents, operation

# --------------------------------------------------------------------------- views and classes


def viewed(stmt: Stmt, types: Mapping[str, Type]) -> str | None:
    """The array whose memory the result of an assignment shares, or may share; None where it is fresh or a scalar."""
    if not isinstance(stmt, Assign) or not types[stmt.targets[0].name].array:
        return None
    known = operation(stmt.op)
    if known.views is None or known.sharing == "moves" or known.views >= len(stmt.args):
        return None
    if known.kind == "element" and gathers(stmt.args[1], types):
        return None
    source = stmt.args[known.views]
    return source.name if isinstance(source, Var) and types[source.name].array else None


def views_of(name: str, fn: Function) -> set[str]:
    """The name and all that may be views of it, or of its views."""
    derived = {name}
    while more := {t for s in walk(fn.body) if viewed(s, fn.types) in derived for t in assigns(s)} - derived:
        derived |= more
    return derived


class Classes:
    """Connected components of array names and stacks that may share memory; flow-insensitive."""

    def __init__(self, block: Block, types: Mapping[str, Type]) -> None:
        self._parent: dict[str, str] = {}
        self._shared: set[str] = set()
        for stmt in walk(block):
            source = viewed(stmt, types)
            if source is not None and isinstance(stmt, Assign):
                for target in stmt.targets:
                    self.unite(target.name, source)
            elif isinstance(stmt, Push) and isinstance(stmt.value, Var) and types[stmt.value.name].array:
                self.unite(stmt.stack, stmt.value.name)
            elif isinstance(stmt, Pop) and types[stmt.target.name].array:
                self.unite(stmt.stack, stmt.target.name)

    def find(self, name: str) -> str:
        while self._parent.get(name, name) != name:
            name = self._parent[name]
        return name

    def alone(self, name: str) -> bool:
        """Whether no other name shares an array's memory."""
        return name not in self._shared

    def unite(self, a: str, b: str) -> None:
        self._shared |= {a, b}
        self._parent[self.find(a)] = self.find(b)

    def same(self, a: str, b: str) -> bool:
        return self.find(a) == self.find(b)


# --------------------------------------------------------------------------- liveness


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
            live = self._stmt(stmt, live)
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


class ContentLiveness(Liveness):
    """Names whose contents are read later: an array that only gives its extents is not among them."""

    def _stmt(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        if isinstance(stmt, Assign) and operation(stmt.op).extents:
            return (live - set(assigns(stmt))) | contents(stmt)
        if isinstance(stmt, Push) and stmt.stack not in live or isinstance(stmt, Pop) and stmt.target.name not in live:
            return live
        return super()._stmt(stmt, live)


# --------------------------------------------------------------------------- dead statements


def result_names(fn: Function) -> set[str]:
    return set(operand_vars(fn.result))


def observed(fn: Function) -> set[str]:
    """What a caller sees of a call: the results, and the parameters that are written to."""
    return result_names(fn) | fn.written


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
                if not any(t.name in live for t in stmt.targets):
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
            return None, live  # what the body leaves is read by pullbacks, too, which may stand elsewhere by now
        inner = live | rule_reads((stmt,)) | {o.name for o in stmt.outputs}  # all of them stay together, until nothing is differentiated any more
        body, entry = self.block(stmt.body, inner)
        return changed(stmt, body=body), entry | set(reads(stmt))


def _idle(block: Block) -> bool:
    """Whether a block does nothing: empty, or marks of the reverse pass alone, of statements that restore nothing."""
    return all(isinstance(s, Effect) and s.op == "restore" and s.args[2] == Const(False) for s in block)


def operand_names(stmt: Stmt) -> set[str]:
    return {n for o in operands(stmt) for n in operand_vars(o)}


__all__ = ["Classes", "Liveness", "Pack", "Slice", "eliminate_dead", "operand_names", "result_names", "viewed"]
