"""Arrays of which every element is one number: what is computed with them is computed with the number.

    g = np.full((n,), 1.0)                       g = np.full((n,), 1.0)
    zero = g == 0.0                      ->
    x_bar = g * np.where(zero & far, 0.0, p)     x_bar = np.copy(p)

A cotangent of a sum is such an array, and with it the test whether it is zero where a partial may be infinite (`picked`). Known are arrays that are
bound once and never written to, by whatever name; a copy or a view of one is another. Each change is exact: `0.0 * x` stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.alias import Classes
from stgrad.ir import Assign, Block, Const, Dim, Function, Operand, Stmt, Type, Var, assigns, map_blocks, stored, walk
from stgrad.ir.ops import adds_zeros, operation

_KEPT = frozenset(("identity", "copy", "element", "move"))  # kinds whose results hold what their first argument holds, and nothing but zeros else


def uniform(fn: Function) -> Function:
    """The program with numbers in place of arrays that hold one number everywhere.

    >>> import numpy as np
    >>> import stgrad
    >>> def roots(x):
    ...     return np.sum(np.sqrt(x[x > 1.0]))
    >>> stgrad.grad(roots).source(np.ones(3)).count("isfinite")
    0
    """
    if not any(isinstance(s, Assign) and (_fills(s) or _is_one(s)) for s in walk(fn.body)):
        return fn
    state = _Uniform(fn.types, _once(fn), _overwritten(fn))
    return fn.with_body(state.block(fn.body))


def _fills(stmt: Assign) -> bool:
    known = operation(stmt.op)
    return known.filled is not None or known.fill not in (None, 0.0)


def _is_one(stmt: Assign) -> bool:
    """Whether a statement is `x ** 0`, which is 1 whatever x is."""
    return stmt.op == "np.power" and len(stmt.args) == 2 and stmt.args[1] in (Const(0), Const(0.0))


def _once(fn: Function) -> frozenset[str]:
    """The names that one statement binds, and parameters that none does."""
    count = dict.fromkeys((p.name for p in fn.params), 1)
    for stmt in walk(fn.body):
        for name in assigns(stmt):
            count[name] = count.get(name, 0) + 1
    return frozenset(n for n, k in count.items() if k == 1)


def _overwritten(fn: Function) -> frozenset[str]:
    classes = Classes(fn.body, fn.types)
    written = {classes.find(name) for name in stored(fn.body)}
    return frozenset(n for n in fn.types if classes.find(n) in written)


@dataclass
class _Uniform:
    types: Mapping[str, Type]
    once: frozenset[str]
    overwritten: frozenset[str]
    number: dict[str, Operand] = field(default_factory=dict)  # what every element is, by the array's name

    def block(self, block: Block) -> Block:
        result = tuple(self.assign(s) if isinstance(s, Assign) else map_blocks(self.block, s) for s in block)
        self.number = {n: v for n, v in self.number.items() if isinstance(v, Const)}  # the next iteration may have another number, and the old array
        return result

    def assign(self, stmt: Assign) -> Stmt:
        if len(stmt.targets) != 1:
            return stmt
        name = stmt.target.name
        number = self.everywhere(stmt) if self.types[name].array and name in self.once and name not in self.overwritten else None
        if number is not None:
            self.number[name] = number
            return stmt
        return stmt if stmt.kwargs else self.folded(stmt)

    # ------------------------------------------------------------------ what is known

    def everywhere(self, stmt: Assign) -> Operand | None:
        """The number that every element of the result is, of the dtypes that literals have."""
        t, known = self.types[stmt.target.name], operation(stmt.op)
        if t.dtype not in ("float64", "bool"):
            return None
        value: Operand | None = None
        if _fills(stmt):
            value = Const(known.fill) if known.filled is None else stmt.args[known.filled]
        elif known.kind in _KEPT and stmt.args and not adds_zeros(stmt, self.types):
            value = self.of(stmt.args[0])
        elif known.scalar and not stmt.kwargs:
            value = self.computed(stmt)
        return self.literal(value, t)

    def literal(self, value: Operand | None, t: Type) -> Operand | None:
        if isinstance(value, Const) and type(value.value) in (bool, int, float):
            return Const(float(value.value) if t.dtype == "float64" else bool(value.value))
        if isinstance(value, Var) and value.name in self.once and self.types[value.name].dtype == t.dtype and not self.types[value.name].array:
            return value
        return None

    def of(self, operand: Operand) -> Operand | None:
        if isinstance(operand, Const):
            return operand
        return self.number.get(operand.name) if isinstance(operand, Var) else None

    def computed(self, stmt: Assign) -> Operand | None:
        """What an operation on elements gives, where it is one number."""
        found = [self.of(a) for a in stmt.args]
        values = [v.value if isinstance(v, Const) else None for v in found]
        if stmt.op in ("np.logical_and", "np.logical_or"):
            decides = stmt.op == "np.logical_or"
            return Const(decides) if any(v is decides for v in values) else None
        if stmt.op == "np.logical_not":
            return Const(not values[0]) if isinstance(values[0], bool) else None
        if stmt.op == "np.where":
            return found[1 if values[0] else 2] if isinstance(values[0], bool) else None
        if _is_one(stmt):
            return Const(1.0)
        known = operation(stmt.op)
        plain = all(type(v) in (int, float) for v in values)
        return Const(known.python(*values)) if plain and known.total and known.python is not None else None

    # ------------------------------------------------------------------ what becomes of it

    def folded(self, stmt: Assign) -> Assign:
        """An operation on elements, with the number for the array where another operand has the result's extents."""
        known = operation(stmt.op)
        if not self.types[stmt.target.name].array or known.kind not in ("arithmetic", "comparison", "choice") or not known.fused:
            return stmt
        if stmt.op == "np.where":
            return self.where(stmt)
        numbers = [self.of(a) if isinstance(a, Var) else None for a in stmt.args]
        others = [a for a, v in zip(stmt.args, numbers, strict=True) if v is None]
        if len(stmt.args) != 2 or len(others) != 1 or not isinstance(others[0], Var) or not self.fits(others[0], stmt.target, stmt.args):
            return stmt
        one = next(v for v in numbers if v is not None)
        if stmt.op == "np.multiply" and isinstance(one, Const) and one.value == 1:
            return replace(stmt, op="np.copy", args=(others[0],))
        return replace(stmt, args=tuple(a if v is None else v for a, v in zip(stmt.args, numbers, strict=True)))

    def where(self, stmt: Assign) -> Assign:
        test = self.of(stmt.args[0])
        if not isinstance(test, Const):
            return stmt
        kept = stmt.args[1 if test.value else 2]
        if not isinstance(kept, Var) or not self.fits(kept, stmt.target, (kept, stmt.target)):
            return stmt
        return replace(stmt, op="np.copy", args=(kept,))

    def fits(self, other: Var, target: Var, operands: tuple[Operand, ...]) -> bool:
        """Whether an operand has the extents of the result, and all operands one dtype."""
        t = self.types[other.name]
        dtypes = {self.types[o.name].dtype for o in operands if isinstance(o, Var)}
        return t.array and len(dtypes) == 1 and same_extents(t.dims, self.types[target.name].dims)


def same_extents(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Whether two arrays have the same extents, as far as that is known."""
    return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))


__all__ = ["same_extents", "uniform"]
