"""Attributes and methods: `x.shape`, `x.T`, `x.sum(axis=0)`, and those of modules, lists and dicts."""

from __future__ import annotations

import difflib
import enum
import functools
import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any, NoReturn

import gast
import numpy as np

from stgrad import errors
from stgrad.frontend import boxes, iteration, library
from stgrad.frontend.axisless import item
from stgrad.frontend.certainties import closed
from stgrad.frontend.frame import Frame, evaluates
from stgrad.frontend.heap import current
from stgrad.frontend.identities import as_another
from stgrad.frontend.indexing import above, store
from stgrad.frontend.operations import binary, operation, shape_of
from stgrad.frontend.shapes import dtype_name
from stgrad.frontend.text import known_text, known_texts
from stgrad.frontend.values import Closure, DictView, Growing, Method, Queue, Record, Sym, Value, is_static, static_of
from stgrad.ir import Type
from stgrad.lookups import ABSENT, LIBRARIES, gives, look, root_of
from stgrad.rules import lookup
from stgrad.syntax.refuse import OutsideNames

# Methods that are functions of NumPy under the same name, with the array as first argument.
_FUNCTIONS = (
    "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max mean min nonzero prod ptp put ravel "
    "repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var copy"
).split()


@evaluates(gast.Attribute)
def attribute(frame: Frame, node: Any) -> Value:
    return iteration.used_once(frame, get(frame, frame.evaluate(node.value), node.attr, node), node, held=True)


_MEMORY = "it tells of the memory that the array has in plain Python"


def get(frame: Frame, owner: Value, name: str, node: Any) -> Value:
    """`owner.name`."""
    if name == "__class__" and isinstance(owner, (Sym, Growing, tuple, list, dict)):
        return frame.call(type, (owner,), {})
    if isinstance(owner, OutsideNames):
        return frame.of_module(name, node)
    if isinstance(owner, Sym):
        found = ATTRIBUTES.get(name)
        above("questions").refuse_absent(frame, owner, name, node, known=found is not None or name in METHODS)
        if name in ("base", "data", "ctypes"):
            place = frame.loc(node) if node is not None else frame.builder.loc
            raise errors.UnsupportedSyntaxError(f"the attribute `{name}` of an array is not supported", place, reason=_MEMORY)
        return as_another(frame, name, (owner,), found(frame, owner)) if found is not None else Method(owner, name)
    if isinstance(owner, Record) or type(owner).__name__ == "Super":
        return above("objects").attribute(frame, owner, name, node)
    if isinstance(owner, (tuple, list, dict)) and _may_be_own(owner, name):
        found = look("raw", type(owner), name)
        if isinstance(found, (property, FunctionType)):
            return _of_subclass(frame, owner, found)
        if found is ABSENT:  # of the instance, or made by a `__getattr__`: no method of lists or dicts
            value = frame.look("attribute", owner, name)
            return _missing(frame, owner, name, node) if value is ABSENT else value
    if isinstance(owner, tuple) and is_static(owner) and hasattr(type(owner), "n_sequence_fields") and hasattr(owner, name):
        return getattr(owner, name)  # `sys.float_info.max`
    if isinstance(owner, tuple) and name in ("_fields", "_field_defaults") and hasattr(type(owner), name):
        return frame.look("attribute", type(owner), name)
    of_set = isinstance(owner, set) and name in _CHANGING or isinstance(owner, (set, frozenset)) and name in ASKS
    by_name = of_set or isinstance(owner, tuple) and name not in getattr(owner, "_fields", ())
    if name == "default_factory" and hasattr(owner, "factory") or name == "maxlen" and Queue in (type(owner), getattr(owner, "cls", None)):
        return getattr(owner, "factory", None)
    lacks = isinstance(owner, (tuple, list, dict, Growing)) and above("kinds").agreed(frame, owner, lambda cls: cls in _CONTAINERS and not gives(cls, name))
    if lacks:
        missing = f"'{above('kinds').classes_of(frame, owner)[0].__name__}' object has no attribute '{name}'"
        raise errors.UndefinedNameError(missing, frame.loc(node) if node is not None else frame.builder.loc) from AttributeError(missing)
    if by_name or isinstance(owner, (list, dict, Growing)) or isinstance(owner, iteration.Range) and name in ("index", "count"):
        return Method(owner, name)
    if isinstance(owner, np.recarray) and name in (owner.dtype.names or ()):
        return frame.captured.field(frame.builder, owner, name)
    if isinstance(owner, np.ndarray) and not frame.unroll and name not in ("shape", "ndim", "dtype", "size"):
        return get(frame, frame.call(np.array, (owner,), {}), name, node)  # an array that was computed at compile time
    if isinstance(owner, Closure):
        frame.unsupported(node, "attributes of a nested function are not supported")
    if isinstance(owner, BaseException):
        above("exceptions").refuse_unknown(frame, owner, name)
    value = getattr(owner, name, ABSENT) if is_fixed(owner) else frame.look("attribute", owner, name)
    return _missing(frame, owner, name, node) if value is ABSENT else value


_CONTAINERS: tuple[type, ...] = (tuple, list, dict, deque, OrderedDict, defaultdict, type({}.keys()), type({}.values()), type({}.items()))


def _may_be_own(owner: Any, name: str) -> bool:
    """Whether a class derived from Python's containers, or an instance of one, may have this attribute beside what those have."""
    of_tuples = hasattr(owner, "_fields") and (name in owner._fields or name in _OF_NAMED_TUPLES)
    return name[:2] != "__" and not of_tuples and root_of(type(owner)) not in LIBRARIES


_OF_NAMED_TUPLES = ("_replace", "_asdict", "_make", "_fields", "_field_defaults")
_CHANGING = ("add", "discard", "remove", "update", "clear", "copy", "intersection_update", "difference_update", "symmetric_difference_update")


def is_fixed(owner: Any) -> bool:
    """Whether the attributes of an object stay what they are: it, or its class, is a library's, and it does not hold them in Python.

    Modules and functions can get others, polynomials and the containers of `collections` have what one puts into them.
    """
    if isinstance(owner, (ModuleType, FunctionType, functools.partial)):
        return False
    if isinstance(owner, (tuple, list, dict)):
        return True
    root = root_of(owner if isinstance(owner, type) else type(owner))
    fixed = isinstance(owner, (type, *_FIXED)) or root != "scipy" and not hasattr(owner, "__dict__")  # instances of SciPy hold arrays: splines, rotations
    return fixed and root in LIBRARIES - {"stgrad"}


_FIXED = (np.ufunc, np.finfo, np.iinfo, enum.Enum, type(np.sum))


def _missing(frame: Frame, owner: Any, name: str, node: Any) -> NoReturn:
    try:
        getattr(owner, name)
    except AttributeError as problem:
        close = difflib.get_close_matches(name, dir(owner), 1)
        hint = f"did you mean `{close[0]}`?" if close else ""
        plain = isinstance(owner, (ModuleType, type, tuple, list, dict)) or closed(owner)  # others may get attributes as the program runs
        raise errors.UndefinedNameError(str(problem), frame.loc(node) if node is not None else None, hint=hint) from (problem if plain else None)
    raise errors.UndefinedNameError(f"`{name}` appeared while it was looked for", frame.loc(node) if node is not None else None)


def _of_subclass(frame: Frame, owner: Value, found: Any) -> Value:
    """A method or property that the user's class of a tuple, list or dict defines."""
    return frame.call(found.fget, (owner,), {}) if isinstance(found, property) else MethodType(found, owner)


def _transpose(frame: Frame, x: Sym) -> Value:
    return operation(frame, np.transpose, (x,)) if x.type.rank > 1 else x


def _size(frame: Frame, x: Sym) -> Value:
    size: Value = 1
    for n in shape_of(frame, x):
        size = n if size == 1 and not isinstance(size, Sym) else binary(frame, gast.Mult, size, n)
    return size


ATTRIBUTES: dict[str, Callable[[Frame, Sym], Value]] = {
    "shape": shape_of,
    "ndim": lambda frame, x: x.type.rank,
    "size": _size,
    "T": _transpose,
    "mT": lambda frame, x: frame.call(np.swapaxes, (x, -1, -2), {}),
    "nbytes": lambda frame, x: binary(frame, gast.Mult, _size(frame, x), np.dtype(x.type.dtype).itemsize),
    "dtype": lambda frame, x: np.dtype(x.type.dtype),
    "real": lambda frame, x: operation(frame, np.real, (x,)) if x.type.dtype.startswith("complex") else x,
    "imag": lambda frame, x: frame.call(np.imag, (x,), {}),
    "itemsize": lambda frame, x: np.dtype(x.type.dtype).itemsize,
}


# `x.__getitem__(k)` is `operator.getitem(x, k)`
_SPECIAL: dict[str, Any] = {name: getattr(operator, name) for name in dir(operator) if name[:2] == name[-2:] == "__" and callable(getattr(operator, name))}
_SPECIAL.update({f"__{f.__name__}__": f for f in (len, iter, abs, bool, float, int, complex, round, reversed, divmod, next)})


def call_method(frame: Frame, method: Method, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """`owner.name(*args, **kwargs)`."""
    owner, name = method.owner, method.name
    if name in _SPECIAL and not isinstance(owner, Record):
        return frame.call(_SPECIAL[name], (owner, *args), kwargs)
    if isinstance(owner, Sym):
        special = METHODS.get(name)
        if special is not None:
            return special(frame, owner, *args, **kwargs)
        if name in _FUNCTIONS:
            return frame.call(getattr(np, name), (owner, *_packed(name, args)), kwargs)
        close = difflib.get_close_matches(name, [n for n in dir(np.ndarray) if n[0] != "_"], 1)
        hint = f"did you mean `{close[0]}`?" if close and close[0] != name else "use the NumPy function"
        raise errors.UnknownFunctionError(f"the array method `{name}` is not supported", frame.builder.loc, hint=hint)
    owner = current(owner)
    if isinstance(owner, Record):
        return frame.call(get(frame, owner, name, None), args, kwargs)
    return _container_method(frame, owner, name, args, kwargs)


def _packed(name: str, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """`x.reshape(2, 3)` and `x.transpose(1, 0)` as one tuple."""
    if name in ("reshape", "transpose") and len(args) > 1:
        return (tuple(args),)
    return args


def _astype(frame: Frame, x: Sym, dtype: Value, *_: Value, copy: Value = True, **__: Value) -> Value:
    name = dtype_name(frame, dtype)
    if not x.type.array:
        box = boxes.is_box(frame, x)
        if box and name == x.type.dtype and not static_of(copy):
            return x
        cast = frame.builder.call("cast", (x, name), Type(name))
        return boxes.made(frame, cast) if box else cast
    if name == x.type.dtype:
        return operation(frame, np.copy, (x,)) if static_of(copy) else x
    return frame.builder.call("np.astype", (x, np.dtype(name)), Type(name, x.type.dims, array=True))


def _fill(frame: Frame, x: Sym, value: Value) -> None:
    store(frame, x, Ellipsis, value, None)


def _sort(frame: Frame, x: Sym, axis: Value = -1, kind: Value = None, order: Value = None, **_: Value) -> None:
    store(frame, x, Ellipsis, frame.call(np.sort, (x,), {"axis": axis}), None)


def _partition(frame: Frame, x: Sym, kth: Value, axis: Value = -1, **_: Value) -> None:
    store(frame, x, Ellipsis, frame.call(np.partition, (x, kth), {"axis": axis}), None)


def _clip(frame: Frame, x: Sym, min: Value = None, max: Value = None, out: Value = None, **options: Value) -> Value:  # noqa: A002
    if out is not None:
        options["out"] = out
    return frame.call(np.clip, (x, min, max), options)


def _view(frame: Frame, x: Sym, *how: Value, **_: Value) -> Value:
    if (how or _) and not (len(how) == 1 and not _ and isinstance(static_of(how[0]), (type, str, np.dtype)) and np.dtype(static_of(how[0])) == x.type.dtype):
        frame.unsupported(None, "`view` with another dtype is not supported", hint="use .astype(...)")
    from stgrad.frontend.indexing import load

    return load(frame, x, (slice(None),) * x.type.rank, None) if x.type.rank else x


def _copy(frame: Frame, x: Sym, order: Value = "C") -> Value:
    if not x.type.array:
        return boxes.made(frame, x) if boxes.is_box(frame, x) else x
    return frame.call(np.copy, (x,), {"order": order} if static_of(order) != "C" else {})


def _flatten(frame: Frame, x: Sym, order: Value = "C") -> Value:
    return frame.call(np.copy, (frame.call(np.ravel, (x,), {"order": order}),), {})


def _compress(frame: Frame, x: Sym, condition: Value, axis: Value = None, out: Value = None) -> Value:
    return frame.call(np.compress, (condition, x), {"axis": axis, "out": out})


def _of_python(name: str, dtype: str, body: Callable[..., Any]) -> Callable[..., Value]:
    """A method that Python's own numbers have, of numbers of the running program."""

    def method(frame: Frame, x: Sym, *args: Value) -> Value:
        if x.type.array or x.type.dtype != dtype:
            what = f"an array of {x.type.dtype}" if x.type.array else f"a {x.type}"
            raise errors.UndefinedNameError(f"{what} has no attribute `{name}`", frame.builder.loc) from AttributeError(name)
        return frame.call(body, (x, *args), {})

    return method


METHODS: dict[str, Callable[..., Value]] = {
    "bit_length": _of_python("bit_length", "int64", library.bit_length),
    "bit_count": _of_python("bit_count", "int64", library.bit_count),
    "is_integer": _of_python("is_integer", "float64", library.is_integer),
    "compress": _compress,
    "copy": _copy,
    "sort": _sort,
    "partition": _partition,
    "clip": _clip,
    "astype": _astype,
    "fill": _fill,
    "item": item,
    "flatten": _flatten,
    "tolist": lambda frame, x: above("growing").from_array(frame, x, rows=False) if x.type.rank else item(frame, x),
    "view": _view,
}


def _container_method(frame: Frame, owner: Value, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    if isinstance(owner, (set, frozenset)):
        return _set_method(frame, owner, name, *args)
    is_list = isinstance(owner, list) or isinstance(owner, Growing) and issubclass(owner.cls, list)
    if is_list and name == "sort":
        from stgrad.frontend import ordering

        return ordering.sort(frame, owner, *args, **kwargs)
    if is_list and name == "remove" or isinstance(owner, (list, tuple, Growing, iteration.Range)) and name in ("index", "count"):
        from stgrad.frontend.searching import search

        known_texts(frame, owner, *args)
        return search(frame, owner, name, *args)
    if is_list and name in ("appendleft", "popleft", "extendleft", "rotate"):
        return above("deques").method(frame, owner, name, args, kwargs)
    if is_list and name in ("append", "extend", "pop", "clear", "copy", "reverse", "insert"):
        return _list_method(frame, owner, name, *args)
    if isinstance(owner, DictView) and name == "isdisjoint":
        return not any(frame.call(operator.contains, (owner, v), {}) for v in iteration.static_items(frame, args[0], None))
    known_text(frame, *args)
    if isinstance(owner, dict) and name in ("get", "pop", "setdefault") and args and not is_static(static_of(args[0])):
        return _get_at_run_time(frame, owner, name, *args, **kwargs)
    changes = name in ("pop", "clear", "update", "setdefault", "popitem")
    if changes and above("instance_dicts").is_one(owner):
        return above("instance_dicts").changed(frame, owner, lambda held: _container_method(frame, held, name, args, kwargs))
    if changes:
        frame.mutate(owner)
    bound = getattr(owner, name, None)
    if bound is None or isinstance(owner, Growing) or name[:2] == "__":
        cls = owner.cls if isinstance(owner, Growing) else type(owner)
        raise errors.UnknownFunctionError(f"`{cls.__name__}.{name}` is not supported", frame.builder.loc)
    if name == "copy":
        return frame.copied(owner)
    kept = [static_of(a) if name in ("pop", "get", "setdefault") and i == 0 else frame.keep(a) for i, a in enumerate(args)]
    try:
        result = bound(*kept, **{k: frame.keep(v) for k, v in kwargs.items()})
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        raise errors.ShapeError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem
    return DictView(owner, name) if isinstance(owner, dict) and name in ("keys", "values", "items") else iteration.used_once(frame, result, None, held=True)


ASKS = frozenset("union intersection difference symmetric_difference issubset issuperset isdisjoint".split())  # which change no set


def _set_method(frame: Frame, owner: set[Any], name: str, *args: Value) -> Value:
    """Methods that change or copy a set whose items are known."""
    from stgrad.frontend import sets
    from stgrad.frontend.iteration import static_items

    if name == "copy":
        return frame.copied(owner)
    known = static_of(args) if name in ("add", "discard", "remove") else [static_of(static_items(frame, sets.unordered(a), None)) for a in args]
    if not is_static(list(known)):
        if name in ASKS and (table := sets.key_set(frame, list(owner))) is not None:
            return frame.call(get(frame, table, name, None), args, {})
        raise errors.NeedStaticError("the items of this set must be known at compile time", frame.builder.loc, hint="use a list")
    if name not in ASKS:
        frame.mutate(owner)
    try:
        return getattr(owner, name)(*known)
    except (KeyError, TypeError) as problem:
        raise errors.ShapeError(f"{type(problem).__name__}: {problem}", frame.builder.loc) from problem


def _get_at_run_time(frame: Frame, owner: dict[Any, Value], name: str, key: Value, *default: Value) -> Value:
    from stgrad.frontend import tables
    from stgrad.frontend.selection import select, selectable

    table = tables.changed(frame, owner) if not (name == "get" and selectable(owner, key)) and tables.keyed(owner, key) else None
    if table is not None:
        return frame.call(get(frame, table, name, None), (key, *default), {})
    if name != "get" or not selectable(owner, key):
        raise errors.NeedStaticError(f"the key of `{name}` must be known at compile time", frame.builder.loc, hint="use an array")
    return select(frame, owner, key, lambda k: owner[k], lambda: default[0] if default else None)


def _list_method(frame: Frame, owner: Value, name: str, *args: Value) -> Value:
    """Methods that change or copy a list, of known length or not."""
    if name == "copy":
        return above("growing").copy(frame, owner) if isinstance(owner, Growing) else frame.copied(owner)
    if name == "extend":
        return _extend(frame, owner, *args)
    if name == "append":
        if isinstance(owner, Growing):
            above("growing").append(frame, owner, *args)
        else:
            (value,) = args
            frame.grow(owner, value)
            owner.append(frame.keep(value))
        return None
    if isinstance(owner, Growing):
        return _growing_method(frame, owner, name, *args)
    return _known_list_method(frame, owner, name, *args)


def _growing_method(frame: Frame, owner: Growing, name: str, *args: Value) -> Value:
    if name == "pop":
        return above("growing").pop(frame, owner, *args)
    from stgrad.frontend import edits

    if name == "clear":
        edits.drop(frame, owner, slice(None))
        return None
    return getattr(edits, name)(frame, owner, *args)


def _known_list_method(frame: Frame, owner: list[Value], name: str, *args: Value) -> Value:
    known = [static_of(a) if i == 0 and name in ("pop", "insert") else frame.keep(a) for i, a in enumerate(args)]
    if name in ("pop", "insert") and known and isinstance(known[0], Sym) and (owner or known[1:]):
        return _growing_method(frame, above("growth").of_run_time(frame, owner, *known[1:]), name, *known)
    if name == "insert":
        frame.grow(owner, known[-1])
    elif name in ("pop", "clear") and owner:
        frame.grow(owner, owner[-1])
    else:
        frame.mutate(owner)
    try:
        return getattr(owner, name)(*known)
    except IndexError as problem:
        raise errors.ShapeError(f"IndexError: {problem}", frame.builder.loc) from problem


def _extend(frame: Frame, owner: Value, values: Value) -> None:
    from stgrad.frontend.iteration import count_items, known_items

    items = known_items(frame, values, None)
    if items is not None:
        for v in items:
            _list_method(frame, owner, "append", v)
        return
    counted = count_items(frame, values, None)
    name = frame.hidden_name("list")
    frame.env[name] = owner
    above("growing").extend(frame, lambda v: _list_method(frame, frame.env[name], "append", v), counted)
    del frame.env[name]


__all__ = ["attribute", "call_method", "get", "lookup"]
