"""Tangents in all directions of one array at once: an axis of directions behind those of the value.

    y = W @ tanh(x)    ->    y_dot = W * (1 - tanh(x) ** 2)        of shape (m, n), for x of shape (n,)

The directions are those in which the numbers of one array grow, one at a time: the first tangent is an identity. It stays a diagonal through
operations on each element, and is written out where something else reads it, so that a product with it scales columns.

Invariants. The tangent of a value of shape s is an array of shape s + (d,), whatever the value is; where `diagonals` has a name, its tangent is a
diagonal instead, given by its entries, an array of the value's shape (None: the identity). There are diagonals only outside of loops and branches.
What an operation does with a block is written for those that matter (`stgrad.transforms.blocks`); for any other the directions are taken one
after the other, in a loop around that statement alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stgrad import errors
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import Assign, Const, Dim, For, Operand, Pack, Slice, Store, Type, Var, assigned, entries_of, operand_vars
from stgrad.transforms import blocks
from stgrad.transforms.tangents import Tangents, zero_of

ALL = Slice(Const(None), Const(None), Const(None))


class Unbatched(errors.NotDifferentiableError):
    """A program whose tangents cannot have an axis of directions: its directions are taken one after the other."""


@dataclass(frozen=True)
class Diagonal:
    """A tangent that is a diagonal: its entries, or None for ones."""

    entries: Sym | None


@dataclass
class Directions(Tangents):
    """Writes the tangents in the directions of the numbers of `unit`, an array of the shape of `like`."""

    unit: str = ""
    like: str = ""
    told: Mapping[str, tuple[str, int | None, int]] = field(default_factory=dict)  # where extents can be read at any time
    extent: Dim = field(init=False)
    diagonals: dict[str, Sym | None] = field(default_factory=dict)
    count: Value = None
    like_made: bool = False  # whether that array is there by now

    def __post_init__(self) -> None:
        t = self.builder.types[self.unit]
        self.extent = t.dims[0] if t.rank == 1 else self.builder.fresh_dim()
        self.top = self.builder.out
        self.present.add(self.unit)
        self.diagonals[self.unit] = None
        if self.owns(self.unit):
            raise Unbatched("the array is written to")
        if t.rank > 1 and self.unit == self.like:
            self.size()

    # ------------------------------------------------------------- names

    def dot(self, name: str) -> Sym:
        known = name in self.dots
        found = super().dot(name)
        if not known:
            self.builder.types[found.name] = self.block_type(self.builder.types[name])
        return Sym(found.operand, self.builder.types[found.name])

    def block_type(self, t: Type) -> Type:
        return replace(t, value=None, array=True, weak=False, dims=(*t.dims, self.extent))

    def size(self) -> Value:
        """How many directions there are; one name for it wherever that can be."""
        if self.count is not None:
            return self.count
        found = self._counted() if self.extent.constant is None else self.extent.constant
        if self.builder.out is self.top:
            self.count = found
        return found

    def _counted(self) -> Value:
        n = self._counted_at(*self._witness())
        if isinstance(n, Sym) and n.type.value != self.extent:
            named = self.builder.variable("_t", Type("int64", weak=True, value=self.extent))
            self.builder.assign(named, "alias", n.operand)
            return named
        return n

    def _witness(self) -> tuple[str, int | None]:
        """An array with as many numbers, or with such an extent; what a program gives is none before it is made."""
        at = self.told.get(self.extent.symbol or "")
        if at is not None and at[0] != self.unit and at[2] == -self.extent.offset:
            return at[:2]
        self.like_made = self.like_made or self.like == self.unit or any(self.like in assigned((s,)) for s in self.top)
        if not self.like_made:
            raise Unbatched("a tangent is made before what tells how many directions there are")
        return self.like, None

    def _counted_at(self, array: str, axis: int | None) -> Value:
        t = self.builder.types[array]
        if axis is not None:
            return self.builder.call("shape", (Sym(Var(array), t), axis), Type("int64", weak=True, value=self.extent))
        return self.splice(self.builder, blocks.count, (Sym(Var(array), self.builder.types[self.unit]),), {}) if t.array else Sym(Var(array), t)

    def zero(self, name: str, like: Sym | None = None) -> None:
        t = self.builder.types[name]
        y = like or Sym(Var(name), t)
        self.diagonals.pop(name, None)
        self.builder.assign(self.dot(name), "alias", operand_of(self.zeros(y)))
        self.present.add(name)

    def zeros(self, y: Value) -> Value:
        dtype = np.dtype(y.type.dtype if isinstance(y, Sym) and y.type.is_float else "float64")
        return self.splice(self.builder, blocks.zeros, (y, self.size(), dtype), {})

    def clear(self, name: str) -> None:
        self.diagonals.pop(name, None)
        super().clear(name)

    def of(self, operand: Operand) -> Value:
        if isinstance(operand, Var) and operand.name in self.diagonals and operand.name in self.present:
            self.write_out(operand.name)
        return super().of(operand)

    def full(self, operand: Operand) -> Value:
        if isinstance(operand, Pack):
            return tuple(self.full(item) for item in operand.items)
        found = self.of(operand)
        if found is not None:
            return found
        return self.zeros(Sym(operand, self.builder.types[operand.name]) if isinstance(operand, Var) else 0.0)  # type: ignore[attr-defined]

    def diagonal(self, operand: Operand) -> Diagonal | None:
        if isinstance(operand, Var) and operand.name in self.diagonals and operand.name in self.present and operand.name in self.active:
            return Diagonal(self.diagonals[operand.name])
        return None

    def write_out(self, name: str) -> None:
        """Make a diagonal a block."""
        dot = self.block(Diagonal(self.diagonals.pop(name)), self.builder.types[name])
        self.builder.assign(self.dot(name), "alias", operand_of(dot))

    def block(self, g: Value, t: Type) -> Value:
        """A tangent as a block; `t` is the type of the value."""
        if not isinstance(g, Diagonal):
            return g
        if g.entries is None:
            like = Sym(Var(self.like), self.builder.types[self.unit])
            return self.splice(self.builder, blocks.identity, (like, self.size(), np.dtype(t.dtype)), {})
        return self.splice(self.builder, blocks.written_out, (g.entries, self.size()), {})

    def settle(self, names: Collection[str]) -> None:
        """Before a loop or branch: what it reads or assigns is no diagonal."""
        for name in [n for n in self.diagonals if n in names]:
            self.write_out(name)

    # ------------------------------------------------------------- assignments

    def result(self, stmt: Assign, y: tuple[Sym, ...], partials: Callable[[], tuple[Value, ...]]) -> list[Value]:
        found = blocks.tangent_of(self, stmt, y, partials)
        if found is not NotImplemented:
            return [found]
        return self.one_by_one(stmt, y, partials)

    def one_by_one(self, stmt: Assign, y: tuple[Sym, ...], partials: Callable[[], tuple[Value, ...]]) -> list[Value]:
        """The tangents of any statement, direction by direction."""
        if self.views(stmt) and self.owns(y[0].name):
            raise Unbatched(f"`{stmt.op}` makes a view of an array that is written to", stmt.loc)
        names = {n for o in (*stmt.args, *(v for _, v in stmt.kwargs)) for n in operand_vars(o) if n in self.active and n in self.present}
        whole = {name: self.of(Var(name)) for name in sorted(names)}
        results = [self.zeros(v) for v in y]
        k = self.builder.variable("_d", Type("int64", weak=True))
        with self.builder.block() as body:
            one = Tangents(self.builder, self.splice, self.active, frozenset(), self.classes, self.products, present=set(names))
            for name, dot in whole.items():
                t = replace(self.builder.types[name], value=None)
                one.dots[name] = self.builder.call("getitem", (dot, (*(slice(None),) * t.rank, k) if t.rank else k), t).name
            for target, dot, v in zip(results, one.result(stmt, y, partials), y, strict=True):
                if dot is not None and not (isinstance(dot, (int, float)) and dot == 0):
                    index = Pack((*(ALL,) * v.type.rank, k.operand)) if v.type.rank else k.operand
                    self.builder.emit(Store(Var(target.name), index, operand_of(one.fit(dot, v)), "set", self.builder.loc))
        self.builder.emit(For(Var(k.name), Const(0), operand_of(self.size()), Const(1), tuple(body), self.builder.loc))
        return results

    def bind(self, name: str, g: Value, y: Sym, *, shared: bool, view: bool = False) -> None:
        self.diagonals.pop(name, None)
        if isinstance(g, Diagonal):
            self.present.discard(name)
            if name in self.active and not shared and not self.owns(name):
                self.diagonals[name] = self._kept(g.entries)
                self.present.add(name)
                return
            g = self.block(g, y.type)
        super().bind(name, g, Sym(y.operand, replace(y.type, array=True)) if not y.type.array else y, shared=shared, view=view)

    def _kept(self, entries: Sym | None) -> Sym | None:
        """The entries under a name that nobody binds again."""
        if entries is None:
            return None
        kept = self.builder.variable("_t", replace(entries.type, value=None))
        self.builder.assign(kept, "alias", entries.operand)
        return kept

    def fit(self, g: Value, y: Sym) -> Value:
        """A block with the shape and dtype of its value's."""
        t = self.block_type(y.type)
        if g.type.dtype.startswith("complex") and not t.dtype.startswith("complex"):
            g = self.builder.call("np.real", (g,), replace(g.type, dtype="float32" if g.type.dtype == "complex64" else "float64"))
        if g.type.dtype != t.dtype:
            g = self._cast(g, t)
        if g.type.rank < t.rank or any(d.constant == 1 and e.constant != 1 for d, e in zip(g.type.dims, t.dims, strict=True)):
            g = self.splice(self.builder, blocks.widened, (g, y, self.size()), {})
        return g

    # ------------------------------------------------------------- stores, results

    def store(self, stmt: Store) -> None:
        if stmt.target.name not in self.active:
            return
        if stmt.target.name in self.diagonals:
            self.write_out(stmt.target.name)
        types = self.builder.types
        items = entries_of(stmt.index)
        if any(types[n].array for n in operand_vars(stmt.index)) or any(i == Const(None) for i in items):
            raise Unbatched("a store at positions that an array holds", stmt.loc)
        index = blocks.without_ellipsis(stmt.index, types[stmt.target.name].rank)
        dot = self.of(stmt.value)
        if dot is None and stmt.mode != "set":
            return
        target = self.dot(stmt.target.name)
        if dot is not None and dot.type.dtype.startswith("complex") and not target.type.dtype.startswith("complex"):
            dot = self.builder.call("np.real", (dot,), replace(dot.type, dtype=target.type.dtype))
        value = operand_of(dot) if dot is not None else Const(zero_of(replace(target.type, array=False, dims=())))
        self.builder.emit(Store(Var(target.name), index, value, stmt.mode, self.builder.loc, self.builder.note))

    def last(self, name: str) -> Operand:
        """The tangent of a result."""
        found = self.of(Var(name))
        if found is None:
            t = self.builder.types[name]
            found = self.zeros(Sym(Var(name), t))
        return operand_of(found)


__all__ = ["Diagonal", "Directions", "Unbatched"]
