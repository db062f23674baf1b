"""Element statements: what array statements become between scalarisation and the printing of loops.

A `Kernel` is one NumPy statement written for a single element. Its `space` are the extents of the loops around it, outermost
first; loops are known by their depth. All buffers (arrays and scalars alike) have unique names within a run
of statements, and views are gone: every access names its buffer and one `Entry` for each of its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

from stgrad.ir import Const, Dim, Loc, Operand, Stmt, operand_vars

ZERO = Dim(None, 0)

# ------------------------------------------------------------------- positions


@dataclass(frozen=True, slots=True)
class Axis:
    """Moves with the loop at `depth`: `scale * variable + offset`."""

    depth: int
    scale: int = 1
    offset: Dim = ZERO


@dataclass(frozen=True, slots=True)
class Fixed:
    """A position known as an extent plus a constant: never negative in a valid program."""

    position: Dim


@dataclass(frozen=True, slots=True)
class Given:
    """A position that a scalar gives; negative ones count from the end, as in Python."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Gather:
    """A position read from an integer array."""

    expr: Expr


Entry = Union[Axis, Fixed, Given, Gather]
Index = tuple[Entry, ...]

# ----------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Lit:
    operand: Const
    dtype: str
    weak: bool = True


@dataclass(frozen=True, slots=True)
class Load:
    """An element of an array, or a scalar variable (no index)."""

    buffer: str
    index: Index
    dtype: str
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Extent:
    """An extent, or a loop variable's position, as an integer."""

    dim: Dim
    dtype: str = "int64"
    weak: bool = True


@dataclass(frozen=True, slots=True)
class Position:
    axis: Axis
    dtype: str = "int64"
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`op` of elements; 'select' is `b if a else c`, evaluated without branches."""

    op: str
    args: tuple[Expr, ...]
    dtype: str
    weak: bool = False


Expr = Union[Lit, Load, Extent, Position, Call]


def loads(expr: Expr) -> Iterator[Load]:
    """Every load of an expression, those inside gathered positions included."""
    if isinstance(expr, Load):
        yield expr
        yield from index_loads(expr.index)
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from loads(arg)


def index_loads(index: Index) -> Iterator[Load]:
    for entry in index:
        if isinstance(entry, Gather):
            yield from loads(entry.expr)


def extents_of(unit: Kernel) -> Iterator[Dim]:
    """Every symbolic extent or position that an element statement reads."""
    yield from unit.space
    indices = [unit.index, *(load.index for load in loads(unit.expr))]
    for entry in (e for index in indices for e in index):
        if isinstance(entry, Axis):
            yield entry.offset
        elif isinstance(entry, Fixed):
            yield entry.position
    yield from _extents_in(unit.expr)


def _extents_in(expr: Expr) -> Iterator[Dim]:
    if isinstance(expr, Extent):
        yield expr.dim
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from _extents_in(arg)


def map_loads(f: Callable[[Load], Expr], expr: Expr) -> Expr:
    """Replace the loads of an expression (not those inside gathered positions)."""
    if isinstance(expr, Load):
        return f(expr)
    if isinstance(expr, Call):
        return Call(expr.op, tuple(map_loads(f, a) for a in expr.args), expr.dtype, expr.weak)
    return expr


# ----------------------------------------------------------------------- units


@dataclass(frozen=True)
class Access:
    """A read or write of a buffer. `index` None: unknown, the whole buffer."""

    buffer: str
    index: Index | None
    write: bool = False
    mode: str = ""  # accumulations of one mode commute


@dataclass(frozen=True)
class Kernel:
    """`target[index] = expr` (modes 'def', 'set') or an accumulation ('add', 'radd', 'mul', 'max', 'min', 'or', 'and').

    'def' defines every element of a buffer of its own. 'radd' is a sum that may be reassociated, 'add' one in an array.
    """

    space: tuple[Dim, ...]
    target: str
    index: Index
    expr: Expr
    mode: str
    dtype: str
    loc: Loc | None = None
    note: str | None = None
    needs: tuple[str, ...] = ()  # arrays whose extents it relies on, and checks that must come first

    @property
    def accumulates(self) -> bool:
        return self.mode not in ("def", "set")

    def accesses(self) -> tuple[Access, ...]:
        return self._accesses

    @cached_property
    def _accesses(self) -> tuple[Access, ...]:
        return tuple(self._found())

    def _found(self) -> Iterator[Access]:
        mode = {"radd": "add"}.get(self.mode, self.mode) if self.accumulates else ""
        yield Access(self.target, self.index, write=True, mode=mode)
        for load in (*loads(self.expr), *index_loads(self.index)):
            yield Access(load.buffer, load.index)
        for index in [self.index, *(load.index for load in loads(self.expr))]:
            for entry in index:
                if isinstance(entry, Given):
                    yield from (Access(name, ()) for name in operand_vars(entry.operand))
        for name in self.needs:
            yield Access(name, None)


@dataclass(frozen=True)
class Raw:
    """A statement that stays as it is: what it reads and writes, by buffer."""

    stmt: Stmt
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    barrier: bool = False
    scalar: bool = False

    @property
    def space(self) -> tuple[Dim, ...]:
        return ()

    def accesses(self) -> tuple[Access, ...]:
        return self._accesses

    @cached_property
    def _accesses(self) -> tuple[Access, ...]:
        return (*(Access(name, None) for name in self.reads), *(Access(name, None, write=True) for name in self.writes))


Floors = tuple[int | None, int | None]


@dataclass(frozen=True)
class Guard:
    """A check at run time before the nests that need it: `a == b`, or `a > 0` (no `b`). `floors`: what a and b are at least taken to be."""

    a: Dim
    b: Dim | None
    message: str
    witnesses: tuple[str, ...]
    loc: Loc | None = None
    floors: Floors = (None, None)

    @property
    def space(self) -> tuple[Dim, ...]:
        return ()

    def accesses(self) -> Iterator[Access]:
        for name in self.witnesses:
            yield Access(name, None)
        for dim in (self.a, self.b):
            if dim is not None and dim.symbol is not None:
                yield Access(f"extent {dim.symbol}", None, write=True)


Unit = Union[Kernel, Raw, Guard]


@dataclass
class Buffer:
    """An array (or a scalar, no dims). `local`: made by a kernel of this run; `escapes`: needed in memory as it is."""

    name: str
    dims: tuple[Dim, ...]
    dtype: str
    local: bool = False
    escapes: bool = False
    border: tuple[int, ...] = ()  # starts as zeros, and has a border that nothing writes


@dataclass
class Loop:
    """A loop of the tree that fusing builds."""

    depth: int
    extent: Dim
    body: list[Node] = field(default_factory=list)


Node = Union[Loop, Kernel, Raw, Guard]


def leaves(node: Node) -> Iterator[Unit]:
    if isinstance(node, Loop):
        for inner in node.body:
            yield from leaves(inner)
    else:
        yield node


def plus(a: Dim, b: Dim) -> Dim | None:
    """The sum of two positions, where it has one symbol at most."""
    if a.symbol is not None and b.symbol is not None:
        return None
    return Dim(a.symbol or b.symbol, a.offset + b.offset)


def times(scale: int, a: Dim) -> Dim | None:
    if scale == 1:
        return a
    return Dim(None, scale * a.offset) if a.symbol is None else None


def minus(a: Dim, b: Dim) -> int | None:
    """`a - b`, where it is a constant."""
    return a.offset - b.offset if a.symbol == b.symbol else None
