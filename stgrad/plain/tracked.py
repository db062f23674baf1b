"""A number or an array of a program that runs in plain Python while it is recorded.

`Tracked` is no `numpy.ndarray` and no float, and never turns into one: what would read its value behind our back (`__float__`, `__array__`, a hash)
refuses, so no part of a program can lose a derivative in silence. Everything else (its class, its attributes, comparisons) is as for the value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stgrad.plain.tape import Buffer, Tape

_RUNNING: list[Tape] = []  # the innermost last


def running() -> Tape:
    """The tape that records now; a number that outlives its run is refused."""
    if not _RUNNING:
        raise TypeError("a number of a run that was recorded is used after it")
    return _RUNNING[-1]


class Tracked:
    """A value, the memory that it lies in, and its places there."""

    __slots__ = ("value", "buffer", "places")

    def __init__(self, value: Any, buffer: Buffer, places: Any) -> None:
        self.value, self.buffer, self.places = value, buffer, places

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance tests is the value
        return type(self.value)

    # ------------------------------------------------------------- what is not followed

    def _lost(self, how: str) -> Any:
        raise self.buffer.tape.refuse(f"a number that is differentiated is read by {how}")

    def __float__(self) -> Any:
        return self._lost("native code (as a float)")

    def __complex__(self) -> Any:
        return self._lost("native code (as a complex number)")

    def __array__(self, *_: Any, **__: Any) -> Any:
        if not self.buffer.active:
            return self.value.copy()
        return self._lost("native code (as an array)")

    def __hash__(self) -> int:
        return hash(self.value)  # as a key it is looked for by its value; see `stgrad.plain.calls` for what may be found

    def __reduce_ex__(self, _: Any) -> Any:
        return self._lost("pickle")

    # ------------------------------------------------------------- discrete answers

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __len__(self) -> int:
        return int(len(self.value))

    def __trunc__(self) -> int:
        return int(self.value)

    def __floor__(self) -> int:
        return int(math.floor(self.value))

    def __ceil__(self) -> int:
        return int(math.ceil(self.value))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value) if digits is None else round(self.value, digits)

    def __contains__(self, item: Any) -> bool:
        return plain(item) in self.value

    def _text(self, text: str) -> str:
        self.buffer.tape.texts = True
        return text

    def __str__(self) -> str:
        return self._text(str(self.value))

    def __repr__(self) -> str:
        return self._text(repr(self.value))

    def __format__(self, spec: str) -> str:
        return self._text(format(self.value, spec))

    # ------------------------------------------------------------- operations

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(iterable(self.value))))

    def __getitem__(self, key: Any) -> Any:
        from stgrad.plain.operations import item

        return item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from stgrad.plain.operations import write

        write(self, key, value)

    def __getattr__(self, name: str) -> Any:
        from stgrad.plain.attributes import attribute

        return attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in Tracked.__slots__:
            if not hasattr(type(self.value), name):
                raise AttributeError(name)
            raise self.buffer.tape.refuse(f"the attribute `{name}` of an array is set")
        object.__setattr__(self, name, value)

    def __copy__(self) -> Any:
        from stgrad.plain.operations import copied

        return copied(self)

    def __deepcopy__(self, _: Any) -> Any:
        return self.__copy__()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from stgrad.plain.numpy_calls import ufunc_call

        return ufunc_call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        from stgrad.plain.numpy_calls import numpy_call

        return numpy_call(function, args, kwargs)


def iterable(value: Any) -> Any:
    """The value itself; TypeError, in Python's words, where it cannot be iterated over."""
    iter(value)
    return value


def plain(value: Any) -> Any:
    """The numbers and arrays themselves, through containers."""
    kind = type(value)
    if kind is Tracked:
        return value.value
    if kind is list or kind is set:
        return kind([plain(v) for v in value])
    if kind is dict:
        return {k: plain(v) for k, v in value.items()}
    if kind is slice:
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    if isinstance(value, tuple):
        items = [plain(v) for v in tuple.__iter__(value)]
        return kind(*items) if hasattr(kind, "_fields") else tuple(items)
    return value


def _binary(function: Callable[..., Any]) -> tuple[Any, Any]:
    def forward(self: Tracked, other: Any) -> Any:
        from stgrad.plain.operations import arithmetic

        return arithmetic(function, self, other)

    def backward(self: Tracked, other: Any) -> Any:
        from stgrad.plain.operations import arithmetic

        return arithmetic(function, other, self)

    return forward, backward


def _in_place(function: Callable[..., Any]) -> Any:
    def changed(self: Tracked, other: Any) -> Any:
        from stgrad.plain.operations import arithmetic

        found = arithmetic(function, self, other)
        if type(self.value) is not np.ndarray or found is NotImplemented:
            return found
        self[...] = found
        return self

    return changed


def _comparison(function: Callable[..., Any]) -> Any:
    return lambda self, other: function(self.value, plain(other))


def _unary(function: Callable[..., Any]) -> Any:
    def applied(self: Tracked) -> Any:
        from stgrad.plain.operations import apply

        return apply(function, (self,), {})

    return applied


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "matmul", "divmod"):
    _function = getattr(operator, _name, divmod)
    _forward, _backward = _binary(_function)
    setattr(Tracked, f"__{_name}__", _forward)
    setattr(Tracked, f"__r{_name}__", _backward)
    if _name != "divmod":
        setattr(Tracked, f"__i{_name}__", _in_place(_function))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Tracked, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in ("neg", "pos", "abs"):
    setattr(Tracked, f"__{_name}__", _unary(getattr(operator, _name)))
