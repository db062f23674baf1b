"""The user's side of a picture: the functions that a program was read from, and what is known of each of their lines.

A line is named by its place, (file, line). Facts come from the program as it was read (what carries a derivative, kinks, stops) and from the
report of what is kept.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stgrad.analysis.activity import Activity
from stgrad.ir import Assign, Function, Loc, Stmt, Store, assigns, operand_vars, walk
from stgrad.ir.ops.domains import KINKS
from stgrad.memory import Kept
from stgrad.rules import core

Place = tuple[str, int]


@dataclass
class Facts:
    """What is known of a line: variables that carry derivatives, what is kept of it, and marks: (kind, text)."""

    moves: bool = False  # whether something that it makes carries a derivative
    active: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    marks: list[tuple[str, str]] = field(default_factory=list)

    def mark(self, kind: str, text: str) -> None:
        if (kind, text) not in self.marks:
            self.marks.append((kind, text))


@dataclass(frozen=True)
class Part:
    """A function of the user: its heading, its file, and its lines by number."""

    name: str
    file: str
    lines: tuple[tuple[int, str], ...]
    owner: Mapping[int, int]  # the line on which the statement of each line begins


def place_of(loc: Loc) -> Place:
    return loc.file, loc.line


def facts_of(fn: Function, activity: Activity | None, kept: Iterable[Kept]) -> dict[Place, Facts]:
    """The facts of each line, from the program as it was read."""
    found: dict[Place, Facts] = {}
    for stmt in walk(fn.body):
        if stmt.loc is not None and activity is not None:
            _note(stmt, activity, found.setdefault(place_of(stmt.loc), Facts()))
    for row in kept:
        if row.line is not None:
            found.setdefault((row.file, row.line), Facts()).kept.append(row)
    return found


def _note(stmt: Stmt, activity: Activity, facts: Facts) -> None:
    """What one statement adds to the facts of its line."""
    changed = [stmt.target.name] if isinstance(stmt, Store) else list(assigns(stmt))
    active = [name for name in changed if name in activity.active]
    facts.moves = facts.moves or bool(active)
    names = [_written(name, stmt.loc) for name in active if not name.startswith("_")]
    facts.active += [name for name in dict.fromkeys(names) if name not in facts.active]
    if not isinstance(stmt, Assign):
        return
    moving = any(name in activity.varied for operand in stmt.args for name in operand_vars(operand))
    rule = core.TABLE.get(stmt.op)
    if stmt.op == "stop_gradient":
        facts.mark("stop", "stop_gradient: no derivative passes here")
    elif stmt.op in KINKS and active:
        facts.mark("kink", f"{stmt.op} has a kink: where two sides meet, the derivative is that of the rule")
    elif rule is not None and rule.kind == "nondiff" and moving and stmt.op.rpartition(".")[2] not in _OF_SHAPES:
        facts.mark(*_step(stmt.op))


def _written(name: str, loc: Loc | None) -> str:
    """A variable as the user wrote it: the program numbers the names that it splits."""
    plain = re.sub(r"_\d+$", "", name)
    here = set(re.findall(r"\w+", loc.text)) if loc is not None else set()
    return plain if plain in here and name not in here else name


_OF_SHAPES = frozenset("zeros_like ones_like empty_like ndim shape size result_type can_cast".split())
_COMPARED = frozenset("less less_equal greater greater_equal equal not_equal isclose".split())


def _step(op: str) -> tuple[str, str]:
    if op.rpartition(".")[2] in _COMPARED:
        return "branch", "a comparison of values that move: the derivative is that of the side that is taken"
    return "step", f"{op} changes in steps: its derivative is zero wherever there is one"


# --------------------------------------------------------------------------- the functions


def parts_of(first: Place, places: Collection[Place]) -> list[Part]:
    """The functions in which the places stand, that of `first` at the beginning, the others in the order of the places."""
    chosen: dict[tuple[str, int, int], str] = {}
    for file, line in (first, *places):
        span = _around(file, line)
        if span is not None:
            chosen.setdefault((file, *span[:2]), span[2])
    spans = list(chosen)
    whole = [s for s in spans if not any(_inside(s, other) for other in spans)]
    return [_part(*span, chosen[span]) for span in whole]


def _inside(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one != other and one[0] == other[0] and other[1] <= one[1] and one[2] <= other[2]


def _around(file: str, line: int) -> tuple[int, int, str] | None:
    """First line, last line and name of the innermost function around a line."""
    holding = [f for f in _functions(_tree(file)) if f[0] <= line <= f[1]]
    return max(holding, key=lambda f: (f[0], -f[1]), default=None)


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[int, int, str]]:
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{node.name}."
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node.lineno, node.end_lineno or node.lineno, name.rstrip(".") if not isinstance(node, ast.Lambda) else f"{prefix}lambda"
        yield from _functions(node, name)


def _tree(file: str) -> ast.AST:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])


def _part(file: str, start: int, end: int, name: str) -> Part:
    lines = linecache.getlines(file)[start - 1 : end]
    text = [line.rstrip("\n") for line in lines]
    indent = min((len(line) - len(line.lstrip()) for line in text if line.strip()), default=0)
    return Part(name, file, tuple((start + i, line[indent:]) for i, line in enumerate(text)), _owners(_tree(file), start, end))


def _owners(tree: ast.AST, start: int, end: int) -> dict[int, int]:
    """For each line of a statement the line on which it begins; of a compound one its header alone."""
    owner: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and start <= node.lineno <= end:
            body: Any = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            owner.update(dict.fromkeys(range(node.lineno, last + 1), node.lineno))
    return owner


__all__ = ["Facts", "Part", "Place", "facts_of", "parts_of", "place_of"]
