"""Derivative rules of functions in the mode that they were not written for: pullbacks and tangents, transposed.

    x_bar = P y_bar    ->    y_dot = P^T x_dot    and back

Both are linear, and reverse mode of a linear map is its transpose. A rule that is not linear is refused; but the pullback of a `custom_gradient`
that clips is transposed where the cotangents are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

from stgrad import errors
from stgrad.analysis.alias import Classes, sharing
from stgrad.analysis.liveness import result_names
from stgrad.frontend.builder import Builder, last_symbol
from stgrad.frontend.values import Sym, Value, operand_of
from stgrad.ir import (
    NONE,
    Assign,
    Block,
    Const,
    Custom,
    Effect,
    Function,
    Operand,
    Pack,
    Pop,
    Push,
    Stmt,
    Store,
    Type,
    Var,
    assigned,
    entries_of,
    map_blocks,
    operand_vars,
    read,
    rename,
    rule_binds,
    rule_reads,
    walk,
)
from stgrad.ir import Stack as StackStmt
from stgrad.ir.ops import contents
from stgrad.transforms.adjoints import Splice, written_bars
from stgrad.transforms.dead import eliminate_dead
from stgrad.transforms.regions import opened
from stgrad.transforms.reverse import reverse
from stgrad.transforms.tangents import zero_of

_BY_EQUATION = frozenset({"custom_root", "custom_linear_solve"})  # what a solver starts with does not change what it finds


def transposed(builder: Builder, splice: Splice, stmt: Custom, dots: Sequence[Value]) -> list[Value]:
    """The tangents of the outputs, written into `builder`; `dots` are those of the inputs, None for zero."""
    chosen = [i for i, (dot, result) in enumerate(zip(dots, stmt.results, strict=True)) if dot is not None and isinstance(result, Var)]
    floats = [b.name for b in stmt.bars if builder.types[b.name].is_float]
    if not chosen or not floats:
        return [None] * len(stmt.outputs)
    pullback = _of_results(builder, stmt, stmt.pullback, stmt.bars, chosen)
    known = [p.name for p in pullback.params]
    program = reverse(pullback, floats, splice, seeds=True)
    if stmt.rule == "linear":
        program = _linear(program, floats, stmt)
    builder.symbols = max(builder.symbols, last_symbol(program.types.values()))
    names = _instance(builder, stmt, program)
    for bar, output in zip(stmt.bars, stmt.outputs, strict=True):
        _zero(builder, names[bar.name], output)
    seeds = [p.name for p in program.params if p.name not in known]
    for name, i in zip(seeds, chosen, strict=True):
        builder.copy_to(Sym(Var(names[name]), builder.types[names[name]]), dots[i])
    for new in rename(program.body, names):
        builder.out.append(new)
    results = iter(entries_of(program.result))
    return [_value(builder, names, next(results)) if b.name in floats else None for b in stmt.bars]


def pushed(builder: Builder, stmt: Custom, dots: Sequence[Value]) -> list[Value]:
    """The tangents of the outputs by a forward rule, written into `builder`; `dots` are those of the inputs, None for zero."""
    if all(dot is None for dot in dots):
        return [None] * len(stmt.outputs)
    own = rule_binds(stmt.pullback) | {b.name for b in stmt.bars} | {s.name for s in walk(stmt.pullback) if isinstance(s, StackStmt)}
    names = {n: builder.variable(n, builder.types[n]).name for n in sorted(own)}
    for bar, source, dot in zip(stmt.bars, stmt.inputs, dots, strict=True):
        target = Sym(Var(names[bar.name]), builder.types[names[bar.name]])
        if dot is None:
            builder.out.append(_nothing(target, source))
        elif target.type.array and bar.name in written_bars(stmt, builder.types):
            builder.assign(target, "np.copy", operand_of(dot))
        else:
            builder.copy_to(target, dot)
    builder.out.extend(rename(stmt.pullback, names))
    return [_value(builder, names, result) for result in stmt.results]


def pulled(builder: Builder, splice: Splice, stmt: Custom, active: Set[str]) -> Custom:
    """The same region with a pullback in place of its forward rule: the rule transposed, for the inputs that are active."""
    chosen = [i for i, source in enumerate(stmt.inputs) if isinstance(source, Var) and source.name in active]
    kept = [i for i, result in enumerate(stmt.results) if isinstance(result, Var)]
    bars = [builder.variable(f"{o.name}_bar", replace(builder.types[o.name], value=None)) for o in stmt.outputs]
    flat = tuple(Var(b.name) for b in bars)
    if not chosen or not kept:
        return replace(stmt, rule="pullback", bars=flat, pullback=(), results=(NONE,) * len(stmt.inputs))
    still = tuple(_nothing(_sym(builder, bar), stmt.inputs[i]) for i, bar in enumerate(stmt.bars) if i not in chosen)
    tangent = _of_results(builder, stmt, (*still, *stmt.pullback), [stmt.bars[i] for i in chosen], kept)
    dots = [stmt.bars[i].name for i in chosen]
    known = {p.name for p in tangent.params}
    program = _linear(reverse(tangent, dots, splice, seeds=True), dots, stmt)
    builder.symbols = max(builder.symbols, last_symbol(program.types.values()))
    seeds = [p.name for p in program.params if p.name not in known]
    given = [Assign((Var(seed),), "alias", (flat[i],), (), stmt.loc) for seed, i in zip(seeds, kept, strict=True)]
    builder.types.update({n: t for n, t in program.types.items() if n not in builder.types})
    builder.names.reserve(program.types)
    like = [_nothing(_sym(builder, stmt.bars[i]), stmt.inputs[i]) for i in chosen]  # whose shape the program asks for
    found = iter(entries_of(program.result))
    results = tuple(next(found) if i in chosen else NONE for i in range(len(stmt.inputs)))
    return replace(stmt, rule="pullback", bars=flat, pullback=(*given, *like, *program.body), results=results)


def settled(block: Block) -> Block:
    """A program that has been reversed: what had a reverse rule has been differentiated by it, and may be in either mode now, if the rule is linear."""
    return tuple(new for stmt in block for new in _settled(map_blocks(settled, stmt)))


def _settled(stmt: Stmt) -> tuple[Stmt, ...]:
    if not isinstance(stmt, Custom) or stmt.rule not in ("vjp", "once"):
        return (stmt,)
    return stmt.body if stmt.rule == "once" else (replace(stmt, rule="linear"),)


def check_region(stmt: Custom, active: Set[str], types: Mapping[str, Type], mode: str, owns: Callable[[str], bool]) -> None:
    """Refuse regions that the rule does not describe, or not in this mode.

    `owns`: whether the program writes to the memory of an array. Raises NotDifferentiableError, AliasingError.
    """
    owner = f"`{stmt.owner}`" if stmt.owner else "the function"
    if mode == "forward" and stmt.rule in ("vjp", "once"):
        what = "a block of `insert_grad_of`" if stmt.owner == "insert_grad_of" else f"{owner}, which has a reverse rule (custom_vjp)"
        raise errors.NotDifferentiableError(f"forward mode of {what}", stmt.loc, hint="use reverse mode, or give it a forward rule: custom_jvp")
    if stmt.rule == "refused":
        raise errors.NotDifferentiableError(
            f"the derivative of {owner} is asked for inside of its own rule, too often",
            stmt.loc,
            reason="the rule calls its function with other arguments, and is followed to the third order",
            hint="let the rule call another function, with a rule of its own",
        )
    given = {n for source in stmt.inputs for n in operand_vars(source)}
    inside = {n for s in walk(stmt.body) for n in contents(s)}
    fixed = {n for operand in stmt.fixed for n in operand_vars(operand)}
    if stmt.owner in _BY_EQUATION:
        inside = set()
    around = ((inside - assigned(stmt.body) - given) | fixed) & active
    if around and stmt.owner:
        raise errors.NotDifferentiableError(
            f"{owner} reads `{min(around)}`, which the derivative depends on, without having it as an argument that its rule knows",
            stmt.loc,
            reason="a rule gives derivatives in arguments alone, and not in those of nondiff_argnums",
            hint="pass it as an argument",
        )
    _no_writes(stmt, given, types, owner)
    _no_shared_memory(stmt, given, types, owner, owns)


def _no_writes(stmt: Custom, given: Set[str], types: Mapping[str, Type], owner: str) -> None:
    """Refuse what is written to outside of the region, or from its rule to the result or to what is around it."""
    if not stmt.owner:
        return
    inside, behind = Classes((*stmt.body, *stmt.pullback), types), Classes(stmt.pullback, types)
    around = {behind.find(n) for n in read(stmt.pullback) - assigned(stmt.pullback) - {b.name for b in stmt.bars} if n in types and types[n].array}
    theirs = {inside.find(n) for n in given if n in types and types[n].array}
    stores = [(s, inside.find(s.target.name) in theirs) for s in walk(stmt.body) if isinstance(s, Store)]
    stores += [(s, behind.find(s.target.name) in around) for s in walk(stmt.pullback) if isinstance(s, Store)]
    for store, outside in stores:
        if outside:
            raise errors.AliasingError(
                f"{owner} or its rule writes to an array that is not its own",
                store.loc or stmt.loc,
                reason="a function with a derivative of its own is differentiated by its rule, which does not tell of that",
                hint="write to a copy of it",
            )


def _no_shared_memory(stmt: Custom, given: Set[str], types: Mapping[str, Type], owner: str, owns: Callable[[str], bool]) -> None:
    """Refuse a result that is an argument, or a view of one, and is written to: the two would have one adjoint."""
    written = [o.name for o in stmt.outputs if types[o.name].array and owns(o.name)]
    classes = Classes(stmt.body, types)
    if any(classes.same(o, n) for o in written for n in given if n in types and types[n].array):
        raise errors.AliasingError(
            f"the result of {owner} is its argument, or a view of it, and this memory is written to",
            stmt.loc,
            reason="each has an adjoint of its own",
            hint="use a copy: " + ("y = x.copy(), and the block for y" if stmt.owner == "insert_grad_of" else "let the function return one"),
        )


def _linear(program: Function, names: Sequence[str], stmt: Custom) -> Function:
    """The transposed rule without what it does not need; refused where its result depends on the value of what it should be linear in."""
    body = eliminate_dead(program.body, result_names(program), program.types)
    plain = eliminate_dead(opened(program.body), result_names(program), program.types)  # without what only further derivatives read
    if _depends(replace(program, body=plain), frozenset(names)):
        owner = f"`{stmt.owner}`" if stmt.owner else "the function"
        what = ("tangent", "tangents") if stmt.rule == "tangent" else ("backward", "cotangents")
        mode = "transposed, as reverse mode does" if stmt.rule == "tangent" else "pushed forward"
        raise errors.NotDifferentiableError(
            f"the {what[0]} rule of {owner} is not linear in its {what[1]}",
            stmt.loc,
            reason=f"only what is linear can be {mode}",
            hint="let it multiply and add them" + ("" if stmt.rule == "tangent" else ", or use reverse mode for both orders: stgrad.jacrev(stgrad.grad(f))"),
        )
    return replace(program, body=body)


def _depends(program: Function, names: Set[str]) -> bool:
    """Whether the result, or the way to it, depends on the values of some parameters, and not on their shapes alone."""
    classes = sharing(program)
    tainted = {classes.find(n) for n in names}
    while True:
        before = set(tainted)
        for inner in walk(program.body):
            if not _values(inner, classes) & tainted:
                continue
            if isinstance(inner, Effect) and inner.op == "print":
                return True
            every = tuple(walk((inner,)))  # with what a condition or a bound decides about
            tainted |= {classes.find(n) for n in assigned((inner,))}
            tainted |= {classes.find(s.stack if isinstance(s, Push) else s.target.name) for s in every if isinstance(s, (Push, Store))}
        if tainted == before:
            return bool({classes.find(n) for n in result_names(program)} & tainted)


def _values(stmt: Stmt, classes: Classes) -> set[str]:
    """What a statement reads the values of."""
    names = contents(stmt) - ({stmt.target.name} if isinstance(stmt, Store) else set())
    return {classes.find(n) for n in names} | ({classes.find(stmt.stack)} if isinstance(stmt, Pop) else set())


def _nothing(target: Sym, source: Operand) -> Assign:
    """Zeros for a variable; of the shape of `source` where it is an array."""
    operation = ("np.zeros_like", (source,)) if target.type.array else ("alias", (Const(zero_of(target.type)),))
    assert isinstance(target.operand, Var)
    return Assign((target.operand,), *operation)


def _sym(builder: Builder, v: Var) -> Sym:
    return Sym(v, builder.types[v.name])


def _of_results(builder: Builder, stmt: Custom, body: Block, first: Sequence[Var], chosen: Sequence[int]) -> Function:
    """A rule as a function of what it is given and of all that it reads."""
    results = tuple(stmt.results[i] for i in chosen)
    own = rule_binds(body) | {v.name for v in first}
    seen = read(body) | rule_reads(body) | {n for r in results for n in operand_vars(r)}
    params = (*first, *(Var(n) for n in sorted(seen - own)))
    return Function("rule", params, body, results[0] if len(results) == 1 else Pack(results), dict(builder.types))


def _instance(builder: Builder, stmt: Custom, program: Function) -> dict[str, str]:
    """Names of its own for what the transposed program binds."""
    own = rule_binds(program.body) | {p.name for p in program.params if p.name not in builder.types} | {b.name for b in stmt.bars}
    own |= {s.name for s in walk(program.body) if isinstance(s, StackStmt)}
    return {n: builder.variable(n, replace(program.types[n], value=None)).name for n in sorted(own)}


def _zero(builder: Builder, name: str, output: Var) -> None:
    target = Sym(Var(name), builder.types[name])
    if target.type.array:
        builder.assign(target, "np.zeros_like", output)
    else:
        builder.copy_to(target, 0.0)


def _value(builder: Builder, names: dict[str, str], result: Operand) -> Value:
    if isinstance(result, Const):
        return result.value
    assert isinstance(result, Var)
    name = names.get(result.name, result.name)
    return Sym(Var(name), builder.types[name])


__all__ = ["check_region", "pulled", "pushed", "settled", "transposed"]
