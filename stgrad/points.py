"""The points that derivatives are taken at: which arguments of a call have floats, copies of them, directions that fit them.

And where the programs of functions are kept that are passed anew at each call: `jvp(f, ...)` finds the one of the last call.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any
from weakref import ref

import numpy as np

from stgrad.as_python import as_python
from stgrad.values import Record, closed, leaves, map_leaves, opened

# --------------------------------------------------------------------------- programs of functions


def kept(f: Any, key: Any, make: Callable[..., Any], *args: Any) -> Any:
    """What `make(f, *args)` gives, made once; it lives in the function's own dictionary, so it goes with it.

    A method, and a function made anew with the same code, have no dictionary of their own that lasts: for them it is that of the last twin
    (see `_programs`), so that `jvp(lambda x: loss(x, data), ...)` in a loop compiles once.
    """
    if type(f) is FunctionType:
        known = f.__dict__.get("_stgrad_programs")
        if known is not None and known[0]() is f:  # `functools.wraps` copies the dictionary of what it wraps
            found = known[1].get(key)
            if found is not None:
                return found
    owner, programs = _programs(as_python(f))
    if key not in programs:
        programs[key] = make(owner, *args)
    return programs[key]


def _programs(f: Any) -> tuple[Any, dict[Any, Any]]:
    """A function that is the same as this one, and its programs by key."""
    if isinstance(f, MethodType) or type(f) is FunctionType and "<locals>" in f.__qualname__:
        for owner, programs in tuple(_recent):  # other threads may put theirs in front
            if _same(owner, f):
                return owner, programs
        made = f, _own(f)
        _recent.appendleft(made)
        return made
    return f, _own(f)


def _own(f: Any) -> dict[Any, Any]:
    own = None if isinstance(f, MethodType) else getattr(f, "__dict__", None)
    if own is None or not isinstance(own, dict):
        return {}
    known = own.get("_stgrad_programs")
    if known is None or known[0]() is not f:
        known = own["_stgrad_programs"] = (ref(f), {})
    programs: dict[Any, Any] = known[1]
    return programs


_recent: deque[tuple[Any, dict[Any, Any]]] = deque(maxlen=8)  # few: they keep alive what their functions hold


def _same(one: Any, other: Any) -> bool:
    """Whether two functions cannot be told apart now: the same code over the same values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, MethodType):
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    if one.__code__ is not other.__code__ or one.__globals__ is not other.__globals__ or one.__dict__.keys() - _OURS or other.__dict__.keys() - _OURS:
        return False
    return all(map(_alike, _held(one), _held(other)))


_OURS = frozenset({"_stgrad_programs"})


def _held(f: FunctionType) -> Iterator[Any]:
    """What a function holds: its defaults and the variables of the functions around it, with the class of the one that is empty."""
    yield f.__defaults__
    yield f.__kwdefaults__
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield ValueError


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is float:
        return bool(one == other) and math.copysign(1.0, one) == math.copysign(1.0, other)
    if kind is tuple:
        return len(one) == len(other) and all(map(_alike, one, other))
    return kind in (int, str, bool) and bool(one == other)


# --------------------------------------------------------------------------- arguments


def has_floats(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return kind is float
    if kind is np.ndarray:
        return value.dtype.kind in "fc"
    return any(isinstance(v, (float, complex)) or getattr(getattr(v, "dtype", None), "kind", "") in ("f", "c") for v in leaves(opened(value)))


def floats(primals: Sequence[Any]) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative."""
    if len(primals) < len(_ALL):
        for x in primals:
            if type(x) is not float and (type(x) is not _ARRAY or x.dtype is not _FLOAT):
                break
        else:
            return _ALL[len(primals)]
    return tuple([i for i, value in enumerate(primals) if has_floats(value)])


def spread(found: tuple[Any, ...], chosen: tuple[int, ...], count: int) -> tuple[Any, ...]:
    """What was found for the chosen arguments, None for the others."""
    if len(chosen) == count:
        return found
    rest = iter(found)
    return tuple([next(rest) if i in chosen else None for i in range(count)])


_PLAIN = frozenset({float, int, bool, complex, type(None), str})


def copies(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments whose arrays belong to nobody else; those that share memory do so in the copies."""
    if len(values) == 1 and type(values[0]) is np.ndarray:
        return (values[0].copy(),)
    trees = [v if type(v) in _PLAIN or type(v) is np.ndarray else opened(v) for v in values]
    roots = Counter(id(_root(leaf)) for tree in trees for leaf in leaves(tree) if isinstance(leaf, np.ndarray))
    shared = {root for root, count in roots.items() if count > 1}
    if not shared:
        return tuple([closed(map_leaves(_copied, tree)) if type(tree) not in _PLAIN else tree for tree in trees])
    made: dict[int, np.ndarray[Any, Any]] = {}

    def copied(leaf: Any, path: str) -> Any:
        if not isinstance(leaf, np.ndarray) or id(_root(leaf)) not in shared:
            return _copied(leaf, path)
        root = _root(leaf)
        new = made.setdefault(id(root), root.copy(order="K"))
        start = leaf.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return np.ndarray(leaf.shape, leaf.dtype, new.data, start, leaf.strides)

    return tuple([closed(map_leaves(copied, tree)) for tree in trees])


def _root(leaf: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory of a view, where that is an array without gaps."""
    base = leaf.base
    return base if isinstance(base, np.ndarray) and (base.flags.c_contiguous or base.flags.f_contiguous) else leaf


def _copied(leaf: Any, _: str) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


# --------------------------------------------------------------------------- directions


def directed(name: str, primals: Any, tangents: Any) -> tuple[int, ...]:
    """The positions of the arguments that have a derivative.

    Raises TypeError or ValueError unless each has a tangent of its structure and shapes, or None, which is zero: nothing is broadcast here.
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"{name}: the {what} are a tuple with an entry for each argument, not of type {type(given).__name__}")
    if len(primals) != len(tangents):
        raise TypeError(f"{name}: there are {len(primals)} primals and {len(tangents)} tangents")
    chosen = floats(primals)
    for position in chosen:
        x, v = primals[position], tangents[position]
        if type(x) is not type(v) or type(x) is not float and (type(x) is not np.ndarray or x.shape != v.shape):  # most are: no time is lost here
            _fits(name, position, x, v)
    for position in set(range(len(primals))) - set(chosen):
        for x, v in along(opened(primals[position]), opened(tangents[position]), f"{name}: tangent {position}"):
            _still(name, position, x, v)
    return chosen


def everywhere(primals: Any, tangents: Any) -> tuple[int, ...] | None:
    """Every position, where all arguments are numbers or arrays with directions of the same kind and shape; None where one is not."""
    if type(primals) is not tuple or type(tangents) is not tuple or len(primals) != len(tangents) or len(primals) >= len(_ALL):
        return None
    for x, v in zip(primals, tangents):  # noqa: B905
        if type(x) is not type(v):
            return None
        if type(x) is _ARRAY:
            if x.shape != v.shape or x.dtype is not _FLOAT and x.dtype.kind not in "fc":
                return None
        elif type(x) is not float:
            return None
    return _ALL[len(primals)]


_ARRAY, _FLOAT = np.ndarray, np.dtype(float)
_ALL = [tuple(range(n)) for n in range(16)]


def _fits(name: str, position: int, x: Any, v: Any) -> None:
    for one, other in along(opened(x), opened(v), f"{name}: tangent {position}"):
        if other is not None and not has_floats(one):
            _still(name, position, one, other)
        elif other is not None and np.shape(one) != np.shape(other):
            raise ValueError(f"{name}: tangent {position} has shape {np.shape(other)}, its primal has {np.shape(one)}")


def _still(name: str, position: int, x: Any, v: Any) -> None:
    """What is no float moves in no direction; zeros say so, too, and what is no float itself stands there for the structure alone."""
    if v is not None and has_floats(v) and np.any(np.asarray(v) != 0):
        kind = x.dtype if isinstance(x, (np.ndarray, np.generic)) else type(x).__name__
        raise TypeError(f"{name}: tangent {position} is that of {kind}, which has no derivative: pass None, or a float as primal")


def along(x: Any, v: Any, what: str = "a tangent") -> list[tuple[Any, Any]]:
    """The leaves of a structure with those of its direction, in which None stands for any part that is zero.

    Both are values of the front end, or opened. Raises TypeError where the structures differ.
    """
    if v is None:
        return [(leaf, None) for leaf in leaves(x)]
    if isinstance(x, (tuple, list)) and isinstance(v, (tuple, list)) and len(x) == len(v):
        return [pair for one, other in zip(x, v, strict=True) for pair in along(one, other, what)]
    if isinstance(x, dict) and isinstance(v, dict) and len(x) == len(v):
        by_name = x.keys() == v.keys()
        return [pair for (key, one), other in zip(x.items(), v.values(), strict=True) for pair in along(one, v[key] if by_name else other, what)]
    if isinstance(x, Record) and isinstance(v, Record):
        return along(x.fields, v.fields, what)
    point, direction = list(leaves(x)), list(leaves(v))
    if len(point) != len(direction):
        raise TypeError(f"{what} has {len(direction)} leaves, its primal has {len(point)}")
    return list(zip(point, direction, strict=True))


__all__ = ["along", "copies", "directed", "everywhere", "floats", "has_floats", "kept", "spread"]
