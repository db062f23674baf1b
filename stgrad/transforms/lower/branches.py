"""Sums that branches add to are added to once, behind the branch.

    if d > cutoff:                     if d > cutoff:
        total = total + a                  term = a
    elif d < 0.0:              ->      elif d < 0.0:
        total = total - b                  term = -b
                                       else:
                                           term = 0.0
                                       total = total + term

A branch whose arms only compute a number becomes a selection, and so a loop with it can run several trips at once; one whose arms add to a
sum cannot. Additions of zero change nothing but the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stgrad.analysis.orders import is_sum
from stgrad.ir import Assign, Block, Const, If, Operand, Stmt, Type, Var, assigned, reads, walk
from stgrad.names import Names


def sink_sums(body: Block, sums: Iterable[str], types: dict[str, Type], names: Names) -> Block:
    """The body of a loop with the sums of float64 `sums` taken out of the branches at its top level.

    `sums` are names that trips hand on; a name that is touched other than by additions stays as it is.
    """
    for name in sorted(sums):
        if types[name].dtype == "float64" and not types[name].array and all(_adds(s, name) for s in walk(body)):
            body = tuple(new for stmt in body for new in _behind(stmt, name, types, names))
    return body


def _adds(stmt: Stmt, name: str) -> bool:
    """Whether a statement itself leaves a name alone, or adds to it."""
    if isinstance(stmt, Assign) and name in (t.name for t in stmt.targets):
        return len(stmt.targets) == 1 and is_sum(stmt)
    return name not in reads(stmt)


def _behind(stmt: Stmt, name: str, types: dict[str, Type], names: Names) -> list[Stmt]:
    if not isinstance(stmt, If) or name not in assigned((stmt,)):
        return [stmt]
    sinking = _Sinking(name, Var(names.fresh("term")), types, names)
    try:
        branch = sinking.branch(stmt)
    except _Twice:
        return [stmt]
    types[sinking.term.name] = Type("float64")
    return [branch, Assign((Var(name),), "runtime.radd", (Var(name), sinking.term))]


class _Twice(Exception):
    """An arm adds to the sum more than once."""


@dataclass
class _Sinking:
    name: str
    term: Var
    types: dict[str, Type]
    names: Names

    def branch(self, stmt: If) -> If:
        return replace(stmt, then=self.arm(stmt.then), orelse=self.arm(stmt.orelse))

    def arm(self, block: Block) -> Block:
        """An arm that assigns the term where it added to the sum."""
        touching = [i for i, s in enumerate(block) if self.name in assigned((s,))]
        if not touching:
            return (*block, Assign((self.term,), "alias", (Const(0.0),)))
        if len(touching) > 1:
            raise _Twice
        (at,) = touching
        stmt = block[at]
        if isinstance(stmt, If):
            return (*block[:at], self.branch(stmt), *block[at + 1 :])
        if not isinstance(stmt, Assign):
            raise _Twice
        op = "np.negative" if stmt.op == "np.subtract" else "alias"
        made = replace(stmt, targets=(self.term,), op=op, args=(self.added(stmt),))
        return (*block[:at], made, *block[at + 1 :])

    def added(self, stmt: Assign) -> Operand:
        (value,) = (a for a in stmt.args if a != Var(self.name))
        return value
