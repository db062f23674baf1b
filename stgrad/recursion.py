"""The programs of units: what recurs by value, or is called over and over, becomes functions beside the program, which call each other and themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stgrad.analysis.activity import reached
from stgrad.analysis.apart import refused
from stgrad.frontend import splice
from stgrad.ir import Assign, Const, Effect, Function, If, Operand, Stmt, Type, Var, map_blocks, walk
from stgrad.ir.units import UNITS, Unit
from stgrad.names import Names
from stgrad.printer import Line, to_lines, to_source
from stgrad.readings import prepared_reading
from stgrad.request import Options
from stgrad.transforms.ownership import own_results
from stgrad.transforms.pipeline import Trace, differentiate, push_forward, specialise

DEPTH = 3000  # of calls, of which each takes some hundred bytes of a stack of 8 MB


def with_units(fn: Function, options: Options) -> tuple[Function, list[Function]]:
    """A lowered program under names that can be printed, and the lowered functions that it calls, directly or not."""
    units: dict[str, Function] = {}
    names: dict[str, str] = {}
    taken = Names([fn.name, *fn.types])
    todo = [fn]
    while todo:
        for stmt in walk(todo.pop().body):
            unit = UNITS.get(stmt.op) if isinstance(stmt, Assign) else None
            if unit is not None and unit.op not in units:
                names[unit.op] = taken.fresh(f"{unit.name}_function" if unit.kind == "primal" else f"{unit.name}")
                if options.key not in unit.lowered:
                    unit.lowered[options.key] = specialise(array_program_of(unit, options.checked), Trace(), replace(options, parallel=False))
                units[unit.op] = unit.lowered[options.key]
                todo.append(units[unit.op])
    if not units:
        return fn, []
    recurring = _recurring(units)
    plain, deep = ({op: name for op, name in names.items() if (op in recurring) is deep} for deep in (False, True))

    def function(op: str, fn: Function) -> Function:
        fn = _limited(fn, deep) if op in recurring else _named(fn, deep, Const(0))
        return replace(_named(fn, plain, None), name=names[op], doc=_doc(UNITS[op]))

    return _named(_named(fn, deep, Const(0)), plain, None), [function(op, unit) for op, unit in units.items()]


def _recurring(units: Mapping[str, Function]) -> set[str]:
    """The units that call themselves, directly or not."""
    calls = {op: {s.op for s in walk(fn.body) if isinstance(s, Assign)} & units.keys() for op, fn in units.items()}
    return {op for op in units if op in reached(calls[op], calls)}


def has_units(fn: Function) -> bool:
    """Whether a program calls functions beside it."""
    return any(isinstance(stmt, Assign) and stmt.op in UNITS for stmt in walk(fn.body))


def _limited(fn: Function, names: dict[str, str]) -> Function:
    """A unit that counts how deep it is called, and raises before the memory for calls ends."""
    own = Names([*fn.types, *(p.name for p in fn.params), *names.values()])
    depth, below, deep = (own.fresh(wish) for wish in ("depth", "below", "deep"))
    error = Effect("raise", (Const("RecursionError"), Const("maximum recursion depth exceeded")))
    start = (
        Assign((Var(deep),), "np.greater", (Var(depth), Const(DEPTH))),
        If(Var(deep), (error,), ()),
        Assign((Var(below),), "np.add", (Var(depth), Const(1))),
    )
    integer, flag = Type("int64", weak=True), Type("bool", weak=True)
    fn = _named(fn, names, Var(below))
    return replace(fn, params=(*fn.params, Var(depth)), body=(*start, *fn.body), types={**fn.types, depth: integer, below: integer, deep: flag})


def _doc(unit: Unit) -> str:
    what = {"primal": "", "vjp": "Vector-Jacobian product of", "jvp": "Value and tangent of", "gradient": "Value and gradient of"}[unit.kind]
    return f"{what} {unit.base.name}." if unit.base is not None else ""


def _named(fn: Function, names: dict[str, str], depth: Operand | None) -> Function:
    """A program with the names of units in its calls; those of units that recur tell how deep they are."""

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.op in names:
            return replace(stmt, op=names[stmt.op], args=stmt.args if depth is None else (*stmt.args, depth))
        return map_blocks(lambda block: tuple(map(statement, block)), stmt)

    return replace(fn, body=tuple(map(statement, fn.body)))


def array_program_of(unit: Unit, checked: bool | None) -> Function:
    """The array-level program of a unit; results are memory of its own."""
    if unit.function is None:
        unit.function = own_results(_primal(unit, checked) if unit.base is None else _derived(unit, unit.base, checked))
    return unit.function


def _primal(unit: Unit, checked: bool | None) -> Function:
    reading = prepared_reading(unit.reading, checked)
    for pair in reading.apart:  # its calls cannot be asked
        if pair.left != pair.right:
            raise refused(pair)
    return replace(reading.function, name=unit.name)


def _derived(unit: Unit, base: Unit, checked: bool | None) -> Function:
    fn = array_program_of(base, checked)
    wrt = [fn.params[i].name for i in base.moving]
    if unit.kind == "jvp":
        return push_forward(fn, [wrt], splice, Trace(), outputs=base.outputs)
    pull = unit.kind == "vjp"
    return differentiate(fn, wrt, splice, Trace(), seeds=pull, with_value=not pull, outputs=base.outputs)


def text_of(fn: Function, options: Options, *, nest: bool = True) -> str:
    """The text of a program and of the functions that it calls."""
    fn, units = with_units(fn, options)
    return to_source(fn, nest=nest, units=units)


def lines_of(fn: Function, options: Options) -> list[Line]:
    """The same line by line, each with the statement that it comes from."""
    fn, units = with_units(fn, options)
    return to_lines(fn, units=units)


__all__ = ["array_program_of", "has_units", "lines_of", "text_of", "with_units"]
