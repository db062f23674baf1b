"""The adjoint of one statement, as statements that read placeholders for the values of the forward sweep.

A placeholder names a value of the primal and the place where it is meant (`x§7`); `stgrad.transforms.saves` decides later
how the reverse sweep gets at it. Rules are read into the program by a splicer that the caller gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.analysis.activity import differentiable
from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.places import Place
from stgrad.frontend.builder import Builder
from stgrad.frontend.indexing import indexed_type
from stgrad.frontend.operations import unbroadcast
from stgrad.frontend.values import Sym, Value, is_number, operand_of
from stgrad.frontend.wishes import UNNAMED, is_unnamed
from stgrad.ir import (
    ALL,
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Operand,
    Pack,
    Pop,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    entries_of,
    gathers,
    operand_vars,
    reads,
    stored,
)
from stgrad.ir.ops import operation, readonly
from stgrad.rules import lookup
from stgrad.rules.core import Rule
from stgrad.rules.selecting import last_written, take_back
from stgrad.transforms.growing import give_back
from stgrad.transforms.partials import partials_of
from stgrad.transforms.picked import Guards, chosen
from stgrad.transforms.tangents import with_care
from stgrad.transforms.twins import by_twins

Splice = Callable[[Builder, Any, tuple[Value, ...], dict[str, Value]], Value]


@dataclass
class Adjoints:
    """Writes adjoint code into `builder` and keeps which adjoints exist at this point of the reverse sweep (`present`)."""

    builder: Builder
    splice: Splice
    active: frozenset[str]
    shadows: dict[str, str]
    guards: Guards = field(default_factory=Guards)  # where cotangents that may be zero meet infinite partials
    bars: dict[str, str] = field(default_factory=dict)  # value adjoints, by primal name
    present: set[str] = field(default_factory=set)
    placeholders: dict[str, tuple[str, Place, bool]] = field(default_factory=dict)
    place: Place | None = None
    _made: dict[tuple[str, int, bool], str] = field(default_factory=dict)

    # ------------------------------------------------------------- reading the primal

    def value(self, name: str, after: bool = False, place: Place | None = None) -> Sym:
        """The value that a primal name has before (or after) the statement at hand."""
        place = place or self.place
        assert place is not None
        key = (name, place.number, after)
        if key not in self._made:
            mark = f"{name}§{place.number}{'b' if after else 'a'}"
            self._made[key] = mark
            self.placeholders[mark] = (name, place, after)
            self.builder.types[mark] = self.builder.types[name]
        return Sym(Var(self._made[key]), self.builder.types[name])

    def operand(self, operand: Operand) -> Value:
        """An operand of the primal statement as a value before it."""
        match operand:
            case Var():
                return self.value(operand.name)
            case Pack():
                return tuple(self.operand(o) for o in operand.items)
            case Slice():
                return slice(*(self.operand(o) for o in (operand.lower, operand.upper, operand.step)))
        return operand.value

    # ------------------------------------------------------------- adjoints

    def bar(self, name: str) -> Sym:
        """The variable of a value adjoint."""
        if name not in self.bars:
            t = self.builder.types[name]
            self.bars[name] = self.builder.names.fresh(UNNAMED if is_unnamed(name) else f"{name}_bar")
            self.builder.types[self.bars[name]] = replace(t, value=None)
        return Sym(Var(self.bars[name]), self.builder.types[self.bars[name]])

    def take(self, name: str, after: bool = True) -> Sym | None:
        """The adjoint of a name that the statement assigns; a value adjoint is absent afterwards. None: it is zero."""
        if name not in self.active:
            return None
        if name in self.shadows:
            return self.value(self.shadows[name], after, self._follower(self.shadows[name]) if after else None)
        if name not in self.present:
            return None
        self.present.discard(name)
        return self.bar(name)

    def _follower(self, shadow: str) -> Place | None:
        """The statement after this one that makes or moves the shadow in lockstep; None where it is made elsewhere."""
        assert self.place is not None
        for place in self.place.region.places[self.place.index + 1 : self.place.index + 1 + 2 * len(self.place.assigned)]:
            if isinstance(place.stmt, (Assign, Pop)) and shadow in place.assigned:
                return place
        return None

    def _new_shadow(self, shadow: str) -> Sym:
        """The shadow of a name just assigned: the statements that follow in lockstep made it."""
        here = self.place
        assert here is not None
        followers = here.region.places[here.index + 1 : here.index + 1 + len(assigns(here.stmt))]
        self.place = next((p for p in followers if shadow in assigns(p.stmt)), here)
        value = self.value(shadow, True)
        self.place = here
        return value

    def zero(self, name: str, *, after: bool = False) -> None:
        """Make an absent value adjoint a zero."""
        target = self.bar(name)
        if target.type.array:
            self.builder.assign(target, "np.zeros_like", self.value(name, after).operand)
        else:
            self.builder.assign(target, "alias", Const(_zero(target.type)))
        self.present.add(name)

    def add(self, name: str, g: Value, owned: bool) -> None:
        """Add a cotangent to the adjoint of a name; `owned`: nobody else holds the array g."""
        t = self.builder.types[name]
        g = self.fit(g, t)
        if g is None:
            return
        if name in self.shadows:
            self._store_add(self.value(self.shadows[name]), ALL, g)
        elif name in self.present:
            target = self.bar(name)
            if t.array:
                self._store_add(target, ALL, g)
            else:
                self.builder.assign(target, "np.add", target.operand, operand_of(g))
        else:
            target = self.bar(name)
            scalar_to_array = t.array and not (isinstance(g, Sym) and g.type.array)
            if scalar_to_array:
                self.builder.emit(self._call(target, "np.full_like", self.value(name).operand, operand_of(g)))
            elif t.array and not owned:
                self.builder.assign(target, "np.copy", operand_of(g))
            else:
                self.builder.assign(target, "alias", operand_of(g))
            self.present.add(name)

    def _call(self, target: Sym, op: str, *args: Operand) -> Stmt:
        return Assign((Var(target.name),), op, args, (), self.builder.loc, self.builder.note)

    def _store_add(self, target: Sym, index: Operand, g: Value, mode: str = "add") -> None:
        self.builder.emit(Store(Var(target.name), index, operand_of(g), mode, self.builder.loc, self.builder.note))

    def scatter(self, name: str, index: Operand, g: Value) -> None:
        """`name_bar[index] += g`, making the adjoint where it is absent."""
        if name not in self.shadows and name not in self.present:
            self.zero(name)
        target = self.value(self.shadows[name]) if name in self.shadows else self.bar(name)
        entry = operand_of(self.operand(index))
        repeated = gathers(entry, self.builder.types) and not _is_mask(entry, self.builder.types)
        self._store_add(target, entry, g, "add_at" if repeated else "add")

    def fit(self, g: Value, t: Type) -> Value | None:
        """A cotangent with the shape and dtype of its argument; None for a zero."""
        if g is None or (is_number(g) and g == 0):
            return None
        if isinstance(g, Sym):
            g = unbroadcast(self.builder, g, t)
            if g.type.dtype.startswith("complex") and not t.dtype.startswith("complex"):
                g = self.builder.call("np.real", (g,), replace(g.type, dtype=t.dtype))
            if g.type.dtype != t.dtype:
                g = self._cast(g, t)
        elif not t.array and t.dtype in ("float32", "float16", "complex64"):
            return np.dtype(t.dtype).type(g)
        return g

    def _cast(self, g: Sym, t: Type) -> Value:
        if g.type.array:
            return self.builder.call("np.astype", (g, np.dtype(t.dtype)), replace(g.type, dtype=t.dtype))
        return self.builder.call("cast", (g, t.dtype), Type(t.dtype))

    # ------------------------------------------------------------- statements

    def assign(self, stmt: Assign) -> None:
        """The adjoint of `y = op(...)`."""
        if not any(t.name in self.active for t in stmt.targets):
            return
        if len(stmt.targets) == 1 and self.builder.types[stmt.target.name].array and stmt.target.name in self.shadows and viewed(stmt, self.builder.types):
            if operation(stmt.op).room is not None and (new := self.take(stmt.target.name)) is not None:
                give_back(self.builder, self.value(self.shadows[stmt.args[0].name]), new, *map(self.operand, stmt.args[1:3]))  # type: ignore[union-attr]
            return  # the shadow of a view is a view of the shadow
        bars = [self.take(t.name) for t in stmt.targets]
        if all(b is None for b in bars):
            return
        bars = [self._moved(b) if b is not None and t.name in set(reads(stmt)) else b for b, t in zip(bars, stmt.targets, strict=True)]
        if not differentiable(stmt.op):
            return
        if operation(stmt.op).kind in ("cast", "identity"):
            self._pass_on(stmt, bars[0])
        elif stmt.op == "getitem":
            self._read(stmt, bars[0])
        else:
            self._rule(stmt, bars)

    def _moved(self, g: Sym) -> Sym:
        """The cotangent under another name: `x = x[1:]` makes a new adjoint of x from it."""
        moved = self.builder.variable("_t", g.type)
        self.builder.assign(moved, "alias", g.operand)
        return moved

    def _pass_on(self, stmt: Assign, g: Sym | None) -> None:
        source = stmt.args[0]
        if isinstance(source, Var) and source.name in self.active:
            self.add(source.name, g, owned=True)

    def _read(self, stmt: Assign, g: Sym | None) -> None:
        source = stmt.args[0]
        if isinstance(source, Var) and source.name in self.active:
            if _reflects(stmt.args[1]) and g is not None:  # read backwards, rather than added to zeros backwards
                self.add(source.name, self.builder.call("getitem", (g, self.operand(stmt.args[1])), self.builder.types[source.name]), owned=False)
            else:
                self.scatter(source.name, stmt.args[1], g)

    def _rule(self, stmt: Assign, bars: list[Sym | None]) -> None:
        if not any(self._takes(o) for o in (*stmt.args, *(v for _, v in stmt.kwargs))):
            return
        rule = lookup(stmt.op)
        if rule is None or (rule.partials is None and rule.adjoint is None):
            raise errors.NotDifferentiableError(
                f"`{stmt.op}` has no reverse rule", stmt.loc, reason="it is not in the table that `stgrad rules` shows", hint="write one: stgrad help extending"
            )
        args = tuple(self.operand(a) for a in stmt.args)
        kwargs = {k: self.operand(v) for k, v in stmt.kwargs}
        y = tuple(self.value(t.name, True) for t in stmt.targets)
        y_value = y if len(y) > 1 else y[0]
        if rule.partials is not None:
            cotangents = self._by_partials(rule, stmt, y_value, bars[0], args, kwargs)
        else:
            full = [b if b is not None or rule.absent else self._zeros(v) for b, v in zip(bars, y, strict=True)]
            assert rule.adjoint is not None
            cotangents = self.splice(self.builder, rule.adjoint, (y_value, tuple(full) if len(full) > 1 else full[0], *args), kwargs)
        self._distribute(stmt, cotangents, bars)

    def _zeros(self, like: Sym) -> Value:
        if not like.type.array:
            return _zero(like.type)
        return self.builder.call("np.zeros_like", (like,), like.type)

    def _by_partials(self, rule: Rule, stmt: Assign, y: Value, g: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        assert rule.partials is not None and self.place is not None
        start = len(self.builder.out)
        found = partials_of(self.splice, self.builder, rule, y, args, kwargs)
        if all(not self.builder.types[t.name].array for t in stmt.targets):
            by_twins(self.builder, start, self.place, self.placeholders, self.value)
        wanted = [isinstance(a, Var) and a.name in self.active for a in stmt.args]
        found += (None,) * (len(wanted) - len(found))
        self._all_there(stmt, found)
        careful = self.guards.meet(stmt)
        return tuple(self._times(stmt, g, p, careful) if want else None for p, want in zip(found, wanted, strict=False))

    def _all_there(self, stmt: Assign, cotangents: tuple[Value, ...]) -> None:
        """A rule says None for an argument in which it has no derivative: refused where one is needed."""
        missing = [i for i, (a, g) in enumerate(zip(stmt.args, cotangents, strict=False)) if g is None and self._takes(a)]
        missing += [i + len(stmt.args) for i, (_, v) in enumerate(stmt.kwargs) if self._takes(v)]
        if missing:
            which = f"argument {missing[0] + 1}" if missing[0] < len(stmt.args) else f"`{stmt.kwargs[missing[0] - len(stmt.args)][0]}`"
            raise errors.NotDifferentiableError(
                f"`{stmt.op}` has no derivative with respect to {which}", stmt.loc, hint="pass it as a constant: stgrad.stop_gradient(...)"
            )

    def _times(self, stmt: Assign, g: Value, p: Value, careful: bool) -> Value:
        if is_number(p):
            if p == 0:
                return 0.0
            if p == 1:
                return g
            if p == -1:
                return self.splice(self.builder, _negative, (g,), {})
        if isinstance(p, (complex, np.complexfloating)):
            p = p.conjugate()
        elif isinstance(p, Sym) and p.type.dtype.startswith("complex"):
            p = self.builder.call("np.conjugate", (p,), p.type)
        careful &= isinstance(g, Sym) and isinstance(p, Sym) and p.type.is_float
        return self.splice(self.builder, chosen(stmt, p) or (with_care if careful else _multiply), (g, p), {})

    def _distribute(self, stmt: Assign, cotangents: Value, bars: list[Sym | None]) -> None:
        """Hand the cotangents of a rule to its arguments: one for each array argument, position by position."""
        rule = lookup(stmt.op)
        if not isinstance(cotangents, tuple) or (rule is not None and rule.kind == "linear"):
            cotangents = (cotangents,)
        self._all_there(stmt, cotangents)
        takers = [a for a, g in zip(stmt.args, cotangents, strict=False) if g is not None and self._takes(a)]
        shared: set[str] = set()
        for argument, g in zip(stmt.args, cotangents, strict=False):
            pairs = zip(argument.items, g, strict=False) if isinstance(argument, Pack) and isinstance(g, tuple) else [(argument, g)]
            for target, cotangent in pairs:
                if isinstance(target, Var) and target.name in self.active and cotangent is not None:
                    self.add(target.name, cotangent, self._owned(cotangent, shared, len(takers) == 1 and isinstance(argument, Var)))

    def _takes(self, operand: Operand) -> bool:
        if isinstance(operand, Pack):
            return any(self._takes(o) for o in operand.items)
        return isinstance(operand, Var) and operand.name in self.active

    def _owned(self, g: Value, shared: set[str], alone: bool) -> bool:
        """Whether the array g can be kept: made here, and not handed to another argument too."""
        if not isinstance(g, Sym) or not g.type.array:
            return True
        root = g.name
        for made in reversed(self.builder.out):  # back to where its memory comes from
            if not isinstance(made, Assign) or made.targets != (Var(root),):
                continue
            source = viewed(made, self.builder.types)
            if readonly(made, self.builder.types) or (source is not None and not alone):
                return False
            if source is None:
                break
            root = source
        if root in shared or "§" in root:
            return False
        shared.add(root)
        return True

    def store(self, stmt: Store) -> None:
        """The adjoint of `y[i] = v` and `y[i] += v`: copy, zero, then add."""
        name = stmt.target.name
        if name not in self.active or (name not in self.shadows and name not in self.present):
            return
        target = self.value(self.shadows[name], True) if name in self.shadows else self.bar(name)
        index = operand_of(self.operand(stmt.index))
        t = self._indexed(target.type, stmt)
        if not target.type.rank:  # the number in an array without axes
            index, t = Pack(()), replace(t, array=False)
        active = isinstance(stmt.value, Var) and stmt.value.name in self.active
        g: Value = None
        repeated = stmt.mode == "set" and _may_repeat(stmt.index, self.builder.types)
        one = isinstance(stmt.index, Var) and target.type.rank == 1
        if active and repeated:  # of two writes to one place, the last one counts
            g = self.splice(self.builder, take_back if one else last_written, (target, self.operand(stmt.index)), {})
        elif active:
            g = self._read_bar(target, index, t)
            if t.array and (stmt.mode == "set" or index == ALL):
                g = self.builder.call("np.copy", (g,), t)
        if stmt.mode == "set" and not (active and repeated and one):
            zero = Const(_zero(replace(t, array=False, dims=())))
            self.builder.emit(Store(Var(target.name), index, zero, "set", self.builder.loc, self.builder.note))
        if active:
            assert isinstance(stmt.value, Var)
            self.add(stmt.value.name, g, owned=stmt.mode == "set" or index == ALL)

    def _read_bar(self, target: Sym, index: Operand, t: Type) -> Sym:
        if index == ALL:
            return target
        g = self.builder.variable("_t", t)
        self.builder.assign(g, "getitem", target.operand, index)
        return g

    def _indexed(self, t: Type, stmt: Store) -> Type:
        index = self.operand(stmt.index)
        return indexed_type(self.builder, t, index if isinstance(index, tuple) else (index,))

    def custom(self, stmt: Custom, instance: Callable[[Custom], tuple[Block, dict[str, str]]]) -> None:
        """The adjoint of a region with its own pullback: bind the bars, write the pullback, hand on its results."""
        taken = [self.take(o.name) for o in stmt.outputs]
        if all(g is None for g in taken):
            return
        body, names = instance(stmt)
        written = written_bars(stmt, self.builder.types)
        for bar, output, g in zip(stmt.bars, stmt.outputs, taken, strict=True):
            value = g if g is not None else self._zeros(self.value(output.name, True))
            target = Sym(Var(names.get(bar.name, bar.name)), self.builder.types[bar.name])
            self.builder.types[target.name] = target.type
            if target.type.array and bar.name in written:
                self.builder.assign(target, "np.copy", operand_of(value))
            else:
                self.builder.copy_to(target, value)
        self.builder.out.extend(body)
        for source, result in zip(stmt.inputs, stmt.results, strict=True):
            if isinstance(source, Var) and source.name in self.active and result != Const(None):
                g_name = names.get(result.name, result.name) if isinstance(result, Var) else None
                g_value: Value = Sym(Var(g_name), self.builder.types[g_name]) if g_name is not None else result.value  # type: ignore[union-attr]
                self.add(source.name, g_value, owned=False)


def written_bars(stmt: Custom, types: Any) -> set[str]:
    """What a rule is given and writes to, so that it needs memory of its own."""
    classes = Classes(stmt.pullback, types)
    stored_to = {classes.find(n) for n in stored(stmt.pullback)}
    return {bar.name for bar in stmt.bars if classes.find(bar.name) in stored_to}


def _multiply(g: Any, p: Any) -> Any:
    return g * p


def _negative(g: Any) -> Any:
    return -g


def _zero(t: Type) -> Any:
    return 0.0 if t.dtype == "float64" else np.dtype(t.dtype).type(0)


def _may_repeat(index: Operand, types: Any) -> bool:
    """Whether an index may name an entry twice: it holds an array of integers."""
    return any(types[n].array and types[n].dtype != "bool" for n in operand_vars(index))


def _reflects(index: Operand) -> bool:
    """Whether an index reads whole axes, some of them backwards: done twice, it changes nothing."""
    entries = entries_of(index)
    return Slice(NONE, NONE, Const(-1)) in entries and all(isinstance(e, Slice) and e.lower == e.upper == NONE and e.step in (NONE, Const(-1)) for e in entries)


def _is_mask(index: Operand, types: Any) -> bool:
    return all(types[n].dtype == "bool" for n in operand_vars(index) if types[n].array)


__all__ = ["Adjoints", "Splice", "written_bars"]
