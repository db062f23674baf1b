"""What only adds multiples of a cotangent is left out where that cotangent is zero.

    z = d if hit else 0.0                      z = d if hit else 0.0
    for k in range(n):                  ->     if z != 0.0:
        x_bar[k] += z * w[k]                       for k in range(n):
                                                       x_bar[k] += z * w[k]

The derivative of a minimum, of a cutoff, or of what a mask chooses, meets few of the elements: the nearest of many points, the cells of one path through
a table. Where it is zero (`sparse`), so is all that follows from it, loops and single statements; a factor that might be infinite is taken for zero
there, and a test for that is not made where the cotangent is known not to be zero. Statements stay as they are where a loop of them runs several trips at
once, which a branch would stop. Arrays of the compiler that only such statements read are not kept for them: their elements are made where they are
read (`late`).

    >>> import numpy as np
    >>> import stgrad
    >>> def nearest(x, y):
    ...     return np.sum(np.min(np.sum((x[:, None] - y) ** 2, axis=2), axis=1))
    >>> text = stgrad.grad(nearest).lowered(np.ones((4, 3)), np.ones((5, 3)))
    >>> "isfinite" in text, "if t" in text
    (False, True)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

from stgrad.analysis.liveness import Liveness, liveness
from stgrad.analysis.packing import Packing
from stgrad.analysis.sparse import ZERO, chosen, infinite_tests, sparse
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    exposed,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.ir.ops import FUNCTION, operation
from stgrad.names import Names
from stgrad.transforms.lower.late import late

BOOL = Type("bool")
Places = dict[str, int]
Tests = dict[str, list[tuple[int, str]]]
WORK = 8  # additions that a branch, which processors guess wrong now and then, may cost
TRIES = 4  # to find such statements behind others
NEAR = 8  # statements between a cotangent that was read from an element and those that store to it
FREED = 2  # guards that a branch has to save where processors guess right


def hits(fn: Function) -> Function:
    """The program with tests of zero cotangents before what they make useless."""
    often, guarded = sparse(fn), _often_guarded(fn)
    if not often.sources and not guarded:
        return fn
    cotangents = frozenset(n for s in walk(fn.body) if isinstance(s, Assign) and s.note is not None for n in assigns(s))
    names = Names([*fn.types, *(p.name for p in fn.params)])
    state = _Hits(dict(fn.types), names, often.sources, guarded - often.names, cotangents, infinite_tests(fn), Packing.of(fn))
    body = state.block(fn.body, None, often.names | guarded, liveness(fn))
    return late(replace(fn, body=body, types=state.types), frozenset(state.guards)) if state.guards else fn


@dataclass
class _Hits:
    types: dict[str, Type]
    names: Names
    sources: frozenset[str]
    dense: frozenset[str]  # cotangents that are seldom zero, of which several guards say what happens then
    cotangents: frozenset[str]  # what statements of the derivative bind
    infinite: frozenset[str]  # tests for an infinite factor beside a zero
    packing: Packing
    guards: list[str] = field(default_factory=list)  # the tests that were made

    def block(self, statements: Block, loop: For | While | None, worthy: frozenset[str], live: Liveness) -> Block:
        """A block in the innermost `loop`; `worthy` cotangents may be tested there."""
        result: list[Stmt] = []
        looked: dict[str, list[int]] = {}  # known cotangents, each with the places up to which nothing is to be had, one for each try
        tests = _tests(statements) if loop else {}
        known = dict.fromkeys(sorted(worthy & exposed(statements)) if loop else (), -1)  # and the place where each is bound
        at = 0
        while at < len(statements):
            found = self.region(statements, at, known, looked, tests, loop, live) if loop else None
            if found is not None:
                behind = live.after[id(statements[at + len(found.body) - 1])]
                result += self.guarded(found, loop, worthy, Liveness(found.body, behind))
                at += len(found.body)
                bound = assigned(found.body)  # sums among them
                known = {n: at if n in bound else place for n, place in known.items() if n not in found.changed}
                continue
            stmt = statements[at]
            inner = stmt if isinstance(stmt, (For, While)) else loop
            result.append(map_blocks(lambda b, inner=inner: self.block(b, inner, worthy, live), stmt))  # type: ignore[misc]
            for name in sorted(worthy & assigned((stmt,))) if loop else ():
                known[name] = at
                looked.pop(name, None)
            at += 1
        return tuple(result)

    def region(
        self, statements: Block, at: int, known: Places, looked: dict[str, list[int]], tests: Tests, loop: For | While, live: Liveness,
    ) -> _Region | None:  # fmt: skip
        """The longest run of statements from a place on that a cotangent makes useless; None where there is none that is worth a test."""
        best: _Region | None = None
        for zero, place in known.items():
            tried = looked.setdefault(zero, [])
            if self.types[zero].array or tried and tried[-1] > at or len(tried) >= TRIES:
                continue
            found = _Region(self.types, self.infinite, zero, zero in self.cotangents)
            found.false |= {name for k, name in tests.get(zero, ()) if place <= k < at}
            found.cell = _element(zero, statements[max(place, 0) : at]) if at - place <= NEAR else None
            tried.append(at + found.take(statements[at:], live))
            if found.adds and self.worth(found, loop) and (best is None or len(found.body) > len(best.body)):
                best = found
        return best

    def worth(self, found: _Region, loop: For | While) -> bool:
        if found.zero in self.dense and found.freed < FREED:
            return False
        if any(isinstance(s, For) for s in found.body):
            return True
        if isinstance(loop, For) and self.packing.fits(loop):
            return False
        return found.zero in self.dense or sum(map(_cost, walk(found.body))) > WORK

    def guarded(self, found: _Region, loop: For | While | None, worthy: frozenset[str], live: Liveness) -> list[Stmt]:
        """The statements under a test. What is zero for no other reason is not tested among them."""
        test = Var(self.names.fresh("_t"))
        self.types[test.name] = BOOL
        self.guards.append(test.name)
        none = tuple(Assign((Var(n),), "alias", (ZERO,)) for n in sorted(found.left))
        body = self.block(found.body, loop, worthy - (found.none - self.sources - self.dense) - {found.zero}, live)
        return [Assign((test,), "np.not_equal", (Var(found.zero), ZERO)), If(test, body, none)]


def _often_guarded(fn: Function) -> frozenset[str]:
    """Cotangents that are tested, each for several infinite factors."""
    tests = {s.target.name: found for s in walk(fn.body) if isinstance(s, Assign) and len(s.targets) == 1 and (found := _tested(s))}
    uses = Counter(tests[n] for s in walk(fn.body) if isinstance(s, Assign) and s.op == "np.logical_and" for n in reads(s) if n in tests)
    return frozenset(n for n, count in uses.items() if count >= FREED)


def _tests(statements: Block) -> Tests:
    """The tests in a block of whether a name is zero, and of that and something else: each with its place."""
    found: Tests = {}
    about: dict[str, str] = {}
    for k, stmt in enumerate(statements):
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            continue
        asked = [about[n] for n in reads(stmt) if n in about] if stmt.op == "np.logical_and" else []
        for zero in (_tested(stmt), *asked):
            if zero:
                about[stmt.target.name] = zero
                found.setdefault(zero, []).append((k, stmt.target.name))
    return found


def _is_finite(operand: Operand) -> bool:
    return isinstance(operand, Const) and isinstance(operand.value, (int, float)) and isfinite(operand.value)


def _divides(operand: Operand) -> bool:
    """Whether what is divided by it is zero where it was."""
    return _is_finite(operand) and operand != ZERO


def _cost(stmt: Stmt) -> int:
    if isinstance(stmt, Store):
        return 1
    known = operation(stmt.op) if isinstance(stmt, Assign) else None
    return 0 if known is None else 1 if known.signs else FUNCTION if known.cost is None else known.cost


def _tested(stmt: Stmt) -> str:
    """The name that `t = z == 0.0` tests."""
    if isinstance(stmt, Assign) and stmt.op == "np.equal" and stmt.args[1] == ZERO and isinstance(stmt.args[0], Var):
        return stmt.args[0].name
    return ""


def _element(zero: str, before: Sequence[Stmt]) -> tuple[Operand, Operand] | None:
    """The array and the index that a cotangent was read from, by the first of some statements, if the others compute numbers alone."""
    first = before[0] if before else None
    if not isinstance(first, Assign) or first.op != "getitem" or first.target.name != zero:
        return None
    parts = {n for a in first.args for n in operand_vars(a)}
    plain = all(isinstance(s, Assign) and not s.kwargs and parts.isdisjoint(assigned((s,))) for s in before[1:])
    return (first.args[0], first.args[1]) if plain else None


@dataclass
class _Region:
    """Statements that add nothing where `zero` is zero: as they run where it is not.

    Attributes:
        cotangent: whether `zero` is known to be one, so that it wins over an infinite factor.
        none: names that are zero whenever that is; `same`: those that are zero only then.
        false: tests that fail where it is not; `finite`: names that are finite then.
        changed: names that the statements bind, but for sums; `left`: those that are read behind them, and are zero then.
        adds: whether they add to anything; `cell`: the array and the index that `zero` was read from, as long as both say so.
        freed: how many tests for an infinite factor are none any more.
    """

    types: dict[str, Type]
    infinite: frozenset[str]
    zero: str
    cotangent: bool
    none: set[str] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    false: set[str] = field(default_factory=set)
    finite: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    left: frozenset[str] = frozenset()
    body: Block = ()
    adds: bool = False
    cell: tuple[Operand, Operand] | None = None
    freed: int = 0

    def take(self, statements: Sequence[Stmt], live: Liveness) -> int:
        """Take statements as long as they have no other effect, and what they make is not read behind the last one.

        Gives the number of statements from which on another try may find more.
        """
        self.none.add(self.zero)
        self.same.add(self.zero)
        taken: list[Stmt] = []
        binding: dict[str, int] = {}  # where each name was bound first
        missing: set[str] = set()
        good: tuple[int, bool, frozenset[str], frozenset[str]] = (0, False, frozenset(), frozenset())
        for stmt in statements:
            made = self.statement(stmt)
            if made is None:
                break
            for name in self.changed - binding.keys():
                binding[name] = len(taken)
            taken.append(made)
            behind = live.after[id(stmt)] & self.changed
            missing = {n for n in behind if n not in self.none or self.types[n].dtype != "float64" or self.types[n].array}
            if not missing:
                good = len(taken), self.adds, frozenset(behind), frozenset(self.changed)
        count, self.adds, self.left, changed = good
        self.body, self.changed = tuple(taken[:count]), set(changed)
        return min((binding[n] for n in missing), default=len(taken)) + 1

    def test(self, stmt: Stmt) -> None:
        """Note which tests of zeros fail here."""
        if isinstance(stmt, Assign) and len(stmt.targets) == 1:
            both = stmt.op == "np.logical_and" and any(isinstance(a, Var) and a.name in self.false for a in stmt.args)
            (self.false.add if both or _tested(stmt) in self.same else self.false.discard)(stmt.target.name)

    def block(self, statements: Block) -> Block | None:
        made = [self.statement(s) for s in statements]
        return None if None in made else tuple(s for s in made if s is not None)

    def statement(self, stmt: Stmt) -> Stmt | None:
        """A statement as it runs here; None where it has an effect that need not vanish."""
        if isinstance(stmt, For):
            return self.loop(stmt)
        if isinstance(stmt, Store):
            return stmt if self.stores_nothing(stmt) else None
        if isinstance(stmt, If):
            return self.choice(stmt)
        return stmt if isinstance(stmt, Assign) and self.assign(stmt) else None

    def stores_nothing(self, stmt: Store) -> bool:
        if stmt.mode == "set" and (stmt.target, stmt.index) != self.cell or stmt.mode == "add_at" or not (stmt.value == ZERO or self.vanishes(stmt.value)):
            return False
        self.adds = True
        return True

    def loop(self, stmt: For) -> Stmt | None:
        """A loop: what is zero before each of its trips is so before the first, and behind each."""
        bound = assigned(stmt.body) | {stmt.var.name}
        self.forget(bound)
        before, changed, adds = set(self.none), set(self.changed), self.adds
        stays = before & bound
        while True:
            self.none, self.changed, self.adds = before - bound | stays, set(changed), adds
            body = self.block(stmt.body)
            if body is None:
                return None
            if stays <= self.none:
                self.none &= before
                self.forget(bound)
                self.changed.add(stmt.var.name)
                return replace(stmt, body=body)
            stays &= self.none

    def forget(self, bound: frozenset[str] | set[str]) -> None:
        """Know nothing of names that are bound in one arm, or in an earlier trip, but what is zero."""
        for known in (self.same, self.false, self.finite):
            known -= bound
        if self.cell is not None and not bound.isdisjoint((*operand_vars(self.cell[0]), *operand_vars(self.cell[1]))):
            self.cell = None

    def choice(self, stmt: If) -> Stmt | None:
        found = chosen(stmt)
        if found is not None and isinstance(stmt.cond, Var) and stmt.cond.name in self.false and stmt.orelse[0].args[0] != ZERO:  # type: ignore[union-attr]
            self.bind(found[0], self.vanishes(found[1]))
            if stmt.cond.name in self.infinite:
                self.finite.add(found[0])
                self.freed += 1
            return stmt.orelse[0]  # `w = 0.0 if zero == 0.0 and not isfinite(v) else v` is `w = v` here
        before = set(self.none)
        then = self.block(stmt.then)
        first, self.none = self.none, before
        self.forget(assigned(stmt.then))
        orelse = self.block(stmt.orelse) if then is not None else None
        self.none &= first
        self.forget(assigned((stmt,)))
        return None if then is None or orelse is None else replace(stmt, then=then, orelse=orelse)

    def assign(self, stmt: Assign) -> bool:
        """Note what a statement makes; False where it does more than make a number."""
        if len(stmt.targets) != 1 or stmt.kwargs or self.types[stmt.target.name].array:
            return False
        name, known = stmt.target.name, operation(stmt.op)
        if not (stmt.op == "getitem" or known.scalar or known.kind == "extent"):
            return False
        if len(known.signs) == 2 and stmt.args[0] == stmt.target and self.vanishes(stmt.args[1]):
            self.adds = self.adds or self.types[name].dtype == "float64"
            self.forget({name})
            return True
        turned = len(known.signs) == 1 and isinstance(stmt.args[0], Var) and stmt.args[0].name in self.same
        self.bind(name, self.product(stmt))
        self.test(stmt)
        if turned:
            self.same.add(name)
        return True

    def bind(self, name: str, zero: bool) -> None:
        self.changed.add(name)
        self.forget({name})
        (self.none.add if zero else self.none.discard)(name)

    def product(self, stmt: Assign) -> bool:
        """Whether a result is zero because operands are. Products of a cotangent are, whatever the other factor."""
        known = operation(stmt.op)
        for together in known.linear:
            others = [a for k, a in enumerate(stmt.args) if k not in together]
            fine = self.cotangent or stmt.note is not None or all(map(_divides if known.poles else self.bounded, others))
            if fine and all(self.vanishes(stmt.args[k]) for k in together):
                return True
        return False

    def bounded(self, operand: Operand) -> bool:
        return _is_finite(operand) or self.vanishes(operand) or isinstance(operand, Var) and operand.name in self.finite

    def vanishes(self, operand: Operand) -> bool:
        return operand == ZERO or isinstance(operand, Var) and operand.name in self.none
