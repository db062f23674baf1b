"""Calls of units in derivatives: a gradient is made with its value, where that is one number, and a value is taken from the call that has its tangent.

    y = f(x)                         y, g = f_gradient(x)
    ...                     ->       ...
    x_bar = f_vjp(x, y_bar)          x_bar = y_bar * g

So a function that recurs is run once for its gradient, however deep it recurs: the adjoint of a call would run the calls below it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stgrad.analysis.activity import activity
from stgrad.ir import NONE, Assign, Block, Const, Custom, Function, Operand, Stmt, Type, Var, assigns, map_blocks, operand_vars
from stgrad.ir.units import UNITS, Unit
from stgrad.names import Names

FLAG = Type("bool")


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
        if not unit.scalar or stmt.target.name not in active:
            return stmt
        return _region(stmt, unit, active, variable, types)

    body = block(fn.body)
    return replace(fn, body=body, types=types)


def _region(stmt: Assign, unit: Unit, active: frozenset[str], variable: Callable[[str, Type], Var], types: dict[str, Type]) -> Stmt:
    """A call beside its gradient, which the reverse sweep scales; where nothing reads its value, a partial may be infinite."""
    partials = {i: variable("_t", types[a.name] if isinstance(a := stmt.args[i], Var) else unit.params[i]) for i in unit.moving}
    call = replace(stmt, targets=(stmt.target, *partials.values()), op=unit.derivative("gradient").op)
    bar = variable("_t", types[stmt.target.name])
    scaled, arguments, results = list[Stmt](), list[Var](), list[Operand]()

    def emit(op: str, args: tuple[Operand, ...], type_: Type) -> Var:
        target = variable("_t", type_)
        scaled.append(Assign((target,), op, args, (), stmt.loc))
        return target

    for i, partial in partials.items():
        argument = stmt.args[i]
        if not isinstance(argument, Var):
            continue
        arguments.append(argument)
        if argument.name not in active:
            results.append(NONE)
            continue
        if not unit.params[i].array:
            unread, finite = emit("np.equal", (bar, Const(0.0)), FLAG), emit("np.isfinite", (partial,), FLAG)
            endless = emit("np.logical_and", (unread, emit("np.logical_not", (finite,), FLAG)), FLAG)
            partial = emit("np.where", (endless, Const(0.0), partial), unit.params[i])
        results.append(emit("np.multiply", (bar, partial), types[argument.name]))
    return Custom((stmt.target,), tuple(arguments), (call,), (bar,), tuple(scaled), tuple(results), stmt.loc, stmt.note)


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
