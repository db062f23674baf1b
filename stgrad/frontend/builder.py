"""Builds typed IR statement by statement: fresh names, the block being written, the type of every name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.concessions import CONCESSIONS, Concessions
from stgrad.frontend.extents import Extents
from stgrad.frontend.heap import Region
from stgrad.frontend.identities import Apart, Thing, assigned
from stgrad.frontend.values import Sym, Value, operand_of, type_of
from stgrad.frontend.wishes import UNNAMED, wish_of
from stgrad.ir import Assign, Const, Dim, Effect, Function, Loc, Operand, Stack, Stmt, Store, Type, Var, assigns, operand_vars, walk
from stgrad.ir.ops import operation, readonly
from stgrad.names import COUNT, Names

_FOREIGN = ("datetime64", "timedelta64", "object", "<U", "|S", "str", "void", "|V")
_WIDE = ("float96", "float128", "complex192", "complex256")  # no native code here has them

SEALED = "sealed"  # of arrays that cannot be written to; other marks say what compiled code does not write to (see `stgrad.frontend.sealed`)
SMALL = 4  # the extents of arrays whose elements become variables (see `stgrad.transforms.small`)


@dataclass
class Builder:
    """The program being built. `out` is the innermost block."""

    names: Names = field(default_factory=Names)
    types: dict[str, Type] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)
    loc: Loc | None = None
    note: str | None = None
    symbols: int = 0
    slices: dict[Any, Dim] = field(default_factory=dict)  # extents of slices, by what they are slices of
    windows: set[str | None] = field(default_factory=set)  # symbols of slices with run-time bounds
    extents: Extents = field(default_factory=Extents)
    agreeing: bool = False  # whether extents that meet are known to agree: the derivatives of rules are written for such
    given: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # symbols of arguments: the argument and its axis, none for an integer
    asked: dict[tuple[Dim, Dim], Const] = field(default_factory=dict)  # extents of arguments that must be equal, and what to say if not
    cut: dict[Dim, Loc | None] = field(default_factory=dict)  # where extents below that of the array were first said
    copies: dict[int, int] = field(default_factory=dict)  # how often functions that call themselves were read in place, by their trees
    clipped: set[Dim] = field(default_factory=set)  # extents that count as 0 where they are below it, and are used as numbers
    pinned: dict[str, Type] = field(default_factory=dict)  # hidden parameters: known from their first reading on
    carried: dict[str, float] = field(default_factory=dict)  # those for floats, and what these are now (see `stgrad.frontend.varying`)
    regions: list[Region] = field(default_factory=list)  # the open branches and loops
    frames: list[Any] = field(default_factory=list)  # the open activations
    generators: dict[int, Any] = field(default_factory=dict)  # of random numbers, seeded in the program
    once: dict[int, Value] = field(default_factory=dict)  # items of iterators that stand as lists
    consumed: dict[int, Value] = field(default_factory=dict)  # iterators that a name stood for when it was read
    taken: dict[int, Value] = field(default_factory=dict)  # iterators that were read from a container
    loops: list[tuple[Any, set[str], set[int]]] = field(
        default_factory=list
    )  # the open loops: their activation, the names that they bind, the values that names had before
    in_trips: list[tuple[Any, set[str]]] = field(default_factory=list)  # of open trips: their activation, the names of the item that nothing else binds
    puts: list[tuple[Stmt, str]] = field(default_factory=list)  # stores that put arrays into lists of run-time length, and the arrays
    replaced: list[Stmt] = field(default_factory=list)  # stores that put an array in the place of an item of such a list
    rules: list[Any] = field(default_factory=list)  # the calls whose derivative rules are being read
    places: list[Any] = field(default_factory=list)  # of containers in lists of run-time length (see `stgrad.frontend.places`)
    loose: dict[int, Value] = field(default_factory=dict)  # containers that may be in such lists, at places that are not known
    loose_of: dict[int, set[int]] = field(default_factory=dict)  # the lists in which such a container may be
    stale: dict[int, Value] = field(default_factory=dict)  # such containers that may lack a change of an item
    read_in_loops: set[tuple[int, int]] = field(default_factory=set)  # containers that names stood for in an outermost loop
    doubled: dict[int, Value] = field(default_factory=dict)  # such lists, where one container may have two places
    serial: int = 0  # of the last place
    hidden_names: int = 0  # how many local names were made that the user's code cannot use
    marks: list[int] = field(default_factory=list)  # the last place when each open statement began
    raised: dict[tuple[str, str], Exception] = field(default_factory=dict)  # exceptions, by what the program raises in their place
    sure: dict[int, Stmt] = field(default_factory=dict)  # statements that never raise, by identity
    handling: list[Value] = field(default_factory=list)  # the exceptions whose handlers are being read
    moves: list[Stmt] = field(default_factory=list)  # what moves such items to a larger buffer
    earlier: list[str] = field(default_factory=list)  # names that were read in loops that bind them, and may be bound by an earlier iteration
    aim: str = ""  # the variable that the statement at hand binds or writes to
    chosen: bool = False  # whether there are names that stand for one of several values (see `stgrad.frontend.choices`)
    attempts: int = 0  # open bodies of a `try` that are read a statement at a time
    tries: int = 0  # open `try` statements
    count: int = 0  # statements so far, with those of readings that were taken back
    conceded: Concessions = field(default_factory=CONCESSIONS.get)
    tested: set[str] = field(default_factory=set)  # names of programs read in place that test their own positions
    refused: bool = False  # whether the operation whose rule is read has raised an exception of Python's where its rule would
    library: set[str] = field(default_factory=set)  # names of functions of ours, read in place: what they divide by is their business
    boxed: dict[str, str] = field(default_factory=dict)  # numbers that NumPy holds in arrays, and what they, or arrays, look into (see `stgrad.frontend.boxes`)
    either: set[Operand] = field(default_factory=set)  # arguments that are NumPy scalars or arrays without axes, and names of theirs
    flags: set[Operand] = field(default_factory=set)  # numbers that are Python's own on some paths, and NumPy's on others
    items: dict[str, str] = field(default_factory=dict)  # numbers that are items of lists of run-time length, or sums of such, and the memory of the list
    listed: set[str] = field(default_factory=set)  # the memory of lists of Python's numbers that were made of arrays
    apart: list[Apart] = field(default_factory=list)  # arrays that must share no memory
    readonly: set[str] = field(default_factory=set)  # arrays that cannot be written to
    sealing: dict[str, tuple[str, str]] = field(default_factory=dict)  # names that get such arrays, how these are sealed, and by which operation
    things: dict[str, Thing] = field(default_factory=dict)  # the objects that names mean (see `stgrad.frontend.identities`)
    tabled: dict[str, tuple[Any, ...] | None] = field(default_factory=dict)  # numbers from tables, and all in these; None: made of such (see `rolling`)
    passed: dict[int, Value] = field(default_factory=dict)  # lists, dicts and objects among the arguments (see `stgrad.frontend.passed`)
    distinct: bool = False  # whether it matters that they are different objects
    merged: dict[int, tuple[Value, Value, bool]] = field(
        default_factory=dict
    )  # containers that stand for one of several: it, one of those, whether that has other names

    alternatives: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # containers that stand for others (see `stgrad.frontend.alternatives`)
    several: bool = False  # whether one of them stands for one of several
    drawn: Sym | None = None  # the array with what the program drew last (see `stgrad.frontend.draws`)
    draws_of: str = ""  # whose generator it draws from
    streams: dict[int, Sym] = field(default_factory=dict)  # addresses of generators, seeded in the program, of which the running program draws
    starts: list[Stmt] = field(default_factory=list)  # what makes them, at the start of the program
    serial_of_draws: int = 0  # of the last one
    around: Any = None  # the function that the program stands around, where it is one of ours
    trips_written: int = 0  # of loops without one body for all trips
    trying: bool = False  # one trip is read to see what it leaves for the running program: numbers that are first values are no constants there
    compiled: int = 0  # how many functions that Numba compiles are being read

    def fresh_dim(self) -> Dim:
        """A size of which nothing is known."""
        self.symbols += 1
        return Dim(f"~{self.symbols}")

    def variable(self, wish: str, type_: Type) -> Sym:
        """A new variable of a type; not assigned yet. Dates, texts, objects and extended precision are no values of a program."""
        if type_.dtype.startswith(_FOREIGN):
            raise errors.UnsupportedSyntaxError(f"arrays of {type_.dtype} are not supported", self.loc, hint="pass them in as numbers")
        if type_.dtype in _WIDE:
            double = "complex128" if type_.dtype.startswith("c") else "float64"
            raise errors.TypeInferenceError(f"numbers of more than double precision ({type_.dtype}) are not supported", self.loc, hint=f"use np.{double}")
        wish = wish.partition("@")[0]  # the mark of a generator's names
        wish = wish if wish.strip("_") else UNNAMED
        name = self.names.fresh(wish, COUNT if wish.startswith("_") and wish != UNNAMED else "_")
        self.types[name] = type_
        self.things.pop(name, None)
        if self.frames and self.frames[-1].unroll:
            self.library.add(name)
        return Sym(Var(name), type_)

    def hidden(self, wish: str, type_: Type) -> Sym:
        """A variable for a value from outside, which stays when the statements around its first use are taken back."""
        variable = self.variable(wish, type_)
        self.pinned[variable.name] = type_
        return variable

    def emit(self, stmt: Stmt) -> None:
        self.count += 1
        self.conceded.refuse_long(self.count)
        if isinstance(stmt, Store) and self.tabled:
            self._must_be_known(operand_vars(stmt.index), stmt.target.name)
        if isinstance(stmt, Store) and stmt.target.name in self.readonly:
            self.out.append(refusal_of_stores(self.loc, self.note))
        if isinstance(stmt, Assign):
            names = {t.name for t in stmt.targets}
            own = self.frames and not self.frames[-1].unroll
            if own and readonly(stmt, self.types):
                self.sealing.update(dict.fromkeys(names, (SEALED, stmt.op)))
            certain = own and not any(region.conditional for region in self.regions)
            self.readonly = self.readonly | names if certain and self._is_readonly(stmt) else self.readonly - names
            assigned(self.things, stmt, self.loops)
        self.out.append(stmt)

    def seal(self, array: Sym, how: str = SEALED) -> None:
        """What has just been made cannot be written to."""
        made = next(s for s in reversed(self.out) if array.name in assigns(s))
        self.sealing[array.name] = (how, made.op if isinstance(made, Assign) else "")
        certain = how == SEALED and not any(region.conditional for region in self.regions)
        self.readonly = self.readonly | {array.name} if certain else self.readonly - {array.name}

    def retargeted(self, old: str, new: str) -> None:
        """The last statement assigns to another name now."""
        if old in self.sealing:
            self.sealing[new] = self.sealing[old]
        self.readonly = self.readonly | {new} if old in self.readonly else self.readonly - {new}
        if old in self.things:
            self.things[new] = self.things.pop(old)

    def _is_readonly(self, stmt: Assign) -> bool:
        """Whether NumPy gives an array that cannot be written to: a broadcast one, a diagonal, or a view of such."""
        first = stmt.args[0] if stmt.args else None
        if readonly(stmt, self.types):
            return True
        return stmt.op in ("alias", "getitem") and isinstance(first, Var) and first.name in self.readonly and self.types[stmt.targets[0].name].array

    def assign(self, target: Sym, op: str, *args: Operand) -> None:
        """`target = op(*args)`."""
        assert isinstance(target.operand, Var)
        self.emit(Assign((target.operand,), op, args, (), self.loc, self.note))

    def call(self, op: str, args: tuple[Value, ...], type_: Type | tuple[Type, ...], kwargs: dict[str, Value] | None = None, wish: str = "") -> Value:
        """Emit `temporary = op(*args, **kwargs)`; a Sym, or a tuple of them for several results."""
        several = isinstance(type_, tuple)
        of_tables = bool(self.tabled) and self._from_tables(op, args)
        operands = tuple(operand_of(a) for a in args)
        wish = wish or wish_of(op, operands, self.aim)
        results = [self.variable(wish, t) for t in (type_ if isinstance(type_, tuple) else (type_,))]
        targets = tuple(Var(r.name) for r in results)
        named = {k: np.dtype(v) if k == "dtype" and v in (bool, int, float, complex) else v for k, v in (kwargs or {}).items()}  # Numba knows NumPy's alone
        packed = tuple((k, operand_of(v)) for k, v in named.items())
        self.emit(Assign(targets, op, operands, packed, self.loc, self.note))
        if of_tables:
            self.tabled.update({r.name: None for r in results if r.type.dtype == "int64" and not r.type.array})
        return tuple(results) if several else results[0]

    def _from_tables(self, op: str, args: tuple[Value, ...]) -> bool:
        """Whether some operand comes from a table.

        Raises NeedStaticError for exponents that are powers written out, and for positions in arrays whose elements are variables, where they are known.
        """
        names = [[v for v in operand_vars(operand_of(a)) if v in self.tabled] for a in args]
        known = operation(op)
        if known.exponent is not None and any(map(self._is_written_out, names[known.exponent])):
            raise errors.NeedStaticError("an exponent differs from trip to trip", self.loc)
        if known.kind == "element" and isinstance(args[0], Sym):
            self._must_be_known([n for ns in names[1:] for n in ns], args[0].name)
        return any(names)

    def _is_written_out(self, name: str) -> bool:
        """Whether some value of a number from a table is an exponent of which the program makes products and roots."""
        values = self.tabled[name]
        return values is None or any(isinstance(v, (int, np.integer)) or 2 * v == np.round(2 * v) for v in values)

    def _must_be_known(self, positions: Iterable[str], array: str) -> None:
        """Elements of a small array are variables where all positions in it are known."""
        dims = self.types[array].dims
        if any(n in self.tabled for n in positions) and all(d.constant is not None and d.constant <= SMALL for d in dims):
            raise errors.NeedStaticError("a position in a small array differs from trip to trip", self.loc)

    def named(self, value: Sym, wish: str) -> Sym:
        """The result of the last statement under a better name."""
        last = self.out[-1] if self.out else None
        if not isinstance(last, Assign) or last.targets != (value.operand,):
            return value
        new = self.variable(wish, value.type)
        self.out[-1] = replace(last, targets=(new.operand,))  # type: ignore[arg-type]
        self.retargeted(value.name, new.name)
        if value.name in self.boxed:
            self.boxed[new.name] = self.boxed.pop(value.name)
        if value.name in self.tabled:
            self.tabled[new.name] = self.tabled[value.name]
        self.types.pop(value.name, None)
        return new

    def copy_to(self, target: Sym, value: Value) -> None:
        """`target = value`, with a cast where a scalar's dtype differs."""
        operand = operand_of(value)
        if isinstance(operand, Var) and operand.name in self.boxed and isinstance(target.operand, Var):
            self.boxed[target.operand.name] = self.boxed[operand.name]
        if operand in self.either:
            self.either.add(target.operand)
        self.note_flag(target.operand, target.type, value)
        if isinstance(operand, Var) and operand.name in self.tabled and isinstance(target.operand, Var):
            self.tabled[target.operand.name] = self.tabled[operand.name]
        if isinstance(value, Sym) and not target.type.array and value.type.dtype != target.type.dtype:
            cast = {"float64": "float", "int64": "int", "bool": "bool", "complex128": "complex"}.get(target.type.dtype)
            if cast is not None:
                self.assign(target, cast, operand)
            else:
                self.assign(target, "cast", operand, Const(target.type.dtype))
        elif isinstance(operand, Const):
            self.assign(target, "alias", Const(convert(operand.value, target.type)))
        else:
            self.assign(target, "alias", operand)

    def note_item(self, item: Value, memory: Value) -> Value:
        """Note that a value comes from a list: its memory says neither whose number it is, Python's or NumPy's, nor which array object."""
        if isinstance(item, Sym) and isinstance(item.operand, Var) and isinstance(memory, Sym) and not item.type.array:
            self.items[item.name] = memory.name
        elif isinstance(item, Sym) and isinstance(item.operand, Var):
            self.things[item.name] = Thing(True, False, tuple(self.loops))  # it was there before, and nobody knows which one it is
        return item

    def note_flag(self, target: Operand, type_: Type, value: Value) -> None:
        """Note where a number becomes one that may be of Python or of NumPy."""
        if not type_.array and not type_.weak and (type_of(value).weak or operand_of(value) in self.flags):
            self.flags.add(target)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Statements emitted inside go to the yielded list."""
        outer, self.out = self.out, []
        equal = dict(self.extents.parents)
        try:
            yield self.out
        finally:
            self.out = outer
            self.extents.parents = equal  # what was tested in the block was tested only there

    @contextmanager
    def certain(self) -> Iterator[None]:
        """What is emitted inside never raises: it is work of ours, with sizes that fit."""
        before = len(self.out)
        yield
        for stmt in walk(tuple(self.out[before:])):
            self.sure[id(stmt)] = stmt
            self.library.update(assigns(stmt))

    @contextmanager
    def of_trip(self, frame: Any, names: set[str]) -> Iterator[None]:
        """Inside, these names stand for what this trip of a loop has assigned to them, and for nothing of an earlier one."""
        self.in_trips.append((frame, names))
        try:
            yield
        finally:
            self.in_trips.pop()

    def mark(self) -> Callable[[], None]:
        """A function that takes the builder back to the state of now (the blocks opened since must be closed)."""
        names, types, symbols, slices = self.names.state(), dict(self.types), self.symbols, dict(self.slices)
        least, parents, asked = dict(self.extents.least), dict(self.extents.parents), dict(self.asked)
        tested, library, readonly = set(self.tested), set(self.library), set(self.readonly)
        boxed, tabled, things = dict(self.boxed), dict(self.tabled), dict(self.things)
        places, loose, doubled = list(self.places), dict(self.loose), dict(self.doubled)
        loose_of, stale = {k: set(v) for k, v in self.loose_of.items()}, dict(self.stale)
        out, statements, pinned = self.out, list(self.out), len(self.pinned)

        def rollback() -> None:
            self.names.restore(names)
            self.names.reserve(self.pinned)
            self.types.clear()
            self.types.update({**types, **self.pinned})
            self.symbols = symbols if len(self.pinned) == pinned else self.symbols
            self.slices = dict(slices)
            self.extents.least, self.extents.parents, self.asked = dict(least), dict(parents), dict(asked)
            self.tested, self.library, self.readonly = set(tested), set(library), set(readonly)
            self.boxed, self.tabled, self.things = dict(boxed), dict(tabled), dict(things)
            self.places[:], self.loose, self.doubled = places, dict(loose), dict(doubled)
            self.loose_of, self.stale = {k: set(v) for k, v in loose_of.items()}, dict(stale)
            out[:] = statements
            self.out = out

        return rollback


def refusal_of_stores(loc: Loc | None, note: str | None) -> Effect:
    """What the program does instead of a store to an array that cannot be written to."""
    return Effect("raise", (Const("ValueError"), Const("assignment destination is read-only")), (), loc, note)


def continuing(fn: Function) -> Builder:
    """A builder for more statements of a program that has been read."""
    lists = [s.name for s in walk(fn.body) if isinstance(s, Stack)]
    return Builder(names=Names([*fn.types, *lists]), types=dict(fn.types), symbols=last_symbol(fn.types.values()))


def last_symbol(types: Iterable[Type]) -> int:
    """The largest number of a symbol made by `fresh_dim` in these types: new symbols start behind it."""
    symbols = (d.symbol for t in types for d in (*t.dims, t.value) if d is not None)
    return max((int(s[1:]) for s in symbols if s is not None and s[:1] == "~" and s[1:].isdigit()), default=0)


def convert(value: Any, type_: Type) -> Any:
    """A static number as a literal of a scalar type: 0 as 0.0 for a float."""
    if isinstance(value, (int, float)) and type_.dtype == "float64":
        return float(value)
    if isinstance(value, (int, float, complex)) and type_.dtype == "complex128":
        return complex(value)
    return value
