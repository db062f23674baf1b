"""Copies followed to their source, constants folded, operations without effect dropped.

    t = x * 1.0        ->      y = x            t = np.transpose(x)      ->      y = x
    y = t                                       y = np.transpose(t)

Only what is exact is changed: `x * 1.0`, `x + 0`, `--x`; never `x * 0`, which is NaN for an infinite x.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def line(x):
    ...     y = x * 1.0
    ...     z = y + 0.0 * 3.0
    ...     return z * 2.0
    >>> show_pass("optimised", stgrad.grad(line), 1.0)
    z = x + 0.0
    t = z * 2.0
    # grad of line 4: return z * 2.0
    z_bar = 1.0 * 2.0
    # grad of line 3: z = y + 0.0 * 3.0
    x_bar = z_bar
    return x_bar
    ->
    return 2.0
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import tells_as_much
from stgrad.analysis.liveness import observed, result_names
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    If,
    Operand,
    Pack,
    Pop,
    Push,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    changed,
    map_blocks,
    map_operand,
    map_operands,
    operand_vars,
    raises,
    reads,
    rename,
    rule_binds,
    rule_reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.transforms.dead import eliminate_dead

_NEUTRAL = {"np.logical_and": True, "np.logical_or": False}  # the operand that decides nothing
_SIMPLE: weakref.WeakSet[Function] = weakref.WeakSet()  # programs in which nothing is left to simplify


def simplify(fn: Function) -> Function:
    """The program with copies propagated, constants folded, and nothing that is not read."""
    if fn in _SIMPLE:
        return fn
    for _ in range(4):
        before = fn.body
        fn = fn.with_body(_retarget(fn.body, fn))
        fn = _propagate(fn)
        fn = fn.with_body(eliminate_dead(fn.body, observed(fn), fn.types))
        settled = fn.body == before
        if settled:
            break
    used = {n for s in walk(fn.body) for n in (*reads(s), *assigns(s))} | {p.name for p in fn.params} | _stacks(fn.body) | result_names(fn)
    used |= {n for s in walk(fn.body) if isinstance(s, Custom) for n in _custom_names(s)}
    fn = replace(fn, types={n: t for n, t in fn.types.items() if n in used})
    if settled:
        _SIMPLE.add(fn)
    return fn


def _custom_names(stmt: Custom) -> set[str]:
    names = {v.name for v in (*stmt.outputs, *stmt.bars)} | {n for s in walk(stmt.pullback) for n in (*reads(s), *assigns(s))}
    names |= {n for s in walk(stmt.pullback) if isinstance(s, Custom) for n in _custom_names(s)}
    return names | {n for r in stmt.results for n in operand_vars(r)} | _stacks(stmt.pullback)


def _stacks(block: Block) -> set[str]:
    return {s.stack for s in walk(block) if isinstance(s, (Push, Pop))}


# --------------------------------------------------------------------------- copies and constants


def _propagate(fn: Function) -> Function:
    walker = _Propagator(fn.types, definitions(fn).counts)
    body = walker.block(fn.body)
    return replace(fn, body=body, result=map_operand(walker.leaf, fn.result))


class _Propagator:
    """Walks the program with what each name is known to equal, or its transpose (`x.T`): another name, or a constant."""

    def __init__(self, types: Mapping[str, Type], counts: Mapping[str, int]) -> None:
        self.types, self.counts = types, counts
        self.known: dict[str, Operand] = {}
        self._copies: dict[str, set[str]] = {}  # by name: those that were known to equal it at some place

    def leaf(self, operand: Operand) -> Operand:
        return self.known.get(operand.name, operand) if isinstance(operand, Var) else operand

    def forget(self, names: set[str]) -> None:
        for name in names:
            self.known.pop(name, None)
            self.known.pop(_turned(name), None)
            for copy in self._copies.get(name, ()):
                if self.known.get(copy) == Var(name):
                    del self.known[copy]

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            taken = self.taken(stmt)
            if taken is not None:
                out += self.block(taken)
                continue
            new = self.stmt(stmt)
            if new is not None:
                out.append(new)
        return tuple(out)

    def taken(self, stmt: Stmt) -> Block | None:
        """The arm that a branch on a constant always takes; one that raises on all paths stays in its branch, as statements follow it."""
        cond = self.leaf(stmt.cond) if isinstance(stmt, If) else None
        if not isinstance(stmt, If) or not isinstance(cond, Const):
            return None
        arm = stmt.then if cond.value else stmt.orelse
        return None if raises(arm) else arm

    def stmt(self, stmt: Stmt) -> Stmt | None:
        if isinstance(stmt, Store):
            value, index = map_operand(self.leaf, stmt.value), map_operand(self.leaf, stmt.index)
            target = self.leaf(stmt.target)
            return changed(stmt, target=target, value=value, index=index)
        if isinstance(stmt, (For, While)):
            return self.loop(stmt)
        stmt = map_operands(self.leaf, stmt)
        if isinstance(stmt, If):
            return self.branch(stmt)
        if isinstance(stmt, Custom):
            return self.region(stmt)
        if isinstance(stmt, Assign):
            return self.assign(stmt)
        self.forget(set(assigns(stmt)))
        return stmt

    def assign(self, stmt: Assign) -> Stmt | None:
        stmt = _fold(stmt, self.types)
        if _transposes(stmt) and (back := self.known.get(_turned(*operand_vars(stmt.args[0])))):
            stmt = replace(stmt, op="alias", args=(back,))
        if stmt.op == "alias" and stmt.args[0] == stmt.targets[0]:
            return None
        self.forget(set(assigns(stmt)))
        if _transposes(stmt) and stmt.args[0] != stmt.target:
            self._note(_turned(stmt.target.name), stmt.args[0])
        if stmt.op == "alias" and self._copyable(stmt.target.name, stmt.args[0]):
            self._note(stmt.target.name, stmt.args[0])
        return stmt

    def _note(self, name: str, equals: Operand) -> None:
        self.known[name] = equals
        for source in operand_vars(equals):
            self._copies.setdefault(source, set()).add(name)

    def _copyable(self, target: str, source: Operand) -> bool:
        """Constants of the name's own dtype, and names of the same type whose extents say as much."""
        t = self.types[target]
        if isinstance(source, Const):
            weak = {"float64": float, "int64": int, "bool": bool, "complex128": complex}.get(t.dtype)
            return not t.array and (type(source.value) is weak or getattr(source.value, "dtype", None) == t.dtype)
        if not isinstance(source, Var):
            return False
        s = self.types[source.name]
        return _same_kind(s, t) and tells_as_much(s, t, once=self.counts[source.name] == 1)

    def branch(self, stmt: If) -> Stmt | None:
        before = dict(self.known)
        then = self.block(stmt.then)
        self.known = dict(before)
        orelse = self.block(stmt.orelse)
        self.known = before
        self.forget(assigned((stmt,)))
        return changed(stmt, then=then, orelse=orelse)

    def region(self, stmt: Custom) -> Stmt:
        """What the region and its rule read from around them has the names that the inputs have."""
        around = rule_reads((stmt,)) - rule_binds((stmt,))
        names = {n: o.name for n, o in self.known.items() if isinstance(o, Var) and n in around}
        before = dict(self.known)
        body = self.block(stmt.body)
        self.known = before
        self.forget(assigned((stmt,)) | {o.name for o in stmt.outputs})
        if not names:
            return changed(stmt, body=body)
        results = tuple(Var(names.get(r.name, r.name)) if isinstance(r, Var) else r for r in stmt.results)
        return changed(stmt, body=body, pullback=rename(stmt.pullback, names), results=results)

    def loop(self, stmt: For | While) -> Stmt:
        if isinstance(stmt, For):
            stmt = map_operands(self.leaf, stmt)  # type: ignore[assignment]
        self.forget(assigned((stmt,)))
        before = dict(self.known)
        if isinstance(stmt, While):
            head = self.block(stmt.head)
            stmt = changed(stmt, head=head, cond=map_operand(self.leaf, stmt.cond), body=self.block(stmt.body))
        else:
            stmt = changed(stmt, body=self.block(stmt.body))
        self.known = before
        return stmt


def _turned(name: str) -> str:
    """What stands for the transpose of a name among names."""
    return f"{name}.T"


def _transposes(stmt: Assign) -> bool:
    return stmt.op == "np.transpose" and len(stmt.args) == 1 and not stmt.kwargs and isinstance(stmt.args[0], Var)


def _fold(stmt: Assign, types: Mapping[str, Type]) -> Assign:
    """One operation, simplified where that is exact."""
    if len(stmt.targets) != 1 or stmt.kwargs:
        return stmt
    t = types[stmt.target.name]
    stmt = _with_choices_in(t, stmt)
    args = stmt.args

    def alias(operand: Operand) -> Assign:
        if isinstance(operand, Var) and not _same_kind(types[operand.name], t):
            return stmt
        operand = operand if t.array else _in_type(operand, t)
        if isinstance(operand, Var) and t.array:  # a new array must stay one: a later store would reach the operand
            return replace(stmt, op="np.copy", args=(operand,)) if stmt.op not in ("np.add", "np.subtract") else stmt
        return replace(stmt, op="alias", args=(operand,))

    known = operation(stmt.op)
    folds = known.python if known.total and known.kind in ("arithmetic", "comparison") else None
    if folds is not None and not t.array and all(isinstance(a, Const) and type(a.value) in (int, float) for a in args):
        return replace(stmt, op="alias", args=(Const(folds(*(a.value for a in args))),))  # type: ignore[union-attr, operator]
    number = None if t.array else _number(stmt)
    if number is not None:
        return replace(stmt, op="alias", args=(number,))
    if stmt.op in _NEUTRAL and not t.array and len(rest := _decisive(stmt)) == 1 and isinstance(rest[0], Var) and types[rest[0].name].dtype == "bool":
        return alias(rest[0])
    if stmt.op == "float" and isinstance(args[0], Var) and types[args[0].name].dtype == "float64":
        return alias(args[0])
    if stmt.op == "np.conjugate" and isinstance(args[0], Var) and types[args[0].name].dtype in ("float64", "float32"):
        return replace(stmt, op="np.copy") if t.array else alias(args[0])
    if stmt.op == "np.where" and isinstance(args[0], Const):
        kept = args[1] if args[0].value else args[2]
        if isinstance(kept, Var) and t.array and _same_kind(types[kept.name], t):
            return replace(stmt, op="np.copy", args=(kept,))
        return stmt if t.array else alias(kept)
    if stmt.op == "np.multiply" and _is(args[0], 1) or stmt.op == "np.add" and _is_int(args[0], 0):
        return alias(args[1])
    if stmt.op == "np.multiply" and _is(args[1], 1):
        return alias(args[0])
    if stmt.op in ("np.add", "np.subtract") and _is_int(args[1], 0) or stmt.op in ("np.divide", "np.power") and _is(args[1], 1):
        return alias(args[0])
    if stmt.op == "np.power" and _is(args[1], 0) and not t.array:  # of nan, too
        return replace(stmt, op="alias", args=(_one(t),))
    return stmt


def _in_type(operand: Operand, t: Type) -> Operand:
    """A constant of another of NumPy's types as a number of this type: a narrow one would overflow where the operation does not."""
    dtype = getattr(operand.value, "dtype", None) if isinstance(operand, Const) else None
    if dtype is None or dtype == t.dtype or np.dtype(t.dtype).kind not in "fc" or dtype.kind not in "fiub":
        return operand
    value = np.dtype(t.dtype).type(operand.value)  # type: ignore[union-attr]
    return Const(value.item() if t.weak else value)


def _with_choices_in(t: Type, stmt: Assign) -> Assign:
    """A choice between numbers, with constants in the type of its result."""
    if stmt.op != "np.where" or t.array or len(stmt.args) != 3:
        return stmt
    args = (stmt.args[0], *(_in_type(a, t) for a in stmt.args[1:]))
    return stmt if args == stmt.args else replace(stmt, args=args)


def _number(stmt: Assign) -> Const | None:
    """The constant that a conversion of one gives, or what a logical operation gives whatever its other operand is."""
    if stmt.op in ("float", "int") and isinstance(stmt.args[0], Const) and type(stmt.args[0].value) in (int, float, bool):
        return Const(float(stmt.args[0].value) if stmt.op == "float" else int(stmt.args[0].value))
    if stmt.op in ("not", "np.logical_not") and isinstance(stmt.args[0], Const) and isinstance(stmt.args[0].value, (bool, np.bool_)):
        return Const(not stmt.args[0].value)
    if stmt.op not in _NEUTRAL:
        return None
    neutral, rest = _NEUTRAL[stmt.op], _decisive(stmt)
    return Const(neutral) if not rest else Const(not neutral) if any(isinstance(a, Const) and _is_truth(a, not neutral) for a in rest) else None


def _decisive(stmt: Assign) -> list[Operand]:
    """The operands of `a and b`, or `a or b`, without those that decide nothing."""
    return [a for a in stmt.args if not _is_truth(a, _NEUTRAL[stmt.op])]


def _is_truth(operand: Operand, value: bool) -> bool:
    return isinstance(operand, Const) and isinstance(operand.value, (bool, np.bool_)) and bool(operand.value) is value


def _one(t: Type) -> Const:
    """The number 1 of a type."""
    one = np.dtype(t.dtype).type(1)
    return Const(one.item() if t.weak else one)


def _same_kind(a: Type, b: Type) -> bool:
    return (a.dtype, a.array, a.rank) == (b.dtype, b.array, b.rank)


def _is(operand: Operand, value: float) -> bool:
    if not isinstance(operand, Const) or isinstance(operand.value, (bool, np.generic)):
        return False
    return isinstance(operand.value, (int, float)) and operand.value == value


def _is_int(operand: Operand, value: int) -> bool:
    return isinstance(operand, Const) and type(operand.value) is int and operand.value == value


# --------------------------------------------------------------------------- results named at once


def _retarget(block: Block, fn: Function) -> Block:
    """`t = op(...); y = t` with no other use of t becomes `y = op(...)`, and `t = np.outer(a, b); y = np.transpose(t)` becomes `y = np.outer(b, a)`.

    So do both paths of a branch that ends with t. Nothing between the two reads or binds t or y; what else binds t is not read.
    """
    uses = Counter(definitions(fn).reads)
    uses.update(2 * [n for s in walk(fn.body) if isinstance(s, Custom) for n in _custom_names(s)])
    return _retarget_block(block, _Names(uses, definitions(fn)), fn.types)


@dataclass(frozen=True)
class _Names:
    """How often names are read and bound."""

    uses: Counter[str]
    bound: Definitions


def _retarget_block(block: Block, names: _Names, types: Mapping[str, Type]) -> Block:
    out: list[Stmt] = []
    made: dict[str, int] = {}  # where a name was last made by a statement of this block
    touched: dict[str, int] = {}  # where it was last read or assigned
    barrier = -1
    for stmt in block:
        stmt = map_blocks(lambda b: _retarget_block(b, names, types), stmt)
        at = _renamable(stmt, names, types, made, out)
        at = _turnable(stmt, names, made, out) if at is None else at
        if (
            at is not None
            and isinstance(stmt, Assign)
            and at > barrier
            and all(touched.get(name, -1) <= at for name in (stmt.target.name, *operand_vars(stmt.args[0])))
            and stmt.target.name not in assigned((out[at],))
        ):
            out[at] = _renamed(out[at], stmt.args[0], stmt.target, turned=stmt.op == "np.transpose")
            made[stmt.target.name] = touched[stmt.target.name] = at
            continue
        out.append(stmt)
        here = len(out) - 1
        for name in {n for s in walk((stmt,)) for n in (*reads(s), *assigns(s))}:
            touched[name] = here
        if isinstance(stmt, (Assign, Pop)):
            made.update(dict.fromkeys(assigns(stmt), here))
        if isinstance(stmt, If):
            made.update(dict.fromkeys(_ends_with(stmt.then) & _ends_with(stmt.orelse), here))
        if isinstance(stmt, Custom):
            barrier = here
    return tuple(out)


def _ends_with(block: Block) -> frozenset[str]:
    """What the last statement of a block binds, on every path."""
    last = block[-1] if block else None
    if isinstance(last, If):
        return _ends_with(last.then) & _ends_with(last.orelse)
    return frozenset(assigns(last)) if isinstance(last, (Assign, Pop)) else frozenset()


def _renamable(stmt: Stmt, names: _Names, types: Mapping[str, Type], made: Mapping[str, int], before: list[Stmt]) -> int | None:
    """Where the source of a copy is made, if the copy is its only use; of one in new memory, if what is copied is new, too."""
    if not isinstance(stmt, Assign) or stmt.op not in ("alias", "np.copy") or stmt.kwargs or not isinstance(stmt.args[0], Var):
        return None
    at = made.get(stmt.args[0].name)
    if at is None or stmt.op == "np.copy" and not _new(before[at]):
        return None
    source, target = types[stmt.args[0].name], types[stmt.target.name]
    told = _same_kind(source, target) and tells_as_much(target, source, once=names.bound.counts[stmt.target.name] == 1)
    return at if told and names.uses[stmt.args[0].name] == 1 else None


def _new(stmt: Stmt) -> bool:
    """Whether a statement makes an array of its operands' elements, in memory of its own."""
    return isinstance(stmt, Assign) and len(stmt.targets) == 1 and operation(stmt.op).kind in ("arithmetic", "comparison", "logical", "function", "choice")


def _turnable(stmt: Stmt, names: _Names, made: Mapping[str, int], before: list[Stmt]) -> int | None:
    """Where an outer product is made, if all that is read of it is its transpose: it may lie in memory the way that others of that shape do."""
    if not isinstance(stmt, Assign) or not _transposes(stmt):
        return None
    (source,) = operand_vars(stmt.args[0])
    outer = before[made[source]] if source in made and names.uses[source] == 1 else None
    return made[source] if isinstance(outer, Assign) and outer.op == "np.outer" and len(outer.args) == 2 and not outer.kwargs else None


def _renamed(stmt: Stmt, source: Operand, target: Var, turned: bool) -> Stmt:
    if isinstance(stmt, Assign) and turned:
        stmt = replace(stmt, args=stmt.args[::-1])
    if isinstance(stmt, Pop):
        return replace(stmt, target=target)
    if isinstance(stmt, If):
        return rename((stmt,), dict.fromkeys(operand_vars(source), target.name))[0]
    assert isinstance(stmt, Assign)
    return replace(stmt, targets=tuple(target if v == source else v for v in stmt.targets))


__all__ = ["Pack", "simplify"]
