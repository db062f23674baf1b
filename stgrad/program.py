"""From a function, a mode and example arguments to the program that does the work: typed, differentiated, lowered, printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stgrad import errors
from stgrad import implicit_calls as _implicit_calls  # noqa: F401  (says what its functions mean)
from stgrad import source as sources
from stgrad.analysis.activity import activity
from stgrad.analysis.alias import sharing
from stgrad.analysis.apart import of_copies
from stgrad.analysis.zeros import warn_of_zeros
from stgrad.calls.wrapper import is_small
from stgrad.frontend import SEED, Reading, result_operand, splice
from stgrad.frontend.draws import refuse_draws
from stgrad.instances import attributes_of
from stgrad.ir import NONE, Const, Dim, Effect, For, Function, Loc, Operand, Pack, Store, Type, Var, While, entries_of, stored, walk
from stgrad.lighter import lighter
from stgrad.readings import prepared_reading
from stgrad.recursion import has_units, text_of
from stgrad.request import DEFAULT, Derivative, Options, Spelling, described, extents_told, function_name, signature_of
from stgrad.transforms.budget import budgeted, within_derivative
from stgrad.transforms.pipeline import Trace, differentiate, push_forward, push_series, specialise, specialise_apart
from stgrad.transforms.simplify import simplify
from stgrad.unit_readings import read_with_units, seen
from stgrad.values import Listed, Record, Sym, Value, is_number, leaves, map_leaves, operand_of

FURTHER: dict[str, Callable[..., Reading]] = {}  # modes whose programs are made elsewhere (`stgrad.program_units`)
Spec = Any  # a structure with `ir.Type` leaves for run-time values, anything else is compiled in


def spec_of(value: Any, path: Spelling) -> Spec:
    """The specification of an argument: types of its numbers and arrays, the rest as it is.

    Extents that are 1 are part of the type, since they broadcast.
    """
    kind = type(value)
    if kind in (float, complex, bool):
        return Type({float: "float64", complex: "complex128", bool: "bool"}[kind], weak=True)
    if kind is int:
        return value if not is_small(value) else Type("int64", weak=True, value=Dim(path if isinstance(path, str) else None))
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fciub":
            raise errors.NotDifferentiableError(f"`{path}` is an array of {value.dtype}", hint="pass numbers")
        if not value.dtype.isnative:
            raise errors.NotDifferentiableError(
                f"`{path}` has the byte order of another machine ({value.dtype.str})", hint=f"pass {path}.astype({value.dtype.name!r})"
            )
        if not value.ndim:
            return Type(value.dtype.name)
        return Type(value.dtype.name, tuple(Dim(None, 1) if n == 1 else Dim(f"{path}.{i}") for i, n in enumerate(value.shape)), array=True)
    if isinstance(value, np.generic) and value.dtype.kind in "fciub":
        return Type(value.dtype.name)
    if kind in (tuple, list) or isinstance(value, tuple) and hasattr(kind, "_fields"):
        items = [spec_of(v, path[i] if isinstance(path, list) else f"{path}_{i}") for i, v in enumerate(value)]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    if kind is dict:
        return {k: spec_of(v, path[k] if isinstance(path, dict) else f"{path}_{k}") for k, v in value.items()}
    attributes = attributes_of(value)
    if attributes is not None:
        return Record(kind, {k: spec_of(v, f"{path}_{k}") for k, v in attributes.items()})
    return value


def array_program(target: Any, specs: Mapping[str, Spec], trace: Trace, checked: bool | None = None) -> Reading:
    """The array-level program of a function, or of a derivative of one; `checked` is that option of the derivative around it."""
    checked = getattr(target, "options", None) and target.options.checked if checked is None else checked
    request = getattr(target, "derivative", target)
    if not isinstance(request, Derivative):
        return prepared_reading(read_with_units(request, specs, checked), checked)
    with within_derivative(request.mode, len(request.directions or ((),))):
        inner = array_program(request.function, specs, Trace(), checked)
    if request.mode == "primal":
        return inner
    options = getattr(target, "options", DEFAULT)
    if request.mode not in ("grad", "value_and_grad", "jvp") and not options.apart or options.memory is not None:
        refuse_draws(inner.function, "this derivative runs the function, or parts of it, more than once, and would draw other numbers each time")
    for loop in walk(inner.function.body):
        if isinstance(loop, (For, While)) and loop.snapshots is not None:
            refuse_draws(replace(inner.function, body=loop.body), "a marked loop runs more than once, and would draw other numbers each time")
    return replace(_derive(request, inner, trace), apart=(*inner.apart, *of_copies(inner.function)), distinct=inner.distinct)


def _derive(request: Derivative, inner: Reading, trace: Trace) -> Reading:
    inner = replace(inner, function=replace(inner.function, result=result_operand(inner.result)))  # an operand for each leaf: a gradient leaves some out
    result, aux = _outputs(request, inner)
    wrt = [leaf.name for name in request.wrt for leaf in float_leaves(name, argument_of(inner, name))]
    leaf_list = list(leaves(inner.result))
    if request.mode not in ("grad", "value_and_grad"):
        floats = tuple(operand_of(v) for v in leaf_list if any(v is r for r in leaves(result)) and is_float(v))
        trace.primal = (replace(inner.function, result=Pack(floats)), wrt)
    if request.mode in FURTHER:
        return FURTHER[request.mode](request, inner, trace, wrt)
    chosen = [i for i, v in enumerate(leaf_list) if any(v is r for r in leaves(result)) and is_float(v)]
    if request.mode == "vjp":
        chosen = [i for i, v in enumerate(leaf_list) if any(v is r for r in leaves(result)) and _has_cotangent(v)]
    if request.mode in ("jvp", "series"):
        return _derive_forward(request, inner, trace, wrt, chosen)
    if request.mode != "vjp":
        must_be_scalar(result, request.function)
        chosen = [i for i, v in enumerate(leaf_list) if v is result][:1] if isinstance(result, Sym) else []
    fn = inner.function
    no_writes_around(inner)
    if request.mode != "vjp" and chosen:
        trace.primal = (replace(fn, result=Pack((operand_of(leaf_list[chosen[0]]),))), wrt)
    with_value = request.mode != "grad" or request.has_aux
    program = differentiate(fn, wrt, splice, trace, seeds=request.mode == "vjp", with_value=with_value, outputs=chosen)
    if request.sweep == "auto" and chosen and (found := lighter(fn, wrt, splice, program, with_value, chosen[0], trace.keep)) is not None:
        program, trace.stages, trace.activity = found[0], found[1].stages, found[1].activity
    return _with_structure(request, inner, program, aux is not None)


def _derive_forward(request: Derivative, inner: Reading, trace: Trace, wrt: list[str], chosen: list[int]) -> Reading:
    """The tangent program; its result is the value and the tangents of each direction, in the structure of the value."""
    no_writes_around(inner)
    alone = request.directions is None
    directions = [wrt] if request.directions is None else [[wrt[i] for i in d] for d in request.directions]
    push = push_forward if request.mode == "jvp" else push_series
    program = push(inner.function, directions, splice, trace, outputs=chosen)
    flat = list(entries_of(program.result))
    types = [leaf.type if isinstance(leaf, Sym) else None for leaf in leaves(inner.result)]
    rest = iter(flat[len(types) :])

    def value(leaf: Value, operand: Operand) -> Value:
        return Sym(operand, leaf.type) if isinstance(leaf, Sym) else leaf  # type: ignore[arg-type]

    values = iter(flat)
    primal = map_leaves(lambda leaf, _: value(leaf, next(values)), inner.result)
    moving = _outputs(request, inner)[0]

    def tangent(leaf: Value, _: str) -> Value:
        if not is_float(leaf):
            return type(leaf)(0) if isinstance(leaf, (float, complex, np.inexact)) else None
        return Sym(next(rest), replace(leaf.type, value=None))  # type: ignore[arg-type]

    tangents = [map_leaves(tangent, moving) for _ in directions]
    seeds = {f"{SEED}seed{i}": Sym(p, program.types[p.name]) for i, p in enumerate(seed_params(inner, program))}
    result = (primal, tangents[0] if alone else tuple(tangents))
    return Reading(program, result, {**inner.arguments, **seeds}, inner.captures, inner.around)


def no_writes_around(inner: Reading) -> None:
    """A function that is differentiated inside another one works on copies: what it would write to an array of the other is refused."""
    classes = sharing(inner.function)
    written = {classes.find(s.target.name): s for s in walk(inner.function.body) if isinstance(s, Store)}
    for param, value in inner.around.items():
        store = written.get(classes.find(param))
        if store is not None:
            raise errors.AliasingError(
                f"the function writes to `{value.name}`, an array of the function around it",
                store.loc,
                reason="the function has a derivative of its own, and what is seen of the change outside cannot be differentiated",
                hint=f"pass `{value.name}` as an argument, or write to a copy of it",
            )


def argument_of(inner: Reading, name: str) -> Value:
    """An argument by name; `args[1]` is an element of `*args`.

    Raises NotDifferentiableError where the call has no such element.
    """
    base, _, index = name.partition("[")
    if not index:
        return inner.arguments[name]
    elements = inner.arguments[base]
    if int(index[:-1]) >= len(elements):
        raise errors.NotDifferentiableError(f"cannot differentiate with respect to `{name}`", reason=f"`*{base}` has {len(elements)} elements in this call")
    return elements[int(index[:-1])]


def _outputs(request: Derivative, inner: Reading) -> tuple[Value, Value]:
    if not request.has_aux:
        return inner.result, None
    if not isinstance(inner.result, tuple) or len(inner.result) != 2:
        raise errors.NotDifferentiableError("with has_aux=True the function must return a pair (value, auxiliary data)")
    return inner.result[0], inner.result


def must_be_scalar(result: Value, function: Any) -> None:
    """Refuse a function that returns something else than one real number."""
    if isinstance(result, Sym) and not result.type.rank and result.type.is_float or isinstance(result, float):
        return
    what = _spoken(result)
    raise errors.NotDifferentiableError(
        f"the gradient of a function that returns {what} is not defined",
        last_line(function),
        reason="`grad` needs one real number as result",
        hint="reduce the result (np.sum), use `has_aux=True` for extra results, or `stgrad.vjp`",
    )


def last_line(function: Any) -> Loc | None:
    """Where a function returns, where its source is known."""
    try:
        found = sources.load(sources.unwrap(function).function)
    except errors.StgradError:
        return None
    return found.loc(found.tree.body[-1])


def _spoken(value: Value) -> str:
    """What a value is, in words."""
    if isinstance(value, Sym):
        t = value.type
        return f"an array of {t.dtype}" if t.rank else f"{'an' if str(t)[0] in 'aeiou' else 'a'} {t}"
    if isinstance(value, (tuple, list, dict, Record)):
        kind = value.cls if isinstance(value, Record) else list if isinstance(value, Listed) else type(value)
        return f"a {kind.__name__}" if any(is_float(v) for v in leaves(value)) else f"a {kind.__name__} without floats"
    return "None (is a `return` missing?)" if value is None else f"{value!r:.60}"


def is_float(value: Value) -> bool:
    return isinstance(value, Sym) and value.type.is_float


def _has_cotangent(value: Value) -> bool:
    """Whether a leaf of a result gets a cotangent: a number that is known does too, and does nothing with it."""
    return is_float(value) or isinstance(value, (float, complex, np.floating, np.complexfloating))


def float_leaves(name: str, value: Value) -> list[Sym]:
    """The float leaves of an argument."""
    found = [leaf for leaf in leaves(value) if is_float(leaf)]
    if not found:
        raise errors.NotDifferentiableError(
            f"cannot differentiate with respect to `{name}`", reason=f"it is {_spoken(value)}", hint="pass a float, or choose other arguments with `argnums`"
        )
    return found


def _with_structure(request: Derivative, inner: Reading, program: Function, aux: bool) -> Reading:
    """The reading of a gradient program: its flat results in the structure the caller expects."""
    flat = iter(program.result.items if hasattr(program.result, "items") else (program.result,))

    def take(type_: Type) -> Value:
        operand = next(flat)
        assert isinstance(operand, (Var, Const))
        return Sym(operand, type_)

    def same(leaf: Value, _: str) -> Value:
        if isinstance(leaf, Sym) or is_number(leaf):
            return take(leaf.type) if isinstance(leaf, Sym) else _skip(flat, leaf)
        return _skip(flat, leaf)

    value: Value = map_leaves(same, inner.result) if (request.mode != "grad" or request.has_aux) else None

    def gradient(leaf: Value, _: str) -> Value:
        return take(replace(leaf.type, value=None)) if is_float(leaf) else None

    grads = tuple(map_leaves(gradient, argument_of(inner, name)) for name in request.wrt)
    gradients = grads[0] if request.single else grads
    if request.mode == "grad" and aux:
        result: Value = (gradients, value[1])
    else:
        result = gradients if request.mode == "grad" else (value, gradients)
    seeds = {f"{SEED}seed{i}": Sym(p, program.types[p.name]) for i, p in enumerate(seed_params(inner, program))}
    return Reading(program, result, {**inner.arguments, **seeds}, inner.captures, inner.around)


def _skip(flat: Any, leaf: Value) -> Value:
    next(flat)
    return leaf


def seed_params(inner: Reading, program: Function) -> tuple[Any, ...]:
    known = {p.name for p in inner.function.params}
    return tuple(p for p in program.params if p.name not in known)


@dataclass(frozen=True)
class Compiled:
    """A program ready to be loaded: its text, and the structure of what goes in and comes out."""

    reading: Reading
    function: Function
    text: str
    trace: Trace
    optimistic: bool = False  # whether it has tests of extents that a valid call may fail (see `stgrad.frontend.broadcasting`)
    short: bool = False  # whether it has tests that arrays shorter than what a slice leaves out fail
    plain: str = ""  # with `lazy`, the text before it is lowered
    then: Compiled | None = None  # with `apart`, the program that takes what this one keeps


def compiled_once(target: Any, specs: Mapping[str, Spec], keep: bool) -> Compiled:
    """Run the whole pipeline under the assumptions that are set."""
    trace = Trace(keep)
    with budgeted(getattr(target, "options", DEFAULT).memory):
        reading = array_program(target, specs, trace)
    request = getattr(target, "derivative", target)
    if trace.primal is not None and request.mode in ("grad", "value_and_grad", "vjp") and not hasattr(request.function, "derivative"):
        warn_of_zeros(*trace.primal, function_name(request))
    if request.mode == "primal":
        reading = _primal(reading, trace)
    doc = f"{described(request)} {extents_told(reading.function.params, reading.function.types)}".strip()
    flat = replace(reading.function, result=_result_operand(reading), doc=doc)
    flat = flat if request.around is None else replace(flat, name=function_name(request))
    if getattr(target, "options", DEFAULT).apart:
        return _apart(request, flat, reading, trace, target.options)
    fn = specialise(flat, trace, getattr(target, "options", DEFAULT))
    options = getattr(target, "options", DEFAULT)
    return Compiled(reading, fn, text_of(fn, options), trace, plain=text_of(flat, options) if options.lazy and _runs_first(flat) else "")


def _apart(request: Derivative, flat: Function, reading: Reading, trace: Trace, options: Options) -> Compiled:
    """A value with what the pullback reads, and the pullback: two programs."""
    value, gradients = reading.result
    seeds = [leaf.name for name in reading.seeds for leaf in leaves(reading.arguments[name]) if isinstance(leaf, Sym)]
    count = sum(isinstance(leaf, Sym) for leaf in leaves(value))
    made = specialise_apart(flat, seeds, count, trace, options)
    refuse_draws(made.reverse, "the pullback would draw other numbers than the value")
    forward = replace(made.forward, doc=f"Value of {function_name(request)}, and what its pullback keeps.")
    reverse = replace(made.reverse, doc=f"Pullback of {function_name(request)} with respect to {', '.join(request.wrt)}.")
    kept = tuple(Sym(NONE, replace(t, value=None)) for t in made.kept)
    then = Compiled(replace(reading, result=gradients, captures=()), reverse, text_of(reverse, options), trace)
    return Compiled(replace(reading, result=(value, kept)), forward, text_of(forward, options), trace, then=then)


def _runs_first(fn: Function) -> bool:
    """Whether a program may run before it is lowered: alone, and a second time where it raises."""
    return not has_units(fn) and not seen(fn)


def dependences(target: Any, specs: Mapping[str, Spec]) -> list[bool]:
    """For each leaf of the arguments, in order, whether the value of a function depends on it, on any path."""
    reading = array_program(target, specs, Trace())
    useful = activity(reading.function, [p.name for p in reading.function.params]).useful
    return [isinstance(v, Sym) and isinstance(v.operand, Var) and v.name in useful for a in reading.arguments.values() for v in leaves(a)]


def has_effects(target: Any, specs: Mapping[str, Spec]) -> bool:
    """Whether a function does more than return its value: prints, or writes to an array from outside."""
    fn = _primal(array_program(target, specs, Trace()), Trace()).function
    return bool(fn.written) or any(isinstance(stmt, Effect) and stmt.op == "print" for stmt in walk(fn.body))


def _primal(reading: Reading, trace: Trace) -> Reading:
    """The simplified program of the function itself; arrays that it writes to count as results."""
    fn = trace.add("anf", reading.function)
    classes = sharing(fn)
    changed = {classes.find(n) for n in stored(fn.body)}
    written = frozenset(p.name for p in fn.params if fn.types[p.name].array and classes.find(p.name) in changed)
    fn = trace.add("optimised", simplify(replace(fn, written=written)))
    operands = iter(entries_of(fn.result))

    def leaf(value: Value, _: str) -> Value:
        operand = next(operands)
        if not isinstance(value, Sym):
            return value
        return operand.value if isinstance(operand, Const) else Sym(operand, value.type)  # type: ignore[arg-type]

    return replace(reading, function=fn, result=map_leaves(leaf, reading.result))


def _result_operand(reading: Reading) -> Any:
    """The flat results that the compiled function returns: its variables, in the order of the structure."""
    operands = [leaf.operand for leaf in leaves(reading.result) if isinstance(leaf, Sym)]
    return operands[0] if len(operands) == 1 else Pack(tuple(operands))


Unwrapped = Callable[..., Any]
__all__ = [
    "Compiled", "Derivative", "array_program", "compiled_once", "float_leaves", "function_name", "must_be_scalar",
    "signature_of", "spec_of",
]  # fmt: skip
