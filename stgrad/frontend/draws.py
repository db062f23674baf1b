"""Random numbers.

A generator that is seeded in the program gives the same in every call, so they are constants:

    rng = np.random.default_rng(7)          z becomes a parameter of the program that is not passed by the caller,
    z = rng.normal(size=n)           ->     with the numbers that NumPy draws

From NumPy's global generator, or Numba's where compiled code does, the running program draws:

    z = np.random.normal()           ->     z = runtime.random_normal(draws)
                                            draws[0] = z

What was drawn last stands in an array that each draw reads: so no pass changes the order of draws, leaves one out before another, or makes one again. What
`stgrad.frontend.distributions` makes of them has derivatives in its parameters.

Draws from another generator, of the caller's or in a loop or branch of the running program, are refused: they would be made while compiling.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from stgrad import errors
from stgrad.frontend.builder import Builder
from stgrad.frontend.builtins import handles
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Record, Sym, Value, is_static, leaves, operand_of, static_of, type_of
from stgrad.ir import Assign, Block, Const, Dim, Function, Loc, Operand, Stmt, Store, Type, Var, walk
from stgrad.ir.ops import operation
from stgrad.lookups import Lookup
from stgrad.runtime.generators import Draws, generator_of

_GENERATORS = (np.random.Generator, np.random.RandomState)


def _seeded(make: Callable[[Any], Any]) -> Callable[..., Value]:
    """A generator that starts anew in every call."""

    def handler(frame: Frame, seed: Value = None) -> Value:
        known = static_of(seed)
        if make is np.random.default_rng and (isinstance(known, np.random.Generator) or isinstance(known, Record) and known.cls is Draws):
            return known
        if isinstance(known, (np.random.BitGenerator, np.random.SeedSequence)):
            _refuse(frame, "what it is seeded by has a state of its own")
        if known is None and make is np.random.default_rng:
            return Record(Draws, {"address": _made(frame, frame.builder.out, "lambda n: runtime.seeded(None)")})
        if known is None:
            _refuse(frame, "it is seeded by the operating system")
        if make is np.random.default_rng and isinstance(known, Sym) and known.type.dtype in ("int64", "uint64") and not known.type.array:
            return Record(Draws, {"address": _made(frame, frame.builder.out, "lambda n, seed: runtime.seeded(seed)", known.operand)})
        if not is_static(known):
            raise errors.NeedStaticError("a seed must be known at compile time", frame.builder.loc)
        generator = make(known)
        frame.builder.generators[id(generator)] = generator
        return generator

    return handler


handles(np.random.default_rng)(_seeded(np.random.default_rng))
handles(np.random.RandomState)(_seeded(np.random.RandomState))


class Bits:
    """`np.random.PCG64(seed)`, of which a generator is made."""

    def __init__(self, seed: Any = None) -> None:
        self.seed = seed


@handles(np.random.PCG64)
def _bits(frame: Frame, seed: Value = None) -> Value:
    return Record(Bits, {"seed": seed})


@handles(np.random.Generator)
def _generator(frame: Frame, bit_generator: Value) -> Value:
    """`np.random.Generator(np.random.PCG64(seed))` is `np.random.default_rng(seed)`."""
    if isinstance(bit_generator, Record) and bit_generator.cls is Bits:
        return frame.call(np.random.default_rng, (bit_generator.fields["seed"],), {})
    _refuse(frame, "its bit generator has a state of its own")


def _stream(frame: Frame, generator: np.random.Generator) -> Sym:
    """The address of a generator of a module, or of one like what draws constants so far, made at the start of each call."""
    builder = frame.builder
    if id(generator) not in builder.streams:
        home = None if id(generator) in builder.generators else _home(generator)
        text = f"lambda n: runtime.in_state({generator.bit_generator.state!r})" if home is None else f"lambda n: runtime.of_module{home!r}"
        builder.streams[id(generator)] = _made(frame, builder.starts, text)
    return builder.streams[id(generator)]


def _home(generator: np.random.Generator) -> tuple[str, str] | None:
    """A module that has a generator, and its name there."""
    modules = [(name, vars(module)) for name, module in list(sys.modules.items()) if type(module) is types.ModuleType]  # not those that load when asked
    return next(((module, name) for module, names in modules for name, value in list(names.items()) if value is generator), None)


def _made(frame: Frame, block: list[Stmt], text: str, *operands: Operand) -> Sym:
    """The address of a generator that Python makes; a number tells it from others."""
    builder = frame.builder
    address = builder.hidden("_generator", Type("int64", (Dim(None, 4),), array=True))
    builder.serial_of_draws += 1
    given = (Const(text), Const("int64[:]"), Const(builder.serial_of_draws), *operands)
    block.append(Assign((Var(address.name),), "runtime.call_python", given, (), builder.loc, builder.note))
    return address


def number_of_uniform() -> float:
    """A number of [0, 1), from the generator of whoever draws."""
    return float(np.random.random())


def number_of_normal() -> float:
    """A standard normal number, from the generator of whoever draws."""
    return float(np.random.standard_normal())


def number_of_integers(low: int, high: int) -> int:
    """An integer of [low, high), from the generator of whoever draws."""
    return int(np.random.randint(low, high))


def integer_of(address: Any, low: int, high: int) -> int:
    """An integer of [low, high), from the generator of an address."""
    return int(generator_of(address).integers(low, high))


@handles(integer_of)
def _integer_of(frame: Frame, address: Value, low: Value, high: Value) -> Value:
    return _drawn(frame, "integer", operand_of(address), *_bounds(frame, low, high), owner="generator_random")


def interval_of(address: Any, most: int) -> int:
    """An integer from 0 to `most`, as the shuffles of a generator draw it."""
    from stgrad.runtime.draws import generator_random_interval

    return generator_random_interval(None, address, most)


@handles(interval_of)
def _interval_of(frame: Frame, address: Value, most: Value) -> Value:
    return _drawn(frame, "interval", operand_of(address), _bounds(frame, most, most)[0], owner="generator_random")


@handles(number_of_integers)
def _integer(frame: Frame, low: Value, high: Value) -> Value:
    return _drawn(frame, "integer", *_bounds(frame, low, high))


def _bounds(frame: Frame, low: Value, high: Value) -> tuple[Operand, Operand]:
    for given in (low, high):
        if not np.issubdtype(np.dtype(type_of(given).dtype), np.integer) or type_of(given).rank:
            raise errors.TypeInferenceError("the bounds of random integers are no integers", frame.builder.loc, hint="write int(...)")
    return operand_of(low), operand_of(high)


@handles(number_of_uniform)
def _uniform(frame: Frame) -> Value:
    return _drawn(frame, "uniform")


@handles(number_of_normal)
def _normal(frame: Frame) -> Value:
    return _drawn(frame, "normal")


def _of_generator(what: str) -> Callable[[Any], float]:
    def number(address: Any) -> float:
        return float(getattr(generator_of(address), what)())

    @handles(number)
    def drawn(frame: Frame, address: Value) -> Value:
        return _drawn(frame, what, operand_of(address), owner="generator_random")

    return number


uniform_of, normal_of, exponential_of = map(_of_generator, ("uniform", "normal", "exponential"))


@handles(np.random.seed)
def _seed(frame: Frame, seed: Value = None) -> None:
    if not (isinstance(seed, Sym) and not seed.type.rank and seed.type.dtype.startswith(("int", "uint")) or type(static_of(seed)) is int):
        _refuse(frame, "what `np.random.seed` is given is no integer")
    _drawn(frame, "seed", operand_of(seed))


def _drawn(frame: Frame, what: str, *operands: Operand, owner: str = "") -> Sym:
    """A draw of the running program, behind those before it."""
    builder = frame.builder
    owner = owner or ("numba_random" if builder.compiled else "random")
    if builder.drawn is None:
        builder.drawn = builder.hidden("_draws", Type("float64", (Dim(None, 1),), array=True))
    if builder.draws_of == "units":
        _refuse(frame, "a function that calls itself becomes a function of the program, which may call it in another order")
    if {builder.draws_of, owner} == {"random", "numba_random"}:
        _refuse(frame, "some are drawn from NumPy's generator, others in compiled code from Numba's")
    builder.draws_of = builder.draws_of if owner == "generator_random" else owner
    wish = f"_{builder.aim}_part" if builder.aim else "_t"
    value = last = builder.variable(wish, Type("int64" if what in ("integer", "interval") else "float64", weak=True))
    builder.emit(Assign((Var(value.name),), f"runtime.{owner}_{what}", (builder.drawn.operand, *operands), (), builder.loc, builder.note))
    if what in ("integer", "interval"):
        last = builder.variable(wish, Type("float64", weak=True))
        builder.emit(Assign((Var(last.name),), "float", (value.operand,), (), builder.loc, builder.note))
    builder.emit(Store(Var(builder.drawn.name), Const(0), last.operand, "set", builder.loc, builder.note))
    return value


def first_draw(builder: Builder) -> Block:
    """What stands before all else in a program that draws."""
    return () if builder.drawn is None else (Assign((Var(builder.drawn.name),), "np.zeros", (Const(1),)), *builder.starts)


def refuse_draws(fn: Function, why: str) -> None:
    """Refuse a program that draws, where it would run more often than its function.

    Raises:
        UnsupportedSyntaxError: it draws; the message says why that matters, and where.
    """
    for stmt in walk(fn.body):
        if isinstance(stmt, Assign) and operation(stmt.op).draws:
            raise _error(why, stmt.loc)


def draw(frame: Frame, function: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A draw, for a method of a generator; anything else gives NotImplemented."""
    owner = getattr(function, "__self__", None)
    if not isinstance(owner, (*_GENERATORS, random.Random)):
        return NotImplemented
    method = getattr(Draws, function.__name__, None) if isinstance(owner, np.random.Generator) else None
    if id(owner) not in frame.builder.generators:
        if method is None or id(owner) not in frame.builder.streams and _home(owner) is None:
            _refuse(frame, "they would be drawn once, while it is compiled")
        return frame.call(method, (Record(Draws, {"address": _stream(frame, owner)}), *args), kwargs)
    moving = any(isinstance(v, Sym) and v.type.is_float for v in leaves([*args, *kwargs.values()]))  # integers may be compiled in
    if method is not None and (frame.builder.regions or id(owner) in frame.builder.streams or moving):
        return frame.call(method, (Record(Draws, {"address": _stream(frame, owner)}), *args), kwargs)
    if frame.builder.regions or id(owner) in frame.builder.streams:
        _refuse(frame, "the loop or branch around it would draw while it is compiled")
    known, options = static_of(tuple(args)), {k: static_of(v) for k, v in kwargs.items()}
    if not is_static(known) or not is_static(tuple(options.values())):
        raise errors.NeedStaticError("the arguments of a draw must be known at compile time", frame.builder.loc, hint="scale standard draws instead")
    drawn = function(*known, **options)
    if not isinstance(drawn, np.ndarray):
        return drawn
    taken = frame.captured.take(frame.builder, Lookup("item", {"draw": drawn}, "draw", drawn))
    return frame.call(np.copy, (taken,), {})  # each call draws an array of its own, which it may write to


def _refuse(frame: Frame, why: str) -> NoReturn:
    raise _error(why, frame.builder.loc)


def _error(why: str, loc: Loc | None) -> errors.UnsupportedSyntaxError:
    return errors.UnsupportedSyntaxError(
        "random numbers are drawn inside a compiled function",
        loc,
        reason=why,
        hint="draw them outside and pass the array in, or from np.random.default_rng(seed) before any loop",
    )
