"""What is known of the integers of a program at each place: values as sums of names, and inequalities that hold there.

    while i < n:        # i >= 0 from all that is ever assigned to it, i < n from the condition
        x[i]            # inside, until i changes
        i += 1

One walk keeps a `Known` in step with the statements. An entry speaks of the values that names have *now*: what is assigned is forgotten, or
moved along (`i += 1`). A loop forgets at its start all that its body assigns. So a name may have any number of definitions here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stgrad.analysis.affine import Affine, named, number
from stgrad.analysis.definitions import definitions
from stgrad.analysis.extents import Extents, parameter_extents
from stgrad.analysis.inequalities import contradictory
from stgrad.analysis.integers import EXTENT, Integers
from stgrad.analysis.intervals import LIMIT, Interval, intervals
from stgrad.ir import Assign, Const, For, Function, Operand, Var
from stgrad.ir.ops import operation
from stgrad.names import Names

MANY = 30  # facts that one proof looks at
Facts = tuple[Affine, ...]  # sums that are at least 0
Truth = tuple[Facts | None, Facts | None]  # what holds where a bool is true, and where it is false; None where it never is



@dataclass
class Known:
    """`values`: names as sums of others; `facts`; `truths`: what bools stand for; `ranges`: of all that is ever assigned to a name.

    `inside`: arrays all of whose items are positions of an axis of this extent.
    """

    integers: Integers
    ranges: Mapping[str, Interval]
    values: dict[str, Affine] = field(default_factory=dict)
    facts: tuple[Affine, ...] = ()
    truths: dict[str, Truth] = field(default_factory=dict)
    inside: frozenset[tuple[str, Affine]] = frozenset()
    spoken: set[str] = field(default_factory=set)  # names of which anything was said, here or at another place: new names need no search
    held: dict[Affine, frozenset[str]] = field(default_factory=dict)  # the answers of `names`

    def copy(self) -> Known:
        return replace(self, values=dict(self.values), truths=dict(self.truths))

    def fresh(self) -> Known:
        """Nothing but what holds everywhere."""
        return Known(self.integers, self.ranges, spoken=self.spoken, held=self.held)

    # ------------------------------------------------------------------ values

    def value(self, operand: Operand) -> Affine | None:
        """An integer as a sum of names and extents, by their values here; None for what is none."""
        if isinstance(operand, Var) and operand.name in self.values:
            return self.values[operand.name]
        return self.integers.value(operand)

    def extent(self, array: str, axis: int) -> Affine:
        """The extent of an array; one of which nothing is known is read where it is needed."""
        dims = self.integers.types[array].dims
        known = self.integers.shape(array, axis) if dims[axis].constant is None else number(dims[axis].offset)
        if known is not None:
            return known
        symbol = f"{array}.shape[{axis}]"
        self.integers.extents.sources.setdefault(symbol, (array, axis, 0))
        return named(EXTENT + symbol)

    def names(self, total: Affine) -> frozenset[str]:
        """The variables that a sum reads; those of extents of parameters, which never change, are left out."""
        found = self.held.get(total)
        if found is None:
            found = self.held[total] = frozenset(n for part in total.names() for n in self._holders(part))
        return found

    def _holders(self, part: str) -> tuple[str, ...]:
        if not part.startswith(EXTENT):
            return (part,)
        symbol = part.removeprefix(EXTENT)
        return () if symbol in self.integers.extents.trusted else (self.integers.extents.sources[symbol][0],)

    # ------------------------------------------------------------------ changes

    def say(self, *facts: Affine) -> None:
        """These sums are at least 0 from here on."""
        self.facts += facts
        self._spoke(*facts)

    def within(self, name: str, extent: Affine) -> None:
        """All items of an array are positions of an axis of this extent."""
        self.inside |= {(name, extent)}
        self.spoken.add(name)
        self._spoke(extent)

    def _spoke(self, *totals: Affine) -> None:
        self.spoken.update(*map(self.names, totals))

    def forget(self, names: Iterable[str]) -> None:
        """What these names were, and all that was said with them."""
        gone = self.spoken.intersection(names)
        if not gone:
            return
        self.values = {n: v for n, v in self.values.items() if n not in gone and gone.isdisjoint(self.names(v))}
        self.facts = self._without(self.facts, gone)
        self.inside = frozenset((n, extent) for n, extent in self.inside if n not in gone and gone.isdisjoint(self.names(extent)))
        self.truths = {n: (self._kept(a, gone), self._kept(b, gone)) for n, (a, b) in self.truths.items() if n not in gone}

    def _without(self, facts: Facts, gone: set[str]) -> Facts:
        return tuple(f for f in facts if gone.isdisjoint(self.names(f)))

    def _kept(self, facts: Facts | None, gone: set[str]) -> Facts | None:
        return None if facts is None else self._without(facts, gone)

    def assign(self, stmt: Assign) -> None:
        """One assignment has run."""
        if len(stmt.targets) != 1:
            self.forget(t.name for t in stmt.targets)
            return
        name = stmt.target.name
        parts = [self.value(a) for a in stmt.args]
        total, truth, said = self._sum(stmt, parts), self._truth(stmt, parts), self._said(stmt, parts)
        step = None if total is None else total - named(name)
        if step is not None and step != total and name not in self.names(step):
            self._move(name, step)
        else:
            self.forget((name,))
            if total is not None and name not in self.names(total) and total != named(name):
                self.values[name] = total
                self.spoken.add(name)
                self._spoke(total)
        self.say(*(f for f in said if name in self.names(f) and not self._old(name, f, parts)))
        if truth is not None or self.integers.types[name].dtype == "bool":
            true, false = truth or ((), ())
            self.truths[name] = (self._kept(true, {name}), self._kept(false, {name}))
            self.spoken.add(name)
            self._spoke(*(true or ()), *(false or ()))

    def _old(self, name: str, fact: Affine, parts: Iterable[Affine | None]) -> bool:
        """Whether a fact about the new value of a name also speaks of its old one."""
        return any(p is not None and name in self.names(p) for p in parts)

    def _move(self, name: str, step: Affine) -> None:
        """After `name += step`: what was said of the old value, said of the new one."""

        def moved(total: Affine) -> Affine:
            factor = dict(total.terms).get(name)
            return total if factor is None else total - step.scaled(factor)

        self._spoke(step)
        products = {n for n, v in self.values.items() if self._in_product(name, v)}
        self.values = {n: moved(v) for n, v in self.values.items() if n not in products and n != name}
        self.facts = tuple(moved(f) for f in self.facts if not self._in_product(name, f))
        self.truths = {n: (self._kept(a, {name}), self._kept(b, {name})) for n, (a, b) in self.truths.items() if n != name}

    def _in_product(self, name: str, total: Affine) -> bool:
        return any("*" in key and name in key.split("*") for key, _ in total.terms)

    def _sum(self, stmt: Assign, parts: list[Affine | None]) -> Affine | None:
        if not self.integers.is_integer(stmt.target.name):
            return None
        match stmt.op, stmt.args, parts:
            case "shape", (Var(name=array), Const(value=int() as axis)), _:
                return self.extent(array, axis)
            case "np.add", _, [Affine() as a, Affine() as b]:
                return a + b
            case "np.subtract", _, [Affine() as a, Affine() as b]:
                return a - b
            case "np.multiply", _, [Affine() as a, Affine() as b]:
                return a.times(b)
            case "np.negative", _, [Affine() as a]:
                return a.scaled(-1)
            case ("alias" | "int" | "stop_gradient"), _, [Affine() as a]:
                return a
            case ("max" | "np.maximum"), _, [Affine() as a, Affine() as b]:
                return a if self.proves(a - b) else b if self.proves(b - a) else None
            case ("min" | "np.minimum"), _, [Affine() as a, Affine() as b]:
                return b if self.proves(a - b) else a if self.proves(b - a) else None
        return None

    def _said(self, stmt: Assign, parts: list[Affine | None]) -> Facts:
        """What the operation that made an integer says of it."""
        t = named(stmt.target.name)
        room = operation(stmt.op).room
        if room is not None and isinstance(count := parts[room], Affine):
            return (self.extent(stmt.target.name, 0) - count - number(1),)
        if not self.integers.is_integer(stmt.target.name):
            return ()
        match stmt.op, parts:
            case ("max" | "np.maximum"), [Affine() as a, Affine() as b]:
                return (t - a, t - b)
            case ("min" | "np.minimum"), [Affine() as a, Affine() as b]:
                return (a - t, b - t)
            case "np.floor_divide", [Affine() as a, Affine(terms=(), constant=by)] if by > 0:
                return (a - t.scaled(by), t.scaled(by) + Affine((), by - 1) - a)
            case "np.remainder", [_, Affine() as by] if self.proves(by - number(1)):
                return (t, by - number(1) - t)
            case "np.absolute", [Affine() as a]:
                return (t, t - a, t + a)
        return ()

    # ------------------------------------------------------------------- truth

    def _truth(self, stmt: Assign, parts: list[Affine | None]) -> Truth | None:
        match stmt.op, parts:
            case op, [Affine() as a, Affine() as b] if (symbol := operation(op).symbol) in ("<", "<=", ">", ">="):
                ahead, less = b - a if symbol[0] == "<" else a - b, len(symbol) - 2
                return (ahead + number(less),), (number(-1 - less) - ahead,)
            case "np.equal", [Affine() as a, Affine() as b]:
                return (a - b, b - a), self._apart(a, b)
            case "np.not_equal", [Affine() as a, Affine() as b]:
                return self._apart(a, b), (a - b, b - a)
            case "np.logical_and", _:
                return self._both([self.truths.get(a.name) if isinstance(a, Var) else None for a in stmt.args])
        argument = stmt.args[0] if stmt.args else None
        if stmt.op == "alias" and isinstance(argument, Const) and isinstance(argument.value, bool):
            return ((), None) if argument.value else (None, ())
        if not isinstance(argument, Var) or argument.name not in self.truths:
            return None
        true, false = self.truths[argument.name]
        return (false, true) if stmt.op == "not" else (true, false) if stmt.op in ("alias", "bool") else None

    def _apart(self, a: Affine, b: Affine) -> Facts:
        """What follows where two sums are not equal of which one is at least the other."""
        return tuple(ahead - number(1) for ahead in (a - b, b - a) if self.proves(ahead))

    def _both(self, truths: Sequence[Truth | None]) -> Truth:
        """Of `a and b`: where it is true, all that holds where both are."""
        true = [t[0] for t in truths if t is not None]
        return (None if None in true else _united((), tuple(f for facts in true for f in facts or ()))), ()

    def where(self, condition: Operand, holds: bool) -> Known:
        """What is known in the branch in which a condition holds, or does not."""
        there = self.copy()
        if isinstance(condition, Var) and condition.name in self.truths:
            there.facts = _united(there.facts, self.truths[condition.name][0 if holds else 1] or ())
        return there

    def excludes(self, condition: Operand, holds: bool) -> bool:
        """Whether a condition never holds here, or always does: what would be so contradicts what is known."""
        if isinstance(condition, Const):
            return bool(condition.value) is not holds
        if not isinstance(condition, Var) or condition.name not in self.truths:
            return False
        said = self.truths[condition.name][0 if holds else 1]
        return said is None or any(self.proves(number(-1) - fact) for fact in said)

    def join(self, a: Known, b: Known) -> None:
        """Take over what both branches of an `if` end with."""
        self.values = {n: v for n, v in a.values.items() if b.values.get(n) == v}
        self.facts = tuple(f for f in a.facts if f in b.facts)
        held = set(self.facts)  # by all truths, too: said once
        either = {n: (_either(a, b, n, 0), _either(a, b, n, 1)) for n in a.truths if n in b.truths}
        self.truths = {n: (_less(true, held), _less(false, held)) for n, (true, false) in either.items()}
        self.inside = a.inside & b.inside

    def take(self, other: Known) -> None:
        """What is known is what another one knows."""
        self.join(other, other)

    def body(self, loop: For, changed: set[str]) -> Known:
        """What is known in the body of a loop that assigns these names; what is left here holds behind it."""
        bounds = [self.value(end) for end in (loop.start, loop.stop)]
        self.forget(changed)
        inside = self.copy()
        inside.enter(loop, *(None if t is None or self.names(t) & changed else t for t in bounds))
        return inside

    def enter(self, loop: For, start: Affine | None, stop: Affine | None) -> None:
        """In the body of a loop, whose bounds are what they were before it."""
        step = loop.step.value if isinstance(loop.step, Const) else 0
        counter = named(loop.var.name)
        first, last = (start, stop) if step > 0 else (stop, start)
        gap = 0 if step > 0 else 1
        if step and first is not None:
            self.say(counter - first - number(gap))
        if step and last is not None:
            self.say(last - counter - number(1 - gap))

    # ------------------------------------------------------------------ proofs

    def proves(self, total: Affine) -> bool:
        """Whether a sum is at least 0 here."""
        if not total.terms:
            return total.constant >= 0
        return self.integers.nonnegative(total) or contradictory([], [number(-1) - total, *self._about(total)])

    def _about(self, total: Affine) -> list[Affine]:
        """The facts that speak of the names of a sum, or of names in those facts, and the ranges of all of them."""
        keys, found, rest = {k for k, _ in total.terms}, list[Affine](), list(dict.fromkeys(self.facts))
        while len(found) < MANY:
            near = [f for f in rest if any(k in keys for k, _ in f.terms)]
            if not near:
                break
            found += near
            rest = [f for f in rest if f not in near]
            keys |= {k for f in near for k, _ in f.terms}
        return [*found[:MANY], *(bound for key in sorted(keys) for bound in self._range(key))]

    def _range(self, key: str) -> list[Affine]:
        if self.integers.is_natural(key):
            return [named(key)]
        low, high = self.ranges.get(key, (-LIMIT, LIMIT))
        below = [named(key) - number(low)] if low > -LIMIT // 2 else []
        return below + ([number(high) - named(key)] if high < LIMIT // 2 else [])


def at_start(fn: Function, extents: Extents | None = None) -> Known:
    """What is known where a program begins, whose extents are those of its arguments."""
    sources = dict(parameter_extents(fn))
    extents = extents or Extents(Names(), dict(fn.types), sources, frozenset(sources))
    return Known(Integers(fn.types, definitions(fn), extents), intervals(fn))


def _either(a: Known, b: Known, name: str, side: int) -> Facts | None:
    """What holds where a bool that two branches assign is true (or false): it came from one in which it may be."""
    ours, theirs = a.truths[name][side], b.truths[name][side]
    if ours is None or theirs is None:
        return None if ours is theirs else _united(a.facts, ours) if ours is not None else _united(b.facts, theirs or ())
    both = {*b.facts, *theirs}
    return tuple(f for f in _united(a.facts, ours) if f in both)


def _united(a: Facts, b: Facts) -> Facts:
    """Each fact once: a truth that comes from a branch says all that held there, and is read in branches that know the same."""
    return tuple(dict.fromkeys((*a, *b)))


def _less(facts: Facts | None, held: set[Affine]) -> Facts | None:
    return None if facts is None else tuple(f for f in facts if f not in held)
