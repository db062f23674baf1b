"""What Python calls by itself in a recorded run: operators, items, iteration, setters and makers of users' classes are part of the program.

    a + b              as   type(a).__add__(a, b), then type(b).__radd__(b, a), each by its text
    self.a = x         as   the setter of a property, `__setattr__`, or a plain store
    Cls(x)             as   Cls.__new__(Cls, x), then Cls.__init__

Where no method in Python stands behind them, they are what they are.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stgrad.plain import holders
from stgrad.plain.rewriting import BINARY, IN_PLACE, ITERATED, PLACE, SLICE, SLOT, UNARY
from stgrad.plain.tracked import Tracked, running

_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@functools.lru_cache(4096)
def _operator(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(operator, name if hasattr(operator, name) else f"{name}_")
    return found


def _method(value: Any, name: str) -> types.FunctionType | None:
    """The method in Python that a class has under this name, of the user's, or of NumPy's but for its arrays."""
    cls = type(value)
    if cls is Tracked or cls.__module__ == "builtins":
        return None
    found = getattr(cls, name, None)
    known = cls.__module__.startswith("stgrad.") or issubclass(cls, (np.ndarray, np.generic))
    return found if isinstance(found, types.FunctionType) and not known else None


def called_by_text(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call through the hook."""
    from stgrad.plain.calls import called

    return called(function, *args, **kwargs)


# --------------------------------------------------------------------------- operators


def binary(name: str, a: Any, b: Any) -> Any:
    """`a + b`, `a < b` and their like."""
    there, back = f"__{name}__", f"__{_REFLECTED.get(name, 'r' + name)}__"
    if _method(a, there) is None and _method(b, back) is None:
        return _operator(name)(a, b)
    attempts = [(a, there, b)]
    if type(a) is not type(b) or name in _REFLECTED:
        attempts.insert(0 if type(a) is not type(b) and issubclass(type(b), type(a)) else 1, (b, back, a))
    for owner, method, other in attempts:
        function = getattr(type(owner), method, None)
        found = NotImplemented if function is None else called_by_text(function, owner, other) if _method(owner, method) else function(owner, other)
        if found is not NotImplemented:
            return found
    return _operator(name)(a, b)  # what it raises, or says of objects that know nothing of each other


def unary(name: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`."""
    function = _method(a, f"__{name}__")
    return _operator(name)(a) if function is None else called_by_text(function, a)


def in_place(name: str, a: Any, b: Any) -> Any:
    """What `a += b` makes the name `a` stand for."""
    function = _method(a, f"__i{name}__")
    found = NotImplemented if function is None else called_by_text(function, a, b)
    if found is not NotImplemented:
        return found
    if function is not None or _method(a, f"__{name}__") or _method(b, f"__r{name}__") and not hasattr(type(a), f"__i{name}__"):
        return binary(name, a, b)
    return _operator(f"i{name}")(a, b)


def summed(items: Any, /, start: Any = 0) -> Any:
    """`sum(items, start)`."""
    items = list(iterated(items))
    if not any(_method(item, "__add__") or _method(item, "__radd__") for item in (start, *items)):
        return sum(items, start)
    return functools.reduce(functools.partial(binary, "add"), items, start)


def iterated(owner: Any) -> Any:
    """What a `for` loop asks for its items."""
    function = _method(owner, "__iter__")
    if function is None:
        return owner
    found = called_by_text(function, owner)
    following = _method(found, "__next__")
    return found if following is None else _items(found, following)


def _items(owner: Any, following: Callable[..., Any]) -> Iterator[Any]:
    while True:
        try:
            item = called_by_text(following, owner)
        except StopIteration:
            return
        yield item


# --------------------------------------------------------------------------- attributes and items


class Place:
    """An attribute that stands left of `=`."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name

    @property
    def value(self) -> Any:
        from stgrad.plain.calls import attribute

        return attribute(self.owner, self.name)

    @value.setter
    def value(self, value: Any) -> None:
        owner, name = self.owner, self.name
        own, known = _method(owner, "__setattr__"), _of_class(type(owner), name)
        if own is not None:
            called_by_text(own, owner, name, value)
        elif isinstance(known, property) and isinstance(known.fset, types.FunctionType):
            called_by_text(known.fset, owner, value)
        elif (setter := _method(known, "__set__")) is not None:
            called_by_text(setter, known, owner, value)
        else:
            setattr(owner, name, value)
        changed(owner, name)


class Slot:
    """An item that stands left of `=`."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key = owner, key

    @property
    def value(self) -> Any:
        from stgrad.plain.calls import item

        return item(self.owner, self.key)

    @value.setter
    def value(self, value: Any) -> None:
        setter = _method(self.owner, "__setitem__")
        if holders.is_of_objects(self.owner):
            holders.put(self.owner, self.key, value)
        elif setter is None:
            self.owner[self.key] = value
        else:
            called_by_text(setter, self.owner, self.key, value)
        changed(self.owner)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """`setattr(owner, name, value)`."""
    Place(owner, name).value = value


def taken(owner: Any, key: Any) -> Any:
    """`owner[key]`."""
    function = _method(owner, "__getitem__")
    return owner[key] if function is None else called_by_text(function, owner, key)


def changed(owner: Any, name: str | None = None) -> None:
    """Note what may hold numbers of this run."""
    if type(owner) not in (Tracked, holders.Records) and (name is not None or isinstance(owner, (list, dict))):
        running().changed.append((owner, name))


def _of_class(cls: type, name: str) -> Any:
    return next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)


# --------------------------------------------------------------------------- instances


def is_made_in_python(cls: Any) -> bool:
    """Whether what makes the instances of a class is written in Python, but for an empty object."""
    makers = (cls.__new__, cls.__init__)
    own = [isinstance(m, types.FunctionType) for m in makers]
    return any(own) and all(o or m in (object.__new__, object.__init__) for o, m in zip(own, makers, strict=True))


def instance(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`type.__call__(cls, *args, **kwargs)`."""
    new, init = cls.__new__, cls.__init__
    made = called_by_text(new, cls, *args, **kwargs) if isinstance(new, types.FunctionType) else new(cls)
    if isinstance(made, cls) and isinstance(init, types.FunctionType):
        _initialise(made, args, kwargs)
    return made


def _initialise(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """`__init__`; that of a dataclass has no text, and finds its `__post_init__` through the hook on the object."""
    init: Any = _of_class(type(made), "__init__")
    after = _method(made, "__post_init__")
    hidden = after is not None and init.__code__.co_filename == "<string>" and hasattr(made, "__dict__")
    if after is not None and hidden:
        vars(made)["__post_init__"] = functools.partial(called_by_text, after, made)
    called_by_text(init, made, *args, **kwargs)
    if hidden:
        del vars(made)["__post_init__"]


_OF_OBJECTS = frozenset({object, type, dict, list, set, tuple})


def is_of_objects(method: Any) -> bool:
    """Whether a bound method is one of Python's own, of objects or containers, which `super()` or the name of its class has found."""
    return getattr(method, "__objclass__", None) in _OF_OBJECTS


def by_slot(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`super().__setattr__(name, value)` and its like."""
    owner, name = method.__self__, method.__name__
    if name == "__call__" and is_made_in_python(owner):
        return instance(owner, args, kwargs)
    found = method(*args, **kwargs)
    if name in ("__setattr__", "__setitem__"):
        changed(owner, args[0] if name == "__setattr__" else None)
    return found


OPERATIONS = {PLACE: Place, SLOT: Slot, BINARY: binary, UNARY: unary, IN_PLACE: in_place, ITERATED: iterated, SLICE: slice}
