"""A-normal form -> expressions as one would write them: single-use temporaries go back where they are read.

`fold` does two things in turn until nothing changes:

* nesting: a temporary (`_` begins its name) that is assigned and then read once in the same block moves into the reader,
  where nothing in between can change what it reads: no assignment to its operands, for array contents no store, and for an item that it takes
  off a stack no other use of that; and into a part of an expression that may be skipped only where it does nothing but make a value,
* patterns: `c = a; if c: c = b` becomes `c = a and b`, an `if` with one assignment to the same name in both branches
  becomes a conditional expression, `t = a; a = b; b = t` becomes `a, b = b, a`.

The result is IR whose operands may hold `Call`s. Names of users stay statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stgrad import ir
from stgrad.ir.ops import operation
from stgrad.names import plain
from stgrad.printer.expressions import Call, children, is_comparison, is_identity, is_scalar, names, replace_leaves

WIDTH = 96  # a line gets no longer by nesting
CONDITIONAL_WIDTH = 72



def fold(body: ir.Block, result: Any, types: Mapping[str, ir.Type]) -> tuple[ir.Block, Any]:
    """Nest and match patterns until nothing changes."""
    while True:
        nested, new_result = _nest(body, result, _Facts(types, _nestable(body, result)), 1)
        folded = _patterns(nested, _Context(types, _dead_after_one_read(nested, new_result)))
        if folded == body:
            return folded, new_result
        body, result = folded, new_result


def is_temporary(name: str) -> bool:
    return name.startswith("_")


# --------------------------------------------------------------------------- which names may move


def _values(stmt: ir.Stmt) -> tuple[Any, ...]:
    """Operands in whose place an expression can stand; the condition of a `While` belongs to its head."""
    if isinstance(stmt, ir.Store):
        return (stmt.index, stmt.value)
    return () if isinstance(stmt, ir.Custom) else ir.operands(stmt)


def _fixed(stmt: ir.Stmt) -> tuple[str, ...]:
    """Names that a statement uses in a place where only a name can stand."""
    match stmt:
        case ir.Store():
            return (stmt.target.name,)
        case ir.Custom():
            return tuple(name for operand in stmt.inputs for name in names(operand))
        case ir.Assign() if len(stmt.targets) == 1:
            return ()
    return ir.assigns(stmt)


def _tails(stmt: ir.Stmt) -> tuple[tuple[ir.Block, tuple[Any, ...]], ...]:
    """The blocks of a statement, each with the expressions that are read at its end."""
    if isinstance(stmt, ir.While):
        return ((stmt.head, (stmt.cond,)), (stmt.body, ()))
    return tuple((block, ()) for block in ir.blocks(stmt))


def _occurrences(block: ir.Block) -> Iterator[str]:
    for stmt in ir.walk(block):
        yield from ir.assigns(stmt)
        yield from _fixed(stmt)
        for expr in (*_values(stmt), *(end for _, ends in _tails(stmt) for end in ends)):
            yield from names(expr)


def _nestable(body: ir.Block, result: Any) -> set[str]:
    """Temporaries that only ever occur as pairs: assigned, then read once in the same block, with no other use between."""
    seen: set[str] = set()
    bad: set[str] = set()

    def scan(block: ir.Block, ends: tuple[Any, ...]) -> None:
        waiting: set[str] = set()

        def read(exprs: tuple[Any, ...]) -> None:
            for name, count in Counter(n for expr in exprs for n in names(expr)).items():
                if name not in waiting or count > 1:
                    bad.add(name)
                waiting.discard(name)

        for stmt in block:
            inner = {name for part, part_ends in _tails(stmt) for name in (*_occurrences(part), *(n for e in part_ends for n in names(e)))}
            bad.update(inner & (waiting | {n for value in _values(stmt) for n in names(value)}))
            read(_values(stmt))
            bad.update(_fixed(stmt))
            for part, part_ends in _tails(stmt):
                scan(part, part_ends)
            bound = set(ir.assigns(stmt))
            bad.update(bound & waiting)
            waiting |= bound
            seen.update(bound)
        read(ends)
        bad.update(waiting)

    scan(body, (result,))
    return {name for name in seen - bad if is_temporary(name)}


class _Facts:
    """What decides whether an expression may move."""

    def __init__(self, types: Mapping[str, ir.Type], nestable: set[str]) -> None:
        self.types = types
        self.nestable = nestable

    def movable(self, stmt: ir.Stmt) -> bool:
        return isinstance(stmt, ir.Assign) and len(stmt.targets) == 1 and stmt.target.name in self.nestable and ".random" not in stmt.op

    def reads_memory(self, expr: Any) -> bool:
        """Whether it reads the contents of an array."""
        if isinstance(expr, ir.Var):
            known = self.types.get(expr.name)
            return known is None or known.array
        if isinstance(expr, Call):
            skipped = (0,) if is_identity(expr.op) else operation(expr.op).extents  # names of arrays, and their extents
            return any(self.reads_memory(a) for i, a in enumerate(children(expr)) if i not in skipped or not isinstance(a, ir.Var))
        return any(map(self.reads_memory, children(expr)))


# --------------------------------------------------------------------------- nesting


def as_expr(stmt: ir.Assign) -> Any:
    """The right-hand side of an assignment."""
    return stmt.args[0] if is_identity(stmt.op) else Call(stmt.op, stmt.args, stmt.kwargs, stmt.loc)


def _substitute(name: str, by: Any, expr: Any) -> Any:
    return replace_leaves(lambda leaf: by if isinstance(leaf, ir.Var) and leaf.name == name else leaf, expr)


def _substitute_in(stmt: ir.Stmt, name: str, by: Any) -> ir.Stmt:
    def go(expr: Any) -> Any:
        return _substitute(name, by, expr)

    match stmt:
        case ir.Assign() | ir.Effect():
            return replace(stmt, args=tuple(map(go, stmt.args)), kwargs=tuple((k, go(v)) for k, v in stmt.kwargs))
        case ir.Store():
            return replace(stmt, index=go(stmt.index), value=go(stmt.value))
        case ir.Push():
            return replace(stmt, value=go(stmt.value))
        case ir.If():
            return replace(stmt, cond=go(stmt.cond))
        case ir.For():
            return replace(stmt, start=go(stmt.start), stop=go(stmt.stop), step=go(stmt.step))
    return stmt


def _nest(block: ir.Block, result: Any, facts: _Facts, depth: int) -> tuple[ir.Block, Any]:
    """Move temporaries into their readers; `result` is read at the end of the block."""
    out: list[ir.Stmt] = []
    pending = _Pending(facts)
    limit = WIDTH - 4 * depth
    for stmt in block:
        stmt = _nest_inside(stmt, facts, depth)
        for name in [n for value in _values(stmt) for n in names(value) if n in pending.assigns]:
            assign = pending.take(name)
            candidate = _substitute_in(stmt, name, as_expr(assign))
            if _header_width(candidate) <= limit and _may_move(name, as_expr(assign), _read(stmt)):
                stmt = candidate
            else:
                out.append(assign)
        out.extend(pending.take_disturbed(stmt))
        if facts.movable(stmt):
            assert isinstance(stmt, ir.Assign)
            pending.add(stmt)
        else:
            out.append(stmt)
    for name in [n for n in names(result) if n in pending.assigns]:
        found = as_expr(pending.assigns[name])
        candidate = _substitute(name, found, result)
        if width(candidate) <= limit and _may_move(name, found, (result,)):
            result = candidate
            pending.take(name)
    return (*out, *pending.assigns.values()), result


def computes(expr: Any) -> bool:
    """Whether an expression does nothing but make a value, so that it may as well not run."""
    if isinstance(expr, Call) and expr.op not in ("if", "and", "or") and not operation(expr.op).computes:
        return False
    return all(map(computes, children(expr)))


def _stacks(expr: Any) -> Iterator[str]:
    """The stacks that an expression takes items off."""
    if isinstance(expr, Call) and operation(expr.op).takes:
        yield from names(expr.args[0])
    for part in children(expr):
        yield from _stacks(part)


def _read(stmt: ir.Stmt) -> tuple[Any, ...]:
    """What a statement reads, with the conditions in it."""
    return (as_expr(stmt),) if isinstance(stmt, ir.Assign) else _values(stmt)


def _may_move(name: str, expr: Any, readers: tuple[Any, ...]) -> bool:
    """Whether what reads a name may compute it: where it may not run, only what nobody misses; beside other items of a stack, no item."""
    if computes(expr):
        return True
    beside = {n for reader in readers for n in names(reader)}
    return beside.isdisjoint(_stacks(expr)) and not any(name in names(part) for part in _skipped(readers))


def _skipped(exprs: Iterable[Any]) -> Iterator[Any]:
    """The parts of expressions that a condition in them may leave out."""
    for expr in exprs:
        parts = children(expr)
        yield from parts[1:] if isinstance(expr, Call) and expr.op in ("if", "and", "or") else ()
        yield from _skipped(parts)


def _nest_inside(stmt: ir.Stmt, facts: _Facts, depth: int) -> ir.Stmt:
    if isinstance(stmt, ir.While):
        head, cond = _nest(stmt.head, stmt.cond, facts, depth + 1)
        return replace(stmt, head=head, cond=cond, body=_nest(stmt.body, ir.NONE, facts, depth + 1)[0])
    return ir.map_blocks(lambda inner: _nest(inner, ir.NONE, facts, depth + 1)[0], stmt)


class _Pending:
    """Temporaries that wait for their reader, in order; indexed by what would disturb them."""

    def __init__(self, facts: _Facts) -> None:
        self.facts = facts
        self.assigns: dict[str, ir.Assign] = {}
        self.order: dict[str, int] = {}
        self.readers: defaultdict[str, set[str]] = defaultdict(set)  # name -> those that read it
        self.memory: set[str] = set()  # those that read the contents of arrays
        self.takers: dict[str, str] = {}  # stack -> the one that takes an item off it

    def add(self, assign: ir.Assign) -> None:
        name = assign.target.name
        self.assigns[name] = assign
        self.order[name] = len(self.order)
        for read in (name, *names(as_expr(assign))):
            self.readers[read].add(name)
        if self.facts.reads_memory(Call(assign.op, assign.args, assign.kwargs)):
            self.memory.add(name)
        self.takers.update(dict.fromkeys(_stacks(as_expr(assign)), name))

    def take(self, name: str) -> ir.Assign:
        assign = self.assigns.pop(name)
        for read in (name, *names(as_expr(assign))):
            self.readers[read].discard(name)
        self.memory.discard(name)
        self.takers = {stack: taker for stack, taker in self.takers.items() if taker != name}
        return assign

    def take_disturbed(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        """Those that would change if they were computed after a statement."""
        if not self.assigns:
            return []
        everything = (stmt,)
        disturbed = {waiting for name in ir.assigned(everything) for waiting in self.readers.get(name, ())}
        if self.memory and any(isinstance(s, (ir.Store, ir.Effect, ir.Custom)) for s in ir.walk(everything)):
            disturbed |= self.memory
        if self.takers:
            used = {*_occurrences(everything), *(s.stack for s in ir.walk(everything) if isinstance(s, (ir.Push, ir.Pop)))}
            disturbed |= {taker for stack, taker in self.takers.items() if stack in used}
        return [self.take(name) for name in sorted(disturbed, key=self.order.__getitem__)]


# --------------------------------------------------------------------------- patterns


def _dead_after_one_read(body: ir.Block, result: Any) -> set[str]:
    """Temporaries that occur twice in all: assigned once and read once."""
    counts = Counter(_occurrences(body))
    counts.update(names(result))
    return {name for name, count in counts.items() if count == 2 and is_temporary(name)}


@dataclass(frozen=True)
class _Context:
    types: Mapping[str, ir.Type]
    once: set[str]

    def is_bool(self, expr: Any) -> bool:
        """Whether it is surely True or False, and not an array of them."""
        match expr:
            case ir.Var(name=name):
                known = self.types.get(name)
                return known is not None and known.dtype == "bool" and not known.array
            case ir.Const(value=value):
                return isinstance(value, bool)
            case Call(op="not" | "bool"):
                return True
            case Call(op="and" | "or", args=args):
                return all(map(self.is_bool, args))
            case Call(op=op, args=args) if is_comparison(op):
                return all(is_scalar(arg, self.types) for arg in args)
        return False


def _patterns(block: ir.Block, context: _Context) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        stmt = ir.map_blocks(lambda inner: _patterns(inner, context), stmt)
        if isinstance(stmt, ir.If):
            shorter = _short_circuit(stmt, out[-1] if out else None)
            if shorter is not None:
                out[-1] = shorter
                continue
            stmt = _conditional(stmt, context)
        out.append(stmt)
        swap = _swap(out[-3:], context.once)
        if swap is not None:
            out[-3:] = [swap]
    return tuple(out)


def _only_assign(block: ir.Block) -> ir.Assign | None:
    if len(block) == 1 and isinstance(block[0], ir.Assign) and len(block[0].targets) == 1:
        return block[0]
    return None


def _short_circuit(stmt: ir.If, before: ir.Stmt | None) -> ir.Assign | None:
    """`c = a` before `if c: c = b`, as `c = a and b`; before `if not c: c = b`, as `c = a or b`."""
    if not isinstance(before, ir.Assign) or len(before.targets) != 1:
        return None
    match stmt:
        case ir.If(cond=ir.Var(name=name), then=then, orelse=()):
            op, last = "and", _only_assign(then)
        case ir.If(cond=ir.Var(name=name), then=(), orelse=orelse):
            op, last = "or", _only_assign(orelse)
        case ir.If(cond=Call(op="not", args=(ir.Var(name=name),)), then=then, orelse=()):
            op, last = "or", _only_assign(then)
        case _:
            return None
    if last is None or not before.target.name == last.target.name == name or name in names(as_expr(last)):
        return None
    joined = replace(before, op=op, args=(as_expr(before), as_expr(last)), kwargs=())
    return joined if _header_width(joined) <= WIDTH else None


def _conditional(stmt: ir.If, context: _Context) -> ir.Stmt:
    """`if c: x = a` / `else: x = b` as `x = a if c else b`; `a if c else False` as `c and a`, `True if c else b` as `c or b`."""
    value, other = _only_assign(stmt.then), _only_assign(stmt.orelse)
    if value is None or other is None or value.targets != other.targets or value.note != other.note:
        return stmt
    yes, no = as_expr(value), as_expr(other)
    op, args = "if", [stmt.cond, yes, no]
    truth = context.is_bool(stmt.cond) or isinstance(stmt.cond, Call) and is_comparison(stmt.cond.op)  # a condition is no array
    if truth and isinstance(no, ir.Const) and no.value is False:
        op, args = "and", [stmt.cond, yes]
    elif truth and isinstance(yes, ir.Const) and yes.value is True:
        op, args = "or", [stmt.cond, no]
    joined = replace(value, op=op, args=tuple(args), kwargs=())
    return joined if _header_width(joined) <= CONDITIONAL_WIDTH else stmt


def _swap(three: list[ir.Stmt], once: set[str]) -> ir.Assign | None:
    """`t = a; a = b; b = t` as `a, b = b, a`."""
    match three:
        case [
            ir.Assign(targets=(temp,), op="alias", args=(ir.Var() as a,)) as first,
            ir.Assign(targets=(a_again,), op="alias", args=(ir.Var() as b,)),
            ir.Assign(targets=(b_again,), op="alias", args=(temp_again,)),
        ] if a == a_again and b == b_again and temp == temp_again and temp.name in once:
            return replace(first, targets=(a, b), op="alias", args=(ir.Pack((b, a)),))
    return None


# --------------------------------------------------------------------------- widths


def width(expr: Any) -> int:
    """About how many characters an expression takes."""
    match expr:
        case ir.Var():
            return len(plain(expr.name))
        case ir.Const():
            return len(repr(expr.value))
        case Call(op=op) if operation(op).symbol and len(children(expr)) == 2 or op in ("and", "or"):
            return sum(map(width, children(expr))) + 3 + 2 * any(isinstance(c, Call) for c in children(expr))
        case Call(op=op):
            named = sum(len(key) + 1 for key, _ in expr.kwargs)
            return len(op) * (not is_identity(op)) + named + sum(width(c) + 2 for c in children(expr))
    return sum(width(c) + 2 for c in children(expr))


def _header_width(stmt: ir.Stmt) -> int:
    """About how long the line of a statement is."""
    target = sum(len(name) + 2 for name in ir.assigns(stmt)) + (len(stmt.target.name) + 4 if isinstance(stmt, ir.Store) else 0)
    return target + 2 + sum(width(value) for value in _values(stmt))
