"""Python's builtins."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import growing, operations
from stgrad.frontend.comprehensions import unseen
from stgrad.frontend.control import branch
from stgrad.frontend.first_trips import folded
from stgrad.frontend.frame import Frame
from stgrad.frontend.heap import current
from stgrad.frontend.items import Slot
from stgrad.frontend.iteration import Enumerate, Mapped, Range, Reversed, Zip, count_items, known_items, range_length, static_items
from stgrad.frontend.purity import changes_nothing
from stgrad.frontend.text import known_text
from stgrad.frontend.values import (
    Growing,
    Method,
    Optional,
    Record,
    Sym,
    Value,
    is_number,
    is_static,
    leaves,
    operand_of,
    static_of,
    type_of,
)
from stgrad.ir import Const, Effect, Type, Var
from stgrad.lookups import ABSENT, called, look

HANDLERS: dict[Any, Callable[..., Value]] = {}
# Operations that take a sequence of arrays: their first argument stays one.
SEQUENCES = {
    np.concatenate,
    np.stack,
    np.vstack,
    np.hstack,
    np.dstack,
    np.column_stack,
    np.linalg.multi_dot,
    np.select,
    np.block,
}


def handles(*functions: Any) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register the meaning of calls of a function."""

    def register(handler: Callable[..., Value]) -> Callable[..., Value]:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


def objects_of() -> Any:
    """Instances of classes; they are built on this module."""
    from stgrad.frontend import objects

    return objects


@handles(range)
def _range(frame: Frame, *args: Value) -> Value:
    for a in args:
        if type_of(a).is_float or type_of(a).array:
            raise errors.TypeInferenceError(f"`range` of a {type_of(a)}", frame.builder.loc, hint="write int(...)")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    return Range(start, stop, step)


@handles(len)
def _len(frame: Frame, value: Value) -> Value:
    value = current(value)
    if isinstance(value, Sym) and value.type.rank:
        return operations.extent(frame, value, 0)
    if isinstance(value, Range):
        return range_length(frame, value)
    if isinstance(value, Growing):
        return value.count
    if isinstance(value, Record) and look("raw", value.cls, "__len__") is not ABSENT:
        return frame.call(value.cls.__len__, (value,), {})
    if isinstance(value, Method) and value.name == "flat":
        return frame.call(np.size, (value.owner,), {})
    known_text(frame, value)
    if isinstance(value, (tuple, list, dict)):
        return len(value)
    if is_static(value):
        return called(len, value)
    raise errors.TypeInferenceError("this value has no length", frame.builder.loc) from TypeError("a number has no len()") if isinstance(value, Sym) else None


@handles(enumerate)
def _enumerate(frame: Frame, value: Value, start: Value = 0) -> Value:
    return Enumerate(value, start)


@handles(reversed)
def _reversed(frame: Frame, value: Value) -> Value:
    return Reversed(value)


@handles(float)
def _float(frame: Frame, value: Value = 0.0) -> Value:
    if isinstance(value, Record):
        return objects_of().special(frame, value, "__float__", (), "is no number")
    return operations.cast_scalar(frame, value, "float")


@handles(int)
def _int(frame: Frame, value: Value = 0, base: Value = None) -> Value:
    if base is not None:
        known_text(frame, value)
        return called(int, static_of(value), static_of(base))
    if isinstance(value, Record):
        return objects_of().special(frame, value, "__int__", (), "is no number")
    return operations.cast_scalar(frame, value, "int")


@handles(complex)
def _complex(frame: Frame, value: Value = 0.0, imag: Value = 0.0) -> Value:
    if isinstance(imag, Sym) or imag != 0.0:
        value = operations.binary(frame, gast.Add, value, operations.binary(frame, gast.Mult, imag, 1j))
    return operations.cast_scalar(frame, value, "complex")


@handles(bool)
def _bool(frame: Frame, value: Value = False) -> Value:
    return operations.flag(frame, operations.truth(frame, value))


@handles(abs)
def _abs(frame: Frame, value: Value) -> Value:
    if isinstance(value, (Record, tuple)):
        return objects_of().special(frame, value, "__abs__", (), "has no absolute value")
    if is_static(value):
        return called(abs, value)
    if value.type.weak and value.type.dtype == "bool":
        value = frame.call(int, (value,), {})
    return frame.builder.call("np.absolute", (value,), operations._elementwise_type(abs, (value,)))


@handles(pow)
def _pow(frame: Frame, base: Value, exp: Value, mod: Value = None) -> Value:
    if mod is not None:
        known = [static_of(v) for v in (base, exp, mod)]
        if all(map(is_static, known)):
            return called(pow, *known)
        raise errors.UnknownFunctionError("`pow` with a modulus is not supported", frame.builder.loc, hint="write base**exp % mod, or a loop")
    return frame.call(operator.pow, (base, exp), {})


@handles(divmod)
def _divmod(frame: Frame, a: Value, b: Value) -> Value:
    if is_static((a, b)) and not (is_number(a) and is_number(b)):
        return called(divmod, a, b)
    return operations.binary(frame, gast.FloorDiv, a, b), operations.binary(frame, gast.Mod, a, b)


@handles(round)
def _round(frame: Frame, value: Value, ndigits: Value = None) -> Value:
    if is_static(value):
        return called(round, value, ndigits)
    if value.type.array:
        raise errors.TypeInferenceError("type numpy.ndarray doesn't define __round__ method", frame.builder.loc, hint="use np.round")
    if ndigits is None:
        return frame.builder.call("round", (value,), Type("int64", weak=True))
    return operations.operation(frame, np.round, (value, ndigits or 0))


@handles(sum)
def _sum(frame: Frame, values: Value, start: Value = 0) -> Value:
    listed = isinstance(values, Growing)
    values = _numbers(frame, values)
    items = known_items(frame, values, None)
    if items is not None:
        total = start
        for item in items:
            first = is_number(total) and total == 0 and not _matters(items, item)
            total = item if first else _added(frame, total, item)
        return total
    if isinstance(values, Sym) and values.type.rank == 1 and is_number(start) and start == 0:
        total = operations.operation(frame, np.sum, (values,), _as_narrow(values))
        return frame.builder.note_item(total, values) if listed else total
    if isinstance(values, Sym) and values.type.rank > 1 and is_number(start) and start == 0:
        return operations.operation(frame, np.sum, (values,), {"axis": 0, **_as_narrow(values)})
    return folded(frame, count_items(frame, values, None), lambda total, item: _added(frame, total, item), start)


def _as_narrow(values: Sym) -> dict[str, Any]:
    """NumPy's sum widens narrow integers, Python's adds one to the other."""
    narrow = np.dtype(values.type.dtype).kind in "iu" and values.type.dtype != "int64"
    return {"dtype": np.dtype(values.type.dtype)} if narrow else {}


def _matters(items: Sequence[Value], item: Value) -> bool:
    """Whether `0 + item` is something else than the item: a number for a truth value, and for an array one that nothing else holds."""
    return isinstance(item, Sym) and (item.type.dtype == "bool" or item.type.array and len(items) == 1)


def _added(frame: Frame, total: Value, item: Value) -> Value:
    if isinstance(total, (tuple, Record)) or isinstance(item, (tuple, Record)):
        found = objects_of().operator(frame, gast.Add, total, item)
        if found is not objects_of().NO_OPERATOR:
            return found
    if isinstance(total, (list, tuple)) and type(total) is type(item):
        items = [frame.keep(v) for v in (*total, *item)]
        return items if isinstance(total, list) else tuple(items)
    return operations.binary(frame, gast.Add, total, item)


def _numbers(frame: Frame, values: Value) -> Value:
    """A growing list of numbers, or of what is a number where it is not None, as an array."""
    structure = values.structure if isinstance(values, Growing) else None
    held = structure.value if isinstance(structure, Slot) else structure
    return growing.as_array(frame, values) if isinstance(held, Sym) and held.type.rank == 1 else values


NO_DEFAULT = object()


def _extreme(frame: Frame, args: tuple[Value, ...], kind: type, name: str, key: Value = None, default: Value = NO_DEFAULT) -> Value:
    from stgrad.frontend import ordering

    if key is not None:
        return ordering.extreme(frame, args[0] if len(args) == 1 else args, key, name, default)
    listed = len(args) == 1 and not isinstance(args[0], Sym)
    args = tuple(_numbers(frame, a) for a in args)
    if len(args) == 1 and not isinstance(args[0], (Sym, Growing, Range)) and known_items(frame, args[0], None) is None:
        args = (_numbers(frame, frame.call(list, args, {})),)
    if len(args) == 1 and isinstance(args[0], Sym):
        if not args[0].type.rank:
            raise errors.TypeInferenceError(f"`{name}` of one number", frame.builder.loc) from TypeError("a number is not iterable")
        best = _extreme_of(frame, args[0], name, default)
        return frame.builder.note_item(best, args[0]) if listed else best
    if len(args) == 1 and isinstance(args[0], Growing) and isinstance(args[0].structure, tuple):
        return ordering.extreme(frame, args[0], None, name, default)
    items = list(args) if len(args) > 1 else static_items(frame, args[0], None)
    if not items and default is not NO_DEFAULT:
        return default
    if not items:
        raise errors.ShapeError(f"ValueError: {name}() arg is an empty sequence", frame.builder.loc) from ValueError(f"{name}() arg is an empty sequence")
    objects_of().check_order(frame, items)
    best = items[0]
    for item in items[1:]:
        if is_static(best) and is_static(item):
            best = min(best, item) if name == "min" else max(best, item)
        elif all(isinstance(v, Sym) or is_number(v) for v in (best, item)) and {(type_of(v).dtype, type_of(v).weak) for v in (best, item)} == {("int64", True)}:
            best = frame.builder.call(name, (best, item), Type("int64", weak=True))
        else:
            best = _choose(frame, kind, best, item)
    return best


def _extreme_of(frame: Frame, array: Sym, name: str, default: Value) -> Value:
    """Of the items of one axis."""
    if array.type.rank > 1:
        message = f"`{name}` of an array with {array.type.rank} axes compares rows, which have no order"
        raise errors.TypeInferenceError(message, frame.builder.loc, hint=f"use np.{name}(...)")

    def found() -> Value:
        return operations.operation(frame, getattr(np, name), (array,))

    if default is NO_DEFAULT:
        return found()
    some = operations.binary(frame, gast.Gt, operations.extent(frame, array, 0), 0)
    return branch(frame, some, found, lambda: default, "_t") if isinstance(some, Sym) else found() if some else default


def _choose(frame: Frame, kind: type, best: Value, item: Value) -> Value:
    """`item if item > best else best`, as Python's max compares."""
    from stgrad.frontend.comparisons import compared

    better = operations.truth(frame, compared(frame, None, kind, item, best))
    if not isinstance(better, Sym):
        return item if better else best
    return branch(frame, better, lambda: item, lambda: best, "_t")


@handles(max)
def _max(frame: Frame, *args: Value, **options: Value) -> Value:
    return _extreme(frame, args, gast.Gt, "max", **options)


@handles(min)
def _min(frame: Frame, *args: Value, **options: Value) -> Value:
    return _extreme(frame, args, gast.Lt, "min", **options)


def _always(value: Value) -> Callable[[], Value]:
    return lambda: value


def _all_any(frame: Frame, values: Value, kind: str) -> Value:
    result: Value = kind == "all"
    for item in static_items(frame, values, None):
        cond = operations.truth(frame, item)
        if not isinstance(cond, Sym):
            if cond is not (kind == "all"):
                return cond
        elif not isinstance(result, Sym):
            result = cond
        else:
            left = result
            yes, no = (_always(cond), _always(False)) if kind == "all" else (_always(True), _always(cond))
            result = branch(frame, left, yes, no, "_c")
    return result


@handles(all)
def _all(frame: Frame, values: Value) -> Value:
    values = _numbers(frame, values)
    found = operations.operation(frame, np.all, (values,)) if isinstance(values, Sym) else unseen(frame, lambda: _all_any(frame, values, "all"), "`all`", None)
    return operations.flag(frame, found)


@handles(any)
def _any(frame: Frame, values: Value) -> Value:
    values = _numbers(frame, values)
    found = operations.operation(frame, np.any, (values,)) if isinstance(values, Sym) else unseen(frame, lambda: _all_any(frame, values, "any"), "`any`", None)
    return operations.flag(frame, found)


@handles(tuple)
def _tuple(frame: Frame, values: Value = ()) -> Value:
    if isinstance(values, Sym) and any(d.constant is None for d in values.type.dims[:1]):
        found = growing.from_array(frame, values, rows=True)
        found.cls = tuple
        return found
    if isinstance(values, Growing):
        found = growing.copy(frame, values)
        found.cls = tuple
        return found
    return frame.keep(tuple(static_items(frame, values, None)))


@handles(list)
def _list(frame: Frame, values: Value = ()) -> Value:
    if isinstance(values, Sym) and any(d.constant is None for d in values.type.dims[:1]):
        return growing.from_array(frame, values, rows=True)
    if isinstance(values, Growing):
        found = growing.copy(frame, values)
        found.cls = list
        return found
    if known_items(frame, values, None) is None and not (isinstance(values, Range) and values.known is not None):
        counted = count_items(frame, values, None)
        if not is_static(counted.length):
            name = frame.hidden_name("list")
            frame.env[name] = []
            growing.extend(frame, lambda v: frame.call(Method(frame.env[name], "append"), (v,), {}), counted)
            return frame.env.pop(name)
    return [frame.keep(v) for v in static_items(frame, values, None)]


@handles(map)
def _map(frame: Frame, function: Value, *values: Value) -> Value:
    return Mapped(function, Zip(values)) if changes_nothing(function) else frame.call(mapped, (function, *values), {})


def mapped(function, *values):  # type: ignore[no-untyped-def]
    """What `map` is short for."""
    for items in zip(*values):  # noqa: B905  (the shortest ends it)
        yield function(*items)


@handles(filter)
def _filter(frame: Frame, function: Value, values: Value) -> Value:
    return frame.call(filtered, (function, values, True), {})


def filtered(function, values, wanted):  # type: ignore[no-untyped-def]
    """What `filter` and `itertools.filterfalse` are short for."""
    for v in values:
        if bool(v if function is None else function(v)) == wanted:
            yield v


@handles(sorted)
def _sorted(frame: Frame, values: Value, *, key: Value = None, reverse: Value = False) -> Value:
    from stgrad.frontend import ordering, sets

    values = sets.unordered(values)
    numbers = _numbers(frame, values)
    if isinstance(numbers, Sym) and numbers.type.rank == 1 and key is None:
        result = operations.operation(frame, np.sort, (ordering.sortable(frame, numbers),))
        result = result if not static_of(reverse) else frame.call(np.flip, (result,), {})
        return Growing(result, operations.extent(frame, result, 0))
    return ordering.in_order(frame, values, key, reverse)


@handles(slice)
def _slice(frame: Frame, *args: Value) -> Value:
    return slice(*args)


@handles(print)
def _print(frame: Frame, *args: Value, sep: Value = " ", end: Value = "\n", file: Value = None, flush: Value = False) -> None:
    for i, a in enumerate(args):
        if isinstance(a, Optional) and isinstance(a.none, Sym):
            none, some = ((*args[:i], v, *args[i + 1 :]) for v in (None, a.value))
            branch(frame, a.none, lambda: _print(frame, *none), lambda: _print(frame, *some), "_t")  # noqa: B023
            return
    shown = tuple(
        operand_of(leaf) if isinstance(leaf, Sym) or is_number(leaf) or isinstance(leaf, str) else Const(str(leaf))
        for a in args
        for leaf in leaves(a)
    )
    frame.builder.emit(Effect("print", shown, (), frame.builder.loc, frame.builder.note))


@handles(breakpoint)
def _breakpoint(frame: Frame) -> None:
    """Stop there in plain Python. It is a print for all passes: of what the debugger may want to see, which they keep for it."""
    seen = [leaf for value in frame.env.values() for leaf in leaves(value) if isinstance(leaf, Sym) and isinstance(leaf.operand, Var)]
    frame.builder.emit(Effect("print", tuple(dict.fromkeys(leaf.operand for leaf in seen)), (("stop", Const(True)),), frame.builder.loc, frame.builder.note))


def on_console(function: Any) -> Callable[..., Value] | None:
    """What `sys.stderr.write` and its like do here: they print."""
    if getattr(function, "__name__", "") not in ("write", "flush") or getattr(function, "__self__", None) not in (sys.stdout, sys.stderr):
        return None
    if function.__name__ == "flush":
        return lambda frame: None
    return lambda frame, text: _print(frame, text.removesuffix("\n") if type(text) is str else text)


def _refused(what: str, why: str, instead: str) -> Callable[..., Value]:
    def handler(frame: Frame, *args: Value, **options: Value) -> Value:
        raise errors.UnsupportedSyntaxError(f"`{what}` is not supported", frame.builder.loc, reason=why, hint=instead)

    return handler


_STATE = "it looks at or changes the state of the running Python program"
for _outside in (input, open, np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.fromregex):
    HANDLERS[_outside] = _refused(_outside.__name__, "it would run once, while the function is compiled", "read outside, and pass the data in")
