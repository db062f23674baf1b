"""What the lowering must know of a whole function: which names may share memory, and which are read later.

Alias classes are flow-insensitive: names of different classes never share memory (arguments that are written are copied on entry, or the
call is refused). Liveness is by name, over structured blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stgrad.ir import (
    Assign,
    Block,
    For,
    Function,
    If,
    Operand,
    Pack,
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
    operand_vars,
    operands,
    reads,
    walk,
)
from stgrad.ir.ops import operation


class Classes:
    """Union-find over names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = name
        while self._parent.get(root, root) != root:
            root = self._parent[root]
        while self._parent.get(name, name) != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def union(self, a: str, b: str) -> None:
        self._parent[self.find(a)] = self.find(b)


def may_view(stmt: Assign) -> bool:
    """Whether the results of a statement may share memory with its arguments."""
    known = operation(stmt.op)
    return known.views is not None or not known.known or stmt.op == "runtime.matmul" and bool(stmt.kwargs)


def sources(stmt: Assign) -> tuple[Operand, ...]:
    """The operands whose memory the results of a statement that may view may share."""
    if stmt.op == "runtime.matmul":
        return tuple(v for _, v in stmt.kwargs)
    at = operation(stmt.op).views
    return operands(stmt) if at is None else stmt.args[at : at + 1]


def aliases(fn: Function) -> Classes:
    """Classes of array names that may share memory."""
    classes = Classes()

    def array(name: str) -> bool:
        type_ = fn.types.get(name)
        return type_ is not None and type_.array

    for stmt in walk(fn.body):
        if isinstance(stmt, Assign) and may_view(stmt):
            seen = sources(stmt)
            if stmt.op == "getitem" and any(array(n) for n in operand_vars(stmt.args[1])):
                continue  # arrays in an index make a new array
            for source in {n for o in seen for n in operand_vars(o)}:
                for target in stmt.targets:
                    if array(source) and array(target.name):
                        classes.union(source, target.name)
        elif isinstance(stmt, Push):
            for name in operand_vars(stmt.value):
                if array(name):
                    classes.union(name, f"stack {stmt.stack}")
        elif isinstance(stmt, Pop) and array(stmt.target.name):
            classes.union(stmt.target.name, f"stack {stmt.stack}")
    return classes


# -------------------------------------------------------------------- liveness


def live_in(block: Block, out: frozenset[str]) -> frozenset[str]:
    """Names that a block, or what runs after it, reads before it assigns them."""
    live = out
    for stmt in reversed(block):
        live = live_before(stmt, live)
    return live


def live_before(stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
    if isinstance(stmt, If):
        return live_in(stmt.then, live) | live_in(stmt.orelse, live) | frozenset(reads(stmt))
    if isinstance(stmt, (For, While)):
        return live_around(stmt, live) | frozenset(reads(stmt))
    if blocks(stmt):
        return live | frozenset(n for inner in walk((stmt,)) for n in reads(inner))
    return (live - frozenset(assigns(stmt))) | frozenset(reads(stmt))


def live_around(loop: For | While, live: frozenset[str]) -> frozenset[str]:
    """Names live at the end of a loop's body: read after the loop or in its next trip."""
    around = live | frozenset(reads(loop))
    for _ in range(2):  # names flow round once; a second round reaches what the first one added
        inside = around
        for block in reversed(blocks(loop)):
            inside = live_in(block, inside)
        around = around | inside
    return around


def is_array(types: dict[str, Type], names: Iterable[str]) -> bool:
    return any(types[n].array for n in names if n in types)


def var_type(types: dict[str, Type], operand: object) -> Type | None:
    return types.get(operand.name) if isinstance(operand, Var) else None


# ------------------------------------------------------- elements and the loops around them

Path = tuple[For, ...]


def paths(block: Block, around: Path) -> Iterator[tuple[Path, Stmt]]:
    """Every statement that is no loop or branch, with the loops around it."""
    for stmt in block:
        inner = blocks(stmt)
        if not inner:
            yield around, stmt
        for b in inner:
            yield from paths(b, (*around, stmt) if isinstance(stmt, For) else around)


def index_of(stmt: Stmt) -> tuple[Operand, ...]:
    index = stmt.index if isinstance(stmt, Store) else stmt.args[1] if isinstance(stmt, Assign) else None
    assert isinstance(index, Pack)
    return index.items


def moves(loop: For, stmt: Stmt) -> tuple[bool, bool]:
    """Whether trips of a loop move along the first and along the last axis of the element that a statement reads or writes."""
    moving = assigned((loop,))
    first, last = (bool(moving.intersection(operand_vars(i))) for i in index_of(stmt))
    return first, last
