"""Gives each loop a counter of its own, by which it is known when its gradient is there.

    while n > 1:                going = n > 1
        n = n // 2              trips = 0
                        ->      while going:
                                    n = n // 2
                                    going = n > 1
                                    trips = trips + 1
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stgrad.ir import Assign, Block, Const, For, Function, Stmt, Type, Var, While, map_blocks, rename
from stgrad.names import Names

INT, BOOL = Type("int64", weak=True), Type("bool", weak=True)


def counted(fn: Function) -> Function:
    """The program with a counter of its own in each loop; what a `while` goes by is a variable, so that it can be left and entered again."""
    work = _Counters(Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types), set())
    return replace(fn, body=work.block(fn.body), types=work.types)


@dataclass
class _Counters:
    names: Names
    types: dict[str, Type]
    seen: set[str]  # counters of `for` loops

    def block(self, block: Block) -> Block:
        return tuple(new for s in block for new in self.one(s))

    def one(self, stmt: Stmt) -> Block:
        if isinstance(stmt, While):
            return self.unbounded(stmt)
        if isinstance(stmt, For):
            if stmt.var.name in self.seen:
                fresh = self.new(stmt.var.name, self.types[stmt.var.name])
                stmt = replace(stmt, var=fresh, body=rename(stmt.body, {stmt.var.name: fresh.name}))
            self.seen.add(stmt.var.name)
        return (map_blocks(self.block, stmt),)

    def unbounded(self, loop: While) -> Block:
        going, trips = self.new("going", BOOL), self.new("trips", INT)
        again = Assign((going,), "alias", (loop.cond,), (), loop.loc)
        body = (*self.block(loop.body), *self.block(apart(loop.head)), replace(again), Assign((trips,), "np.add", (trips, Const(1))))
        start = Assign((trips,), "alias", (Const(0),))
        return (*self.block(loop.head), again, start, replace(loop, head=(), cond=going, body=body, trips=trips))

    def new(self, wish: str, type_: Type) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = type_
        return Var(name)


def counter(loop: Stmt) -> str | None:
    """The variable by which a loop is known."""
    if isinstance(loop, For):
        return loop.var.name
    return loop.trips.name if isinstance(loop, While) and loop.trips is not None else None


def apart(block: Block) -> Block:
    """The block once more, in statements of its own."""
    return tuple(map_blocks(apart, replace(s)) for s in block)


__all__ = ["apart", "counted", "counter"]
