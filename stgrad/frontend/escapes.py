"""The body of a `try` whose exceptions only the running program knows: each `raise` that a handler catches becomes a jump to the end of the block.

    y = math.sqrt(x)            if x < 0.0: failed = True        if failed: (the handler)
    z = y / a            ->     else:                       and  else: (the rest)
                                    y = math.sqrt(x)
                                    if a == 0.0: failed = True
                                    else: z = y / a

The invariant: where `failed` is true, every variable holds what it held when Python would have raised. Which operations raise, and under which
condition, is not said here: they are written before each operation as tests that raise (`TESTS`, by `stgrad.transforms.refusals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.builder import Builder, continuing
from stgrad.frontend.exceptions import described
from stgrad.frontend.values import Sym
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    If,
    Loc,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    While,
    entries_of,
    operand_vars,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.ir.ops.domains import COUNTED, OF_SOME, RAISES, SURE
from stgrad.ir.units import UNITS, Unit

BOOL, INT = Type("bool", weak=True), Type("int64", weak=True)
Catches = Callable[[type[BaseException]], bool]
TESTS: list[Callable[[Block, Builder, Callable[[str], bool]], Block]] = []  # a block with tests of what numbers of Python raise

_LINALG = {
    "runtime.singular": "np.linalg.inv np.linalg.solve scipy.linalg.inv scipy.linalg.solve",
    "runtime.indefinite": "np.linalg.cholesky scipy.linalg.cholesky scipy.linalg.cho_factor",
    "runtime.unbounded": "np.linalg.eig np.linalg.eigvals np.linalg.eigh np.linalg.eigvalsh np.linalg.svd np.linalg.pinv np.linalg.lstsq np.linalg.cond",
}
_FAILS = {name: test for test, names in _LINALG.items() for name in names.split()}
_MESSAGES = {
    "runtime.singular": "Singular matrix",
    "runtime.indefinite": "Matrix is not positive definite",
    "runtime.unbounded": "Array must not contain infs or NaNs",
}


def exception_of(effect: Effect, builder: Builder) -> Exception:
    """The exception that a `raise` of the program raises."""
    kind, shown = key = _key(effect)
    if key not in builder.raised:
        cls = np.linalg.LinAlgError if kind == "LinAlgError" else getattr(__import__("builtins"), kind)
        builder.raised[key] = described(cls(*((shown,) if shown else ())))
    return builder.raised[key]


def class_of(effect: Effect, builder: Builder) -> type[Exception]:
    """Its class."""
    return type(exception_of(effect, builder))


def _key(effect: Effect) -> tuple[str, str]:
    return effect.args[0].value, effect.args[1].value  # type: ignore[union-attr]


def raises(block: Sequence[Stmt], builder: Builder, catches: Catches) -> bool:
    """Whether a block holds a `raise` that is caught."""
    return any(isinstance(s, Effect) and s.op == "raise" and catches(class_of(s, builder)) for s in walk(tuple(block)))


# --------------------------------------------------------------------------- tests before what may raise


def tested(block: Block, builder: Builder, catches: Catches) -> Block:
    """A block with a test before each operation that may raise what is caught."""

    def by_name(kind: str) -> bool:
        return catches(getattr(__import__("builtins"), kind))

    for tests in TESTS:
        block = tests(block, builder, by_name)
    return _Tests(builder, catches).block(block)


@dataclass
class _Tests:
    """Tests of positions, extents and matrices."""

    builder: Builder
    catches: Catches

    def block(self, block: Block) -> Block:
        return tuple(s for stmt in block for s in (*self.before(stmt), _inside(self.block, stmt)))

    def before(self, stmt: Stmt) -> Block:
        if id(stmt) in self.builder.sure:
            return ()
        match stmt:
            case Effect(op="check_equal", args=(left, right, Const(value=str() as message))) if self.catches(ValueError):
                return self.raising(lambda: self.made("np.not_equal", left, right), "ValueError", message, stmt.loc)
            case Store() if self.catches(IndexError):
                return self.positions(stmt.target, stmt.index, stmt.loc)
            case Assign(op="getitem", args=(Var() as array, index)):
                positions = self.positions(array, index, stmt.loc) if self.catches(IndexError) else ()
                return (*positions, *(self.steps(index, stmt.loc) if self.catches(ValueError) else ()))
            case Assign(op=op, args=(Var() as array, *_)) if op in OF_SOME and self.catches(ValueError):
                return self.some(array, stmt)
            case Assign(op=op, args=(_, Var() as count)) if operation(op).symbol in ("<<", ">>") and self.catches(ValueError) and self.one(stmt.args[0]):
                return self.negative(count, "negative shift count", stmt.loc)
            case Assign(op="np.repeat", args=(_, Var() as count, *_)) if self.catches(ValueError):
                return self.negative(count, "negative dimensions are not allowed", stmt.loc)
            case Assign(op=op, args=(Var() as matrix, *_)) if op in _FAILS and self.catches(np.linalg.LinAlgError):
                test = _FAILS[op]
                return self.raising(lambda: self.made(test, matrix), "LinAlgError", _MESSAGES[test], stmt.loc)
            case Assign(op="np.reshape", args=(Var() as array, *shape)) if self.catches(ValueError) and self.builder.types[array.name].array:
                return self.sizes(array, (*shape, *(value for key, value in stmt.kwargs if key in ("shape", "newshape")))[0], stmt.loc)
            case Assign(op="np.convolve" | "np.correlate", args=(Var() as a, Var() as b, *_)) if self.catches(ValueError):
                empty = [lambda v=v: self.made("np.equal", self.extent(v, 0), Const(0)) for v in (a, b)]
                return tuple(s for test in empty for s in self.raising(test, "ValueError", "an array without items", stmt.loc))
            case Assign() if self.catches(ValueError) and operation(stmt.op).fused:
                return self.extents(stmt)
            case Assign(args=(Var() as a, Var() as b)) if self.catches(ValueError) and operation(stmt.op).kind == "product":
                ranks = [self.builder.types[v.name].rank for v in (a, b)]
                return self.pair((a, ranks[0] - 1), (b, max(ranks[1] - 2, 0)), stmt.loc, stretches=False) if all(ranks) else ()
        return ()

    def positions(self, array: Var, index: Operand, loc: Loc | None) -> Block:
        out: list[Stmt] = []
        for axis, entry in enumerate(entries_of(index)):
            message = f"index is out of bounds for axis {axis}"
            if _is_gather(entry, self.builder.types) and not _is_mask(entry, self.builder.types):
                out += self.outside(array, axis, entry, message, loc)
            if not _is_position(entry, self.builder.types):
                continue

            def above(axis: int = axis, entry: Operand = entry) -> Sym:
                return self.made("np.greater_equal", entry, self.extent(array, axis))

            def below(axis: int = axis, entry: Operand = entry) -> Sym:
                return self.made("np.less", entry, Var(self.made("np.negative", self.extent(array, axis), type_=INT).name))

            for outside in (above, below):
                constant = entry.value if isinstance(entry, Const) else None
                if constant is None or (constant >= 0) == (outside is above):
                    out += self.raising(outside, "IndexError", message, loc)
        return tuple(out)

    def outside(self, array: Var, axis: int, entry: Operand, message: str, loc: Loc | None) -> Block:
        """A test of an array of positions."""
        return self.raising(lambda: self.made("runtime.outside", entry, self.extent(array, axis)), "IndexError", message, loc)

    def one(self, operand: Operand) -> bool:
        return not isinstance(operand, Var) or not self.builder.types[operand.name].array

    def negative(self, count: Var, message: str, loc: Loc | None) -> Block:
        return self.raising(lambda: self.made("np.less", count, Const(0)), "ValueError", message, loc) if self.one(count) else ()

    def steps(self, index: Operand, loc: Loc | None) -> Block:
        """No slice has a step of 0."""
        steps = [entry.step for entry in entries_of(index) if isinstance(entry, Slice) and isinstance(entry.step, Var)]
        tests = [lambda step=step: self.made("np.equal", step, Const(0)) for step in steps]
        return tuple(s for test in tests for s in self.raising(test, "ValueError", "slice step cannot be zero", loc))

    def some(self, array: Var, stmt: Assign) -> Block:
        """A reduction that has no result without items; along an axis, none of the others needs any."""
        dims = self.builder.types[array.name].dims
        axis = dict(stmt.kwargs).get("axis", stmt.args[1] if len(stmt.args) > 1 else NONE)
        named = [e.value for e in entries_of(axis) if isinstance(e, Const) and isinstance(e.value, int)]
        empty = [k for k in ([a % len(dims) for a in named] if named else range(len(dims))) if dims[k].offset <= 0]
        tests = [lambda k=k: self.made("np.equal", self.extent(array, k), Const(0)) for k in empty]
        return tuple(s for test in tests for s in self.raising(test, "ValueError", "zero-size array to reduction operation", stmt.loc))

    def extents(self, stmt: Assign) -> Block:
        """Extents that differ, and of which none is 1, do not broadcast."""
        arrays = [a for a in stmt.args if isinstance(a, Var) and self.builder.types[a.name].rank]
        out: list[Stmt] = []
        for other in arrays[1:]:
            ranks = [self.builder.types[a.name].rank for a in (arrays[0], other)]
            for back in range(1, min(ranks) + 1):
                out += self.pair((arrays[0], ranks[0] - back), (other, ranks[1] - back), stmt.loc)
        return tuple(out)

    def sizes(self, array: Var, shape: Operand, loc: Loc | None) -> Block:
        """A shape holds as many items as the array; with an extent of -1, the number of the others divides theirs."""
        known = shape.value if isinstance(shape, Const) else None
        entries: Sequence[Operand] = shape.items if isinstance(shape, Pack) else tuple(map(Const, known)) if isinstance(known, tuple) else (shape,)
        asked = [e for e in entries if not (isinstance(e, Const) and e.value == -1)]
        dims = self.builder.types[array.name].dims

        def product(factors: Sequence[Operand]) -> Operand:
            found: Operand = Const(1)
            for factor in factors:
                found = factor if found == Const(1) else Var(self.made("np.multiply", found, factor, type_=INT).name)
            return found

        def differ() -> Sym:
            held, wanted = product([self.extent(array, axis) for axis in range(len(dims))]), product(asked)
            if len(asked) == len(entries):
                return self.made("np.not_equal", held, wanted)
            return self.made("np.not_equal", self.made("np.remainder", held, wanted, type_=INT).operand, Const(0))

        fits = len(entries) == 1 and (not asked or len(dims) == 1 and isinstance(asked[0], Const) and dims[0] == Dim(None, asked[0].value))
        return () if fits else self.raising(differ, "ValueError", "cannot reshape an array into a shape of another size", loc)

    def pair(self, a: tuple[Var, int], b: tuple[Var, int], loc: Loc | None, *, stretches: bool = True) -> Block:
        dims = [self.builder.types[v.name].dims[axis] for v, axis in (a, b)]
        if dims[0] == dims[1] or stretches and any(d == Dim(None, 1) for d in dims):
            return ()
        with self.builder.block() as out:
            left, right = (self.extent(v, axis) for v, axis in (a, b))
            error: Block = (Effect("raise", (Const("ValueError"), Const("operands could not be broadcast together")), (), loc),)
            for side in (left, right) if stretches else ():
                with self.builder.block() as inner:
                    wide = self.made("np.not_equal", side, Const(1))
                error = (*inner, If(Var(wide.name), error, (), loc))
            differ = self.made("np.not_equal", left, right)
        return (*out, If(Var(differ.name), error, (), loc))

    def raising(self, condition: Callable[[], Sym], kind: str, message: str, loc: Loc | None) -> Block:
        with self.builder.block() as out:
            holds = condition()
        return (*out, If(Var(holds.name), (Effect("raise", (Const(kind), Const(message)), (), loc),), (), loc))

    def extent(self, array: Var, axis: int) -> Operand:
        dim = self.builder.types[array.name].dims[axis]
        return Const(dim.offset) if dim.symbol is None else Var(self.made("shape", array, Const(axis), type_=replace(INT, value=dim)).name)

    def made(self, op: str, *args: Operand, type_: Type = BOOL) -> Sym:
        target = self.builder.variable("_t", type_)
        self.builder.assign(target, op, *args)
        return target


def _is_position(entry: Operand, types: dict[str, Type]) -> bool:
    """Whether an entry of an index is one integer."""
    if isinstance(entry, Const):
        return type(entry.value) is int
    return isinstance(entry, Var) and not types[entry.name].rank and types[entry.name].dtype != "bool"


def _inside(change: Callable[[Block], Block], stmt: Stmt) -> Stmt:
    """A statement with its blocks changed; what a `custom_gradient` holds stays."""
    match stmt:
        case If():
            return replace(stmt, then=change(stmt.then), orelse=change(stmt.orelse))
        case For():
            return replace(stmt, body=change(stmt.body))
        case While():
            return replace(stmt, head=change(stmt.head), body=change(stmt.body))
    return stmt


# --------------------------------------------------------------------------- what no test is known of

_OF_ANY_EXTENTS = frozenset(("np.convolve", "np.correlate", "np.outer", "np.kron"))
_SAFE = frozenset(
    f"math.{name}"
    for name in "atan atan2 fabs copysign erf erfc hypot degrees radians tanh asinh cbrt isnan isinf isfinite modf frexp nextafter".split()
)


def untested(block: Sequence[Stmt], builder: Builder, catches: Catches) -> Iterator[tuple[Stmt, str, type[BaseException]]]:
    """Operations that may raise what is caught under conditions that `tested` does not know."""
    types = builder.types
    for stmt in walk(tuple(block)):
        if id(stmt) in builder.sure:
            continue
        if isinstance(stmt, Store) and catches(IndexError) and any(_is_mask(e, types) for e in entries_of(stmt.index)):
            yield stmt, "a subscript", IndexError
        if isinstance(stmt, Custom) and raises_within(stmt, catches):
            yield stmt, "a function with its own derivative", Exception
        if not isinstance(stmt, Assign):
            continue
        op, what = stmt.op, f"`{stmt.op}`"
        if op in UNITS and (kind := _raised_by(UNITS[op], catches)) is not None:
            yield stmt, f"`{UNITS[op].name}`, which is a function beside the program,", kind
        if op.startswith("math.") and op not in RAISES and op not in _SAFE and op != "math.pow" and operation(op).kind != "whole":
            yield from ((stmt, what, kind) for kind in (ValueError, OverflowError) if catches(kind))
        if "linalg." in op and op not in _FAILS and op not in ("np.linalg.norm", "np.linalg.det", "np.linalg.slogdet") and catches(np.linalg.LinAlgError):
            yield stmt, what, np.linalg.LinAlgError
        if op == "getitem" and catches(IndexError) and any(_is_mask(e, types) for e in entries_of(stmt.args[1])):
            yield stmt, "a subscript", IndexError
        if catches(ValueError) and not (_agrees(stmt, types) and _sure(stmt, types)):
            yield stmt, what, ValueError
        for kind in (IndexError, ZeroDivisionError):
            if catches(kind) and not _sure(stmt, types):
                yield stmt, what, kind


def _sure(stmt: Assign, types: dict[str, Type]) -> bool:
    """Whether an operation raises nothing for its numbers, or under conditions that are tested."""
    op, kind = stmt.op, operation(stmt.op).kind
    operands = [*stmt.args, *(value for _, value in stmt.kwargs)]
    if op in COUNTED:
        counts = [types[name] for operand in operands for name in operand_vars(operand)]
        return all(t.is_float and all(d.symbol is None for d in t.dims) for t in counts)
    if op == "np.arange":
        step = operands[2] if len(operands) > 2 else Const(1)
        return isinstance(step, Const) and step.value != 0
    if kind == "call":
        return op.startswith("runtime.") and not op.startswith("runtime.call_")
    return kind not in ("rule", "unknown") or op in SURE or op in OF_SOME or op in _FAILS or op in UNITS or op.startswith("math.")


def _raised_by(unit: Unit, catches: Catches) -> type[BaseException] | None:
    """What a function beside the program may raise that is caught."""
    if unit.reading is None:  # it is being read, and calls itself
        return Exception if catches(Exception) else None
    fn = unit.reading.function
    builder = continuing(fn)
    raised = [s for s in walk(tested(fn.body, builder, catches)) if isinstance(s, Effect) and s.op == "raise"]
    named = [getattr(__import__("builtins"), _key(s)[0], Exception) for s in raised]
    inner = [UNITS[s.op] for s in walk(fn.body) if isinstance(s, Assign) and s.op in UNITS and s.op != unit.op]
    return next((k for k in (*named, *(_raised_by(u, catches) for u in inner)) if k is not None and (k is Exception or catches(k))), None)


def raises_within(stmt: Custom, catches: Catches) -> bool:
    return any(isinstance(s, Effect) and s.op == "raise" for s in walk(stmt.body))


def _is_gather(entry: Operand, types: dict[str, Type]) -> bool:
    return isinstance(entry, Var) and types[entry.name].rank > 0


def _is_mask(entry: Operand, types: dict[str, Type]) -> bool:
    return isinstance(entry, Var) and types[entry.name].rank > 0 and types[entry.name].dtype == "bool"


def _agrees(stmt: Assign, types: dict[str, Type]) -> bool:
    """Whether the extents of its operands cannot be wrong, or are tested."""
    known = operation(stmt.op)
    if known.kind == "move" and isinstance(joined := stmt.args[0], Pack):  # along an axis that need not be equal, or a new one
        axis = dict(stmt.kwargs).get("axis", stmt.args[1] if len(stmt.args) > 1 else Const(0))
        shapes = [list(types[a.name].dims) for a in joined.items if isinstance(a, Var) and types[a.name].array]
        if axis == NONE:  # all of them flat
            return True
        for shape in shapes if stmt.op == "np.concatenate" and isinstance(axis, Const) else ():
            del shape[axis.value]
        return all(shape == shapes[0] for shape in shapes)
    dims = {types[a.name].dims for a in stmt.args if isinstance(a, Var) and types[a.name].array}
    return len(dims) <= 1 or known.fused or stmt.op in ("getitem", "shape", *_OF_ANY_EXTENTS) or known.kind == "product"


# --------------------------------------------------------------------------- jumps


@dataclass
class Escapes:
    """Rewrites a block. `chosen` gives the number of the handler of an exception, None where none catches it."""

    builder: Builder
    failed: Var
    which: Var
    chosen: Callable[[type[BaseException]], int | None]
    caught: dict[int, dict[tuple[str, str], Exception]] = field(default_factory=dict)

    def block(self, block: Block) -> tuple[Block, bool, bool]:
        """The block without the caught `raise`s; whether one may come up in it, and whether nothing comes to its end without one."""
        out: list[Stmt] = []
        for at, stmt in enumerate(block):
            new, may, always = self.statement(stmt)
            out += new
            if always:
                return tuple(out), True, True
            if may:
                rest, _, _ = self.block(block[at + 1 :])
                return (*out[:-1], *self.followed(out[-1], rest)), True, False
        return tuple(out), False, False

    def followed(self, stmt: Stmt, rest: Block) -> Block:
        """A statement that may fail, and what runs behind it if it did not."""
        if not rest:
            return (stmt,)
        if isinstance(stmt, If):
            for side, other in (("then", "orelse"), ("orelse", "then")):
                ends, goes_on = getattr(stmt, side), getattr(stmt, other)
                if ends and ends[-1] == self._raised(True) and not any(s == self._raised(True) for s in walk(goes_on)):
                    return (replace(stmt, **{other: (*goes_on, *rest)}),)
        return stmt, If(self.failed, (), rest)

    def statement(self, stmt: Stmt) -> tuple[Block, bool, bool]:
        match stmt:
            case Effect(op="raise"):
                return self.escape(stmt)
            case If():
                (then, a, all_then), (orelse, b, all_else) = self.block(stmt.then), self.block(stmt.orelse)
                return (replace(stmt, then=then, orelse=orelse),), a or b, all_then and all_else
            case For():
                body, may, _ = self.block(stmt.body)
                return (replace(stmt, body=(If(self.failed, (), body),) if may else body),), may, False
            case While():
                return self.while_loop(stmt)
        return (stmt,), False, False

    def escape(self, stmt: Effect) -> tuple[Block, bool, bool]:
        exception = exception_of(stmt, self.builder)
        at = self.chosen(type(exception))
        if at is None:
            return (stmt,), False, False
        self.caught.setdefault(at, {})[_key(stmt)] = exception
        return (Assign((self.which,), "alias", (Const(at),), (), stmt.loc), self._raised(True)), True, True

    def _raised(self, value: bool) -> Assign:
        return Assign((self.failed,), "alias", (Const(value),))

    def while_loop(self, stmt: While) -> tuple[Block, bool, bool]:
        """The condition of a loop is false once something has failed."""
        body, in_body, _ = self.block(stmt.body)
        goes_on = Var(self.builder.variable("_t", BOOL).name)
        head, in_head, _ = self.block((*stmt.head, Assign((goes_on,), "alias", (stmt.cond,))))
        if not in_body and not in_head:
            return (stmt,), False, False
        first = Assign((goes_on,), "alias", (Const(False),))
        return (replace(stmt, head=(first, If(self.failed, (), head)), cond=goes_on, body=body),), True, False


def refused(frame_loc: Loc | None, found: tuple[Stmt, str, type[BaseException]]) -> errors.StgradError:
    """The error for what is caught, and cannot be tested."""
    stmt, what, kind = found
    return errors.UnsupportedSyntaxError(
        f"{what} may raise the {kind.__name__} that this `try` catches",
        stmt.loc or frame_loc,
        reason="under which condition it does is not known to the compiler",
        hint="test for the condition with `if`, before it fails",
    )


__all__: list[Any] = ["TESTS", "Escapes", "class_of", "raises", "refused", "tested", "untested"]
