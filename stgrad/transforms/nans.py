"""`check_nan=True`: behind every statement that computes floats a test that it made no NaN out of numbers.

    y = np.log(x)    ->    y = np.log(x)
                           if runtime.any_nan(y): raise, with the user's line and the operands

It runs on the program at array level, the gradient program as well as any, so each statement has the place of the user's that it stands for.
"""

from __future__ import annotations

from dataclasses import replace

from stgrad.ir import ALL, Assign, Block, Const, Effect, Function, If, Operand, Stmt, Store, Type, Var, entries_of, map_blocks
from stgrad.ir.ops import operation
from stgrad.names import Names

# What hands on or makes room, but computes nothing.


def _moves(op: str) -> bool:
    """Whether an operation computes nothing: a NaN in its result was there before. Memory that is not filled yet holds anything."""
    known = operation(op)
    return known.kind in ("identity", "element", "extent", "cast", "copy", "move", "creation", "like") and known.filled is None


def check_nans(fn: Function) -> Function:
    """The program with a test behind each statement."""
    walker = _Tests(fn)
    body = walker.block(fn.body)
    return replace(fn, body=body, types=walker.types)


class _Tests:
    def __init__(self, fn: Function) -> None:
        self.names, self.types = Names([*fn.types, *(p.name for p in fn.params)]), dict(fn.types)

    def block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.statement(map_blocks(self.block, stmt)))

    def statement(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Assign) and not _moves(stmt.op):
            return self.kept(stmt) if any(self.types[t.name].is_float for t in stmt.targets) else [stmt]
        if isinstance(stmt, Store) and stmt.mode == "add" and self.types[stmt.target.name].is_float and stmt.index != ALL:
            return [stmt, *self.sum_test(stmt)]
        return [stmt]

    def kept(self, stmt: Assign) -> list[Stmt]:
        """The statement and its tests; what it overwrites of its own operands is kept for them."""
        again = {t.name for t in stmt.targets} & {a.name for a in stmt.args if isinstance(a, Var)}
        before: list[Stmt] = []
        new: dict[str, Var] = {}
        for name in sorted(again):
            new[name] = self.fresh(name, self.types[name])
            before.append(Assign((new[name],), "alias", (Var(name),)))
        args = tuple(new.get(a.name, a) if isinstance(a, Var) else a for a in stmt.args)
        checked = replace(stmt, args=args)
        operands = (*args, *(v for _, v in stmt.kwargs))
        return [*before, checked, *(test for t in stmt.targets if self.types[t.name].is_float for test in self.test(checked, stmt.op, t, operands))]

    def sum_test(self, stmt: Store) -> list[Stmt]:
        t = self.types[stmt.target.name]
        entries = entries_of(stmt.index)
        if len(entries) != t.rank or not all(map(self.is_position, entries)):
            return []
        item = self.fresh("_t", Type(t.dtype))
        return [Assign((item,), "getitem", (stmt.target, stmt.index), (), stmt.loc), *self.test(stmt, "a sum", item, (stmt.value,))]

    def is_position(self, entry: Operand) -> bool:
        return isinstance(entry, Const) and isinstance(entry.value, int) or isinstance(entry, Var) and not self.types[entry.name].array

    def test(self, stmt: Assign | Store, op: str, y: Var, operands: tuple[Operand, ...]) -> list[Stmt]:
        found = self.fresh("_c", Type("bool", weak=True))
        flat = [o for operand in operands for o in entries_of(operand)]
        given = tuple(o for o in flat if isinstance(o, Var))
        words = tuple(None if isinstance(o, Var) else str(getattr(o, "value", "a slice")) for o in flat)
        loc = stmt.loc
        place = None if loc is None else (loc.file, loc.line, loc.col, loc.end_col, loc.text, loc.scope)
        sweep = "backward pass" if (stmt.note or "").startswith("grad of") else "program"
        spec = (f"`{op}`", sweep, words, place)
        names = [f"x{i}" for i in range(len(given))]
        text = f"lambda {', '.join(['y', *names])}: runtime.raise_nan({spec!r}, y, ({''.join(f'{n}, ' for n in names)}))"
        raising = Effect("runtime.call_python", (Const(text), Const("None"), y, *given), (), stmt.loc)
        return [Assign((found,), "runtime.any_nan", (y,), (), stmt.loc), If(found, (raising,), (), stmt.loc)]

    def fresh(self, wish: str, t: Type) -> Var:
        name = self.names.fresh(wish)
        self.types[name] = replace(t, value=None)
        return Var(name)


__all__ = ["check_nans"]
