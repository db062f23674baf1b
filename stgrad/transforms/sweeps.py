"""Unites a loop with its own reversal where the trips do not depend on each other: nothing is stored then.

    for i in range(n):                            s_bar = 1.0
        s_stack.push(t); total += f(t)            for i in range(n):
    s_bar = 1.0                            ->         total += f(t)
    for i in range(n - 1, -1, -1):                    x_bar[i] += s_bar * df(t)
        t = s_stack.pop(); x_bar[i] += ...

The pattern of every loop that sums up: the adjoint of the sum is the same for all trips and known before the loop. The
reversed body may only add to adjoints, and read what the forward body made in the same trip or what no trip changes. What stands between
the loops and is needed by the reversed one moves before both, which it can if it reads nothing that the forward loop makes.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += np.exp(x[i])
    ...     return s
    >>> show_pass("sweeps", stgrad.grad(total), np.ones(3))
    exp_x_i_stack = []
    n_x = x.shape[0]
    for i in range(n_x):
        exp_x_i_stack.append(np.exp(x[i]))
    x_bar = np.zeros_like(x)
    for i in range(n_x - 1, -1, -1):
        exp_x_i = exp_x_i_stack.pop()
        # grad of line 4: s += np.exp(x[i])
        x_bar[i] += exp_x_i
    return x_bar
    ->
    x_bar = np.zeros_like(x)
    for i in range(x.shape[0]):
        # grad of line 4: s += np.exp(x[i])
        x_bar[i] += np.exp(x[i])
    return x_bar
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from stgrad.analysis.alias import OwnClasses, sharing
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.liveness import Liveness, observed
from stgrad.analysis.trips import mirrored
from stgrad.analysis.workspaces import Workspaces
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Pop,
    Push,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    blocks,
    exposed,
    map_blocks,
    map_operands,
    operand_vars,
    read,
    reads,
    rename,
    stored,
    walk,
)
from stgrad.ir.ops import contents
from stgrad.names import Names
from stgrad.transforms.arms import joined


def unite_sweeps(fn: Function) -> Function:
    """The program with every loop of independent trips united with its reversal."""
    state = _Sweeps(fn)
    body = state.block(fn.body, frozenset(observed(fn)))
    return replace(fn, body=body, types=state.types)


@dataclass
class _Sweeps:
    fn: Function
    types: dict[str, Type] = field(init=False)
    names: Names = field(init=False)
    classes: OwnClasses = field(init=False)
    definitions: Definitions = field(init=False)
    around: tuple[For, ...] = ()  # outermost first

    def __post_init__(self) -> None:
        self.types, self.names = dict(self.fn.types), Names(self.fn.types)
        self.classes = sharing(self.fn).own()
        self.definitions = definitions(self.fn)

    def _inner(self, inside: Liveness, live: frozenset[str], stmt: Stmt, block: Block) -> Block:
        return self._within(stmt, block, inside.after[id(block[-1])] if block else live)

    def _within(self, stmt: Stmt, block: Block, out: frozenset[str]) -> Block:
        """A block of a statement, in a loop with its counter."""
        before = self.around
        self.around = (*before, stmt) if isinstance(stmt, For) else before
        found = self.block(block, out)
        self.around = before
        return found

    def block(self, block: Block, out: frozenset[str]) -> Block:
        """A block after whose last statement the names in `out` are live."""
        statements: list[Stmt] = []
        live = out
        for stmt in reversed(block):
            inside = Liveness((stmt,), live)
            statements.insert(0, map_blocks(partial(self._inner, inside, live, stmt), stmt))
            live = inside.before
        at = 0
        while at < len(statements):
            united = self._unite_at(statements, at, out, block is self.fn.body) or self._join_at(statements, at, out)
            if united is not None:
                statements = united
            at += 1
        return tuple(statements)

    def _unite_at(self, statements: list[Stmt], at: int, out: frozenset[str], outermost: bool) -> list[Stmt] | None:
        forward = statements[at]
        if not isinstance(forward, For):
            return None
        for later in range(at + 1, len(statements)):
            reverse = statements[later]
            if isinstance(reverse, For) and self._mirrors(forward, reverse, statements[at : later + 1]):
                if outermost:
                    statements = self._renamed_apart(statements, at, later)
                live = frozenset(Liveness(tuple(statements[later + 1 :]), out).before)
                pair = _Pair(self, forward, statements[later], statements[at + 1 : later], live)  # type: ignore[arg-type]
                if not pair.legal():
                    return None
                ahead, behind = pair.split
                united = pair.united()
                inside = Liveness((united,), live).after[id(united.body[-1])]
                united = replace(united, body=self._within(united, united.body, inside))
                result = [*statements[:at], *ahead, united, *behind, *statements[later + 1 :]]
                gone = pair.replaced_stacks | pair.own_stacks
                return [s for s in result if not (isinstance(s, Stack) and s.name in gone)]
        return None

    def _join_at(self, statements: list[Stmt], at: int, out: frozenset[str]) -> list[Stmt] | None:
        """A branch and the later one of its condition as one, where that unites a loop in the first with its reversal in the second."""
        for later, branch in joined(statements, at, lambda n: not self.types[n].array, self.classes.same):
            live = frozenset(Liveness(tuple(statements[later + 1 :]), out).before)
            then, orelse = self.block(branch.then, live), self.block(branch.orelse, live)
            if (then, orelse) != (branch.then, branch.orelse):
                return [*statements[:at], replace(branch, then=then, orelse=orelse), *statements[later + 1 :]]
        return None

    def _mirrors(self, forward: For, reverse: For, run: Sequence[Stmt]) -> bool:
        """Whether a loop goes through the trips of another backwards; `run`: the statements from one to the other."""
        if forward.var != reverse.var:
            return False
        standing = self.types.keys() - assigned(tuple(run))
        return mirrored([forward], [reverse], self.definitions, self.around, standing)

    def _renamed_apart(self, statements: list[Stmt], at: int, later: int) -> list[Stmt]:
        """The statements, with names of their own for what stands between two loops and is bound in these, too."""
        bound = assigned((statements[at], statements[later]))
        for k in range(at + 1, later):
            stmt = statements[k]
            if isinstance(stmt, Assign) and len(stmt.targets) == 1 and stmt.target.name in bound - observed(self.fn):
                statements = self._renamed_from(statements, k, stmt, stmt.target.name) or statements
        return statements

    def _renamed_from(self, statements: list[Stmt], k: int, stmt: Assign, name: str) -> list[Stmt] | None:
        """A new name for what a statement binds, up to where the old one is bound again; None if that is on some paths only."""
        new = self.names.fresh(name)
        made = replace(stmt, targets=(Var(new),))
        out = [*statements[:k], made]
        for j in range(k + 1, len(statements)):
            other = statements[j]
            if name not in assigned((other,)):
                out += rename((other,), {name: new})
                continue
            if isinstance(other, Assign):
                out.append(map_operands(lambda o: Var(new) if o == Var(name) else o, other))
            elif name in exposed((other,)) or name in exposed(tuple(statements[j + 1 :])):
                return None
            else:
                out.append(other)
            out += statements[j + 1 :]
            break
        self.types[new] = self.types[name]
        self.classes.unite(new, name)
        self.definitions = self.definitions.renamed(stmt, made)
        return out


@dataclass
class _Pair:
    """A loop, its reversal, and what stands between them."""

    state: _Sweeps
    forward: For
    reverse: For
    middle: list[Stmt]
    live: frozenset[str]  # names that are read after the reversal
    replaced_stacks: set[str] = field(default_factory=set)
    own_stacks: set[str] = field(default_factory=set)  # declared in the united loop
    workspaces: set[str] = field(default_factory=set)  # arrays that tie no trip to another
    added: set[str] = field(default_factory=set)  # arrays that the reversal adds to

    @property
    def split(self) -> tuple[list[Stmt], list[Stmt]]:
        """The statements between the loops that move before both, and those that stay behind."""
        return self._ahead, [s for s in self.middle if not any(s is a for a in self._ahead)]

    def legal(self) -> bool:
        forward, reverse = self.forward.body, self.reverse.body
        if any(isinstance(s, (While, Custom, Effect)) for s in walk(reverse)) or any(isinstance(s, Custom) for s in walk(forward)):
            return False
        if exposed(forward) & assigned(reverse):  # a name that one trip hands to the next
            return False
        self._made = assigned(forward) | {self.forward.var.name}
        self._find_workspaces(forward, reverse)
        self._changed = stored(forward) - self.workspaces
        return self._only_adds() and self._reads_are_at_hand() and self._movable() and self._stacks_are_own()

    def _find_workspaces(self, forward: Block, reverse: Block) -> None:
        state = self.state
        known = Workspaces(state.fn, state.definitions, state.classes)
        primal = stored(forward) & (read(reverse) | stored(reverse))
        adjoint = {s.target.name for s in walk(reverse) if isinstance(s, Store) and s.mode == "set"} - primal
        self.workspaces = {n for n in primal if known.primal(n, forward, reverse)} | {n for n in adjoint if known.adjoint(n, forward, reverse)}

    def _only_adds(self) -> bool:
        """Scalars are local to a trip of the reversal or only added to; arrays are only added to, and the forward loop has none of them."""
        live = exposed(self.reverse.body)
        for name in (live | self.live) & assigned(self.reverse.body):  # read later, it is what the trip that comes last leaves
            if not self._accumulates(name):
                return False
        for stmt in walk(self.reverse.body):
            if isinstance(stmt, Store) and stmt.mode == "set" and not self._local(stmt.target.name) and stmt.target.name not in self.workspaces:
                return False
        self.added = targets = {n for n in stored(self.reverse.body) if not self._local(n)} - self.workspaces
        touched = read(self.forward.body) | self._changed | self._made
        own_reads = {n for s in walk(self.reverse.body) for n in self._content_reads(s)}
        return not any(self._same(t, n) for t in targets for n in touched | own_reads)

    def _content_reads(self, stmt: Stmt) -> set[str]:
        if isinstance(stmt, Store):
            return {n for o in (stmt.index, stmt.value) for n in operand_vars(o)}
        return set(reads(stmt)) if not (isinstance(stmt, Assign) and stmt.op == "shape") else set()

    def _local(self, name: str) -> bool:
        """An array made in the trip itself, by the reversal or, handed to it by a stack, by the forward loop."""
        outside = [n for n in exposed(self.reverse.body) if self._same(name, n)]
        return name in assigned(self.reverse.body) and all(map(self._handed, outside))

    def _handed(self, stack: str) -> bool:
        """Whether all memory that a stack hands from a trip to its reversal is made in that trip, and seen by these loops alone."""
        forward, reverse = self.forward.body, self.reverse.body
        if not any(isinstance(s, Pop) and s.stack == stack for s in walk(reverse)):
            return False
        stacks = {s.stack for s in walk(reverse) if isinstance(s, Pop)}
        shared = {n for n in self.state.types if self._same(n, stack)} - stacks
        if not shared <= assigned(forward) | assigned(reverse) or shared & (exposed(forward) | exposed(reverse)):
            return False
        middle = tuple(self.middle)
        return shared.isdisjoint(self.live | observed(self.state.fn) | assigned(middle) | read(middle) | stored(middle))

    def _same(self, a: str, b: str) -> bool:
        types = self.state.types
        return a == b or (a in types and b in types and types[a].array and types[b].array and self.state.classes.same(a, b))

    def _accumulates(self, name: str) -> bool:
        """Whether each use of a scalar in the reversal is `s = s + v`."""
        if self.state.types[name].array or name in self._made or name in read(self.forward.body):
            return False
        for stmt in walk(self.reverse.body):
            plain = isinstance(stmt, Assign) and stmt.op == "np.add" and stmt.args[0] == Var(name) == stmt.targets[0]
            if name in assigns(stmt) and not plain:
                return False
            if name in set(reads(stmt)) and not (plain and isinstance(stmt, Assign) and name not in set(operand_vars(stmt.args[1]))):
                return False
        return True

    def _reads_are_at_hand(self) -> bool:
        """What the reversal reads from outside is neither made nor changed by the forward loop."""
        outside = exposed(self.reverse.body) - {self.reverse.var.name}
        if outside & self._made:
            return False
        memory = [n for n in outside if self.state.types[n].array and not self._handed(n)]
        return not any(self._same(n, w) for n in memory for w in self._changed)

    def _movable(self) -> bool:
        """Choose what must come before both loops, and see that it can."""
        live, bound, written = exposed(self.reverse.body), assigned(self.reverse.body), stored(self.reverse.body)
        needed = live | bound | written | set(reads(self.reverse))
        written |= bound & live
        between = assigned(tuple(self.middle))
        ahead: list[Stmt] = []
        for stmt in reversed(self.middle):
            touches = assigned((stmt,)) | stored((stmt,))
            uses = touches | _contents((stmt,))
            behind = {n for n in self.added if _only_added((stmt,), n)}
            touches, uses = touches - behind, uses - behind
            if touches & needed or any(self._same(a, b) for a in touches for b in needed) or uses & written:
                if isinstance(stmt, (Push, Pop, Stack, Effect)) or any(isinstance(s, (Push, Pop, Effect)) for s in walk((stmt,))):
                    return False
                ahead.insert(0, stmt)
                needed |= uses | read((stmt,)) & between  # extents, too, are there once the array is
        self._ahead = ahead
        names = {n for s in ahead for n in (*assigned((s,)), *_contents((s,)))}
        if names & self._made or any(self._same(n, w) for n in names if n in self.state.types and self.state.types[n].array for w in self._changed):
            return False
        if names & self.workspaces - {n for s in ahead for n in assigned((s,))}:
            return False
        return not self._overtakes(ahead)

    def _overtakes(self, ahead: list[Stmt]) -> bool:
        """Whether a statement that moves would pass one that it conflicts with, in the middle or in the forward loop."""
        for k, stmt in enumerate(self.middle):
            if any(stmt is a for a in ahead):
                continue
            passing = [s for s in self.middle[k + 1 :] if any(s is a for a in ahead)]
            bound = {n for s in passing for n in (*assigned((s,)), *stored((s,)))}
            used = {n for s in passing for n in read((s,))}
            theirs = assigned((stmt,)) | stored((stmt,))
            if any(self._same(a, b) for a in theirs for b in bound | used) or any(self._same(a, b) for a in read((stmt,)) for b in bound):
                return True
        bound = {n for s in ahead for n in (*assigned((s,)), *stored((s,)))}
        return any(self._same(a, b) for a in bound for b in read(self.forward.body) | set(reads(self.forward)))

    def _stacks_are_own(self) -> bool:
        """Every stack that the reversal pops is filled by the forward loop alone, and the other way round."""
        pops = [s for s in walk(self.reverse.body) if isinstance(s, Pop)]
        pushes = [s for s in walk(self.forward.body) if isinstance(s, Push)]
        everywhere = [s for s in walk(self.state.fn.body) if isinstance(s, (Push, Pop))]
        for stack in {p.stack for p in pops}:
            if [s for s in everywhere if s.stack == stack] != [s for s in everywhere if s.stack == stack and (s in pushes or s in pops)]:
                return False
        own = {s.stack for s in pops} | {s.stack for s in pushes}
        if any(isinstance(s, (Push, Pop)) and s.stack in own for s in walk(tuple(self.middle))) or any(
            isinstance(s, Push) for s in walk(self.reverse.body)
        ):
            return False
        self.replaced_stacks = {stack for stack in {p.stack for p in pops} if self._plain(stack)}
        self.own_stacks = {stack for stack in own - self.replaced_stacks if self._counted(stack)}
        return True

    def _plain(self, stack: str) -> bool:
        """Whether a stack has one push and one pop a trip, outside of inner loops: a name can take its place.

        Others stay: what a trip pushes, it pops.
        """
        pushes = [s for s in _shallow(self.forward.body) if isinstance(s, Push) and s.stack == stack]
        pops = [s for s in _shallow(self.reverse.body) if isinstance(s, Pop) and s.stack == stack]
        nested = self.state.types[stack].array and pushes and not any(s is pushes[0] for s in self.forward.body)
        return len(pushes) == len(pops) == 1 and not nested

    def _counted(self, stack: str) -> bool:
        """Whether a stack of numbers, or of arrays of known extents, has one push and one pop a trip of counted loops: each united trip can have its own."""
        ways = [_ways(block, stack) for block in (self.forward.body, self.reverse.body)]
        loops = all(isinstance(s, (For, If)) for way in ways for path in way for s in path)
        return [len(way) for way in ways] == [1, 1] and loops and all(d.symbol is None for d in self.state.types[stack].dims)

    # ------------------------------------------------------------- the united loop

    def united(self) -> For:
        kept = {stack: self._variable(stack) for stack in sorted(self.replaced_stacks)}
        first = [Assign((v,), "alias", (Const(_zero(self.state.types[v.name])),)) for s, v in kept.items() if self._nested(s)]
        own = [Stack(stack) for stack in sorted(self.own_stacks)]
        body = (*own, *first, *_without_stacks(self.forward.body, kept), *_without_stacks(self.reverse.body, kept))
        return replace(self.forward, body=body)

    def _variable(self, stack: str) -> Var:
        name = self.state.names.fresh("_t")
        self.state.types[name] = replace(self.state.types[stack], value=None)
        return Var(name)

    def _nested(self, stack: str) -> bool:
        return not any(isinstance(s, Push) and s.stack == stack for s in self.forward.body)


def _without_stacks(block: Block, kept: Mapping[str, Var]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Push) and stmt.stack in kept:
            out.append(Assign((kept[stmt.stack],), "alias", (stmt.value,), (), stmt.loc, stmt.note))
        elif isinstance(stmt, Pop) and stmt.stack in kept:
            out.append(Assign((stmt.target,), "alias", (kept[stmt.stack],), (), stmt.loc, stmt.note))
        else:
            out.append(map_blocks(lambda b: _without_stacks(b, kept), stmt))
    return tuple(out)


def _shallow(block: Block) -> list[Stmt]:
    """Statements outside of inner loops."""
    found: list[Stmt] = []
    for stmt in block:
        found.append(stmt)
        if isinstance(stmt, If):
            found += [*_shallow(stmt.then), *_shallow(stmt.orelse)]
    return found


def _ways(block: Block, stack: str) -> list[tuple[Stmt, ...]]:
    """The statements around each push and pop of a stack."""
    found: list[tuple[Stmt, ...]] = []
    for stmt in block:
        if isinstance(stmt, (Push, Pop)) and stmt.stack == stack:
            found.append(())
        found += [(stmt, *way) for inner in blocks(stmt) for way in _ways(inner, stack)]
    return found


def _contents(block: Block) -> set[str]:
    """Names that a block reads, without arrays of which it asks the shape alone."""
    return {n for s in walk(block) for n in contents(s)}


def _only_added(block: Block, name: str) -> bool:
    """Whether a block adds to elements of an array, and does nothing else with it."""
    for stmt in walk(block):
        if name in assigns(stmt):
            return False
        if isinstance(stmt, Store) and stmt.target.name == name:
            if stmt.mode != "add" or name in {n for o in (stmt.index, stmt.value) for n in operand_vars(o)}:
                return False
        elif name in contents(stmt):
            return False
    return name in stored(block)


def _zero(t: Type) -> object:
    return {"b": False, "i": 0}.get(t.dtype[0], 0.0)
