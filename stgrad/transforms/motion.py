"""Array operations, and costly ones of numbers, that every trip of a loop repeats are done once, before it.

    for t in range(n):                        runs = 0 < n
        z = U @ x                             if runs: z = U @ x
        h = np.tanh(W @ h + z)      ->        else: z = np.zeros(U.shape[0])
                                              for t in range(n):
                                                  h = np.tanh(W @ h + z)

What moves is an anchor: a product, a solution, a reduction, a function or quotient of numbers such as `math.lgamma(nu)` or `w[j] / z`; or what an
anchor is computed from. It stands in every trip (in no branch), is bound once, reads nothing that the loop binds or writes to, and no store anywhere
reaches its memory, since all trips share it then. An elementwise operation moves for an anchor alone: by itself it fuses with the loop, and costs less
than memory. A loop that may have no trip gets a test: what moves runs if the loop does, so that it raises what the loop would raise, and a derivative
of it is asked for only where the loop has one. Nothing that may raise, and no element, moves in front of what raises by itself.

It runs before differentiation, so that the adjoint of `z` is summed up in the loop, and the product has its adjoint once, behind it; and as a pass, for
functions that are not differentiated and for what derivatives add. `lower.invariants` does the same for numbers, once elements have positions.

    >>> from stgrad.ir.text import dump, parse
    >>> print(dump(move_invariants(parse('''
    ... def f(a: float64['n'], x: float64['n'], k: int):
    ...     s: float = 0.0
    ...     i: int
    ...     for i in range(0, k, 1):
    ...         t: float64 = np.sum(a)
    ...         s = s + t
    ...     return s
    ... '''))))
    def f(a: float64['n'], x: float64['n'], k: int):
        s: float = 0.0
        runs: bool = 0 < k
        if runs:
            t: float64 = np.sum(a)
        else:
            t = np.float64(0.0)
        i: int
        for i in range(0, k, 1):
            s = s + t
        return s
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad.analysis.alias import sharing
from stgrad.analysis.definitions import definitions
from stgrad.analysis.statements import never_fails, still
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    Dim,
    Effect,
    For,
    Function,
    If,
    Operand,
    Pack,
    Stmt,
    Type,
    Var,
    assigned,
    assigns,
    map_blocks,
    read,
    reads,
    runs_once,
    stored,
    walk,
)
from stgrad.ir.ops import operation
from stgrad.names import Names
from stgrad.transforms.makers import work

ANCHORS = frozenset({"product", "solver", "reduction"})
WORTH = 8  # additions: the work of numbers that has a place of its own before a loop
PURE = ANCHORS | frozenset({"arithmetic", "comparison", "logical", "predicate", "function", "cast", "identity", "choice", "move", "extent", "whole", "part"})


def bindings(block: Block) -> Counter[str]:
    """How often a block binds each name."""
    return Counter(n for s in walk(block) for n in assigns(s))


def move_invariants(fn: Function, *, elements: bool = False) -> Function:
    """The program with the invariant operations of its loops before them; `elements`: functions and quotients of elements of arrays, too.

    Those move before differentiation alone, so that what they give is kept once, not in each trip: later `lower.invariants` moves them without a test.
    """
    if not any(isinstance(s, For) for s in walk(fn.body)):
        return fn
    state = _Motion(fn, elements)
    body = state.block(fn.body)
    return replace(fn, body=body, types=state.types) if state.moved else fn


def move_integers(fn: Function) -> Function:
    """The program with sums and products of integers that every trip of a loop repeats before it: `x[j * (j - 1) // 2 + i]` in a loop over i.

    It comes first, so that a position is a sum of counters and of what is there before the loop, and is tested there.

    >>> from stgrad.ir.text import dump, parse
    >>> print(dump(move_integers(parse('''
    ... def f(x: float64['n'], j: int):
    ...     s: float = 0.0
    ...     i: int
    ...     for i in range(0, j, 1):
    ...         k: int = j * 2
    ...         at: int = k + i
    ...         v: float64 = x[at]
    ...         s = s + v
    ...     return s
    ... '''))))
    def f(x: float64['n'], j: int):
        s: float = 0.0
        k: int = j * 2
        i: int
        for i in range(0, j, 1):
            at: int = k + i
            v: float64 = x[at]
            s = s + v
        return s
    """
    if not any(isinstance(s, For) for s in walk(fn.body)):
        return fn
    once = definitions(fn).once

    def block(statements: Block) -> Block:
        return tuple(s for stmt in statements for s in _without_integers(map_blocks(block, stmt), once, fn.types))

    body = block(fn.body)
    return fn.with_body(body) if body != fn.body else fn


def _without_integers(stmt: Stmt, once: Collection[str], types: Mapping[str, Type]) -> Block:
    """A loop behind what it repeats."""
    if not isinstance(stmt, For):
        return (stmt,)
    moving = assigned((stmt,))
    ahead: list[Stmt] = []
    for s in stmt.body:
        if isinstance(s, Assign) and _whole(s, types) and s.target.name in once and still(s, moving):
            ahead.append(s)
            moving.discard(s.target.name)
    return (*ahead, replace(stmt, body=tuple(s for s in stmt.body if not any(s is a for a in ahead)))) if ahead else (stmt,)


def _whole(stmt: Assign, types: Mapping[str, Type]) -> bool:
    """Whether a statement makes an integer of Python's from such, and cannot fail."""
    names = (*assigns(stmt), *reads(stmt))
    return never_fails(stmt, types) and all(types[n].dtype == "int64" and types[n].weak for n in names)


@dataclass
class _Motion:
    fn: Function
    elements: bool = False
    types: dict[str, Type] = field(init=False)
    moved: bool = False

    def __post_init__(self) -> None:
        fn = self.fn
        self.types = dict(fn.types)
        self.names = Names([*fn.types, *(p.name for p in fn.params)])
        self.classes = sharing(fn)
        self.counts = Counter(definitions(fn).counts)
        self.written = {self.classes.find(n) for n in stored(fn.body)}

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            stmt = map_blocks(self.block, stmt)
            if isinstance(stmt, For) and self.open(stmt):
                result += self.split(stmt)
            else:
                result.append(stmt)
        return tuple(result)

    def open(self, loop: For) -> bool:
        """Whether statements may leave a loop: not what runs again in the reverse sweep, to keep less, and nothing with a rule of its own."""
        if runs_once(loop) or loop.snapshots is not None or not isinstance(loop.step, Const):
            return False
        return not any(isinstance(s, Custom) or isinstance(s, Effect) and s.op == "print" for s in walk(loop.body))

    def split(self, loop: For) -> list[Stmt]:
        """What stands before a loop, and the loop."""
        ahead = self.chosen(loop)
        if not ahead:
            return [loop]
        body = tuple(s for s in loop.body if not any(s is a for a in ahead))
        if surely_runs(loop):
            self.moved = True
            return [*ahead, replace(loop, body=body)]
        tested: list[Stmt] = []
        for stmt in ahead:
            if not self.untested(stmt) or assigned(tuple(tested)).intersection(reads(stmt)):
                tested.append(stmt)
        otherwise = self.otherwise(tested, read(body))
        if otherwise is None:
            return [loop]
        self.moved = True
        runs = Var(self.names.fresh("runs"))
        self.types[runs.name] = Type("bool", weak=True)
        forward = isinstance(loop.step, Const) and loop.step.value > 0
        self.counts += bindings(tuple(otherwise)) + Counter((runs.name,))
        test = Assign((runs,), "np.less" if forward else "np.greater", (loop.start, loop.stop), (), loop.loc)
        certain = [s for s in ahead if not any(s is t for t in tested)]
        return [*certain, test, If(runs, tuple(tested), tuple(otherwise), loop.loc), replace(loop, body=body)]

    def untested(self, stmt: Stmt) -> bool:
        """Whether a statement may run where the loop does not: extents, integers and truths. The bounds of inner loops among them are bound once, so."""
        if not isinstance(stmt, Assign) or any(self.types[n].array or self.types[n].dtype not in ("int64", "bool") for n in assigns(stmt)):
            return False
        return stmt.op == "shape" or never_fails(stmt, self.types)

    # ------------------------------------------------------------- what may move

    def chosen(self, loop: For) -> list[Stmt]:
        """The anchors of a loop that may move, with what they are computed from, in order."""
        moving = assigned((loop,))
        written = {self.classes.find(n) for n in stored(loop.body)}
        free: list[Stmt] = []
        raised = False
        for stmt in loop.body:
            if self.free(stmt, moving, written) and not (raised and self.may_raise(stmt)):
                free.append(stmt)
                moving -= assigned((stmt,))
            raised |= any(isinstance(s, Effect) and s.op == "raise" for s in walk((stmt,)))
        return self.wanted(free)

    def may_raise(self, stmt: Stmt) -> bool:
        """Whether a statement may raise, or read outside of an array, where a test in front of it has ended the program."""
        for s in walk((stmt,)):
            if isinstance(s, Assign) and operation(s.op).kind in ("element", "solver"):
                return True
            if isinstance(s, Assign) and any(self.types[n].weak and not self.types[n].array for n in assigns(s)) and not never_fails(s, self.types):
                return True
        return False

    def free(self, stmt: Stmt, moving: set[str], written: Set[str]) -> bool:
        """Whether a statement may move: an operation, a test of extents, or a branch of these, such as this pass makes of an inner loop."""
        if isinstance(stmt, If):
            own = bindings((stmt,))
            alone = all(self.counts[n] == count for n, count in own.items())
            inner = moving - own.keys()
            return alone and not inner.intersection(reads(stmt)) and all(self.free_inside(s, inner, written) for b in (stmt.then, stmt.orelse) for s in b)
        return self.free_inside(stmt, moving, written) and all(self.counts[n] == 1 for n in assigns(stmt))

    def free_inside(self, stmt: Stmt, moving: set[str], written: Set[str]) -> bool:
        if isinstance(stmt, Effect):
            return stmt.op == "check_equal" and not moving.intersection(reads(stmt))
        return isinstance(stmt, Assign) and still(stmt, moving) and self.legal(stmt, written)

    def wanted(self, free: list[Stmt]) -> list[Stmt]:
        """Anchors among statements, what they read, and the tests of extents that theirs must pass."""
        names: set[str] = set()
        symbols: set[str | None] = set()
        found: list[Stmt] = []
        for stmt in reversed(free):
            if any(isinstance(s, Assign) and self.anchor(s) for s in walk((stmt,))) or names & assigned((stmt,)):
                arrays = [n for s in walk((stmt,)) if not (isinstance(s, Assign) and s.op == "shape") for n in reads(s) if n in self.types]
                symbols |= {d.symbol for n in arrays for d in self.types[n].dims}
            elif not (isinstance(stmt, Effect) and self.compares(stmt, symbols)):
                continue
            names |= read((stmt,))
            found.insert(0, stmt)
        return found

    def compares(self, check: Effect, symbols: Set[str | None]) -> bool:
        """Whether a test is of extents of some arrays."""
        values = [self.types[n].value for n in reads(check)]
        return bool(values) and all(v is not None and v.symbol in symbols for v in values)

    def legal(self, stmt: Assign, written: Set[str]) -> bool:
        """Whether a statement is pure, reads no array that the loop writes to, and gives one that nobody writes to."""
        element = self.elements and operation(stmt.op).kind == "element" and len(stmt.targets) == 1 and not self.types[stmt.target.name].array
        if len(stmt.targets) != 1 or not element and operation(stmt.op).kind not in PURE or "out" in dict(stmt.kwargs):
            return False
        arrays = [n for n in reads(stmt) if n in self.types and self.types[n].array]
        own = self.types[stmt.target.name].array and self.classes.find(stmt.target.name) in self.written
        return not own and not any(self.classes.find(n) in written for n in arrays)

    def anchor(self, stmt: Assign) -> bool:
        """Whether an operation goes over a whole array, or is a costly function of a number, and is worth a place of its own."""
        known, read = operation(stmt.op), [self.types[n] for n in reads(stmt) if n in self.types]
        if known.kind in ANCHORS:
            return any(t.rank for t in read)
        return bool(read) and not any(t.array for t in read) and known.kind in ("function", "arithmetic") and work(stmt) >= WORTH

    # ------------------------------------------------------------- no trip at all

    def otherwise(self, tested: list[Stmt], outside: Set[str]) -> list[Stmt] | None:
        """What the loop reads where it does not run: zeros of the same extents. None where these are not at hand."""
        made = assigned(tuple(tested))
        given = sorted(n for n in read(tuple(tested)) - made if n in self.types)
        result: list[Stmt] = []
        for target in (Var(n) for stmt in tested for n in dict.fromkeys(n for s in walk((stmt,)) for n in assigns(s)) if n in outside):
            known = self.types[target.name]
            if known.value is not None:  # an extent is what its type says
                return None
            dtype = np.dtype(known.dtype)
            if not known.array:
                zero = dtype.type(0)
                result.append(Assign((target,), "alias", (Const(zero.item() if known.weak else zero),)))
                continue
            shape = [self.extent(dim, given, result) for dim in known.dims]
            if None in shape:
                return None
            result.append(Assign((target,), "np.zeros", (Pack(tuple(e for e in shape if e is not None)),), (("dtype", Const(dtype)),)))
        return result

    def extent(self, dim: Dim, given: list[str], result: list[Stmt]) -> Operand | None:
        """An extent by a constant, or by an array that has it."""
        if dim.symbol is None:
            return Const(dim.offset)
        for name in given:
            for axis, other in enumerate(self.types[name].dims if name in self.types else ()):
                if other == dim:
                    length = Var(self.names.fresh("_t"))
                    self.types[length.name] = Type("int64", weak=True, value=dim)
                    result.append(Assign((length,), "shape", (Var(name), Const(axis))))
                    return length
        return None


def surely_runs(loop: For) -> bool:
    """Whether a loop has a trip for certain."""
    bounds = [b.value for b in (loop.start, loop.stop, loop.step) if isinstance(b, Const)]
    return len(bounds) == 3 and len(range(*bounds)) > 0


__all__ = ["bindings", "move_integers", "move_invariants", "surely_runs"]
