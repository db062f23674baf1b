"""`for i in stgrad.checkpointed(range(n))`: a loop of the program that says how its reversal keeps what it needs.

A call of a `stgrad.checkpoint` is such a loop, of one trip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gast

from stgrad import errors
from stgrad.checkpoints import checkpoint, checkpointed
from stgrad.frontend.builtins import handles
from stgrad.frontend.custom import output
from stgrad.frontend.frame import Frame
from stgrad.frontend.iteration import Range
from stgrad.frontend.loops import COUNTER
from stgrad.frontend.values import Value, Waiting, is_static, map_leaves, operand_of, static_of, type_of
from stgrad.ir import Const, For, Operand, Var
from stgrad.lookups import look


@dataclass(frozen=True, eq=False)
class Checkpointed(Waiting):
    """The range of a marked loop, and how many snapshots it may keep; None: as many as there are segments of √n trips."""

    trips: Range
    snapshots: Value


@handles(checkpointed)
def _checkpointed(frame: Frame, trips: Value, snapshots: Value = None) -> Value:
    if not isinstance(trips, Range):
        raise errors.UnsupportedSyntaxError("`checkpointed` takes a range", frame.builder.loc, hint="write checkpointed(range(...))")
    if snapshots is not None and (type_of(snapshots).array or not type_of(snapshots).dtype.startswith("int")):
        raise errors.TypeInferenceError(f"the number of snapshots is {type_of(snapshots)}", frame.builder.loc, hint="pass an integer")
    known = static_of(snapshots)
    if known is not None and is_static(known) and known < 1:
        raise errors.UnsupportedSyntaxError(f"a loop with {known} snapshots cannot be reversed", frame.builder.loc, hint="keep one at least")
    return Checkpointed(trips, snapshots)


def snapshots_of(frame: Frame, node: Any, value: Checkpointed) -> Operand:
    """The operand that marks the loop; refuses loops that end early."""
    if getattr(node, "until", None) is not None:
        raise errors.UnsupportedSyntaxError(
            "a checkpointed loop is left early",
            frame.loc(node),
            reason="the trips that are run again are planned from their number",
            hint="let the remaining trips do nothing, or leave out `checkpointed`",
        )
    if not isinstance(node.target, gast.Name) or not is_static(static_of(value.trips.step)):
        raise errors.UnsupportedSyntaxError(
            "a checkpointed loop needs one counter and a step known at compile time", frame.loc(node), hint="write for i in checkpointed(range(start, stop))"
        )
    known = static_of(value.snapshots)
    return Const(known) if known is None or is_static(known) else operand_of(value.snapshots)


@dataclass(frozen=True, eq=False)
class Again:
    """A function whose calls run again in the reverse sweep."""

    function: Value

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        builder = frame.builder
        with builder.block() as body, frame.speculate(closed=True):
            value = frame.call(self.function, args, kwargs)
            outputs = map_leaves(lambda v, path: output(frame, v, path), value)
        once = Var(builder.variable("once", COUNTER).name)
        builder.emit(For(once, Const(0), Const(1), Const(1), tuple(body), builder.loc, builder.note, snapshots=Const(1)))
        return outputs


@handles(checkpoint)
def _checkpoint(frame: Frame, fun: Value) -> Value:
    return Again(fun)


def _call(self: checkpoint, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    return Again(look("attribute", self, "fun"))._stgrad_call_(frame, args, kwargs)


checkpoint._stgrad_call_ = _call  # type: ignore[attr-defined]
