"""Calls of functions with a registered gradient: a call into Python, and the rule beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.custom_rules import DEPTH, Call, Site, backward_rule, forward_rule, without_rule
from stgrad.frontend.frame import Frame
from stgrad.frontend.infer import describe, run, sample
from stgrad.frontend.values import Sym, Value, a_kind, is_number, leaves, map_leaves, operand_of, static_of
from stgrad.ir import Assign, Const, Operand, Type, Var
from stgrad.lookups import look
from stgrad.registered import Registration, key_of
from stgrad.rules import lookup
from stgrad.runtime.keeping import numbers_of

EXTENT = 3  # of examples, along each axis


def call_registered(frame: Frame, registration: Registration, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call; the rule gets the arguments as they are."""
    if lookup(registration.function) is not None:
        raise errors.TypeInferenceError(f"`{_name(registration)}` has a rule already", frame.builder.loc, hint="do not register another one for it")
    vjp, jvp, abstract = (look("attribute", registration, name) for name in ("vjp", "jvp", "abstract"))
    with frame.builder.block() as body:
        outputs = _outputs(frame, registration, abstract, args, kwargs)
    call = Call(registration, args, outputs)
    site = Site(frame, call, tuple(body), tuple(kwargs.values()), args, _name(registration))
    rules = frame.builder.rules
    if sum(c.function is registration for c in rules) >= DEPTH:
        return without_rule(site)
    rules.append(call)
    try:
        if vjp is None:
            return forward_rule(site, lambda dots: frame.call(jvp, (outputs, args, dots), {}))
        return backward_rule(site, lambda bars: _each(frame.call(vjp, (outputs, bars, *args), kwargs), args))
    finally:
        rules.pop()


def _each(found: Value, args: tuple[Value, ...]) -> Value:
    """The cotangents as a tuple; that of one argument may stand by itself."""
    return found if isinstance(found, (tuple, list)) or len(args) != 1 else (found,)


def _outputs(frame: Frame, registration: Registration, abstract: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    example = _example(frame, registration, abstract, args, kwargs)
    flat: list[Sym] = []

    def output(leaf: Any, path: str) -> Value:
        found = describe(leaf)
        assert found is not None
        dims = tuple(frame.builder.fresh_dim() for _ in found.dims)
        flat.append(frame.builder.variable(f"y{path}", Type(found.dtype, dims, found.array, found.weak)))
        return flat[-1]

    outputs = map_leaves(output, example)
    writer = _Writer()
    texts = [writer.text(a) for a in args] + [f"{k}={writer.text(v)}" for k, v in kwargs.items()]
    dtypes = " ".join(v.type.dtype for v in flat)
    text = f"lambda {', '.join(writer.names)}: runtime.call_kept({', '.join([repr(registration.key), repr(dtypes), *texts])})"
    described = [f"{v.type.dtype}[{', '.join(':' * v.type.rank)}]" if v.type.rank else v.type.dtype for v in flat]
    result = described[0] if len(flat) == 1 else f"({', '.join(described)})"
    operands = (Const(text), Const(result), *writer.operands)
    builder = frame.builder
    builder.emit(Assign(tuple(Var(v.name) for v in flat), "runtime.call_python", operands, (), builder.loc, builder.note))
    return outputs


def _example(frame: Frame, registration: Registration, abstract: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
    """A result of the function: as it was given, or of one call."""
    if abstract is not None and not callable(abstract):
        example = abstract
    else:
        given, named = map_leaves(_sampled, static_of(args)), map_leaves(_sampled, {k: static_of(v) for k, v in kwargs.items()})
        try:
            example = run(registration.function if abstract is None else abstract, given, named)
        except Exception as problem:  # noqa: BLE001  (a library may raise what it likes)
            raise errors.TypeInferenceError(
                f"what `{_name(registration)}` returns is not known: of examples of these arguments it raised {type(problem).__name__}: {problem}",
                frame.builder.loc,
                hint="say it: register_gradient(function, vjp, abstract=<an example of the result, or a function of the arguments>)",
            ) from problem
    try:
        count = len(list(numbers_of(example)))
    except TypeError as problem:
        raise errors.TypeInferenceError(f"`{_name(registration)}`: {problem}", frame.builder.loc) from None
    if not count:
        raise errors.TypeInferenceError(f"`{_name(registration)}` returns nothing", frame.builder.loc)
    return example


def _sampled(leaf: Value, _: str) -> Any:
    if not isinstance(leaf, Sym):
        return leaf
    symbols = {d.symbol: EXTENT - d.offset for d in (*leaf.type.dims, leaf.type.value) if d is not None and d.symbol is not None}
    return sample(leaf.type, symbols)


class _Writer:
    """The text of arguments, and the run-time values among them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.operands: list[Operand] = []

    def text(self, value: Value) -> str:
        if isinstance(value, Sym):
            self.operands.append(operand_of(value))
            self.names.append(f"x{len(self.names)}")
            t = value.type
            return self.names[-1] if t.array or t.weak else f"np.{np.dtype(t.dtype).name}({self.names[-1]})"
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            items = "".join(f"{self.text(v)}, " for v in value)
            return f"({items})" if isinstance(value, tuple) else f"[{items}]"
        if type(value) in (bool, int, str, type(None)) or type(value) is float and np.isfinite(value):
            return repr(value)
        if is_number(value) or not any(isinstance(leaf, Sym) for leaf in leaves(value)):
            return f"runtime.kept({key_of(value)!r})"
        raise errors.TypeInferenceError(f"{a_kind(value)} cannot be passed to a foreign function", hint="pass numbers, arrays, and tuples of them")


def _name(registration: Registration) -> str:
    return str(getattr(registration.function, "__name__", registration.key))


__all__ = ["call_registered"]
