"""Derivatives that are called inside a function that is being read: their programs become a part of its own."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from stgrad import errors
from stgrad import source as sources
from stgrad.analysis.zeros import warn_of_zeros
from stgrad.frontend import Reading, inline
from stgrad.frontend.draws import refuse_draws
from stgrad.ir import Loc
from stgrad.program import Spec, array_program, spec_of
from stgrad.request import DEFAULT, function_name, innermost, signature_of
from stgrad.transforms.budget import within_own
from stgrad.transforms.pipeline import Trace
from stgrad.values import Closure, Sym, Value, is_number, leaves, map_leaves


def call_inline(target: Any, frame: Any, args: tuple[Value, ...], kwargs: Mapping[str, Value], seeds: Value = None, once: bool = False) -> Value:
    """The value of a derivative that is called inside a function that is being read; of a 'vjp' derivative, with cotangents in `seeds`.

    `once`: whether it is all that runs the function there, so that draws may stand in it.
    """
    given_, reading = read_inline(target, frame, args, kwargs, once)
    given = [leaf for leaf in leaves(seeds) if isinstance(leaf, Sym) or is_number(leaf)]
    return inline(frame, reading, {**given_, **dict(zip(reading.seeds, given, strict=True))})


def read_inline(target: Any, frame: Any, args: tuple[Value, ...], kwargs: Mapping[str, Value], once: bool = False) -> tuple[dict[str, Value], Reading]:
    """The arguments of a call inside a function that is being read, by name, and the program of what is called for their types."""
    signature = signature_of(target)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise errors.TypeInferenceError(str(problem), frame.builder.loc) from None
    given = set(bound.arguments)
    bound.apply_defaults()
    for name in bound.arguments.keys() - given:
        bound.arguments[name] = _default(frame, innermost(target), name, bound.arguments[name])

    def spec(value: Value, path: str) -> Spec:
        if isinstance(value, Sym):
            return value.type
        return spec_of(value, path) if is_number(value) and not isinstance(value, (bool, int)) else value

    specs = {name: map_leaves(spec, value, name) for name, value in bound.arguments.items()}
    with _nested(target, frame), within_own(getattr(target, "options", DEFAULT).memory):
        trace = Trace()
        reading = array_program(target, specs, trace)
    if trace.primal is not None and _is_ours(target, frame) and not hasattr(target.derivative.function, "derivative"):
        warn_of_zeros(*trace.primal, function_name(target.derivative), once=True)
    if not (once and _alone(target, frame)):
        refuse_draws(reading.function, "the derivative stands inside another function, whose own draws it would have to keep in order")
    return dict(bound.arguments), reading


def _alone(target: Any, frame: Any) -> bool:
    """Whether the program that is read is one of ours around this derivative, which draws nothing itself."""
    return _is_ours(target, frame) and frame.depth <= OUR_DEPTH


def _is_ours(target: Any, frame: Any) -> bool:
    """Whether the program that is read is one of ours around this derivative."""
    around = frame.builder.around
    return around is not None and innermost(around) is innermost(target)


def _default(frame: Any, function: Any, name: str, value: Any) -> Value:
    """What stands in the program for an argument that a call leaves out: one of `functools.partial`, or a default of the function; arrays are parameters."""
    while isinstance(function, functools.partial):
        if name in function.keywords:
            return frame.look("attribute", function, "keywords")[name]
        function = function.func
    code = getattr(function, "__code__", None)
    by_position = code.co_varnames[: code.co_argcount] if code is not None else ()
    if name in by_position and function.__defaults__:
        return frame.look("attribute", function, "__defaults__")[by_position.index(name) - len(by_position)]
    return frame.look("attribute", function, "__kwdefaults__")[name] if code is not None and name in (function.__kwdefaults__ or ()) else value


def call_pullback(target: Any, frame: Any, primals: tuple[Value, ...], seeds: Sequence[Value]) -> Value:
    """The gradients of a 'vjp' derivative inside a function that is being read; seeds are the cotangents of the float results, in order."""
    given = dict(zip(signature_of(target).parameters, primals, strict=True))
    specs = {name: map_leaves(lambda leaf, _: leaf.type if isinstance(leaf, Sym) else leaf, value, name) for name, value in given.items()}
    reading = array_program(target, specs, Trace())
    refuse_draws(reading.function, "the pullback would draw other numbers than the value")
    result = inline(frame, reading, {**given, **dict(zip(reading.seeds, seeds, strict=True))})
    return result[1]


OUR_DEPTH = 2  # calls among functions of ours around a derivative
NESTED = 8  # derivatives of a function in that function
_open: list[Any] = []  # the functions whose derivatives are being read in place


@contextmanager
def _nested(target: Any, frame: Any) -> Iterator[None]:
    """While a derivative is read in place; a function whose gradient calls that gradient is refused."""
    function = target
    while hasattr(function, "derivative"):
        function = function.derivative.function
    code = getattr(function, "tree", getattr(function, "__code__", function))
    if sum(code is c for c in _open) >= NESTED:
        raise errors.NeedStaticError(  # with the integers among the arguments compiled in, it may end
            f"the derivative of `{function_name(target.derivative)}` calls itself",
            frame.builder.loc,
            reason="it would need a derivative of every order",
            hint="write the recursion as a loop, or give the function a derivative of its own: stgrad.custom_gradient",
        )
    _open.append(code)
    try:
        yield
    except errors.NotDifferentiableError as problem:
        raise problem.at(_definition(function, frame)) from problem.__cause__
    finally:
        _open.pop()


def _definition(function: Any, frame: Any) -> Loc | None:
    """Where a user's function is defined, for errors in a program of ours around it, such as a Hessian."""
    ours = str(getattr(frame.source.function, "__module__", "")).startswith("stgrad.")
    inner = sources.unwrap(function).function if ours and callable(function) and not isinstance(function, Closure) else None
    if not isinstance(inner, FunctionType):
        return None
    source = sources.load(inner)
    return source.loc(source.tree)


__all__ = ["call_inline", "call_pullback", "read_inline"]
