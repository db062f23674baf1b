"""Names for what the user gave none: a temporary is called by what computes it, or by the variable for which it is computed.

    sin_x = np.sin(x)        F_P = F @ P        p_0 = p[0]        K_part = 2.0 * a + b      (in a statement that computes K)

They begin with an underscore, as all names do that the compiler invents; printed programs leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gast

from stgrad.ir import Const, Operand, Slice, Var, entries_of
from stgrad.ir.ops import operation
from stgrad.names import plain

UNNAMED = "_t"
LONGEST = 20
_WRITTEN = frozenset("arithmetic comparison logical predicate identity cast choice copy creation like stack call".split())  # kinds that give no name


def wish_of(op: str, args: Sequence[Operand], aim: str) -> str:
    """The name for the result of an operation; `aim` is the variable for which it is computed, where one is."""
    known, called = operation(op), op.rsplit(".", 1)[-1]
    first = _shown(args[0]) if args else ""
    if op == "np.transpose":
        found = f"{first}_T" if first else ""
    elif known.kind == "product" and len(args) == 2:
        both = [_shown(a) for a in args]
        found = "_".join(both) if all(both) else ""
    elif known.kind == "extent":
        axis = args[1].value if len(args) > 1 and isinstance(args[1], Const) else 0
        found = f"n{axis or ''}_{first}" if first else ""
    elif known.kind == "element":
        found = _element(first, args[1])
    elif known.kind not in _WRITTEN and "." in op:
        found = f"{called}_{first}" if first else f"{aim}_{called}" if aim else ""
    else:
        found = ""
    if not found or len(found) > LONGEST:
        found = f"{aim}_part" if aim else ""
    return f"_{found}" if found and found.isidentifier() else UNNAMED


def is_unnamed(name: str) -> bool:
    """Whether a variable is a temporary about which a name says nothing."""
    return re.fullmatch(rf"{UNNAMED}(_\d+)?", name) is not None


def aim_of(statement: Any) -> str:
    """The variable that a statement binds, or to whose items or attributes it writes; empty where there is none, or are several."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    target = targets[0] if len(targets) == 1 and isinstance(statement, (gast.Assign, gast.AugAssign, gast.AnnAssign)) else None
    while isinstance(target, gast.Subscript):
        target = target.value
    return target.id if isinstance(target, gast.Name) else target.attr if isinstance(target, gast.Attribute) else ""


def _shown(operand: Operand) -> str:
    """How a variable is called in the printed program; empty where it has no name of its own."""
    if not isinstance(operand, Var):
        return ""
    name = plain(operand.name)
    return name if name.isidentifier() and not is_unnamed(operand.name) else ""


def _element(array: str, index: Operand) -> str:
    """`p_0` for `p[0]`, `x_i_j` for `x[i, j]`, `x_part` for `x[1:]`."""
    at = entries_of(index)
    if not array or any(isinstance(i, Slice) for i in at):
        return f"{array}_part" if array else ""
    words = [_shown(i) if isinstance(i, Var) else str(i.value).replace("-", "m") if isinstance(i, Const) else "" for i in at]
    return "_".join((array, *words)) if all(words) else ""


__all__ = ["UNNAMED", "aim_of", "is_unnamed", "wish_of"]
