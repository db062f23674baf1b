"""Elements that are read of an array, made from the elements that they depend on.

    d = np.sum((x - y) ** 2, axis=1)             d = np.sum((x - y) ** 2, axis=1)
    j = np.argmin(d)                             j = np.argmin(d)
    e = d[j]                             ->      e = np.sum((x[j] - y) ** 2)

The derivative of the nearest of many points is about that point alone; through the array, each trip back would add zeros to all the others. So does
`p = x[idx]; p[1, 0]`, which is `x[idx[1], 0]`. That holds for arrays of which nothing else that has a derivative reads anything: each element
is made again, so there may be few that cost something, none in a deeper loop. Whatever they are made of is the same where they are read: nothing
is stored there. Positions were tested where the array was read, and its extents where it was made.

    >>> import numpy as np
    >>> import stgrad
    >>> def nearest(x, y):
    ...     d = np.sum((x - y) ** 2, axis=1)
    ...     return d[np.argmin(d)]
    >>> print(stgrad.grad(nearest, jit=False)(np.array([[3.0, 1.0], [1.0, 2.0]]), np.ones(2)))
    [[0. 0.]
     [0. 2.]]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    ALL,
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    Operand,
    Pack,
    Slice,
    Stmt,
    Type,
    Var,
    While,
    blocks,
    entries_of,
    map_blocks,
    operand_vars,
    reads,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.simplify import simplify

Loops = tuple[int, ...]
FEW = 2  # elements that cost something to make
WHOLE = (ALL, Slice(NONE, NONE, NONE))


def sink(fn: Function) -> Function:
    """The program in which elements of arrays that serve nothing else are made from elements."""
    if not any(isinstance(s, Assign) and s.op == "getitem" for s in walk(fn.body)) or any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    found = definitions(fn)
    state = _Sink(dict(fn.types), Names([*fn.types, *found.params]), found.once, found.counts, _changed(fn), aliases(fn))
    state.find(fn)
    if not state.chosen:
        return fn
    return simplify(replace(fn, body=state.block(fn.body), types=state.types))


def _inside(block: Block, loops: Loops) -> Iterator[tuple[Stmt, Loops]]:
    """Every statement, and the loops around it."""
    for stmt in block:
        yield stmt, loops
        inner = (*loops, id(stmt)) if isinstance(stmt, (For, While)) else loops
        for part in blocks(stmt):
            yield from _inside(part, inner)


def _changed(fn: Function) -> frozenset[str]:
    """Classes of arrays that are written in place."""
    classes = aliases(fn)
    return frozenset(classes.find(n) for n in (*stored(fn.body), *fn.written))


@dataclass
class _Sink:
    types: dict[str, Type]
    names: Names
    once: Mapping[str, Stmt]
    counts: Mapping[str, int]
    changed: frozenset[str]
    classes: Classes
    chosen: set[str] = field(default_factory=set)
    single: set[str] = field(default_factory=set)  # arrays of which one statement that has a derivative reads anything
    out: list[Stmt] = field(default_factory=list)
    origin: Assign | None = None

    # --------------------------------------------------------------- which

    def find(self, fn: Function) -> None:
        """Choose arrays of which single elements are read, by statements that run as often as what makes them, and else nothing but positions and extents."""
        depth, uses = dict[int, Loops](), dict[str, list[Stmt]]()
        for stmt, loops in _inside(fn.body, ()):
            depth[id(stmt)] = loops
            for name in set(reads(stmt)):
                uses.setdefault(name, []).append(stmt)
        kept = set(operand_vars(fn.result)) | set(fn.constants)
        for name, made in self.once.items():
            if not isinstance(made, Assign) or len(made.targets) > 1 or name in kept or not self.types[name].array or not self.derived(made):
                continue
            picked = [s for s in uses.get(name, []) if self.pick(s, name) is not None]
            same = all(depth[id(s)] == depth[id(made)] for s in picked)
            rest = [s for s in uses.get(name, []) if not any(s is p for p in picked)]
            if made.op == "getitem" or sum(not self.inert(s) for s in uses.get(name, [])) == 1:
                self.single.add(name)
            if picked and same and all(map(self.inert, rest)) and (len(picked) <= FEW or made.op == "getitem"):
                self.chosen.add(name)

    def derived(self, made: Assign) -> bool:
        """Whether an element of what a statement makes can be made from elements."""
        if not self.still(made.target.name):
            return False
        if made.op == "getitem":
            return self.source(made) is not None
        if made.op == "np.sum":
            return self.axis(made) is not None
        return operation(made.op).unrolled and not made.kwargs and self.types[made.target.name].dtype == "float64"

    def still(self, name: str) -> bool:
        """Whether an array has one value wherever it is read."""
        return self.counts.get(name, 1) == 1 and self.classes.find(name) not in self.changed

    def pick(self, stmt: Stmt, name: str) -> tuple[Operand, ...] | None:
        """The positions under which a statement reads a part of an array, on its first axes."""
        if not isinstance(stmt, Assign) or stmt.op != "getitem" or stmt.args[0] != Var(name) or name in operand_vars(stmt.args[1]):
            return None
        return self.leading(stmt.args[1])

    def leading(self, index: Operand) -> tuple[Operand, ...] | None:
        items = list(entries_of(index))
        while items and items[-1] in WHOLE:
            items.pop()
        return tuple(items) if items and all(map(self.position, items)) else None

    def position(self, item: Operand) -> bool:
        if isinstance(item, Var):
            type_ = self.types[item.name]
            return not type_.array and type_.dtype.startswith("int") and self.counts.get(item.name, 1) == 1
        return isinstance(item, Const) and type(item.value) is int

    def inert(self, stmt: Stmt) -> bool:
        """Whether no derivative passes through a statement."""
        if isinstance(stmt, Effect):
            return True
        return isinstance(stmt, Assign) and all(self.types[t.name].dtype[0] in "ib" for t in stmt.targets)

    # ------------------------------------------------------------- rewriting

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            array = stmt.args[0] if isinstance(stmt, Assign) and stmt.op == "getitem" else None
            if not isinstance(array, Var) or array.name not in self.chosen or not isinstance(stmt, Assign):
                result.append(map_blocks(self.block, stmt))
                continue
            at = self.pick(stmt, array.name)
            self.out, self.origin = [], stmt
            value = self.element(array, at) if at is not None else None
            result += [stmt] if value is None else [*self.out, replace(stmt, op="alias", args=(value,))]
        return tuple(result)

    def element(self, array: Var, at: tuple[Operand, ...]) -> Operand | None:
        """The part of an array under these positions; None where it must be read of the array."""
        made = self.once.get(array.name)
        if not isinstance(made, Assign) or len(made.targets) > 1 or not self.derived(made):
            return None
        if made.op == "getitem":
            return self.of_part(made, at)
        if made.op == "np.sum":
            axis = self.axis(made)
            if axis is None or axis < len(at) or not isinstance(made.args[0], Var):
                return None
            row = self.part(made.args[0], at)
            return self.emit("np.sum", (row,), self.below(array, at), (("axis", Const(axis - len(at))),))
        dims = self.types[array.name].dims
        args = [self.operand(a, dims, at) for a in made.args]
        known = tuple(a for a in args if a is not None)
        return self.emit(made.op, known, self.below(array, at)) if len(known) == len(args) else None

    def part(self, array: Var, at: tuple[Operand, ...]) -> Operand:
        """The same, read of the array where nothing better is known."""
        if not at:
            return array
        mark = len(self.out)
        value = self.element(array, at) if array.name in self.single else None
        if value is not None:
            return value
        del self.out[mark:]
        return self.emit("getitem", (array, at[0] if len(at) == 1 else Pack(at)), self.below(array, at))

    def operand(self, operand: Operand, dims: tuple[Dim, ...], at: tuple[Operand, ...]) -> Operand | None:
        """What an operand of an elementwise operation has there, broadcast as NumPy does; None where its extent may be 1 in one run and not in another."""
        if not isinstance(operand, Var):
            return operand
        if not self.types[operand.name].array:
            return operand if self.counts.get(operand.name, 1) == 1 else None
        own = self.types[operand.name].dims
        skip = len(dims) - len(own)
        places = list[Operand]()
        for axis, place in enumerate(at[skip:] if skip < len(at) else ()):
            if own[axis] != dims[axis + skip] and own[axis] != Dim(None, 1):
                return None
            places.append(Const(0) if own[axis] == Dim(None, 1) else place)
        return self.part(operand, tuple(places)) if self.still(operand.name) else None

    def of_part(self, made: Assign, at: tuple[Operand, ...]) -> Operand | None:
        source = self.source(made)
        if source is None:
            return None
        array, first = source
        if isinstance(first, Var):  # an array of positions
            return self.part(array, (self.part(first, at[:1]), *at[1:]))
        return self.part(array, (*first, *at))

    def source(self, made: Assign) -> tuple[Var, Var | tuple[Operand, ...]] | None:
        """The array that a statement reads a part of, and under which positions: numbers, or one array of them."""
        array, index = made.args
        if not isinstance(array, Var) or not self.still(array.name):
            return None
        if isinstance(index, Var) and self.types[index.name].array:
            type_ = self.types[index.name]
            return (array, index) if type_.dtype == "int64" and type_.rank == 1 and self.still(index.name) else None
        at = self.leading(index)
        return None if at is None else (array, at)

    def axis(self, made: Assign) -> int | None:
        """The axis that a sum runs over, where it is the last one and leaves others."""
        rank = self.types[made.args[0].name].rank if isinstance(made.args[0], Var) else 0
        axis = dict(made.kwargs).get("axis") if len(made.args) == 1 and len(made.kwargs) == 1 else None
        return rank - 1 if rank > 1 and axis in (Const(rank - 1), Const(-1)) and self.types[made.target.name].dtype == "float64" else None

    def below(self, array: Var, at: tuple[Operand, ...]) -> Type:
        type_ = self.types[array.name]
        dims = type_.dims[len(at) :]
        return replace(type_, dims=dims, array=bool(dims), value=None)

    def emit(self, op: str, args: tuple[Operand, ...], type_: Type, kwargs: tuple[tuple[str, Operand], ...] = ()) -> Var:
        assert self.origin is not None
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = type_
        self.out.append(Assign((target,), op, args, kwargs, self.origin.loc, self.origin.note))
        return target
