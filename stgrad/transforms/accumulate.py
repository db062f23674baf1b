"""Shortens the chain from one trip of a reversed loop to the next: the local derivative first, then one product with the adjoint.

    t = x_bar * (1.0 - x)               c = 1.0 - x
    x_bar = -(x_bar * (r * x))    ->    r_bar += x_bar * (c * x)
    r_bar += t * x                      x_bar = x_bar * (c * r - r * x)
    x_bar += t * r

An adjoint that a straight run of scalar statements reads and replaces is a factor of everything that is computed from it linearly. What is
multiplied with it does not depend on it and can run ahead, so that a trip waits for one multiplication instead of all. Sums and products
are reordered by this, as in any accumulation of adjoints. Griewank & Walther 2008, chapter 10 (preaccumulation).

Tangents, and the tangents of adjoints in a Hessian times a vector, get something added on the way that does not depend on them. They are a factor
and a rest, and a trip waits for one multiplication and one sum.

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
SUM_DEPTH = 4  # nor does one, with something added on the way, that becomes a product and a sum, and more products beside them


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
        live = self.live.after[id(run[-1])]
        for sums in (False, True):
            seed = self.seed(run, sums)
            run = run if seed is None else _Run(self, seed, live, sums).rewrite(run)
        return run

    def seed(self, run: list[Stmt], sums: bool) -> str | None:
        """The one scalar derivative that a run reads, then replaces by a linear function of itself, through a chain worth shortening.

        `sums`: or by such a function with a rest that does not depend on it.
        """
        least = SUM_DEPTH if sums else DEPTH
        found = [n for n in dict.fromkeys(n for s in run for n in assigns(s)) if self._carried(run, n) and _depth(run, n, sums) >= least]
        return found[0] if len(found) == 1 else None

    def _carried(self, run: list[Stmt], name: str) -> bool:
        t = self.types[name]
        if t.array or t.dtype != "float64" or not any(s.note is not None for s in run if name in assigns(s)):
            return False  # only adjoints and tangents: the user's own sums keep their order
        for stmt in run:
            if name in set(reads(stmt)):
                return True
            if name in assigns(stmt):
                return False
        return False


def _depth(run: list[Stmt], seed: str, sums: bool) -> int:
    """Length of the chain of linear operations from the seed to its new value; 0 where it is not linear in itself."""
    depth: dict[str, int] = {seed: 0}
    for stmt in run:
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            continue
        target, inputs = stmt.target.name, [n for n in reads(stmt) if n in depth]
        if not inputs or not _is_linear(stmt, set(depth), sums):
            depth.pop(target, None)
            if target == seed:
                return 0
            continue
        depth[target] = max(depth[n] for n in inputs) + (stmt.op not in ("alias", "np.negative"))
    return depth.get(seed, 0)


def _is_linear(stmt: Assign, linear: set[str], sums: bool) -> bool:
    """Whether the result is linear in the seed, if exactly the names in `linear` are; `sums`: but for a rest that does not depend on it."""
    inside = [isinstance(a, Var) and a.name in linear for a in stmt.args]
    match stmt.op:
        case "np.multiply":
            return inside.count(True) == 1
        case "np.divide":
            return inside == [True, False]
        case "np.add" | "np.subtract":
            return all(inside) or sums and any(inside)
        case "np.negative" | "alias":
            return inside == [True]
    return False


@dataclass(frozen=True)
class _Form:
    """What a name is in terms of the seed: with a sign, factor times seed, and a rest; None for zero."""

    negated: bool
    factor: Operand | None
    rest: Operand | None = None


IDENTITY = _Form(False, ONE)


@dataclass
class _Run:
    """Rewrites one run: `forms` holds what each name that is linear in the seed is of it."""

    state: _State
    seed: str
    live: frozenset[str]
    sums: bool
    forms: dict[str, _Form] = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)

    def rewrite(self, run: list[Stmt]) -> list[Stmt]:
        self.forms[self.seed] = IDENTITY
        for stmt in run:
            self.statement(stmt)
        last = run[-1]
        for name in sorted(self.forms, key=lambda n: n == self.seed):
            if name != self.seed and name in self.live or name == self.seed and self.forms[name] != IDENTITY:
                self.emit(name, "alias", (self.value(name, last),), last)
        return self.out

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Assign) and len(stmt.targets) == 1 and self._rewritable(stmt):
            self.forms[stmt.target.name] = self.form(stmt)
            self.protect(assigns(stmt), stmt)
            return
        self.protect(assigns(stmt), stmt)
        names = {n: self.value(n, stmt) for n in dict.fromkeys(reads(stmt)) if n in self.forms}
        self.out.append(map_operands(lambda o: names.get(o.name, o) if isinstance(o, Var) else o, stmt))
        for name in assigns(stmt):
            self.forms.pop(name, None)

    def _rewritable(self, stmt: Assign) -> bool:
        t = self.state.types[stmt.target.name]
        return bool(operation(stmt.op).linear) and not t.array and t.dtype == "float64" and _is_linear(stmt, set(self.forms), self.sums)

    def protect(self, bound: Iterable[str], stmt: Stmt) -> None:
        """Forms that read a name which is about to change get a copy of it first."""
        for name in bound:
            for linear, form in list(self.forms.items()):
                read = {n for o in (form.factor, form.rest) if o is not None for n in operand_vars(o)}
                if name in read:
                    copied = [self.temporary("alias", (o,), stmt) if o is not None and name in operand_vars(o) else o for o in (form.factor, form.rest)]
                    self.forms[linear] = _Form(form.negated, *copied)

    def form(self, stmt: Assign) -> _Form:
        forms = [self.forms.get(a.name) if isinstance(a, Var) else None for a in stmt.args]
        match stmt.op, forms:
            case "alias", [_Form() as a]:
                return a
            case "np.negative", [_Form() as a]:
                return _Form(not a.negated, a.factor, self.negative(a.rest, stmt))
            case "np.multiply" | "np.divide", [_Form() as a, None]:
                return self.scaled(a, stmt.op, stmt.args[1], stmt)
            case "np.multiply", [None, _Form() as a]:
                return self.scaled(a, stmt.op, stmt.args[0], stmt)
        a, b = (form or _Form(False, None, operand) for form, operand in zip(forms, stmt.args, strict=True))
        return self.total(a, _Form(not b.negated, b.factor, b.rest) if stmt.op == "np.subtract" else b, stmt)

    def scaled(self, a: _Form, op: str, c: Operand, stmt: Stmt) -> _Form:
        if c == ONE:
            return a
        rest = None if a.rest is None else self.temporary(op, (a.rest, c), stmt)
        factor = c if a.factor == ONE and op == "np.multiply" else self.temporary(op, (a.factor or ONE, c), stmt)
        return _Form(a.negated, factor, rest)

    def total(self, a: _Form, b: _Form, stmt: Assign) -> _Form:
        """The sum; of a difference, `b` has the other sign already, but for its rest."""
        op = stmt.op if a.rest is not None else "np.negative" if stmt.op == "np.subtract" else "alias"
        rest = a.rest if b.rest is None else self.temporary(op, (b.rest,) if a.rest is None else (a.rest, b.rest), stmt)
        if a.factor is None or b.factor is None:
            return _Form(b.negated if a.factor is None else a.negated, a.factor or b.factor, rest)
        if a.negated == b.negated:
            return _Form(a.negated, self.temporary("np.add", (a.factor, b.factor), stmt), rest)
        plus, minus = (b.factor, a.factor) if a.negated else (a.factor, b.factor)
        return _Form(False, self.temporary("np.subtract", (plus, minus), stmt), rest)

    def negative(self, rest: Operand | None, stmt: Stmt) -> Operand | None:
        return None if rest is None else self.temporary("np.negative", (rest,), stmt)

    def value(self, name: str, stmt: Stmt) -> Operand:
        """The value of a name that is linear in the seed, where it is read by something else."""
        form = self.forms[name]
        product: Operand = Var(self.seed)
        if form.factor is not None and form.factor != ONE:
            product = self.temporary("np.multiply", (product, form.factor), stmt)
        if form.rest is not None:
            return self.temporary("np.subtract" if form.negated else "np.add", (form.rest, product), stmt)
        return self.temporary("np.negative", (product,), stmt) if form.negated else product

    def temporary(self, op: str, args: tuple[Operand, ...], stmt: Stmt) -> Var:
        name = self.state.names.fresh("_t")
        self.state.types[name] = Type("float64")
        self.emit(name, op, args, stmt)
        return Var(name)

    def emit(self, name: str, op: str, args: tuple[Operand, ...], stmt: Stmt) -> None:
        self.out.append(Assign((Var(name),), op, args, (), stmt.loc, stmt.note))
