"""Operations on tracked numbers and arrays: their value is that of Python and NumPy, their pullback is a program of the compiler.

`apply` records an operation with one or more float results; `move` one that only moves numbers about, whose pullback follows from running it on the
numbers' places; `item` and `write` are those of subscripts. An operation without active operands is not recorded.
"""

from __future__ import annotations

import linecache
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.analysis.overlaps import refusal
from stgrad.calls.calling import overlaps_itself
from stgrad.errors import InternalError, StgradError, TypeInferenceError
from stgrad.plain.tape import Buffer, Places
from stgrad.plain.tracked import Tracked, plain, running
from stgrad.plain.twins import laid_out

_FLOATS = "fc"


def is_active(value: Any) -> bool:
    """Whether a number that is differentiated is in there, through containers."""
    return any(t.buffer.active for t in tracked_in(value))


def tracked_in(value: Any) -> list[Tracked]:
    """The tracked leaves of a structure, in order."""
    kind = type(value)
    if kind is Tracked:
        return [value]
    if kind is dict:
        return [t for v in value.values() for t in tracked_in(v)]
    if kind is slice:
        return tracked_in((value.start, value.stop, value.step))
    if kind in (list, set) or isinstance(value, tuple):
        return [t for v in value for t in tracked_in(v)]
    return []


def places_of(t: Tracked) -> Places:
    return t.buffer, t.places


def made(value: Any) -> Tracked:
    """A fresh number or array, in memory of its own."""
    if type(value) is np.ndarray:
        return Tracked(value, Buffer(running(), value.size, value.dtype), counted(value, 0))
    return Tracked(value, Buffer(running(), 1, np.result_type(value)), np.zeros((), int))


def has_floats(value: Any) -> bool:
    return isinstance(value, (float, complex, np.inexact)) or type(value) is np.ndarray and value.dtype.kind in _FLOATS


def counted(like: Any, start: int) -> Any:
    """Integers from `start` on in the shape of an array, and in its layout, so that views of both are alike."""
    found = np.empty_like(like, int) if overlaps_itself(like) else laid_out(like, int)
    found[...] = np.arange(start, start + found.size).reshape(found.shape)
    return found


def fresh(value: Any, given: Any = ()) -> Any:
    """What a call made, in memory that nobody else holds, also not what was given: what is written to such arrays is recorded."""
    if type(value) is np.ndarray and value.dtype.kind in _FLOATS:
        return made(value.copy() if value.base is not None or _shares(value, given) else value)
    if isinstance(value, (tuple, list)) and any(type(v) is np.ndarray for v in value):
        items = [fresh(v, given) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _shares(value: Any, given: Any) -> bool:
    """Whether an array may lie in memory of what was given."""
    if isinstance(plain(given), np.ndarray):
        return bool(np.may_share_memory(value, plain(given)))
    inside = given.values() if type(given) is dict else given if isinstance(given, (tuple, list)) else ()
    return any(_shares(value, g) for g in inside)


def is_discrete(value: Any) -> bool:
    """Whether nothing in a result has a derivative: integers and flags."""
    if isinstance(value, (tuple, list)):
        return all(map(is_discrete, value))
    return value is None or isinstance(value, (int, np.integer, np.bool_)) or isinstance(value, np.ndarray) and value.dtype.kind in "iub"


# --------------------------------------------------------------------------- operations with a derivative


def arithmetic(function: Callable[..., Any], a: Any, b: Any) -> Any:
    """An operator; NotImplemented where an operand is of a class that has its own way."""
    a, b = (_operand(x) for x in (a, b))
    if a is NotImplemented or b is NotImplemented:
        return NotImplemented
    return apply(function, (a, b), {})


def _operand(x: Any) -> Any:
    if type(x) is list or type(x) is tuple:
        from stgrad.plain.numpy_calls import numpy_call

        return numpy_call(np.array, (x,), {})
    return x if type(x) is Tracked or isinstance(x, (int, float, complex, np.generic, np.ndarray)) else NotImplemented


def apply(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`, recorded; a StgradError where it has no derivative."""
    value = function(*plain(args), **plain(kwargs))
    if not is_active((args, kwargs)):
        return fresh(value, (args, kwargs))
    if not any(map(has_floats, value if isinstance(value, (tuple, list)) else (value,))):
        return discrete(function, value)
    read = tracked_in((args, kwargs))
    quick = _QUICK.get(function)
    if quick is not None:
        pull = quick(*(_kept(v) for v in plain(args)))
        shapes = [np.shape(v) for v in plain(args)]
        sides = [i for i, a in enumerate(args) if type(a) is Tracked]
        return _recorded(value, read, lambda bars: [_unbroadcast(_finite(pull[i](bars[0]), bars[0]), shapes[i]) for i in sides])
    pullback = _pullback(function, args, kwargs, value)
    if isinstance(function, np.ufunc) or function in _SYMBOLS:
        return _recorded(value, read, lambda bars: [_finite(g, bars[0]) for g in pullback(_seeded(value, bars), value)])
    return _recorded(value, read, lambda bars: pullback(_seeded(value, bars), value))


def _finite(g: Any, bar: Any) -> Any:
    """A zero cotangent into an infinite partial derivative is zero, element by element."""
    return g if np.shape(g) != np.shape(bar) or np.isfinite(g).all() else np.where(np.equal(bar, 0.0), 0.0, g)


def discrete(function: Any, value: Any) -> Any:
    """A result without floats, of a function that is known to do nothing else; any other may keep what it got, or have written to it."""
    from stgrad.rules import lookup

    if value is None or not is_discrete(value) or function not in _SYMBOLS and lookup(function) is None:
        raise running().refuse(f"`{getattr(function, '__name__', function)}` has no derivative rule")
    return value


def _recorded(value: Any, read: list[Tracked], pull: Callable[[list[Any]], Any]) -> Any:
    """The results as tracked values, of a step that is recorded."""
    parts = list(value) if isinstance(value, (tuple, list)) else [value]
    wrapped = [(fresh(v, read) if type(v) is np.ndarray else made(v)) if has_floats(v) else v for v in parts]
    outputs = [places_of(w) for w in wrapped if type(w) is Tracked]
    running().add(outputs, [places_of(t) for t in read], pull)
    if not isinstance(value, (tuple, list)):
        return wrapped[0]
    return type(value)(*wrapped) if hasattr(value, "_fields") else type(value)(wrapped)


def _kept(value: Any) -> Any:
    return value.copy() if type(value) is np.ndarray else value


def _seeded(value: Any, bars: list[Any]) -> Any:
    """Cotangents in the structure of a value."""
    if not isinstance(value, (tuple, list)):
        return _number(bars[0], value)
    rest = iter(bars)
    return tuple([_number(next(rest), v) if has_floats(v) else None for v in value])


def _number(bar: Any, value: Any) -> Any:
    return bar if type(value) is np.ndarray else bar.item() if hasattr(bar, "item") else bar


def _unbroadcast(bar: Any, shape: tuple[int, ...]) -> Any:
    bar = np.asarray(bar)
    extra = bar.ndim - len(shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and bar.shape[i + extra] != 1))
    return bar.sum(axis=axes).reshape(shape) if axes else bar


_Pulls = tuple[Callable[[Any], Any], ...]
_QUICK: dict[Any, Callable[..., _Pulls]] = {
    operator.add: lambda a, b: (lambda g: g, lambda g: g),
    operator.sub: lambda a, b: (lambda g: g, lambda g: -g),
    operator.mul: lambda a, b: (lambda g: g * np.conj(b), lambda g: g * np.conj(a)),
    operator.truediv: lambda a, b: (lambda g: g / np.conj(b), lambda g: -g * np.conj(np.divide(np.divide(a, b), b))),
    operator.neg: lambda a: (lambda g: -g,),
    operator.pos: lambda a: (lambda g: g,),
}
_QUICK |= {getattr(np, u): _QUICK[o] for u, o in (("add", operator.add), ("subtract", operator.sub), ("multiply", operator.mul), ("divide", operator.truediv))}


# --------------------------------------------------------------------------- programs of the compiler


_SYMBOLS = {operator.pow: "**", operator.mod: "%", operator.floordiv: "//", operator.matmul: "@"}
_PROGRAMS: dict[Any, Any] = {}


def _pullback(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> Callable[[Any, Any], Any]:
    """The pullback of one call, by a program that does nothing else; its leaves are parameters, so that one program serves many calls."""
    leaves: list[Any] = []
    constants: list[Any] = []
    text = _call_text(function, args, kwargs, leaves, constants)
    turned = any(_is_complex(v) for v in (value if isinstance(value, (tuple, list)) else (value,)))
    key = (function, text, turned, tuple(type(x) is Tracked for x in leaves), *map(_hashable, constants))
    known = _PROGRAMS.get(key)
    program, widened = known or (_program(function, text, leaves, constants), False)
    pullback = program.pullback(tuple([_given(x, widened) for x in leaves]))
    if known is None:
        read = [x for x in leaves if type(x) is Tracked]
        try:
            _try(pullback, value, read)
        except TypeInferenceError:
            if not turned:
                raise
            by_rule = _by_rule(function, args, kwargs)
            if by_rule is not None:
                return by_rule
            widened = True  # the values decide that it is complex: see it as a function of complex numbers
            pullback = program.pullback(tuple([_given(x, widened) for x in leaves]))
            _try(pullback, value, read)
        _PROGRAMS[key] = program, widened
    return pullback  # type: ignore[no-any-return]


def _by_rule(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any, Any], Any] | None:
    """The pullback by the rule of the function, at the value that it gave: eigenvectors of the same matrix as a complex one may have other signs."""
    from stgrad.rules import lookup

    rule = lookup(function)
    if rule is None or rule.adjoint is None or kwargs or not all(type(a) is Tracked for a in args):
        return None
    adjoint, inputs = rule.adjoint, tuple(_kept(plain(a)) for a in args)

    def pullback(bar: Any, value: Any) -> Any:
        found = adjoint(value, bar, *inputs)
        return found if isinstance(found, tuple) else (found,)

    return pullback


def _is_complex(value: Any) -> bool:
    return isinstance(value, (complex, np.complexfloating)) or isinstance(value, np.ndarray) and value.dtype.kind == "c"


def _given(leaf: Any, widened: bool) -> Any:
    value = _kept(plain(leaf))
    return value + 0j if widened and type(leaf) is Tracked and not _is_complex(value) else value


def _try(pullback: Callable[[Any, Any], Any], value: Any, read: list[Tracked]) -> None:
    """A program must see the shapes that NumPy gave, and give cotangents in those of the arguments."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    try:
        found = pullback(_seeded(value, [np.zeros(np.shape(v), np.result_type(v)) for v in parts if has_floats(v)]), value)
    except StgradError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        raise InternalError(f"the pullback of an operation raised {error}") from error
    if [np.shape(g) for g in found] != [np.shape(t.value) for t in read]:
        raise InternalError("the pullback of an operation gave cotangents of other shapes")


def _hashable(constant: Any) -> Any:
    return constant if type(constant).__hash__ is not None else id(constant)


def _call_text(function: Any, args: Any, kwargs: Any, leaves: list[Any], constants: list[Any]) -> str:
    written = [_argument(a, leaves, constants) for a in args]
    if function in _SYMBOLS:
        return f" {_SYMBOLS[function]} ".join(written)
    if function in (operator.abs, abs):
        return f"abs({written[0]})"
    if function is divmod:
        return f"divmod({written[0]}, {written[1]})"
    named = [f"{name}={_argument(a, leaves, constants)}" for name, a in kwargs.items()]
    return f"function({', '.join(written + named)})"


def _argument(value: Any, leaves: list[Any], constants: list[Any]) -> str:
    kind = type(value)
    if kind is Tracked or kind in (float, int, complex) or isinstance(value, (np.generic, np.ndarray)):
        leaves.append(value)
        return f"x{len(leaves) - 1}"
    if kind is list or kind is tuple:
        items = [_argument(v, leaves, constants) for v in value]
        return f"[{', '.join(items)}]" if kind is list else f"({''.join(i + ', ' for i in items)})"
    if kind is slice:
        parts = [_argument(v, leaves, constants) for v in (value.start, value.stop, value.step)]
        return f"slice({', '.join(parts)})"
    if value is None or value is Ellipsis or kind in (bool, str):
        return repr(value)
    constants.append(value)
    return f"c{len(constants) - 1}"


def _program(function: Any, text: str, leaves: list[Any], constants: list[Any]) -> Any:
    from stgrad.request import Derivative, Options
    from stgrad.transformed import Transformed

    parameters = [f"x{i}" for i in range(len(leaves))]
    wrt = tuple(p for p, x in zip(parameters, leaves, strict=True) if type(x) is Tracked)
    body = f"def operation({', '.join(parameters)}):\n    return {text}\n"
    file = f"<operation {len(_PROGRAMS)} of a recorded run>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    names: dict[str, Any] = {"function": function, "__name__": file} | {f"c{i}": c for i, c in enumerate(constants)}
    exec(compile(body, file, "exec"), names)  # noqa: S102
    return Transformed(Derivative(names["operation"], "vjp", wrt, single=False), Options(jit=False))


# --------------------------------------------------------------------------- numbers that are moved about


def _is_view(value: Any, t: Tracked) -> bool:
    return type(value) is np.ndarray and type(t.value) is np.ndarray and value.size > 0 and np.may_share_memory(value, t.value)


def move(function: Callable[..., Any], data: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that moves numbers without changing them: those of the arguments at the positions `data`; others are zeros or constants.

    Where the result shares memory with its one array it is a view, with the places of a view.
    """
    value = function(*plain(args), **plain(kwargs))
    sources = [t for i in data if i < len(args) for t in tracked_in(args[i])]
    if len(sources) == 1 and type(args[data[0]]) is Tracked and _is_view(value, sources[0]):
        return Tracked(value, sources[0].buffer, function(sources[0].places, *plain(args[1:]), **plain(kwargs)))
    if not is_active(sources) or not has_floats(value):
        return fresh(value, args)
    numbers = _numbered(sources)
    shown = [_numbers_for(a, numbers) if i in data else plain(a) for i, a in enumerate(args)]
    order = np.asarray(function(*shown, **{k: plain(v) for k, v in kwargs.items() if k != "dtype"}))
    if order.shape != np.shape(value):
        raise running().refuse(f"`{getattr(function, '__name__', function)}` does more than to move numbers")
    return _recorded(value, sources, lambda bars: gathered(order, bars[0], sources, numbers))


def _numbered(sources: list[Tracked]) -> dict[int, Any]:
    """A number for each element of some arrays, from 1; the same array has the same numbers wherever it stands."""
    numbers: dict[int, Any] = {}
    count = 1
    for t in sources:
        if id(t) not in numbers:
            size = np.size(t.places)
            numbers[id(t)] = counted(t.places, count)
            count += size
    return numbers


def _numbers_for(value: Any, numbers: dict[int, Any]) -> Any:
    """The same structure with the number of each element in its place, 0 for constants."""
    if type(value) is Tracked:
        return numbers[id(value)]
    if type(value) is list or isinstance(value, tuple):
        return [_numbers_for(v, numbers) for v in value] if type(value) is list else tuple([_numbers_for(v, numbers) for v in value])
    return np.zeros(value.shape, int) if isinstance(value, np.ndarray) else 0


def gathered(order: Any, bar: Any, sources: list[Tracked], numbers: dict[int, Any]) -> list[Any]:
    """The cotangents of the arrays whose elements went to the places that `order` tells."""
    total = np.zeros(1 + sum(n.size for n in numbers.values()), np.asarray(bar).dtype)
    np.add.at(total, order, bar)
    seen: set[int] = set()
    found = []
    for t in sources:
        found.append(None if id(t) in seen else total[numbers[id(t)]])
        seen.add(id(t))
    return found


def copied(t: Tracked) -> Any:
    """The same numbers in memory of their own."""
    return move(np.array, (0,), (t,), {}) if type(t.value) is np.ndarray else t


def item(t: Tracked, key: Any) -> Any:
    """`t[key]`."""
    key = plain(key)
    value = t.value[key]
    if _is_view(value, t):
        return Tracked(value, t.buffer, t.places[key])
    if not t.buffer.active:
        return fresh(value)
    return _recorded(value, [Tracked(value, t.buffer, t.places[key])], lambda bars: bars)


def write(t: Tracked, key: Any, value: Any) -> None:
    """`t[key] = value`."""
    key, new = plain(key), _stored(value)
    see_order(t.value[key] if np.may_share_memory(t.value, plain(new)) else None, plain(new), lambda: operator.setitem(t.value, key, plain(new)))
    t.value[key] = plain(new)
    target = t.buffer, t.places[key]
    if not t.buffer.active and not is_active(new):
        return
    read = tracked_in(new)
    shape = np.shape(plain(new))
    shape = shape[max(0, len(shape) - np.ndim(target[1])) :]
    running().add([target], [(s.buffer, s.places.reshape(shape)) for s in read], lambda bars: [_unbroadcast(bars[0], shape)] * len(read))


def see_order(view: Any, source: Any, store: Callable[[], Any]) -> None:
    """See that a store into a view gives what it would give from a copy of its source, where both share memory: it is tried with numbers that all differ.

    Raises AliasingError where NumPy reads items that it has just written; the memory is what it was.
    """
    if type(view) is not np.ndarray or type(source) is not np.ndarray or not np.may_share_memory(view, source) or not source.flags.writeable:
        return
    arrays = view, source
    before = [a.copy() for a in arrays]
    try:
        for array, start in zip(arrays, (0, view.size), strict=True):
            array[...] = np.arange(start, start + array.size).reshape(array.shape)
        wanted = source.copy()
        store()
        in_order = np.array_equal(view, np.broadcast_to(wanted, view.shape))
    finally:
        for array, values in zip(arrays, before, strict=True):
            array[...] = values
    if not in_order:
        raise running().refuse(refusal(None))


def _stored(value: Any) -> Any:
    """What is written, as one array where it is a list of tracked numbers."""
    if type(value) in (list, tuple) and tracked_in(value):
        from stgrad.plain.numpy_calls import numpy_call

        return numpy_call(np.array, (value,), {})
    return value


def change(function: Callable[..., Any], data: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A function that overwrites elements of its first argument by others that it gets, or moves them there: `np.copyto`, `x.sort()`."""
    target = args[0]
    sources = [t for i in data if i < len(args) for t in tracked_in(args[i])]
    numbers = _numbered(sources)
    shown = [_numbers_for(a, numbers) if i in data else plain(a) for i, a in enumerate(args)]
    order = shown[0] = np.array(shown[0])
    if function is np.copyto and not kwargs:
        see_order(plain(target), plain(args[1]), lambda: np.copyto(plain(target), plain(args[1])))
    function(*shown, **plain(kwargs))
    function(*plain(args), **plain(kwargs))
    if is_active(sources):
        running().add([places_of(target)], [places_of(t) for t in sources], lambda bars: gathered(order, bars[0], sources, numbers))

