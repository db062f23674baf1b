"""Branches and loops of the running program: what a name is after paths join.

A name that two paths leave with different values gets one variable, which each path assigns at its end. A loop is read until the
types of its carried names no longer change: an integer that becomes a float, an array whose extent varies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import UNDEFINED, Known, Maybe, Sym, Undefined, Value, is_number, operand_of, rebuild, static_of, type_of
from stgrad.ir import Assign, Const, Dim, For, If, Pack, Stmt, Type, Var, While

COUNTER = Type("int64", weak=True)


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


def same(a: Value, b: Value) -> bool:
    """Whether two values need no join."""
    if isinstance(a, Known) or isinstance(b, Known):
        if not (isinstance(a, Known) and isinstance(b, Known) and type(a.const) is type(b.const) and a.const == b.const):
            return False
    if isinstance(a, Sym) and isinstance(b, Sym):
        return a.operand == b.operand and a.type == b.type
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if is_number(a) and is_number(b):
        return type(a) is type(b) and (a == b or a != a and b != b)
    return a is b or (isinstance(a, str) and a == b)


class Join:
    """Joins the values of two paths: assigns shared variables at the end of each."""

    def __init__(self, frame: Frame, ends: tuple[list[Stmt], list[Stmt]]) -> None:
        self.frame, self.ends = frame, ends

    def value(self, a: Value, b: Value, what: str, fresh: bool = False) -> Value:
        """The value after the join; `fresh`: in a variable of its own, as a and b may be names that keep theirs."""
        if same(a, b):
            return a
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and len(a) == len(b):
            return rebuild(a, [self.value(x, y, f"{what}_{i}", fresh) for i, (x, y) in enumerate(zip(a, b, strict=True))])
        if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
            return {k: self.value(a[k], b[k], f"{what}_{k}", fresh) for k in a}
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


def _say(value: Value) -> str:
    return str(value.type) if isinstance(value, Sym) else "nothing" if value is None else type(value).__name__


# --------------------------------------------------------------------------- branches


def branch(frame: Frame, cond: Sym, then: Callable[[], Value], orelse: Callable[[], Value], wish: str) -> Value:
    """The value of `then() if cond else orelse()`; names that either side binds are joined as well."""
    before = dict(frame.env)
    sides = []
    for side in (then, orelse):
        frame.env = dict(before)
        with frame.builder.block() as block, frame.speculate():
            value = side()
        sides.append((block, frame.env, value))
    (then_block, then_env, a), (else_block, else_env, b) = sides
    join = Join(frame, (then_block, else_block))
    result = join.value(a, b, wish, fresh=True)
    frame.env = _join_env(frame, join, before, then_env, else_env)
    if then_block or else_block:
        frame.builder.emit(If(cond.operand, tuple(then_block), tuple(else_block), frame.builder.loc, frame.builder.note))
    return result


def _join_env(frame: Frame, join: Join, before: dict[str, Value], a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    env: dict[str, Value] = {}
    for name in [*a, *(n for n in b if n not in a)]:
        x, y = a.get(name, UNDEFINED), b.get(name, UNDEFINED)
        if isinstance(x, (Undefined, Maybe)) or isinstance(y, (Undefined, Maybe)):
            env[name] = _one_sided(frame, join, name, x, y)
        else:
            env[name] = join.value(x, y, name)
    return env


def _one_sided(frame: Frame, join: Join, name: str, x: Value, y: Value) -> Value:
    """A name that not every path binds: usable once it has a first value before the branch."""
    if x is y:
        return x
    if isinstance(x, Undefined) or isinstance(y, Undefined):
        bound = y if isinstance(x, Undefined) else x
        value = bound.value if isinstance(bound, Maybe) else bound
        return Maybe(value, first_value(frame, value))
    for side in (x, y):
        if isinstance(side, Maybe):
            if side.initialise is None:
                return Maybe(side.value, None)
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
    if isinstance(value, (tuple, list)):
        return [s for v in value for s in _variables(v)]
    if is_number(value) or value is None:
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

    def read(carried: Carried) -> None:
        k = frame.builder.variable(wish, COUNTER)
        k = Sym(k.operand, replace(COUNTER, value=frame.builder.fresh_dim()))
        with frame.builder.block() as block, frame.speculate():
            body(k)
            carried.close()
        loop = For(Var(k.name), operand_of(start), operand_of(length), operand_of(step), tuple(block), frame.builder.loc, frame.builder.note)
        carried.loop = loop

    _fixpoint(frame, names or set(), read)


def while_loop(frame: Frame, test: Callable[[], Value], body: Callable[[], None], names: set[str]) -> None:
    """`while test(): body()`."""

    def read(carried: Carried) -> None:
        with frame.builder.block() as head, frame.speculate():
            cond = test()
        with frame.builder.block() as block, frame.speculate():
            body()
            carried.close()
        carried.loop = While(tuple(head), operand_of(cond), tuple(block), frame.builder.loc, frame.builder.note)

    _fixpoint(frame, names, read)


class Carried:
    """The names that one reading of a loop carries from trip to trip."""

    def __init__(self, frame: Frame, names: set[str], wanted: dict[tuple[str, str], Type]) -> None:
        self.frame, self.wanted = frame, wanted
        self.loop: Stmt | None = None
        self.changed = False
        self.heads: dict[str, Value] = {}
        self.new = sorted(n for n in names if frame.env.get(n, UNDEFINED) is UNDEFINED or isinstance(frame.env[n], Maybe))
        for name in sorted(names - set(self.new)):
            self.heads[name] = self._head(name, frame.env[name], name)
        frame.env.update(self.heads)

    def _head(self, name: str, value: Value, path: str) -> Value:
        if isinstance(value, (tuple, list)):
            return rebuild(value, [self._head(name, v, f"{path}_{i}") for i, v in enumerate(value)])
        if isinstance(value, dict):
            return {k: self._head(name, v, f"{path}_{k}") for k, v in value.items()}
        if not isinstance(value, Sym) and not is_number(value):
            return value
        builder = self.frame.builder
        want = self.wanted.get((name, path), replace(type_of(value), value=None))
        want = replace(want, dims=tuple(d if d.symbol != "?" else builder.fresh_dim() for d in want.dims))
        mine = isinstance(value, Sym) and isinstance(value.operand, Var) and value.name in self.frame.owned
        if mine and (value.type.dtype, value.type.dims) == (want.dtype, want.dims):
            return Sym(value.operand, want)
        head = builder.variable(path, want)
        self.frame.owned.add(head.name)
        builder.copy_to(head, value)
        return head

    def close(self) -> None:
        """At the end of the body: assign what the body left to the loop's variables."""
        for name, head in self.heads.items():
            self._close(name, head, self.frame.env.get(name, UNDEFINED), name)

    def _close(self, name: str, head: Value, after: Value, path: str) -> None:
        if isinstance(after, Maybe):
            after = self.frame.lookup(name)
        if isinstance(head, (tuple, list)) and isinstance(after, (tuple, list)) and len(head) == len(after):
            for i, (h, v) in enumerate(zip(head, after, strict=True)):
                self._close(name, h, v, f"{path}_{i}")
        elif isinstance(head, dict) and isinstance(after, dict) and list(head) == list(after):
            for k in head:
                self._close(name, head[k], after[k], f"{path}_{k}")
        elif isinstance(head, Sym) and (isinstance(after, Sym) or is_number(after)):
            self._close_leaf(name, head, after, path)
        elif not same(head, after):
            raise errors.TypeInferenceError(
                f"`{name}` changes from {_say(head)} to {_say(after)} in the loop",
                self.frame.builder.loc,
                reason="its structure must be the same in every trip",
                hint="fill an array, or give the new value another name",
            )

    def _close_leaf(self, name: str, head: Sym, after: Value, path: str) -> None:
        joined = join_types(self.frame, head.type, type_of(after), path)
        want = self.wanted.get((name, path), head.type)
        varying = Dim("?")
        dims = tuple(w if w == varying or h == j else varying for w, h, j in zip(want.dims, head.type.dims, joined.dims, strict=True))
        if dims != want.dims or (joined.dtype, joined.weak) != (head.type.dtype, head.type.weak):
            self.wanted[name, path] = Type(joined.dtype, dims, joined.array, joined.weak)
            self.changed = True
            return
        if not (isinstance(after, Sym) and after.operand == head.operand):
            self.frame.builder.copy_to(head, after)


def _fixpoint(frame: Frame, names: set[str], read: Callable[[Carried], None]) -> None:
    wanted: dict[tuple[str, str], Type] = {}
    env, owned = dict(frame.env), set(frame.owned)
    rollback = frame.builder.mark()
    for _ in range(8):
        carried = Carried(frame, names, wanted)
        before = first_value_later(frame)
        read(carried)
        if not carried.changed:
            frame.builder.emit(carried.loop)  # type: ignore[arg-type]
            after = frame.env
            frame.env = {**env, **carried.heads}
            for name in carried.new:
                value = after.get(name, UNDEFINED)
                value = value.value if isinstance(value, Maybe) else value
                if value is not UNDEFINED:
                    frame.env[name] = Maybe(value, before(value))
            return
        rollback()
        frame.env, frame.owned = dict(env), frame.owned
        frame.owned.clear()
        frame.owned.update(owned)
    raise errors.TypeInferenceError("the types of this loop's variables do not settle", frame.builder.loc)


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
