"""Which statements of a program depend on some of its parameters, and have to run again when only these change.

    y = np.sin(x)                      early
    t = np.cos(x)                      early: it reads nothing of y_bar, wherever it stands
    x_bar = y_bar * t                  late

Only whole statements of the outermost block are told apart. An early statement may be moved before all late ones: one that would write what a late
one before it reads or writes is late, too, and so is what is seen outside (a print) once something late was there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stgrad.analysis.alias import Classes, aliases
from stgrad.ir import Assign, Block, Effect, Function, Pop, Push, Stack, Stmt, assigned, read, rule_reads, stored, walk
from stgrad.ir.ops import operation


def divided(fn: Function, late: Iterable[str]) -> tuple[Block, Block]:
    """The statements that do not depend on the parameters `late`, and those that do, each in order."""
    times = _Times(aliases(fn), fn, set(late))
    early: list[Stmt] = []
    behind: list[Stmt] = []
    for stmt in fn.body:
        (behind if times.takes(stmt) else early).append(stmt)
    return tuple(early), tuple(behind)


def stacks_of(block: Block) -> frozenset[str]:
    """The stacks that a block declares or uses."""
    return frozenset(s.name if isinstance(s, Stack) else s.stack for s in walk(block) if isinstance(s, (Stack, Push, Pop)))


@dataclass
class _Times:
    """What the late statements found so far read and write: names, and classes of memory."""

    classes: Classes
    fn: Function
    bound: set[str]
    read: set[str] = field(default_factory=set)
    looked: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def takes(self, stmt: Stmt) -> bool:
        """Whether a statement is late; then what it does counts from here on."""
        stacks = stacks_of((stmt,))
        reads, binds = read((stmt,)) | rule_reads((stmt,)) | stacks, assigned((stmt,)) | stacks
        looks, writes = self._memory(reads), {self.classes.find(n) for n in stored((stmt,))}
        dependent = reads & self.bound or looks & self.written
        moved = binds & (self.read | self.bound) or writes & (self.looked | self.written)
        if not (dependent or moved or self.read and _is_seen(stmt)):
            return False
        self.read |= reads
        self.bound |= binds
        self.looked |= looks
        self.written |= writes
        return True

    def _memory(self, names: set[str]) -> set[str]:
        return {self.classes.find(n) for n in names if n in self.fn.types and self.fn.types[n].array}


def _is_seen(stmt: Stmt) -> bool:
    """Whether something outside may notice when a statement runs: it prints, raises or calls Python."""
    return any(isinstance(s, Effect) or isinstance(s, Assign) and operation(s.op).kind in ("call", "unknown") for s in walk((stmt,)))


__all__ = ["divided", "stacks_of"]
