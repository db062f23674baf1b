"""The signs of floats: what is not negative, positive, or not zero, by how it was made and by comparisons that hold.

    math.sqrt(x * x + y * y)             not negative: a sum of squares
    if r > 0.0: math.log(r)              positive, in the branch
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stgrad.analysis.definitions import Definitions
from stgrad.ir import Assign, Const, Function, Operand, Var
from stgrad.ir.ops import operation

DEPTH = 8
Fact = tuple[str, str]  # a name, and 'natural', 'positive' or 'nonzero'
_TRUE = {">": ("positive", "natural", "nonzero"), ">=": ("natural",), "<": ("nonzero",), "<=": (), "!=": ("nonzero",), "==": ()}  # compared with 0


@dataclass
class Signs:
    """`facts`: of names by comparisons that hold here. Names with one definition are followed to it."""

    fn: Function
    definitions: Definitions
    facts: frozenset[Fact] = frozenset()
    compared: dict[str, tuple[str, str, float]] = field(default_factory=dict)  # bools: the comparison of a name with a number

    def assign(self, stmt: Assign) -> None:
        """Remember what a bool compares."""
        if stmt.op == "not" and isinstance(stmt.args[0], Var) and stmt.args[0].name in self.compared:
            op, name, bound = self.compared[stmt.args[0].name]
            self.compared[stmt.target.name] = (op[4:] if op.startswith("not ") else f"not {op}", name, bound)
        if operation(stmt.op).kind != "comparison" or len(stmt.args) != 2:
            return
        match stmt.args:
            case (Var(name=name), Const(value=int() | float() as bound)):
                self.compared[stmt.target.name] = (stmt.op, name, float(bound))
            case (Const(value=int() | float() as bound), Var(name=name)):
                self.compared[stmt.target.name] = (operation(stmt.op).swapped, name, float(bound))

    def forget(self, names: set[str]) -> None:
        """These names have other values now."""
        self.facts = frozenset(f for f in self.facts if f[0] not in names)
        self.compared = {b: c for b, c in self.compared.items() if b not in names and c[1] not in names}

    def where(self, condition: Operand, holds: bool) -> frozenset[Fact]:
        """What a condition says of a name where it holds, or does not. A comparison that fails says nothing, since NaN fails all."""
        if not isinstance(condition, Var) or condition.name not in self.compared:
            return frozenset()
        op, name, bound = self.compared[condition.name]
        if op.startswith("not "):
            op, holds = op[4:], not holds
        if not holds:
            return frozenset({(name, "nonzero")}) if op == "np.equal" and bound == 0 else frozenset()
        symbol = operation(op).symbol
        said = _TRUE[symbol] if bound == 0 else ()
        if symbol[0] == ">" and bound > 0:
            said = _TRUE[">"]
        if symbol[0] == "<" and bound < 0:
            said = ("nonzero",)
        return frozenset((name, fact) for fact in said)

    def made(self, operand: Operand) -> Assign | None:
        stmt = self.definitions.once.get(operand.name) if isinstance(operand, Var) and self.definitions.counts[operand.name] == 1 else None
        return stmt if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None

    def stable(self, stmt: Assign) -> bool:
        """Whether the operands of a definition are what they were when it ran."""
        return all(isinstance(a, Const) or isinstance(a, Var) and self.definitions.counts[a.name] == 1 for a in stmt.args)

    def natural(self, operand: Operand, depth: int = DEPTH) -> bool:
        """Whether a number is at least 0, or NaN."""
        if isinstance(operand, Const):
            return isinstance(operand.value, (int, float)) and operand.value >= 0
        if isinstance(operand, Var) and (operand.name, "natural") in self.facts:
            return True
        stmt = self.made(operand)
        if stmt is None or not depth:
            return False
        match stmt.op, stmt.args:
            case op, _ if operation(op).natural == "always":
                return True
            case "np.multiply", (a, b) if a == b:
                return True
            case "np.power", (_, Const(value=int() | float() as n)) if n % 2 == 0:
                return True
        if not self.stable(stmt):
            return False
        if operation(stmt.op).natural == "kept":
            return all(self.natural(a, depth - 1) for a in stmt.args)
        return stmt.op in ("max", "np.maximum") and any(isinstance(a, Const) and self.natural(a) for a in stmt.args)

    def positive(self, operand: Operand, depth: int = DEPTH) -> bool:
        """Whether a number is greater than 0, or NaN."""
        if isinstance(operand, Const):
            return isinstance(operand.value, (int, float)) and operand.value > 0
        if isinstance(operand, Var) and (operand.name, "positive") in self.facts:
            return True
        stmt = self.made(operand)
        if stmt is None or not depth or not self.stable(stmt) and operation(stmt.op).positive != "always":
            return False
        if operation(stmt.op).positive == "always":
            return True
        if stmt.op == "np.add":
            a, b = stmt.args
            return self.positive(a, depth - 1) and self.natural(b, depth - 1) or self.natural(a, depth - 1) and self.positive(b, depth - 1)
        if operation(stmt.op).positive == "kept":
            return all(self.positive(a, depth - 1) for a in stmt.args)
        return stmt.op in ("max", "np.maximum") and any(isinstance(a, Const) and self.positive(a) for a in stmt.args)

    def nonzero(self, operand: Operand) -> bool:
        """Whether a number is not 0."""
        if isinstance(operand, Const):
            return bool(operand.value != 0)
        return isinstance(operand, Var) and (operand.name, "nonzero") in self.facts or self.positive(operand)
