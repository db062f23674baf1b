"""Branches and loops of the running program: what a name is after paths join.

A name that two paths leave with different values gets one variable, which each path assigns at its end. A loop is read until the
types of its carried names no longer change: an integer that becomes a float, an array whose extent varies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import MUTABLE, Grows, Region, State, contents, key, path_of, put, reachable, references
from stgrad.frontend.values import (
    UNDEFINED,
    Growing,
    Known,
    Maybe,
    Nested,
    Record,
    Sym,
    Undefined,
    Value,
    is_number,
    is_static,
    operand_of,
    rebuild,
    static_of,
    type_of,
)
from stgrad.ir import Assign, Const, Dim, For, If, Pack, Stmt, Type, Var, While

COUNTER = Type("int64", weak=True)
ATTEMPTS = 12  # readings of a loop or branch until the types in it settle


# --------------------------------------------------------------------------- joins


def join_types(frame: Frame, a: Type, b: Type, what: str) -> Type:
    """One type for a name that has type a on one path and b on the other."""
    if a.array != b.array or a.rank != b.rank:
        raise errors.TypeInferenceError(
            f"`{what}` is a {a} on one path and a {b} on another",
            frame.builder.loc,
            reason="a variable keeps one rank",
            hint="give the second one another name, or start with an array",
        )
    dims = tuple(x if x == y else frame.builder.fresh_dim() for x, y in zip(a.dims, b.dims, strict=True))
    dtype = _join_dtype(a, b)
    if a.array and a.dtype != b.dtype:
        raise errors.TypeInferenceError(
            f"`{what}` is an array of {a.dtype} on one path and of {b.dtype} on another", frame.builder.loc, hint="use .astype(...)"
        )
    return Type(dtype, dims, a.array, a.weak and b.weak, a.value if a.value == b.value else None)


def _join_dtype(a: Type, b: Type) -> str:
    if a.dtype == b.dtype:
        return a.dtype
    kinds = "biufc"
    ka, kb = kinds.index(np.dtype(a.dtype).kind), kinds.index(np.dtype(b.dtype).kind)
    if a.weak != b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        return strong.dtype if kinds.index(np.dtype(weak.dtype).kind) <= kinds.index(np.dtype(strong.dtype).kind) else str(np.result_type(a.dtype, b.dtype))
    return a.dtype if ka > kb else b.dtype if kb > ka else str(np.result_type(a.dtype, b.dtype))


def _same_constant(a: Value, b: Value) -> bool:
    return isinstance(a, Known) and isinstance(b, Known) and type(a.const) is type(b.const) and bool(a.const == b.const)


def same(a: Value, b: Value) -> bool:
    """Whether two values need no join."""
    if a is b:
        return True
    if (isinstance(a, Known) or isinstance(b, Known)) and not _same_constant(a, b):
        return False
    if isinstance(a, Sym) and isinstance(b, Sym):
        return a.operand == b.operand and a.type == b.type
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (Record, Growing, Nested)) and type(a) is type(b):
        return getattr(a, "cls", None) is getattr(b, "cls", None) and all(map(same, _parts(a).values(), _parts(b).values()))
    if is_number(a) and is_number(b):
        return type(a) is type(b) and (a == b or a != a and b != b)
    return isinstance(a, (str, MethodType)) and type(a) is type(b) and a == b


def _parts(value: Value) -> dict[str, Value]:
    return {"": value.buffer} if isinstance(value, Nested) else contents(value)


class Join:
    """Joins the values of two paths: assigns shared variables at the end of each."""

    def __init__(self, frame: Frame, ends: tuple[list[Stmt], list[Stmt]]) -> None:
        self.frame, self.ends = frame, ends

    def value(self, a: Value, b: Value, what: str, fresh: bool = False) -> Value:
        """The value after the join; `fresh`: in a variable of its own, as a and b may be names that keep theirs."""
        if same(a, b):
            return a
        result = self._joined(a, b, what, fresh or isinstance(a, MUTABLE))
        if isinstance(a, MUTABLE):
            merge(self.frame, result, (a, b), result)
        return result

    def _joined(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and len(a) == len(b):
            return rebuild(a, [self.value(x, y, f"{what}_{i}", fresh) for i, (x, y) in enumerate(zip(a, b, strict=True))])
        if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
            return {k: self.value(a[k], b[k], f"{what}_{k}", fresh) for k in a}
        if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls and list(a.fields) == list(b.fields):
            return Record(a.cls, {k: self.value(a.fields[k], b.fields[k], f"{what}_{k}", fresh) for k in a.fields})
        if isinstance(a, Nested) and isinstance(b, Nested):
            return Nested(self.value(a.buffer, b.buffer, what, fresh))
        if isinstance(a, Growing) and isinstance(b, Growing):
            return Growing(self.value(a.structure, b.structure, what, fresh), self.value(a.count, b.count, f"{what}_count", fresh), a.origin)
        if not all(isinstance(v, Sym) or is_number(v) for v in (a, b)):
            raise errors.TypeInferenceError(
                f"`{what}` is {_say(a)} on one path and {_say(b)} on another",
                self.frame.builder.loc,
                hint="make both paths give the same kind of value",
            )
        return self._shared(a, b, what, fresh)

    def _shared(self, a: Value, b: Value, what: str, fresh: bool) -> Sym:
        type_ = join_types(self.frame, type_of(a), type_of(b), what)
        shared = None if fresh else next((v for v in (a, b) if self._mine(v, type_)), None)
        if shared is None:
            shared = self.frame.builder.variable(what, replace(type_, value=None))
            if not fresh:
                self.frame.owned.add(shared.name)
        for value, end in zip((a, b), self.ends, strict=True):
            if not (isinstance(value, Sym) and value.operand == shared.operand):
                self._assign(end, shared, value)
        return Sym(shared.operand, type_)

    def _mine(self, value: Value, type_: Type) -> bool:
        if not isinstance(value, Sym) or not isinstance(value.operand, Var) or value.name not in self.frame.owned:
            return False
        return (value.type.dtype, value.type.dims) == (type_.dtype, type_.dims)

    def _assign(self, end: list[Stmt], target: Sym, value: Value) -> None:
        outer, self.frame.builder.out = self.frame.builder.out, end
        try:
            self.frame.builder.copy_to(target, value)
        finally:
            self.frame.builder.out = outer


def merge(frame: Frame, new: Value, sources: tuple[Value, ...], origin: Value) -> None:
    """Note that a container stands for one of several, each of which may have other names; `origin` would be made to grow for it."""
    counts = references(frame)
    aliased = any(counts[id(s)] > 1 for s in sources) or any(frame.builder.merged.get(id(s), (0, 0, False))[2] for s in sources)
    frame.builder.merged[id(new)] = (new, origin, aliased)


def _say(value: Value) -> str:
    if isinstance(value, Growing):
        return "a list that grows"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, Record):
        return f"a {value.cls.__name__}"
    return str(value.type) if isinstance(value, Sym) else "nothing" if value is None else f"a {type(value).__name__}"


# --------------------------------------------------------------------------- branches


def branch(frame: Frame, cond: Sym, then: Callable[[], Value], orelse: Callable[[], Value], wish: str) -> Value:
    """The value of `then() if cond else orelse()`; names that either side binds are joined as well."""
    return growing(frame, lambda state: _branch(frame, state, cond, then, orelse, wish))


def growing(frame: Frame, read: Callable[[State], Value]) -> Value:
    """`read` a part of the program; lists that get items in it are made to grow before it, and it is read again."""
    depth = len(frame.builder.regions)
    grown: dict[int, Any] = {}
    state = State(frame)
    for _ in range(ATTEMPTS):
        try:
            begin_growing(frame, grown)
            return read(State(frame) if grown else state)
        except Grows as found:
            if found.depth != depth:
                raise
            state.restore()
            note_growth(grown, found)
    raise errors.TypeInferenceError("the types of a list that grows do not settle", frame.builder.loc)


def _branch(frame: Frame, state: State, cond: Sym, then: Callable[[], Value], orelse: Callable[[], Value], wish: str) -> Value:
    before = dict(frame.env)
    sides = []
    for side in (then, orelse):
        frame.env = dict(before)
        with frame.builder.block() as block, frame.speculate() as region:
            value = side()
        changed = {k: (c, contents(c)) for k, c in region.changed.items()}
        state.restore_containers()
        sides.append((block, frame.env, value, changed))
    (then_block, then_env, a, then_changed), (else_block, else_env, b, else_changed) = sides
    join = Join(frame, (then_block, else_block))
    _join_containers(frame, join, then_changed, else_changed)
    result = join.value(a, b, wish, fresh=True)
    frame.env = _join_env(frame, join, before, then_env, else_env)
    if then_block or else_block:
        frame.builder.emit(If(cond.operand, tuple(then_block), tuple(else_block), frame.builder.loc, frame.builder.note))
    return result


def _join_containers(frame: Frame, join: Join, then: dict[int, Any], orelse: dict[int, Any]) -> None:
    """Make each container that either side changed hold the join of what both left in it."""
    for k in [*then, *(k for k in orelse if k not in then)]:
        container = (then.get(k) or orelse[k])[0]
        a, b = (side[k][1] if k in side else contents(container) for side in (then, orelse))
        what = path_of(frame, container)
        if list(a) != list(b):
            raise errors.TypeInferenceError(
                f"`{what}` has other entries on one path than on the other",
                frame.builder.loc,
                reason=f"{', '.join(map(str, a)) or 'none'} and {', '.join(map(str, b)) or 'none'}",
                hint="give it all its entries before the branch",
            )
        put(container, {i: join.value(a[i], b[i], f"{what}_{i}", fresh=True) for i in a})


def _join_env(frame: Frame, join: Join, before: dict[str, Value], a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    env: dict[str, Value] = {}
    for name in [*a, *(n for n in b if n not in a)]:
        x, y = a.get(name, UNDEFINED), b.get(name, UNDEFINED)
        if isinstance(x, (Undefined, Maybe)) or isinstance(y, (Undefined, Maybe)):
            env[name] = _one_sided(frame, join, name, x, y)
        else:
            env[name] = _joined_or_unreadable(join, x, y, name)
    return env


def _joined_or_unreadable(join: Join, x: Value, y: Value, name: str) -> Value:
    """Two values that no one variable can hold are an error only where the name is read."""
    try:
        return join.value(x, y, name)
    except errors.TypeInferenceError as error:
        return Maybe(x, None, error)


def _one_sided(frame: Frame, join: Join, name: str, x: Value, y: Value) -> Value:
    """A name that not every path binds: usable once it has a first value before the branch."""
    if x is y:
        return x
    if isinstance(x, Undefined) or isinstance(y, Undefined):
        bound = y if isinstance(x, Undefined) else x
        if isinstance(bound, Maybe) and bound.initialise is None:
            return bound
        value = bound.value if isinstance(bound, Maybe) else bound
        return Maybe(value, first_value(frame, value))
    for side in (x, y):
        if isinstance(side, Maybe):
            if side.initialise is None:
                return Maybe(side.value, None, side.error)
            side.initialise()
    first, second = (v.value if isinstance(v, Maybe) else v for v in (x, y))
    return join.value(first, second, name)


def first_value(frame: Frame, value: Value) -> Callable[[], None] | None:
    """A function that gives the variables of a value a first value at this place of the program, if that is possible.

    Floats become NaN: where Python would raise UnboundLocalError, the result shows it.
    """
    return first_value_later(frame)(value)


def _variables(value: Value) -> list[Sym]:
    if isinstance(value, Sym):
        return [value] if isinstance(value.operand, Var) else []
    if isinstance(value, Growing):
        return _variables(value.structure) + _variables(value.count)
    if isinstance(value, Nested):
        return _variables(value.buffer)
    if isinstance(value, (tuple, list)):
        return [s for v in value for s in _variables(v)]
    if isinstance(value, (dict, Record)):
        return [s for v in contents(value).values() for s in _variables(v)]
    if is_static(value):
        return []
    raise TypeError("no first value")


def _dummy(leaf: Sym, frame: Frame) -> Stmt:
    t = leaf.type
    if t.array:
        empty = (Pack((Const(0),) * t.rank), Const(np.dtype(t.dtype)))
        return Assign((Var(leaf.name),), "np.zeros", empty, (), frame.builder.loc, frame.builder.note)
    value = {"b": False, "i": 0, "u": 0}.get(np.dtype(t.dtype).kind, float("nan"))
    return Assign((Var(leaf.name),), "alias", (Const(value),), (), frame.builder.loc, frame.builder.note)


# --------------------------------------------------------------------------- loops


def counted_loop(frame: Frame, length: Value, body: Callable[[Sym], None], wish: str, names: set[str] | None = None, start: Value = 0, step: Value = 1) -> None:
    """`for k in range(start, length, step): body(k)`; `names` are the local names that the body may bind."""
    from stgrad.frontend import growing as lists
    from stgrad.frontend.iteration import Range, range_length, range_position

    bounds = Range(start, length, step)

    def read(carried: Carried) -> None:
        k = frame.builder.variable(wish, COUNTER)
        k = Sym(k.operand, replace(COUNTER, value=frame.builder.fresh_dim()))
        with frame.builder.block() as block, frame.speculate() as region:
            carried.regions.append(region)
            lists.enter_trip(frame, carried.filled, lambda: range_position(frame, bounds, k))
            body(k)
            lists.leave_trip(carried.filled)
            carried.close()
        loop = For(Var(k.name), operand_of(start), operand_of(length), operand_of(step), tuple(block), frame.builder.loc, frame.builder.note)
        carried.loop = loop

    _fixpoint(frame, names or set(), read, lambda: range_length(frame, bounds))


def while_loop(frame: Frame, test: Callable[[], Value], body: Callable[[], None], names: set[str]) -> None:
    """`while test(): body()`."""

    def read(carried: Carried) -> None:
        with frame.builder.block() as head, frame.speculate() as region:
            carried.regions.append(region)
            cond = test()
        with frame.builder.block() as block, frame.speculate() as region:
            carried.regions.append(region)
            body()
            carried.close()
        carried.loop = While(tuple(head), operand_of(cond), tuple(block), frame.builder.loc, frame.builder.note)

    _fixpoint(frame, names, read, None)


@dataclass
class Settled:
    """What the readings of one loop have found out.

    `types` of carried names and entries, by name and path; `cells`: containers that change in the loop; `replaced`: their entries that are
    bound to other containers; `unreadable`: names that no one variable can hold.
    """

    types: dict[tuple[Any, str], Type] = field(default_factory=dict)
    cells: set[int] = field(default_factory=set)
    replaced: set[tuple[int, Any]] = field(default_factory=set)
    unreadable: dict[str, errors.TypeInferenceError] = field(default_factory=dict)


class Carried:
    """The names, and the entries of containers, that one reading of a loop carries from trip to trip."""

    def __init__(self, frame: Frame, names: set[str], settled: Settled) -> None:
        self.frame, self.settled = frame, settled
        self.loop: Stmt | None = None
        self.changed = False
        self.regions: list[Region] = []
        self.filled: list[Growing] = []
        self.heads: dict[str, Value] = {}
        self.entries: list[tuple[Value, Any, Value, str]] = []
        self.cells: list[tuple[Value, dict[Any, Value], str]] = []
        self.pairs: list[tuple[Sym, Value]] = []
        self.opened: dict[int, tuple[Value, dict[Any, Value]]] = {}  # containers made for names, and the loop's variables that they hold
        self.new = sorted(n for n in names if frame.env.get(n, UNDEFINED) is UNDEFINED or isinstance(frame.env[n], Maybe) or n in settled.unreadable)
        for name in sorted(names - set(self.new)):
            self.heads[name] = self._head(name, frame.env[name], name)
        for name, error in settled.unreadable.items():
            frame.env[name] = Maybe(None, None, error)
        frame.env.update(self.heads)
        for k, container in reachable(frame).items():
            if k in settled.cells:
                self._open(k, container)

    def _open(self, k: int, container: Value) -> None:
        """Give the entries of a container that changes in the loop variables of their own."""
        what = path_of(self.frame, container)
        held = {}
        for i, v in contents(container).items():
            path = what if isinstance(container, Growing) and i == "structure" else f"{what}_{i}"
            keeps = isinstance(v, MUTABLE) and not isinstance(container, Growing) and (k, i) not in self.settled.replaced
            held[i] = v if keeps else self._head(k, v, path)
            self.entries.append((container, i, held[i], path))
        put(container, held)
        self.cells.append((container, held, what))

    def _head(self, name: Any, value: Value, path: str) -> Value:
        if isinstance(value, Growing) and value.trip is not None:
            return value
        if isinstance(value, (tuple, Nested, *MUTABLE)):
            parts = {i: self._head(name, v, f"{path}_{i}") for i, v in _entries(value).items()}
            new = _with_entries(value, parts)
            if isinstance(value, MUTABLE):
                self.opened[id(new)] = (new, parts)
                merge(self.frame, new, (value,), self.frame.builder.merged.get(id(value), (None, value, False))[1])
            return new
        if not isinstance(value, Sym) and not is_number(value):
            return value
        builder = self.frame.builder
        want = self.settled.types.get((name, path), replace(type_of(value), value=None))
        want = replace(want, dims=tuple(d if d.symbol != "?" else builder.fresh_dim() for d in want.dims))
        mine = isinstance(value, Sym) and isinstance(value.operand, Var) and value.name in self.frame.owned and isinstance(name, str)
        if mine and (value.type.dtype, value.type.dims) == (want.dtype, want.dims):
            return Sym(value.operand, want)
        head = builder.variable(path, want)
        self.frame.owned.add(head.name)
        builder.copy_to(head, value)
        return head

    def close(self) -> None:
        """At the end of the body: assign what the body left to the loop's variables."""
        for name, head in self.heads.items():
            try:
                self._close(name, head, self.frame.env.get(name, UNDEFINED), name)
            except errors.TypeInferenceError as error:
                self.settled.unreadable[name] = error
                self.changed = True
        for container, held, what in self.cells:
            if list(contents(container)) != list(held):
                self._refuse(what, list(held), list(contents(container)))
        for container, i, head, path in self.entries:
            self._close_entry(container, i, head, contents(container)[i], path)
        for region in self.regions:
            new = region.changed.keys() - self.settled.cells - {key(c) for c, _ in self.opened.values()}
            self.settled.cells |= new
            self.changed |= bool(new)
        if not self.changed:
            assign_together(self.frame, self.pairs)

    def _close_entry(self, container: Value, i: Any, head: Value, after: Value, path: str) -> None:
        k = key(container)
        if isinstance(head, MUTABLE) and (k, i) not in self.settled.replaced:
            if after is not head:
                self.settled.replaced.add((k, i))
                self.changed = True
            return
        self._close(k, head, after, path)

    def _close(self, name: Any, head: Value, after: Value, path: str) -> None:
        if isinstance(after, Maybe):
            after = self.frame.lookup(name)
        opened = self.opened.get(id(head))
        if head is after and opened is None:
            return
        held = _entries(head) if opened is None and isinstance(head, (tuple, Nested, *MUTABLE)) else opened[1] if opened is not None else {}
        if held and _alike(head, after) and list(held) == list(_entries(after)):
            parts = _entries(after)
            for i, h in held.items():
                self._close(name, h, parts[i], f"{path}_{i}")
        elif isinstance(head, Sym) and (isinstance(after, Sym) or is_number(after)):
            self._close_leaf(name, head, after, path)
        elif not same(head, after):
            self._refuse(path, head, after)

    def _refuse(self, what: str, head: Value, after: Value) -> None:
        raise errors.TypeInferenceError(
            f"`{what}` changes from {_say(head)} to {_say(after)} in the loop",
            self.frame.builder.loc,
            reason="its structure must be the same in every trip",
            hint="fill an array, or give the new value another name",
        )

    def _close_leaf(self, name: Any, head: Sym, after: Value, path: str) -> None:
        joined = join_types(self.frame, head.type, type_of(after), path)
        want = self.settled.types.get((name, path), head.type)
        varying = Dim("?")
        dims = tuple(w if w == varying or h == j else varying for w, h, j in zip(want.dims, head.type.dims, joined.dims, strict=True))
        if dims != want.dims or (joined.dtype, joined.weak) != (head.type.dtype, head.type.weak):
            self.settled.types[name, path] = Type(joined.dtype, dims, joined.array, joined.weak)
            self.changed = True
        elif not (isinstance(after, Sym) and after.operand == head.operand):
            self.pairs.append((head, after))


def _entries(value: Value) -> dict[Any, Value]:
    """The parts of a container, of a tuple too."""
    if isinstance(value, tuple):
        return dict(enumerate(value))
    return {"buffer": value.buffer} if isinstance(value, Nested) else contents(value)


def _with_entries(like: Value, parts: dict[Any, Value]) -> Value:
    """A new container like another one, with other parts."""
    if isinstance(like, (tuple, list)):
        return rebuild(like, list(parts.values()))
    if isinstance(like, Growing):
        return Growing(parts["structure"], parts["count"], like.origin)
    if isinstance(like, Nested):
        return Nested(parts["buffer"])
    return Record(like.cls, parts) if isinstance(like, Record) else parts


def _alike(a: Value, b: Value) -> bool:
    if not (isinstance(b, type(a)) or isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))):
        return False
    return getattr(a, "cls", None) is getattr(b, "cls", None)


def assign_together(frame: Frame, pairs: list[tuple[Sym, Value]]) -> None:
    """Assign values to variables as if at once: one that another is assigned from is copied first."""
    written: set[str] = set()
    values = []
    for target, value in pairs:
        written.add(target.name)
        values.append(value)
    for i, (_, value) in enumerate(pairs):
        earlier = {t.name for t, _ in pairs[:i]}
        if isinstance(value, Sym) and isinstance(value.operand, Var) and value.name in earlier and value.name in written:
            values[i] = frame.builder.variable("_t", value.type)
            frame.builder.copy_to(values[i], value)
    for (target, _), value in zip(pairs, values, strict=True):
        frame.builder.copy_to(target, value)


def _fixpoint(frame: Frame, names: set[str], read: Callable[[Carried], None], trips: Callable[[], Value] | None) -> None:
    settled, grown = Settled(), dict[int, Any]()
    depth, state = len(frame.builder.regions), State(frame)
    for _ in range(ATTEMPTS):
        try:
            filled = begin_growing(frame, grown, trips)
            env = dict(frame.env)
            carried = Carried(frame, names, settled)
            carried.filled = [g for g in filled if g.trip is not None]
            before = first_value_later(frame)
            read(carried)
        except Grows as found:
            if found.depth != depth:
                raise
            note_growth(grown, found)
            state.restore()
            continue
        if not carried.changed:
            _finish(frame, carried, env, before, trips)
            return
        state.restore()
    raise errors.TypeInferenceError("the types of this loop's variables do not settle", frame.builder.loc)


def _finish(frame: Frame, carried: Carried, env: dict[str, Value], before: Any, trips: Callable[[], Value] | None) -> None:
    """After a loop that has settled: names mean the loop's variables, containers hold them."""
    from stgrad.frontend import growing as lists

    frame.builder.emit(carried.loop)  # type: ignore[arg-type]
    after = frame.env
    frame.env = {**env, **carried.heads}
    for container, held in carried.opened.values():
        put(container, held)
    for container, held, _ in carried.cells:
        put(container, held)
    for growing in carried.filled:
        lists.finish(frame, growing, trips)
    for name in carried.new:
        value = after.get(name, UNDEFINED)
        if name in carried.settled.unreadable:
            frame.env[name] = Maybe(None, None, carried.settled.unreadable[name])
            continue
        value = value.value if isinstance(value, Maybe) else value
        if value is not UNDEFINED:
            frame.env[name] = Maybe(value, before(value))


def begin_growing(frame: Frame, grown: dict[int, Any], trips: Callable[[], Value] | None = None) -> list[Growing]:
    from stgrad.frontend import growing as lists

    return lists.begin(frame, list(grown.values()), trips)


def note_growth(grown: dict[int, Any], found: Grows) -> None:
    from stgrad.frontend import growing as lists

    lists.note(grown, found)


def first_value_later(frame: Frame) -> Callable[[Value], Callable[[], None] | None]:
    """`first_value` at the place where the program is now, for a value that is known later."""
    out, at = frame.builder.out, len(frame.builder.out)
    anchor = out[at - 1] if at else None

    def later(value: Value) -> Callable[[], None] | None:
        try:
            variables = _variables(value)
        except TypeError:
            return None

        def initialise() -> None:
            position = next((i + 1 for i, s in enumerate(out) if s is anchor), 0) if anchor is not None else 0
            out[position:position] = [_dummy(v, frame) for v in variables]

        return initialise

    return later


def bound_names(nodes: list[Any]) -> set[str]:
    """Names that statements bind, nested functions' own names left out."""
    import gast

    from stgrad.frontend.frame import binding_counts

    return set(binding_counts(gast.Module(body=nodes, type_ignores=[])))


__all__ = ["Carried", "Join", "branch", "counted_loop", "join_types", "same", "static_of", "while_loop"]
