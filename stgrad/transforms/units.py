"""Calls of units in derivatives: a gradient is made with its value, where that is one number, and a value is taken from the call that has its tangent.

    y = f(x)                         y, g = f_gradient(x)
    ...                     ->       ...
    x_bar = f_vjp(x, y_bar)          x_bar = y_bar * g

So a function that recurs is run once for its gradient, however deep it recurs: the adjoint of a call would run the calls below it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stgrad.analysis.activity import activity
from stgrad.ir import NONE, Assign, Block, Custom, Function, Operand, Stmt, Type, Var, assigns, map_blocks, operand_vars
from stgrad.ir.units import UNITS, Unit
from stgrad.names import Names


def with_gradients(fn: Function, wrt: Sequence[str]) -> Function:
    """The program in which each active call of a unit with one number as result makes its gradient, too."""
    if not any(stmt.op in UNITS for stmt in _calls(fn.body)):
        return fn
    active, names = activity(fn, wrt).active, Names([*fn.types, *(p.name for p in fn.params)])
    types = dict(fn.types)

    def variable(wish: str, type_: Type) -> Var:
        name = names.fresh(wish)
        types[name] = replace(type_, value=None)
        return Var(name)

    def block(body: Block) -> Block:
        return tuple(statement(s) for s in body)

    def statement(stmt: Stmt) -> Stmt:
        unit = UNITS.get(stmt.op) if isinstance(stmt, Assign) else None
        if unit is None or not isinstance(stmt, Assign):
            return map_blocks(block, stmt)
        moving = [a for i, a in enumerate(stmt.args) if i in unit.moving]
        if not unit.scalar or stmt.target.name not in active or not all(isinstance(a, Var) for a in moving):
            return stmt
        return _region(stmt, unit, [a for a in moving if isinstance(a, Var)], active, variable, types)

    body = block(fn.body)
    return replace(fn, body=body, types=types)


def _region(stmt: Assign, unit: Unit, moving: list[Var], active: frozenset[str], variable: object, types: dict[str, Type]) -> Stmt:
    """A call beside its gradient, which the reverse sweep scales."""
    assert callable(variable)
    partials = [variable("_t", types[a.name]) for a in moving]
    bar = variable("_t", types[stmt.target.name])
    call = replace(stmt, targets=(stmt.target, *partials), op=unit.derivative("gradient").op)
    scaled, results = list[Stmt](), list[Operand]()
    for argument, partial in zip(moving, partials, strict=True):
        if argument.name not in active:
            results.append(NONE)
            continue
        product = variable("_t", types[argument.name])
        scaled.append(Assign((product,), "np.multiply", (bar, partial), (), stmt.loc))
        results.append(product)
    return Custom((stmt.target,), tuple(moving), (call,), (bar,), tuple(scaled), tuple(results), stmt.loc, stmt.note)


def _calls(block: Block) -> list[Assign]:
    from stgrad.ir import walk

    return [s for s in walk(block) if isinstance(s, Assign)]


def without_repeats(fn: Function) -> Function:
    """The program in which a unit is not called where a call with the same arguments gives its value and the tangent."""
    if not any(stmt.op in UNITS for stmt in _calls(fn.body)):
        return fn

    def block(body: Block) -> Block:
        found: list[Stmt] = []
        for k, stmt in enumerate(body):
            unit = UNITS.get(stmt.op) if isinstance(stmt, Assign) else None
            if isinstance(stmt, Assign) and unit is not None and "jvp" in unit.derived:
                other = _beside(body, k, stmt, unit.derived["jvp"].op)
                if other is not None and other < k:
                    made = body[other]
                    assert isinstance(made, Assign)
                    pairs = zip(stmt.targets, made.targets, strict=False)
                    found += [Assign((target,), "alias", (value,), (), stmt.loc) for target, value in pairs]
                    continue
            found.append(map_blocks(block, stmt))
        return tuple(found)

    return replace(fn, body=block(fn.body))


def _beside(body: Block, k: int, stmt: Assign, op: str) -> int | None:
    """The place of a call with these arguments and more, with nothing between that binds or changes one."""
    given = {n for a in stmt.args for n in operand_vars(a)}
    for i in range(k - 1, -1, -1):
        other = body[i]
        if not isinstance(other, Assign) or given & set(assigns(other)):
            return None
        if other.op == op and other.args[: len(stmt.args)] == stmt.args:
            return i
    return None


__all__ = ["with_gradients", "without_repeats"]
