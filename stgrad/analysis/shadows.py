"""Which arrays have adjoints that are values, and which need shadows that follow every view and rebinding.

An alias class gets shadows where an update of one name can be seen through another live name, or where a name of it is
bound anew in a loop and read after the loop. Everywhere else the adjoint of an array is a value, moved and added to
like a scalar's. Alias pairs are flow-sensitive, so `a, b = b, a` keeps two buffers apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from stgrad.analysis.alias import Classes, sharing, viewed
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import is_unknown
from stgrad.analysis.liveness import ContentLiveness, Liveness, observed, result_names
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
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    blocks,
    reads,
    runs_once,
    stored,
    walk,
)
from stgrad.ir.ops import may_view, operation

Pairs = dict[str, frozenset[str]]  # the other names that may look into the array of a name; never changed in place
NONE: frozenset[str] = frozenset()


@kept
def shadowed(fn: Function) -> frozenset[str]:
    """Representatives of the classes that need shadows."""
    return frozenset(_Conflicts(fn).found)


@kept
def updates_seen(fn: Function) -> frozenset[tuple[str, str]]:
    """Pairs of names: a store through the first changes what is read through the second."""
    return frozenset(_Conflicts(fn, observed(fn)).seen)


@kept
def changed(fn: Function) -> frozenset[str]:
    """Names that may be looking into an array when something is stored in it, under any name."""
    return frozenset(_Conflicts(fn).changed)


@kept
def updated(fn: Function) -> frozenset[str]:
    """Representatives of the classes through which something is stored."""
    classes = sharing(fn)
    return frozenset(classes.find(n) for n in stored(fn.body))


def updated_later(fn: Function, classes: Classes) -> frozenset[str]:
    """The same, without stores into an array that was made before and that no other name looks into yet."""
    found: set[str] = set()

    def block(statements: Block, own: set[str]) -> None:
        for stmt in statements:
            if isinstance(stmt, Store):
                if stmt.target.name not in own:
                    found.add(classes.find(stmt.target.name))
                continue
            lost = _looked_into(fn, stmt) | set(assigned((stmt,)))
            for part in blocks(stmt):
                block(part, set(own) if runs_once(stmt) else own - lost)
            own -= lost
            if isinstance(stmt, Assign) and len(stmt.targets) == 1 and operation(stmt.op).kind == "creation":
                own.add(stmt.target.name)

    block(fn.body, set())
    return frozenset(found)


def _looked_into(fn: Function, stmt: Stmt) -> set[str]:
    """Names of arrays that other names may look into behind a statement."""
    found: set[str] = set()
    for s in walk((stmt,)):
        if isinstance(s, Assign) and len(s.targets) == 1:
            if fn.types[s.target.name].array and (may_view(s) or operation(s.op).kind in ("call", "stack")):
                found.update(reads(s))
        elif not isinstance(s, Store):
            found.update((*reads(s), *assigns(s)))
    return found


@kept
def copied_at_once(fn: Function) -> frozenset[str]:
    """Arrays that the next statement copies, and nothing else reads: whether they are views of others does not matter."""
    every = definitions(fn).reads
    runs = [fn.body, *(inner for s in walk(fn.body) for inner in blocks(s))]
    pairs = [pair for run in runs for pair in pairwise(run)]
    made = ((a.target.name, b) for a, b in pairs if isinstance(a, Assign) and len(a.targets) == 1 and isinstance(b, Assign) and b.op == "np.copy")
    return frozenset(name for name, copy in made if copy.args[0] == Var(name) and every[name] == 1)


class _Conflicts:
    """Walks the program once to a fixpoint and collects the classes in conflict."""

    def __init__(self, fn: Function, live_out: set[str] | None = None) -> None:
        self.types: Mapping[str, Type] = fn.types
        self.classes = sharing(fn)
        live_out = result_names(fn) if live_out is None else live_out
        self.liveness = Liveness(fn.body, live_out)
        self.contents = ContentLiveness(fn.body, live_out)
        self.found: set[str] = set()
        self.seen: set[tuple[str, str]] = set()
        self.changed: set[str] = set()
        self.block(fn.body, {})

    def block(self, block: Block, pairs: Pairs) -> Pairs:
        for stmt in block:
            pairs = self.stmt(stmt, pairs)
        return pairs

    def stmt(self, stmt: Stmt, pairs: Pairs) -> Pairs:
        match stmt:
            case Assign():
                source = viewed(stmt, self.types)
                for target in assigns(stmt):
                    if self.types[target].array:
                        pairs = self.bind(pairs, target, source)
                return pairs
            case Push() if isinstance(stmt.value, Var) and self.types[stmt.value.name].array:
                return _tied(pairs, stmt.stack, pairs.get(stmt.stack, NONE) | _around(pairs, stmt.value.name))
            case Pop() if self.types[stmt.target.name].array:
                return self.bind(pairs, stmt.target.name, stmt.stack)
            case Store():
                self.update(stmt, pairs)
                return pairs
            case If():
                return _either(self.block(stmt.then, pairs), self.block(stmt.orelse, pairs))
            case For() | While():
                return self.loop(stmt, pairs)
            case Custom():
                for inner in walk(stmt.pullback):
                    self.changed |= _around(pairs, inner.target.name) if isinstance(inner, Store) else set()
                return self.block(stmt.body, pairs)
        return pairs

    def bind(self, pairs: Pairs, target: str, source: str | None) -> Pairs:
        return _tied(pairs, target, NONE if source is None else _around(pairs, source))

    def update(self, stmt: Store, pairs: Pairs) -> None:
        target, live = stmt.target.name, self.contents.after[id(stmt)]
        self.changed |= _around(pairs, target)
        others = {n for n in pairs.get(target, NONE) if n in live}
        if others:
            self.found.add(self.classes.find(target))
            self.seen |= {(target, n) for n in others}

    def loop(self, stmt: For | While, pairs: Pairs) -> Pairs:
        body = stmt.body if isinstance(stmt, For) else (*stmt.head, *stmt.body)
        for name in assigned(body) & self.liveness.after[id(stmt)] if not runs_once(stmt) else ():
            if self.types[name].array and self._bound_anew(body, name):
                self.found.add(self.classes.find(name))
        while True:
            after = _either(self.block(body, pairs), pairs)
            if after == pairs:
                return pairs
            pairs = after

    def _bound_anew(self, body: Block, name: str) -> bool:
        """Whether a trip starts without the last one's value and extents may vary: then its adjoint would be a zero of unknown shape."""
        varying = any(map(is_unknown, self.types[name].dims))
        return varying and name not in Liveness(body, {name}).before


def _around(pairs: Pairs, name: str) -> frozenset[str]:
    """The names that may look into the array of a name, itself among them."""
    return pairs.get(name, NONE) | {name}


def _tied(pairs: Pairs, name: str, partners: frozenset[str]) -> Pairs:
    """The pairs where a name looks into the arrays of these names, and of no others."""
    before, partners = pairs.get(name, NONE), partners - {name}
    if before == partners:
        return pairs
    found = dict(pairs)
    for other in before ^ partners:
        found[other] = found.get(other, NONE) ^ {name}
    found[name] = partners
    for other in (name, *before):
        if not found[other]:
            del found[other]
    return found


def _either(a: Pairs, b: Pairs) -> Pairs:
    """The pairs of two paths."""
    if a is b or not b:
        return a
    return {n: a.get(n, NONE) | b.get(n, NONE) for n in (*a, *(n for n in b if n not in a))}
