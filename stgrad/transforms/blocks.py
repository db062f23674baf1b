"""What operations do with tangents that have an axis of directions behind those of the value (see `stgrad.transforms.directions`).

Rules for blocks are functions of NumPy that the compiler splices, as in `stgrad.rules`. `tangent_of` gives NotImplemented for an operation that
is not here: its directions are taken one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stgrad.analysis.activity import differentiable
from stgrad.frontend.values import Sym, Value, is_number
from stgrad.ir import Assign, Const, Operand, Pack, Slice, Var, entries_of, operand_vars
from stgrad.ir.ops import operation
from stgrad.rules import lookup
from stgrad.transforms.tangents import value_of, with_care

if TYPE_CHECKING:
    from stgrad.transforms.directions import Directions

Partials = Callable[[], tuple[Value, ...]]

# --------------------------------------------------------------------------- spliced


def count(like: Any) -> Any:
    return np.size(like)


def zeros(y: Any, n: Any, dtype: Any) -> Any:
    return np.zeros(np.shape(y) + (n,), dtype=dtype)


def identity(like: Any, n: Any, dtype: Any) -> Any:
    whole = np.eye(n) if dtype == np.float64 else np.eye(n).astype(dtype)
    return np.reshape(whole, np.shape(like) + (n,)) if np.ndim(like) > 1 else whole


def written_out(entries: Any, n: Any) -> Any:
    return np.reshape(np.diag(np.ravel(entries)), np.shape(entries) + (n,)) if np.ndim(entries) > 1 else np.diag(entries)


def widened(g: Any, y: Any, n: Any) -> Any:
    return np.broadcast_to(g, np.shape(y) + (n,))


def reshaped(g: Any, y: Any, n: Any) -> Any:
    return np.reshape(g, np.shape(y) + (n,))


def scaled(g: Any, p: Any) -> Any:
    return g * np.expand_dims(p, -1) if np.ndim(p) else g * p


def scaled_with_care(p_dot: Any, g: Any) -> Any:
    return with_care(np.expand_dims(g, -1), p_dot) if np.ndim(g) else with_care(g, p_dot)


def scaled_if_any(g_dot: Any, p: Any) -> Any:
    return with_care(g_dot, np.expand_dims(p, -1)) if np.ndim(p) else with_care(g_dot, p)


def multiplied(a: Any, b: Any) -> Any:
    return a * b


def added(a: Any, b: Any) -> Any:
    return a + b


def negated(g: Any) -> Any:
    return -g


def ones(y: Any, p: Any) -> Any:
    return np.full_like(y, p)


def chosen(condition: Any, a: Any, b: Any) -> Any:
    return np.where(np.expand_dims(condition, -1), a, b) if np.ndim(condition) else np.where(condition, a, b)


def times_vector(a: Any, b_dot: Any) -> Any:
    """`a @ b` for b of one axis: a is a vector or a matrix."""
    return a @ b_dot


def times_matrix(a: Any, b_dot: Any, y: Any, n: Any) -> Any:
    """`a @ b` for b of two axes."""
    flat = np.reshape(b_dot, (np.shape(b_dot)[0], np.shape(b_dot)[1] * n))
    return np.reshape(a @ flat, np.shape(y) + (n,))


def vector_times(a_dot: Any, b: Any) -> Any:
    """`a @ b` for a of one axis."""
    return np.transpose(b) @ a_dot


def rows_times_vector(a_dot: Any, b: Any) -> Any:
    """`a @ b` for a of two axes and b of one."""
    return np.sum(a_dot * np.expand_dims(b, -1), axis=1)


def rows_times_matrix(a_dot: Any, b: Any) -> Any:
    """`a @ b` for two matrices: each row of a gives a product with b turned, whose columns are the directions."""
    return np.transpose(b) @ a_dot


def outer_left(a_dot: Any, b: Any) -> Any:
    return np.expand_dims(a_dot, 1) * np.expand_dims(b, -1)


def outer_right(a: Any, b_dot: Any) -> Any:
    return np.expand_dims(np.expand_dims(a, -1), -1) * b_dot


def columns_scaled(a: Any, entries: Any) -> Any:
    return a * entries


def flipped(b: Any) -> Any:
    return np.transpose(b)


def turned(b: Any, entries: Any) -> Any:
    return np.transpose(b) * entries


# --------------------------------------------------------------------------- one statement


def tangent_of(d: Directions, stmt: Assign, y: tuple[Sym, ...], partials: Partials) -> Value:
    """The tangent of the one target of a statement: a block, a diagonal, None for zero; NotImplemented where there is no rule for blocks."""
    operands = (*stmt.args, *(v for _, v in stmt.kwargs))
    if not differentiable(stmt.op) or not operation(stmt.op).contents or not any(map(d.moves, operands)):
        return None if len(y) == 1 else NotImplemented
    if len(y) != 1:
        return NotImplemented
    rule = lookup(stmt.op)
    if rule is not None and rule.partials is not None:
        return by_partials(d, stmt, y[0], partials)
    if stmt.op in ("np.matmul", "np.outer") and not stmt.kwargs:
        return by_terms(d, stmt, y[0])
    return structural(d, stmt, y[0])


def by_partials(d: Directions, stmt: Assign, y: Sym, partials: Partials) -> Value:
    if stmt.kwargs and any(d.moves(v) for _, v in stmt.kwargs):
        return NotImplemented
    found, total = partials(), None
    for i, argument in enumerate(stmt.args):
        if not d.moves(argument):
            continue
        if i >= len(found) or found[i] is None:
            return NotImplemented
        careful, p = d.products.factor(stmt, i, found[i], value_of(d.builder))
        total = plus(d, total, times(d, argument, p, y, careful), y)
    return total


def times(d: Directions, argument: Operand, p: Value, y: Sym, careful: Any) -> Value:
    """The tangent of an argument times a partial derivative; `careful` how where a zero wins."""
    if is_number(p) and p == 0:
        return None
    diagonal = d.diagonal(argument)
    if diagonal is not None and isinstance(argument, Var) and d.builder.types[argument.name].dims == y.type.dims:
        return scaled_diagonal(d, diagonal, p, y, careful)
    g = d.of(argument)
    if is_number(p) and not isinstance(p, complex) and p in (1, -1):
        return g if p == 1 else d.splice(d.builder, negated, (g,), {})
    product = scaled if careful is None else scaled_if_any if careful is with_care else scaled_with_care
    return d.splice(d.builder, product, (g, p), {})


def scaled_diagonal(d: Directions, g: Any, p: Value, y: Sym, careful: Any) -> Value:
    from stgrad.transforms.directions import Diagonal

    if is_number(p) and not isinstance(p, complex) and p == 1:
        return g
    if g.entries is not None:
        return Diagonal(d.splice(d.builder, careful or multiplied, (g.entries, p), {}))
    whole = isinstance(p, Sym) and p.type.dims == y.type.dims
    return Diagonal(p if whole else d.splice(d.builder, ones, (y, p), {}))  # type: ignore[arg-type]


def plus(d: Directions, total: Value, term: Value, y: Sym) -> Value:
    from stgrad.transforms.directions import Diagonal

    if total is None or term is None:
        return term if total is None else total
    if isinstance(total, Diagonal) and isinstance(term, Diagonal):
        parts = [d.splice(d.builder, ones, (y, 1.0), {}) if g.entries is None else g.entries for g in (total, term)]
        return Diagonal(d.splice(d.builder, added, tuple(parts), {}))
    return d.splice(d.builder, added, (d.block(total, y.type), d.block(term, y.type)), {})


def by_terms(d: Directions, stmt: Assign, y: Sym) -> Value:
    """A product of two factors."""
    value, total = value_of(d.builder), None
    a, b = (value(v) for v in stmt.args)
    for i, argument in enumerate(stmt.args):
        if d.moves(argument):
            term = product(d, stmt.op, (a, b), i, argument, y)
            if term is NotImplemented:
                return NotImplemented
            total = plus(d, total, term, y)
    return total


def product(d: Directions, op: str, factors: tuple[Value, Value], i: int, argument: Operand, y: Sym) -> Value:
    """The term of a product in which factor `i` moves."""
    a, b = factors
    ranks = (a.type.rank, b.type.rank)
    if op == "np.outer":
        if ranks != (1, 1):
            return NotImplemented
        return d.splice(d.builder, outer_right, (a, d.of(argument)), {}) if i else d.splice(d.builder, outer_left, (d.of(argument), b), {})
    diagonal = d.diagonal(argument)
    if diagonal is not None and ranks in ((1, 1), (2, 1)) and i == 1:
        return a if diagonal.entries is None else d.splice(d.builder, columns_scaled, (a, diagonal.entries), {})
    if diagonal is not None and ranks in ((1, 1), (1, 2)) and i == 0:
        return d.splice(d.builder, flipped, (b,), {}) if diagonal.entries is None else d.splice(d.builder, turned, (b, diagonal.entries), {})
    if max(ranks) > 2:
        return NotImplemented
    g = d.of(argument)
    if i == 1:
        return d.splice(d.builder, times_vector, (a, g), {}) if ranks[1] == 1 else d.splice(d.builder, times_matrix, (a, g, y, d.size()), {})
    if ranks[0] == 1:
        return d.splice(d.builder, vector_times, (g, b), {})
    return d.splice(d.builder, rows_times_vector if ranks[1] == 1 else rows_times_matrix, (g, b), {})


def structural(d: Directions, stmt: Assign, y: Sym) -> Value:
    """Operations that move numbers about, or add them up."""
    op, first, known = stmt.op, stmt.args[0], operation(stmt.op)
    if known.kind in ("cast", "identity"):
        return d.diagonal(first) or d.of(first)
    spread = 0 if op == "np.broadcast_to" else known.filled
    if spread is not None and not any(d.moves(a) for i, a in enumerate(stmt.args) if i != spread):
        return d.splice(d.builder, widened, (d.of(stmt.args[spread]), y, d.size()), {})
    if op == "getitem":
        return item(d, stmt, y)
    if op == "np.where" and len(stmt.args) == 3:
        condition = value_of(d.builder)(stmt.args[0])
        return d.splice(d.builder, chosen, (condition, d.full(stmt.args[1]), d.full(stmt.args[2])), {})
    if op == "np.linalg.solve" and not d.moves(first) and y.type.rank == 1:
        value = value_of(d.builder)
        return d.builder.call(op, (value(first), d.of(stmt.args[1])), d.block_type(y.type))
    if known.made in ("reshaped", "rowwise") and not d.owns(y.name) and d.moves(first):
        return d.splice(d.builder, reshaped, (d.of(first), y, d.size()), {})
    if known.kind in ("copy", "part") and d.moves(first):
        if known.kind == "copy" and d.diagonal(first) is not None:
            return d.diagonal(first)
        return same(d, stmt, y, d.full(first), stmt.args[1:], dict(stmt.kwargs))
    return along_axes(d, stmt, y)


def same(d: Directions, stmt: Assign, y: Sym, dot: Value, args: tuple[Operand, ...], kwargs: Mapping[str, Operand]) -> Value:
    """The operation itself on the block."""
    value = value_of(d.builder)
    return d.builder.call(stmt.op, (dot, *map(value, args)), d.block_type(y.type), {k: value(v) for k, v in kwargs.items()})


def along_axes(d: Directions, stmt: Assign, y: Sym) -> Value:
    """Operations with an axis, which counts from the front here."""
    op, kwargs = stmt.op, dict(stmt.kwargs)
    first = stmt.args[0]
    if op in ("np.stack", "np.concatenate") and isinstance(first, Pack) and len(stmt.args) == 1 and kwargs.keys() <= {"axis"}:
        axis = _static(kwargs.get("axis", Const(0)))
        if not isinstance(axis, int):
            return NotImplemented
        return same(d, stmt, y, d.full(first), (), {"axis": Const(axis % y.type.rank)})
    if not isinstance(first, Var) or not d.moves(first) or any(d.moves(a) for a in stmt.args[1:]):
        return NotImplemented
    rank = d.builder.types[first.name].rank
    if op in ("np.sum", "np.mean") and kwargs.keys() <= {"axis", "keepdims"} and len(stmt.args) == 1:
        axis = _static(kwargs.get("axis", Const(None)))
        axes = tuple(range(rank)) if axis is None else tuple(a % rank for a in (axis if isinstance(axis, tuple) else (axis,)))
        return same(d, stmt, y, d.of(first), (), {**kwargs, "axis": Const(axes[0]) if len(axes) == 1 else Pack(tuple(map(Const, axes)))})
    if op == "np.transpose" and not kwargs:
        given = _static(stmt.args[1]) if len(stmt.args) > 1 else None
        axes = tuple(range(rank))[::-1] if given is None else tuple(a % rank for a in given)
        return same(d, stmt, y, d.of(first), (Pack(tuple(map(Const, (*axes, rank)))),), {})
    if op in ("np.swapaxes", "np.moveaxis") and not kwargs and all(isinstance(_static(a), int) for a in stmt.args[1:]):
        return same(d, stmt, y, d.of(first), tuple(Const(_static(a) % rank) for a in stmt.args[1:]), {})
    return NotImplemented


def _static(operand: Operand) -> Any:
    """The value of an operand that is known; NotImplemented for what is not."""
    if isinstance(operand, Const):
        return operand.value
    if isinstance(operand, Pack) and all(isinstance(i, Const) for i in operand.items):
        return tuple(i.value for i in operand.items)  # type: ignore[union-attr]
    return NotImplemented


def item(d: Directions, stmt: Assign, y: Sym) -> Value:
    """`x[i]`: the same rows of the block, in memory of their own where somebody writes to it."""
    first = stmt.args[0]
    if not isinstance(first, Var) or not d.moves(first):
        return NotImplemented
    types = d.builder.types
    items = entries_of(stmt.args[1])
    if any(types[n].array for n in operand_vars(stmt.args[1])) and (len(items) > 1 or types[operand_vars(items[0])[0]].dtype == "bool"):
        return NotImplemented
    index = without_ellipsis(stmt.args[1], types[first.name].rank)
    found = d.builder.call("getitem", (d.of(first), value_of(d.builder)(index)), d.block_type(y.type))
    if y.type.rank == 0 and d.owns(first.name):
        return d.builder.call("np.copy", (found,), found.type)
    return found


def without_ellipsis(index: Operand, rank: int) -> Operand:
    """An index of the leading axes alone."""
    items = entries_of(index)
    if Const(Ellipsis) not in items:
        return index
    at = items.index(Const(Ellipsis))
    taken = sum(1 for i in items if i not in (Const(Ellipsis), Const(None)))
    whole = (Slice(Const(None), Const(None), Const(None)),) * (rank - taken)
    return Pack((*items[:at], *whole, *items[at + 1 :]))


__all__ = ["count", "identity", "item", "tangent_of", "without_ellipsis", "written_out", "zeros"]
