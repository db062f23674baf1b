"""The tangents of a function with a derivative of its own: its pullback, transposed.

    x_bar = P y_bar    ->    y_dot = P^T x_dot

The pullback is linear in the cotangents, and reverse mode of a linear map is its transpose. One that is not linear (it clips) is transposed where
the cotangents are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stgrad.frontend.builder import Builder, last_symbol
from stgrad.frontend.values import Sym, Value
from stgrad.ir import Const, Custom, Function, Operand, Pack, Var, assigned, operand_vars, read, rename, walk
from stgrad.ir import Stack as StackStmt
from stgrad.transforms.adjoints import Splice
from stgrad.transforms.reverse import reverse


def transposed(builder: Builder, splice: Splice, stmt: Custom, dots: Sequence[Value]) -> list[Value]:
    """The tangents of the outputs, written into `builder`; `dots` are those of the inputs, None for zero."""
    chosen = [i for i, (dot, result) in enumerate(zip(dots, stmt.results, strict=True)) if dot is not None and isinstance(result, Var)]
    floats = [b.name for b in stmt.bars if builder.types[b.name].is_float]
    if not chosen or not floats:
        return [None] * len(stmt.outputs)
    pullback = _function(builder, stmt, chosen)
    known = [p.name for p in pullback.params]
    program = reverse(pullback, floats, splice, seeds=True)
    builder.symbols = max(builder.symbols, last_symbol(program.types.values()))
    names = _instance(builder, stmt, program)
    for bar, output in zip(stmt.bars, stmt.outputs, strict=True):
        _zero(builder, names[bar.name], output)
    seeds = [p.name for p in program.params if p.name not in known]
    for name, i in zip(seeds, chosen, strict=True):
        builder.copy_to(Sym(Var(names[name]), builder.types[names[name]]), dots[i])
    for new in rename(program.body, names):
        builder.out.append(new)
    results = iter(program.result.items if isinstance(program.result, Pack) else (program.result,))
    return [_value(builder, names, next(results)) if b.name in floats else None for b in stmt.bars]


def _function(builder: Builder, stmt: Custom, chosen: Sequence[int]) -> Function:
    """The pullback as a function of the cotangents and of all that it reads."""
    results = tuple(stmt.results[i] for i in chosen)
    own = assigned(stmt.pullback) | {b.name for b in stmt.bars}
    seen = read(stmt.pullback) | {n for r in results for n in operand_vars(r)}
    params = (*stmt.bars, *(Var(n) for n in sorted(seen - own)))
    return Function("pullback", params, stmt.pullback, results[0] if len(results) == 1 else Pack(results), dict(builder.types))


def _instance(builder: Builder, stmt: Custom, program: Function) -> dict[str, str]:
    """Names of its own for what the transposed program binds."""
    own = assigned(program.body) | {p.name for p in program.params if p.name not in builder.types} | {b.name for b in stmt.bars}
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


__all__ = ["transposed"]
