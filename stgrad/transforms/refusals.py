"""What Python refuses: under which condition an operation raises, and the pass that tests it.

    y = math.sqrt(x)        ->        if x < 0.0: raise ValueError('math domain error')
    y = 1.0 / x                       if x == 0.0: raise ZeroDivisionError('float division by zero')

Compiled code gives infinity or NaN there. The invariant that this pass establishes: where Python raises, the program does, with the class and the
message of Python. Each operation says so in one table, `stgrad.ir.ops.domains`: a condition, and arguments with which Python itself is asked what it raises. A
condition that cannot hold is not tested: that of a literal, of a sum of squares, of an integer by its interval, or in a branch where it was compared.

Scalars of NumPy divide by zero as NumPy does. In `for` loops, functions of them (items of arrays) are tested with `checked=True` alone: such loops
are vectorised, which a test prevents.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad.analysis.conditions import BOOL, FLOAT, Maker, line_of
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.intervals import Interval, intervals, operand_interval
from stgrad.analysis.signs import Signs
from stgrad.frontend.builder import Builder
from stgrad.frontend.escapes import TESTS
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    For,
    Function,
    If,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    map_blocks,
    operand_vars,
    raises,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.ir.ops.domains import RAISES, Row
from stgrad.names import Names
from stgrad.transforms import refused_sizes
from stgrad.transforms.own_kinds import NO_ITEMS, Items, with_flags

LARGEST = 2.0**63


def refuse(fn: Function, tested: Collection[str] = (), items: Items = NO_ITEMS, *, everything: bool = False) -> Function:
    """The program with a test of each condition under which Python would raise; `everything`: also where that costs more than a little."""
    search = _Search(fn, Maker(Names(fn.types), dict(fn.types)), intervals(fn), Signs(fn, definitions(fn)), frozenset(tested), everything)
    flagged, search.own = with_flags(fn, items, search.maker, search.type_of)
    body = search.block(flagged)
    return fn.with_body(body, types=search.maker.types) if body != fn.body else fn


def tests_of(block: Block, builder: Builder, wanted: Callable[[str], bool]) -> Block:
    """A part of a program being read, with tests of what raises the classes that are wanted; nothing is known of the values that it reads."""
    fn = Function("part", (), block, NONE, builder.types)
    return _Search(fn, Maker(builder.names, builder.types), {}, Signs(fn, Definitions()), frozenset(builder.library), True, wanted=wanted).block(block)


TESTS.append(tests_of)


@dataclass
class _Search:
    fn: Function
    maker: Maker
    ranges: Mapping[str, Interval]
    signs: Signs
    tested: frozenset[str]
    everything: bool
    loops: int = 0  # `for` loops around
    known: set[tuple[Any, ...]] = field(default_factory=set)  # what was tested and still holds
    wanted: Callable[[str], bool] | None = None  # the classes of exceptions that are tested, where that is not all; then limits of ours are none
    own: Mapping[str, Operand] = field(default_factory=dict)  # whether numbers are Python's, where their types do not say so

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(stmt))

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, (For, While)):
            self.forget(assigned((stmt,)))
            self.loops += isinstance(stmt, For)
            new = map_blocks(self.block, stmt)
            self.loops -= isinstance(stmt, For)
            return [new]
        if isinstance(stmt, If):
            return [self.branch(stmt)]
        if isinstance(stmt, Custom):
            stmt = replace(stmt, body=self.apart(stmt.body), pullback=self.apart(stmt.pullback))
        if isinstance(stmt, Store):
            return [*(self.chosen(self.narrowed(stmt)) if stmt.target.name not in self.tested else []), stmt]
        if not isinstance(stmt, Assign) or len(stmt.targets) != 1:
            return [stmt]
        own = stmt.target.name not in self.tested
        tests = self.chosen([*self.narrowed(stmt), *self.tests(stmt)]) if own else []
        self.forget({stmt.target.name})
        self.signs.assign(stmt)
        if self.wanted is not None:
            return [*tests, *(self.chosen(self.too_large(stmt)) if own else []), stmt]
        return [*tests, stmt, *(self.of_python(stmt, self.overflow) if own else [])]

    def chosen(self, tests: list[Stmt]) -> list[Stmt]:
        """Tests of which some raise may be wanted."""
        raised = (s.args[0] for s in walk(tuple(tests)) if isinstance(s, Effect) and s.op == "raise")
        return tests if self.wanted is None or any(isinstance(kind, Const) and self.wanted(kind.value) for kind in raised) else []

    def limit(self, kind: str, message: str, stmt: Assign) -> Block:
        """What Python computes, and we do not."""
        return (_raise(kind, message, stmt),) if self.wanted is None else ()

    def forget(self, names: set[str]) -> None:
        self.known = {k for k in self.known if not names & {n for o in k[1:2] for n in operand_vars(o)}}
        self.signs.forget(names)

    def branch(self, stmt: If) -> Stmt:
        blocks, known = [], self.known
        facts = self.signs.facts
        for block, holds in ((stmt.then, True), (stmt.orelse, False)):
            self.signs.facts = facts | self.signs.where(stmt.cond, holds)
            blocks.append(self.apart(block))
        self.known, self.signs.facts = known, facts
        self.forget(assigned((stmt,)))
        leaves = [raises(b) for b in blocks]
        if leaves[0] != leaves[1]:  # what follows runs after the other branch alone
            self.signs.facts |= self.signs.where(stmt.cond, leaves[1])
        return replace(stmt, then=blocks[0], orelse=blocks[1])

    def apart(self, block: Block) -> Block:
        known, self.known = self.known, set(self.known)
        new = self.block(block)
        self.known = known
        return new

    # ------------------------------------------------------------------ what may raise

    def tests(self, stmt: Assign) -> list[Stmt]:
        types = [self.type_of(a) for a in stmt.args]
        target = self.maker.types[stmt.target.name]
        known = operation(stmt.op)
        if known.shape is not None or stmt.op in refused_sizes.TESTED:
            return refused_sizes.tests(stmt, self.maker, self.ranges, self.known, ours=self.wanted is None)
        if known.symbol == "**" and np.dtype(target.dtype).kind in "iu" and not target.weak:
            return self.integer_power(stmt)
        if target.array or any(t is None or t.array for t in types):
            return []
        if known.kind == "whole" or stmt.op == "int":
            return self.whole(stmt, types[0]) if target.dtype == "int64" else []
        vectorised = self.loops > 0 and any(t is not None and not t.weak for t in types)
        rows = RAISES.get(stmt.op, ())
        if not self.everything and (vectorised or any(row.rare for row in rows)):
            return []
        if stmt.op in ("np.power", "math.pow"):
            return self.of_python(stmt, self.power) if stmt.op == "np.power" else self.power(stmt)
        if known.symbol in ("/", "//", "%"):
            return self.of_python(stmt, lambda stmt: self.division(stmt, [t for t in types if t is not None]))
        return [s for row in rows for s in self.test(row, stmt)]

    def of_python(self, stmt: Assign, tests: Callable[[Assign], list[Stmt]]) -> list[Stmt]:
        """Tests of what raises for numbers of Python's alone, where they may be NumPy's."""
        found = [self.own[a.name] for a in stmt.args if isinstance(a, Var) and a.name in self.own]
        flags = dict.fromkeys(f for f in found if isinstance(f, Var))
        if Const(False) in found:
            return []
        known, self.known = self.known, set(self.known)
        new = tests(stmt)
        if flags:
            self.known = known
        for flag in flags if new else ():
            new = [If(flag, tuple(new), (), stmt.loc)]
        return new

    def type_of(self, operand: Operand) -> Type | None:
        """The type of an operand; of a number that may be Python's, as if it were."""
        if isinstance(operand, Var):
            type_ = self.maker.types[operand.name]
            return replace(type_, weak=True) if not type_.weak and self.own.get(operand.name, Const(False)) != Const(False) else type_
        if isinstance(operand, Const) and isinstance(operand.value, (bool, int, float, complex)):
            dtype = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}.get(type(operand.value))
            return Type("float64") if dtype is None else Type(dtype, weak=True)
        return None

    def narrowed(self, stmt: Assign | Store) -> list[Stmt]:
        """Numbers of Python's that become integers of NumPy's: it takes those alone that these can hold."""
        target = self.maker.types[stmt.target.name]
        if target.weak or target.dtype == "int64" or np.dtype(target.dtype).kind not in "iu":
            return []
        out: list[Stmt] = []
        kinds = ("int64", "float64") if isinstance(stmt, Assign) and stmt.op == "cast" else ("int64",)
        for operand in _converted(stmt):
            type_ = self.type_of(operand)
            if type_ is None or not type_.weak or type_.array or type_.dtype not in kinds:
                continue
            key = ("narrow", operand, target.dtype)
            if key not in self.known:
                self.known.add(key)
                out += self.within(operand, type_, np.iinfo(target.dtype), stmt)
        return out

    def within(self, operand: Operand, type_: Type, held: np.iinfo[Any], stmt: Assign | Store) -> list[Stmt]:
        low, high = int(held.min), int(held.max)
        error = Effect("raise", (Const("OverflowError"), Const(f"Python integer out of bounds for {held.dtype}{line_of(stmt.loc)}")), (), stmt.loc)
        if isinstance(operand, Const):
            return [] if low <= int(operand.value) <= high else [error]
        least, most = (-math.inf, math.inf) if type_.is_float else operand_interval(operand, self.ranges)
        out: list[Stmt] = []
        for op, bound, possible in (("np.less", low, least < low), ("np.greater", high, most > high)):
            if possible and abs(bound) < LARGEST:
                past = bound + (-1 if op == "np.less" else 1)
                test, limit = (f"{op}_equal", float(past)) if type_.is_float else (op, bound)  # a float is cut off before
                out.append(If(self.maker.made(test, (operand, Const(limit)), BOOL, out), (error,), (), stmt.loc))
        return out

    def integer_power(self, stmt: Assign) -> list[Stmt]:
        """NumPy has no negative powers of its integers."""
        exponent, out = stmt.args[1], list[Stmt]()
        type_ = self.type_of(exponent)
        if type_ is None or np.dtype(type_.dtype).kind != "i" or operand_interval(exponent, self.ranges)[0] >= 0:
            return []
        error = _raise("ValueError", "Integers to negative integer powers are not allowed.", stmt)
        if isinstance(exponent, Const):
            return [error]
        negative = self.maker.made("np.less", (exponent, Const(0)), replace(BOOL, dims=type_.dims, array=type_.array), out)
        some = self.maker.made("np.any", (negative,), Type("bool"), out) if type_.rank else negative
        return [*out, If(some, (error,), (), stmt.loc)]

    def division(self, stmt: Assign, types: Sequence[Type]) -> list[Stmt]:
        """Numbers of Python's cannot be divided by zero."""
        if not all(t.weak or t.dtype == "bool" for t in types) or len(types) != 2 or types[1].dtype.startswith("complex"):
            return []
        whole, division = all(t.dtype in ("int64", "bool") for t in types), operation(stmt.op).python
        assert division is not None
        example = (1, 0) if whole else (1.0, 0.0)
        return self.test(Row((("np.equal", 0 if whole or types[1].dtype == "int64" else 0.0),), division, example, at=1), stmt)

    def whole(self, stmt: Assign, type_: Type | None) -> list[Stmt]:
        """Only a finite number is near an integer."""
        key = ("whole", stmt.args[0])
        if type_ is None or type_.dtype not in ("float64", "float32") or key in self.known:
            return []
        self.known.add(key)
        out: list[Stmt] = []
        size = self.maker.made("np.absolute", (stmt.args[0],), replace(type_, value=None), out)
        fits = self.maker.made("np.less", (size, Const(LARGEST)), BOOL, out)
        inner: list[Stmt] = []
        nan = self.maker.made("np.not_equal", (stmt.args[0], stmt.args[0]), BOOL, inner)
        inner.append(If(nan, (_error(int, (math.nan,), stmt),), (), stmt.loc))
        endless = self.maker.made("np.equal", (size, Const(math.inf)), BOOL, inner)
        large = self.limit("OverflowError", f"a float is beyond the integers of 64 bits{line_of(stmt.loc)}", stmt)
        inner.append(If(endless, (_error(int, (math.inf,), stmt),), large, stmt.loc))
        return [*out, If(fits, (), tuple(inner), stmt.loc)]

    def power(self, stmt: Assign) -> list[Stmt]:
        """Zero to a negative power, a negative number to a broken one, and what is too large."""
        types = [t for t in map(self.type_of, stmt.args) if t is not None]
        target = self.maker.types[stmt.target.name]
        call = math.pow if stmt.op == "math.pow" else operator.pow
        if not all(t.weak or call is math.pow for t in types) or target.dtype != "float64" or len(types) != 2:
            return []
        out: list[Stmt] = []
        base, exponent = stmt.args
        natural = isinstance(exponent, Const) and exponent.value >= 0 or types[1].dtype == "int64" and operand_interval(exponent, self.ranges)[0] >= 0
        if not natural:
            zero = self.maker.made("np.equal", (base, Const(0.0)), BOOL, out)
            inner: list[Stmt] = []
            negative = self.maker.made("np.less", (exponent, Const(0)), BOOL, inner)
            inner.append(If(negative, (_error(call, (0.0, -1.0), stmt),), (), stmt.loc))
            out.append(If(zero, tuple(inner), (), stmt.loc))
        if types[1].dtype == "float64" and not (isinstance(exponent, Const) and float(exponent.value).is_integer()) and not self.signs.natural(base):
            below = self.maker.made("np.less", (base, Const(0.0)), BOOL, out)
            error = self.limit("ValueError", f"a negative number to a broken power is complex{line_of(stmt.loc)}", stmt)
            inner = []
            broken = self.maker.made("np.remainder", (exponent, Const(1.0)), FLOAT, inner)
            inner.append(If(self.maker.made("np.not_equal", (broken, Const(0.0)), BOOL, inner), error, (), stmt.loc))
            out.append(If(below, error if isinstance(exponent, Const) else tuple(inner), (), stmt.loc))
        return out

    def overflow(self, stmt: Assign) -> list[Stmt]:
        """A power of numbers of Python's that is too large; of a square or cube, which costs less than the test, with `everything` alone."""
        if stmt.op not in ("np.power", "math.pow") or self.maker.types[stmt.target.name] != FLOAT:
            return []
        base, exponent = stmt.args
        small = isinstance(exponent, Const) and abs(exponent.value) <= 3
        types = [self.type_of(a) for a in stmt.args]
        if not all(t is not None and t.weak and t.dtype in ("float64", "int64") for t in types) or small and not self.everything:
            return []
        out: list[Stmt] = []
        size = self.maker.made("np.absolute", (stmt.target,), FLOAT, out)
        endless = self.maker.made("np.equal", (size, Const(math.inf)), BOOL, out)
        error: Block = (Effect("raise", (Const("OverflowError"), *map(Const, _args(math.pow if stmt.op == "math.pow" else operator.pow))), (), stmt.loc),)
        for operand in (base, exponent):
            if self.type_of(operand) == FLOAT and isinstance(operand, Var):
                inner: list[Stmt] = []
                own = self.maker.made("np.absolute", (operand,), FLOAT, inner)
                finite = self.maker.made("np.less", (own, Const(math.inf)), BOOL, inner)
                error = (*inner, If(finite, error, (), stmt.loc))
        return [*out, If(endless, error, (), stmt.loc)]

    def too_large(self, stmt: Assign) -> list[Stmt]:
        """The test of `overflow` before the power: it is too large where its logarithm is."""
        base, exponent = stmt.args if len(stmt.args) == 2 else (NONE, NONE)
        types = [self.type_of(a) for a in stmt.args]
        if stmt.op not in ("np.power", "math.pow") or self.maker.types[stmt.target.name] != FLOAT or not all(t is not None and t.weak for t in types):
            return []
        out: list[Stmt] = []
        size = self.maker.made("np.absolute", (base,), FLOAT, out)
        inner: list[Stmt] = []
        logarithm = self.maker.made("np.multiply", (self.maker.made("np.log", (size,), FLOAT, inner), exponent), FLOAT, inner)
        large = self.maker.made("np.greater", (logarithm, Const(math.log(sys.float_info.max))), BOOL, inner)
        finite: list[Stmt] = []
        error = Effect("raise", (Const("OverflowError"), *map(Const, _args(math.pow if stmt.op == "math.pow" else operator.pow))), (), stmt.loc)
        finite.append(If(self.maker.made("np.less", (logarithm, Const(math.inf)), BOOL, finite), (error,), (), stmt.loc))
        inner.append(If(large, tuple(finite), (), stmt.loc))
        positive = self.maker.made("np.greater", (size, Const(0.0)), BOOL, out)
        return [*out, If(positive, tuple(inner), (), stmt.loc)]

    # ------------------------------------------------------------------ tests

    def test(self, row: Row, stmt: Assign) -> list[Stmt]:
        if row.at >= len(stmt.args):
            return []
        operand = stmt.args[row.at]
        key = (row.where, operand, row.sized)
        if key in self.known or self.never(row, operand):
            return []
        self.known.add(key)
        inner: Block = (_error(row.call, row.example, stmt),)
        if row.whole:
            steps: list[Stmt] = []
            rest = self.maker.made("np.remainder", (operand, Const(1.0)), FLOAT, steps)
            whole = self.maker.made("np.equal", (rest, Const(0.0)), BOOL, steps)
            inner = (*steps, If(whole, inner, (), stmt.loc))
        for op, bound in reversed(row.where):
            out: list[Stmt] = []
            value = self.maker.made("np.absolute", (operand,), replace(self.type_of(operand) or BOOL, value=None), out) if row.sized else operand
            condition = self.maker.made(op, (value, Const(bound)), BOOL, out)
            inner = (*out, If(condition, inner, (), stmt.loc))
        return list(inner)

    def never(self, row: Row, operand: Operand) -> bool:
        """Whether a condition cannot hold."""
        if isinstance(operand, Const):
            value = abs(operand.value) if row.sized else operand.value
            return not all(holds(op, value, bound) for op, bound in row.where)
        type_ = self.type_of(operand)
        if type_ is not None and not type_.is_float:
            low, high = operand_interval(operand, self.ranges) if type_.dtype == "int64" else (0, 1)
            if row.sized:
                low, high = (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
            return any(_outside(op, bound, low, high) for op, bound in row.where) or row.where[0] == ("np.equal", 0) and self.signs.nonzero(operand)
        (op, bound), *_ = row.where
        if row.sized:
            return False
        match op, bound:
            case ("np.less", 0.0) | ("np.less_equal", -1.0):
                return self.signs.natural(operand)
            case "np.equal", 0.0:
                return self.signs.nonzero(operand)
        return op == "np.less_equal" and bound == 0.0 and self.signs.positive(operand)


def _converted(stmt: Assign | Store) -> tuple[Operand, ...]:
    """Operands that take the dtype of what a statement gives."""
    if isinstance(stmt, Store):
        return (stmt.value,)
    known = operation(stmt.op)
    if known.filled is not None:
        return stmt.args[known.filled : known.filled + 1]
    if known.kind == "cast":
        return stmt.args[:1]
    return stmt.args if known.kind in ("arithmetic", "function") else ()


def holds(op: str, value: float, bound: float) -> bool:
    """Whether two numbers compare so."""
    compare = operation(op).python
    assert compare is not None
    return bool(compare(value, bound))


def _outside(op: str, bound: float, low: int, high: int) -> bool:
    """Whether no integer of an interval compares so."""
    if op == "np.equal":
        return not low <= bound <= high
    best = low if operation(op).symbol[0] == "<" else high
    return op != "np.not_equal" and not holds(op, best, bound)


def _error(call: Callable[..., Any], example: tuple[Any, ...], stmt: Assign) -> Effect:
    """What Python raises for an example of such arguments."""
    try:
        call(*example)
    except (ValueError, ArithmeticError) as error:
        return _raise(type(error).__name__, str(error), stmt)
    raise AssertionError(f"{call} takes {example}")


def _args(power: Callable[[float, float], float]) -> tuple[Any, ...]:
    """What the OverflowError of a power says."""
    try:
        power(1e200, 2.0)
    except OverflowError as error:
        return error.args
    raise AssertionError("Python raises OverflowError")


def _raise(kind: str, message: str, stmt: Assign) -> Effect:
    return Effect("raise", (Const(kind), Const(message)), (), stmt.loc)
