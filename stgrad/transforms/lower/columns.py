"""Local matrices that the deepest loops walk down are kept turned: their columns are rows.

Only where every access to the matrix is one to an element, and those in the deepest loops go down its columns. A matrix that is returned is
turned back at the end, which costs one nest of two loops where at least three went down.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def relaxed(x, n):
    ...     u = x.copy()
    ...     for _ in range(n):
    ...         for j in range(1, u.shape[1]):
    ...             u[:, j] -= 0.5 * u[:, j - 1]
    ...     return np.sum(u)
    >>> show_pass("columns", stgrad.jit(relaxed), np.ones((2, 3)), 9)
    n_2 = x.shape[0]
    n_3 = x.shape[1]
    u = np.empty((n_2, n_3))
    for i in range(n_2):
        for j_2 in range(n_3):
            u[i, j_2] = x[i, j_2]
    for t in range(n):
        for j in range(1, u.shape[1]):
            u_part = j - 1
            t2 = j - 1
            for i in range(n_2):
                u[i, j] -= 0.5 * u[i, t2]
    sum_u = 0.0
    for i in range(n_2):
        for j_2 in range(n_3):
            sum_u = runtime.radd(sum_u, u[i, j_2])
    return sum_u
    ->
    n_2 = x.shape[0]
    n_3 = x.shape[1]
    u = np.empty((n_3, n_2))
    for i in range(n_2):
        for j_2 in range(n_3):
            u[j_2, i] = x[i, j_2]
    for t in range(n):
        for j in range(1, u.shape[0]):
            u_part = j - 1
            t2 = j - 1
            for i in range(n_2):
                u[j, i] -= 0.5 * u[t2, i]
    sum_u = 0.0
    for i in range(n_2):
        for j_2 in range(n_3):
            sum_u = runtime.radd(sum_u, u[j_2, i])
    return sum_u
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stgrad.analysis.affine import Positions
from stgrad.analysis.alias import aliases
from stgrad.analysis.definitions import definitions
from stgrad.analysis.elements import Path, moves, paths
from stgrad.ir import (
    Assign,
    Block,
    Const,
    Custom,
    For,
    Function,
    Operand,
    Pack,
    Slice,
    Stmt,
    Store,
    Type,
    Var,
    assigns,
    map_blocks,
    map_operand,
    operand_vars,
    reads,
    walk,
)
from stgrad.names import Names

DEEP = 3  # loops in one another, below which turning a matrix back is not paid for
SHORT = 8  # trips of a loop that does not count
INT = Type("int64", weak=True)


@dataclass
class _Uses:
    """Depths of the loops that go down the columns of a matrix, and of those that go along its rows."""

    plain: bool = True
    down: list[int] = field(default_factory=list)
    along: list[int] = field(default_factory=list)

    def suits(self) -> bool:
        deepest = max(self.down, default=0)
        return self.plain and deepest >= DEEP and deepest > max(self.along, default=0)


def columns(fn: Function) -> Function:
    """The program with local matrices turned that its deepest loops walk down."""
    if any(isinstance(s, Custom) for s in walk(fn.body)):
        return fn
    for name in sorted(n for n, uses in _uses(fn, _local(fn)).items() if uses.suits()):
        fn = _keep_turned(fn, name)
    return fn


def _local(fn: Function) -> set[str]:
    """Matrices that are made once, before all loops, and have no other name."""
    classes = aliases(fn)
    count = definitions(fn).counts
    members = Counter(classes.find(n) for n, t in fn.types.items() if t.array)
    made = {s.target.name for s in fn.body if isinstance(s, Assign) and s.op == "np.empty" and isinstance(s.args[0], Pack) and len(s.args[0].items) == 2}
    return {n for n in made if count[n] == 1 and members[classes.find(n)] == 1 and fn.types[n].rank == 2 and fn.types[n].dims}


def _uses(fn: Function, names: set[str]) -> dict[str, _Uses]:
    found = {n: _Uses() for n in names}
    once = definitions(fn).once
    for path, stmt in paths(fn.body, ()):
        touched = set(reads(stmt)) & names
        if isinstance(stmt, Store):
            touched |= {stmt.target.name} & names
        for name in touched:
            _note(found[name], name, path, stmt, fn.types, once)
    return found


def _note(uses: _Uses, name: str, path: Path, stmt: Stmt, types: Mapping[str, Type], once: Mapping[str, Stmt]) -> None:
    if isinstance(stmt, Assign) and stmt.op == "shape" and stmt.args[0] == Var(name) and len(stmt.args) == 2:
        return
    if not _element(stmt, name, types):
        uses.plain = False
    elif path:
        depth = sum(not _short(loop) for loop in path)
        first, last = moves(Positions.of(path[-1], once), stmt)
        if first != last:
            (uses.down if first else uses.along).append(depth)


def _element(stmt: Stmt, name: str, types: Mapping[str, Type]) -> bool:
    """Whether a statement reads or writes one element, and touches the matrix in no other way."""
    match stmt:
        case Assign(op="getitem", args=(Var(name=read), Pack(items=(_, _)) as index)) if read == name:
            others = [*operand_vars(index)]
        case Store(target=Var(name=written), index=Pack(items=(_, _)) as index, value=value) if written == name:
            others = [*operand_vars(index), *operand_vars(value)]
        case _:
            return False
    return not any(isinstance(i, Slice) for i in index.items) and not any(types[n].array for n in others)


def _short(loop: For) -> bool:
    bounds = (loop.start, loop.stop, loop.step)
    values = [b.value for b in bounds if isinstance(b, Const)]
    return len(values) == len(bounds) and len(range(*values)) < SHORT


def _keep_turned(fn: Function, name: str) -> Function:
    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(op="np.empty", targets=(Var(name=made),), args=(Pack(items=(rows, width)), *rest)) if made == name:
                return replace(stmt, args=(Pack((width, rows)), *rest))
            case Assign(op="shape", args=(Var(name=seen), Const(value=axis))) if seen == name:
                return replace(stmt, args=(Var(name), Const(1 - axis % 2)))
            case Assign(op="getitem", args=(Var(name=read), Pack(items=items))) if read == name:
                return replace(stmt, args=(Var(name), Pack(items[::-1])))
            case Store(target=Var(name=written), index=Pack(items=items)) if written == name:
                return replace(stmt, index=Pack(items[::-1]))
        return map_blocks(block, stmt)

    def block(b: Block) -> Block:
        return tuple(map(one, b))

    types = {**fn.types, name: replace(fn.types[name], dims=fn.types[name].dims[::-1])}
    turned = replace(fn, body=block(fn.body), types=types)
    return _turned_back(turned, name, fn.types[name]) if name in operand_vars(fn.result) else turned


def _turned_back(fn: Function, name: str, type_: Type) -> Function:
    """The program with a copy of the matrix, as it should be, as result."""
    names, types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)
    back, n, m, i, j, value = (Var(names.fresh(wish)) for wish in (name, "n", "n", "i", "j", "_t"))
    types |= {back.name: type_, value.name: Type(type_.dtype)} | {v.name: INT for v in (n, m, i, j)}
    sizes = [Assign((size,), "shape", (Var(name), Const(axis))) for size, axis in ((n, 1), (m, 0))]
    dtype = next(s.args[1:] for s in fn.body if isinstance(s, Assign) and assigns(s) == (name,))
    made = Assign((back,), "np.empty", (Pack((n, m)), *dtype))
    load = Assign((value,), "getitem", (Var(name), Pack((j, i))))
    inner = For(j, Const(0), m, Const(1), (load, Store(back, Pack((i, j)), value, "set")))

    def renamed(operand: Operand) -> Operand:
        return back if operand == Var(name) else operand

    return replace(fn, body=(*fn.body, *sizes, made, For(i, Const(0), n, Const(1), (inner,))), types=types, result=map_operand(renamed, fn.result))
