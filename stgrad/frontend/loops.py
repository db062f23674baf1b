"""Loops of the running program.

A loop is read until the types of its carried names no longer change: an integer that becomes a float, an array whose extent varies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from stgrad import errors
from stgrad.frontend.control import ATTEMPTS, begin_growing, note_growth
from stgrad.frontend.departures import TestChanges, Unreached
from stgrad.frontend.frame import Frame, holder
from stgrad.frontend.heap import (
    MUTABLE,
    Grows,
    Region,
    State,
    alike,
    contents,
    entries,
    held_values,
    key,
    known_objects,
    path_of,
    put,
    reachable,
    with_entries,
)  # fmt: skip
from stgrad.frontend.joins import constant, describe, join_types, merge, renumbered, same, united
from stgrad.frontend.optionals import blank, can_be_optional, parts
from stgrad.frontend.partly import begun
from stgrad.frontend.values import (
    UNDEFINED,
    Chosen,
    Growing,
    Maybe,
    Nested,
    Optional,
    Sym,
    Value,
    is_number,
    map_leaves,
    operand_of,
    rebuild,
    static_of,
    type_of,
)
from stgrad.ir import Dim, For, Operand, Stmt, Type, Var, While, assigned, stored

COUNTER = Type("int64", weak=True)


def counted_loop(
    frame: Frame, length: Value, body: Callable[[Sym], None], wish: str, names: set[str] | None = None, start: Value = 0, step: Value = 1,
    snapshots: Operand | None = None,
) -> None:
    """`for k in range(start, length, step): body(k)`; `names` are the local names that the body may bind, `snapshots` the mark of a checkpointed loop."""
    from stgrad.frontend import growth as lists
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
        bounds_of = (operand_of(start), operand_of(length), operand_of(step))
        loop = For(Var(k.name), *bounds_of, tuple(block), frame.builder.loc, frame.builder.note, snapshots=snapshots)
        carried.loop = loop

    _fixpoint(frame, names or set(), read, lambda: range_length(frame, bounds))


def while_loop(frame: Frame, test: Callable[[], Value], body: Callable[[], None], names: set[str]) -> None:
    """`while test(): body()`."""

    def read(carried: Carried) -> None:
        with frame.builder.block() as head, frame.speculate() as region:
            carried.regions.append(region)
            cond = test()
        if region.changed or stored(tuple(head)) - assigned(tuple(head)):
            raise TestChanges
        with frame.builder.block() as block, frame.speculate() as region:
            carried.regions.append(region)
            if static_of(cond) is not False:  # else not even the first trip runs, and what it would do may make no sense
                body()
            carried.close()
        carried.loop = While(tuple(head), operand_of(cond), tuple(block), frame.builder.loc, frame.builder.note)

    _fixpoint(frame, names, read, None)


@dataclass
class Settled:
    """What the readings of one loop have found out.

    `types` of carried names and entries, by name and path; `cells`: containers that change in the loop; `replaced`: their entries that are bound to other
    containers; `begun`: those that a trip sets first; `unreadable`: names that no one variable can hold; `late`: what a trip leaves in names that the next
    reads; `never`: names that are read though no trip binds them; `optional`: values of what is None in some trips; `chosen`: of what is one of several.
    """

    types: dict[tuple[Any, str], Type] = field(default_factory=dict)
    cells: set[int] = field(default_factory=set)
    replaced: set[tuple[int, Any]] = field(default_factory=set)
    unreadable: dict[str, Exception] = field(default_factory=dict)
    late: dict[str, Value] = field(default_factory=dict)
    never: set[str] = field(default_factory=set)
    optional: dict[tuple[Any, str], Value] = field(default_factory=dict)
    chosen: dict[tuple[Any, str], Chosen] = field(default_factory=dict)
    begun: dict[int, dict[Any, Value]] = field(default_factory=dict)


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
        self.before: dict[int, Value] = {}  # what stood there in front of the loop
        self.there = known_objects(frame)
        names = self._read_before_bound(names)
        self.names = names
        self.new = sorted(n for n in names if frame.env.get(n, UNDEFINED) is UNDEFINED or isinstance(frame.env[n], Maybe) or n in settled.unreadable)
        for name in sorted(names - set(self.new)):
            self.heads[name] = self._head(name, frame.env[name], name)
        for name, error in settled.unreadable.items():
            frame.env[name] = Maybe(None, error)
        frame.env.update(self.heads)
        for k, container in reachable(frame).items():
            if k in settled.cells:
                self._open(k, container)

    def _read_before_bound(self, names: set[str]) -> set[str]:
        """Give names that a trip may find bound by an earlier one a value before the loop; flags that are up stay up."""
        env, flags = self.frame.env, self.frame.flags
        for name in sorted(names & flags.keys()):
            value = env.get(name, UNDEFINED)
            if isinstance(value, Maybe) and value.error is None:
                env[name] = value.value
            elif value is UNDEFINED and name in self.settled.late:
                env[name] = self._unassigned(name, self.settled.late[name])
        return {n for n in names if not (n in flags.values() and env.get(n) is True)}

    def _unassigned(self, name: str, like: Value) -> Value:
        """A value of the kind that an earlier iteration leaves, in variables that nothing is assigned to before the loop."""
        builder = self.frame.builder

        def dim(d: Dim) -> Dim:
            return d if d.symbol is None or d.symbol in builder.extents.wide else builder.fresh_dim()

        def leaf(v: Value, path: str) -> Value:
            if isinstance(v, Sym):
                return builder.variable(f"{name}{path}", replace(v.type, dims=tuple(map(dim, v.type.dims)), value=None))
            if isinstance(v, Growing):
                return Growing(map_leaves(leaf, v.structure, path), leaf(v.count, f"{path}_count"), v.origin, cls=v.cls)
            if isinstance(v, Nested):
                return Nested(leaf(v.buffer, path))
            if isinstance(v, Chosen):
                return Chosen(leaf(v.index, f"{path}_choice"), v.options, v.error)
            return Optional(map_leaves(leaf, v.value, path), leaf(v.none, f"{path}_is_none")) if isinstance(v, Optional) else v

        found = map_leaves(leaf, like)
        if isinstance(found, Sym):
            self.frame.owned[found.name] = name
        return found

    def late(self, earlier: list[str]) -> None:
        """Note the values that the body leaves in names that an iteration may find bound by an earlier one."""
        for name in earlier:
            if name in self.new and name not in self.settled.late:
                value = self.frame.env.get(name, UNDEFINED)
                if isinstance(value, Maybe) and value.error is not None:
                    self.settled.unreadable[name] = value.error
                    self.changed = True
                elif value is not UNDEFINED:
                    self.settled.late[name] = value.value if isinstance(value, Maybe) else value
                    self.changed = True
        never = {n for n in earlier if n in self.new and self.frame.env.get(n, UNDEFINED) is UNDEFINED} - self.settled.never
        if never and not self.changed:  # all that trips bind is known: the paths that were left out as none of the first trip are of no trip
            self.settled.never |= never
            self.changed = True

    def _open(self, k: int, container: Value) -> None:
        """Give the entries of a container that changes in the loop variables of their own."""
        what = path_of(self.frame, container)
        held = {}
        for i, v in {**contents(container), **blank(self.frame, self.settled.begun.get(k, {}))}.items():  # nobody reads what no trip has set
            path = what if isinstance(container, Growing) and i == "structure" else f"{what}_{i}"
            keeps = isinstance(v, MUTABLE) and not isinstance(container, Growing) and (k, i) not in self.settled.replaced
            held[i] = v if keeps else self._head(k, v, path)
            self.entries.append((container, i, held[i], path))
        put(container, held)
        self.cells.append((container, held, what))

    def _head(self, name: Any, value: Value, path: str) -> Value:
        if isinstance(value, Growing) and value.trip is not None:
            return value
        if isinstance(value, Optional) or (name, path) in self.settled.optional:
            return self._optional_head(name, value, path)
        if isinstance(value, Chosen) or (name, path) in self.settled.chosen:
            return self._chosen_head(name, value, path)
        if isinstance(value, (tuple, Nested, *MUTABLE)):
            parts = {i: self._head(name, v, f"{path}_{i}") for i, v in entries(value).items()}
            new = with_entries(value, parts)
            if isinstance(value, MUTABLE):
                self.opened[id(new)] = (new, parts)
                self.before[id(new)] = value
                merge(self.frame, new, (value,), self.frame.builder.merged.get(id(value), (None, value, False))[1])
            return new
        member = isinstance(value, Enum) and (name, path) not in self.settled.types
        if member or not isinstance(value, Sym) and not is_number(value):
            return value
        return self._variable_head(name, value, path)

    def _variable_head(self, name: Any, value: Value, path: str) -> Value:
        """The variable of the loop that starts with a value."""
        builder = self.frame.builder
        want = self.settled.types.get((name, path), replace(type_of(value), value=None))
        want = replace(want, dims=tuple(d if d.symbol != "?" else builder.fresh_dim() for d in want.dims))
        mine = isinstance(value, Sym) and isinstance(value.operand, Var) and self.frame.owned.get(value.name) == holder(name, path) and isinstance(name, str)
        if mine and self.frame.fits(value.type, want):
            return Sym(value.operand, want)
        head = builder.variable(path, want)
        self.frame.owned[head.name] = holder(name, path)
        builder.copy_to(head, value)
        return head

    def _optional_head(self, name: Any, value: Value, path: str) -> Value:
        held, none = parts(value)
        held = blank(self.frame, self.settled.optional[name, path]) if held is None else held
        return Optional(self._leaf_head(name, held, path), self._leaf_head(name, none, f"{path}_is_none"))

    def _chosen_head(self, name: Any, value: Value, path: str) -> Chosen:
        known = self.settled.chosen.get((name, path), value)
        own = value.options if isinstance(value, Chosen) else (value,)
        index = renumbered(self.frame, value.index if isinstance(value, Chosen) else 0, own, known.options)
        self.frame.builder.chosen = True
        return Chosen(self._variable_head(name, index, f"{path}_choice"), known.options, known.error)

    def _leaf_head(self, name: Any, value: Value, path: str) -> Value:
        if isinstance(value, tuple):
            return rebuild(value, [self._leaf_head(name, v, f"{path}_{i}") for i, v in enumerate(value)])
        return self._variable_head(name, value, path)

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
                if (missing := begun(container, held)) is None:
                    raise self._refusal(what, list(held), list(contents(container)))
                self.settled.begun[key(container)], self.changed = missing, True
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
        if isinstance(head, Optional):
            (held, none), (after, after_none) = parts(head), parts(after)
            self._close_parts(name, held, held if after is None else after, path)
            self._close_parts(name, none, after_none, f"{path}_is_none")
            return
        if (head is None) != (after is None) or isinstance(after, Optional):
            found = parts(after if head is None else head)[0]
            found = parts(after)[0] if found is None else found
            if can_be_optional(found) and parts(found)[0] is not None:
                self.settled.optional[name, path] = found
                self.changed = True
                return
        if isinstance(head, Chosen) or isinstance(after, Chosen):
            self._close_chosen(name, head, after, path)
            return
        if isinstance(head, (list, Growing)) and isinstance(after, (list, Growing)) and id(head) in self.before:
            from stgrad.frontend.growth import settled

            after = settled(self.frame, self.before[id(head)], head, after)
        opened = self.opened.get(id(head))
        if head is after and opened is None:
            return
        held = entries(head) if opened is None and isinstance(head, (tuple, Nested, *MUTABLE)) else opened[1] if opened is not None else {}
        if held and alike(head, after) and list(held) == list(entries(after)):
            inner = entries(after)
            for i, h in held.items():
                self._close(name, h, inner[i], f"{path}_{i}")
        elif isinstance(head, Sym) and (isinstance(after, Sym) or is_number(after)):
            self._close_leaf(name, head, after, path)
        elif not same(head, after):
            self._close_known(name, head, after, path)

    def _close_known(self, name: Any, head: Value, after: Value, path: str) -> None:
        """Another value than the one before: of those that are the same in all trips the number of the one is carried."""
        first = self.before.get(id(head), head)
        if constant(first, self.there) and constant(after, self.there):
            self._close_chosen(name, first, after, path)
        elif isinstance(head, Enum) and isinstance(after, Sym) and is_number(head):
            self.settled.types[name, path] = replace(type_of(head), value=None)
            self.changed = True
        else:
            raise self._refusal(path, head, after)

    def _close_chosen(self, name: Any, head: Value, after: Value, path: str) -> None:
        """What is one of several known values in each trip; the number of the one is carried."""
        sides = [v.options if isinstance(v, Chosen) else (v,) for v in (head, after)]
        options = united(*sides)
        if options is None or not all(constant(v, self.there) for v in options):
            if isinstance(after, Chosen) and not same(head, after):
                raise after.error
            if not same(head, after):
                raise self._refusal(path, head, after)
            return
        if not isinstance(head, Chosen) or len(options) > len(head.options):
            error = head.error if isinstance(head, Chosen) else after.error if isinstance(after, Chosen) else self._refusal(path, head, after)
            self.settled.chosen[name, path] = Chosen(0, options, error)
            self.changed = True
            return
        index = renumbered(self.frame, after.index if isinstance(after, Chosen) else 0, sides[1], options)
        self._close_parts(name, head.index, index, f"{path}_choice")

    def _close_parts(self, name: Any, head: Value, after: Value, path: str) -> None:
        if isinstance(head, tuple) and isinstance(after, tuple) and len(head) == len(after):
            for i, (h, a) in enumerate(zip(head, after, strict=True)):
                self._close_parts(name, h, a, f"{path}_{i}")
        elif head is not after:
            self._close(name, head, after, path)

    def _refusal(self, what: str, head: Value, after: Value) -> errors.TypeInferenceError:
        what = f"`{what}` changes from {describe(head)} to {describe(after)} in the loop"
        why, hint = "its structure must be the same in every trip", "fill an array, or give the new value another name"
        return errors.TypeInferenceError(what, self.frame.builder.loc, reason=why, hint=hint)

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
    depth, state, loops = len(frame.builder.regions), State(frame), len(frame.builder.loops)
    for _ in range(ATTEMPTS):
        try:
            filled = begin_growing(frame, grown, trips)
            env = dict(frame.env)
            carried = Carried(frame, names, settled)
            carried.filled = [g for g in filled if g.trip is not None]
            earlier = len(frame.builder.earlier)
            frame.builder.loops.append((frame, names - settled.never, held_values(frame)))
            read(carried)
        except Grows as found:
            if found.depth != depth:
                raise
            note_growth(grown, found)
            state.restore()
            continue
        except Unreached as found:
            del frame.builder.loops[loops:]
            raise found.outside() from None
        except errors.TypeInferenceError as error:
            error.first = error.widens and any(error is e for e in settled.unreadable.values())
            raise
        finally:
            del frame.builder.loops[loops:]
        carried.late(frame.builder.earlier[earlier:])
        if not carried.changed:
            _finish(frame, carried, env, trips)
            return
        state.restore()
    raise errors.TypeInferenceError("the types of this loop's variables do not settle", frame.builder.loc)


def _finish(frame: Frame, carried: Carried, env: dict[str, Value], trips: Callable[[], Value] | None) -> None:
    """After a loop that has settled: names mean the loop's variables, containers hold them."""
    from stgrad.frontend import growth as lists

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
            frame.env[name] = Maybe(None, carried.settled.unreadable[name])
            continue
        if value is not UNDEFINED:
            frame.env[name] = value if isinstance(value, Maybe) else Maybe(value)
