"""Adjoints of buffers that grow, where they follow their arrays as shadows.

The shadow of a buffer grows where the buffer does (`with_room`). A larger one is memory of its own: what its items have got is added to those of the
shadow that was full. Elsewhere the two are one array.
"""

from __future__ import annotations

from dataclasses import replace

from stgrad.frontend.builder import Builder
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import If, Store, Type, Var

_BOOL = Type("bool", weak=True)


def give_back(builder: Builder, old: Sym, new: Sym, count: Value, size: Value) -> None:
    """`if count == size: old[:count] += new[:count]`."""
    full, items = builder.call("np.equal", (count, size), _BOOL), slice(None, count, None)
    with builder.block() as out:
        given = builder.call("getitem", (new, items), replace(new.type, dims=(builder.fresh_dim(), *new.type.dims[1:])))
        builder.emit(Store(Var(old.name), operand_of(items), operand_of(given), "add", builder.loc, builder.note))
    builder.emit(If(operand_of(full), tuple(out), (), builder.loc))
