"""Statements of loop nests: variables, extents, positions and the memory of buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stgrad.analysis.extents import Extents
from stgrad.ir import Assign, Const, Dim, Operand, Pack, Stmt, Type, Var
from stgrad.names import Names
from stgrad.transforms.lower.nest import Axis, Buffer

INT = Type("int64", weak=True)


@dataclass
class Workspace:
    """Memory allocated before all loops: whose it is, and the last part of that tree that needs it."""

    name: str
    owner: Writer
    last: int


@dataclass
class LoopNames:
    """Loop variables, one for each depth, shared by all nests of a function."""

    names: Names
    used: list[str] = field(default_factory=list)

    def __getitem__(self, depth: int) -> str:
        while len(self.used) <= depth:
            self.used.append(self.names.fresh("ijklmn"[min(len(self.used), 5)]))
        return self.used[depth]


@dataclass
class Writer:
    """What the statements of one tree are written with.

    `out[k]` is the block inside k loops; `levels` says inside how many loops a scalar is made.
    """

    types: dict[str, Type]
    names: Names
    loops: LoopNames
    extents: Extents
    buffers: dict[str, Buffer]
    kept: dict[str, tuple[bool, ...]]
    fixed: frozenset[str]  # parameters that are never bound again
    prelude: dict[tuple[str, int], Assign]  # their extents, read at the top of the function
    top: list[Stmt] | None  # workspaces that are allocated once, before all loops; None: no loop
    hoistable: frozenset[str]
    pool: dict[tuple[object, ...], list[Workspace]]
    out: list[list[Stmt]] = field(default_factory=lambda: [[]])
    levels: dict[str, int] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # names that only this tree knows
    part: int = 0  # which part of the tree is being written
    last: dict[str, int] = field(default_factory=dict)  # the last part that touches each buffer
    memory: dict[str, str] = field(default_factory=dict)  # the name of each allocated buffer
    memo: list[dict[tuple[object, ...], Var]] = field(default_factory=lambda: [{}])

    # ------------------------------------------------------------- variables

    def assign(self, op: str, args: tuple[Operand, ...], type_: Type, level: int, wish: str = "_t") -> Var:
        target = self.fresh(wish, type_, level)
        self.out[level].append(Assign((target,), op, args))
        return target

    def fresh(self, wish: str, type_: Type, level: int) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = type_
        self.levels[name] = level
        self.own.add(name)
        return Var(name)

    def allocated(self, buffer: str) -> str:
        """The name of a buffer in memory; own ones are allocated before the nest that uses them first."""
        if buffer not in self.buffers:
            return buffer
        if buffer not in self.memory:
            self.memory[buffer] = self._allocate(self.buffers[buffer])
        return self.memory[buffer]

    def _allocate(self, buffer: Buffer) -> str:
        kept = self.kept.get(buffer.name, (True,) * len(buffer.dims))
        dims = tuple(d for d, keep in zip(buffer.dims, kept, strict=True) if keep)
        early = (
            self.top is not None
            and buffer.name in self.hoistable
            and all(d.symbol is None or d.symbol in self.extents.trusted for d in dims)
        )
        name = buffer.name
        key = (dims, buffer.dtype, buffer.border)
        if early:
            for free in self.pool.setdefault(key, []):
                if free.owner is not self or free.last < self.part:
                    free.owner, free.last = self, self.last[buffer.name]
                    return free.name
        if early or not all(kept):
            name = self.names.fresh(f"{name.strip('_')}_{'work' if all(kept) else 'row'}")
            self.types[name] = Type(buffer.dtype, dims, array=True)
        if early:
            self.pool[key].append(Workspace(name, self, self.last[buffer.name]))
        block = self.out[0]
        if early and self.top is not None:
            self.out[0] = self.top
        sizes = tuple(self._size(d) for d in dims)
        shape = sizes[0] if len(sizes) == 1 else Pack(sizes)
        dtype = () if buffer.dtype == "float64" else (Const(np.dtype(buffer.dtype).type),)
        self.out[0].append(Assign((Var(name),), "np.zeros" if buffer.border else "np.empty", (shape, *dtype)))
        self.out[0] = block
        return name

    def _size(self, dim: Dim) -> Operand:
        size = self.extent(dim)
        return self.assign("max", (size, Const(0)), INT, 0) if dim.symbol is not None and dim.offset < 0 else size

    # ----------------------------------------------------- extents, positions

    def level(self, operand: Operand) -> int:
        if not isinstance(operand, Var):
            return 0
        if operand.name in self.loops.used:
            return self.loops.used.index(operand.name) + 1
        return self.levels.get(operand.name, 0)

    def position(self, axis: Axis, level: int) -> Operand:
        """`scale * variable + offset`, written in the block that uses it."""
        result: Operand = Var(self.loops[axis.depth])
        if axis.scale == -1:
            return self.assign("np.subtract", (self.extent(axis.offset, level), result), INT, level)
        if axis.scale != 1:
            result = self.assign("np.multiply", (Const(axis.scale), result), INT, level)
        return self._shifted(result, axis.offset, level)

    def _shifted(self, base: Operand, offset: Dim, level: int) -> Operand:
        if offset.symbol is not None:
            return self.assign("np.add", (base, self.extent(offset, level)), INT, level)
        if offset.offset == 0:
            return base
        op = "np.add" if offset.offset > 0 else "np.subtract"
        return self.assign(op, (base, Const(abs(offset.offset))), INT, level)

    def extent(self, dim: Dim, level: int = 0) -> Operand:
        """An extent as an operand; extents of parameters are read at the top of the function, others before the nest."""
        if dim.symbol is None:
            return Const(dim.offset)
        name, axis, offset = self.extents.sources[dim.symbol]
        total = Dim(None, dim.offset + offset)
        if axis is None:
            return self._shifted(Var(name), total, level)
        return self._shifted(self._axis_extent(name, axis), total, level)

    def _axis_extent(self, name: str, axis: int) -> Var:
        if name in self.fixed:
            known = self.prelude.get((name, axis))
            if known is None:
                target = self.fresh("n", INT, 0)
                known = self.prelude[name, axis] = Assign((target,), "shape", (Var(name), Const(axis)))
            return known.target
        key = ("shape", name, axis)
        if key not in self.memo[0]:
            self.memo[0][key] = self.assign("shape", (Var(name), Const(axis)), INT, 0, wish="n")
        return self.memo[0][key]
