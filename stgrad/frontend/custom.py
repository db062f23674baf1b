"""Calls of functions with a derivative of their own, and of `stop_gradient`."""

from __future__ import annotations

import inspect
from typing import Any

from stgrad import errors
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Closure, Sym, Value, is_number, leaves, map_leaves, operand_of, type_of
from stgrad.hooks import custom_gradient, stop_gradient
from stgrad.ir import NONE, Custom, Operand, Var
from stgrad.lookups import look


@handles(stop_gradient)
def _stop_gradient(frame: Frame, x: Value) -> Value:
    def leaf(value: Value, _: str) -> Value:
        return frame.builder.call("stop_gradient", (value,), value.type) if isinstance(value, Sym) and value.type.is_float else value

    return map_leaves(leaf, x)


def call_custom(frame: Frame, function: custom_gradient, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """Emit the region: the body makes the outputs, the pullback reads what the body left."""
    builder = frame.builder
    body_of = look("attribute", function, "function")
    args, kwargs = _positional(body_of, args, kwargs)
    with builder.block() as body, frame.speculate(closed=True):
        pair = frame.call(body_of, args, kwargs)
        if not isinstance(pair, tuple) or len(pair) != 2 or not (isinstance(pair[1], Closure) or callable(pair[1])):
            raise errors.TypeInferenceError(
                f"`{function.__name__}` must return a pair (value, pullback)", builder.loc, reason="it is decorated with custom_gradient"
            )
        outputs = map_leaves(lambda v, path: output(frame, v, path), pair[0])
    flat = [v for v in leaves(outputs) if isinstance(v, Sym)]
    bars = map_leaves(lambda v, path: builder.variable(f"y{path}_bar", v.type) if isinstance(v, Sym) else v, pair[0])
    with builder.block() as pullback, frame.speculate(closed=True):
        cotangents = frame.call(pair[1], bars if isinstance(bars, tuple) else (bars,), {})
    inputs, results = _pairs(frame, function.__name__, args, cotangents)
    flat_bars = tuple(Var(b.name) for b in leaves(bars) if isinstance(b, Sym))
    outs = tuple(Var(v.name) for v in flat)
    builder.emit(Custom(outs, inputs, tuple(body), flat_bars, tuple(pullback), results, builder.loc, builder.note))
    return outputs


def _positional(function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """Keywords bound to the signature, so that a call by keyword does not pass the derivative by."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    return bound.args, bound.kwargs


def output(frame: Frame, value: Value, path: str) -> Value:
    if not isinstance(value, Sym):
        return value
    out = frame.builder.variable(f"y{path}", value.type)
    frame.builder.copy_to(out, value)
    return out


def _pairs(frame: Frame, name: str, args: tuple[Value, ...], cotangents: Value) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The inputs and their cotangents, leaf by leaf."""
    found = cotangents if isinstance(cotangents, (tuple, list)) else (cotangents,)
    if len(found) != len(args):
        raise errors.ShapeError(f"the pullback of `{name}` returns {len(found)} cotangents for {len(args)} arguments", frame.builder.loc)
    inputs: list[Operand] = []
    results: list[Operand] = []
    for argument, cotangent in zip(args, found, strict=True):
        for leaf, g in zip(
            leaves(argument),
            leaves(cotangent) if isinstance(argument, (tuple, list, dict)) and cotangent is not None else [cotangent] * 99,
            strict=False,
        ):
            if isinstance(leaf, Sym) and leaf.type.is_float:
                _check(frame, name, leaf, g)
                inputs.append(leaf.operand)
                results.append(NONE if g is None else operand_of(g))
    return tuple(inputs), tuple(results)


def _check(frame: Frame, name: str, leaf: Sym, g: Value) -> None:
    if g is None or is_number(g) and not leaf.type.rank:
        return
    t = type_of(g)
    if t.rank != leaf.type.rank:
        raise errors.ShapeError(
            f"the pullback of `{name}` returns a {t} as cotangent of a {leaf.type}",
            frame.builder.loc,
            hint="return one with the shape of the argument",
        )


def _hook(self: custom_gradient, frame: Frame, args: Any, kwargs: Any) -> Value:
    return call_custom(frame, self, args, kwargs)


custom_gradient._stgrad_call_ = _hook  # type: ignore[attr-defined]
