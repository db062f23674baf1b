"""The derivative's side of a picture: the lines of a program, each with the user's lines that it comes from.

A line without a place of its own has that of what it stands in or beside: a push follows the value that it keeps, a pop goes before what needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stgrad.explain.primal import Place, place_of
from stgrad.ir import Block, Function, Loc, Pop, Push, Stack, Stmt, blocks, map_blocks, walk
from stgrad.recursion import lines_of
from stgrad.request import Options

_NO_STACKS: Mapping[str, Loc | None] = {}


@dataclass(frozen=True)
class Row:
    """A line of a derivative's program, and the places in the user's program that it comes from, the first one first."""

    text: str
    places: tuple[Place, ...]
    begins: str = ""  # the function that it begins


def rows_of(fn: Function, options: Options) -> list[Row]:
    """The printed lines of a program, with their places."""
    pushed = {s.stack: s.loc for s in walk(located(fn.body)) if isinstance(s, Push)}
    lines = lines_of(replace(fn, body=located(fn.body, pushed=pushed)), options)
    out: list[Row] = []
    for line in lines:
        places = tuple(dict.fromkeys(map(place_of, line.places)))
        if not places and out and _depth(line.text) > _depth(out[-1].text):  # what a statement was spelled with, such as the `raise` of a test
            places = out[-1].places
        out.append(Row(line.text, places, line.begins))
    return out


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def located(block: Block, around: Loc | None = None, pushed: Mapping[str, Loc | None] = _NO_STACKS) -> Block:
    """The same statements, each with its place or the one that it takes from its neighbours; a stack has that of what is `pushed`."""
    own = [stmt.loc or (pushed.get(stmt.name) if isinstance(stmt, Stack) else _inside(stmt)) for stmt in block]
    out: list[Stmt] = []
    before = around
    for i, stmt in enumerate(block):
        after = next((loc for loc in own[i + 1 :] if loc is not None), None)
        loc = own[i] or (after if isinstance(stmt, Pop) else before) or before or after
        before = own[i] or before
        out.append(map_blocks(lambda inner, loc=loc: located(inner, loc, pushed), replace(stmt, loc=loc)))  # type: ignore[misc]
    return tuple(out)


def _inside(stmt: Stmt) -> Loc | None:
    """The first place inside a statement."""
    return next((found for inner in blocks(stmt) for s in inner if (found := s.loc or _inside(s)) is not None), None)
