"""Loops that add to the same elements again and again do four trips at once.

    for c in range(n):                     for c in range(0, n - 3, 4):
        for o in range(m):                     for o in range(m):
            y[o] += x[c] * w[c, o]     ->          t = y[o] + x[c] * w[c, o]
                                                   ...
                                                   y[o] = t + x[c + 3] * w[c + 3, o]
                                           for c in range(n - n % 4, n): ...

Each element is read and written once for four products; a loop would otherwise wait for what the loop before it wrote. The order of the
additions to an element is the old one: results are the same to the last bit. (Unroll and jam: Allen & Kennedy, Optimizing
Compilers for Modern Architectures, 2001, §8.4.)

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def combine(w, x):
    ...     y = np.ones(w.shape[1])
    ...     for c in range(w.shape[0]):
    ...         for o in range(w.shape[1]):
    ...             y[o] += x[c] * w[c, o]
    ...     return y
    >>> show_pass("jam", stgrad.jit(combine), np.ones((5, 2)), np.ones(5))
    n_2 = w.shape[1]
    if w.shape[1] > 0:
        if w.shape[0] > x.shape[0]:
            raise IndexError('index `c` is out of bounds for axis 0 of `x` (line 5: y[o] += x[c] * w[c, o])')
    y = np.empty(n_2)
    for i in range(n_2):
        y[i] = 1.0
    for c in range(w.shape[0]):
        for o in range(w.shape[1]):
            y[o] += x[c] * w[c, o]
    return y
    ->
    n_w = w.shape[0]
    n_2 = w.shape[1]
    if w.shape[1] > 0:
        if w.shape[0] > x.shape[0]:
            raise IndexError('index `c` is out of bounds for axis 0 of `x` (line 5: y[o] += x[c] * w[c, o])')
    y = np.empty(n_2)
    for i in range(n_2):
        y[i] = 1.0
    n1_w = w.shape[1]
    for c in range(0, n_w - 3, 4):
        t = c + 1
        t2 = c + 2
        t3 = c + 3
        for o in range(n1_w):
            y_part_2 = x[t] * w[t, o]
            y_part_3 = x[t2] * w[t2, o]
            t4 = y[o] + x[c] * w[c, o] + y_part_2 + y_part_3
            y[o] = t4 + x[t3] * w[t3, o]
    for c in range(n_w - n_w % 4, n_w):
        for o in range(n1_w):
            y[o] += x[c] * w[c, o]
    return y
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stgrad.analysis.alias import aliases
from stgrad.analysis.bounds import Bounds
from stgrad.analysis.definitions import definitions
from stgrad.analysis.liveness import Liveness, liveness
from stgrad.analysis.orders import Orders
from stgrad.ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    Operand,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    assigns,
    entries_of,
    exposed,
    map_blocks,
    operand_vars,
    reads,
    rename,
    walk,
)
from stgrad.names import Names

AT_ONCE = 4  # trips: more take more registers than there are
LONG = 12  # statements of a trip with which the memory does not count
INT, FLOAT = Type("int64", weak=True), Type("float64")


def jam(fn: Function) -> Function:
    """The program with four trips at once of the loops around loops that add to the same elements."""
    types = dict(fn.types)
    names = Names([*fn.types, *(p.name for p in fn.params)])
    bounds = Bounds(definitions(fn))
    state = _Jam(types, names, bounds, liveness(fn), Orders(types, aliases(fn), definitions(fn).once, bounds))
    return replace(fn, body=state.block(fn.body), types=state.types)


@dataclass
class _Jam:
    types: dict[str, Type]
    names: Names
    bounds: Bounds
    live: Liveness
    orders: Orders

    def block(self, statements: Block) -> Block:
        result: list[Stmt] = []
        for stmt in statements:
            extents, loop = lifted(stmt) if isinstance(stmt, For) else ([], None)
            if loop is not None and self.fits(loop, self.live.after[id(stmt)]):
                result += [*extents, *self.jammed(loop)]
            else:
                result.append(map_blocks(self.block, stmt))
        return tuple(result)

    # ---------------------------------------------------------------- legality

    def fits(self, loop: For, live: frozenset[str]) -> bool:
        """Whether all that a loop does is to run another one that adds a number to each of some elements, the same in all trips."""
        *_, inner = loop.body or (None,)
        if not isinstance(inner, For) or loop.parallel or (loop.start, loop.step) != (Const(0), Const(1)) or inner.step != Const(1):
            return False
        least = self.bounds.least(loop.stop)
        bound = assigned(loop.body)
        numbers = (*loop.body[:-1], *inner.body[:-1])
        names = [n for s in numbers for n in assigns(s)]
        if len(numbers) > LONG or len(names) > len({*names}):
            return False
        return (
            least is not None
            and least >= 0
            and isinstance(loop.stop, Var)
            and not live.intersection([*bound, loop.var.name])
            and not bound.intersection(exposed(loop.body))
            and all(isinstance(s, Assign) and self.orders.pure(s) for s in numbers)
            and not bound.intersection([*operand_vars(inner.start), *operand_vars(inner.stop)])
            and loop.var.name not in (*operand_vars(inner.start), *operand_vars(inner.stop))
            and self.adds(inner, {loop.var.name, *bound} - {inner.var.name}, numbers)
        )

    def adds(self, inner: For, moving: set[str], numbers: Block) -> bool:
        """Whether a loop ends with an addition to an element of its own, of an array that nothing else reads. `moving`: with the loop around."""
        store = inner.body[-1] if inner.body else None
        if not isinstance(store, Store) or store.mode != "add" or not self.orders.pure(store) or not self.is_float(store.value):
            return False
        *fixed, last = entries_of(store.index)
        kind = self.orders.classes.find(store.target.name)
        read = {n for s in walk(numbers) if isinstance(s, Assign) and s.op != "shape" for a in s.args for n in operand_vars(a)}
        return (
            last == inner.var
            and inner.var not in fixed
            and not any(moving.intersection(operand_vars(i)) for i in fixed)
            and self.types[store.target.name].dtype == "float64"
            and not any(self.types[n].array and self.orders.classes.find(n) == kind for n in read)
        )

    def is_float(self, operand: Operand) -> bool:
        return isinstance(operand, Var) and self.types[operand.name].dtype == "float64" and not self.types[operand.name].array

    # --------------------------------------------------------------- rewriting

    def jammed(self, loop: For) -> list[Stmt]:
        inner = loop.body[-1]
        assert isinstance(inner, For)
        ahead: list[Stmt] = []
        body: list[Stmt] = []
        store = inner.body[-1]
        assert isinstance(store, Store)
        total = self.number(body, "getitem", (store.target, store.index), FLOAT)
        moving = follows((*loop.body[:-1], *inner.body[:-1]), loop.var.name)
        for trip in range(AT_ONCE):
            names = self.fresh(moving) if trip else {}
            if trip:
                names[loop.var.name] = self.number(ahead, "np.add", (loop.var, Const(trip)), INT).name
            for out, statements in ((ahead, loop.body[:-1]), (body, inner.body[:-1])):
                out += rename(tuple(s for s in statements if not trip or any(s is m for m in moving)), names)
            (addition,) = rename(inner.body[-1:], names)
            assert isinstance(addition, Store)
            total = self.number(body, "np.add", (total, addition.value), FLOAT)
        body.append(replace(store, value=total, mode="set"))
        before: list[Stmt] = []
        stop = self.number(before, "np.subtract", (loop.stop, Const(AT_ONCE - 1)), INT)
        over = self.number(before, "np.remainder", (loop.stop, Const(AT_ONCE)), INT)
        rest = self.number(before, "np.subtract", (loop.stop, over), INT)
        many = replace(loop, stop=stop, step=Const(AT_ONCE), body=(*ahead, replace(inner, body=tuple(body))))
        return [*before, many, replace(loop, start=rest)]

    def fresh(self, statements: Block) -> dict[str, str]:
        """Other names for what statements compute."""
        names: dict[str, str] = {}
        for name in sorted(assigned(statements)):
            names[name] = self.names.fresh(name)
            self.types[names[name]] = self.types[name]
        return names

    def number(self, out: list[Stmt], op: str, args: tuple[Operand, ...], kind: Type) -> Var:
        target = Var(self.names.fresh("_t"))
        self.types[target.name] = kind
        out.append(Assign((target,), op, args))
        return target


def follows(statements: Block, counter: str) -> Block:
    """The statements whose results depend on a counter."""
    moving, found = {counter}, []
    for stmt in statements:
        if moving.intersection(reads(stmt)):
            moving |= assigned((stmt,))
            found.append(stmt)
    return tuple(found)


def lifted(loop: For) -> tuple[list[Stmt], For]:
    """Extents that a loop reads of arrays which it does not bind, and the loop without."""
    bound = assigned(loop.body)
    extents: list[Stmt] = [s for s in loop.body if isinstance(s, Assign) and s.op == "shape" and not bound.intersection(reads(s))]
    return extents, replace(loop, body=tuple(s for s in loop.body if not any(s is e for e in extents)))
