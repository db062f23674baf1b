"""Arrays that every trip of a loop fills anew before it reads them: workspaces, which tie no trip to another.

    for p in range(n):                        for p in range(n - 1, -1, -1):
        for i in range(d):                        ...
            y[i] = x[p, i] - m[i]                 for i in range(d - 1, -1, -1):
        ... y[i] ...                                  g = y_bar[i]; y_bar[i] = 0.0; m_bar[i] -= g

The trips share `y`, but none sees what another left in it. Its adjoint is zero at the end of each reversed trip, as it was at its start. So
both loops may be united as if each trip had arrays of its own. Tu & Padua 1993, Automatic array privatization.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stgrad.analysis.affine import Affine, named, number
from stgrad.analysis.alias import Classes
from stgrad.analysis.definitions import Definitions
from stgrad.analysis.trips import affine, mirrored, shape_of
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    Operand,
    Pop,
    Push,
    Stmt,
    Store,
    Var,
    assigns,
    blocks,
    entries_of,
    operand_vars,
    reads,
    walk,
)
from stgrad.ir.ops import contents, operation


@dataclass
class Workspaces:
    """What the definitions of a program say of its arrays, and which of them share memory."""

    fn: Function
    definitions: Definitions
    classes: Classes

    def primal(self, name: str, forward: Block, reverse: Block) -> bool:
        """Whether an array is filled in each trip before it is read, and the reversal reads it in the trip's state only."""
        saved, restores = saves(forward, name), restoring(reverse, name)
        if not self._private(name, forward, reverse):
            return False
        touching = [s for s in home(forward, name, saved) if touches(s, name, saved)]
        if not touching or not self._fills(touching[0], name, saved, self.extents(name)):
            return False
        last = [s for s in home(reverse, name, set()) if touches(s, name, set())]
        return not restores or all(id(s) in restores for s in accesses(last[-1], name)) and self._mirrors(touching[0], last[-1])

    def adjoint(self, name: str, forward: Block, reverse: Block) -> bool:
        """Whether an array starts as zeros, and each reversed trip ends with zeros in it."""
        made = self.definitions.once.get(name)
        zeros = isinstance(made, Assign) and made.op in ("np.zeros", "np.zeros_like")
        if not zeros or not self._private(name, forward, reverse) or any(True for s in forward for _ in accesses(s, name)):
            return False
        touching = [s for s in home(reverse, name, set()) if touches(s, name, set())]
        return bool(touching) and self._clears(touching[-1], name, self.extents(name))

    # ------------------------------------------------------------- the parts

    def _private(self, name: str, forward: Block, reverse: Block) -> bool:
        """Whether an array is made once, here, and used by nothing but these loops."""
        made = self.definitions.once.get(name)
        if not isinstance(made, Assign) or operation(made.op).kind not in ("creation", "like") or not self.classes.alone(name):
            return False
        if name in set(operand_vars(self.fn.result)) | self.fn.written:
            return False
        inside = sum(1 for b in (forward, reverse) for s in b for _ in accesses(s, name))
        return inside == sum(1 for s in self.fn.body for _ in accesses(s, name)) and not any(
            name in assigns(s) for b in (forward, reverse) for s in walk(b)
        )

    def affine(self, operand: Operand) -> Affine | None:
        return affine(operand, self.definitions, {})

    def extents(self, name: str) -> list[Affine]:
        """The extents that an array was made with; none where one is not known."""
        made = self.definitions.once.get(name)
        if not isinstance(made, Assign):
            return []
        first = made.args[0]
        if operation(made.op).kind == "like":
            if not isinstance(first, Var) or self.definitions.counts[first.name] != 1:
                return []
            return self.extents(first.name) if first.name in self.definitions.once else [named(shape_of(first, k)) for k in range(self.fn.types[name].rank)]
        items = entries_of(first)
        known = [form for form in map(self.affine, items) if form is not None]
        return known if len(known) == len(items) else []

    def _fills(self, stmt: Stmt, name: str, saved: set[int], extents: list[Affine]) -> bool:
        """Whether a nest of loops stores to every element, and reads none before."""
        counters: list[Operand] = []
        for extent in extents:
            if not isinstance(stmt, For) or (self.affine(stmt.start), self.affine(stmt.stop), stmt.step) != (number(0), extent, Const(1)):
                return False
            counters.append(stmt.var)
            touching = [s for s in stmt.body if touches(s, name, saved)]
            if not touching or not self._at_counters(touching, name, saved, counters, extents):
                return False
            stmt = touching[0]
        store = isinstance(stmt, Store) and stmt.mode == "set" and stmt.target == Var(name) and entries_of(stmt.index) == tuple(counters)
        return bool(counters) and store and name not in operand_vars(stmt.value)  # type: ignore[union-attr]

    def _at_counters(self, touching: list[Stmt], name: str, saved: set[int], counters: list[Operand], extents: list[Affine]) -> bool:
        """Whether a loop around others does nothing but run them, and the innermost one sees its own element alone."""
        if len(counters) < len(extents):
            return len(touching) == 1
        return all(entries_of(index) == tuple(counters) for s in touching for index in indices(s, name, saved))

    def _clears(self, stmt: Stmt, name: str, extents: list[Affine]) -> bool:
        """Whether a nest of loops ends with a zero in every element."""
        counters: list[Operand] = []
        for extent in extents:
            if not isinstance(stmt, For) or (self.affine(stmt.start), self.affine(stmt.stop)) != (extent - number(1), number(-1)):
                return False
            counters.append(stmt.var)
            touching = [s for s in stmt.body if touches(s, name, set())]
            if stmt.step != Const(-1) or not touching or not self._at_counters(touching, name, set(), counters, extents):
                return False
            stmt = touching[-1]
        clears = isinstance(stmt, Store) and stmt.mode == "set" and stmt.value == Const(0.0) and stmt.target == Var(name)
        return bool(counters) and clears and entries_of(stmt.index) == tuple(counters)  # type: ignore[union-attr]

    def _mirrors(self, fill: Stmt, last: Stmt) -> bool:
        """Whether a loop is the reversal of what fills an array."""
        if not isinstance(fill, For) or not isinstance(last, For):
            return False
        return mirrored([fill], [last], self.definitions)


def accesses(stmt: Stmt, name: str) -> Iterator[Stmt]:
    """Statements that read or write the contents of an array; not those that ask for its shape."""
    for inner in walk((stmt,)):
        if name in contents(inner):
            yield inner


def touches(stmt: Stmt, name: str, saved: set[int]) -> bool:
    return any(id(s) not in saved for s in accesses(stmt, name))


def home(block: Block, name: str, saved: set[int]) -> Block:
    """The innermost block that has every access to an array."""
    touching = [s for s in block if touches(s, name, saved)]
    if len(touching) == 1:
        inner = [b for b in blocks(touching[0]) if any(touches(s, name, saved) for s in b)]
        if len(inner) == 1 and not isinstance(inner[0][0], Store) and any(isinstance(s, For) for s in inner[0] if touches(s, name, saved)):
            return home(inner[0], name, saved)
    return block


def saves(block: Block, name: str) -> set[int]:
    """Reads of elements that are pushed and serve nothing else: they restore what was there."""
    uses: dict[str, list[Stmt]] = {}
    for stmt in walk(block):
        for n in reads(stmt):
            uses.setdefault(n, []).append(stmt)
    found = set()
    for stmt in walk(block):
        if isinstance(stmt, Push) and stmt.value == Var(name):
            return set()
        if isinstance(stmt, Assign) and stmt.op == "getitem" and stmt.args[0] == Var(name):
            users = [u for t in assigns(stmt) for u in uses.get(t, [])]
            if users and all(isinstance(u, Push) for u in users):
                found.add(id(stmt))
    return found


def restoring(block: Block, name: str) -> set[int]:
    """Stores of values that were popped: the restores."""
    popped = {s.target.name for s in walk(block) if isinstance(s, Pop)}
    return {
        id(s)
        for s in walk(block)
        if isinstance(s, Store) and s.target.name == name and s.mode == "set" and isinstance(s.value, Var) and s.value.name in popped
    }


def indices(stmt: Stmt, name: str, saved: set[int]) -> Iterator[Operand]:
    """The subscripts under which statements see an array; the whole of it as `Const(...)`."""
    for inner in accesses(stmt, name):
        if id(inner) in saved:
            continue
        if isinstance(inner, Store) and inner.target.name == name:
            yield inner.index
        elif isinstance(inner, Assign) and inner.op == "getitem" and inner.args[0] == Var(name):
            yield inner.args[1]
        else:
            yield Const(Ellipsis)
