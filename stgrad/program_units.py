"""Programs with an axis of directions (modes 'columns' and 'rows'), and questions about programs that are called in those being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad.analysis.influence import influenced
from stgrad.frontend import Reading, splice
from stgrad.ir import Assign, Const, Custom, Function, Operand, Pack, Var, assigned, entries_of, walk
from stgrad.ir import read as read_names
from stgrad.nested import read_inline
from stgrad.program import FURTHER, argument_of, is_float, no_writes_around, seed_params
from stgrad.request import Derivative, signature_of
from stgrad.transforms.directions import Unbatched
from stgrad.transforms.pipeline import Trace, differentiate, push_forward
from stgrad.values import Sym, Value, is_number, leaves, map_leaves


def derive_units(request: Derivative, inner: Reading, trace: Trace, wrt: list[str]) -> Reading:
    """The derivatives in every number of the arguments, or of every number of the results: the value, and for each array or number of
    those a structure of the other ones, with an axis of directions behind their own.

    Raises Unbatched where the program has no such form.
    """
    no_writes_around(inner)
    fn, columns = inner.function, request.mode == "columns"
    flat = list(leaves(inner.result))
    if not columns and not all(map(is_float, flat)):
        raise Unbatched("a result that is no number of the running program")
    dtypes = [fn.types[name].dtype for name in wrt] + [np.result_type(v).name for v in flat if is_number(v)] + [v.type.dtype for v in flat if is_float(v)]
    if any(dtype.startswith("complex") for dtype in dtypes):
        raise Unbatched("complex numbers")
    places = [i for i, leaf in enumerate(flat) if is_float(leaf)]
    units = {name: name for name in wrt}
    if not columns:
        if any(isinstance(s, Custom) and s.rule != "tangent" for s in walk(fn.body)):
            raise Unbatched("a function with a reverse rule of its own, which need not be linear")
        fn = differentiate(fn, wrt, splice, trace, seeds=True, with_value=True, outputs=places)
        items = fn.result.items if isinstance(fn.result, Pack) else ()
        units = {s.name: getattr(items[i], "name", "") for s, i in zip(seed_params(inner, fn), places, strict=True)}  # a number may be known
    outputs = places if columns else [len(flat) + i for i in range(len(wrt))]
    program = push_forward(fn, [[name] for name in units], splice, trace, outputs=outputs, values=len(flat), units=units, linear=not columns)
    return _units_result(request, inner, program, list(units), len(flat))


def _units_result(request: Derivative, inner: Reading, program: Function, units: list[str], skipped: int) -> Reading:
    """The flat results of such a program in their structures; cotangents, which nothing reads any more, are no parameters."""
    if request.mode == "rows":
        program = _without_cotangents(program, units)
    items = entries_of(program.result)
    values = iter(items)

    def value(leaf: Value, operand: Operand) -> Value:
        return Sym(operand, leaf.type) if isinstance(leaf, Sym) and isinstance(operand, (Var, Const)) else leaf

    primal = map_leaves(lambda leaf, _: value(leaf, next(values)), inner.result)
    rest = iter(items[skipped:])

    def block(leaf: Value, _: str) -> Value:
        if not is_float(leaf):
            return 0.0 if isinstance(leaf, (float, np.floating)) else None
        operand = next(rest)
        assert isinstance(operand, (Var, Const))
        return Sym(operand, program.types[operand.name]) if isinstance(operand, Var) else operand.value

    pattern = inner.result if request.mode == "columns" else tuple(argument_of(inner, name) for name in request.wrt)
    return Reading(program, (primal, [map_leaves(block, pattern) for _ in units]), inner.arguments, inner.captures, inner.around)


def _without_cotangents(program: Function, units: list[str]) -> Function:
    """The program with cotangents that are zero instead of parameters: its results, linear in them, do not depend on them."""
    items = entries_of(program.result)
    body = list(program.body)
    for unit, like in zip(units, items, strict=False):
        at = next((k for k, stmt in enumerate(body) if unit in read_names((stmt,))), None)
        if at is None:
            continue
        array = program.types[unit].array
        if array and not (isinstance(like, Var) and like.name in {*assigned(tuple(body[:at])), *(p.name for p in program.params)}):
            raise Unbatched("a cotangent is read before the value that it belongs to is there")
        zero = Assign((Var(unit),), "np.zeros_like", (like,)) if array else Assign((Var(unit),), "alias", (Const(0.0),))
        body.insert(at, zero)
    return replace(program, body=tuple(body), params=tuple(p for p in program.params if p.name not in units))


def depends(target: Any, frame: Any, call: tuple[Value, Value], chosen: Sequence[bool]) -> list[bool]:
    """For each leaf of a result whether it depends on the chosen leaves of the arguments, of a call inside a function that is being read."""
    args, kwargs = call
    _, reading = read_inline(target, frame, tuple(args), kwargs)
    marks = iter(chosen)

    def marked(value: Value) -> Value:
        return map_leaves(lambda leaf, _: next(marks), value)

    bound = signature_of(target).bind(*map(marked, args), **{name: marked(value) for name, value in kwargs.items()})
    sources = set[str]()
    for name, structure in bound.arguments.items():
        for leaf, mark in zip(leaves(reading.arguments[name]), leaves(structure), strict=True):
            if mark and isinstance(leaf, Sym) and isinstance(leaf.operand, Var):
                sources.add(leaf.name)
    found = influenced(reading.function, sources)
    return [isinstance(leaf, Sym) and isinstance(leaf.operand, Var) and leaf.name in found for leaf in leaves(reading.result)]


FURTHER["columns"] = FURTHER["rows"] = derive_units
__all__ = ["depends", "derive_units"]
