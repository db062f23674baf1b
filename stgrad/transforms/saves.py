"""How the reverse sweep gets at values of the forward sweep: the name itself, a view made again, a cheap recomputation, or a stack.

A name is never restored, a reader saves: a value that is needed and overwritten later is pushed where it came about and popped before
its last reader's adjoint. Contents of arrays are restored in place, where something reads them that ran before the
write. What is needed is known only once all adjoint statements exist, so this runs on the finished sweep with its placeholders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stgrad.frontend.builder import Builder
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Effect,
    For,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stack,
    Stmt,
    Store,
    Var,
    map_blocks,
    map_operands,
    operand_vars,
    reads,
    walk,
)
from stgrad.transforms.dataflow import Classes, viewed
from stgrad.transforms.places import Place, Region, Version, reassigned, share_loop, version

# Operations that read shapes and references of arrays, never contents; by position of the argument.
_REFERENCES = {"shape": (0,), "np.zeros_like": (0,), "np.full_like": (0,), "np.empty_like": (0,), "np.ones_like": (0,)}
# Work of an operation that may be repeated: additions count 1, divisions 5. More than `LIMIT` is saved instead.
_COST = {
    "np.add": 1, "np.subtract": 1, "np.multiply": 1, "np.negative": 1, "np.absolute": 1, "np.square": 1, "np.positive": 1,
    "np.less": 1, "np.less_equal": 1, "np.greater": 1, "np.greater_equal": 1, "np.equal": 1, "np.not_equal": 1,
    "not": 1, "np.maximum": 1, "np.minimum": 1, "getitem": 1, "alias": 0, "shape": 0, "np.floor_divide": 4, "np.remainder": 4,
    "float": 0, "int": 1, "cast": 1, "np.sign": 1, "np.where": 2, "np.logical_and": 1, "np.logical_or": 1, "np.logical_not": 1,
}  # fmt: skip
_PURE = frozenset({"np.divide", "np.sqrt", "math.sqrt", "np.exp", "math.exp", "np.sin", "math.sin", "np.cos", "math.cos", "np.log", "math.log", "np.power"})
LIMIT = 6
RESTORE = "restore"  # marks, in a reverse block, the place before the adjoint of one forward statement


@dataclass
class Need:
    """One value that the reverse sweep needs and cannot read under its name."""

    version: Version
    user: int  # the last statement of the version's region that has a reader
    variable: str  # the name it gets in the reverse sweep
    stack: str | None = None
    remade: Assign | None = None  # its defining statement, where it is made again; operands as in the forward sweep
    cost: int = 0
    operands: dict[str, Operand] = field(default_factory=dict)
    order: int = 0


@dataclass
class Plan:
    """What to push after which forward statement, and what to restore before which reverse statement."""

    pushes: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)  # (region, index): statements after it
    before: dict[int, list[Stmt]] = field(default_factory=dict)  # place number: statements before it
    restores: dict[tuple[int, int], list[Stmt]] = field(default_factory=dict)
    stacks: list[str] = field(default_factory=list)


class Saver:
    """Decides for every placeholder of a reverse sweep; see `resolve`."""

    def __init__(self, builder: Builder, top: Region, classes: Classes, placeholders: dict[str, tuple[str, Place, bool]]) -> None:
        self.builder, self.classes, self.placeholders = builder, classes, placeholders
        self.places = list(_places(top))
        self.definitions = _definitions(self.places)
        self.written = {classes.find(n) for p in self.places for n in p.stored}
        self.needs: dict[Version, Need] = {}
        self.names: dict[str, Operand] = {}
        self.plan = Plan()
        self.contents: list[tuple[str, Place]] = []  # names whose contents are read, and by the adjoint of what

    # ------------------------------------------------------------- names

    def read_all(self, block: Block) -> None:
        """Resolve every placeholder in a reverse block."""
        wanted = dict.fromkeys(n for s in walk(block) for n in reads(s) if n in self.placeholders)
        order = sorted(wanted, key=lambda p: (self.placeholders[p][1].number, self.placeholders[p][2]))
        hard = [p for p in order if not self._free(p) and not self._candidate(p)]
        for p in hard:
            self.names[p] = self._saved(p)
        for p in order:
            if p not in self.names:
                self.names[p] = self._get(*self.placeholders[p])

    def _free(self, mark: str) -> bool:
        name, place, after = self.placeholders[mark]
        return not reassigned(name, place, after)

    def _candidate(self, mark: str) -> bool:
        name, place, after = self.placeholders[mark]
        return self._remakeable(name, place, after) is not None

    def _saved(self, mark: str) -> Operand:
        name, place, after = self.placeholders[mark]
        return Var(self._save(*version(name, place, after)).variable)

    def _get(self, name: str, place: Place, after: bool) -> Operand:
        """The operand by which the reverse sweep reads a value, at the adjoint of a statement."""
        if not reassigned(name, place, after):
            return Var(name)
        found, user = version(name, place, after)
        known = self.needs.get(found)
        if known is not None:
            self._extend(known, user)
            return Var(known.variable)
        definition = self._remakeable(name, place, after)
        if definition is not None and self._worth(definition):
            return Var(self._remake(found, user, definition).variable)
        return Var(self._save(found, user).variable)

    def _extend(self, need: Need, user: int) -> None:
        """A later statement reads the value too: it must be there earlier in the reverse sweep, and so what it is made from."""
        if user <= need.user:
            return
        need.user = user
        if need.remade is None:
            return
        region, index = need.version.region, need.version.index
        if not self._is_view(need.remade) and self._writes_between(need.remade, region, index, user):
            need.remade, need.operands = None, {}
            need.stack = self._stack(need.version.name)
            return
        for name in need.operands:
            if reassigned(name, region.places[index], False):
                inner = self.needs[version(name, region.places[index], False)[0]]
                if inner.version.region is region:
                    self._extend(inner, user)

    def _stack(self, name: str) -> str:
        return self.builder.variable(f"{name}_stack", replace(self.builder.types[name], value=None)).name

    def _save(self, found: Version, user: int) -> Need:
        need = self.needs.get(found)
        if need is None:
            t = self.builder.types[found.name]
            need = Need(found, user, self.builder.variable(found.name, replace(t, value=None)).name, order=len(self.needs))
            need.stack = self._stack(found.name)
            self.needs[found] = need
        self._extend(need, user)
        return need

    # ------------------------------------------------------------- made again

    def _remakeable(self, name: str, place: Place, after: bool) -> Place | None:
        """The statement that defines a value, if running it again at its reader gives the same."""
        found, user = version(name, place, after)
        if found.index < 0:
            return None
        definition = found.region.places[found.index]
        stmt = definition.stmt
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or self.definitions.get(name, 0) != 1:
            return None
        if self._is_view(stmt) or self._invariant(stmt, definition):
            return definition
        if self.classes.find(name) in self.written:  # made again, it would be as it was before the writes
            return None
        if _COST.get(stmt.op, LIMIT + 1) > LIMIT or self._writes_between(stmt, found.region, found.index, user):
            return None
        return definition

    def _is_view(self, stmt: Assign) -> bool:
        return viewed(stmt, self.builder.types) is not None and stmt.op in ("getitem", "alias", "np.transpose")

    def _invariant(self, stmt: Assign, definition: Place) -> bool:
        """A scalar made from values that never change: compiled code makes it once, before the loop."""
        types = self.builder.types
        if types[stmt.target.name].array or stmt.op not in _COST and stmt.op not in _PURE:
            return False
        return all(not types[n].array and not reassigned(n, definition, False) for n in reads(stmt))

    def _writes_between(self, stmt: Assign, region: Region, index: int, user: int) -> bool:
        arrays = [n for n in reads(stmt) if self.builder.types[n].array]
        if not arrays or stmt.op == "shape":
            return False
        later = [n for p in region.places[index + 1 : user + 1] for n in p.stored]
        return any(self.classes.same(a, w) for a in arrays for w in later)

    def _worth(self, definition: Place) -> bool:
        """Whether making a value again needs at most one value more, and little work."""
        cost, new = self._price(definition, set())
        return new == 0 or (cost <= LIMIT and new <= 1)

    def _price(self, definition: Place, seen: set[str]) -> tuple[int, int]:
        """Work to make a value again, and how many values would have to be saved for it."""
        stmt = definition.stmt
        assert isinstance(stmt, Assign)
        cost, new = _COST.get(stmt.op, 0), 0
        for name in set(reads(stmt)) - seen:
            seen.add(name)
            if not reassigned(name, definition, False):
                continue
            found, _ = version(name, definition, False)
            known = self.needs.get(found)
            if known is not None:
                cost += known.cost if known.remade is not None else 0
                continue
            inner = self._remakeable(name, definition, False)
            if inner is None:
                new += 1
            else:
                more, saved = self._price(inner, seen)
                cost, new = cost + more, new + saved
        return cost, new

    def _remake(self, found: Version, user: int, definition: Place) -> Need:
        stmt = definition.stmt
        assert isinstance(stmt, Assign)
        t = self.builder.types[found.name]
        need = Need(found, user, self.builder.variable(_made_again(found.name), replace(t, value=None)).name, remade=stmt, cost=_COST.get(stmt.op, 0))
        self.needs[found] = need
        for name in dict.fromkeys(reads(stmt)):
            need.operands[name] = self._get_for(name, definition, user, found.region)
        need.order = len(self.needs) + 1000 * len(self.needs)
        if stmt.op != "shape" and not self._is_view(stmt):
            self.contents += [(n, definition) for n in need.operands if self.builder.types[n].array]
        return need

    def _get_for(self, name: str, definition: Place, user: int, region: Region) -> Operand:
        operand = self._get(name, definition, False)
        if reassigned(name, definition, False):
            found, _ = version(name, definition, False)
            need = self.needs[found]
            if need.version.region is region:
                self._extend(need, user)
        return operand

    # ------------------------------------------------------------- contents

    def restore_contents(self, block: Block) -> None:
        """Save what stores overwrite, where an adjoint of an earlier statement reads it."""
        self.contents += self._content_reads(block)
        done: set[int] = set()
        changed = True
        while changed:
            changed = False
            for place in self.places:
                if isinstance(place.stmt, Store) and place.number not in done and self._read_earlier(place):
                    done.add(place.number)
                    self._restore(place)
                    changed = True

    def _content_reads(self, block: Block) -> list[tuple[str, Place]]:
        found = []
        for stmt in walk(block):
            skip = _REFERENCES.get(getattr(stmt, "op", ""), ())
            operands: Iterable[Operand]
            if isinstance(stmt, Assign):
                operands = [a for i, a in enumerate(stmt.args) if i not in skip] + [v for _, v in stmt.kwargs]
            elif isinstance(stmt, Store):
                operands = (stmt.index, stmt.value)
            elif isinstance(stmt, Push):
                operands = ()
            else:
                operands = tuple(Var(n) for n in reads(stmt))
            for operand in operands:
                for name in operand_vars(operand):
                    if name in self.placeholders and self.builder.types[name].array:
                        primal, place, _ = self.placeholders[name]
                        found.append((primal, place))
        return found

    def _read_earlier(self, store: Place) -> bool:
        assert isinstance(store.stmt, Store)
        target = store.stmt.target.name
        return any(
            self.classes.same(name, target) and (place.number < store.number or share_loop(place, store)) and place is not store
            for name, place in self.contents
        )

    def _restore(self, place: Place) -> None:
        """Push what a store overwrites, and put it back at the start of its adjoint."""
        stmt = place.stmt
        assert isinstance(stmt, Store)
        from stgrad.frontend.indexing import indexed_type

        b = self.builder
        index = stmt.index
        t = indexed_type(b, b.types[stmt.target.name], _values(index, b))
        old = b.variable("_old", t)
        stack = b.variable(f"{stmt.target.name}_stack", t)
        popped = b.variable("_old", t)
        op, args = ("getitem", (stmt.target, index)) if index != Const(Ellipsis) else ("np.copy", (stmt.target,))
        save: list[Stmt] = [Assign((Var(old.name),), op, args)]
        value = old
        if t.array and index != Const(Ellipsis):
            value = b.variable("_old", t)
            save.append(Assign((Var(value.name),), "np.copy", (old.operand,)))
        save.append(Push(stack.name, value.operand))
        self.plan.before.setdefault(place.number, []).extend(save)
        self.plan.stacks.append(stack.name)
        names = {n: self._get(n, place, False) for n in (stmt.target.name, *operand_vars(index))}
        back = map_operands(lambda o: names.get(o.name, o) if isinstance(o, Var) else o, Store(stmt.target, index, popped.operand, "set"))
        assert isinstance(back, Store)
        back = replace(back, value=popped.operand)
        self.plan.restores.setdefault((id(place.region), place.index), []).extend([Pop(Var(popped.name), stack.name), back])

    # ------------------------------------------------------------- the plan

    def finish(self) -> Plan:
        """The plan with all pushes, pops and statements made again, in an order in which operands come first."""
        restores: dict[tuple[int, int], list[Stmt]] = {}
        emitted: set[Version] = set()

        def emit(need: Need) -> None:
            if need.version in emitted:
                return
            emitted.add(need.version)
            for name in need.operands:
                definition = need.version.region.places[need.version.index]
                if reassigned(name, definition, False):
                    inner = self.needs[version(name, definition, False)[0]]
                    if inner.version.region is need.version.region:
                        emit(inner)
            restores.setdefault((id(need.version.region), need.user), []).append(self._restored(need))

        for need in sorted(self.needs.values(), key=lambda n: (n.version.index, n.order)):
            emit(need)
        for key, statements in restores.items():
            self.plan.restores[key] = [*statements, *self.plan.restores.get(key, [])]
        for need in self.needs.values():
            if need.stack is not None:
                push = Push(need.stack, Var(need.version.name))
                self.plan.pushes.setdefault((id(need.version.region), need.version.index), []).append(push)
                self.plan.stacks.append(need.stack)
        return self.plan

    def _restored(self, need: Need) -> Stmt:
        if need.remade is None:
            assert need.stack is not None
            return Pop(Var(need.variable), need.stack)
        again = map_operands(lambda o: need.operands.get(o.name, o) if isinstance(o, Var) else o, need.remade)
        assert isinstance(again, Assign)
        return replace(again, targets=(Var(need.variable),))


def _made_again(name: str) -> str:
    return "_t" if name.startswith("_t") else name if name.startswith("_") else f"_{name}"


def _values(index: Operand, builder: Builder) -> tuple[object, ...]:
    """An index as the values that `indexed_type` takes."""
    from stgrad.frontend.values import Sym

    def one(operand: Operand) -> object:
        if isinstance(operand, Var):
            return Sym(operand, builder.types[operand.name])
        if isinstance(operand, Slice):
            return slice(one(operand.lower), one(operand.upper), one(operand.step))
        assert isinstance(operand, Const)
        return operand.value

    return tuple(one(o) for o in (index.items if isinstance(index, Pack) else (index,)))


def _places(region: Region) -> Iterable[Place]:
    for place in region.places:
        yield place
        for inner in place.inner:
            yield from _places(inner)


def _definitions(places: list[Place]) -> dict[str, int]:
    from stgrad.ir import assigns

    counts: dict[str, int] = {}
    for place in places:
        for name in assigns(place.stmt):
            counts[name] = counts.get(name, 0) + 1
    return counts


def insert_forward(block: Block, region: Region, plan: Plan) -> Block:
    """The forward sweep with its pushes."""
    out: list[Stmt] = list(plan.pushes.get((id(region), -1), []))
    for place, stmt in zip(region.places, block, strict=True):
        inner = iter(place.inner)
        out += plan.before.get(place.number, [])
        out.append(map_blocks(lambda b, inner=inner: insert_forward(b, next(inner), plan), stmt))  # type: ignore[misc]
        out += plan.pushes.get((id(region), place.index), [])
    return tuple(out)


def insert_reverse(block: Block, names: dict[str, Operand], plan: Plan, regions: dict[int, Region]) -> Block:
    """The reverse sweep with its placeholders replaced and values restored at the marks."""

    def leaf(operand: Operand) -> Operand:
        return names.get(operand.name, operand) if isinstance(operand, Var) else operand

    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Effect) and stmt.op == RESTORE:
            region, index = (a.value for a in stmt.args if isinstance(a, Const))
            out += plan.restores.get((region, index), [])
            continue
        out.append(map_blocks(lambda b: insert_reverse(b, names, plan, regions), map_operands(leaf, stmt)))
    return tuple(out)


def declare(plan: Plan) -> list[Stmt]:
    return [Stack(name) for name in plan.stacks]


__all__ = ["RESTORE", "For", "Plan", "Saver", "declare", "insert_forward", "insert_reverse"]
