"""Makes loops that are marked as checkpointed ready for reverse mode: what they carry is theirs alone.

    for t in checkpointed(range(n)):        u_2 = np.copy(u)
        u[1:-1] = f(u)                  ->  for t in checkpointed(range(n)):
                                                u_2[1:-1] = f(u_2)
                                            u = u_2

The reversal of such a loop runs its trips again on copies (`stgrad.transforms.reruns`). That is right where the arrays that the loop carries
and writes to are apart from each other and from all that it reads; that is shown here, or the program is refused. The arrays that a loop writes to
are copied before it, so that nothing before the loop sees its writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stgrad import errors
from stgrad.analysis.alias import Classes, sharing, viewed
from stgrad.analysis.liveness import Liveness, result_names
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Stack,
    Stmt,
    Type,
    Var,
    While,
    assigned,
    assigns,
    map_blocks,
    raises,
    read,
    rename,
    runs_once,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names


@dataclass
class Sizes:
    """Variables of one loop: how many trips and parts there are, what is kept where."""

    trips: Operand
    length: Var
    parts: Operand
    slots: Var
    top: Var
    where: Var  # the parts at whose start the snapshots were taken
    kept: dict[str, Var]
    far: Operand | None = None  # whether they are on disk, where that may be


def marked(block: Block) -> bool:
    """Whether a block has checkpointed loops."""
    return any(isinstance(s, (For, While)) and s.snapshots is not None for s in walk(block))


def unmarked(block: Block) -> Block:
    """The block with ordinary loops; those of calls that run again are what they call."""
    return tuple(new for s in block for new in _unmarked(map_blocks(unmarked, s))) if marked(block) else block


def _unmarked(stmt: Stmt) -> Block:
    if not isinstance(stmt, (For, While)) or stmt.snapshots is None:
        return (stmt,)
    if isinstance(stmt, While):
        return (replace(stmt, snapshots=None),)
    return stmt.body if runs_once(stmt) and stmt.var.name not in read(stmt.body) else (replace(stmt, snapshots=None),)


def apart(stmt: Stmt) -> bool:
    """Whether a statement is a marked loop that writes to arrays of its own alone."""
    return isinstance(stmt, (For, While)) and isinstance(stmt.snapshots, Pack) and stmt.snapshots.items[1] == Const(True)


def carried(loop: For | While, extra: Block = ()) -> list[str]:
    """Names that a trip of a loop may read as an earlier one, or what stands before the loop, has left them."""
    names = Liveness((loop, *extra), frozenset()).before & assigned(loop.body)
    return sorted(names - {loop.var.name} if isinstance(loop, For) else names)


def carried_through(both: Block, trip: For) -> list[str]:
    """Names that the two sweeps of a part read as they were before it."""
    return sorted((Liveness(both, frozenset()).before & assigned(trip.body)) - {trip.var.name})


def plain(block: Block) -> Block:
    """A block that runs again: what it says and tests has been said and tested, and the sides that raise have not been taken."""
    again: list[Stmt] = []
    for stmt in block:
        ends = [raises(b) for b in (stmt.then, stmt.orelse)] if isinstance(stmt, If) else []
        if isinstance(stmt, If) and ends[0] != ends[1]:
            again += plain(stmt.orelse if ends[0] else stmt.then)
        elif not isinstance(stmt, Effect):
            again.append(map_blocks(plain, stmt))
    return unmarked(tuple(again))


def isolated(fn: Function, shadows: Mapping[str, str], names: Names) -> Function:
    """The program whose marked loops work on arrays of their own; their mark gets the pairs of such arrays and what they start as.

    Raises:
        AliasingError: the arrays of such a loop may share memory.
    """
    if not marked(fn.body):
        return fn
    work = _Isolation(fn, sharing(fn), frozenset(shadows), names, dict(fn.types))
    body = work.block(fn.body, {p.name: object() for p in fn.params})
    return replace(fn, body=body, types=work.types)


Objects = dict[str, object]  # which array a name stands for; a name that is not here may stand for any


@dataclass
class _Isolation:
    fn: Function
    classes: Classes
    shadowed: frozenset[str]
    names: Names
    types: dict[str, Type]

    def __post_init__(self) -> None:
        self.live = Liveness(self.fn.body, result_names(self.fn))

    def block(self, block: Block, objects: Objects) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, (For, While)) and stmt.snapshots is not None:
                out += self.loop(stmt, objects)
            else:
                inside = _entered(stmt, objects)
                out.append(map_blocks(lambda b, inside=inside: self.block(b, dict(inside)), stmt))  # type: ignore[misc]
            self.follow((stmt,), objects)
        return tuple(out)

    # ------------------------------------------------------------- which array a name stands for

    def follow(self, block: Block, objects: Objects) -> None:
        """Change `objects` as a block does."""
        for stmt in block:
            match stmt:
                case Assign():
                    self.bind(stmt, objects)
                case Pop():
                    objects.pop(stmt.target.name, None)
                case If():
                    other = dict(objects)
                    self.follow(stmt.then, objects)
                    self.follow(stmt.orelse, other)
                    _join(objects, other)
                case For() | While():
                    self.repeat(stmt.body if isinstance(stmt, For) else (*stmt.head, *stmt.body), objects)
                case _:
                    for name in assigned((stmt,)):
                        objects.pop(name, None)

    def bind(self, stmt: Assign, objects: Objects) -> None:
        source = viewed(stmt, self.types)
        found = None if source is not None and operation(stmt.op).kind != "identity" else object() if source is None else objects.get(source)
        for target in stmt.targets:
            if found is None:
                objects.pop(target.name, None)
            else:
                objects[target.name] = found if source is not None else object()

    def repeat(self, body: Block, objects: Objects) -> None:
        """Arrays that are apart before each trip, and so after it, as two buffers that change places, are apart after the loop."""
        while True:
            after = dict(objects)
            self.follow(body, after)
            changed = [n for n in objects if after.get(n) is not objects[n]]
            held, start = [after.get(n) for n in objects], list(objects.values())
            lost = [n for n in changed if after.get(n) is None or held.count(after[n]) > 1 or start.count(objects[n]) > 1]
            for name in lost:
                del objects[name]
            if not lost:
                objects.update({n: object() for n in changed})
                return

    # ------------------------------------------------------------- one loop

    def loop(self, loop: For | While, objects: Objects) -> list[Stmt]:
        if any(isinstance(s, (Push, Pop, Stack)) for s in walk(loop.body)):
            raise errors.UnsupportedSyntaxError("a loop with stacks cannot be checkpointed", loop.loc, hint="leave out `checkpointed`")
        written = {self.classes.find(n) for n in stored(loop.body)}
        state = [n for n in carried(loop) if self.types[n].array]
        bound = assigned(loop.body)
        outside = sorted(n for n in (read(loop.body) | stored(loop.body)) - bound if self.types[n].array and self.classes.find(n) in written)
        self.check_apart(loop, [n for n in state if self.classes.find(n) in written] + outside, objects)
        for name in state:
            if name in self.shadowed:
                self.refuse(loop, name, "the loop binds it anew, and views of it are written to")
        for name in sorted((bound & self.shadowed & self.live.after[id(loop)]) - set(state)):  # trips that run again would make its adjoint anew
            self.refuse(loop, name, "what is made there is changed, or looked into under another name, behind it")
        members = [*outside, *(n for n in state if self.classes.find(n) in written)]
        own = all(n not in self.shadowed and self.private(n, loop, members, objects) for n in members)
        copies = {n: self.copy(n) for n in members}
        before = [Assign((Var(c),), "np.copy", (Var(n),), (), loop.loc) for n, c in copies.items()]
        new = copies if own else {}
        pairs = [(c, n) if own else (n, c) for n, c in copies.items()]
        mark = Pack((loop.snapshots, Const(own), *(Var(n) for pair in pairs for n in pair)))  # type: ignore[arg-type]
        inner = replace(loop, body=rename(self.block(loop.body, _entered(loop, objects)), new), snapshots=mark)
        after = [Assign((Var(n),), "alias", (Var(c),), (), loop.loc) for n, c in new.items() if n in self.live.after[id(loop)]]
        return [*before, inner, *after]

    def copy(self, name: str) -> str:
        copy = self.names.fresh(name)
        self.types[copy] = self.types[name]
        return copy

    def private(self, name: str, loop: For | While, members: list[str], objects: Objects) -> bool:
        """Whether nothing that is read later sees through another name what a loop writes."""
        inside = {id(s) for s in walk((loop,))}
        before = {n for s in walk(self.fn.body) if id(s) not in inside for n in assigns(s)} | {p.name for p in self.fn.params}
        live = [n for n in self.live.after[id(loop)] if n in before and n not in members and self.types[n].array]
        others = [n for n in live if self.classes.same(n, name)]
        return all(objects.get(n) is not None and objects[n] is not objects.get(name) for n in others)

    def check_apart(self, loop: For | While, arrays: list[str], objects: Objects) -> None:
        """Refuse arrays of one loop that may be one: on entry, and after each trip."""
        by_class: dict[str, list[str]] = {}
        for name in arrays:
            by_class.setdefault(self.classes.find(name), []).append(name)
        for members in by_class.values():
            if len(members) < 2:
                continue
            inside: Objects = {n: object() for n in members}
            start = dict(inside)
            self.follow(loop.body, inside)
            for where in (objects, inside):
                found = [where.get(n) for n in members]
                for i, one in enumerate(found):
                    if one is None or any(one is other for other in found[:i]):
                        self.refuse(loop, members[i], f"it may share memory with `{members[0] if i else members[1]}`")
            fixed = [n for n in members if n not in assigned(loop.body)]
            assert all(inside[n] is start[n] for n in fixed)

    def refuse(self, loop: For | While, name: str, why: str) -> None:
        raise errors.AliasingError(
            f"the checkpointed loop writes to `{name}`, which cannot be kept apart", loop.loc, reason=why, hint="write `.copy()` where the array is made"
        )


def _entered(stmt: Stmt, objects: Objects) -> Objects:
    """What is known at the start of a block of a statement: in a loop nothing of names that it binds."""
    inside = dict(objects)
    if isinstance(stmt, (For, While)):
        for name in assigned((stmt,)):
            inside.pop(name, None)
    return inside


def _join(objects: Objects, other: Objects) -> None:
    for name in [n for n in objects if other.get(n) is not objects[n]]:
        del objects[name]


__all__ = ["apart", "carried", "carried_through", "isolated", "marked", "plain", "unmarked"]
