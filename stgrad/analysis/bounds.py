"""Least values of integers: which positions cannot be negative.

A position of a user's may count from the end. Where it provably does not, the compiled loop need not test that, and stays a
plain walk through memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from stgrad.analysis.definitions import Definitions
from stgrad.ir import Assign, Const, For, Operand, Stmt, Var
from stgrad.ir.ops import operation


@dataclass
class Bounds:
    """What the definitions of integers say of them."""

    definitions: Definitions

    def least(self, operand: Operand, depth: int = 8) -> int | None:
        """A number that an integer is never below, if one is known."""
        if isinstance(operand, Const):
            return operand.value if isinstance(operand.value, int) else None
        made = self.definitions.all(operand.name) if isinstance(operand, Var) and depth else []
        lows = [self._bound(stmt, depth - 1) for stmt in made if len(made) == 1 or isinstance(stmt, For)]
        known = [low for low in lows if low is not None]
        return min(known) if known and len(known) == len(made) else None

    def _bound(self, stmt: Stmt, depth: int) -> int | None:
        if isinstance(stmt, For):
            return self._counter(stmt, depth)
        return self._made(stmt, depth) if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None

    def _counter(self, loop: For, depth: int) -> int | None:
        step = loop.step.value if isinstance(loop.step, Const) else 0
        if step > 0:
            return self.least(loop.start, depth)
        last = self.least(loop.stop, depth) if step < 0 else None
        return None if last is None else last + 1

    def _made(self, stmt: Assign, depth: int) -> int | None:
        if operation(stmt.op).natural == "always":
            return 0
        if stmt.op == "np.multiply" and self._neighbours(stmt.args):
            return 0  # k * (k - 1) of an integer
        known = [self.least(a, depth) for a in stmt.args]
        lows = [k for k in known if k is not None]
        if stmt.op == "np.remainder" and (known[1] or 0) > 0:
            return 0
        if stmt.op == "max" and lows:
            return max(lows)
        if stmt.op == "np.subtract" and isinstance(stmt.args[1], Const) and known[0] is not None:
            return known[0] - stmt.args[1].value if isinstance(stmt.args[1].value, int) else None
        if len(lows) < len(known) or not lows:
            return None
        return _combined(stmt, lows)

    def _neighbours(self, args: tuple[Operand, ...]) -> bool:
        """Whether two integers are the same, or one apart."""
        for one, other in (args, args[::-1]):
            made = self.definitions.all(other.name) if isinstance(other, Var) else []
            stmt = made[0] if len(made) == 1 else None
            if one == other or isinstance(stmt, Assign) and stmt.op in ("np.add", "np.subtract") and stmt.args == (one, Const(1)):
                return True
        return False


def _combined(stmt: Assign, lows: list[int]) -> int | None:
    if stmt.op == "alias":
        return lows[0]
    if stmt.op == "np.add":
        return sum(lows)
    if stmt.op == "min":
        return min(lows)
    if min(lows) < 0:
        return None
    if stmt.op == "np.multiply":
        return lows[0] * lows[1]
    if stmt.op == "np.floor_divide" and isinstance(stmt.args[1], Const) and lows[1] > 0:
        return lows[0] // lows[1]
    return None
