"""Python's integers have no end, those of compiled code have 64 bits: products, powers, shifts and sums that may not fit.

    x * 2**n                     ->     x * 2.0**n
    for ...: a, b = b, a + b     ->     if abs(float(a) + b) > 2.0**62: raise OverflowError; ...

The invariant that this pass establishes: an integer of Python's is below 2**62 in size. It is proved from intervals (`intervals`): counters, extents
and sums of a few of them need nothing. What only goes into arithmetic of floats is computed as a float, with Python's result also for
negative exponents and beyond 64 bits; the rest is tested where it is computed, products before the loops around them where their factors
are known there. NumPy's integers, items of arrays among them, wrap as they do in NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stgrad import errors
from stgrad.analysis.conditions import BOOL, FLOAT, Maker, line_of, raised
from stgrad.analysis.intervals import FITS, LIMIT, WORD, Interval, intervals, operand_interval, result_of
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names

_SCALING = ("*", "**", "<<")  # as exact in floats as their operands are
_FLOAT_ARITHMETIC = ("+", "-", "*", "/", "**")
_ORDER = ("<", "<=", ">", ">=")


def guard_integers(fn: Function, tested: Collection[str] = ()) -> Function:
    """The program with integers that may not fit computed as floats, or tested. Names among `tested` are those of programs read in place."""
    ranges = intervals(fn)
    suspects = {s.target.name for s in walk(_all(fn.body)) if isinstance(s, Assign) and _suspect(s, fn.types, ranges) and s.target.name not in tested}
    others = any(isinstance(s, Assign) and (s.op == "np.right_shift" or any(map(_large, s.args))) for s in walk(_all(fn.body)))
    if not suspects and not others:
        return fn
    floats = _floats(fn, suspects, ranges)
    writer = _Writer(Names(fn.types), dict(fn.types), ranges, floats, frozenset(tested))
    writer.types |= dict.fromkeys(floats, FLOAT)
    return fn.with_body(writer.block(fn.body), types=writer.types)


def _all(block: Block) -> Block:
    """A block with the pullbacks in it."""
    return (*block, *(s for custom in walk(block) if isinstance(custom, Custom) for s in custom.pullback))


def _large(operand: Operand) -> bool:
    """Whether an operand is an integer that no machine word holds."""
    return isinstance(operand, Const) and type(operand.value) is int and not -WORD <= operand.value < WORD


def _scaling(op: str) -> bool:
    return op in ("alias", "np.negative") or operation(op).symbol in _SCALING


def _in_floats(op: str) -> bool:
    """Whether an operation on floats computes with them, so that an integer may as well be one."""
    return op == "float" or operation(op).symbol in _FLOAT_ARITHMETIC


def _python(name: str, types: Mapping[str, Type]) -> bool:
    """Whether a name is an integer of Python's."""
    return types[name].dtype == "int64" and types[name].weak and not types[name].array


def _suspect(stmt: Assign, types: Mapping[str, Type], ranges: Mapping[str, Interval]) -> bool:
    """Whether Python's result of an operation on integers may not fit; or is no integer, as that of a negative power."""
    if operation(stmt.op).integers != "grows" or len(stmt.targets) != 1 or not _python(stmt.target.name, types):
        return operation(stmt.op).integers == "unbounded" and types[stmt.target.name].weak
    parts = [operand_interval(a, ranges) for a in stmt.args]
    low, high = result_of(stmt.op, parts)
    return low < -FITS or high > FITS or stmt.op in ("np.power", "np.left_shift") and parts[1][0] < 0


# ------------------------------------------------------------------ what is computed in floats


def _floats(fn: Function, suspects: set[str], ranges: Mapping[str, Interval]) -> frozenset[str]:
    """Integers that are only scaled and then go into arithmetic of floats, where one of those that depend on each other may not fit.

    Sums of numbers that are not negative belong to them: floats lose digits only where something cancels.
    """
    body = _all(fn.body)
    defined: dict[str, list[Stmt]] = {}
    used: dict[str, list[tuple[Stmt, int]]] = {}
    for stmt in walk(body):
        for name in assigns(stmt):
            defined.setdefault(name, []).append(stmt)
        for name, at in _uses(stmt):
            used.setdefault(name, []).append((stmt, at))
    kept = {p.name for p in fn.params} | set(operand_vars(fn.result))
    found = {n for n, stmts in defined.items() if n not in kept and _python(n, fn.types) and all(_scales(s, ranges) for s in stmts)}
    while bad := {n for n in found if any(not _as_float(s, at, fn.types, found) for s, at in used.get(n, []))}:
        found -= bad
    chosen = found & suspects
    while more := {n for s in walk(body) for n in _related(s, found) if set(_related(s, found)) & chosen} - chosen:
        chosen |= more
    return frozenset(chosen)


def _uses(stmt: Stmt) -> Iterator[tuple[str, int]]:
    """Names that a statement reads, with the position of the argument; -1 where they are no plain arguments."""
    if isinstance(stmt, (Assign, Store)):
        plain = stmt.args if isinstance(stmt, Assign) else (stmt.value,)
        rest = [v for _, v in stmt.kwargs] if isinstance(stmt, Assign) else [stmt.target, stmt.index]
        yield from ((o.name, at) for at, o in enumerate(plain) if isinstance(o, Var))
        rest += [o for o in plain if not isinstance(o, Var)]
        yield from ((n, -1) for o in rest for n in operand_vars(o))
        return
    yield from ((n, -1) for n in reads(stmt))
    if isinstance(stmt, Custom):
        yield from ((n, -1) for r in stmt.results for n in operand_vars(r))


def _scales(stmt: Stmt, ranges: Mapping[str, Interval]) -> bool:
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
        return False
    if operation(stmt.op).integers == "unbounded":
        return True
    if not _scaling(stmt.op) and not (stmt.op == "np.add" and all(operand_interval(a, ranges)[0] >= 0 for a in stmt.args)):
        return False
    return all(not isinstance(a, Const) or type(a.value) is int and abs(a.value) < LIMIT for a in stmt.args)


def _as_float(stmt: Stmt, at: int, types: Mapping[str, Type], found: Collection[str]) -> bool:
    """Whether a reader of an integer may as well read a float of the same value."""
    if isinstance(stmt, Store):
        return at == 0 and types[stmt.target.name].is_float
    if not isinstance(stmt, Assign) or len(stmt.targets) != 1 or at < 0:
        return False
    target = stmt.target.name
    if target in found:
        return operation(stmt.op).integers != "unbounded" and (at == 0 or stmt.op not in ("np.power", "np.left_shift"))
    if operation(stmt.op).symbol in _ORDER:
        return any(isinstance(a, Var) and types[a.name].is_float or isinstance(a, Const) and type(a.value) is float for a in stmt.args)
    return types[target].is_float and (_in_floats(stmt.op) and (stmt.op != "np.power" or at == 0) or stmt.op.startswith("math."))


def _related(stmt: Stmt, found: Collection[str]) -> list[str]:
    """Names that one statement makes floats together."""
    if not isinstance(stmt, Assign) or stmt.targets[0].name not in found:
        return []
    scaled = () if operation(stmt.op).integers == "unbounded" else stmt.args[:1] if stmt.op in ("np.power", "np.left_shift") else stmt.args
    return [stmt.target.name, *(a.name for a in scaled if isinstance(a, Var) and a.name in found)]


# ------------------------------------------------------------------ writing


@dataclass
class _Writer(Maker):
    ranges: Mapping[str, Interval]
    floats: frozenset[str]
    tested: frozenset[str]
    loops: list[tuple[For, set[str], list[Stmt], set[tuple[Operand, ...]]]] = field(default_factory=list)  # with the tests before each

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, For):
            self.loops.append((stmt, assigned((stmt,)), [], set()))
            new = replace(stmt, body=self.block(stmt.body))
            return [*self.loops.pop()[2], new]
        if isinstance(stmt, Custom):
            stmt = replace(stmt, pullback=self.conditional(stmt.pullback))
        if not isinstance(stmt, Assign):
            return [map_blocks(self.conditional, stmt)]
        if any(map(_large, stmt.args)):
            stmt = self.with_floats(stmt)
        if len(stmt.targets) != 1 or stmt.target.name in self.tested:
            return [stmt]
        if stmt.target.name in self.floats:
            return self.in_floats(stmt)
        if stmt.op == "np.right_shift" and _python(stmt.target.name, self.types):
            return self.shifted_right(stmt)
        return [*self.tests(stmt), stmt] if _suspect(stmt, self.types, self.ranges) else [stmt]

    def conditional(self, block: Block) -> Block:
        """A block that may not run: nothing in it is tested before it."""
        loops, self.loops = self.loops, []
        new = self.block(block)
        self.loops = loops
        return new

    # ------------------------------------------------------------------ floats

    def in_floats(self, stmt: Assign) -> list[Stmt]:
        """An operation on integers, on floats of the same values."""
        if operation(stmt.op).integers == "unbounded":
            return [stmt]
        out: list[Stmt] = []
        first = self.as_float(stmt.args[0], out)
        rest = stmt.args[1:]
        if stmt.op in ("np.multiply", "np.add"):
            rest = tuple(Const(float(o.value)) if isinstance(o, Const) else o for o in rest)
        if stmt.op == "np.left_shift":
            self.no_negative(rest[0], stmt, out)
            rest = (self.made("np.power", (Const(2.0), rest[0]), FLOAT, out),)
        out.append(replace(stmt, op="np.multiply" if stmt.op == "np.left_shift" else stmt.op, args=(first, *rest)))
        if self.may_be_infinite(stmt):
            error = raised("OverflowError", "int too large to convert to float" + line_of(stmt.loc), stmt.loc)
            size = self.made("np.absolute", (stmt.target,), FLOAT, out)
            out.append(If(self.made("np.greater", (size, Const(sys.float_info.max)), BOOL, out), (error,), (), stmt.loc))
        return out

    def with_floats(self, stmt: Assign) -> Assign:
        """An operation on a literal of more than 64 bits, on the float that it is worth."""
        types = self.types[stmt.targets[0].name]
        if stmt.targets[0].name in self.floats:
            return stmt
        if not (types.is_float and _in_floats(stmt.op) or operation(stmt.op).symbol in _ORDER or stmt.op == "alias" and types.is_float):
            raise errors.IntegerSizeError(
                f"an integer of more than 64 bits in `{stmt.op}`",
                stmt.loc,
                reason="compiled code has integers of 64 bits, Python's have no end",
                hint="write it as a float, as in 2.0**70, where it meets floats",
            )
        return replace(stmt, args=tuple(Const(float(o.value)) if _large(o) and isinstance(o, Const) else o for o in stmt.args))

    def may_be_infinite(self, stmt: Assign) -> bool:
        if stmt.op in ("np.multiply", "np.add"):
            return any(isinstance(a, Var) and a.name in self.floats for a in stmt.args)
        low, high = result_of(stmt.op, [operand_interval(a, self.ranges) for a in stmt.args])
        return stmt.op in ("np.power", "np.left_shift") and max(-low, high) >= LIMIT

    def as_float(self, operand: Operand, out: list[Stmt]) -> Operand:
        if isinstance(operand, Const):
            return Const(float(operand.value))
        return operand if isinstance(operand, Var) and operand.name in self.floats else self.made("float", (operand,), FLOAT, out)

    # ------------------------------------------------------------------ tests

    def tests(self, stmt: Assign) -> list[Stmt]:
        """Tests that the result of an operation fits, at the place itself or before loops around it."""
        if operation(stmt.op).integers == "unbounded":
            return []  # they raise it themselves
        if stmt.op == "np.multiply":
            return self.hoisted(stmt)
        out: list[Stmt] = []
        self.no_negative(stmt.args[1], stmt, out)
        a, b = stmt.args
        if stmt.op == "np.left_shift":
            power = self.made("np.power", (Const(2.0), b), FLOAT, out)
            value = self.made("np.multiply", (self.as_float(a, out), power), FLOAT, out)
        else:
            value = self.made(stmt.op, (self.as_float(a, out), b), FLOAT, out)
        return [*out, *self.small(value, stmt)]

    def small(self, value: Var, stmt: Assign) -> list[Stmt]:
        """Raise where a float is too large for an integer."""
        out: list[Stmt] = []
        message = f"an integer of more than 62 bits{line_of(stmt.loc)}: compute it with floats, as in 2.0 ** n"
        size = self.made("np.absolute", (value,), FLOAT, out)
        large = self.made("np.greater", (size, Const(float(FITS))), BOOL, out)
        return [*out, If(large, (raised("OverflowError", message, stmt.loc),), (), stmt.loc)]

    def no_negative(self, count: Operand, stmt: Assign, out: list[Stmt]) -> None:
        """Powers of integers to negative ones are floats, and shifts by negative numbers are errors."""
        if operation(stmt.op).symbol not in ("**", "<<", ">>") or operand_interval(count, self.ranges)[0] >= 0:
            return
        if stmt.op == "np.power":
            error = raised("OverflowError", f"an integer to a negative power is a float{line_of(stmt.loc)}: write 2.0 ** n", stmt.loc)
        else:
            error = raised("ValueError", "negative shift count" + line_of(stmt.loc), stmt.loc)
        out.append(If(self.made("np.less", (count, Const(0)), BOOL, out), (error,), (), stmt.loc))

    def shifted_right(self, stmt: Assign) -> list[Stmt]:
        """A machine shifts by less than 64; all bits are gone by then."""
        out: list[Stmt] = []
        value, count = stmt.args
        self.no_negative(count, stmt, out)
        if operand_interval(count, self.ranges)[1] > 63:
            count = self.made("min", (count, Const(63)), Type("int64", weak=True), out) if isinstance(count, Var) else Const(63)
        return [*out, replace(stmt, args=(value, count))]

    def hoisted(self, stmt: Assign) -> list[Stmt]:
        """The test of a product, before the outermost loops in which nothing but counters changes its factors."""
        factors, place = stmt.args, None
        for loop in reversed(self.loops):
            outside = tuple(_bound(o, loop[0]) for o in factors)
            if any(o is None or set(operand_vars(o)) & loop[1] for o in outside):
                break
            factors, place = tuple(o for o in outside if o is not None), loop
        out: list[Stmt] = []
        if place is not None:
            if factors in place[3]:
                return []
            place[3].add(factors)
        value = self.made("np.multiply", (self.as_float(factors[0], out), factors[1]), FLOAT, out)
        out += self.small(value, stmt)
        if place is None:
            return out
        place[2].extend(out)
        return []


def _bound(operand: Operand, loop: For) -> Operand | None:
    """What is at least as large in size as an operand in all iterations of a loop; None where that is not known."""
    if operand != loop.var:
        return operand
    natural = isinstance(loop.start, Const) and loop.start.value >= 0
    if isinstance(loop.step, Const) and loop.step.value > 0 and natural:
        return loop.stop
    if isinstance(loop.step, Const) and loop.step.value < 0 and isinstance(loop.stop, Const) and loop.stop.value >= -1:
        return loop.start
    return None
