"""Recursion by value: a function that calls itself as often as its arguments say is read once, as a unit beside the program.

Its parameters have types without values; the type of its result is found by reading it until it does not change: first the branches that do not
recur. What it sees around it are parameters too. Arrays that it is given and writes to are copied where it begins and are results as well, which its
callers store; they share no memory with others that it is given. What else a caller could see is not changed by it: such functions are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend import boxes
from stgrad.frontend.bindings import binding_counts, counters_read_later
from stgrad.frontend.builder import Builder
from stgrad.frontend.captured import Captures
from stgrad.frontend.departures import Leaves
from stgrad.frontend.flags import begin
from stgrad.frontend.frame import Frame
from stgrad.frontend.identities import Apart
from stgrad.frontend.values import (
    Closure,
    Generator,
    Growing,
    Method,
    Record,
    Sym,
    Value,
    a_kind,
    is_number,
    leaves,
    map_leaves,
    operand_of,
    type_of,
)
from stgrad.ir import ALL, Assign, Const, Dim, Function, Operand, Pack, Store, Type, Var, map_blocks, operand_vars, stored
from stgrad.ir import read as read_names
from stgrad.ir.memory import Classes
from stgrad.ir.units import Unit
from stgrad.names import Names

RECURSIVE: ContextVar[frozenset[int]] = ContextVar("recursive", default=frozenset())  # trees of functions that are units
READINGS = 5  # until the types of the results have settled
_NOTHING = Type("int64", weak=True)  # the result of a function that has none, since an assignment has a target
MANY = 12  # kinds of arguments that one function is called with


@dataclass
class Open:
    """A unit that is being read: for which arguments, and what is known of its results."""

    tree: Any
    arguments: Mapping[str, Value]
    unit: Unit
    results: Value = None
    known: bool = False
    parent: Frame | None = None


@dataclass
class Made:
    """A unit that has been read: what its parameters were made of, its results, and what it reads around it."""

    tree: Any
    arguments: Mapping[str, Value]
    unit: Unit
    results: Value
    reading: Any

    def takes(self, tree: Any, given: Mapping[str, Value]) -> bool:
        """Whether it is the unit of such a call."""
        return self.tree is tree and _alike(self.arguments, given)


_open: ContextVar[tuple[Open, ...]] = ContextVar("open", default=())


def is_unit(tree: Any) -> bool:
    return id(tree) in RECURSIVE.get()


def call_unit(frame: Frame, tree: Any, source: Any, parent: Frame | None, given: Mapping[str, Value]) -> Value:
    """The value of a call of a function that is a unit; `given` are its arguments by name."""
    around = _open.get()
    last = around[-1] if around else None
    mine = last if last is not None and last.tree is tree and last.parent is parent and _alike(last.arguments, given) else None
    if mine is not None:
        if not mine.known:
            raise Leaves(None)  # the other branches tell what it returns
        names = {p.name: v for p, v in zip(_parts(mine.arguments), _parts(given), strict=True) if isinstance(p, Sym)}
        return _emit(frame, mine.unit, mine.results, _operands(given), names)
    if sum(o.tree is tree for o in around) > MANY or any(o.tree is tree and _alike(o.arguments, given) for o in around):
        raise _last(errors.NeedStaticError(f"`{tree.name}` calls itself through other functions that do", frame.builder.loc))
    return call_made(frame, make(frame, tree, source, parent, given), given)


def call_made(frame: Frame, made: Made, given: Mapping[str, Value]) -> Value:
    """The value of a call of a unit that has been read."""
    names: dict[str, Value] = dict(made.reading.around)
    more = [operand_of(v) for v in names.values()]
    for capture in made.reading.captures:
        stands_for = frame.captured.take(frame.builder, capture)
        if capture.variable is not None:
            names[capture.variable] = stands_for
            more.append(operand_of(stands_for))
    parts = {param.name: part for param, part in zip(_parts(made.arguments), _parts(given), strict=True) if isinstance(param, Sym)}
    return _emit(frame, made.unit, made.results, [*map(operand_of, parts.values()), *more], parts | names)


def _parts(given: Mapping[str, Value]) -> list[Value]:
    return [leaf for value in given.values() for leaf in leaves(value)]


def moves(leaf: Value) -> bool:
    """Whether a part of an argument is a parameter of the function that recurs: all numbers are."""
    return isinstance(leaf, Sym) or is_number(leaf)


def _operands(given: Mapping[str, Value]) -> list[Operand]:
    return [operand_of(leaf) for leaf in _parts(given) if moves(leaf)]


def _alike(params: Mapping[str, Value], given: Mapping[str, Value]) -> bool:
    """Whether a unit with these parameters takes these arguments."""
    if not same_structure(params, given):
        return False
    return all(_fits(a, b) for a, b in zip(leaves(dict(params)), leaves(dict(given)), strict=True))


def same_structure(a: Value, b: Value) -> bool:
    """Whether two values have containers of the same kinds; False of objects that hold themselves."""
    try:
        return bool(_structure(a) == _structure(b))
    except errors.UnsupportedSyntaxError:
        return False


def _structure(value: Value) -> Any:
    """The kinds of containers, without what is in them."""
    if isinstance(value, (tuple, list)):
        return type(value), [_structure(v) for v in value]
    if isinstance(value, (Mapping, Record)):
        inner = value.fields if isinstance(value, Record) else value
        return getattr(value, "cls", dict), [(k, _structure(v)) for k, v in inner.items()]
    return None


def _fits(param: Value, given: Value) -> bool:
    if isinstance(param, Sym) and (isinstance(given, Sym) or is_number(given)):
        return _key(param.type) == _key(_general(given))
    return param is given or not isinstance(param, Sym) and not isinstance(given, Sym) and type(param) is type(given) and bool(param == given)


def _key(t: Type) -> tuple[Any, ...]:
    return t.dtype, t.array, t.weak, tuple(d.constant == 1 for d in t.dims)


def _general(value: Value) -> Type:
    """The type of a value without what it is: its extents are any but 1."""
    t = type_of(value)
    return replace(t, value=None, dims=tuple(d if d.constant == 1 else Dim("?") for d in t.dims))


# --------------------------------------------------------------------------- reading


def make(
    frame: Frame, tree: Any, source: Any, parent: Frame | None, given: Mapping[str, Value], is_parameter: Callable[[Value], bool] = moves
) -> Made:
    """The unit for these arguments; what is no parameter of it is compiled in."""
    for leaf in (leaf for value in given.values() for leaf in leaves(value)):
        if isinstance(leaf, (Growing, Generator, Method)):
            raise _refused(frame, tree, f"an argument is {a_kind(leaf)}")
    results, known, memory = None, False, _Memory((), ())
    for _ in range(READINGS):
        unit = Unit(tree.name, "primal", written=memory.written, one=memory.one)
        found, reading = _once(frame, tree, source, parent, given, unit, results, known, is_parameter)
        joined = found if not known else map_leaves_of(results, found, _joined)
        settled = known and [_result_key(v) for v in leaves(joined)] == [_result_key(v) for v in leaves(results)]
        before, memory = memory, _memory(reading)
        if settled and memory == before:
            return Made(tree, reading[2], unit, results, _closed(frame, tree, unit, results, reading))
        results, known = joined, True
    raise _refused(frame, tree, "the types of its results do not settle")


@dataclass(frozen=True)
class _Memory:
    """What `Unit` says of the same names."""

    written: tuple[str, ...]
    one: tuple[tuple[int, str | int], ...]


def _memory(read: Any) -> _Memory:
    """Which arrays that are given a reading writes to, and which of its results may be one of them, or of each other."""
    builder, params, _, result, _, around = read
    classes, types = Classes(tuple(builder.out), builder.types), builder.types
    given = [name for name in (*(p.name for p in params), *around) if name in types and types[name].array]
    changed = {classes.find(name) for name in stored(tuple(builder.out))}
    made = [leaf for leaf in leaves(result) if isinstance(leaf, Sym) or is_number(leaf)]
    arrays = [(i, leaf.name) for i, leaf in enumerate(made) if isinstance(leaf, Sym) and leaf.type.array]
    one = [(i, other) for i, name in arrays for other in given if classes.find(name) == classes.find(other)]
    same = [(i, k) for i, name in arrays for k, other in arrays if k < i and classes.find(name) == classes.find(other)]
    return _Memory(tuple(name for name in given if classes.find(name) in changed), (*one, *same))


def _result_key(leaf: Value) -> Any:
    return _key(leaf) + (len(leaf.dims),) if isinstance(leaf, Type) else leaf


def map_leaves_of(a: Value, b: Value, join: Callable[[Value, Value], Value]) -> Value:
    """Two structures as one."""
    others = iter(leaves(b))
    return map_leaves(lambda leaf, _: join(leaf, next(others)), a)


def _joined(a: Value, b: Value) -> Value:
    if not isinstance(a, Type) or not isinstance(b, Type):
        return a
    if (a.array, a.rank) != (b.array, b.rank):
        raise errors.NeedStaticError("the results of a recursive function have different numbers of axes", None)
    return replace(a, dtype=np.result_type(a.dtype, b.dtype).name, weak=a.weak and b.weak)


def _once(
    frame: Frame, tree: Any, source: Any, parent: Frame | None, given: Mapping[str, Value], unit: Unit, results: Value, known: bool,
    is_parameter: Callable[[Value], bool],
) -> tuple[Value, Any]:  # fmt: skip
    """One reading of the body."""
    from stgrad.frontend import Copies

    builder = Builder(symbols=frame.builder.symbols, draws_of="units")  # of which nothing keeps draws in order
    copies = Copies(builder)
    outer = copies.frame(parent)
    params: list[Var] = []

    def param(leaf: Value, path: str) -> Value:
        if not is_parameter(leaf):
            return copies.value(leaf) if isinstance(leaf, (Closure, Record)) else leaf
        general = _general(leaf)
        made = builder.variable(path, replace(general, dims=tuple(d if d.constant == 1 else builder.fresh_dim() for d in general.dims)))
        for axis, dim in enumerate(made.type.dims):
            if dim.symbol is not None:
                builder.extents.wide.add(dim.symbol)
                builder.given.setdefault(dim.symbol, (made.name, axis))
        params.append(Var(made.name))
        return made

    values = {name: map_leaves(param, value, name) for name, value in given.items()}
    captured = outer.captured if outer is not None else Captures()
    inner = Frame(builder, source, {}, outer, binding_counts(tree), 1, False, None, captured, {}, counters_read_later(tree))
    builder.loc = frame.builder.loc
    with _reading(Open(tree, values, unit, results, known, outer)):
        result = _executed(frame, inner, tree, values)
    found = map_leaves(lambda leaf, _: _general(leaf) if isinstance(leaf, Sym) or is_number(leaf) else leaf, result)
    return found, (builder, params, values, result, captured, copies.around)


def _executed(frame: Frame, inner: Frame, tree: Any, values: Mapping[str, Value]) -> Value:
    from stgrad.frontend import _result
    from stgrad.frontend.optionals import unwrapped

    holder = Frame(inner.builder, inner.source, dict(values), inner.parent, captured=inner.captured)  # what is given or around it must not change
    begin(inner, tree)
    inner.env.update(values)
    try:
        with holder.active(), holder.speculate(closed=True), inner.active():
            inner.execute(tree.body)
            return _result(inner, unwrapped(inner, inner.result))
    except Leaves as leaves_it:
        if leaves_it.kind is not None:
            raise
        raise _refused(frame, tree, "no path through it ends") from None


@contextmanager
def _reading(state: Open) -> Iterator[None]:
    token = _open.set((*_open.get(), state))
    try:
        yield
    finally:
        _open.reset(token)


def _refused(frame: Frame, tree: Any, reason: str) -> errors.NeedStaticError:
    what = f"`{tree.name}` calls itself, and cannot be compiled as a function"
    return _last(errors.NeedStaticError(what, frame.builder.loc, reason=reason, hint="write a loop"))


def _last(error: errors.NeedStaticError) -> errors.NeedStaticError:
    """A refusal that no reading of another call of the same function may pass over."""
    error.left = False
    return error


def _closed(frame: Frame, tree: Any, unit: Unit, results: Value, read: Any) -> Any:
    """The program of a unit; what it sees around it stands behind its arguments, in its own calls too."""
    from stgrad.frontend import Reading, _held, _program, _used, result_operand

    builder, params, values, result, captured, around = read
    used = read_names(tuple(builder.out)) | set(operand_vars(result_operand(result)))
    seen = {name: value for name, value in around.items() if name in used}
    captures = _used(captured, used)
    more = (*map(Var, seen), *(Var(c.variable) for c in captures if c.variable is not None))

    def completed(block: Any) -> Any:
        return tuple(replace(s, args=(*s.args, *more)) if isinstance(s, Assign) and s.op == unit.op else map_blocks(completed, s) for s in block)

    builder.out[:] = completed(builder.out)
    program = _program(builder, tree.name, (*params, *map(Var, seen)), result, captures)
    classes = Classes(program.body, program.types)
    changed = {classes.find(name) for name in stored(program.body)}
    if any(c.variable is not None and classes.find(c.variable) in changed for c in captures):
        raise _refused(frame, tree, "it writes to an array from outside of the program")
    made = [operand_of(leaf) for leaf in leaves(result) if isinstance(leaf, Sym) or is_number(leaf)]
    program = _on_copies(replace(program, constants={}), made, unit)
    unit.params = tuple(program.types[p.name] for p in program.params)
    unit.results = (*(leaf for leaf in leaves(results) if isinstance(leaf, Type)), *(program.types[name] for name in unit.written)) or (_NOTHING,)
    unit.reading = Reading(program, result, values, (), {}, frozenset(builder.tested), frozenset(builder.library), **_held(builder))
    return replace(unit.reading, captures=captures, around=seen)


def _on_copies(program: Function, made: list[Operand], unit: Unit) -> Function:
    """A program that works on copies of the arrays which it writes to; what they hold at its end are its results, behind what it has made."""
    names = Names([*program.types, *(p.name for p in program.params)])
    given = {name: names.fresh(f"{name}_given") for name in unit.written}
    copies = tuple(Assign((Var(name),), "np.copy", (Var(taken),)) for name, taken in given.items())
    results = (*made, *map(Var, given)) or (Const(0),)
    result = results[0] if len(results) == 1 else Pack(results)
    types = {**program.types, **{taken: program.types[name] for name, taken in given.items()}}
    return replace(program, params=tuple(Var(given.get(p.name, p.name)) for p in program.params), body=(*copies, *program.body), result=result, types=types)


def _emit(frame: Frame, unit: Unit, results: Value, operands: list[Operand], names: Mapping[str, Value]) -> Value:
    """The statement of a call, and the stores of what it changes; its results. `names`: what stands for its parameters here, but for what is its own."""
    builder, flat = frame.builder, list[Var]()

    def made(leaf: Value, path: str) -> Value:
        if not isinstance(leaf, Type):
            return leaf
        found = builder.variable(f"_t{path}", replace(leaf, dims=tuple(d if d.constant is not None else builder.fresh_dim() for d in leaf.dims)))
        flat.append(Var(found.name))
        return found

    def here(param: str) -> Sym:
        """The array that a parameter is here; in the function itself, what it sees around it is that parameter."""
        found = names.get(param, Sym(Var(param), builder.types.get(param, _NOTHING)))
        assert isinstance(found, Sym)
        return found

    value = map_leaves(made, results)
    one = [(flat[i].name, flat[other].name if isinstance(other, int) else here(other).name) for i, other in unit.one]
    builder.apart += [Apart(a, b, builder.loc, (a, b), one=True) for a, b in one]
    changed = [here(name) for name in unit.written]
    flat += [Var(builder.variable("_t", v.type).name) for v in changed]
    if not flat:
        made(_NOTHING, "")
    builder.emit(Assign(tuple(flat), unit.op, tuple(operands), (), builder.loc, builder.note))
    for v, new in zip(changed, flat[len(flat) - len(changed) :], strict=True):
        boxes.changing(frame, v)
        builder.emit(Store(Var(v.name), ALL, new, "set", builder.loc, builder.note))
    _ask(frame, unit, [*operands, *(Var(v.name) for v in changed if Var(v.name) not in operands)], changed)
    return value


def _ask(frame: Frame, unit: Unit, operands: list[Operand], changed: list[Sym]) -> None:
    """What a function writes to shares no memory with anything else that it is given."""
    types, loc = frame.builder.types, frame.builder.loc
    arrays = [o.name for o in operands if isinstance(o, Var) and types[o.name].array]
    for v in changed:
        if arrays.count(v.name) > 1:
            raise errors.AliasingError(f"`{unit.name}` calls itself, writes to an array, and is given it twice", loc, hint="pass a copy of it")
        frame.builder.apart += [Apart(v.name, other, loc) for other in arrays if other != v.name]


__all__ = ["RECURSIVE", "Made", "call_made", "call_unit", "is_unit", "make", "same_structure"]
