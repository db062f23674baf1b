"""Whose numbers variables hold: Python's, which raise where they are divided by zero, or NumPy's, which do not.

    m = 1.0                         m = 1.0
                                    m_own = True
    if c:                  ->       if c:
        m = x[1]                        m = x[1]
                                        m_own = False

Where a variable holds both, in one run or another, a flag beside it says which. Flags are written only of variables that a statement which may
raise reads, and of those that they are made of. What arithmetic gives is Python's where all its operands are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from stgrad.analysis.alias import sharing
from stgrad.analysis.conditions import BOOL, Maker
from stgrad.ir import Assign, Block, Const, Custom, Function, Operand, Stmt, Store, Type, Var, assigned, map_blocks, walk
from stgrad.ir.ops import operation

Kinds = frozenset[bool]  # of whom a number may be: Python's (True), NumPy's
TypeOf = Callable[[Operand], Type | None]
DIVISIONS = ("/", "//", "%", "**")


class Items(NamedTuple):
    """What the front end knows of lists of run-time length, whose memory does not say of whom their numbers are."""

    memory: Mapping[str, str]  # numbers that are items of lists, or sums of items, and the memory of the list
    own: frozenset[str]  # the memory of lists that `tolist` made


NO_ITEMS = Items({}, frozenset())


def with_flags(fn: Function, items: Items, maker: Maker, type_of: TypeOf) -> tuple[Block, dict[str, Operand]]:
    """The program with flags of the numbers that may be of either kind and may raise; and, where the type does not say so, whether a number is Python's."""
    sources = _sources(fn)
    kinds = _kinds(fn, sources, items, type_of)
    both = {name for name, found in kinds.items() if len(found) > 1}
    read = {a.name for s in walk(fn.body) if isinstance(s, Assign) and operation(s.op).symbol in DIVISIONS for a in s.args if isinstance(a, Var)}
    wanted = _closure(read & both, both, sources)
    own: dict[str, Operand] = {name: Const(not fn.types[name].weak) for name, found in kinds.items() if found == {not fn.types[name].weak}}
    for name in sorted(wanted):
        flag = own[name] = Var(maker.names.fresh(f"{name.lstrip('_')}_own"))
        maker.types[flag.name] = BOOL
    return (_flagged(fn.body, own, kinds, maker, type_of) if wanted else fn.body), own


def _sources(fn: Function) -> dict[str, list[Assign]]:
    """The statements that bind each number; of one that something else binds too, none."""
    found: dict[str, list[Assign]] = {}
    other = {p.name for p in fn.params}
    for stmt in walk(fn.body):
        if isinstance(stmt, Assign) and len(stmt.targets) == 1 and not fn.types[stmt.target.name].array:
            found.setdefault(stmt.target.name, []).append(stmt)
        elif isinstance(stmt, Custom):
            other |= assigned((stmt,))  # what it binds is seen behind it by its outputs alone
    return {name: stmts for name, stmts in found.items() if name not in other}


def _kinds(fn: Function, sources: Mapping[str, list[Assign]], items: Items, type_of: TypeOf) -> dict[str, Kinds]:
    kinds: dict[str, Kinds] = {name: frozenset() for name in sources}
    put = _put(fn, items) if items.memory else {}
    changed = True
    while changed:
        changed = False
        for name, stmts in sources.items():
            stored = put.get(items.memory[name]) if name in items.memory else None
            found = _stored(stored, kinds, type_of) if stored is not None else frozenset().union(*(_made(s, kinds, fn.types, type_of) for s in stmts))
            changed |= not found <= kinds[name]
            kinds[name] |= found
    return kinds


def _put(fn: Function, items: Items) -> dict[str, list[Operand] | None]:
    """For the memory of each list what numbers are put there, as operands of their kinds; none where something else writes there."""
    classes = sharing(fn)
    found: dict[str, list[Operand] | None] = {classes.find(m): [] for m in items.memory.values()}
    for stmt in walk(fn.body):
        name = stmt.target.name if isinstance(stmt, Store) or isinstance(stmt, Assign) and len(stmt.targets) == 1 else ""
        put = found.get(classes.find(name)) if name and fn.types[name].array else None
        if put is None:
            continue
        match stmt:
            case Assign(op="np.copy") if name in items.own:
                put.append(Const(1.0))
            case Assign(op=op) if op in ("alias", "np.empty") or operation(op).views:
                pass
            case Store(mode="set", value=Var(name=value)) if not fn.types[value].array:
                put.append(Var(value))
            case Store(mode="set", value=Const() as constant):
                put.append(constant)
            case _:
                found[classes.find(name)] = None
    return {m: found[classes.find(m)] for m in items.memory.values()}


def _stored(stored: list[Operand], kinds: Mapping[str, Kinds], type_of: TypeOf) -> Kinds:
    """Of whom the items of a list are: Python's where all that is put there is."""
    found: Kinds = frozenset().union(*(_of(o, kinds, type_of) for o in stored))
    return found if found <= {True} else frozenset({False})


def _made(stmt: Assign, kinds: Mapping[str, Kinds], types: Mapping[str, Type], type_of: TypeOf) -> Kinds:
    """Of whom the number may be that a statement makes."""
    declared = frozenset({types[stmt.target.name].weak})
    if not _passes_on(stmt):
        return declared
    args = [_of(a, kinds, type_of) for a in stmt.args]
    if not all(args):
        return frozenset()  # not known yet
    found = frozenset(own for own in (True, False) if (all(own in a for a in args) if own else any(own in a for a in args)))
    called = all(t is not None and t.weak for t in map(type_of, stmt.args))  # np.add(1.0, 2.0) is NumPy's
    return declared if stmt.op != "alias" and found == {True} and called else found


def _passes_on(stmt: Assign) -> bool:
    known = operation(stmt.op)
    return stmt.op == "alias" or known.kind == "arithmetic" and known.symbol is not None and known.python is not None


def _of(operand: Operand, kinds: Mapping[str, Kinds], type_of: TypeOf) -> Kinds:
    if isinstance(operand, Var) and operand.name in kinds:
        return kinds[operand.name]
    type_ = type_of(operand)
    return frozenset({type_ is not None and type_.weak and not type_.array})


def _closure(wanted: set[str], both: set[str], sources: Mapping[str, list[Assign]]) -> set[str]:
    """Those whose flags the wanted ones are made of, too."""
    found, left = set(wanted), list(wanted)
    while left:
        for stmt in sources[left.pop()]:
            new = {a.name for a in stmt.args if isinstance(a, Var)} & both - found if _passes_on(stmt) else set()
            found |= new
            left += new
    return found


def _flagged(block: Block, flags: Mapping[str, Operand], kinds: Mapping[str, Kinds], maker: Maker, type_of: TypeOf) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        out.append(map_blocks(lambda b: _flagged(b, flags, kinds, maker, type_of), stmt))
        flag = flags.get(stmt.target.name) if isinstance(stmt, Assign) and len(stmt.targets) == 1 else None
        if isinstance(flag, Var) and isinstance(stmt, Assign):
            made = _made(stmt, kinds, maker.types, type_of)
            own = Const(True in made) if len(made) == 1 else _all([flags[a.name] for a in stmt.args if isinstance(a, Var) and a.name in flags], maker, out)
            out.append(replace(Assign((flag,), "alias", (own,)), loc=stmt.loc))
    return tuple(out)


def _all(flags: Iterable[Operand], maker: Maker, out: list[Stmt]) -> Operand:
    """Whether all flags are set."""
    first, *rest = [f for f in dict.fromkeys(flags) if isinstance(f, Var)]
    for flag in rest:
        first = maker.made("np.logical_and", (first, flag), BOOL, out)
    return first
