"""Shortens the chain from one trip of a reversed loop to the next: the local derivative first, then one product with the adjoint.

    t = x_bar * (1.0 - x)               c = 1.0 - x
    x_bar = -(x_bar * (r * x))    ->    r_bar += x_bar * (c * x)
    r_bar += t * x                      x_bar = x_bar * (c * r - r * x)
    x_bar += t * r

An adjoint that a straight run of scalar statements reads and replaces is a factor of everything that is computed from it linearly. What is
multiplied with it does not depend on it and can run ahead, so that a trip waits for one multiplication instead of all. Sums and products
are reordered by this, as in any accumulation of adjoints. Griewank & Walther 2008, chapter 10 (preaccumulation).

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def logistic(x, r, n):
    ...     for i in range(n):
    ...         x = r * x * (1.0 - x)
    ...     return x
    >>> show_pass("accumulate", stgrad.grad(logistic, (0, 1)), 0.3, 3.1, 5)
    x_2 = x
    x_2_stack = np.empty(max(n, 0))
    for i in range(n):
        x_2_stack[i] = x_2
        x_2 = r * x_2 * (1.0 - x_2)
    x_2_bar = 1.0
    r_bar = 0.0
    for i in range(n - 1, -1, -1):
        x_2_2 = x_2_stack[i]
        # grad of line 3: x = r * x * (1.0 - x)
        x_part_bar = x_2_bar * (1.0 - x_2_2)
        x_2_bar = -(x_2_bar * (r * x_2_2))
        r_bar += x_part_bar * x_2_2
        x_2_bar += x_part_bar * r
    return x_2_bar, r_bar
    ->
    x_2 = x
    x_2_stack = np.empty(max(n, 0))
    for i in range(n):
        x_2_stack[i] = x_2
        x_2 = r * x_2 * (1.0 - x_2)
    x_2_bar = 1.0
    r_bar = 0.0
    for i in range(n - 1, -1, -1):
        x_2_2 = x_2_stack[i]
        x_part = 1.0 - x_2_2
        # grad of line 3: x = r * x * (1.0 - x)
        r_bar += x_2_bar * (x_part * x_2_2)
        x_2_bar *= x_part * r - r * x_2_2
    return x_2_bar, r_bar
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stgrad.analysis.liveness import Liveness, liveness
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Type,
    Var,
    While,
    assigns,
    map_blocks,
    map_operands,
    operand_vars,
    reads,
)
from stgrad.ir.ops import operation
from stgrad.names import Names

ONE = Const(1.0)
DEPTH = 2  # a chain of fewer operations gains nothing


def accumulate(fn: Function) -> Function:
    """The program with local derivatives accumulated in its loops."""
    state = _State(dict(fn.types), Names(fn.types), liveness(fn))
    body = state.block(fn.body, in_loop=False)
    return replace(fn, body=body, types=state.types)


@dataclass
class _State:
    types: dict[str, Type]
    names: Names
    live: Liveness

    def block(self, block: Block, in_loop: bool) -> Block:
        out: list[Stmt] = []
        run: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, (If, For, While)):
                out += self.finished(run, in_loop)
                run = []
                inner = in_loop or isinstance(stmt, (For, While))
                out.append(map_blocks(lambda b, inner=inner: self.block(b, inner), stmt))  # type: ignore[misc]
            else:
                run.append(stmt)
        return (*out, *self.finished(run, in_loop))

    def finished(self, run: list[Stmt], in_loop: bool) -> list[Stmt]:
        if not in_loop or len(run) < 2:
            return run
        seed = self.seed(run)
        if seed is None:
            return run
        return _Run(self, seed, self.live.after[id(run[-1])]).rewrite(run)

    def seed(self, run: list[Stmt]) -> str | None:
        """The one scalar adjoint that a run reads, then replaces by a linear function of itself, through a chain worth shortening."""
        found = [n for n in dict.fromkeys(n for s in run for n in assigns(s)) if self._carried(run, n) and _depth(run, n) >= DEPTH]
        return found[0] if len(found) == 1 else None

    def _carried(self, run: list[Stmt], name: str) -> bool:
        t = self.types[name]
        if t.array or t.dtype != "float64" or not any(s.note for s in run if name in assigns(s)):
            return False  # only adjoints: the user's own sums keep their order
        for stmt in run:
            if name in set(reads(stmt)):
                return True
            if name in assigns(stmt):
                return False
        return False


def _depth(run: list[Stmt], seed: str) -> int:
    """Length of the chain of linear operations from the seed to its new value; 0 where it is not linear in itself."""
    depth: dict[str, int] = {seed: 0}
    for stmt in run:
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            continue
        target, inputs = stmt.target.name, [n for n in reads(stmt) if n in depth]
        if not inputs or not _is_linear(stmt, set(depth)):
            depth.pop(target, None)
            if target == seed:
                return 0
            continue
        depth[target] = max(depth[n] for n in inputs) + (stmt.op not in ("alias", "np.negative"))
    return depth.get(seed, 0)


def _is_linear(stmt: Assign, linear: set[str]) -> bool:
    """Whether the result is linear in the seed, if exactly the names in `linear` are."""
    inside = [isinstance(a, Var) and a.name in linear for a in stmt.args]
    match stmt.op:
        case "np.multiply":
            return inside.count(True) == 1
        case "np.divide":
            return inside == [True, False]
        case "np.add" | "np.subtract":
            return all(inside)
        case "np.negative" | "alias":
            return inside == [True]
    return False


Coefficient = tuple[bool, Operand]  # negated, factor
IDENTITY: Coefficient = (False, ONE)


@dataclass
class _Run:
    """Rewrites one run: `coefficients` holds, for each name that is linear in the seed, what the seed is multiplied with."""

    state: _State
    seed: str
    live: frozenset[str]
    coefficients: dict[str, Coefficient] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)

    def rewrite(self, run: list[Stmt]) -> list[Stmt]:
        self.coefficients[self.seed] = IDENTITY
        for stmt in run:
            self.statement(stmt)
        last = run[-1]
        for name in sorted(self.coefficients, key=lambda n: n == self.seed):
            if name != self.seed and name in self.live or name == self.seed and self.coefficients[name] != IDENTITY:
                self.emit(name, "alias", (self.value(name, last),), last)
        return self.out

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Assign) and len(stmt.targets) == 1 and self._rewritable(stmt):
            self.coefficients[stmt.target.name] = self.coefficient(stmt)
            return
        self.protect(assigns(stmt), stmt)
        names = {n: self.value(n, stmt) for n in dict.fromkeys(reads(stmt)) if n in self.coefficients}
        self.out.append(map_operands(lambda o: names.get(o.name, o) if isinstance(o, Var) else o, stmt))
        for name in assigns(stmt):
            self.coefficients.pop(name, None)

    def _rewritable(self, stmt: Assign) -> bool:
        t = self.state.types[stmt.target.name]
        return bool(operation(stmt.op).linear) and not t.array and t.dtype == "float64" and _is_linear(stmt, set(self.coefficients))

    def protect(self, bound: Iterable[str], stmt: Stmt) -> None:
        """Coefficients that read a name which is about to change are copied first."""
        for name in bound:
            for linear, (negated, factor) in list(self.coefficients.items()):
                if name in set(operand_vars(factor)):
                    self.coefficients[linear] = negated, self.temporary("alias", (factor,), stmt)

    def coefficient(self, stmt: Assign) -> Coefficient:
        c = [self.coefficients[a.name] if isinstance(a, Var) and a.name in self.coefficients else (False, a) for a in stmt.args]
        negated, factor = c[0]
        match stmt.op:
            case "alias":
                return c[0]
            case "np.negative":
                return not negated, factor
            case "np.multiply":
                plain = [o for _, o in c if o != ONE]
                product = ONE if not plain else plain[0] if len(plain) == 1 else self.temporary("np.multiply", tuple(plain), stmt)
                return negated != c[1][0], product
            case "np.divide":
                return negated, self.temporary("np.divide", (factor, c[1][1]), stmt)
        other = c[1][0] != (stmt.op == "np.subtract")
        if negated == other:
            return negated, self.temporary("np.add", (factor, c[1][1]), stmt)
        plus, minus = (c[1][1], factor) if negated else (factor, c[1][1])
        return False, self.temporary("np.subtract", (plus, minus), stmt)

    def value(self, name: str, stmt: Stmt) -> Operand:
        """The value of a name that is linear in the seed, where it is read by something else."""
        negated, factor = self.coefficients[name]
        product = Var(self.seed) if factor == ONE else self.temporary("np.multiply", (Var(self.seed), factor), stmt)
        return self.temporary("np.negative", (product,), stmt) if negated else product

    def temporary(self, op: str, args: tuple[Operand, ...], stmt: Stmt) -> Var:
        name = self.state.names.fresh("_t")
        self.state.types[name] = Type("float64")
        self.emit(name, op, args, stmt)
        return Var(name)

    def emit(self, name: str, op: str, args: tuple[Operand, ...], stmt: Stmt) -> None:
        self.out.append(Assign((Var(name),), op, args, (), stmt.loc, stmt.note))
