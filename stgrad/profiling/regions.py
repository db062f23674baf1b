"""The text of a program, cut into regions that read the clock where they begin and end.

A region is a loop with all that is in it, or statements in a row. A loop that is `opened` is none itself: what stands in it is. So the clock is read
once for each trip only where a trip takes much longer than that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

LIBRARY = frozenset({"matmul", "add_matmul", "solve", "inv", "det", "call_python", "dot"})  # that take long, whatever is around them
FUNCTIONS = frozenset({"exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "pow", "sqrt", "expit", "lgamma", "arctan2", "atan2"})
FUNCTION, DIVISION, INNER = 15.0, 4.0, 10.0  # a call, a division, and what a trip of an inner loop counts, in simple operations


@dataclass(frozen=True, eq=False)
class Region:
    """A piece of the program, and how its time is shared out among the lines in it: (line of the program, estimated cost)."""

    number: int
    nodes: tuple[ast.stmt, ...]
    costs: tuple[tuple[int, float], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", tuple(cost for node in self.nodes for cost in _costs(node, 1.0)))

    @property
    def loop(self) -> ast.For | ast.While | None:
        """The loop that it is, if it is one."""
        first = self.nodes[0]
        return first if isinstance(first, (ast.For, ast.While)) else None

    @property
    def can_open(self) -> bool:
        """Whether it is a loop with loops or calls of libraries in it."""
        return self.loop is not None and not _is_parallel(self.loop) and any(map(_is_long, self.loop.body))

    @property
    def loops(self) -> int:
        """How many loops have no other in them."""
        found = [n for node in self.nodes for n in ast.walk(node) if isinstance(n, (ast.For, ast.While))]
        return sum(not any(isinstance(n, (ast.For, ast.While)) for s in loop.body for n in ast.walk(s)) for loop in found)


@dataclass(frozen=True)
class Cut:
    """A program with clocks in it: its text takes three arrays more, for the ticks, the runs and the trips of each region."""

    text: str
    regions: tuple[Region, ...]


def cut(text: str, name: str, opened: frozenset[int]) -> Cut:
    """The program `name` of a module with clocks around its regions; `opened` are the lines of loops that are taken apart."""
    module = ast.parse(text)
    main = next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name)
    writer = _Writer(opened)
    body = writer.block([node for node in main.body if not _is_docstring(node)])
    whole = len(writer.regions)
    main.args.args += [ast.arg(argument) for argument in ("_ticks", "_runs", "_trips")]
    main.body = [*_lines(f"_whole = clock.now({2 * whole})"), *_with_end(body, whole)]
    module.body.insert(0, _lines("from stgrad.runtime import clock")[0])
    return Cut(ast.unparse(ast.fix_missing_locations(module)) + "\n", tuple(writer.regions))


def _with_end(body: list[ast.stmt], whole: int) -> list[ast.stmt]:
    end = _lines(f"_ticks[{whole}] += clock.now({2 * whole + 1}) - _whole")
    return [*body[:-1], *end, body[-1]] if isinstance(body[-1], ast.Return) else [*body, *end]


class _Writer:
    """Writes blocks with clocks; collects the regions."""

    def __init__(self, opened: frozenset[int]) -> None:
        self._opened = opened
        self.regions: list[Region] = []

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for group in _groups(statements):
            first = group[0]
            if isinstance(first, (ast.For, ast.While)) and first.lineno in self._opened:
                first.body = self.block(first.body)
                out.append(first)
            elif isinstance(first, ast.If) and _has_loop(first):
                first.body, first.orelse = self.block(first.body), self.block(first.orelse)
                out.append(first)
            elif isinstance(first, ast.Return):
                result = ast.Assign([ast.Name("_result", ast.Store())], first.value or ast.Constant(None), lineno=first.lineno)
                out += [*self._timed([result]), *_lines("return _result")]
            else:
                out += self._timed(group)
        return out

    def _timed(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        k = len(self.regions)
        region = Region(k, tuple(nodes))
        self.regions.append(region)
        count: list[ast.stmt] = []
        if isinstance(region.loop, ast.For) and not _is_parallel(region.loop):
            count = _lines(f"_trips[{k}] += len({ast.unparse(region.loop.iter)})")
        elif region.loop is not None and region.can_open:
            region.loop.body = [*_lines(f"_trips[{k}] += 1"), *region.loop.body]
        begin = _lines(f"_start = clock.now({2 * k})")
        return [*count, *begin, *nodes, *_lines(f"_ticks[{k}] += clock.now({2 * k + 1}) - _start\n_runs[{k}] += 1")]


def _groups(statements: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Statements in a row that make one region: those that take long stand alone."""
    row: list[ast.stmt] = []
    for stmt in statements:
        if not (_is_long(stmt) or isinstance(stmt, ast.Return)):
            row.append(stmt)
            continue
        if row:
            yield row
        yield [stmt]
        row = []
    if row:
        yield row


def _lines(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _has_loop(node: ast.stmt) -> bool:
    return any(isinstance(inner, (ast.For, ast.While)) for inner in ast.walk(node))


def _is_long(node: ast.stmt) -> bool:
    return _has_loop(node) or any(isinstance(n, ast.Call) and (_called(n) in LIBRARY or ".linalg." in ast.unparse(n.func)) for n in ast.walk(node))


def _is_parallel(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.For) and "prange" in ast.unparse(loop.iter)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _costs(node: ast.stmt, weight: float) -> Iterator[tuple[int, float]]:
    """Line and estimated cost of each statement that computes, those in loops and branches among them."""
    bodies: list[Any] = [getattr(node, name, []) for name in ("body", "orelse")]
    if not any(bodies):
        yield node.lineno, weight * (0.5 + sum(map(_cost, ast.walk(node))))
        return
    inner = weight * (INNER if isinstance(node, (ast.For, ast.While)) else 0.5)
    for child in (child for body in bodies for child in body):
        yield from _costs(child, inner)


def _cost(node: ast.AST) -> float:
    if isinstance(node, ast.Call):
        return FUNCTION if _called(node) in FUNCTIONS else 1.0
    if isinstance(node, ast.BinOp):
        return DIVISION if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)) else FUNCTION if isinstance(node.op, ast.Pow) else 1.0
    return 1.0 if isinstance(node, (ast.Subscript, ast.Compare)) else 0.0
