"""The loop tree as statements: one pass that writes loops, shares loads and keeps array elements in locals.

While a loop body is written, `cells` holds what is known of array elements: their value, and whether memory has it yet. So an element is
loaded once, and stored once, per trip. A sum into an element that does not move with the loop becomes a local
accumulator. What does not move with a loop is written before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stgrad.errors import InternalError
from stgrad.ir import (
    Assign,
    Const,
    Effect,
    For,
    If,
    Operand,
    Pack,
    Stmt,
    Store,
    Type,
    Var,
    map_operands,
    operand_vars,
)
from stgrad.ir.ops import IN_TURN, MODES, operation
from stgrad.transforms.lower.fuse import Same, disjoint
from stgrad.transforms.lower.nest import (
    Access,
    Axis,
    Call,
    Entry,
    Expr,
    Extent,
    Fixed,
    Gather,
    Given,
    Guard,
    Index,
    Kernel,
    Lit,
    Load,
    Loop,
    Node,
    Position,
    Raw,
    leaves,
)
from stgrad.transforms.lower.writer import INT, Writer

Key = tuple[str, Index]


def in_turn(body: list[Stmt]) -> list[Stmt]:
    """The body of a loop, where it holds loops: such a loop is not vectorised, so its extremes are taken one by one."""
    if not any(isinstance(s, For) for s in body):
        return body
    return [replace(s, op=IN_TURN.get(s.op, s.op)) if isinstance(s, Assign) else s for s in body]


@dataclass
class Cell:
    """What is known of an array element. `addend`: the element grows by `value`; else it is `value`."""

    value: Operand
    level: int
    dirty: bool = False
    addend: bool = False


@dataclass
class Emitter(Writer):
    """Writes one tree. `shares` tells which buffers may share memory."""

    shares: Same = lambda a, b: True
    cells: dict[Key, Cell] = field(default_factory=dict)
    open: list[list[Access]] = field(default_factory=list)  # accesses inside each open loop
    sums: set[str] = field(default_factory=set)  # local accumulators

    # ------------------------------------------------------------------ tree

    def run(self, tree: list[Node]) -> list[Stmt]:
        for part, node in enumerate(tree):
            self.last.update((a.buffer, part) for leaf in leaves(node) for a in leaf.accesses())
        for self.part, node in enumerate(tree):
            self._release()
            self.node(node)
        self.flush()
        for buffer in self.buffers.values():
            if buffer.escapes and buffer.dims:
                self.allocated(buffer.name)  # nothing of this run touched it
        return self.out[0]

    def _release(self) -> None:
        """Elements of workspaces that nothing touches any more are not put away: the memory may be another's from here on."""
        self.cells = {k: c for k, c in self.cells.items() if k[0] not in self.hoistable or self.last.get(k[0], self.part) >= self.part}

    def node(self, node: Node) -> None:
        if isinstance(node, Loop):
            self.loop(node)
        elif isinstance(node, Kernel):
            self.kernel(node)
        elif isinstance(node, Guard):
            self.guard(node)
        else:
            self.raw(node)

    def raw(self, unit: Raw) -> None:
        if not unit.scalar:
            self.flush()
            self.cells = {k: c for k, c in self.cells.items() if not any(k[0] == w or self.shares(k[0], w) for w in unit.writes)}
        places = {n: self.allocated(n) for n in unit.reads if n in self.buffers and self.buffers[n].dims}
        self.out[0].append(map_operands(lambda o: Var(places.get(o.name, o.name)) if isinstance(o, Var) else o, unit.stmt))

    def guard(self, unit: Guard) -> None:
        left = self.extent(unit.a)
        if unit.b is not None:
            sides = [
                side if floor is None or isinstance(side, Const) else self.assign("max", (side, Const(floor)), INT, 0)
                for side, floor in zip((left, self.extent(unit.b)), unit.floors, strict=True)
            ]
            self.out[0].append(Effect("check_equal", (*sides, Const(unit.message)), loc=unit.loc))
            return
        empty = self.assign("np.less_equal", (left, Const(0)), Type("bool"), 0)
        self.out[0].append(If(empty, (Effect("raise", (Const("ValueError"), Const(unit.message)), loc=unit.loc),), loc=unit.loc))

    def loop(self, node: Loop) -> None:
        level = len(self.out)
        inside = [a for leaf in leaves(node) for a in leaf.accesses()]
        promoted = self._promote(node, inside)
        self._settle(inside, promoted)
        var = Var(self.loops[node.depth])
        self.types[var.name] = INT
        stop = self.extent(node.extent, level - 1)
        self.out.append([])
        self.memo.append({})
        self.open.append([a for a in inside if a.write])
        for inner in node.body:
            self.node(inner)
        self.flush(level)
        self.cells = {k: c for k, c in self.cells.items() if c.level < level}
        body = in_turn(self.out.pop())
        self.memo.pop()
        self.open.pop()
        first = next(leaves(node))
        loc, note = (first.loc, first.note if level == 1 else None) if isinstance(first, Kernel) else (None, None)
        self.out[-1].append(For(var, Const(0), stop, Const(1), tuple(body), loc, note))
        for key in promoted:
            self.cells[key].dirty = self.cells[key].dirty or self._in_memory(key[0])

    def _promote(self, node: Loop, inside: list[Access]) -> list[Key]:
        """Give each element that this loop sums into a local; its key is returned."""
        keys: list[Key] = []
        for leaf in leaves(node):
            if not isinstance(leaf, Kernel) or not leaf.accumulates or not leaf.index:
                continue
            touching = [a for a in inside if a.buffer == leaf.target or self.shares(a.buffer, leaf.target)]
            fixed = all(not isinstance(e, Gather) and not (isinstance(e, Axis) and e.depth >= node.depth) for e in leaf.index)
            if not fixed or any(not a.write or a.index != leaf.index or a.buffer != leaf.target for a in touching):
                continue
            key = self.key(leaf.target, leaf.index)
            if key not in keys:
                self._accumulator(key, leaf)
                keys.append(key)
        return keys

    def _accumulator(self, key: Key, leaf: Kernel) -> None:
        value = self.value(key, leaf.target, leaf.index, leaf.dtype)
        if isinstance(value, Var) and value.name in self.sums:
            return
        level = len(self.out) - 1
        local = self.fresh(self._local_name(leaf.target, level), Type(leaf.dtype), level)
        self.out[-1].append(Assign((local,), "alias", (value,)))
        self.sums.add(local.name)
        self.cells[key] = Cell(local, level, dirty=self.cells[key].dirty if key in self.cells else False)

    def _settle(self, inside: list[Access], keep: list[Key]) -> None:
        """Before a loop: elements that it touches go to memory, and are forgotten where it writes them."""
        for key, cell in list(self.cells.items()):
            if key in keep or not self._in_memory(key[0]):
                continue
            touching = [a for a in inside if a.buffer == key[0] or self.shares(a.buffer, key[0])]
            if touching:
                self.store(key, cell)
            if any(a.write for a in touching):
                self.cells.pop(key, None)

    # --------------------------------------------------------------- kernels

    def kernel(self, unit: Kernel) -> None:
        if not unit.index and unit.target not in self.buffers:
            self._scalar(unit)
            return
        key = self.key(unit.target, unit.index)
        value = self.expr(unit.expr)
        level = len(self.out) - 1
        if any(isinstance(e, Gather) for e in unit.index):
            self._scatter(unit, key, value, level)
            return
        if unit.accumulates:
            self._accumulate(unit, key, value, level)
            return
        if isinstance(value, Var) and value.name in self.sums:
            value = self.assign("alias", (value,), Type(unit.dtype), level)
        self._displace(key)
        if not self._in_memory(unit.target):
            value = self._named(unit, value, level)
        self.cells[key] = Cell(value, level, dirty=self._in_memory(unit.target))

    def _scatter(self, unit: Kernel, key: Key, value: Operand, level: int) -> None:
        """A store at a position that was read: at once, since nothing is known of where it goes."""
        self._displace(key)
        self.cells.pop(key, None)
        target, index = Var(self.allocated(unit.target)), self.subscript(key[1], level)
        self.out[-1].append(Store(target, index, value, "add" if unit.accumulates else "set", unit.loc))

    def _named(self, unit: Kernel, value: Operand, level: int) -> Operand:
        """Keep the user's name for a local that was an array of his."""
        if unit.target.startswith("_") or not isinstance(value, Var) or not value.name.startswith("_t") or not self.out[-1]:
            return value
        last = self.out[-1][-1]
        if not isinstance(last, Assign) or last.targets != (value,) or value.name not in self.own:
            return value  # what the program itself names may be read elsewhere
        local = self.fresh(self._local_name(unit.target, level), self.types[value.name], level)
        self.out[-1][-1] = Assign((local,), last.op, last.args, last.kwargs, unit.loc)
        for table in self.memo:
            for key, var in table.items():
                if var == value:
                    table[key] = local
        for cell in self.cells.values():
            if cell.value == value:
                cell.value = local
        return local

    def _scalar(self, unit: Kernel) -> None:
        target = Var(unit.target)
        note = unit.note if len(self.out) == 1 else None
        self.levels.setdefault(unit.target, len(self.out) - 1)
        value = self.expr(unit.expr)
        if unit.accumulates:
            self.out[-1].append(Assign((target,), MODES[unit.mode], (target, value), loc=unit.loc, note=note))
            return
        self.out[-1].append(Assign((target,), "alias", (value,), loc=unit.loc, note=note))

    def _accumulate(self, unit: Kernel, key: Key, value: Operand, level: int) -> None:
        cell = self.cells.get(key)
        if cell is not None and isinstance(cell.value, Var) and cell.value.name in self.sums and not cell.addend:
            self.out[-1].append(Assign((cell.value,), MODES[unit.mode], (cell.value, value), loc=unit.loc))
            cell.dirty = self._in_memory(unit.target)
            return
        if cell is None and unit.mode in ("add", "radd") and self._in_memory(unit.target):
            self._displace(key)
            self.cells[key] = Cell(value, level, dirty=True, addend=True)
            return
        old = self.value(key, unit.target, unit.index, unit.dtype)
        self._displace(key)
        op = "np.add" if unit.mode == "radd" else MODES[unit.mode]
        new = self.assign(op, (old, value), Type(unit.dtype), level)
        self.cells[key] = Cell(new, level, dirty=self._in_memory(unit.target))

    # ----------------------------------------------------------------- cells

    def key(self, buffer: str, index: Index) -> Key:
        kept = self.kept.get(buffer)
        return buffer, index if kept is None else tuple(e for e, keep in zip(index, kept, strict=True) if keep)

    def _in_memory(self, buffer: str) -> bool:
        kept = self.kept.get(buffer)
        return kept is None or any(kept)

    def value(self, key: Key, buffer: str, index: Index, dtype: str) -> Operand:
        """The value of an array element, loaded if need be."""
        cell = self.cells.get(key)
        if cell is not None and not cell.addend:
            return cell.value
        if not self._in_memory(buffer):
            raise InternalError(f"the local {buffer} is read before it is assigned")
        self._displace(key, reading=True)
        level = self._load_level(buffer, index)
        loaded = self.assign("getitem", (Var(self.allocated(buffer)), self.subscript(key[1], level)), Type(dtype), level)
        if cell is not None:
            loaded = self.assign("np.add", (loaded, cell.value), Type(dtype), cell.level)
            self.cells[key] = Cell(loaded, cell.level, dirty=True)
        else:
            self.cells[key] = Cell(loaded, level)
        return loaded

    def _load_level(self, buffer: str, index: Index) -> int:
        level = max((self._entry_level(e) for e in index), default=0)
        for depth, writes in enumerate(self.open):
            if any(a.buffer == buffer or self.shares(a.buffer, buffer) for a in writes):
                level = max(level, depth + 1)
        return level

    def _entry_level(self, entry: Entry) -> int:
        if isinstance(entry, Axis):
            return entry.depth + 1
        if isinstance(entry, Gather):
            return len(self.out) - 1
        return self.level(entry.operand) if isinstance(entry, Given) else 0

    def _displace(self, key: Key, reading: bool = False) -> None:
        """Before an access: other elements that may be the same place go to memory, and are forgotten before a write."""
        for other, cell in list(self.cells.items()):
            if other == key or not (other[0] == key[0] or self.shares(other[0], key[0])):
                continue
            if other[0] == key[0] and disjoint(other[1], key[1]):
                continue
            self.store(other, cell)
            if not reading:
                self.cells.pop(other, None)

    def store(self, key: Key, cell: Cell) -> None:
        """Write an element to memory if it is not there yet."""
        if not cell.dirty:
            return
        target = Var(self.allocated(key[0]))
        index = self.subscript(key[1], cell.level)
        self.out[cell.level].append(Store(target, index, cell.value, "add" if cell.addend else "set"))
        cell.dirty = False
        if cell.addend:
            self.cells.pop(key, None)

    def flush(self, level: int = 0) -> None:
        """Write pending elements of a level and of those inside it."""
        for key, cell in list(self.cells.items()):
            if cell.level >= level:
                self.store(key, cell)

    # ----------------------------------------------------------- expressions

    def expr(self, expr: Expr) -> Operand:
        if isinstance(expr, Lit):
            return expr.operand
        if isinstance(expr, Extent):
            return self.extent(expr.dim)
        if isinstance(expr, Position):
            return self.position(expr.axis, expr.axis.depth + 1)
        if isinstance(expr, Load):
            if not expr.index and expr.buffer not in self.buffers:
                return Var(expr.buffer)
            return self.value(self.key(expr.buffer, expr.index), expr.buffer, expr.index, expr.dtype)
        args = tuple(self.expr(a) for a in expr.args)
        level = max((self.level(a) for a in args), default=0)
        known = (expr.op, args, expr.dtype)
        found = self.memo[level].get(known)
        if found is None or any(n in self.sums for a in args for n in operand_vars(a)):
            found = self._call(expr, args, level)
            self.memo[level][known] = found
        return found

    def _call(self, expr: Call, args: tuple[Operand, ...], level: int) -> Var:
        type_ = Type(expr.dtype, weak=expr.weak)
        if expr.op != "select":
            vector = level > 0 and expr.dtype in ("float64", "float32")
            return self.assign(operation(expr.op).vector or expr.op if vector else expr.op, args, type_, level)
        result = self.fresh("_t", type_, level)
        then, orelse = (Assign((result,), "alias", (a,)) for a in args[1:])
        self.out[level].append(If(args[0], (then,), (orelse,)))
        return result

    def subscript(self, index: Index, level: int) -> Operand:
        places = tuple(self.place(e, level) for e in index)
        return places[0] if len(places) == 1 else Pack(places)

    def place(self, entry: Entry, level: int) -> Operand:
        if isinstance(entry, Axis):
            return self.position(entry, level)
        if isinstance(entry, Fixed):
            return self.extent(entry.position, level)
        return entry.operand if isinstance(entry, Given) else self.expr(entry.expr)

    def _local_name(self, buffer: str, level: int) -> str:
        return f"{buffer.strip('_')}_{''.join(self.loops[d] for d in range(level))}".rstrip("_") if not buffer.startswith("_") else "total"
