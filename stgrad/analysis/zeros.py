"""Gradients that are zero as a whole, because all that the result takes of the arguments goes through operations without a derivative."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from stgrad.analysis.activity import activity, differentiable
from stgrad.analysis.influence import influenced
from stgrad.analysis.liveness import result_names
from stgrad.errors import ZeroGradientWarning
from stgrad.ir import Assign, Block, Const, Custom, Function, Stmt, map_blocks, reads, walk
from stgrad.ir.ops import operation

_told: set[str] = set()


def warn_of_zeros(fn: Function, wrt: Sequence[str], name: str, *, once: bool = False) -> None:
    """Warn if the result of a program depends on its parameters `wrt`, and its gradient does not; the place is the first line that cuts it off.

    `once`: each function once in a process, as what reads it may do so several times for one program.
    """
    if result_names(fn) & activity(fn, wrt).varied:
        return
    found = cut(fn, wrt)
    if found is None or found.loc is None:
        return
    loc = found.loc
    message = (
        f"the gradient of `{name}` is zero wherever there is one: `{found.op}` in line {loc.line} ({loc.text.strip()}) is constant between its jumps, "
        "and nothing else leads from the arguments to the result (stgrad.stop_gradient says that this is meant)"
    )
    if once and message in _told:
        return
    _told.add(message)
    warnings.warn_explicit(message, ZeroGradientWarning, loc.file, loc.line)


def cut(fn: Function, wrt: Sequence[str]) -> Assign | None:
    """The first statement that has no derivative, takes what depends on the parameters, and decides about the result; None where nothing does."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return None  # whoever writes a rule of his own may mean zero
    known = _without(fn)
    result = result_names(known)
    if not result & influenced(known, wrt):
        return None
    varied = activity(known, wrt).varied
    for stmt in walk(known.body):
        if not isinstance(stmt, Assign) or differentiable(stmt.op) or not varied & set(reads(stmt)):
            continue
        if result & influenced(known, [t.name for t in stmt.targets]):
            return stmt
    return None


def _without(fn: Function) -> Function:
    """The program without what takes no values of its operands, or is said to be constant."""

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and (stmt.op == "stop_gradient" or not operation(stmt.op).contents):
            return replace(stmt, op="alias", args=(Const(0.0),), kwargs=())
        return map_blocks(block, stmt)

    def block(stmts: Block) -> Block:
        return tuple(map(statement, stmts))

    return replace(fn, body=block(fn.body))


__all__ = ["cut", "warn_of_zeros"]
