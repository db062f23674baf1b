"""A program as two: one of what does not depend on some of its parameters, and one of the rest, which runs again for each of their values.

    def f_vjp(x, y_bar):                def forward(x):                         def reverse(t, y_bar):
        y = np.sin(x)           ->          return np.sin(x), np.cos(x)             return y_bar * t
        return y, y_bar * np.cos(x)

What the second reads of the first are the residuals: results of the one, parameters of the other. They belong to nobody else: what is an argument, a
captured array or part of the value is copied, so that whoever writes to those changes no derivative. What the second program writes to among
them it copies first, so that it can be called again. A statement that costs next to nothing is done in the second program, where that keeps no
more: a view, zeros, `1 - y * y`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad.analysis.alias import Classes, aliases
from stgrad.analysis.binding_times import divided, stacks_of
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import parameter_extents
from stgrad.analysis.liveness import ContentLiveness
from stgrad.analysis.trips import INT
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Dim,
    Effect,
    Function,
    Operand,
    Pack,
    Stmt,
    Type,
    Var,
    assigned,
    assigns,
    certain,
    entries_of,
    exposed,
    map_blocks,
    map_operand,
    operand_vars,
    read,
    rename,
    stored,
)
from stgrad.ir.ops import contents, operation
from stgrad.names import Names
from stgrad.transforms.dead import eliminate_dead
from stgrad.transforms.ownership import own_results
from stgrad.transforms.simplify import simplify

CHEAP = 2  # additions for an element: loading the result from memory costs as much


@dataclass(frozen=True)
class Halves:
    """`forward` gives the values and then the residuals, of types `kept`; `reverse` takes the residuals and then the late parameters."""

    forward: Function
    reverse: Function
    kept: tuple[Type, ...]


def halves(fn: Function, late: Sequence[str], values: int) -> Halves | None:
    """The two programs of one; its first results, so many, are those of the first.

    None where its sweeps share what cannot be passed on, or a value depends on the late parameters, as where only these tell how much is kept.

    Args:
        fn: a program whose lists have their places.
        late: parameters of the second program.
        values: the number of results of the first.
    """
    early, behind = divided(fn, late)
    if _names(entries_of(fn.result)[:values]) & assigned(behind):
        return None
    early, behind = _sunk(fn, early, behind, entries_of(fn.result)[:values])
    return _Cut(fn, late, values).made(early, behind)


def repeated(fn: Function, late: Sequence[str], values: int) -> Halves:
    """The same where nothing is passed on but arguments: the second program does all over again."""
    classes = aliases(fn)
    early = divided(fn, late)[0]  # tests of the reverse sweep, which nothing reads, wait for it
    early = eliminate_dead(early, _names(entries_of(fn.result)[:values]), fn.types, classes)
    found = _Cut(fn, late, values).made(early, _silent(fn.body), again=True)
    assert found is not None, "arguments can be passed on"
    return found


def _silent(block: Block) -> Block:
    """A block without what it prints: that was seen once."""
    return tuple(map_blocks(_silent, s) for s in block if not (isinstance(s, Effect) and s.op == "print"))


def _renaming(names: Mapping[str, str]) -> Callable[[Any], Any]:
    return lambda operand: Var(names.get(operand.name, operand.name)) if isinstance(operand, Var) else operand


def _names(operands: Sequence[Operand]) -> set[str]:
    return {n for o in operands for n in operand_vars(o)}


# --------------------------------------------------------------------------- what is done in the second program


def _sunk(fn: Function, early: Block, behind: Block, values: Sequence[Operand]) -> tuple[Block, Block]:
    """The statements with cheap ones moved behind, last one first: what only the second program reads, of what it reads anyway."""
    classes, counts = aliases(fn), Counter(n for stmt in early for n in assigned((stmt,)))
    needed = _names(values)
    bound, written = set[str](), set[str]()  # by the early statements behind this one
    wanted = exposed(behind) | _names(entries_of(fn.result))
    kept: list[Stmt] = []
    for stmt in reversed(early):
        names = set(assigns(stmt))
        if isinstance(stmt, Assign) and names & wanted and not names & needed and not any(counts[n] > 1 for n in names):
            free = not set(read((stmt,))) & bound and not {classes.find(n) for n in contents(stmt) if fn.types[n].array} & written
            if free and _is_cheap(stmt, fn, wanted):
                behind = (stmt, *behind)
                wanted = wanted - names | exposed((stmt,))
                continue
        kept.append(stmt)
        needed |= exposed((stmt,))
        bound |= assigned((stmt,))
        written |= {classes.find(n) for n in stored((stmt,))}
    return tuple(reversed(kept)), behind


def _is_cheap(stmt: Assign, fn: Function, wanted: frozenset[str] | set[str]) -> bool:
    """Whether to do a statement again costs no more than to keep its result: it is new, or made of what is kept anyway."""
    known, arrays = operation(stmt.op), {n for n in contents(stmt) if n in fn.types and fn.types[n].array}
    if not fn.types[stmt.targets[0].name].array:
        return stmt.op == "alias" and isinstance(stmt.args[0], Const)
    if known.kind in ("creation", "like"):
        return True
    if known.reorders or known.made in ("reshaped", "rowwise"):  # the same numbers under another name
        return True
    views = known.views is not None and known.sharing in ("always", "maybe") and known.kind in ("element", "move", "identity")
    return arrays <= wanted and (views or known.fused and known.cost is not None and known.cost <= CHEAP)


# --------------------------------------------------------------------------- the cut


@dataclass
class _Cut:
    """Two blocks of a program become two functions; built and used up inside `halves`."""

    fn: Function
    late: Sequence[str]
    values: int
    classes: Classes = field(init=False)
    names: Names = field(init=False)
    types: dict[str, Type] = field(init=False)
    later: dict[str, str] = field(default_factory=dict)  # names of the second program for what it is given, and never binds itself

    def __post_init__(self) -> None:
        self.classes, self.types = aliases(self.fn), dict(self.fn.types)
        self.names = Names([*self.fn.types, *(p.name for p in self.fn.params)])

    def made(self, early: Block, behind: Block, again: bool = False) -> Halves | None:
        """The two functions; `again`: the second does all that the first does, and is given the parameters, which share no memory."""
        results = entries_of(self.fn.result)[self.values :]
        behind = eliminate_dead(behind, _names(results), self.types, self.classes)
        made_early = {p.name for p in self.early_params()} | (set() if again else assigned(early))
        crossing = sorted((exposed(behind) | (_names(results) - certain(behind))) & made_early)
        if not again and (stacks_of(early) & stacks_of(behind) or not self._separate(crossing, behind)):
            return None
        first, start, kept, params = self.passed(crossing, behind, results)
        defaults = self.defaults(crossing, early)
        forward = self.function("forward", (*defaults, *early, *first), (*entries_of(self.fn.result)[: self.values], *kept), self.early_params())
        named = self.later | {p.name: self._kept(p.name) for p in params if p.name.startswith("_")}
        leaf = _renaming(named)
        behind, results, params = rename((*start, *behind), named), tuple(map_operand(leaf, r) for r in results), [leaf(p) for p in params]
        reverse = self.function("reverse", behind, results, (*params, *(Var(n) for n in self.late)))
        return Halves(simplify(own_results(forward, moved=True)), simplify(own_results(reverse, moved=True)), tuple(self.types[p.name] for p in params))

    def _kept(self, temporary: str) -> str:
        """A name that can be read, for a parameter that had none of its own."""
        name = self.names.fresh("kept")
        self.types[name] = self.types[temporary]
        return name

    def early_params(self) -> tuple[Var, ...]:
        return tuple(p for p in self.fn.params if p.name not in self.late)

    def function(self, what: str, body: Block, results: Sequence[Operand], params: tuple[Var, ...]) -> Function:
        constants = self.fn.constants if what == "forward" else {}
        name = f"{self.fn.name.removesuffix('_grad')}_{what}"
        result = results[0] if len(results) == 1 else Pack(tuple(results))
        return replace(self.fn, name=name, params=params, body=body, result=result, types=dict(self.types), constants=constants, defaults={})

    def _separate(self, crossing: Sequence[str], behind: Block) -> bool:
        """Whether no array that the second program writes to is kept under two names."""
        written = [self.classes.find(n) for n in stored(behind)]
        held = [self.classes.find(n) for n in crossing if self.types[n].array]
        return all(held.count(c) < 2 for c in written)

    def defaults(self, crossing: Sequence[str], early: Block) -> Block:
        """Values for names that some path leaves without one: nothing reads them then, but they are passed on."""
        bound = certain(early) | {p.name for p in self.fn.params}
        return tuple(self._nothing(n) for n in crossing if n not in bound)

    def _nothing(self, name: str) -> Stmt:
        t = self.types[name]
        dtype = np.dtype(t.dtype).type
        if not t.array:
            value = dtype(0)
            return Assign((Var(name),), "alias", (Const(value.item() if t.weak else value),))
        return Assign((Var(name),), "np.empty", (Pack(tuple(Const(d.constant or 0) for d in t.dims)), Const(dtype)))

    def passed(self, crossing: Sequence[str], behind: Block, results: Sequence[Operand]) -> tuple[Block, Block, list[Operand], list[Var]]:
        """What ends the first program and starts the second, what the one returns and the other takes."""
        looked = ContentLiveness(behind, _names(results)).before
        written = {self.classes.find(n) for n in stored(behind)}
        fleeting, bound = self._fleeting(), assigned(behind)
        first, start, kept, params = list[Stmt](), list[Stmt](), list[Operand](), list[Var]()
        for name in crossing:
            own = self._own_type(self.types[name], fleeting)
            if own.array and name not in looked:
                self._extents_alone(name, own, first, start, kept, params)
                self._settle(name, own, bound)
                continue
            kept.append(Var(name))
            if own == self.types[name] and not (self.types[name].array and self.classes.find(name) in written):
                params.append(Var(name))
                continue
            taken = Var(self.names.fresh(name))
            self.types[taken.name] = own
            params.append(taken)
            start.append(Assign((Var(name),), "np.copy" if self.types[name].array and self.classes.find(name) in written else "alias", (taken,)))
            self._settle(name, own, bound)
        return tuple(first), tuple(start), kept, params

    def _settle(self, name: str, own: Type, bound: Collection[str]) -> None:
        """A name that is bound once from here on has extents of its own: those of its type are those of other times, too."""
        if own != self.types[name] and name not in bound:
            self.later[name] = self.names.fresh(name)
            self.types[self.later[name]] = own

    def _fleeting(self) -> set[str]:
        """Symbols that may mean other extents at one time than at another: those of names that are bound more than once, or in a loop."""
        top = {n for stmt in self.fn.body for n in assigns(stmt)} | {p.name for p in self.fn.params}
        counts = definitions(self.fn).counts
        moving = [t for name, t in self.fn.types.items() if name not in top or counts[name] > 1]
        found = {d.symbol for t in moving for d in (*t.dims, t.value) if d is not None and d.symbol is not None}
        return found - parameter_extents(self.fn).keys()

    def _own_type(self, t: Type, fleeting: Collection[str]) -> Type:
        """The type of a residual: fleeting symbols are not those of the second program, where they would stand for one extent."""
        dims = tuple(Dim(self.names.fresh("kept")) if d.symbol in fleeting else d for d in t.dims)
        return replace(t, dims=dims, value=None if t.value is not None and t.value.symbol in fleeting else t.value)

    def _extents_alone(self, name: str, own: Type, first: list[Stmt], start: list[Stmt], kept: list[Operand], params: list[Var]) -> None:
        """An array of which the second program reads nothing but the extents: these are passed on."""
        sizes = list[Operand]()
        for axis, dim in enumerate(own.dims):
            if dim.constant is not None:
                sizes.append(Const(dim.constant))
                continue
            size = Var(self.names.fresh("_t"))
            self.types[size.name] = replace(INT, value=dim)
            first.append(Assign((size,), "shape", (Var(name), Const(axis))))
            sizes.append(size)
            kept.append(size)
            params.append(size)
        shape = sizes[0] if len(sizes) == 1 else Pack(tuple(sizes))
        start.append(Assign((Var(name),), "np.empty", (shape, Const(np.dtype(own.dtype).type))))


__all__ = ["Halves", "halves", "repeated"]
