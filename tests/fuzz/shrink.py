"""Makes a faulty program small: statements and expressions go, arguments shrink, as long as the same fault stays."""

from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .generator import Draft, Pair

Test = Callable[[Draft], bool]
Candidate = Callable[[], Draft]


def shrink(draft: Draft, same: Test, seconds: float = 60.0) -> Draft:
    """The smallest program found for which `same` still holds; it holds for `draft`.

    Args:
        draft: the program.
        same: whether a program has the fault.
        seconds: no new candidate is tried after this time.
    """
    end = time.monotonic() + seconds
    improved = True
    while improved:
        improved = False
        for candidates in (_fewer_statements, _fewer_arguments, _simpler_arguments, _simpler_expressions):
            draft, better = _exhausted(draft, candidates, same, end)
            improved = improved or better
        if time.monotonic() > end:
            break
    return draft


def _exhausted(draft: Draft, candidates: Callable[[Draft], Iterator[Candidate]], same: Test, end: float) -> tuple[Draft, bool]:
    """Follows the candidates of one kind; after a success it goes on behind the place of it."""
    better, skipped = False, 0
    while True:
        for number, candidate in enumerate(candidates(draft)):
            if time.monotonic() > end:
                return draft, better
            if number >= skipped and (new := candidate()).text and same(new):
                draft, better, skipped = new, True, number
                break
        else:
            return draft, better


def cost(draft: Draft) -> tuple[int, int]:
    """Nodes of the program and items of the arguments."""
    return sum(1 for _ in ast.walk(ast.parse(draft.text))), sum(map(_items, draft.args.values()))


def _items(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_items, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(_items, value))
    if isinstance(value, Pair):
        return 1 + _items(value.u) + _items(value.v)
    return value.size + 1 if isinstance(value, np.ndarray) else 1


# --------------------------------------------------------------------------- statements


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _edited(draft: Draft, edit: Callable[[ast.Module], None]) -> Draft:
    """The draft after an edit of a copy of its tree; without text where that is no program."""
    tree = ast.parse(draft.text)
    before = ast.unparse(tree)
    edit(tree)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text == before + "\n":
            text = ""  # nothing to try
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<candidate>", "exec")
    except (SyntaxError, ValueError, AttributeError):
        text = ""
    return replace(draft, text=text)


def _fewer_statements(draft: Draft) -> Iterator[Candidate]:
    """Runs of statements removed, long ones first; compound statements replaced by what is in them."""
    tree = ast.parse(draft.text)
    for number, block in enumerate(_bodies(tree)):
        for length in _lengths(len(block)):
            for start in range(0, len(block), length):
                if not any(isinstance(s, ast.Return) for s in block[start : start + length]) or number:
                    yield partial(_edited, draft, partial(_remove, number=number, start=start, length=length))
        for at, stmt in enumerate(block):
            if isinstance(stmt, (ast.If, ast.For, ast.While, ast.Match)):
                for way in range(4):
                    yield partial(_edited, draft, partial(_open, number=number, at=at, way=way))


def _lengths(n: int) -> list[int]:
    found = []
    while n >= 1:
        found.append(n)
        n //= 2
    return found


def _remove(tree: ast.Module, number: int, start: int, length: int) -> None:
    block = list(_bodies(tree))[number]
    del block[start : start + length]
    if not block:
        block.append(ast.Pass())


def _open(tree: ast.Module, number: int, at: int, way: int) -> None:
    """A compound statement gives way to its body, to its `else`, or loses the `else`; a loop to one trip of it."""
    block = list(_bodies(tree))[number]
    stmt: Any = block[at]
    inside = stmt.cases[min(way, len(stmt.cases) - 1)].body if isinstance(stmt, ast.Match) else stmt.body
    if way == 0:
        block[at : at + 1] = inside
    elif way == 1 and getattr(stmt, "orelse", None):
        block[at : at + 1] = stmt.orelse
    elif way == 2 and getattr(stmt, "orelse", None):
        stmt.orelse = []
    elif way == 3 and isinstance(stmt, ast.For):
        first = ast.Subscript(stmt.iter, ast.Constant(0), ast.Load())
        block[at : at + 1] = [ast.Assign([stmt.target], first), *inside]
    elif way == 3 and isinstance(stmt, ast.While):
        stmt.test = ast.Constant(False)


# --------------------------------------------------------------------------- expressions


def _slots(tree: ast.AST) -> Iterator[tuple[Any, str, int | None, ast.expr]]:
    """The places in a tree where an expression stands that is read: owner, field, position in the field, expression."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            for at, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(item, ast.expr) and not isinstance(getattr(item, "ctx", ast.Load()), ast.Store) and name not in ("decorator_list", "annotation"):
                    yield node, name, at, item


def _simpler_expressions(draft: Draft) -> Iterator[Candidate]:
    """An expression replaced by a part of it, or by a constant; an item of a list or an argument dropped."""
    for number, (owner, name, at, node) in enumerate(_slots(ast.parse(draft.text))):
        for way in range(_ways(node)):
            yield partial(_edited, draft, partial(_simplify, number=number, way=way))
        if at is not None and not isinstance(owner, (ast.Compare, ast.BoolOp)) and name in ("elts", "args", "keywords"):
            yield partial(_edited, draft, partial(_drop, number=number))
    for number, node in enumerate(ast.walk(ast.parse(draft.text))):
        if isinstance(node, ast.AugAssign):
            yield partial(_edited, draft, partial(_plain, number=number))


def _parts(node: ast.expr) -> list[ast.expr]:
    return [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr) and not isinstance(c, ast.Slice)]


def _ways(node: ast.expr) -> int:
    if isinstance(node, (ast.Constant, ast.Name)):
        return 0 if isinstance(node, ast.Constant) else 1
    return len(_parts(node)) + 2


def _simplify(tree: ast.Module, number: int, way: int) -> None:
    owner, name, at, node = list(_slots(tree))[number]
    parts: list[ast.expr] = [] if isinstance(node, ast.Name) else _parts(node)
    constants: list[ast.expr] = [ast.Constant(1.0), ast.Constant(1)]
    new = copy.deepcopy([*parts, *constants][way])
    if isinstance(new, (ast.Name, ast.Attribute, ast.Subscript)):
        new.ctx = ast.Load()
    if at is None:
        setattr(owner, name, new)
    else:
        getattr(owner, name)[at] = new


def _drop(tree: ast.Module, number: int) -> None:
    owner, name, at, _ = list(_slots(tree))[number]
    del getattr(owner, name)[at]


def _plain(tree: ast.Module, number: int) -> None:
    """`a += b` becomes `a = b`."""
    node: Any = list(ast.walk(tree))[number]
    for block in _bodies(tree):
        if node in block:
            block[block.index(node)] = ast.Assign([node.target], node.value)


# --------------------------------------------------------------------------- arguments


def _fewer_arguments(draft: Draft) -> Iterator[Candidate]:
    for name in draft.args:
        rest = {k: v for k, v in draft.args.items() if k != name}
        if rest:
            yield partial(_edited, replace(draft, args=rest), partial(_unparameter, name=name))


def _unparameter(tree: ast.Module, name: str) -> None:
    for stmt in tree.body:
        if isinstance(stmt, ast.FunctionDef) and stmt.name == "f":
            stmt.args.args = [a for a in stmt.args.args if a.arg != name]


def _simpler_arguments(draft: Draft) -> Iterator[Candidate]:
    """Shorter arrays, all axes of one extent together or one alone; smaller integers; tidy numbers."""
    arrays = {k: v for k, v in draft.args.items() if isinstance(v, np.ndarray)}
    for n in sorted({m for v in arrays.values() for m in v.shape}, reverse=True):
        if n > 1:
            cut = {k: v[tuple(slice(n - 1) if m == n else slice(None) for m in v.shape)].copy() for k, v in arrays.items()}
            numbers = {k: n - 1 for k, v in draft.args.items() if type(v) is int and v == n}
            yield partial(replace, draft, args={**draft.args, **cut, **numbers})
    for name, value in draft.args.items():
        for smaller in _smaller(value):
            yield partial(replace, draft, args={**draft.args, name: smaller})


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        for axis, n in enumerate(value.shape):
            if n > 1:
                yield np.delete(value, n - 1, axis)
        if value.dtype.kind == "f" and not np.array_equal(value, np.round(value, 1)):
            yield np.round(value, 1)
    elif type(value) is int and value > 0:
        yield value - 1
    elif type(value) is float and round(value, 1) != value:
        yield round(value, 1)
