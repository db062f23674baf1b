"""Outlining: a helper that a long program calls over and over is read, differentiated and compiled once, as a function beside the program.

Programs are read in place of all their calls, so that 24 calls of a distribution are 24 copies of its loops, each of which is differentiated and
compiled. That is the best program for a few calls, as each knows its arguments. Where it makes the program long, the program is read again with its
helpers as units (`stgrad.frontend.units`), if they are functions of numbers that give one number: then the value is made with its gradient. Numbers that
need to be known while a helper is read (integers, flags, texts) have a unit each.

The name is that of compilers for the opposite of inlining.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from stgrad.frontend.frame import Frame
from stgrad.frontend.units import Made, call_made, make
from stgrad.frontend.values import Sym, Value
from stgrad.ir import Block, Function, walk

LONG = 1000  # statements: of about so many on, the first call takes ten seconds
OFTEN = 3  # calls
BODY = 15  # variables of a helper that is worth a function
SHARE = 0.1  # of a program: what a helper must repeat of it


@dataclass
class Permission:
    """Whether a compilation may make functions of helpers, and whether it has."""

    allowed: bool = False
    used: bool = False


ALLOWED: ContextVar[Permission] = ContextVar("outlining_allowed", default=Permission())  # noqa: B039  (nothing writes to this one)


@dataclass
class Work:
    """What has been read in place of the calls of one helper."""

    tree: Any
    calls: int = 0
    variables: int = 0

    @property
    def repeated(self) -> float:
        """How much of it would not be there, were it read once."""
        return self.variables * (1.0 - 1.0 / self.calls)


@dataclass
class Outlining:
    """One reading: the helpers that are functions in it, and the functions so far; of the others what is read in place of their calls."""

    helpers: frozenset[int] = frozenset()  # the identities of their trees
    work: dict[int, Work] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)


_READING: ContextVar[Outlining | None] = ContextVar("outlining", default=None)


@contextmanager
def reading(helpers: frozenset[int] = frozenset()) -> Iterator[Outlining]:
    """Note the work of helpers, or make functions of those that are given, while a program is read."""
    state = Outlining(helpers)
    token = _READING.set(state)
    try:
        yield state
    finally:
        _READING.reset(token)


def worth_it(state: Outlining, fn: Function) -> frozenset[int]:
    """The helpers that are to be functions: none of a program that is not long."""
    if not state.work or length(fn.body) < LONG:
        return frozenset()
    often = [w for w in state.work.values() if w.calls >= OFTEN and w.variables >= BODY * w.calls]
    return frozenset(id(w.tree) for w in often if w.repeated >= SHARE * len(fn.types))


def length(block: Block) -> int:
    """How many statements a program has."""
    return sum(1 for _ in walk(block))


@contextmanager
def noted(frame: Frame, tree: Any, given: Mapping[str, Value]) -> Iterator[None]:
    """Note what is read in place of a call, if it could be one of a function."""
    state = _READING.get()
    if state is None or not _of_numbers(given):
        yield
        return
    types = frame.builder.types
    before = len(types)
    yield
    work = state.work.setdefault(id(tree), Work(tree))
    work.calls += 1
    work.variables += max(0, len(types) - before)


def outlined(frame: Frame, tree: Any, source: Any, given: Mapping[str, Value]) -> tuple[Value, ...]:
    """The value of a call of a helper that is a function; nothing if it is none."""
    state = _READING.get()
    if state is None or id(tree) not in state.helpers or not _of_numbers(given):
        return ()
    known = next((m for m in state.made if m.takes(tree, given)), None)
    if known is None:
        known = make(frame, tree, source, None, given, is_parameter=moves)
        state.made.append(known)
    if not known.unit.scalar:
        return ()
    return (call_made(frame, known, given),)


def moves(leaf: Value) -> bool:
    """Whether a part of an argument is a parameter of the function: a value of the running program, or a number that may as well be one."""
    return isinstance(leaf, Sym) or type(leaf) is float


def _of_numbers(given: Mapping[str, Value]) -> bool:
    known = (bool, int, float, complex, str, type(None))
    parts = given.values()
    return any(isinstance(p, Sym) for p in parts) and all(not p.type.array if isinstance(p, Sym) else isinstance(p, known) for p in parts)


__all__ = ["ALLOWED", "Outlining", "Permission", "length", "noted", "outlined", "reading", "worth_it"]
