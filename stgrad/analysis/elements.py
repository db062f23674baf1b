"""Elements of arrays that statements read and write, and the loops around them."""

from __future__ import annotations

from collections.abc import Iterator

from stgrad.analysis.affine import Positions
from stgrad.ir import Assign, Block, For, Operand, Pack, Stmt, Store, blocks

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


def moves(positions: Positions, stmt: Stmt) -> tuple[bool, bool]:
    """Whether iterations of a loop move along the first and along the last axis of the element that a statement reads or writes."""
    first, last = (positions.moves(i) for i in index_of(stmt))
    return first, last
