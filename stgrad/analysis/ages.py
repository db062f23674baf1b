"""How many trips the memory lives that a statement asks for: what may still be read of earlier times when it runs again.

    x = x0                                 y = np.empty(n): x may have the memory of the last time (age 1), nothing has older memory,
    for t in range(T):                     so two pieces of memory in turn are enough
        y = np.empty(n)
        for i in range(n): y[i] = f(x[i])
        x = y

Every name carries the memory that it may hold as (statement, age); an age grows whenever the statement runs. Names, not contents, hold
memory: arrays are never elements of arrays, and what goes on a stack is given up on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stgrad.analysis.alias import may_view, sources
from stgrad.analysis.liveness import Liveness, liveness
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    For,
    Function,
    If,
    Pack,
    Push,
    Stmt,
    Var,
    While,
    assigns,
    operand_vars,
    reads,
    walk,
)

OLDEST = 3  # as good as for ever
Held = frozenset[tuple[int, int]]  # (id of the statement, age)
State = dict[str, Held]
NOTHING: Held = frozenset()


def ages(fn: Function, asks: Callable[[Assign], bool]) -> dict[int, int]:
    """The greatest age that is still needed where a statement asks for memory again, by the id of the statement.

    Statements whose memory lives for ever are not in it.
    """
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return {}
    sites = [s for s in walk(fn.body) if isinstance(s, Assign) and asks(s)]
    once = [id(s) for s in sites if sum(s is other for other in sites) == 1]
    if not once:
        return {}
    state = _Ages(fn, liveness(fn), dict.fromkeys(once, 0))
    state.block(fn.body, {})
    return {site: age for site, age in state.needed.items() if age < OLDEST}


@dataclass
class _Ages:
    fn: Function
    live: Liveness
    needed: dict[int, int]  # of each statement that asks for memory
    moving: dict[int, bool] = field(default_factory=dict)  # whether a compound statement binds arrays, by its id

    def block(self, statements: Block, state: State) -> State:
        for stmt in statements:
            state = self.statement(stmt, state)
        return state

    def statement(self, stmt: Stmt, state: State) -> State:
        match stmt:
            case Assign():
                return self.assign(stmt, state)
            case If() | For() | While() if not self.moves(stmt):
                return state
            case If():
                return joined(self.block(stmt.then, state), self.block(stmt.orelse, state))
            case For():
                return self.loop((stmt.body,), state)
            case While():
                return self.loop((stmt.head, stmt.body), state)
            case Push():
                for name in operand_vars(stmt.value):
                    self.needed |= {site: OLDEST for site, _ in state.get(name, NOTHING)}
        return without(state, assigns(stmt))

    def moves(self, stmt: Stmt) -> bool:
        """Whether something in a compound statement binds an array, or keeps one."""
        if id(stmt) not in self.moving:
            inside = walk((stmt,))
            self.moving[id(stmt)] = any(isinstance(s, Push) or any(self.fn.types[n].array for n in assigns(s)) for s in inside)
        return self.moving[id(stmt)]

    def loop(self, bodies: Iterable[Block], state: State) -> State:
        """To the fixed point; a loop may have no trip, and a `while` ends behind its head."""
        bodies = tuple(bodies)
        while True:
            after = state
            for body in bodies:
                after = joined(state, self.block(body, after))
            if after == state:
                return state
            state = after

    def assign(self, stmt: Assign, state: State) -> State:
        if id(stmt) in self.needed:
            return self.asked(stmt, state)
        if stmt.op == "alias" and len(stmt.targets) == len(stmt.args):  # a swap moves all at once
            held = [self.held((a,), state) for a in stmt.args]
        elif may_view(stmt):
            held = [self.held(tuple(map(Var, sources(stmt, self.fn.types))), state)] * len(stmt.targets)
        else:
            held = [NOTHING] * len(stmt.targets)
        moved = {t.name: memory for t, memory in zip(stmt.targets, held, strict=True) if memory and self.fn.types[t.name].array}
        return {**without(state, assigns(stmt)), **moved} if moved else without(state, assigns(stmt))

    def asked(self, stmt: Assign, state: State) -> State:
        """New memory: all that the statement gave before is a time older."""
        me, name = id(stmt), stmt.target.name
        older = {n: frozenset((s, min(age + 1, OLDEST) if s == me else age) for s, age in held) for n, held in state.items()}
        wanted = (self.live.after[me] - {name}) | set(reads(stmt))
        for n in wanted:
            for site, age in older.get(n, NOTHING):
                if site == me:
                    self.needed[me] = max(self.needed[me], age)
        return {**older, name: frozenset({(me, 0)})}

    def held(self, args: Iterable[object], state: State) -> Held:
        found: set[tuple[int, int]] = set()
        for arg in args:
            if isinstance(arg, (Var, Pack)):
                for name in operand_vars(arg):
                    found |= state.get(name, NOTHING)
        return frozenset(found)


def without(state: State, names: Iterable[str]) -> State:
    gone = [n for n in names if n in state]
    return {n: held for n, held in state.items() if n not in gone} if gone else state


def joined(a: State, b: State) -> State:
    return {n: a.get(n, NOTHING) | b.get(n, NOTHING) for n in a.keys() | b.keys()}
