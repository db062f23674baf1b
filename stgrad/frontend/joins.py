"""The value of a name after two paths join.

A name that two paths leave with different values gets one variable, which each path assigns at its end.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from dataclasses import replace
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import operations
from stgrad.frontend.alternatives import apart, note
from stgrad.frontend.frame import Frame, holder
from stgrad.frontend.heap import MUTABLE, contents, references
from stgrad.frontend.optionals import blank, can_be_optional, parts
from stgrad.frontend.places import uncertain
from stgrad.frontend.values import (
    Chosen,
    Closure,
    Generator,
    Growing,
    Known,
    ListOrTuple,
    Maybe,
    Method,
    Nested,
    Optional,
    Record,
    Sym,
    Texts,
    Value,
    Waiting,
    a_kind,
    is_number,
    of_class,
    operand_of,
    rebuild,
    static_of,
    type_of,
)  # fmt: skip
from stgrad.instances import is_instance
from stgrad.ir import If, Stmt, Type, Var

SELECTS: ContextVar[bool] = ContextVar("selects", default=False)  # whether the program finds as it runs which of several known values it goes on with
CONSTANT = (str, bytes, type, np.ufunc, FunctionType, BuiltinFunctionType, ModuleType, functools.partial, Enum)
MOST = 8  # values that a name may stand for one of


def join_types(frame: Frame, a: Type, b: Type, what: str) -> Type:
    """One type for a name that has type a on one path and b on the other."""
    if a.array != b.array or a.rank != b.rank:
        error = errors.TypeInferenceError(
            f"`{what}` is a {a} on one path and a {b} on another",
            frame.builder.loc,
            reason="a variable keeps one rank",
            hint="give the second one another name, or start with an array",
        )
        error.widens = a.rank != b.rank
        raise error
    dims = tuple(x if x == y else frame.builder.fresh_dim() for x, y in zip(a.dims, b.dims, strict=True))
    dtype = _join_dtype(a, b)
    if a.array and a.dtype != b.dtype:
        error = errors.TypeInferenceError(
            f"`{what}` is an array of {a.dtype} on one path and of {b.dtype} on another", frame.builder.loc, hint="use .astype(...)"
        )
        error.widens = True
        raise error
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
    return isinstance(a, Known) and isinstance(b, Known) and type(a.const) is type(b.const) and repr(a.const) == repr(b.const)


def same(a: Value, b: Value) -> bool:
    """Whether two values need no join."""
    if a is b:
        return True
    if (isinstance(a, Known) or isinstance(b, Known)) and not _same_constant(a, b):
        return False
    if isinstance(a, Optional) and isinstance(b, Optional):
        return same(a.value, b.value) and same(a.none, b.none)
    if isinstance(a, Sym) and isinstance(b, Sym):
        return a.operand == b.operand and a.type == b.type
    if isinstance(a, Chosen) and isinstance(b, Chosen):
        return same(a.index, b.index) and len(a.options) == len(b.options) and all(map(same, a.options, b.options))
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and type(a) is type(b):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (Record, Growing, Nested)) and type(a) is type(b):
        return getattr(a, "cls", None) is getattr(b, "cls", None) and all(map(same, _parts(a).values(), _parts(b).values()))
    if is_number(a) and is_number(b):
        return type(a) is type(b) and (a == b or a != a and b != b)
    return isinstance(a, (str, MethodType, Texts)) and type(a) is type(b) and a == b


def _parts(value: Value) -> dict[str, Value]:
    return {"": value.buffer} if isinstance(value, Nested) else contents(value)


class Join:
    """Joins the values of two paths: assigns shared variables at the end of each."""

    def __init__(self, frame: Frame, ends: tuple[list[Stmt], list[Stmt]]) -> None:
        self.frame, self.ends, self.name = frame, ends, ""
        self.choice: Value = None  # the number of the path, where it matters behind it

    def value(self, a: Value, b: Value, what: str, fresh: bool = False) -> Value:
        """The value after the join; `fresh`: in a variable of its own, as a and b may be names that keep theirs."""
        self.name = what
        return self._value(a, b, what, fresh)

    def _value(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        if a is b or same(a, b) and not apart(a, b):
            return a
        result = self._joined(a, b, what, fresh or isinstance(a, MUTABLE))
        if isinstance(a, MUTABLE) or isinstance(result, ListOrTuple):
            merge(self.frame, result, (a, b), result)
        return result

    def _joined(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        try:
            return self._together(a, b, what, fresh)
        except errors.TypeInferenceError as error:
            return self._one_of(a, b, what, fresh, error)

    def _one_of(self, a: Value, b: Value, what: str, fresh: bool, error: errors.TypeInferenceError) -> Value:
        """Values that no one variable can hold, and which of them it is."""
        sides = [v.options if isinstance(v, Chosen) else (static_of(v),) for v in (a, b)]
        options = united(*sorted(sides, key=len, reverse=True))  # in the order of the side that has most: its number stays what it is
        if options is None and all(is_number(v) or isinstance(v, Sym) and not v.type.rank for side in sides for v in side):  # too many to be told apart
            first, second = (self._counted(k, v) for k, v in enumerate((a, b)))
            return self._shared(first, second, what, fresh)
        if options is None:
            raise error
        self.frame.builder.chosen = True
        if isinstance(a, Chosen) or isinstance(b, Chosen):
            first, second = (self._placed(k, v, sides[k], options) for k, v in enumerate((a, b)))
            return Chosen(self._value(first, second, f"{what}_choice", fresh), options, error)
        if self.choice is None:
            self.choice = self._shared(0, 1, f"{what}_choice", True)
        return Chosen(self.choice, options, error)

    def _placed(self, side: int, value: Value, own: tuple[Value, ...], options: tuple[Value, ...]) -> Value:
        """Which of the options a value is, at the end of its path."""
        outer, self.frame.builder.out = self.frame.builder.out, self.ends[side]
        try:
            return renumbered(self.frame, value.index if isinstance(value, Chosen) else 0, own, options)
        finally:
            self.frame.builder.out = outer

    def _counted(self, side: int, value: Value) -> Value:
        """A number that is one of several, as one of the program, at the end of its path."""
        if not isinstance(value, Chosen):
            return value
        outer, self.frame.builder.out = self.frame.builder.out, self.ends[side]
        try:
            return picked(self.frame, value.index, value.options)
        finally:
            self.frame.builder.out = outer

    def _together(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        if (a is None or b is None or isinstance(a, Optional) or isinstance(b, Optional)) and all(v is None or can_be_optional(v) for v in (a, b)):
            return self._optional(a, b, what, fresh)
        mixed = type(a) is not type(b) and {type(a), type(b)} <= {list, tuple, ListOrTuple}
        if isinstance(a, (tuple, list)) and (type(a) is type(b) or mixed) and len(a) == len(b):
            return rebuild(ListOrTuple() if mixed else a, [self._value(x, y, f"{what}_{i}", fresh) for i, (x, y) in enumerate(zip(a, b, strict=True))])
        if isinstance(a, dict) and type(a) is type(b) and list(a) == list(b):
            return of_class(a, {k: self._value(a[k], b[k], f"{what}_{k}", fresh) for k in a})
        if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls and list(a.fields) == list(b.fields):
            return Record(a.cls, {k: self._value(a.fields[k], b.fields[k], f"{what}_{k}", fresh) for k in a.fields})
        if isinstance(a, Nested) and isinstance(b, Nested):
            return Nested(self._value(a.buffer, b.buffer, what, fresh))
        if isinstance(a, Growing) and isinstance(b, Growing) and a.cls is b.cls:
            return Growing(self._value(a.structure, b.structure, what, fresh), self.number(a.count, b.count, f"{what}_count"), a.origin, cls=a.cls)
        if isinstance(a, Chosen) and isinstance(b, Chosen) and len(a.options) == len(b.options) and all(map(same, a.options, b.options)):
            return Chosen(self._value(a.index, b.index, f"{what}_choice", fresh), a.options, a.error)
        if isinstance(a, Waiting) and type(a) is type(b) and all(isinstance(v, Sym) or is_number(v) for v in (*vars(a).values(), *vars(b).values())):
            return type(a)(**{k: self.number(x, y, f"{what}_{k}") for (k, x), y in zip(vars(a).items(), vars(b).values(), strict=True)})
        if (shape := _of_two_lengths(self.frame, a, b)) is not None:
            first, second = (self._at_run_time(k, v, shape) for k, v in enumerate((a, b)))
            return self._together(first, second, what, True)
        if not all(isinstance(v, Sym) or is_number(v) for v in (a, b)):
            raise errors.TypeInferenceError(
                f"`{what}` is {describe(a)} on one path and {describe(b)} on another",
                self.frame.builder.loc,
                hint="make both paths give the same kind of value",
            )
        if any(isinstance(v, Enum) for v in (a, b)):  # an integer too, and one of few: what tells its members apart is which of them it is
            raise errors.TypeInferenceError(f"`{what}` is {describe(a)} on one path and {describe(b)} on another", self.frame.builder.loc)
        if SELECTS.get() and not self.frame.builder.loops and _whole(a) and _whole(b):
            raise errors.TypeInferenceError(f"`{what}` is {static_of(a)} on one path and {static_of(b)} on another", self.frame.builder.loc)
        return self._shared(a, b, what, fresh)

    def number(self, a: Value, b: Value, what: str) -> Value:
        """A length or a bound: never one of several."""
        return a if same(a, b) else self._shared(a, b, what, True)

    def _optional(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        """None on one path and a value on the other."""
        (x, x_none), (y, y_none) = parts(a), parts(b)
        x, y = self._blank(0, y) if x is None else x, self._blank(1, x) if y is None else y
        return Optional(self._value(x, y, what, fresh), self._value(x_none, y_none, f"{what}_is_none", fresh))

    def _blank(self, side: int, like: Value) -> Value:
        outer, self.frame.builder.out = self.frame.builder.out, self.ends[side]
        try:
            return blank(self.frame, like)
        finally:
            self.frame.builder.out = outer

    def _at_run_time(self, side: int, value: Value, shape: Value) -> Value:
        """A list at the end of its path, as one whose length the program decides."""
        from stgrad.frontend import growth

        outer, self.frame.builder.out = self.frame.builder.out, self.ends[side]
        try:
            return growth.at_run_time(self.frame, value, shape)
        finally:
            self.frame.builder.out = outer

    def _shared(self, a: Value, b: Value, what: str, fresh: bool) -> Sym:
        type_ = join_types(self.frame, type_of(a), type_of(b), what)
        shared = None if fresh else next((v for v in (a, b) if self._mine(v, type_, what)), None)
        if shared is None:
            shared = self.frame.builder.variable(what, replace(type_, value=None))
            if not fresh:
                self.frame.owned[shared.name] = holder(self.name, what)
        for value, end in zip((a, b), self.ends, strict=True):
            self.frame.builder.note_flag(shared.operand, type_, value)
            if not (isinstance(value, Sym) and value.operand == shared.operand):
                self._assign(end, shared, value)
        return Sym(shared.operand, type_)

    def _mine(self, value: Value, type_: Type, what: str) -> bool:
        if not isinstance(value, Sym) or not isinstance(value.operand, Var) or self.frame.owned.get(value.name) != holder(self.name, what):
            return False
        return (value.type.dtype, value.type.array, value.type.dims) == (type_.dtype, type_.array, type_.dims)

    def _assign(self, end: list[Stmt], target: Sym, value: Value) -> None:
        outer, self.frame.builder.out = self.frame.builder.out, end
        try:
            self.frame.builder.copy_to(target, value)
        finally:
            self.frame.builder.out = outer


def _of_two_lengths(frame: Frame, a: Value, b: Value) -> Value | None:
    """Lists that grow; they are built on this module."""
    from stgrad.frontend import growth

    return growth.of_two_lengths(frame, a, b) if isinstance(a, list) or isinstance(b, list) else None


def _whole(value: Value) -> bool:
    """An integer that is known while the program is read, or one of several."""
    options = value.options if isinstance(value, Chosen) else (static_of(value),)
    return all(isinstance(v, int) and not isinstance(v, bool) for v in options)


def _one(a: Value, b: Value) -> bool:
    """Whether two values are one option: they need no join, and what can change in them is the same object."""
    return same(a, b) and not apart(a, b)


def united(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """The values that are in either; None where a name cannot stand for one of them."""
    new = [y for y in b if not any(_one(x, y) for x in a)]
    return (*a, *new) if len(a) + len(new) <= MOST and all(map(_choosable, (*a, *new))) else None


def _choosable(value: Value) -> bool:
    if isinstance(value, tuple):
        return all(map(_choosable, value))
    return not isinstance(value, (list, dict, Growing, Nested, Texts, Generator, Optional, Maybe, Waiting)) or isinstance(value, Method)


def constant(value: Value, there: frozenset[int] = frozenset()) -> bool:
    """Whether a value is the same in all trips: a function, a class, a text, None, a member of an enumeration, an object from outside.

    `there` are those of the program that were there before the loop: its functions, and the objects whose methods it calls.
    """
    if isinstance(value, MethodType):
        return constant(value.__self__, there)
    if isinstance(value, (Closure, Record)):
        return id(value) in there
    return value is None or isinstance(value, CONSTANT) or is_instance(value)


def renumbered(frame: Frame, index: Value, own: tuple[Value, ...], options: tuple[Value, ...]) -> Value:
    """The place among the options of the value that has an index in `own`."""
    places = [next(k for k, o in enumerate(options) if _one(o, v)) for v in own]
    if not isinstance(index, Sym) or places == list(range(len(own))):
        return index if isinstance(index, Sym) else places[index]
    return picked(frame, index, tuple(places))


def picked(frame: Frame, index: Value, numbers: tuple[Value, ...]) -> Value:
    """The one of some numbers that has an index."""
    if not isinstance(index, Sym):
        return numbers[index]
    builder = frame.builder
    found = builder.variable("_t", functools.reduce(lambda a, b: join_types(frame, a, b, "_t"), (replace(type_of(v), value=None) for v in numbers)))
    builder.copy_to(found, numbers[0])
    for k, number in enumerate(numbers[1:], start=1):
        here = operations.binary(frame, gast.Eq, index, k)
        with builder.block() as block:
            builder.copy_to(found, number)
        builder.emit(If(operand_of(here), tuple(block), (), builder.loc, builder.note))
    return found


def merge(frame: Frame, new: Value, sources: tuple[Value, ...], origin: Value) -> None:
    """Note that a container stands for one of several, each of which may have other names; `origin` would be made to grow for it."""
    counts = references(frame)
    aliased = any(counts[id(s)] > 1 for s in sources) or any(frame.builder.merged.get(id(s), (0, 0, False))[2] for s in sources)
    aliased = aliased or uncertain(frame, *sources)
    frame.builder.merged[id(new)] = (new, origin, aliased)
    note(frame.builder, new, sources)


def describe(value: Value) -> str:
    if isinstance(value, Growing):
        return "a list that grows" if issubclass(value.cls, list) else "a tuple of unknown length"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(map(repr, value))}" if value else "an empty dict"
    if isinstance(value, Record):
        return f"a {getattr(value.cls, 'stands_for', value.cls).__name__}"
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return f"`{value.__name__}`"
    if isinstance(value, Chosen):
        return f"one of {', '.join(map(describe, value.options))}"
    return str(value.type) if isinstance(value, Sym) else "nothing" if value is None else a_kind(value)
