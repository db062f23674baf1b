"""Which arrays have adjoints that are values, and which need shadows that follow every view and rebinding.

An alias class gets shadows where an update of one name can be seen through another live name, or where a name of it is
bound anew in a loop and read after the loop. Everywhere else the adjoint of an array is a value, moved and added to
like a scalar's. Alias pairs are flow-sensitive, so `a, b = b, a` keeps two buffers apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.liveness import ContentLiveness, Liveness, observed, result_names
from stgrad.ir import Assign, Block, Custom, For, Function, If, Pop, Push, Stmt, Store, Type, Var, While, assigned, assigns, stored

Pairs = frozenset[frozenset[str]]


def shadowed(fn: Function, classes: Classes) -> frozenset[str]:
    """Representatives of the classes that need shadows."""
    return frozenset(_Conflicts(fn, classes).found)


def updates_seen(fn: Function, classes: Classes) -> frozenset[tuple[str, str]]:
    """Pairs of names: a store through the first changes what is read through the second."""
    return frozenset(_Conflicts(fn, classes, observed(fn)).seen)


def updated(fn: Function, classes: Classes) -> frozenset[str]:
    """Representatives of the classes through which something is stored."""
    return frozenset(classes.find(n) for n in stored(fn.body))


class _Conflicts:
    """Walks the program once to a fixpoint and collects the classes in conflict."""

    def __init__(self, fn: Function, classes: Classes, live_out: set[str] | None = None) -> None:
        self.types: Mapping[str, Type] = fn.types
        self.classes = classes
        live_out = result_names(fn) if live_out is None else live_out
        self.liveness = Liveness(fn.body, live_out)
        self.contents = ContentLiveness(fn.body, live_out)
        self.found: set[str] = set()
        self.seen: set[tuple[str, str]] = set()
        self.block(fn.body, frozenset())

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
                return pairs | self.joined(pairs, stmt.stack, stmt.value.name)
            case Pop() if self.types[stmt.target.name].array:
                return self.bind(pairs, stmt.target.name, stmt.stack)
            case Store():
                self.update(stmt, pairs)
                return pairs
            case If():
                return self.block(stmt.then, pairs) | self.block(stmt.orelse, pairs)
            case For() | While():
                return self.loop(stmt, pairs)
            case Custom():
                return self.block(stmt.body, pairs)
        return pairs

    def bind(self, pairs: Pairs, target: str, source: str | None) -> Pairs:
        if source is None:
            return frozenset(p for p in pairs if target not in p) if any(target in p for p in pairs) else pairs
        partners = {n for p in pairs if source in p for n in p} | {source}
        kept = frozenset(p for p in pairs if target not in p)
        return kept | frozenset(frozenset((target, n)) for n in partners if n != target)

    def joined(self, pairs: Pairs, stack: str, name: str) -> Pairs:
        partners = {n for p in pairs if name in p for n in p} | {name}
        return frozenset(frozenset((stack, n)) for n in partners if n != stack)

    def update(self, stmt: Store, pairs: Pairs) -> None:
        target, live = stmt.target.name, self.contents.after[id(stmt)]
        others = {n for p in pairs if target in p for n in p - {target} if n in live}
        if others:
            self.found.add(self.classes.find(target))
            self.seen |= {(target, n) for n in others}

    def loop(self, stmt: For | While, pairs: Pairs) -> Pairs:
        body = stmt.body if isinstance(stmt, For) else (*stmt.head, *stmt.body)
        for name in assigned(body) & self.liveness.after[id(stmt)]:
            if self.types[name].array and self._bound_anew(body, name):
                self.found.add(self.classes.find(name))
        while True:
            after = self.block(body, pairs) | pairs
            if after == pairs:
                return pairs
            pairs = after

    def _bound_anew(self, body: Block, name: str) -> bool:
        """Whether a trip starts without the last one's value and extents may vary: then its adjoint would be a zero of unknown shape."""
        varying = any((d.symbol or "").startswith("~") for d in self.types[name].dims)
        return varying and name not in Liveness(body, {name}).before
