"""What an operation is: `operation(name)` says all that the compiler knows of it.

An operation is a name in `ir.Assign.op`. A row of the table tells what passes may rely on: what it reads of its arguments, whether its
result shares memory with one, in what it is linear, what it costs, how it is written. Operations that no row mentions are known by their
derivative rule (`stgrad.rules`) alone; what has neither is not `known`, and nothing is assumed of it.

    operation("np.zeros_like").extents     (0,)            it asks its argument for its extents alone
    operation("np.subtract").signs         (1, -1)
    operation("np.exp").vector             'runtime.exp'

A fact is added here, to the rows of the operations that have it, and passes ask for the fact; no pass lists names. The models are the
effects and aliases of functions in Pythran's `intrinsic.py`, and the traits of operations in MLIR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from stgrad.rules import TABLE as RULES
from stgrad.rules import lookup

SCALAR = frozenset({"arithmetic", "comparison", "logical", "predicate", "function", "cast", "identity", "choice"})

FIRST = (frozenset({0}),)  # linear in the first argument


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: as it stands in `ir.Assign.op`.
        kind: 'arithmetic', 'comparison', 'logical', 'predicate', 'function' and 'choice' (element by element); 'identity' (the argument itself),
            'cast', 'copy', 'part' (of a complex number), 'whole' (an integer near a float), 'count'; 'element' (`x[i]`), 'extent', 'move' (elements
            elsewhere), 'creation', 'like' (a new array with the extents of another), 'reduction', 'product', 'solver', 'stack', 'call' (of ours);
            'rule' for what its derivative rule alone tells, 'unknown'.
        arity: how many positional operands it takes; None: not said.
        differentiable: whether a derivative may pass from an operand to the result.
        extents: positions of arguments of which it reads the extents, and no contents.
        views: the argument whose memory the result may share.
        sharing: 'always' where the result has no memory of its own; 'maybe' where that depends on the layout; 'moves' where it may be the argument
            itself, which nothing reads behind it; '' for new memory.
        readonly: 'always' where NumPy gives an array that cannot be written to, 'smaller' where it does so if the result has fewer axes than the argument.
        copied: whether Numba copies where NumPy gives a view.
        made: how the result lies in memory: 'rows' (C order), 'follows' (C order if its arguments are so), 'reshaped' and 'rowwise' (the same numbers,
            row by row, under other extents), '' (any).
        shape: the argument that is the shape of the result.
        like: whether the result has the extents of the first argument.
        fill: the number that fills the result (0 where any will do); `filled`: the argument that does.
        signs: the result is the sum of the arguments with these signs.
        linear: sets of arguments in which it is linear, each set jointly, with the others fixed.
        cost: work for one element, in additions; None: it is not a matter of one element, and is never repeated.
        total: never raises, whatever numbers it gets.
        fused: whether loop nests compute it element by element.
        unrolled: whether arrays of a few elements are computed element by element, without a loop.
        own: whether operands keep their own dtypes there.
        real: whether compiled code has it for real numbers alone.
        vector: the operation that processors run for several elements at once: itself, or one of `stgrad.runtime`.
        precise: the same from the C library.
        tuned: the same from `stgrad.runtime`, for one real matrix, or for real vectors.
        reorders: whether the result is the argument with its axes in another order.
        triangle: of a matrix: 'lower' or 'upper' where the result has nothing but zeros on the other side of the diagonal, 'kept' where that is as in the
            argument, 'turned' where it is the other way round.
        unitary: which of several results are unitary matrices, 'kept' where the one result is one if the argument is.
        inverts: whether the first argument is a matrix that is inverted, for itself or as that of a system of equations.
        zeros: of an operation that moves elements: 'always' where zeros may stand beside them, 'larger' where they do if the result has more axes than the
            argument.
        room: the argument that counts items, if the result has a place behind so many: it is the first argument, or a larger array with its items.
        combine: for a reduction, how a value joins the result: a mode of loop nests; `joined`: the operation on two values, in which the order of all does
            not matter to derivatives either.
        symbol: how Python writes it between (or before) its operands; '' where it is called.
        call: the name that text calls it by.
        python: the same on Python's own values.
        draws: whether it changes the state of a generator of random numbers, so that a second run gives others.
        takes: whether it takes an item off the stack that it is given: it runs where it stands, and once.
        few: the same on the elements of a few rows, which are numbers (see `stgrad.runtime.few`).
        exponent: the argument that is an exponent, of which a known one is written out as products.
        picks: whether it leaves out elements of an operand by their values, or by a mask, so that nothing depends on these.
        omits: whether it leaves out elements of its first operand by their places.
        poles: whether numbers of common size have an infinite partial, or none: a zero divisor, the logarithm of zero.
        overflows: whether numbers of common size give infinity: exponentials.
        truths: the operation that is the same of truth values.
        opposite: for a comparison, what holds where it does not (but for NaN); `swapped`: the same with the operands exchanged.
        integers: 'grows' where the result of two integers may be larger than both, 'unbounded' where it outgrows any word.
        natural: 'always' where the result is never negative, 'kept' where it is not if no argument is; `positive`: the same for more than 0.
    """

    name: str
    kind: str = "rule"
    arity: int | None = None
    differentiable: bool = True
    extents: tuple[int, ...] = ()
    views: int | None = None
    sharing: str = ""
    readonly: str = ""
    copied: bool = False
    made: str = ""
    shape: int | None = None
    like: bool = False
    fill: float | None = None
    filled: int | None = None
    signs: tuple[int, ...] = ()
    linear: tuple[frozenset[int], ...] = ()
    cost: int | None = None
    total: bool = False
    fused: bool = False
    unrolled: bool = False
    own: bool = False
    real: bool = False
    vector: str = ""
    precise: str = ""
    tuned: str = ""
    reorders: bool = False
    triangle: str = ""
    unitary: tuple[int, ...] | str = ()
    inverts: bool = False
    zeros: str = ""
    room: int | None = None
    combine: str = ""
    joined: str = ""
    picks: bool = False
    omits: bool = False
    poles: bool = False
    overflows: bool = False
    symbol: str = ""
    call: str = ""
    python: Callable[..., Any] | None = None
    truths: str = ""
    opposite: str = ""
    swapped: str = ""
    integers: str = ""
    natural: str = ""
    positive: str = ""
    draws: bool = False
    takes: bool = False
    exponent: int | None = None
    few: str = ""

    @property
    def known(self) -> bool:
        """Whether a row or a rule tells anything."""
        return self.kind != "unknown"

    @property
    def scalar(self) -> bool:
        """Whether it makes a number of numbers, and does nothing else."""
        return self.kind in SCALAR

    @property
    def computes(self) -> bool:
        """Whether it does nothing but make a value, so that nobody misses it where that is not read. What may tell of an unsuitable matrix does more."""
        return not self.takes and not self.draws and self.kind not in ("call", "stack", "solver", "rule", "unknown")

    @property
    def contents(self) -> bool:
        """Whether it reads the contents of some argument; `shape` and `np.zeros_like` do not."""
        return self.filled is not None or 0 not in self.extents


TABLE: dict[str, Operation] = {}


def define(names: str, kind: str, **facts: Any) -> None:
    """Rows of one kind with the same facts. `vector=True`: the operation itself. What its rule says is taken from there."""
    for name in names.split():
        assert name not in TABLE, name
        rule = RULES.get(name)
        said = {} if rule is None else {"differentiable": rule.kind != "nondiff", "views": rule.views}
        own = {"vector": name} if facts.get("vector") is True else {}
        row = {**said, **facts, **own}
        TABLE[name] = Operation(name, kind, **{"sharing": "" if row.get("views") is None else "maybe", **row})


def operation(name: str) -> Operation:
    """What is known of an operation.

    >>> operation("np.less").opposite, operation("shape").contents, operation("np.linalg.qr").kind, operation("np.nothing").known
    ('np.greater_equal', False, 'rule', False)
    """
    known = TABLE.get(name)
    if known is not None:
        return known
    rule = lookup(name)
    return _by_rule(name, "unknown", True, None) if rule is None else _by_rule(name, "rule", rule.kind != "nondiff", rule.views)


@cache
def _by_rule(name: str, kind: str, differentiable: bool, views: int | None) -> Operation:
    return Operation(name, kind, differentiable=differentiable, views=views, sharing="" if views is None else "maybe")


__all__ = ["FIRST", "SCALAR", "TABLE", "Operation", "define", "operation"]
