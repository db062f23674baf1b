"""Which numbers are zero in some trips of a loop and not in others, as a branch says: derivatives of a minimum, of a cutoff, of what a mask chooses.

    if r < cutoff:                     r_bar is such a number, and so is y_bar; x_bar holds such numbers
        r_bar = f(r)
    else:
        r_bar = 0.0
    y_bar = r_bar * y
    x_bar[i] += y_bar

What is linear in such numbers alone is one, too, and an array to which nothing else is added has such elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stgrad.analysis.definitions import definitions
from stgrad.analysis.manager import kept
from stgrad.ir import Assign, Block, Const, For, Function, If, Operand, Stmt, Store, Var, While, assigns, blocks, operand_vars, reads
from stgrad.ir.ops import operation

ZERO = Const(0.0)


def chosen(stmt: Stmt) -> tuple[str, Operand] | None:
    """Of `y = 0.0 if test else v`, either way round: y and v."""
    if not isinstance(stmt, If) or len(stmt.then) != 1 or len(stmt.orelse) != 1:
        return None
    arms = (stmt.then[0], stmt.orelse[0])
    if not all(isinstance(a, Assign) and a.op == "alias" for a in arms) or assigns(arms[0]) != assigns(arms[1]):
        return None
    values = [a.args[0] for a in arms if isinstance(a, Assign) and a.args[0] != ZERO]
    return (assigns(arms[0])[0], values[0]) if len(values) == 1 else None


@kept
def infinite_tests(fn: Function) -> frozenset[str]:
    """The names of tests whether a cotangent is zero and its factor is not finite: `zero and not isfinite(p)`."""
    once = definitions(fn).once

    def made_by(name: str, op: str) -> bool:
        made = once.get(name)
        return isinstance(made, Assign) and made.op == op

    far = {n for n in once if made_by(n, "np.logical_not") and all(made_by(m, "np.isfinite") for m in reads(once[n]))}
    return frozenset(n for n in once if made_by(n, "np.logical_and") and not far.isdisjoint(reads(once[n])))


@dataclass(frozen=True)
class Sparse:
    """`names` of such numbers, and of such arrays of the program's own; `sources`: those that a branch chooses."""

    names: frozenset[str]
    sources: frozenset[str]


@kept
def sparse(fn: Function) -> Sparse:
    """The numbers of a program that are often zero, and its arrays of such numbers."""
    found = _Bindings(fn)
    found.collect(fn.body, looped=False)
    sources = {n for n in found.some & found.zero if found.types[n].dtype == "float64" and not found.always[n]}
    linear: dict[str, list[tuple[str, ...]]] = {n: needs for n, needs in found.needs.items() if n not in found.opaque}
    linear |= {n: [] for n in sources}
    while lost := {n for n, needs in linear.items() if not all(any(x in linear for x in one) for one in needs)}:
        linear = {n: needs for n, needs in linear.items() if n not in lost}
    reached = set(sources)
    while more := {n for n, needs in linear.items() if n not in reached and any(not reached.isdisjoint(one) for one in needs)}:
        reached |= more
    return Sparse(frozenset(reached), frozenset(sources))


@dataclass
class _Bindings:
    """What each name is bound to: for each binding, the names of which one must be such a number."""

    fn: Function
    needs: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    zero: set[str] = field(default_factory=set)  # bound to 0.0
    some: set[str] = field(default_factory=set)  # bound to something in an arm of a branch in a loop
    always: dict[str, bool] = field(default_factory=dict)  # bound to something elsewhere

    def __post_init__(self) -> None:
        self.types = self.fn.types
        self.infinite = infinite_tests(self.fn)
        self.opaque |= {p.name for p in self.fn.params} | set(self.fn.constants)

    def collect(self, statements: Block, *, looped: bool, branch: bool = False) -> None:
        for stmt in statements:
            if isinstance(stmt, Assign):
                self.assign(stmt, branch)
            elif isinstance(stmt, Store):
                self.store(stmt, looped)
            elif not isinstance(stmt, (If, For, While)):
                self.opaque.update(n for n in (*assigns(stmt), *reads(stmt)) if self.types[n].array or n in assigns(stmt))
            inside = isinstance(stmt, (For, While))
            arms = isinstance(stmt, If) and looped and not (isinstance(stmt.cond, Var) and stmt.cond.name in self.infinite)
            for block in blocks(stmt):
                self.collect(block, looped=looped or inside, branch=arms)

    def assign(self, stmt: Assign, branch: bool) -> None:
        known = operation(stmt.op)
        arrays = [n for n in (*reads(stmt), *assigns(stmt)) if self.types[n].array]
        if len(stmt.targets) != 1:
            self.opaque.update(assigns(stmt), arrays)
            return
        name = stmt.target.name
        element = stmt.op == "getitem" and not self.types[name].array
        if arrays and not element and stmt.op != "shape":
            self.opaque.update(() if known.kind == "creation" and known.fill == 0.0 else arrays)
            self.needs.setdefault(name, [])
            return
        self.always.setdefault(name, False)
        needs = self.needs.setdefault(name, [])
        if stmt.op == "alias" and stmt.args == (ZERO,):
            self.zero.add(name)
            return
        if branch and name not in reads(stmt):
            self.some.add(name)
        elif not branch:
            self.always[name] = True
        needs += self.parts(stmt, element)

    def parts(self, stmt: Assign, element: bool) -> list[tuple[str, ...]]:
        """For each term of a value, the factors of it."""
        known = operation(stmt.op)
        if element:
            return [operand_vars(stmt.args[0])]
        if len(known.signs) == 2:
            return [operand_vars(a) for a in stmt.args if a not in (ZERO, stmt.target)]
        return [tuple(n for together in known.linear if len(together) == 1 for k in together for n in operand_vars(stmt.args[k]))]

    def store(self, stmt: Store, looped: bool) -> None:
        parts = operand_vars(stmt.value)
        self.opaque.update(n for n in parts if self.types[n].array)
        if looped and stmt.value != ZERO:
            self.needs.setdefault(stmt.target.name, []).append(parts)


__all__ = ["ZERO", "Sparse", "chosen", "infinite_tests", "sparse"]
