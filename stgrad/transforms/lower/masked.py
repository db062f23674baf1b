"""Products of cotangents that may be zero, and partials that may be infinite then, test the cotangent alone.

    zero = g == 0.0                               zero = g == 0.0
    if zero and not isfinite(p):                  y_p = g * p
        w = 0.0                           ->      if zero:
    else:                                             y = 0.0
        w = p                                     else:
    y = g * w                                         y = y_p

Both are zero where the cotangent is. Until here the partial had to stay a factor, as the derivative of the product in g is p where g is zero (`picked`);
but no derivative is taken of a program of loops, and a test that all products of one cotangent share costs half as much.

    >>> import numpy as np
    >>> import stgrad
    >>> def limited(q):
    ...     a, b = q[1:-1] - q[:-2], q[2:] - q[1:-1]
    ...     return np.sum(np.where(a * b > 0.0, 2.0 * a * b / (a + b), 0.0))
    >>> lowered = stgrad.grad(limited).lowered(np.ones(3))
    >>> "isfinite" in lowered, "0.0 if t5 else t4 * (1.0 / t2)" in lowered
    (False, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from stgrad.analysis.definitions import Definitions, definitions
from stgrad.ir import Assign, Block, Const, Function, If, Operand, Stmt, Type, Var, assigned, map_blocks, operand_vars
from stgrad.names import Names

ZERO = Const(0.0)


@dataclass(frozen=True)
class _Guarded:
    """A partial that is replaced by zero: its name then, the test of the cotangent, that cotangent, and the partial itself."""

    name: str
    zero: Var
    cotangent: Operand
    partial: Operand


def masked(fn: Function) -> Function:
    """The program with products that test one of their factors."""
    state = _Masked(definitions(fn), Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types))
    body = state.block(fn.body)
    return replace(fn, body=body, types=state.types) if len(state.types) > len(fn.types) else fn


@dataclass
class _Masked:
    known: Definitions
    names: Names
    types: dict[str, Type]

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        made: dict[str, Assign] = {}  # what straight code of this block has computed, as long as it holds
        guards: dict[str, _Guarded] = {}
        spoken: dict[str, set[str]] = {}  # of which of these a name is a part
        for stmt in statements:
            guard = self.guard(stmt, made)
            product = self.product(stmt, guards)
            result += product or [map_blocks(self.block, stmt)]
            for name in assigned((stmt,)):
                for known in (name, *spoken.pop(name, ())):
                    made.pop(known, None)
                    guards.pop(known, None)
            if guard is not None:
                guards[guard.name] = guard
                _note(guard.name, (guard.zero, guard.cotangent, guard.partial), spoken)
            elif isinstance(stmt, Assign) and len(stmt.targets) == 1 and not stmt.kwargs and stmt.target.name not in _names(stmt.args):
                made[stmt.target.name] = stmt
                _note(stmt.target.name, stmt.args, spoken)
        return tuple(result)

    def guard(self, stmt: Stmt, made: Mapping[str, Assign]) -> _Guarded | None:
        """What `if zero and not isfinite(p): w = 0.0; else: w = p` guards."""
        match stmt:
            case If(
                cond=Var(name=test), then=(Assign(targets=(w,), op="alias", args=(least,)),), orelse=(Assign(targets=(v,), op="alias", args=(partial,)),)
            ) if w == v and least == ZERO and self.known.counts[w.name] == 2 and self.types[w.name].dtype == "float64":
                return _guarded(w.name, made.get(test), partial, made)
        return None

    def product(self, stmt: Stmt, guards: Mapping[str, _Guarded]) -> list[Stmt] | None:
        """A guarded product as one that is chosen; None for other statements."""
        if not isinstance(stmt, Assign) or stmt.op != "np.multiply" or len(stmt.targets) != 1 or self.types[stmt.target.name] != Type("float64"):
            return None
        for g, w in (stmt.args, stmt.args[::-1]):
            found = guards.get(w.name) if isinstance(w, Var) else None
            if found is not None and found.cotangent == g:
                whole = Var(self.names.fresh("_t"))
                self.types[whole.name] = self.types[stmt.target.name]
                then, orelse = (Assign(stmt.targets, "alias", (a,), loc=stmt.loc) for a in (ZERO, whole))
                return [replace(stmt, targets=(whole,), args=(g, found.partial)), If(found.zero, (then,), (orelse,), loc=stmt.loc)]
        return None


def _guarded(name: str, test: Assign | None, partial: Operand, made: Mapping[str, Assign]) -> _Guarded | None:
    """Of a test whether a cotangent is zero and a partial is not finite: all of these."""
    if test is None or test.op != "np.logical_and" or not isinstance(test.args[0], Var):
        return None
    zero, far = made.get(test.args[0].name), _made(test.args[1], "np.logical_not", made)
    finite = _made(far.args[0], "np.isfinite", made) if far is not None else None
    if zero is None or zero.op != "np.equal" or zero.args[1] != ZERO or finite is None or finite.args[0] != partial:
        return None
    return _Guarded(name, test.args[0], zero.args[0], partial)


def _made(operand: Operand, op: str, made: Mapping[str, Assign]) -> Assign | None:
    found = made.get(operand.name) if isinstance(operand, Var) else None
    return found if found is not None and found.op == op else None


def _note(name: str, operands: Iterable[Operand], spoken: dict[str, set[str]]) -> None:
    for part in _names(operands):
        spoken.setdefault(part, set()).add(name)


def _names(operands: Iterable[Operand]) -> set[str]:
    return {n for o in operands for n in operand_vars(o)}
