"""Runs of array statements to loop nests, block by block.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def move(u, v):
    ...     u[1:] += 0.1 * v[:-1]
    ...     return u
    >>> show_pass("loops", stgrad.jit(move), np.ones(4), np.ones(4))
    t = v.shape[0] - 1
    t2 = u.shape[0] - 1
    if t != t2:
        raise ValueError('operands could not be broadcast together (line 2: u[1:] += 0.1 * v[:-1])')
    u[1:] += 0.1 * v[:-1]
    return u
    ->
    n = v.shape[0]
    n_2 = u.shape[0]
    if n != n_2:
        raise ValueError('operands could not be broadcast together (line 2: u[1:] += 0.1 * v[:-1])')
    t = n_2 - 1
    t2 = n_2 - 1
    for i in range(n_2 - 1):
        u[i + 1] += 0.1 * v[i]
    return u
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stgrad.analysis.affine import Affine
from stgrad.analysis.alias import OwnClasses, aliases
from stgrad.analysis.definitions import Definitions, definitions
from stgrad.analysis.extents import fixed_parameters, parameter_extents
from stgrad.analysis.integers import Integers
from stgrad.analysis.liveness import live_at_end, live_before
from stgrad.ir import (
    Assign,
    Block,
    Custom,
    Dim,
    For,
    Function,
    If,
    Stack,
    Stmt,
    Store,
    Type,
    Var,
    While,
    assigned,
    assigns,
    map_blocks,
    operand_vars,
    reads,
    stored,
    walk,
)
from stgrad.names import Names
from stgrad.transforms.lower import creation, reductions  # noqa: F401  (they register handlers)
from stgrad.transforms.lower.contract import contract
from stgrad.transforms.lower.copies import forward_copies
from stgrad.transforms.lower.emit import Emitter
from stgrad.transforms.lower.fuse import Memory, fuse
from stgrad.transforms.lower.gather import gather
from stgrad.transforms.lower.indexing import scatter
from stgrad.transforms.lower.nest import ZERO, Guard, Kernel, Node, Raw, Unit, extents_of
from stgrad.transforms.lower.raised import guarded, raised
from stgrad.transforms.lower.scalarise import Bound, Scalariser
from stgrad.transforms.lower.settled import settled
from stgrad.transforms.lower.slices import add, again, inputs, slice_of
from stgrad.transforms.lower.substitute import substitute
from stgrad.transforms.lower.tested import TestedExtents
from stgrad.transforms.lower.versions import number
from stgrad.transforms.lower.writer import LoopNames, Workspace

Loops = tuple[For | While, ...]  # around a block, outermost first


@dataclass
class Context:
    """What all runs of a function share."""

    types: dict[str, Type]
    names: Names
    classes: OwnClasses
    loops: LoopNames
    sources: Mapping[str, tuple[str, int | None, int]]
    fixed: frozenset[str]
    written: frozenset[str]  # arrays that are written in place
    definitions: Definitions
    settled: Mapping[str, Affine]
    moving: frozenset[str | None] = frozenset()  # symbols of the arrays that a loop binds anew
    without: frozenset[str] = frozenset()  # see `SWITCHES`
    prelude: dict[tuple[str, int], Assign] = field(default_factory=dict)  # extents of parameters, read at the top
    pool: dict[tuple[object, ...], list[Workspace]] = field(default_factory=dict)
    top: list[Stmt] = field(default_factory=list)  # workspaces that loops use in every trip


ROUNDS = 20  # of the search for checks that can come first
SWITCHES = frozenset({"copies", "substitute", "gather", "fuse", "contract"})  # parts that can be left out


def to_loops(fn: Function, without: frozenset[str] = frozenset()) -> Function:
    """Array statements as loop nests; `without` names those of `SWITCHES` that are left out."""
    types = dict(fn.types)
    names = Names([*types, *(p.name for p in fn.params), *(s.name for s in walk(fn.body) if isinstance(s, Stack))])
    classes = aliases(fn).own()
    written = frozenset(stored(fn.body))
    context = Context(
        types, names, classes, LoopNames(names), parameter_extents(fn), fixed_parameters(fn), written, definitions(fn), settled(fn), moving(fn), without
    )
    body = _read_first(context, block(context, fn.body, frozenset(operand_vars(fn.result)) | fn.written, {}))
    return replace(fn, body=(*context.prelude.values(), *context.top, *body), types=types)


def _read_first(context: Context, statements: Block) -> Block:
    """Sums that stay with Numba, which adds item by item, with a copy of what is read from the memory that is added to: `x[::-1] += x[1:3]`."""
    out: list[Stmt] = []
    for stmt in statements:
        added = stmt.value if isinstance(stmt, Store) and stmt.mode == "add" else None
        if isinstance(stmt, Store) and isinstance(added, Var) and context.types[added.name].rank and context.classes.same(added.name, stmt.target.name):
            copy = Var(context.names.fresh("_t"))
            context.types[copy.name] = context.types[added.name]
            out.append(Assign((copy,), "np.copy", (added,), loc=stmt.loc))
            stmt = replace(stmt, value=copy)
        out.append(map_blocks(lambda b: _read_first(context, b), stmt))
    return tuple(out)


def moving(fn: Function) -> frozenset[str | None]:
    """Symbols of arrays that are bound in a loop and elsewhere too: they have another value in front of the loop, and may have one behind it."""
    counts = definitions(fn).counts
    bound = {n for s in walk(fn.body) if isinstance(s, (For, While)) for n in assigned((s,))}
    return frozenset(d.symbol for n in bound if counts[n] > 1 for d in fn.types[n].dims if d.symbol is not None)


def block(context: Context, statements: Block, live: frozenset[str], equal: Mapping[str, Dim], loops: Loops = ()) -> Block:
    """Lower a block; `live` are the names read after it, `equal` what earlier checks found to be equal."""
    known = dict(equal)
    result: list[Stmt] = []
    for part, after in reversed(parts(statements, live)):
        if isinstance(part, list):
            result += lower_run(context, part, after, known, loops)
            continue
        if isinstance(part, For) and (nest := lower_nest(context, part, after, known, loops)) is not None:
            result += nest
            continue
        inner = live_at_end(part, after) | set(reads(part)) if isinstance(part, (For, While)) else after
        around = (*loops, part) if isinstance(part, (For, While)) else loops
        result.append(map_blocks(lambda b, inner=inner, around=around: block(context, b, inner, known, around), part))  # type: ignore[misc]
    return tuple(result)


def parts(statements: Block, live: frozenset[str]) -> list[tuple[list[Stmt] | Stmt, frozenset[str]]]:
    """Straight runs and compound statements, last first, each with the names that are live behind it."""
    found: list[tuple[list[Stmt] | Stmt, frozenset[str]]] = []
    run: list[Stmt] = []
    after = live
    for stmt in reversed(statements):
        if isinstance(stmt, (If, For, While, Custom, Stack)):
            found += [(run, after)] if run else []
            found.append((stmt, live))
            run = []
        else:
            run.insert(0, stmt)
        live = live_before((stmt,), live)
        if not run:
            after = live
    return [*found, (run, after)] if run else found


def lower_run(context: Context, run: Sequence[Stmt], live: frozenset[str], known: dict[str, Dim], loops: Loops) -> list[Stmt]:
    """One straight run of statements; unchanged if nothing in it becomes a loop."""
    if not any(context.types[n].array for s in run if isinstance(s, (Assign, Store)) for n in (*reads(s), *assigns(s))):
        return list(run)
    numbered, back = number(run, live, context.types, context.names, context.classes)
    extents = TestedExtents(context.names, context.types, dict(context.sources), frozenset(context.sources), dict(known))
    state = scalarised(context, numbered, back, live, extents, loops)
    if not any(isinstance(unit, Kernel) and (unit.space or unit.target in state.buffers) for unit in state.units):
        return list(run)
    back = keep_live(state, numbered, back, live)
    needed = live | {n for s in back for n in reads(s)}
    lowered = emitted(context, drop_dead(state, needed), state, needed, loops)
    known.update({a: b for a, b in state.extents.equal.items() if {a, b.symbol} <= {*context.sources, None}})
    return [*lowered, *back]


def lower_nest(context: Context, loop: For, live: frozenset[str], known: dict[str, Dim], loops: Loops) -> list[Stmt] | None:
    """A nest of loops that scatters, as element statements like those of arrays."""
    if "gather" in context.without or "fuse" in context.without:
        return None
    extents = TestedExtents(context.names, context.types, dict(context.sources), frozenset(context.sources), dict(known))
    state = looking(context, extents, live, loops)
    units = raised(loop, live, state)
    if units is None:
        return None
    return guarded(loop, emitted(context, units, state, live, loops), state)


def emitted(context: Context, units: list[Unit], state: Scalariser, live: frozenset[str], loops: Loops) -> list[Stmt]:
    """Element statements as loops; `live` are the names read after them."""
    tree = fused(context.without, units, state)
    kept = {} if "contract" in context.without else contract(tree, state.buffers)
    top = context.top if loops else None
    emitter = Emitter(
        context.types,
        context.names,
        context.loops,
        state.extents,
        state.buffers,
        kept,
        context.fixed,
        context.prelude,
        top,
        state.hoistable(live),
        context.pool,
        shares=state.shares,
    )
    return emitter.run(tree)


def fused(without: frozenset[str], units: list[Unit], state: Scalariser) -> list[Node]:
    """The element statements as a tree of loops."""
    if "copies" not in without:
        units = forward_copies(units, state.buffers)
    if "substitute" not in without:
        units = substitute(units, state.buffers, Memory(state.place))
    if "gather" not in without:
        units = gather(units, state)
    units = with_needs(units, state)
    if "fuse" not in without:
        return fuse(units, Memory(state.place))
    return [node for unit in units for node in fuse([unit], Memory(state.place))]


def looking(context: Context, extents: TestedExtents, live: frozenset[str], loops: Loops) -> Scalariser:
    """A look at a run from its start."""
    known = replace(extents, sources=dict(extents.sources), equal=dict(extents.equal))
    integers = Integers(context.types, context.definitions, known, tuple(loop for loop in loops if isinstance(loop, For)), context.settled)
    state = Scalariser(
        context.types, context.names, context.classes, known, integers, slice_of, add, bool(loops), context.moving, scatter, context.written, live
    )
    integers.values = state.values
    return state


def scalarised(
    context: Context, run: Sequence[Stmt], back: Sequence[Stmt], live: frozenset[str], extents: TestedExtents, loops: Loops
) -> Scalariser:
    """The element statements of a run. Checks of extents that are known before it come first, so that all of it may rely on them."""
    guards: list[Guard] = []
    before: set[str] = set()
    bounds: Mapping[str, Bound] = {}
    bound = {n for s in run for n in assigns(s)}
    for _ in range(ROUNDS):
        state = looking(context, extents, live, loops)
        state.later.update(n for s in (*run, *back) for n in reads(s))
        state.later.update(live)
        state.see(sorted(before))
        for guard in guards:
            state.see(w for w in guard.witnesses if w not in bounds)
            if guard.b is not None:
                state.extents.check(again(state, bounds, guard.a), again(state, bounds, guard.b), state, guard.message, guard.floors)
        for stmt in run:
            state.statement(stmt)
        made = {""} | bound | state.kept | {n for u in state.units if isinstance(u, Raw) for n in assigns(u.stmt)}  # lowering makes names too
        bounds = {n: b for n, b in state.bounds.items() if not made & inputs(state, b)}
        early = [u for u in state.units if isinstance(u, Guard) and u.b is not None and not made.intersection(u.witnesses) - bounds.keys()]
        if len(early) == len(guards):
            break
        guards = early
        before = {n for g in guards for w in g.witnesses if w in bounds for n in inputs(state, bounds[w]) if n in context.types}
    return state


def with_needs(units: Iterable[Unit], state: Scalariser) -> list[Unit]:
    """Statements that know on which arrays and checks their extents rely, and those of the arrays that they write to: each may be the first to do so.

    Behind a check, an extent of a parameter may stand for the one that was compared with it: then it is no longer known before the run.
    """
    trusted = set(state.extents.trusted)
    defined: set[str] = set()
    result: list[Unit] = []
    for unit in units:
        if isinstance(unit, Guard):
            compared = {d.symbol for d in (unit.a, unit.b) if d is not None and d.symbol is not None}
            trusted -= compared if unit.b is not None and not compared <= state.extents.trusted else set()  # checks of parameters alone come first
        if isinstance(unit, Kernel):
            unit = replace(unit, needs=_told_by((*extents_of(unit), *_made_dims(state, unit.target)), state, trusted))
            defined.add(unit.target)
        if isinstance(unit, Raw):  # an array without elements has no definition: who reads it first makes it
            dims = [d for name in unit.reads if name not in defined for d in _made_dims(state, name)]
            unit = replace(unit, reads=tuple(dict.fromkeys((*unit.reads, *_told_by(dims, state, trusted)))))
        result.append(unit)
    return result


def _made_dims(state: Scalariser, name: str) -> tuple[Dim, ...]:
    """The extents of an array that is made here."""
    made = state.buffers.get(name)
    return made.dims if made is not None and made.local else ()


def _told_by(dims: Iterable[Dim], state: Scalariser, trusted: set[str]) -> tuple[str, ...]:
    """The arrays that tell extents, and the checks that say which."""
    symbols = sorted({d.symbol for d in dims if d.symbol is not None} - trusted)
    sources = state.extents.sources
    return (*(sources[s][0] for s in symbols if s in sources), *(f"extent {s}" for s in symbols))


def keep_live(state: Scalariser, run: Sequence[Stmt], back: list[Assign], live: frozenset[str]) -> list[Assign]:
    """Make sure that what is read later is in memory under its name."""
    result = []
    for name in dict.fromkeys(n for s in run for n in assigns(s)):
        if name not in live or not state.types[name].array:
            continue
        made = state.in_memory(name)
        if made.name != name:
            result.append(Assign((Var(name),), "alias", (made,)))
    for stmt in back:
        (source,) = stmt.args
        assert isinstance(source, Var)
        result.append(replace(stmt, args=(state.in_memory(source.name),)))
    return result


def drop_dead(state: Scalariser, live: frozenset[str]) -> list[Unit]:
    """Leave out definitions of own buffers that nothing reads, and what runs over an axis without elements."""
    wanted: set[str] = set()
    result: list[Unit] = []
    for unit in reversed(state.units):
        if isinstance(unit, Kernel):
            buffer = state.buffers.get(unit.target)
            if ZERO in unit.space or buffer is not None and not buffer.escapes and unit.target not in wanted:
                continue
        wanted.update(a.buffer for a in unit.accesses() if not (a.write and isinstance(unit, Kernel)))
        result.insert(0, unit)
    return result
