"""Attributes and methods of tracked numbers and arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad.plain.holders import converted
from stgrad.plain.operations import _recorded, copied, fresh, item, move, places_of
from stgrad.plain.tracked import Tracked, plain, running

_FACTS = frozenset({"shape", "ndim", "size", "dtype", "strides", "flags", "nbytes", "itemsize"})
_MOVING = frozenset({"reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "diagonal", "take", "repeat", "compress"})
_DISCRETE = frozenset({"is_integer", "setflags", "argmax", "argmin", "argsort", "any", "all", "nonzero", "searchsorted"})
_NUMPY = frozenset({"sum", "mean", "prod", "max", "min", "std", "var", "cumsum", "cumprod", "dot", "trace", "clip", "round", "conj", "conjugate", "ptp"})


@dataclass(frozen=True, eq=False)
class Bound:
    """A method of a tracked value, which takes tracked arguments."""

    function: Callable[..., Any]
    owner: Tracked

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.owner, *args, **kwargs)


def attribute(t: Tracked, name: str) -> Any:
    """`t.name`; AttributeError where the value has none."""
    if name == "__array_wrap__":  # as code of NumPy's in Python asks for it
        return Bound(_wrapped, t)
    if name.startswith("__"):  # also what NumPy asks for to get at the memory
        raise AttributeError(name)
    found = getattr(t.value, name)
    if name in _FACTS:
        return found
    if name in _MOVING:
        return Bound(_moving(name), t)
    if name in _DISCRETE:
        return Bound(lambda self, *args, **kwargs: getattr(self.value, name)(*plain(args), **plain(kwargs)), t)
    if name in _NUMPY:
        return Bound(functools.partial(_by_numpy, getattr(np, name)), t)
    if name in _METHODS:
        return Bound(_METHODS[name], t)
    if name in _PROPERTIES:
        return _PROPERTIES[name](t)
    raise running().refuse(f"the attribute `{name}` of an array or number is used")


def _wrapped(_: Tracked, found: Any, context: Any = None, return_scalar: bool = False) -> Any:
    return found[()] if return_scalar and np.ndim(plain(found)) == 0 else found


def _by_numpy(function: Any, *args: Any, **kwargs: Any) -> Any:
    from stgrad.plain.numpy_calls import numpy_call

    return numpy_call(function, args, kwargs)


@functools.cache
def _mover(name: str) -> Callable[..., Any]:
    return lambda a, *args, **kwargs: getattr(np.asarray(a), name)(*args, **kwargs)


def _moving(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: move(_mover(name), (0,), (self, *args), kwargs)


def as_type(t: Tracked, dtype: Any, *_: Any, copy: bool = True, **__: Any) -> Any:
    """`t.astype(dtype)`: integers and flags have no derivative."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        return converted(t, dtype)[()]
    if dtype == t.dtype and type(t.value) is np.ndarray:
        return copied(t) if copy else t
    value = np.asarray(t.value).astype(dtype)
    value = value if type(t.value) is np.ndarray else value[()]
    return _recorded(value, [t], lambda bars: bars) if t.buffer.active else fresh(value)


def scalar(t: Tracked, value: Any) -> Any:
    """The one number of an array, or a number, as another type of number."""
    places = t.places.reshape(()) if np.size(t.places) == 1 else t.places
    return _recorded(value, [Tracked(value, t.buffer, places)], lambda bars: bars) if t.buffer.active else value


def _item(t: Tracked, *position: Any) -> Any:
    position = plain(position[0] if len(position) == 1 else position)
    value = np.asarray(t.value).item(*([position] if position != () else []))  # type: ignore[arg-type]
    at = t.places.reshape(()) if position == () else t.places.ravel()[position] if isinstance(position, int) else t.places[position]
    return scalar(Tracked(value, t.buffer, np.asarray(at)), value)


def _to_list(t: Tracked) -> Any:
    return _item(t) if np.ndim(t.value) == 0 else [_to_list(item(t, i)) for i in range(len(t.value))]


def _fill(t: Tracked, value: Any) -> None:
    t[...] = value


def _sort(t: Tracked, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """In place; equal numbers keep their order."""
    rank = np.argsort(t.value, axis=axis, kind="stable")
    t[...] = move(np.take_along_axis, (0,), (copied(t), rank), {"axis": axis})


def _partition(t: Tracked, kth: Any, axis: int = -1, **_: Any) -> None:
    t[...] = move(np.take_along_axis, (0,), (copied(t), np.argpartition(t.value, kth, axis=axis)), {"axis": axis})


def _real(t: Tracked) -> Any:
    return t if np.result_type(t.value).kind == "f" else _by_numpy(np.real, t)


def _imag(t: Tracked) -> Any:
    return np.imag(t.value) if np.result_type(t.value).kind == "f" else _by_numpy(np.imag, t)


def _flat(t: Tracked) -> Any:
    if not t.flags.c_contiguous:
        raise running().refuse("`.flat` of an array that is not contiguous is used")
    return _moving("reshape")(t, -1)


def _view(t: Tracked, *args: Any) -> Any:
    if args and args != (np.ndarray,):
        raise running().refuse("`.view` of another type is used")
    return Tracked(t.value.view(), *places_of(t))


_METHODS: dict[str, Callable[..., Any]] = {
    "astype": as_type, "item": _item, "tolist": _to_list, "fill": _fill, "sort": _sort, "partition": _partition,
    "copy": lambda t, order="C": copied(t), "view": _view,
}  # fmt: skip
_PROPERTIES: dict[str, Callable[[Tracked], Any]] = {"T": lambda t: _moving("transpose")(t), "real": _real, "imag": _imag, "flat": _flat, "data": lambda t: t}
