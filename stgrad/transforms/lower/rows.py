"""Arrays that each trip makes anew, fills and keeps are kept once they are finished: then a copy of them will do.

    for i in range(n):                     for i in range(n):
        t = np.empty(4)                        t = np.empty(4)
        s.append(t)                            t[0] = x[i]
        t[0] = x[i]                ->          t[1] = -x[i]
        t[1] = -x[i]                           s.append(t)
        y[i] = np.max(t)                       y[i] = np.max(t)

A list keeps the array itself, so that it shows what is written later. Where nothing outside of the trip sees the array, and on the way back only the
trip that takes it off the list, an item of a block can hold what it holds in the end. So it can where each array is filled as soon as it is made, before
anything else looks at it: whoever pushes it, in a later trip maybe, pushes a finished one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stgrad.analysis.alias import Classes, viewed
from stgrad.analysis.definitions import definitions
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    Function,
    Pop,
    Push,
    Stmt,
    Store,
    Var,
    assigns,
    blocks,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.ir.ops import operation


def finished(fn: Function, classes: Classes, written: frozenset[str]) -> tuple[Function, frozenset[str]]:
    """The program with arrays kept once they are finished, and the lists of which that holds. `written`: classes of arrays that are written in place."""
    pushed = [s for s in walk(fn.body) if isinstance(s, Push) and fn.types[s.stack].array and classes.find(s.stack) in written]
    if not pushed or any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn, frozenset()
    state = _Rows(fn, classes, definitions(fn).counts)
    late = frozenset(classes.find(name) for name in _written_late(fn.body))
    state.found |= {s.stack for s in pushed if classes.find(s.stack) not in late}
    body = state.block(fn.body)
    return fn.with_body(body), frozenset(state.found)


def _written_late(statements: Block) -> Iterator[str]:
    """Arrays that are written after something else may have looked at them: not where they were made, or not at once."""
    open_: set[str] = set()  # arrays that were made in this block, and have only been filled
    for stmt in statements:
        if isinstance(stmt, Store):
            if stmt.target.name not in open_:
                yield stmt.target.name
            open_.difference_update(operand_vars(stmt.value))
            continue
        for inner in blocks(stmt):
            yield from _written_late(inner)
        open_ -= {n for s in walk((stmt,)) for n in (*reads(s), *assigns(s))}
        if isinstance(stmt, Assign) and operation(stmt.op).kind == "creation":
            open_.update(assigns(stmt))


@dataclass
class _Rows:
    fn: Function
    classes: Classes
    counts: Counter[str]  # how often a name is bound
    found: set[str] = field(default_factory=set)

    def block(self, statements: Block) -> Block:
        result = [map_blocks(self.block, s) for s in statements]
        order = list(range(len(statements)))  # where the statements of the block stand now
        for at, stmt in enumerate(statements):
            last = self.last(stmt, at, statements) if isinstance(stmt, Push) and stmt.stack not in self.found else None
            if last is not None and isinstance(stmt, Push):
                self.found.add(stmt.stack)
                if last > at:
                    order.remove(at)
                    order.insert(order.index(last) + 1, at)
        return tuple(result[k] for k in order)

    def last(self, push: Push, at: int, statements: Block) -> int | None:
        """Where in its block the array that is pushed is written last, if only its own trip and the one that pops it can see it."""
        name = push.value.name if isinstance(push.value, Var) else ""
        made = next((k for k in range(at) if name in assigns(statements[k])), None)
        if made is None or not self.fn.types[name].array or self.counts[name] != 1 or viewed(statements[made], self.fn.types) is not None:
            return None
        if not isinstance(statements[made], Assign) or not self.alone(push.stack, statements[made:]):
            return None
        if any(isinstance(s, Pop) and s.stack == push.stack for s in walk(statements[at:])):
            return None  # what is written behind the pop is written to what was taken off
        writing = [k for k in range(at, len(statements)) if any(self.writes(s, push.stack) for s in walk((statements[k],)))]
        return max(writing, default=at)

    def alone(self, stack: str, trip: Block) -> bool:
        """Whether nothing but these statements, and those behind the one that pops the array, touches what may be the array."""
        pops = [b[k:] for b in _every_block(self.fn.body) for k, s in enumerate(b) if isinstance(s, Pop) and s.stack == stack]
        inside = {id(s) for part in (trip, *pops) for s in walk(part)}
        keeping = [s for s in walk(self.fn.body) if isinstance(s, (Push, Pop)) and self.same(s.stack, stack)]
        outside = [s for s in walk(self.fn.body) if id(s) not in inside]
        names = {p.name for p in self.fn.params} | set(operand_vars(self.fn.result)) | set(self.fn.constants)
        names.update(n for s in outside for n in (*reads(s), *assigns(s), *((s.target.name,) if isinstance(s, Store) else ())))
        return len(pops) == 1 and len(keeping) == 2 and not any(self.fn.types[n].array and self.same(n, stack) for n in names if n in self.fn.types)

    def writes(self, stmt: Stmt, stack: str) -> bool:
        return isinstance(stmt, Store) and self.same(stmt.target.name, stack)

    def same(self, a: str, b: str) -> bool:
        return self.classes.find(a) == self.classes.find(b)


def _every_block(body: Block) -> Iterable[Block]:
    yield body
    for stmt in body:
        for inner in blocks(stmt):
            yield from _every_block(inner)
