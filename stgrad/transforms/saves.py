"""How the reverse sweep gets at values of the forward sweep: the name itself, a view made again, a cheap recomputation, or a stack.

A name is never restored, a reader saves: a value that is needed and overwritten later is pushed where it came about and popped before
its last reader's adjoint. Contents of arrays are restored in place, where something reads them that ran before the
write. What is needed is known only once all adjoint statements exist, so this runs on the finished sweep with its placeholders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stgrad.analysis.alias import Classes
from stgrad.analysis.fresh import Fresh, fresh
from stgrad.analysis.places import Place, Region, Version, every, reassigned, version
from stgrad.analysis.subscripts import Access, Subscripts
from stgrad.frontend.builder import Builder
from stgrad.frontend.indexing import indexed_type
from stgrad.frontend.wishes import UNNAMED, is_unnamed
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Operand,
    Pack,
    Pop,
    Push,
    Slice,
    Stmt,
    Store,
    Var,
    assigned,
    entries_of,
    map_operands,
    operand_vars,
    reads,
    rule_reads,
    walk,
)
from stgrad.ir.ops import read_operands
from stgrad.transforms.checkpoints import apart
from stgrad.transforms.makers import SAVE, Maker, Makers, once_more, shares_loop
from stgrad.transforms.plan import Plan
from stgrad.transforms.recompute import choose

# Operations that read shapes and references of arrays, never contents; by position of the argument.


@dataclass
class Need:
    """One value that the reverse sweep needs and cannot read under its name."""

    version: Version
    user: int  # the last statement of the version's region that has a reader
    variable: str  # the name it gets in the reverse sweep
    stack: str | None = None
    maker: Maker | None = None  # how it is made again
    operands: dict[str, Operand] = field(default_factory=dict)  # of the maker, as the reverse sweep has them
    order: int = 0


@dataclass(eq=False)
class Content:
    """Elements of an array that the adjoint of the statement at `place` reads."""

    name: str
    place: Place
    access: Access | None
    placeholder: str | None = None  # the name in the sweep that stands for the array


class Saver:
    """Decides for every placeholder of a reverse sweep; see `resolve`."""

    def __init__(
        self, builder: Builder, top: Region, params: Iterable[str], classes: Classes, placeholders: dict[str, tuple[str, Place, bool]]
    ) -> None:
        self.builder, self.classes, self.placeholders = builder, classes, placeholders
        self.places = list(every(top))
        self.apart = {p.number for loop in self.places if apart(loop.stmt) for region in loop.inner for p in every(region)}
        self.subscripts = Subscripts(self.places, params, builder.types, classes)
        self.makers = Makers(self.places, builder.types, classes, self.subscripts)
        self.needs: dict[Version, Need] = {}
        self.names: dict[str, Operand] = {}
        self.plan = Plan()
        self.fresh: dict[int, Fresh | None] = {}  # of stores, by the number of their place
        self.contents: list[Content] = []
        self.put_back: set[int] = set()  # stores, by the number of their place: before their adjoints the array is as it was before them

    # ------------------------------------------------------------- names

    def read_all(self, block: Block) -> None:
        """Resolve every placeholder in a reverse block."""
        wanted = dict.fromkeys(n for s in walk(block) for n in _asked(s) if n in self.placeholders)
        order = sorted(wanted, key=lambda p: (self.placeholders[p][1].number, self.placeholders[p][2]))
        demands = [version(*self.placeholders[p]) for p in order if reassigned(*self.placeholders[p])]
        self.contents += self._content_reads(block)
        undone = [p for p in self.places if isinstance(p.stmt, Store) and self._read_earlier(p)]
        choice = choose(demands, self.makers, undone)
        for found in choice.in_order(self.makers):
            if found in choice.made:
                self._remake(found, choice.users[found], choice.made[found])
            else:
                self._save(found, choice.users[found])
        for p in order:
            self.names[p] = self._get(*self.placeholders[p])

    def _get(self, name: str, place: Place, after: bool) -> Operand:
        """The operand by which the reverse sweep reads a value, at the adjoint of a statement."""
        if not reassigned(name, place, after):
            return Var(name)
        found, user = version(name, place, after)
        known = self.needs.get(found)
        if known is not None:
            self._extend(known, user)
            return Var(known.variable)
        maker = self.makers.of(found)
        if maker is not None and self._at_hand(maker, found, user):
            return Var(self._remake(found, user, maker).variable)
        return Var(self._save(found, user).variable)

    def _at_hand(self, maker: Maker, found: Version, user: int) -> bool:
        """Whether a value can be made again of what there is."""
        there = all(operand in self.needs for operand, _ in self.makers.needs(maker))
        return there and maker.cost <= SAVE and not self.makers.disturbed(maker, found.region, found.index, user)

    def _extend(self, need: Need, user: int) -> None:
        """A later statement reads the value too: it must be there earlier in the reverse sweep, and so what it is made from."""
        if user <= need.user:
            return
        need.user = user
        if need.maker is None:
            return
        region = need.version.region
        if self.makers.disturbed(need.maker, region, need.version.index, user):
            need.maker, need.operands = None, {}
            need.stack = self._stack(need.version.name)
            return
        for operand, _ in self.makers.needs(need.maker):
            if operand.region is region:
                self._extend(self.needs[operand], user)

    def _stack(self, name: str) -> str:
        return self.builder.variable(f"{name}_stack", replace(self.builder.types[name], value=None)).name

    def _save(self, found: Version, user: int) -> Need:
        t = self.builder.types[found.name]
        need = Need(found, user, self.builder.variable(found.name, replace(t, value=None)).name, order=len(self.needs))
        need.stack = self._stack(found.name)
        self.needs[found] = need
        return need

    def _remake(self, found: Version, user: int, maker: Maker) -> Need:
        t = self.builder.types[found.name]
        user = max(user, maker.place.index) if maker.back else user
        need = Need(
            found, user, self.builder.variable(_made_again(found.name), replace(t, value=None)).name, maker=maker, order=len(self.needs)
        )
        self.needs[found] = need
        for name in maker.operands:
            need.operands[name] = self._get(name, maker.place, False)
        for operand, _ in self.makers.needs(maker):
            if operand.region is found.region:
                self._extend(self.needs[operand], user)
        if not maker.view:
            self.contents += [Content(name, maker.place, access) for name, access in maker.read]
        return need

    # ------------------------------------------------------------- contents

    def restore_contents(self) -> None:
        """Save what stores overwrite, where an adjoint of an earlier statement reads it."""
        self._copy_for_readers()
        changed = True
        while changed:
            changed = False
            for place in self.places:
                if isinstance(place.stmt, Store) and place.number not in self.put_back and self._read_earlier(place):
                    self.put_back.add(place.number)
                    self._restore(place)
                    changed = True

    def _copy_for_readers(self) -> None:
        """Where loops around a store stand inside those around all who read what it overwrites, a copy for each reader costs less."""
        for store in self.places:
            if isinstance(store.stmt, Store) and store.number not in self.apart:
                readers = [c for c in self.contents if self._spoils(store, c)]
                if all(self._outside(c, store) for c in readers):
                    self._keep_copies(readers)

    def _outside(self, content: Content, store: Place) -> bool:
        """Whether a reader stands in some of the loops around a store, and reads less in all its trips than the store writes in its own."""
        assert isinstance(store.stmt, Store)
        if content.placeholder is None:
            return False
        around, inside = set(content.place.loops()), set(store.loops())
        written = indexed_type(self.builder, self.builder.types[store.stmt.target.name], _values(store.stmt.index, self.builder))
        return around < inside and len(around) + self.builder.types[content.name].rank < len(inside) + written.rank

    def _keep_copies(self, readers: list[Content]) -> None:
        """Push copies of what readers read, at the statements whose adjoints they are."""
        copies: dict[tuple[str, int, bool], str] = {}
        for content in readers:
            assert content.placeholder is not None
            name, place, after = self.placeholders[content.placeholder]
            key = (name, place.number, after)
            if key not in copies:
                copies[key] = self._keep_copy(name, place, after)
            self.names[content.placeholder] = Var(copies[key])
        self.contents = [c for c in self.contents if c not in readers]

    def _keep_copy(self, name: str, place: Place, after: bool) -> str:
        b, t = self.builder, replace(self.builder.types[name], value=None)
        copy, popped, stack = b.variable(name, t).name, b.variable(name, t).name, self._stack(name)
        save = (Assign((Var(copy),), "np.copy", (Var(name),)), Push(stack, Var(copy)))
        mark = (id(place.region), place.index)
        (self.plan.pushes.setdefault(mark, []) if after else self.plan.before.setdefault(place.number, [])).extend(save)
        self.plan.restores.setdefault(mark, []).append(Pop(Var(popped), stack))
        self.plan.stacks.append(stack)
        return popped

    def _content_reads(self, block: Block) -> list[Content]:
        found = []
        for stmt in walk(block):
            operands: Iterable[Operand]
            if isinstance(stmt, Assign):
                operands = read_operands(stmt)
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
                        found.append(Content(primal, place, self.subscripts.access(primal, Pack(()), place), name))
        return found

    def _read_earlier(self, store: Place) -> bool:
        return store.number not in self.apart and any(self._spoils(store, content) for content in self.contents)

    def _spoils(self, store: Place, content: Content) -> bool:
        """Whether a store overwrites what is read, after the statement whose adjoint reads it."""
        assert isinstance(store.stmt, Store)
        place, access = content.place, content.access
        return (
            self.classes.same(content.name, store.stmt.target.name)
            and (place.number < store.number or shares_loop(place, store))
            and (place is not store or access is not None)
            and self._sees(content, store)
            and self.subscripts.overwritten(access, store)
        )

    def _sees(self, content: Content, store: Place) -> bool:
        """Whether a reader can see the array that a store changes before it does; see `fresh`."""
        if store.number not in self.fresh:
            self.fresh[store.number] = fresh(store, self.places, self.builder.types)
        known = self.fresh[store.number]
        return known is None or content.name in known.names and known.runs_before(content.place, store)

    def _restore(self, place: Place) -> None:
        """Push what a store overwrites, and put it back at the start of its adjoint."""
        stmt = place.stmt
        assert isinstance(stmt, Store)
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
            for operand, _ in self.makers.needs(need.maker) if need.maker is not None else ():
                if operand.region is need.version.region:
                    emit(self.needs[operand])
            restores.setdefault((id(need.version.region), need.user), []).extend(self._restored(need))

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

    def _restored(self, need: Need) -> Block:
        if need.maker is None:
            assert need.stack is not None
            return (Pop(Var(need.variable), need.stack),)
        stmt = need.maker.stmt
        others = sorted(assigned((stmt,)) - {need.version.name})
        fresh = {n: self.builder.variable(n, self.builder.types[n]).name for n in others}
        if not (need.maker.back and self.builder.types[need.variable].array and need.maker.place.number in self.put_back):
            return once_more(stmt, need.variable, need.operands, fresh)
        view = self.builder.variable("_t", self.builder.types[need.variable]).name  # the row gets its former items back before it is read
        return (*once_more(stmt, view, need.operands, fresh), Assign((Var(need.variable),), "np.copy", (Var(view),)))


def _made_again(name: str) -> str:
    return UNNAMED if is_unnamed(name) else name if name.startswith("_") else f"_{name}"


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

    return tuple(one(o) for o in entries_of(index))


def _asked(stmt: Stmt) -> tuple[str, ...]:
    """Names that a statement reads, and the derivative rules of a region."""
    return (*reads(stmt), *sorted(rule_reads((stmt,)))) if isinstance(stmt, Custom) else reads(stmt)


__all__ = ["Saver"]
