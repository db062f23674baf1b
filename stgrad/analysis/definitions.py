"""Who binds each name of a program, and how often it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Block, Function, Stmt, assigns, operand_vars, reads, walk
from stgrad.ir.ops import operation


@dataclass(frozen=True)
class Definitions:
    """What binds names, and what reads them.

    Attributes:
        made: the statements that bind each name, in the order of the program; a parameter has one definition more, which is none of them.
        params: the names of parameters.
        result: the names that the program returns.
        body: its statements.
    """

    made: Mapping[str, list[Stmt]] = field(default_factory=dict)
    params: frozenset[str] = frozenset()
    result: tuple[str, ...] = ()
    body: Block = ()

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each name is bound, by the call too."""
        return Counter({name: len(found) for name, found in self.made.items()}) + Counter(self.params)

    @cached_property
    def once(self) -> Mapping[str, Stmt]:
        """The statement of each name that is bound once, which dominates every use."""
        return {name: found[0] for name, found in self.made.items() if len(found) == 1 and name not in self.params}

    @cached_property
    def reads(self) -> Counter[str]:
        """How often each name is read, as a result too."""
        found = Counter(self.result)
        for stmt in walk(self.body):
            found.update(reads(stmt))
        return found

    def all(self, name: str) -> list[Stmt]:
        """All definitions of a name; none where one of them is the call's."""
        return [] if name in self.params else self.made.get(name, [])

    def renamed(self, old: Assign, new: Assign) -> Definitions:
        """The definitions where one statement binds another name."""
        left = [s for s in self.made[old.target.name] if s is not old]
        return replace(self, made={**self.made, old.target.name: left, new.target.name: [new]})

    def agreed(self, name: str) -> Assign | None:
        """The definition of an integer, where all of them compute the same, as those of both sweeps do."""
        every = self.all(name)
        first = every[0] if every else None
        if not isinstance(first, Assign) or not _counts(first.op) or first.kwargs:
            return None
        same = all(isinstance(s, Assign) and (s.targets, s.op, s.args, s.kwargs) == (first.targets, first.op, first.args, ()) for s in every)
        return first if same else None

    def pure(self, name: str) -> Assign | None:
        """The one definition of a name, if it is integer arithmetic."""
        stmt = self.once.get(name)
        return stmt if isinstance(stmt, Assign) and _counts(stmt.op) and not stmt.kwargs else None


@kept
def definitions(fn: Function) -> Definitions:
    """The definitions of a program's names."""
    made: dict[str, list[Stmt]] = {}
    for stmt in walk(fn.body):
        for name in assigns(stmt):
            made.setdefault(name, []).append(stmt)
    return Definitions(made, frozenset(p.name for p in fn.params), operand_vars(fn.result), fn.body)


def _counts(op: str) -> bool:
    """Whether an operation is arithmetic on integers, or an extent."""
    known = operation(op)
    return op in ("int", "alias", "shape") or known.kind == "arithmetic" and known.cost is not None
