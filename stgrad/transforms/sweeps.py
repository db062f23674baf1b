"""Unites a loop with its own reversal where the trips do not depend on each other: nothing is stored then.

    for i in range(n):                            s_bar = 1.0
        s_stack.push(t); total += f(t)            for i in range(n):
    s_bar = 1.0                            ->         total += f(t)
    for i in range(n - 1, -1, -1):                    x_bar[i] += s_bar * df(t)
        t = s_stack.pop(); x_bar[i] += ...

The pattern of every loop that sums up: the adjoint of the sum is the same for all trips and known before the loop. The
reversed body may only add to adjoints, and read what the forward body made in the same trip or what no trip changes. What stands between
the loops and is needed by the reversed one moves before both, which it can if it reads nothing that the forward loop makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Operand,
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
    map_blocks,
    operand_vars,
    read,
    reads,
    stored,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.dataflow import Classes


def unite_sweeps(fn: Function) -> Function:
    """The program with every loop of independent trips united with its reversal."""
    state = _Sweeps(fn)
    body = state.block(fn.body)
    return replace(fn, body=body, types=state.types)


@dataclass
class _Sweeps:
    fn: Function
    types: dict[str, Type] = field(init=False)
    names: Names = field(init=False)
    classes: Classes = field(init=False)
    definitions: dict[str, list[Stmt]] = field(init=False)

    def __post_init__(self) -> None:
        self.types, self.names = dict(self.fn.types), Names(self.fn.types)
        self.classes = Classes(self.fn.body, self.fn.types)
        self.definitions = {}
        for stmt in walk(self.fn.body):
            for name in assigns(stmt):
                self.definitions.setdefault(name, []).append(stmt)

    def block(self, block: Block) -> Block:
        statements = [map_blocks(self.block, s) for s in block]
        at = 0
        while at < len(statements):
            united = self._unite_at(statements, at)
            if united is not None:
                statements = united
            at += 1
        return tuple(statements)

    def _unite_at(self, statements: list[Stmt], at: int) -> list[Stmt] | None:
        forward = statements[at]
        if not isinstance(forward, For):
            return None
        for later in range(at + 1, len(statements)):
            reverse = statements[later]
            if isinstance(reverse, For) and self._mirrors(forward, reverse):
                pair = _Pair(self, forward, reverse, statements[at + 1 : later])
                if not pair.legal():
                    return None
                ahead, behind = pair.split
                united = pair.united()
                united = replace(united, body=self.block(united.body))
                result = [*statements[:at], *ahead, united, *behind, *statements[later + 1 :]]
                gone = pair.replaced_stacks
                return [s for s in result if not (isinstance(s, Stack) and s.name in gone)]
        return None

    # ------------------------------------------------------------- the same trips

    def _mirrors(self, forward: For, reverse: For) -> bool:
        step = forward.step
        if not (isinstance(step, Const) and step.value in (1, -1)) or reverse.step != Const(-step.value) or forward.var != reverse.var:
            return False
        first, last = self._affine(forward.start), self._affine(forward.stop)
        return self._affine(reverse.start) == (last[0], last[1] - step.value) and self._affine(reverse.stop) == (first[0], first[1] - step.value)

    def _affine(self, operand: Operand) -> tuple[str | None, int]:
        """An integer as a name plus a constant, through definitions that hold everywhere."""
        if isinstance(operand, Const):
            return None, operand.value if isinstance(operand.value, int) else 0
        assert isinstance(operand, Var)
        made = self.definitions.get(operand.name, [])
        if len(made) == 1 and isinstance(made[0], Assign) and made[0].op == "shape":
            array, axis = made[0].args
            if isinstance(array, Var) and isinstance(axis, Const) and len(self.definitions.get(array.name, [])) <= 1:
                return f"{array.name}.shape[{axis.value}]", 0
        if len(made) == 1 and isinstance(made[0], Assign) and made[0].op in ("np.add", "np.subtract", "alias"):
            args = made[0].args
            if made[0].op == "alias":
                return self._affine(args[0]) if isinstance(args[0], (Var, Const)) else (operand.name, 0)
            if isinstance(args[1], Const) and type(args[1].value) is int:
                name, offset = self._affine(args[0])
                return name, offset + (args[1].value if made[0].op == "np.add" else -args[1].value)
        return operand.name, 0


@dataclass
class _Pair:
    """A loop, its reversal, and what stands between them."""

    state: _Sweeps
    forward: For
    reverse: For
    middle: list[Stmt]
    replaced_stacks: set[str] = field(default_factory=set)

    @property
    def split(self) -> tuple[list[Stmt], list[Stmt]]:
        """The statements between the loops that move before both, and those that stay behind."""
        return self._ahead, [s for s in self.middle if not any(s is a for a in self._ahead)]

    def legal(self) -> bool:
        forward, reverse = self.forward.body, self.reverse.body
        if any(isinstance(s, (While, Custom, Effect)) for s in walk(reverse)) or any(isinstance(s, Custom) for s in walk(forward)):
            return False
        self._made = assigned(forward) | {self.forward.var.name}
        self._changed = stored(forward)
        return self._only_adds() and self._reads_are_at_hand() and self._movable() and self._stacks_are_own()

    def _only_adds(self) -> bool:
        """Scalars are local to a trip of the reversal or only added to; arrays are only added to, and the forward loop has none of them."""
        live = _live_in(self.reverse.body)
        for name in live & assigned(self.reverse.body):
            if not self._accumulates(name):
                return False
        for stmt in walk(self.reverse.body):
            if isinstance(stmt, Store) and stmt.mode == "set" and not self._local(stmt.target.name):
                return False
        targets = {n for n in stored(self.reverse.body) if not self._local(n)}
        touched = read(self.forward.body) | self._changed | self._made
        own_reads = {n for s in walk(self.reverse.body) for n in self._content_reads(s)}
        return not any(self._same(t, n) for t in targets for n in touched | own_reads)

    def _content_reads(self, stmt: Stmt) -> set[str]:
        if isinstance(stmt, Store):
            return {n for o in (stmt.index, stmt.value) for n in operand_vars(o)}
        return set(reads(stmt)) if not (isinstance(stmt, Assign) and stmt.op == "shape") else set()

    def _local(self, name: str) -> bool:
        """An array made in the trip itself."""
        return name in assigned(self.reverse.body) and not any(self._same(name, n) for n in _live_in(self.reverse.body))

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
        outside = _live_in(self.reverse.body) - {self.reverse.var.name}
        if outside & self._made:
            return False
        return not any(self._same(n, w) for n in outside if self.state.types[n].array for w in self._changed)

    def _movable(self) -> bool:
        """Choose what must come before both loops, and see that it can."""
        needed = _live_in(self.reverse.body) | assigned(self.reverse.body) | stored(self.reverse.body) | set(reads(self.reverse))
        ahead: list[Stmt] = []
        for stmt in reversed(self.middle):
            touches = assigned((stmt,)) | stored((stmt,))
            uses = touches | read((stmt,))
            if touches & needed or any(self._same(a, b) for a in touches for b in needed) or uses & self._written_by_reverse():
                if isinstance(stmt, (Push, Pop, Stack, Effect)) or any(isinstance(s, (Push, Pop, Effect)) for s in walk((stmt,))):
                    return False
                ahead.insert(0, stmt)
                needed |= uses
        self._ahead = ahead
        names = {n for s in ahead for n in (*assigned((s,)), *read((s,)))}
        if names & self._made or any(self._same(n, w) for n in names if n in self.state.types and self.state.types[n].array for w in self._changed):
            return False
        return not self._overtakes(ahead)

    def _written_by_reverse(self) -> set[str]:
        return stored(self.reverse.body) | {n for n in assigned(self.reverse.body) if n in _live_in(self.reverse.body)}

    def _overtakes(self, ahead: list[Stmt]) -> bool:
        """Whether a statement that moves would pass one that it conflicts with, in the middle or in the forward loop."""
        bound = {n for s in ahead for n in (*assigned((s,)), *stored((s,)))}
        used = {n for s in ahead for n in read((s,))}
        staying = [s for s in self.middle if not any(s is a for a in ahead)]
        for stmt in staying:
            theirs = assigned((stmt,)) | stored((stmt,))
            if any(self._same(a, b) for a in theirs for b in bound | used) or any(self._same(a, b) for a in read((stmt,)) for b in bound):
                return True
        return any(self._same(a, b) for a in bound for b in read(self.forward.body) | set(reads(self.forward)))

    def _stacks_are_own(self) -> bool:
        """Every stack that the reversal pops is filled by the forward loop alone, and the other way round."""
        pops = [s for s in walk(self.reverse.body) if isinstance(s, Pop)]
        pushes = [s for s in walk(self.forward.body) if isinstance(s, Push)]
        everywhere = [s for s in walk(self.state.fn.body) if isinstance(s, (Push, Pop))]
        for stack in {p.stack for p in pops}:
            if [s for s in everywhere if s.stack == stack] != [s for s in everywhere if s.stack == stack and (s in pushes or s in pops)]:
                return False
        if any(isinstance(s, (Push, Pop)) for s in walk(tuple(self.middle))) or any(isinstance(s, Push) for s in walk(self.reverse.body)):
            return False
        self.replaced_stacks = {stack for stack in {p.stack for p in pops} if self._plain(stack)}
        return True

    def _plain(self, stack: str) -> bool:
        """Whether a stack has one push and one pop a trip, outside of inner loops: a name can take its place.

        Others stay: what a trip pushes, it pops.
        """
        pushes = [s for s in _shallow(self.forward.body) if isinstance(s, Push) and s.stack == stack]
        pops = [s for s in _shallow(self.reverse.body) if isinstance(s, Pop) and s.stack == stack]
        nested = self.state.types[stack].array and pushes and not any(s is pushes[0] for s in self.forward.body)
        return len(pushes) == len(pops) == 1 and not nested

    # ------------------------------------------------------------- the united loop

    def united(self) -> For:
        kept = {stack: self._variable(stack) for stack in sorted(self.replaced_stacks)}
        first = [Assign((v,), "alias", (Const(_zero(self.state.types[v.name])),)) for s, v in kept.items() if self._nested(s)]
        body = (*first, *_without_stacks(self.forward.body, kept), *_without_stacks(self.reverse.body, kept))
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


def _live_in(block: Block) -> set[str]:
    """Names that a block reads before it assigns them, on some path."""
    from stgrad.transforms.dataflow import Liveness

    return set(Liveness(block, ()).before)


def _zero(t: Type) -> object:
    return {"b": False, "i": 0}.get(t.dtype[0], 0.0)
