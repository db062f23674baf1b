"""The value of a name after two paths join.

A name that two paths leave with different values gets one variable, which each path assigns at its end.
"""

from __future__ import annotations

from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, MethodType

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame, holder
from stgrad.frontend.heap import MUTABLE, contents, references
from stgrad.frontend.optionals import blank, can_be_optional, parts
from stgrad.frontend.places import uncertain
from stgrad.frontend.values import Growing, Known, Nested, Optional, Record, Sym, Value, is_number, rebuild, type_of
from stgrad.ir import Stmt, Type, Var


def join_types(frame: Frame, a: Type, b: Type, what: str) -> Type:
    """One type for a name that has type a on one path and b on the other."""
    if a.array != b.array or a.rank != b.rank:
        error = errors.TypeInferenceError(
            f"`{what}` is a {a} on one path and a {b} on another",
            frame.builder.loc,
            reason="a variable keeps one rank",
            hint="give the second one another name, or start with an array",
        )
        error.widens = not a.rank and b.rank > 0
        raise error
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
    if isinstance(a, Optional) and isinstance(b, Optional):
        return same(a.value, b.value) and same(a.none, b.none)
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
        self.frame, self.ends, self.name = frame, ends, ""

    def value(self, a: Value, b: Value, what: str, fresh: bool = False) -> Value:
        """The value after the join; `fresh`: in a variable of its own, as a and b may be names that keep theirs."""
        self.name = what
        return self._value(a, b, what, fresh)

    def _value(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        if same(a, b):
            return a
        result = self._joined(a, b, what, fresh or isinstance(a, MUTABLE))
        if isinstance(a, MUTABLE):
            merge(self.frame, result, (a, b), result)
        return result

    def _joined(self, a: Value, b: Value, what: str, fresh: bool) -> Value:
        if (a is None or b is None or isinstance(a, Optional) or isinstance(b, Optional)) and all(v is None or can_be_optional(v) for v in (a, b)):
            return self._optional(a, b, what, fresh)
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and len(a) == len(b):
            return rebuild(a, [self._value(x, y, f"{what}_{i}", fresh) for i, (x, y) in enumerate(zip(a, b, strict=True))])
        if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
            return {k: self._value(a[k], b[k], f"{what}_{k}", fresh) for k in a}
        if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls and list(a.fields) == list(b.fields):
            return Record(a.cls, {k: self._value(a.fields[k], b.fields[k], f"{what}_{k}", fresh) for k in a.fields})
        if isinstance(a, Nested) and isinstance(b, Nested):
            return Nested(self._value(a.buffer, b.buffer, what, fresh))
        if isinstance(a, Growing) and isinstance(b, Growing) and a.cls is b.cls:
            return Growing(self._value(a.structure, b.structure, what, fresh), self._value(a.count, b.count, f"{what}_count", fresh), a.origin, cls=a.cls)
        if not all(isinstance(v, Sym) or is_number(v) for v in (a, b)):
            raise errors.TypeInferenceError(
                f"`{what}` is {describe(a)} on one path and {describe(b)} on another",
                self.frame.builder.loc,
                hint="make both paths give the same kind of value",
            )
        return self._shared(a, b, what, fresh)

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

    def _shared(self, a: Value, b: Value, what: str, fresh: bool) -> Sym:
        type_ = join_types(self.frame, type_of(a), type_of(b), what)
        shared = None if fresh else next((v for v in (a, b) if self._mine(v, type_, what)), None)
        if shared is None:
            shared = self.frame.builder.variable(what, replace(type_, value=None))
            if not fresh:
                self.frame.owned[shared.name] = holder(self.name, what)
        for value, end in zip((a, b), self.ends, strict=True):
            if not (isinstance(value, Sym) and value.operand == shared.operand):
                self._assign(end, shared, value)
        return Sym(shared.operand, type_)

    def _mine(self, value: Value, type_: Type, what: str) -> bool:
        if not isinstance(value, Sym) or not isinstance(value.operand, Var) or self.frame.owned.get(value.name) != holder(self.name, what):
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
    aliased = aliased or uncertain(frame, *sources)
    frame.builder.merged[id(new)] = (new, origin, aliased)


def describe(value: Value) -> str:
    if isinstance(value, Growing):
        return "a list that grows" if value.cls is list else "a tuple of unknown length"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, Record):
        return f"a {value.cls.__name__}"
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return f"`{value.__name__}`"
    return str(value.type) if isinstance(value, Sym) else "nothing" if value is None else f"a {type(value).__name__}"
