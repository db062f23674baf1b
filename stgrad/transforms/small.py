"""Small local arrays become scalars, one for each element.

    k = np.empty(2)                    k_0 = y * a
    k[0] = y * a; k[1] = y + a   ->    k_1 = y + a
    v = x + h * k                      v_0 = x_0 + h * k_0; v_1 = x_1 + h * k_1

For arrays of constant extents up to 4 that are made here, indexed by constants, and used by nothing but arithmetic: the vectors of
two or three numbers of a simulation. Nothing is allocated then, and the reverse sweep sees single values, of which it keeps only those it
needs. Loops of up to 4 trips over such arrays are written out first.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def turn(a, b):
    ...     v = np.array([a, b])
    ...     w = v * v
    ...     return w[0] - w[1]
    >>> show_pass("small", stgrad.jit(turn), 1.0, 2.0)
    v_part = np.empty((2,), np.float64)
    v_part[0] = a
    v_part[1] = b
    w = v_part * v_part
    return w[0] - w[1]
    ->
    return a * a - b * b
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_

import numpy as np

from stgrad.analysis.alias import Classes, aliases, sharing
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import tells_as_much
from stgrad.analysis.shadows import updated, updated_later
from stgrad.frontend.wishes import UNNAMED, is_unnamed
from stgrad.ir import (
    ALL,
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    Function,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    changed,
    entries_of,
    map_blocks,
    map_operands,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.ir.ops import may_view, operation
from stgrad.names import Names
from stgrad.transforms.simplify import simplify
from stgrad.transforms.small_forms import ELEMENTS, FLOAT, Cells, Unsupported, at_places, computed, each, has_form, refuse, value_of
from stgrad.transforms.small_results import pushed_when_finished, with_results_apart, without_copies
from stgrad.transforms.unroll import is_small, unrolled

INT = Type("int64", weak=True)
APART = frozenset({"element", "identity", "extent", "call", "stack", "unknown"})  # what is more than a value of the contents of its operands


def small_arrays(fn: Function, last: bool = False) -> Function:
    """The program with its small local arrays as scalars; `last`: no derivative is taken of it any more."""
    if not any(is_small(t) for t in fn.types.values()):
        return fn
    fn = unrolled(fn)
    fn = simplify(fn.with_body(_from_the_front(fn, fn.body)))
    fn = fn.with_body(_coalesce(fn, fn.body))
    fn, handed_on = with_results_apart(fn)
    fn, kept = pushed_when_finished(fn) if last else (fn, set[str]())
    kept |= {p.name for p in fn.params} | set(operand_vars(fn.result)) | set(fn.constants)
    kept |= {n for s in walk(fn.body) if isinstance(s, Custom if last else (Custom, Push, Pop)) for n in _every(s)}
    candidates = computed(fn, {n for n, t in fn.types.items() if is_small(t)} - kept, last)
    while candidates:
        state = _State.of(fn, frozenset(candidates), last)
        body = state.block(fn.body)
        if not state.failed:
            return simplify(without_copies(replace(fn, body=body, types=state.types), handed_on, candidates))
        candidates -= state.failed
    return without_copies(fn, handed_on, candidates)


def _from_the_front(fn: Function, block: Block) -> Block:
    """The statements with one subscript for each element: the last of three is `x[2]`, which `x[-1]` is, too."""

    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(op="getitem", args=(Var() as array, index)):
                return changed(stmt, args=(array, counted(array, index)))
            case Store():
                return changed(stmt, index=counted(stmt.target, stmt.index))
        return map_blocks(lambda b: tuple(map(one, b)), stmt)

    def counted(array: Var, index: Operand) -> Operand:
        dims, entries = fn.types[array.name].dims, entries_of(index)
        if len(entries) != len(dims):
            return index
        placed = tuple(map(position, entries, dims))
        return index if all(map(is_, placed, entries)) else Pack(placed) if isinstance(index, Pack) else placed[0]

    def position(entry: Operand, dim: Dim) -> Operand:
        inside = isinstance(entry, Const) and type(entry.value) is int and dim.constant is not None and -dim.offset <= entry.value < 0
        return Const(entry.value + dim.offset) if inside else entry  # type: ignore[union-attr]

    return tuple(map(one, block))


def _with(stmt: Assign | Push | Pop, read: Mapping[str, str], bound: Mapping[str, str]) -> Stmt:
    """A statement with other names for what it reads, and for what it binds."""
    moved = map_operands(lambda o: Var(read.get(o.name, o.name)) if isinstance(o, Var) else o, stmt)
    if isinstance(moved, Assign):
        return replace(moved, targets=tuple(Var(bound.get(t.name, t.name)) for t in moved.targets))
    return replace(moved, target=Var(bound.get(moved.target.name, moved.target.name))) if isinstance(moved, Pop) else moved


def _every(stmt: Stmt) -> Iterator[str]:
    inner = (*stmt.body, *stmt.pullback) if isinstance(stmt, Custom) else ()
    for s in (stmt, *walk(inner)):
        yield from (*reads(s), *assigns(s))
    if isinstance(stmt, Custom):
        yield from (v.name for v in (*stmt.outputs, *stmt.bars))


def _coalesce(fn: Function, block: Block) -> Block:
    """`t = np.empty(2); t[0] = a; ...; z = t` is `z = np.empty(2); z[0] = a; ...` where `t` serves nothing else."""
    result: list[Stmt] = []
    for stmt in block:
        stmt = map_blocks(lambda b: _coalesce(fn, b), stmt)
        if isinstance(stmt, Assign) and stmt.op == "alias" and isinstance(stmt.args[0], Var) and is_small(fn.types[stmt.target.name]):
            old, new = stmt.args[0].name, stmt.target.name
            first = next((k for k, s in enumerate(result) if old in assigns(s)), len(result))
            run = tuple(result[first:])
            whole = Counter(_occurrences(fn.body))[old] + Counter(operand_vars(fn.result))[old]
            fits = tells_as_much(fn.types[new], fn.types[old]) and tells_as_much(fn.types[old], fn.types[new])
            if run and fits and Counter(_occurrences((*run, stmt)))[old] == whole and new not in _occurrences(run):
                result[first:] = rename(run, {old: new})
                continue
        result.append(stmt)
    return tuple(result)


def _occurrences(block: Block) -> list[str]:
    """Every name that is read or bound, as often as it is."""
    return [n for s in walk(block) for n in (*reads(s), *assigns(s))]


# ------------------------------------------------------------------- rewriting


@dataclass
class _State:
    """One attempt: `failed` collects the arrays that must stay."""

    types: dict[str, Type]
    names: Names
    classes: Classes
    candidates: frozenset[str]
    stored: frozenset[str]  # classes of arrays that are written while several names may look into them
    once: frozenset[str]  # names bound once, and parameters that are never bound again
    failed: set[str] = field(default_factory=set)
    cells: dict[str, Cells] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)
    origin: Stmt | None = None
    checked: frozenset[tuple[str, int, int]] = frozenset()  # extents that an earlier check of this block compared
    loaded: dict[tuple[str, tuple[int, ...]], Cells] = field(default_factory=dict)  # elements of arrays in memory that nothing writes, as read before
    backed: dict[str, str] = field(default_factory=dict)  # arrays in memory with the elements of names
    still: frozenset[str] = frozenset()  # names bound once, into whose arrays nothing is stored
    last: bool = False  # whether no derivative is taken of the program any more
    choices: frozenset[str] = frozenset()  # partials that a product with them guards, which is known by them (see `stgrad.transforms.guards`)

    @classmethod
    def of(cls, fn: Function, candidates: frozenset[str], last: bool) -> _State:
        classes, known = aliases(fn), definitions(fn)
        once = frozenset(n for n, c in known.counts.items() if c == 1)
        still = once - {n for n in once if sharing(fn).find(n) in updated(fn)}
        choices = frozenset(n for n, s in known.once.items() if isinstance(s, Assign) and s.op == "np.where") - candidates
        names, late = Names([*fn.types, *(p.name for p in fn.params)]), updated_later(fn, classes)
        return cls(dict(fn.types), names, classes, candidates, late, once, still=still, last=last, choices=choices)

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        before = self.checked, self.loaded, self.backed
        for stmt in statements:
            used = [n for n in (*reads(stmt), *assigns(stmt)) if n in self.candidates]
            if not used:
                result.append(map_blocks(self.block, stmt))
                continue
            self.out, self.origin = [], stmt
            try:
                self.statement(stmt)
            except Unsupported:
                self.failed.update(used)
            result += self.out
        self.checked, self.loaded, self.backed = before
        return tuple(result)

    def statement(self, stmt: Stmt) -> None:
        start, before = len(self.out), (dict(self.cells), self.checked, self.loaded, self.backed)
        try:
            if isinstance(stmt, Store):
                self.store(stmt)
            elif isinstance(stmt, Assign) and len(stmt.targets) == 1:
                self.assign(stmt)
            else:
                raise Unsupported
        except Unsupported:
            del self.out[start:]
            self.cells, self.checked, self.loaded, self.backed = before
            self.through_memory(stmt)

    def through_memory(self, stmt: Stmt) -> None:
        """A statement without a form over elements, on arrays in memory: its operands are put there, and its results are loaded."""
        if not isinstance(stmt, (Push, Pop)) and not (isinstance(stmt, Assign) and self.worth_memory(stmt)):
            raise Unsupported
        placed: dict[str, str] = {}
        for name in dict.fromkeys(n for n in reads(stmt) if n in self.candidates):
            placed[name] = self.backed.get(name) or self.placed(name)
            self.back(name, placed[name])
        made = {n: self.names.fresh(n) for n in assigns(stmt) if n in self.candidates}
        self.types |= {new: self.types[old] for old, new in made.items()}
        self.out.append(_with(stmt, placed, made))
        for old, new in made.items():
            self.bind(old, self.read(Var(new)))
            self.back(old, new)

    def worth_memory(self, stmt: Assign) -> bool:
        """Whether an operation makes new values of all elements of its operands, and so much of them that stores and loads do not count."""
        known, arrays = operation(stmt.op), [self.types[n] for n in (*reads(stmt), *assigns(stmt)) if self.types[n].array]
        whole = not (known.kind in APART or may_view(stmt) or known.picks or known.omits or "where" in dict(stmt.kwargs))  # guards look for what is left out
        return whole and not (has_form(stmt, self.last) and all(map(is_small, arrays)))

    def back(self, name: str, array: str) -> None:
        """Keep in mind that the elements of a name that never change are in memory, too."""
        if name in self.still:
            self.backed = {**self.backed, name: array}

    def placed(self, name: str) -> str:
        """The name of a new array in memory with the elements of one that has none."""
        return self.put(self.read(Var(name)), Var(self.names.fresh(name)), self.types[name])

    def put(self, cells: Cells, array: Var, t: Type) -> str:
        """Make an array in memory of these elements."""
        self.types.setdefault(array.name, t)
        self.emit("np.empty", (Pack(tuple(map(Const, cells.shape))), Const(np.dtype(t.dtype).type)), array)
        assert self.origin is not None
        for at in np.ndindex(cells.shape):
            index = tuple(map(Const, at))
            self.out.append(Store(array, index[0] if len(index) == 1 else Pack(index), cells[at], loc=self.origin.loc, note=self.origin.note))
        return array.name

    # ------------------------------------------------------------ assignments

    def assign(self, stmt: Assign) -> None:
        name = stmt.target.name
        known = operation(stmt.op)
        if known.kind in ("identity", "element") or stmt.op == "np.transpose":
            self.view(stmt)
        elif name in self.candidates:
            self.bind(name, value_of(self, stmt))
        elif not self.types[name].array:
            self.emit("alias", (value_of(self, stmt).item(),), stmt.target)
        elif is_small(self.types[name]) and (stmt.op == "np.copy" or self.last and has_form(stmt, True)):  # reversal looks for guards by whole arrays
            array = Var(self.names.fresh(name))  # filled before its name is that of another array, too
            self.put(value_of(self, stmt), array, self.types[name])
            self.emit("alias", (array,), stmt.target)
        else:
            raise Unsupported

    def view(self, stmt: Assign) -> None:
        """Another name for the same elements: the same scalars, or, where nothing is ever written in place, copies of them."""
        source, name = stmt.args[0], stmt.target.name
        if not isinstance(source, Var) or source.name not in self.candidates and self.classes.find(name) in self.stored:
            raise Unsupported
        whole = source.name in self.candidates or is_small(self.types[source.name])
        seen = self.read(source if whole else self.seen(stmt))
        if stmt.op == "getitem" and whole:
            seen = at_places(seen, stmt.args[1])
        elif stmt.op == "np.transpose":
            seen = seen.T if len(stmt.args) == 1 and not stmt.kwargs else refuse()
        if not self.types[name].array:
            self.emit("alias", (seen.item(),), stmt.target)
        elif name not in self.candidates:
            raise Unsupported
        elif self.classes.find(name) not in self.stored:
            passes = operation(stmt.op).differentiable
            self.bind(name, seen if passes else each(lambda cell: self.emit(stmt.op, (cell,)), seen))
        elif {name, source.name} <= self.once and operation(stmt.op).differentiable:
            self.cells[name] = seen
        else:
            raise Unsupported

    def seen(self, stmt: Assign) -> Var:
        """A part of a larger array in memory, under a name of its own, for a name that is bound to others, too: its elements are loaded now, and stay."""
        if stmt.target.name in self.once or stmt.target.name not in self.candidates:
            raise Unsupported
        part = Var(self.names.fresh(stmt.target.name))
        self.types[part.name] = self.types[stmt.target.name]
        self.out.append(replace(stmt, targets=(part,)))
        return part

    # ---------------------------------------------------------------- stores

    def store(self, stmt: Store) -> None:
        if stmt.mode not in ("set", "add"):
            raise Unsupported
        name = stmt.target.name
        if name not in self.candidates:
            self.store_out(stmt)
            return
        region = at_places(self.read(stmt.target), stmt.index)
        value = self.read(stmt.value, region.shape)
        if self.types[name].dtype != "float64":
            raise Unsupported
        value = np.broadcast_to(each(lambda v: self.number(v, stored=True), value), region.shape)
        if stmt.mode == "add":
            value = each(lambda a, b: self.emit("np.add", (a, b)), region, value)
        self.move(region, value)

    def store_out(self, stmt: Store) -> None:
        """A small value into an array in memory: `index` gives whole axes after positions."""
        items = list(entries_of(stmt.index))
        dims = self.types[stmt.target.name].dims
        items = [i for i in items if i != ALL]
        while items and items[-1] == Slice(NONE, NONE, NONE):
            items.pop()
        if not all(isinstance(i, Const) and isinstance(i.value, int) or isinstance(i, Var) and not self.types[i.name].array for i in items):
            raise Unsupported
        value = self.read(stmt.value)
        if any(extent == 1 != dim.constant for extent, dim in zip(value.shape, dims[len(items) :], strict=False)):
            raise Unsupported  # an extent of 1 stretches to whatever is there
        self.check(stmt.target, value.shape, len(items))
        for at in np.ndindex(value.shape):
            index = (*items, *map(Const, at))
            self.out.append(replace(stmt, index=index[0] if len(index) == 1 else Pack(index), value=value[at]))
        if len(items) + value.ndim != len(dims):
            raise Unsupported

    # -------------------------------------------------------------- elements

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(d.offset if d.symbol is None else refuse() for d in self.types[name].dims)

    def read(self, operand: Operand, shape: tuple[int, ...] = ()) -> Cells:
        """The elements of an operand; those of an array in memory are loaded, if it has `shape` for sure or by a check."""
        result = np.empty((), object)
        if not isinstance(operand, Var) or not self.types[operand.name].array:
            result[()] = self.number(operand) if isinstance(operand, (Var, Const)) else refuse()
            return result
        if operand.name in self.candidates:
            if operand.name not in self.cells:
                self.cells[operand.name] = self.fresh(operand.name)
            return self.cells[operand.name]
        shape = shape or (self.shape(operand.name) if is_small(self.types[operand.name]) else ())
        t = self.types[operand.name]
        if len(t.dims) != len(shape) or t.dtype not in ELEMENTS:
            raise Unsupported
        self.check(operand, shape, 0)
        if (operand.name, shape) in self.loaded:  # one name for one number: products that test their factors are known by these
            return self.loaded[operand.name, shape]
        loaded = np.empty(shape, object)
        for at in np.ndindex(shape):
            loaded[at] = self.emit("getitem", (operand, Const(at[0]) if len(at) == 1 else Pack(tuple(map(Const, at)))), type_=ELEMENTS[t.dtype])
        if operand.name in self.still:
            self.loaded = {**self.loaded, (operand.name, shape): loaded}
        return loaded

    def number(self, operand: Var | Const, stored: bool = False) -> Operand:
        """A number beside elements, or (`stored`) for one, in their type: narrow ones would round, or overflow, among themselves."""
        if isinstance(operand, Const):
            kind = np.result_type(operand.value)  # type: ignore[arg-type]
            narrow = kind.kind in "fiub" and (kind != np.float64 and isinstance(operand.value, np.generic) or stored and type(operand.value) in (int, bool))
            return Const(float(operand.value)) if narrow else operand  # type: ignore[arg-type]
        t = self.types[operand.name]
        narrow = t.dtype != "float64" if stored else t.dtype in ("float32", "float16")
        return self.emit("float", (operand,)) if narrow and not t.array else operand

    def check(self, array: Var, shape: tuple[int, ...], skip: int) -> None:
        """Make sure that an array in memory has these extents, behind the first `skip` axes."""
        for axis, extent in enumerate(shape, skip):
            dim = self.types[array.name].dims[axis]
            if dim.symbol is None and dim.offset != extent:
                raise Unsupported
            if dim.symbol is not None and (array.name, axis, extent) not in self.checked:
                if array.name in self.once:
                    self.checked |= {(array.name, axis, extent)}
                size = self.emit("shape", (array, Const(axis)), type_=INT)
                self.out.append(Effect("check_equal", (size, Const(extent), Const("operands could not be broadcast together"))))

    def fresh(self, name: str) -> Cells:
        cells = np.empty(self.shape(name), object)
        for at in np.ndindex(cells.shape):
            cell = Var(self.names.fresh(UNNAMED if is_unnamed(name) else "_".join([name, *map(str, at)])))
            self.types[cell.name] = ELEMENTS[self.types[name].dtype]
            cells[at] = cell
        return cells

    def bind(self, name: str, value: Cells) -> None:
        if name not in self.cells:
            self.cells[name] = self.fresh(name)
        self.move(self.cells[name], np.broadcast_to(value, self.cells[name].shape))

    def move(self, targets: Cells, values: Cells) -> None:
        """All values are read before the first is written."""
        pairs = list(zip(targets.flat, values.flat, strict=True))
        changed = {t for t, v in pairs if t != v}
        late = [(t, self.emit("alias", (v,), type_=self.types[t.name]) if v in changed and len(pairs) > 1 else v) for t, v in pairs if t != v]
        for target, value in late:
            self.emit("alias", (value,), target)

    def emit(self, op: str, args: tuple[Operand, ...], target: Var | None = None, type_: Type = FLOAT) -> Operand:
        if target is None:
            target = Var(self.names.fresh("_t"))
            self.types[target.name] = type_
        assert self.origin is not None
        self.out.append(Assign((target,), op, args, loc=self.origin.loc, note=self.origin.note))
        return target

    def emit_all(self, op: str, args: tuple[Operand, ...], count: int) -> list[Var]:
        """The numbers that an operation with several results gives."""
        targets = [Var(self.names.fresh("_t")) for _ in range(count)]
        self.types |= {t.name: FLOAT for t in targets}
        assert self.origin is not None
        self.out.append(Assign(tuple(targets), op, args, loc=self.origin.loc, note=self.origin.note))
        return targets
