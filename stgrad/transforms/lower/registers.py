"""Elements of arrays that do not move with a loop are read before it, or summed up in a local.

    for j in range(i):                 x_bar_i = 0.0
        x_bar[j] -= d             ->   for j in range(i):
        x_bar[i] += d                      x_bar[j] -= d; x_bar_i += d
                                       x_bar[i] += x_bar_i

A sum in memory waits in each trip for the store of the trip before, and no loop around one is vectorised. Legal where the loop does
nothing with the array but add to it: additions commute. Where the loop may not run, the place may not exist: then only a sum that is
not zero is added.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def rows(a, y):
    ...     for i in range(a.shape[0]):
    ...         for j in range(a.shape[1]):
    ...             y[i] += a[i, j]
    ...     return y[0]
    >>> show_pass("registers", stgrad.jit(rows), np.ones((2, 3)), np.zeros(2))
    if a.shape[1] > 0:
        if a.shape[0] > y.shape[0]:
            raise IndexError('index `i` is out of bounds for axis 0 of `y` (line 4: y[i] += a[i, j])')
    if y.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `y` (line 5: return y[0])')
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i, j]
    return y[0]
    ->
    if a.shape[1] > 0:
        if a.shape[0] > y.shape[0]:
            raise IndexError('index `i` is out of bounds for axis 0 of `y` (line 4: y[i] += a[i, j])')
    if y.shape[0] < 1:
        raise IndexError('index 0 is out of bounds for axis 0 of `y` (line 5: return y[0])')
    for i in range(a.shape[0]):
        y_i = 0.0
        for j in range(a.shape[1]):
            y_i = runtime.radd(y_i, a[i, j])
        if y_i != 0.0:
            y[i] += y_i
    return y[0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.affine import Positions
from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    blocks,
    entries_of,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.lower.pieces import zero

Ranges = Mapping[str, tuple[Dim, Dim]]  # the least and the greatest value of counters
BOOL = Type("bool")


def registers(fn: Function) -> Function:
    """The program with loop-invariant sums in locals."""
    types = dict(fn.types)
    names = Names([*types, *(p.name for p in fn.params)])
    state = Registers(types, names, aliases(fn), frozenset(parameter_extents(fn)), definitions(fn))
    return replace(fn, body=state.block(fn.body, {}), types=types)


@dataclass
class Registers:
    """Walks a function, inner loops first."""

    types: dict[str, Type]
    names: Names
    classes: Classes
    trusted: frozenset[str]  # symbols of parameters
    definitions: Definitions
    tests: set[Operand] = field(default_factory=set)  # whether a sum is not zero

    def block(self, statements: Block, ranges: Ranges) -> Block:
        result: list[Stmt] = []
        for stmt in self.sums(statements):
            inner = {**ranges, **self.range_of(stmt)} if isinstance(stmt, For) else ranges
            stmt = map_blocks(lambda b, inner=inner: self.block(b, inner), stmt)  # type: ignore[misc]
            result += self.loop(stmt, ranges) if isinstance(stmt, (For, While)) else [stmt]
        return tuple(result)

    # ------------------------------------------------------------------ loops

    def loop(self, loop: For | While, ranges: Ranges) -> list[Stmt]:
        """A loop with the sums that stand still in locals around it."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        if isinstance(loop, For):
            before, body = self.invariant(loop, ranges)
            loop = replace(loop, body=body)
        for (array, index), local in self.candidates(loop).items():
            type_ = Type(self.types[array].dtype)
            self.types[local.name] = type_
            before.append(Assign((local,), "alias", (zero(type_),)))
            after += self.give_back(Store(Var(array), index, local, "add"), local, ranges)
            loop = map_loop(lambda b, key=(array, index), local=local: substitute(b, key, local, self.tests), loop)  # type: ignore[misc]
        return [*before, loop, *after]

    def invariant(self, loop: For, ranges: Ranges) -> tuple[list[Stmt], Block]:
        """Elements that are read in every trip and never change, and the body without these reads."""
        moving = assigned((loop,))
        written = {self.classes.find(s.target.name) for s in walk(loop.body) if isinstance(s, Store)}
        if any(isinstance(s, Custom) for s in walk(loop.body)):
            return [], loop.body
        ahead: list[Stmt] = []
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or stmt.op != "getitem" or stmt.target.name not in self.definitions.once:
                continue
            array, index = stmt.args
            if moving.intersection(reads(stmt)) or not isinstance(array, Var) or self.classes.find(array.name) in written:
                continue
            if self.exists(array.name, index, ranges):
                ahead.append(stmt)
        return ahead, tuple(s for s in loop.body if not any(s is a for a in ahead))

    def candidates(self, loop: For | While) -> dict[tuple[str, Operand], Var]:
        body = tuple(s for b in blocks(loop) for s in b)
        if any(isinstance(s, Custom) for s in walk(body)):
            return {}
        moving = assigned((loop,))
        spoilt = {self.classes.find(n) for s in walk(body) for n in others(s)} | {self.classes.find(n) for n in reads(loop)}
        found: dict[tuple[str, Operand], Var] = {}
        for stmt in walk(body):
            if isinstance(stmt, Store) and self.stands(stmt, moving) and self.classes.find(stmt.target.name) not in spoilt:
                key = (stmt.target.name, stmt.index)
                if key not in found:
                    found[key] = Var(self.names.fresh("_".join([stmt.target.name, *map(label, entries_of(stmt.index))])))
        return found

    def stands(self, store: Store, moving: set[str]) -> bool:
        """A sum of floats into one element that is the same in every trip."""
        type_ = self.types[store.target.name]
        if store.mode != "add" or not type_.is_float or store.target.name in moving:
            return False
        index = entries_of(store.index)
        if len(index) != type_.rank or not all(self.is_scalar(p) for p in (*index, store.value)):
            return False
        return not moving.intersection(operand_vars(store.index))

    def is_scalar(self, operand: Operand) -> bool:
        if isinstance(operand, Var):
            return not self.types[operand.name].array
        return isinstance(operand, Const) and isinstance(operand.value, (int, float, complex))

    def give_back(self, store: Store, local: Var, ranges: Ranges) -> list[Stmt]:
        if self.exists(store.target.name, store.index, ranges):
            return [store]
        test = Var(self.names.fresh("_t"))
        self.types[test.name] = BOOL
        self.tests.add(test)
        return [Assign((test,), "np.not_equal", (local, zero(self.types[local.name]))), If(test, (store,))]

    # ----------------------------------------------------------------- ranges

    def range_of(self, loop: For) -> dict[str, tuple[Dim, Dim]]:
        start, stop = self.dim(loop.start), self.dim(loop.stop)
        if start is None or stop is None or loop.step not in (Const(1), Const(-1)):
            return {}
        if loop.step == Const(1):
            return {loop.var.name: (start, replace(stop, offset=stop.offset - 1))}
        return {loop.var.name: (replace(stop, offset=stop.offset + 1), start)}

    def dim(self, operand: Operand) -> Dim | None:
        """The value of an integer that is assigned once, as an extent."""
        form = Positions(self.definitions.once, self.definitions.once.keys(), "").form(operand)
        if form is None or [factor for _, factor in form.terms] not in ([], [1]):
            return None
        base = self.leaf(form.terms[0][0]) if form.terms else Dim(None, 0)
        return None if base is None else replace(base, offset=base.offset + int(form.constant))

    def leaf(self, name: str) -> Dim | None:
        stmt = self.definitions.once.get(name)
        if isinstance(stmt, Assign) and stmt.op == "shape" and isinstance(stmt.args[0], Var) and isinstance(stmt.args[1], Const):
            return self.types[stmt.args[0].name].dims[int(stmt.args[1].value)]
        return self.types[name].value if name in self.types else None

    def exists(self, array: str, index: Operand, ranges: Ranges) -> bool:
        """Whether an index is that of one element which exists for sure."""
        at, dims = entries_of(index), self.types[array].dims
        return len(at) == len(dims) and all(self.within(place, dim, ranges) for place, dim in zip(at, dims, strict=True))

    def within(self, place: Operand, extent: Dim, ranges: Ranges) -> bool:
        """Whether a position exists for sure."""
        if isinstance(place, Const):
            return extent.symbol is None and isinstance(place.value, int) and -extent.offset <= place.value < extent.offset
        low, high = ranges.get(place.name, (None, None)) if isinstance(place, Var) else (None, None)
        if low is None or high is None or low.symbol is not None or low.offset < 0:
            return False
        known = high.symbol is None or high.symbol in self.trusted
        return known and high.symbol == extent.symbol and high.offset < extent.offset

    # ------------------------------------------------------------------- sums

    def sums(self, statements: Block) -> Block:
        """`t = a[i]; u = t + v; a[i] = u` as `a[i] += v`, where `t` and `u` serve nothing else."""
        result: list[Stmt] = []
        for stmt in statements:
            chain = self.chain(stmt, result) if isinstance(stmt, Store) and stmt.mode == "set" else None
            if chain is None or not isinstance(stmt, Store):
                result.append(stmt)
                continue
            gone, terms = chain
            result = [s for s in result if not any(s is g for g in gone)]
            result += [replace(stmt, value=term, mode="add") for term in terms]
        return tuple(result)

    def chain(self, store: Store, before: list[Stmt]) -> tuple[list[Stmt], list[Operand]] | None:
        """The statements of a sum that starts with the element stored to, and what is added to it, in order."""
        value, gone, terms = store.value, list[Stmt](), list[Operand]()
        if not self.types[store.target.name].is_float:
            return None
        for at in reversed(range(len(before))):
            stmt = before[at]
            if not isinstance(stmt, Assign) or (value,) != stmt.targets:
                continue
            if self.definitions.reads[stmt.target.name] != 1 or stmt.target.name not in self.definitions.once:
                return None
            gone.append(stmt)
            if stmt.op == "getitem" and stmt.args == (store.target, store.index):
                free = terms and not self.disturbed(before[at + 1 :], store)
                return (gone, terms[::-1]) if free else None
            if stmt.op != "np.add" or not self.is_scalar(stmt.args[1]):
                return None
            value = stmt.args[0]
            terms.append(stmt.args[1])
        return None

    def disturbed(self, between: list[Stmt], store: Store) -> bool:
        """Whether the element may change, or its position, between the read and the store; or a term after it was made."""
        own = self.classes.find(store.target.name)
        names = set(operand_vars(store.index)) | {n for s in between for n in reads(s) if n not in self.definitions.once and not self.types[n].array}
        if names & assigned(tuple(between)):
            return True
        return any(isinstance(s, Store) and self.classes.find(s.target.name) == own for s in walk(tuple(between)))


def map_loop(f: Callable[[Block], Block], loop: For | While) -> For | While:
    result = map_blocks(f, loop)
    assert isinstance(result, (For, While))
    return result


def label(place: Operand) -> str:
    """A position as part of a name."""
    return place.name.lstrip("_") if isinstance(place, Var) else str(place.value).replace("-", "m") if isinstance(place, Const) else ""


def others(stmt: Stmt) -> Iterator[str]:
    """Names that a statement reads or writes other than by adding to an element of them."""
    if isinstance(stmt, Store) and stmt.mode == "add":
        yield from operand_vars(stmt.index)
        yield from operand_vars(stmt.value)
    elif not (isinstance(stmt, Assign) and stmt.op == "shape"):
        yield from reads(stmt)
        yield from assigned((stmt,)) if not isinstance(stmt, (For, While, If)) else ()


def substitute(block: Block, key: tuple[str, Operand], local: Var, tests: set[Operand]) -> Block:
    """Sums into one element as sums into a local. A local exists always: no test whether there is anything to add."""

    def one(stmt: Stmt) -> Stmt:
        if isinstance(stmt, If) and stmt.cond in tests and len(stmt.then) == 1:
            inner = one(stmt.then[0])
            return inner if isinstance(inner, Assign) else stmt
        if isinstance(stmt, Store) and stmt.mode == "add" and (stmt.target.name, stmt.index) == key:
            return Assign((local,), "runtime.radd", (local, stmt.value), loc=stmt.loc, note=stmt.note)
        return map_blocks(lambda b: substitute(b, key, local, tests), stmt)

    return tuple(map(one, block))
