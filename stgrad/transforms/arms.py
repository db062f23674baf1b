"""Two branches on one condition, a loop in the first and its reversal in the second, as one branch.

    if c: a                       if c:
    else: b                           a; m; d
    m                     ->      else:
    if c: d                           b; m; e
    else: e

Both sweeps have the branches of the program, such as an early return. What stands between them, a few assignments, goes into both arms. The condition may be
computed again by the second sweep, from the same values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from stgrad.ir import Assign, Const, For, If, Operand, Stmt, Var, assigned, operand_vars, stored, walk
from stgrad.ir.ops import operation

BETWEEN = 6  # statements that may stand in both arms


def joined(statements: Sequence[Stmt], at: int, numbers: Callable[[str], bool], same: Callable[[str, str], bool]) -> Iterator[tuple[int, If]]:
    """The branch at a place, with a loop in it, and a later one of its condition: where that stands, and both as one.

    `numbers` tells whether a name is one number, `same` whether two arrays may share memory.
    """
    first = statements[at]
    if not isinstance(first, If) or not any(isinstance(s, For) for s in walk((first,))):
        return
    for later in range(at + 1, min(at + BETWEEN + 2, len(statements))):
        second, middle = statements[later], statements[at + 1 : later]
        if isinstance(second, If) and _Values.of(statements[:later], numbers, same).equal(first.cond, second.cond, at, later):
            yield later, replace(first, then=(*first.then, *middle, *second.then), orelse=(*first.orelse, *middle, *second.orelse))
        if not isinstance(second, Assign):
            return


@dataclass(frozen=True)
class _Values:
    """What the statements of a block make, by names that one of them binds."""

    made: dict[str, tuple[int, Assign]]
    bound: set[str]
    written: set[str]
    numbers: Callable[[str], bool]
    same: Callable[[str, str], bool]

    @classmethod
    def of(cls, statements: Sequence[Stmt], numbers: Callable[[str], bool], same: Callable[[str, str], bool]) -> _Values:
        made = {s.target.name: (k, s) for k, s in enumerate(statements) if isinstance(s, Assign) and len(s.targets) == 1}
        binders = Counter(name for s in statements for name in assigned((s,)))
        return cls({n: m for n, m in made.items() if binders[n] == 1}, set(binders), stored(tuple(statements)), numbers, same)

    def equal(self, a: Operand, b: Operand, before_a: int, before_b: int) -> bool:
        """Whether two operands, of statements at these places, are of one value."""
        a, before_a = self.source(a, before_a)
        b, before_b = self.source(b, before_b)
        if a == b:
            return isinstance(a, Const) or isinstance(a, Var) and self.stands(a.name, min(before_a, before_b))
        if not (isinstance(a, Var) and isinstance(b, Var) and a.name in self.made and b.name in self.made):
            return False
        (at, first), (other, second) = self.made[a.name], self.made[b.name]
        if at >= before_a or other >= before_b or (first.op, len(first.args)) != (second.op, len(second.args)) or first.kwargs or second.kwargs:
            return False
        return self.computes(first) and all(self.equal(x, y, at, other) for x, y in zip(first.args, second.args, strict=True))

    def source(self, operand: Operand, before: int) -> tuple[Operand, int]:
        """What an operand is a copy of, and where that copy is made."""
        while isinstance(operand, Var) and operand.name in self.made and self.made[operand.name][1].op == "alias" and self.numbers(operand.name):
            at, stmt = self.made[operand.name]
            if at >= before:
                break
            operand, before = stmt.args[0], at
        return operand, before

    def stands(self, name: str, before: int) -> bool:
        return name not in self.bound or name in self.made and self.made[name][0] < before

    def computes(self, stmt: Assign) -> bool:
        """Whether a statement makes a number of its operands alone."""
        if not self.numbers(stmt.target.name):
            return False
        if stmt.op == "getitem":
            return not any(self.same(n, w) for n in operand_vars(stmt.args[0]) for w in self.written)
        return operation(stmt.op).total
