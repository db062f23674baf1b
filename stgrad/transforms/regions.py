"""Regions that have a derivative rule of their own, where nothing is differentiated any more: their statements, in their place.

What the rule alone would need is gone with it, and passes that look at whole programs see through.
"""

from __future__ import annotations

from stgrad.ir import Block, Custom, Function, map_blocks, walk
from stgrad.transforms.simplify import simplify


def without_rules(fn: Function) -> Function:
    """The program without derivative rules."""
    if not any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    return simplify(fn.with_body(opened(fn.body)))


def opened(block: Block) -> Block:
    """A block with the statements of regions in their place."""
    inner = (map_blocks(opened, stmt) for stmt in block)
    return tuple(s for stmt in inner for s in (stmt.body if isinstance(stmt, Custom) else (stmt,)))


__all__ = ["opened", "without_rules"]
