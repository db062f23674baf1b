"""Calls of functions with `custom_vjp` and `custom_jvp`: the function itself, and beside it the block that its rule means.

Invariants. The function is called once: where its own rule calls it with the same arguments, that call stands for the value that is there. What a rule
returns has the structure, shape and dtype of what it belongs to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.frontend.builtins import handles
from stgrad.frontend.custom import output
from stgrad.frontend.extents import ASSUMPTION
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Record, Sym, Value, a_kind, is_number, leaves, map_leaves, operand_of, static_of, type_of
from stgrad.hooks import custom_jvp, custom_vjp, insert_grad_of
from stgrad.ir import NONE, Assign, Block, Const, Custom, Effect, Operand, Stmt, Type, Var, assigned
from stgrad.lookups import look

DEPTH = 3  # how often a rule may call its own function with other arguments: the order of derivative that such a rule serves


@dataclass
class Call:
    """A call whose rule is being read; `used` says whether the rule has asked for the value again."""

    function: Any
    args: tuple[Value, ...]
    outputs: Value
    blocks: list[list[Stmt]] = field(default_factory=list)  # of the rule, as far as it has been read
    used: bool = False


@dataclass(frozen=True)
class Site:
    """What the two kinds of rules share: the call, its block, and the arguments that have derivatives."""

    frame: Frame
    call: Call
    body: Block
    nondiff: tuple[Value, ...]
    ruled: tuple[Value, ...]
    owner: str

    @property
    def name(self) -> str:
        return f"`{self.owner}`"

    @property
    def inputs(self) -> list[Sym]:
        return [leaf for leaf in leaves(self.ruled) if _moves(leaf)]

    def emit(self, rule: str, outputs: Value, body: Block, given: tuple[Var, ...], block: Block, results: tuple[Operand, ...]) -> Value:
        builder = self.frame.builder
        inputs = tuple(leaf.operand for leaf in self.inputs)
        outs = tuple(Var(v.name) for v in leaves(outputs) if isinstance(v, Sym))
        fixed = tuple(leaf.operand for leaf in leaves(self.nondiff) if _moves(leaf))
        builder.emit(Custom(outs, inputs, body, given, block, results, builder.loc, builder.note, rule, self.owner, fixed))
        return outputs


def call_ruled(function: custom_vjp | custom_jvp, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The value of a call, with its rule beside it."""
    args = _arguments(frame, function, args, kwargs)
    rules = frame.builder.rules
    again = next((c for c in rules if c.function is function and _same(c.args, args, _copies([*c.blocks, frame.builder.out]))), None)
    if again is not None:
        again.used = True
        return again.outputs
    positions = _positions(frame, function, len(args))
    with frame.builder.block() as body, frame.speculate(closed=True):
        outputs = outputs_of(frame, frame.call(look("attribute", function, "fun"), args, {}))
    nondiff = tuple(args[i] for i in look("attribute", function, "nondiff_argnums"))
    call = Call(function, args, outputs)
    site = Site(frame, call, tuple(body), nondiff, tuple(a for i, a in enumerate(args) if i not in positions), function.__name__)
    if sum(c.function is function for c in rules) >= DEPTH:
        return without_rule(site)
    rules.append(call)
    try:
        return _with_vjp(site, function) if isinstance(function, custom_vjp) else _with_jvp(site, function)
    finally:
        rules.pop()


def without_rule(site: Site) -> Value:
    """A call in a rule of its own, so deep that nobody asks for its derivative."""
    outputs = site.call.outputs
    return site.emit("refused", outputs, site.body, _bars(site.frame, outputs)[1], (), (NONE,) * len(site.inputs))


# --------------------------------------------------------------------------- reverse rules


def _with_vjp(site: Site, function: custom_vjp) -> Value:
    frame, call = site.frame, site.call
    fwd, bwd = look("attribute", function, "fwd"), look("attribute", function, "bwd")
    if fwd is None or bwd is None:
        raise _no_rule(site, "defvjp(fwd, bwd)")
    with frame.builder.block() as forward, frame.speculate(closed=True):
        call.blocks.append(forward)
        value, residuals = _pair(site, frame.call(fwd, call.args, {}), f"the forward rule of {site.name}", "(value, residuals)")
        for given, like in _matched(site, value, call.outputs, f"the forward rule of {site.name}", "value"):
            _fitted(site, given, like, f"the forward rule of {site.name}", "value")
        outputs = call.outputs if call.used and _same(value, call.outputs, _copies([forward])) else outputs_of(frame, value)
    own = outputs is call.outputs  # `fwd` asks the function itself, and so will the next order of derivative
    body, before = (site.body, tuple(forward)) if own else ((*(site.body if call.used else ()), *forward), ())
    bars, flat = _bars(frame, outputs)
    with frame.builder.block() as backward, frame.speculate(closed=True):
        cotangents = frame.call(bwd, (*site.nondiff, residuals, bars), {})
        results = tuple(_cotangents(site, cotangents))
    return site.emit("vjp" if own else "once", outputs, tuple(body), flat, (*before, *backward), results)


def _cotangents(site: Site, found: Value) -> Iterator[Operand]:
    who = f"the backward rule of {site.name}" if site.owner != "insert_grad_of" else f"the block of {site.name}"
    if not isinstance(found, (tuple, list)) or len(found) != len(site.ruled):
        what = f"{len(found)} cotangents" if isinstance(found, (tuple, list)) else "no tuple"
        raise errors.ShapeError(
            f"{who} returns {what} for {len(site.ruled)} argument{'s' * (len(site.ruled) != 1)}",
            site.frame.builder.loc,
            hint="return a tuple with a cotangent for each argument that is not in nondiff_argnums; None is zero",
        )
    for argument, cotangent in zip(site.ruled, found, strict=True):
        for given, like in _matched(site, cotangent, argument, who, "cotangent"):
            if _moves(like):
                yield _fitted(site, given, like, who, "cotangent")


def _bars(frame: Frame, outputs: Value) -> tuple[Value, tuple[Var, ...]]:
    """The cotangents of a value: as the rule gets them, and a variable for each leaf of the program."""
    flat: list[Var] = []

    def bar(leaf: Value, path: str) -> Value:
        if not isinstance(leaf, Sym):
            return 0.0 if is_number(leaf) else None
        found = frame.builder.variable(f"y{path}_bar", _plain(leaf.type))
        flat.append(Var(found.name))
        return found if leaf.type.is_float else 0.0

    return map_leaves(bar, outputs), tuple(flat)


@handles(insert_grad_of)
def _inserted(frame: Frame, values: Value, block: Value = None) -> Value:
    """A value beside code for its adjoint, in the form that `syntax.inserted` writes."""
    if block is None:
        raise errors.UnsupportedSyntaxError("`insert_grad_of` stands in a `with`", frame.builder.loc, hint="write: with insert_grad_of(x) as dx:")
    with frame.builder.block() as body:
        outputs = outputs_of(frame, values)
    site = Site(frame, Call(insert_grad_of, (), outputs), tuple(body), (), values, "insert_grad_of")
    return backward_rule(site, lambda bars: frame.call(block, tuple(bars), {}), "once")


def backward_rule(site: Site, pull: Callable[[Value], Value], rule: str = "linear") -> Value:
    """A region of which `pull` gives the cotangents of the arguments."""
    bars, flat = _bars(site.frame, site.call.outputs)
    with site.frame.builder.block() as backward, site.frame.speculate(closed=True):
        results = tuple(_cotangents(site, pull(bars)))
    return site.emit(rule, site.call.outputs, site.body, flat, tuple(backward), results)


# --------------------------------------------------------------------------- forward rules


def _with_jvp(site: Site, function: custom_jvp) -> Value:
    frame, call = site.frame, site.call
    rule, shares = look("attribute", function, "jvp"), look("attribute", function, "jvps")
    if rule is None and not shares:
        raise _no_rule(site, "defjvp")

    def push(dots: Value) -> Value:
        if rule is None:
            return _sum_of_shares(site, shares, dots)
        who = f"the rule of {site.name}"
        value, tangent = _pair(site, frame.call(rule, (*site.nondiff, site.ruled, dots), {}), who, "(value, tangent)")
        for given, like in _matched(site, value, call.outputs, who, "value"):
            _fitted(site, given, like, who, "value")
        return tangent

    return forward_rule(site, push)


def forward_rule(site: Site, push: Callable[[Value], Value]) -> Value:
    """A region of which `push` gives the tangent of the value."""
    frame, call, flat = site.frame, site.call, list[Var]()

    def dot(leaf: Value, path: str) -> Value:
        if not _moves(leaf):
            return 0.0 if isinstance(leaf, Sym) or is_number(leaf) else None
        found = frame.builder.variable(f"x{path}_dot", _plain(leaf.type))
        flat.append(Var(found.name))
        return found

    dots = map_leaves(dot, site.ruled)
    with frame.builder.block() as block, frame.speculate(closed=True):
        call.blocks.append(block)
        results = tuple(_tangents(site, push(dots)))
    return site.emit("tangent", call.outputs, site.body, tuple(flat), tuple(block), results)


def _tangents(site: Site, tangent: Value) -> Iterator[Operand]:
    who = f"the rule of {site.name}"
    for given, like in _matched(site, tangent, site.call.outputs, who, "tangent"):
        if isinstance(like, Sym):
            yield _fitted(site, given, like, who, "tangent") if like.type.is_float else NONE


def _sum_of_shares(site: Site, shares: tuple[Any, ...], dots: tuple[Value, ...]) -> Value:
    if len(shares) != len(dots):
        raise errors.ShapeError(f"`defjvps` of {site.name} got {len(shares)} functions for {len(dots)} arguments", site.frame.builder.loc)
    total: Value = None
    for share, d in zip(shares, dots, strict=True):
        if share is None or not any(isinstance(leaf, Sym) for leaf in leaves(d)):
            continue
        term = site.frame.call(share, (d, site.call.outputs, *site.call.args), {})
        total = term if total is None else site.frame.call(_plus, (total, term), {})
    return total


def _plus(a: Any, b: Any) -> Any:
    return tuple([_plus(u, v) for u, v in zip(a, b)]) if isinstance(a, tuple) else a + b  # noqa: B905


# --------------------------------------------------------------------------- what rules return


def _pair(site: Site, found: Value, who: str, what: str) -> tuple[Value, Value]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise errors.TypeInferenceError(f"{who} must return a pair {what}", site.frame.builder.loc)
    return found


def _matched(site: Site, given: Value, like: Value, who: str, what: str) -> Iterator[tuple[Value, Value]]:
    """The leaves of what a rule returns beside those that they belong to; None stands for all that it belongs to."""
    if given is None and what != "value":
        yield from ((None, leaf) for leaf in leaves(like))
        return
    kinds = [_kind(v) for v in (given, like)]
    if kinds == [None, None]:
        yield given, like
        return
    inner, around = (list(_items(v)) if kind is not None else [] for v, kind in zip((given, like), kinds, strict=True))
    if kinds[0] is not kinds[1] or len(inner) != len(around) or isinstance(like, dict) and given.keys() != like.keys():
        raise errors.ShapeError(f"{who} returns a {what} of another structure than what it belongs to", site.frame.builder.loc)
    for a, b in zip_longest(inner, around):
        yield from _matched(site, a, b, who, what)


def _kind(value: Value) -> Any:
    """What sort of container a value is, None for a leaf; lists and tuples are one."""
    if not isinstance(value, (tuple, list, dict, Record)):
        return None
    return value.cls if isinstance(value, Record) else list if isinstance(value, (tuple, list)) and not hasattr(value, "_fields") else type(value)


def _items(value: Value) -> Iterator[Value]:
    if isinstance(value, dict):
        yield from (value[k] for k in sorted(value, key=repr))
    else:
        yield from value.fields.values() if isinstance(value, Record) else value


def _fitted(site: Site, given: Value, like: Value, who: str, what: str) -> Operand:
    """The operand of a leaf that has the shape and dtype of another one; else an error, where extents are known only at run time then."""
    frame = site.frame
    if not isinstance(like, Sym):
        return NONE
    if given is None:
        if what == "value":
            raise errors.ShapeError(f"{who} returns None as value, where the function returns a {like.type}", frame.builder.loc)
        return NONE
    t = type_of(given) if isinstance(given, Sym) or is_number(given) else None
    if t is None or t.rank != like.type.rank or not _same_dtype(t, like.type):
        raise errors.ShapeError(
            f"{who} returns {'a ' + str(t) if t is not None else a_kind(given)} as {what} of a {like.type}",
            frame.builder.loc,
            hint=f"return one of the shape and dtype of what it belongs to: {like.type}",
        )
    for axis, (a, b) in enumerate(zip(t.dims, like.type.dims, strict=True)):
        if frame.builder.extents.same(a, b):
            continue
        message = f"{who} returns a {what} of another shape than what it belongs to"
        if a.symbol == b.symbol:
            raise errors.ShapeError(f"{message}: {a} instead of {b} on axis {axis}", frame.builder.loc)
        ASSUMPTION.get().note(inside=True)
        extents = [frame.builder.call("shape", (v, axis), Type("int64", weak=True, value=d)) for v, d in ((given, a), (like, b))]
        frame.builder.emit(Effect("check_equal", (operand_of(extents[0]), operand_of(extents[1]), Const(message)), (), frame.builder.loc))
    if isinstance(given, Sym) and given.type.dtype != like.type.dtype or not isinstance(given, Sym):
        cast = frame.builder.variable("_t", _plain(like.type))
        frame.builder.copy_to(cast, given)
        return cast.operand
    return given.operand


def _same_dtype(given: Type, like: Type) -> bool:
    """A Python number takes the dtype of what it belongs to."""
    if given.dtype == like.dtype:
        return True
    return given.weak and not given.array and np.can_cast(given.dtype, "float64" if like.dtype.startswith("float") else like.dtype, "same_kind")


# --------------------------------------------------------------------------- arguments


def _arguments(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> tuple[Value, ...]:
    """All arguments by position, defaults among them, as rules get them."""
    fun = look("attribute", function, "fun")
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except TypeError as problem:
        raise errors.TypeInferenceError(f"`{function.__name__}`: {problem}", frame.builder.loc) from None
    given = set(bound.arguments)
    bound.apply_defaults()
    if bound.kwargs:
        raise errors.TypeInferenceError(f"`{function.__name__}` takes arguments by keyword alone, which derivative rules cannot", frame.builder.loc)
    if any(isinstance(leaf, np.ndarray) for name, value in bound.arguments.items() if name not in given for leaf in leaves(value)):
        raise errors.TypeInferenceError(f"a default of `{function.__name__}` is an array", frame.builder.loc, hint="pass it as an argument")
    look("attribute", fun, "__defaults__")
    return tuple(bound.args)


def _positions(frame: Frame, function: Any, count: int) -> frozenset[int]:
    chosen = look("attribute", function, "nondiff_argnums")
    if any(not -count <= i < count for i in chosen):
        raise errors.TypeInferenceError(f"nondiff_argnums={chosen} of `{function.__name__}`, which has {count} arguments", frame.builder.loc)
    return frozenset(i % count for i in chosen)


def _no_rule(site: Site, how: str) -> errors.StgradError:
    return errors.NotDifferentiableError(f"{site.name} has no derivative rule yet", site.frame.builder.loc, hint=f"give it one: {site.name[1:-1]}.{how}")


def outputs_of(frame: Frame, value: Value) -> Value:
    return map_leaves(lambda v, path: output(frame, v, path), value)


def _plain(t: Type) -> Type:
    return Type(t.dtype, t.dims, t.array, t.weak)


def _moves(leaf: Value) -> bool:
    return isinstance(leaf, Sym) and leaf.type.is_float


def _copies(blocks: list[list[Stmt]]) -> dict[str, str]:
    """Names that stand for others at the end of these blocks, one within the other."""
    found: dict[str, str] = {}
    for stmt in (s for block in blocks for s in block):
        bound = assigned((stmt,))
        found = {n: of for n, of in found.items() if n not in bound and of not in bound}
        if isinstance(stmt, Assign) and stmt.op == "alias" and isinstance(stmt.args[0], Var):
            source = stmt.args[0].name
            found[stmt.target.name] = found.get(source, source)
    return found


def _same(a: Value, b: Value, copies: dict[str, str]) -> bool:
    """Whether two structures hold the same values."""
    if isinstance(a, (tuple, list, dict, Record)) or isinstance(b, (tuple, list, dict, Record)):
        one, other = list(leaves(a)), list(leaves(b))
        return type(a) is type(b) and len(one) == len(other) and all(_same(x, y, copies) for x, y in zip(one, other, strict=True))
    a, b = static_of(a), static_of(b)
    if isinstance(a, Sym) and isinstance(b, Sym):
        return bool(copies.get(a.name, a.name) == copies.get(b.name, b.name))
    return a is b or type(a) is type(b) and is_number(a) and bool(a == b)


custom_vjp._stgrad_call_ = call_ruled  # type: ignore[attr-defined]
custom_jvp._stgrad_call_ = call_ruled  # type: ignore[attr-defined]
