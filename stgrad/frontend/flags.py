"""Flags of names that may be read unassigned: raised where a name is bound, tested where it is read (see `syntax.assigned`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from stgrad.frontend import operations
from stgrad.frontend.control import branch
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Known, Sym, Value
from stgrad.ir import Const, Effect, If, Var
from stgrad.syntax.assigned import parameters


def begin(frame: Frame, tree: Any) -> None:
    """The flags of a function, as it is called; see `stgrad.syntax.assigned`."""
    frame.flags = getattr(tree, "flags", {})
    given = parameters(tree)
    frame.env.update({flag: name in given for name, flag in frame.flags.items()})


def read_name(frame: Frame, node: Any) -> Value:
    """The value of a name; where it may be unassigned, the program tests its flag first."""
    flag = getattr(node, "check", None)
    if flag is not None:
        frame.note_earlier(node.id)
        _check(frame, node, frame.lookup(flag))
    return frame.lookup(node.id, node)


def _check(frame: Frame, node: Any, flag: Value) -> None:
    if isinstance(flag, Sym):
        name = node.id.partition("@")[0]  # without the mark of a generator's names
        message = f"cannot access local variable '{name}' where it is not associated with a value"
        error = Effect("raise", (Const("UnboundLocalError"), Const(message)), (), frame.builder.loc, frame.builder.note)
        frame.builder.emit(If(flag.operand, (), (error,), frame.builder.loc, frame.builder.note))
    elif not flag:
        frame.unassigned(node.id, node)


def note_assigned(frame: Frame, node: Any) -> None:
    """Raise the flag of what a node binds."""
    flag = getattr(node, "flag", None)
    if flag is not None:
        _set(frame, flag, True)


def note_deleted(frame: Frame, node: Any) -> None:
    for flag in node.flags:
        _set(frame, flag, False)


def _set(frame: Frame, flag: str, to: bool) -> None:
    """Raise or lower a flag: in a `try`, which may be left here, in the variable that the handler looks at."""
    held = frame.env.get(flag) if frame.builder.attempts else None
    if isinstance(held, Sym) and isinstance(held.operand, Var):
        target = frame.own_variable(flag, held)
        frame.builder.copy_to(target, to)
        frame.env[flag] = Known(target.operand, target.type, to)
    else:
        frame.env[flag] = to


def note_ran(frame: Frame, loop: Any, length: Callable[[], Value]) -> Callable[[], None]:
    """A function that raises, behind a loop, the flags that any trip of it raises; `length` is the number of trips."""
    flags = [flag for flag in loop.ran if frame.env[flag] is not True]
    ran: Value = operations.binary(frame, gast.Gt, length(), 0) if flags else True

    def note() -> None:
        for flag in flags:
            before = frame.env[flag]
            frame.env[flag] = ran if before is False else branch(frame, before, lambda: True, lambda: ran, flag)

    return note
