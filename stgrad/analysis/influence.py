"""Which names of a program depend on some of its parameters at all: through values of any kind, positions, bounds and branches.

`activity` asks what has a derivative; this asks what may differ when the parameters do. By name, not by place, and conservative: what is assigned
under a condition, or in a loop whose bounds depend on the parameters, does so too.
"""

from __future__ import annotations

from collections.abc import Iterable

from stgrad.analysis.alias import Classes, sharing
from stgrad.ir import Assign, Block, Custom, For, Function, If, Pop, Push, Stmt, Store, While, assigns, blocks, operand_vars, reads


def influenced(fn: Function, sources: Iterable[str]) -> frozenset[str]:
    """The names of `fn` whose values may depend on the parameters `sources`."""
    classes = sharing(fn)
    found = {classes.find(name) for name in sources}
    while _grown(fn.body, found, classes, under=False):
        pass
    return frozenset(name for name in fn.types if classes.find(name) in found)


def _grown(block: Block, found: set[str], classes: Classes, *, under: bool) -> bool:
    """Add what one walk finds; whether there was anything. `under`: whether some condition around the block depends."""
    before = len(found)
    for stmt in block:
        depends = under or any(classes.find(name) in found for name in _controls(stmt))
        if depends or any(classes.find(name) in found for name in _read(stmt)):
            found.update(classes.find(name) for name in _made(stmt))
        for part in blocks(stmt):
            while _grown(part, found, classes, under=depends):
                pass
    return len(found) > before


def _controls(stmt: Stmt) -> list[str]:
    """The names that decide whether, or how often, the blocks of a statement run."""
    match stmt:
        case If() | While():
            return list(operand_vars(stmt.cond))
        case For():
            return [name for bound in (stmt.start, stmt.stop, stmt.step) for name in operand_vars(bound)]
    return []


def _read(stmt: Stmt) -> list[str]:
    if isinstance(stmt, (If, For, While)) or isinstance(stmt, Assign) and stmt.op == "shape":
        return []  # what is in their blocks is asked there; extents are no values
    return [*reads(stmt), *([stmt.stack] if isinstance(stmt, Pop) else [])]


def _made(stmt: Stmt) -> list[str]:
    match stmt:
        case Store():
            return [stmt.target.name]
        case Push():
            return [stmt.stack]
        case Custom():
            return [o.name for o in stmt.outputs]
        case If() | While():
            return []
    return list(assigns(stmt))


__all__ = ["influenced"]
