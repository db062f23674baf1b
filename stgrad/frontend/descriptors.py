"""What a class gives to its instances under a name: properties, methods, and descriptors that the user wrote.

Source: the data model of Python, "Implementing Descriptors" and "Invoking Descriptors".
"""

from __future__ import annotations

import functools
import types
from typing import Any

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.generic import GenericMethod
from stgrad.frontend.values import Record, Value
from stgrad.lookups import ABSENT, LIBRARIES, Lookup, look, root_of

_HAS = {"__get__": "fget", "__set__": "fset", "__delete__": "fdel"}
_DOES = {"__get__": "has no getter", "__set__": "has no setter", "__delete__": "has no deleter"}


def governs(found: Any) -> bool:
    """Whether what a class has under a name is asked before the instance: it also takes what is set."""
    return isinstance(found, property) or any(_method(found, name) is not None for name in ("__set__", "__delete__"))


def asked(frame: Frame, found: Any, method: str, *args: Value) -> tuple[Value, bool]:
    """What a property or a descriptor of the user's gives for `__get__`, `__set__` or `__delete__`, and whether it is one that answers to it."""
    if isinstance(found, property):
        function = getattr(found, _HAS[method])
        if function is None:
            what = f"property of '{getattr(args[0], 'cls', type(args[0])).__name__}' object {_DOES[method]}"
            raise errors.UndefinedNameError(what, frame.builder.loc) from AttributeError(what)
        return frame.call(function, args[:1] if method == "__get__" else args, {}), True
    function = _method(found, method)
    return (None, False) if function is None else (frame.call(function, (found, *args), {}), True)


def _method(found: Any, name: str) -> types.FunctionType | None:
    """A method of a descriptor that is written in Python, and not in a library."""
    if found is ABSENT or root_of(type(found)) in LIBRARIES:
        return None
    function = look("raw", type(found), name)
    return function if isinstance(function, types.FunctionType) else None


def given(frame: Frame, record: Value, cls: type, lookup: Lookup) -> Value:
    """The attribute of an instance that its class has."""
    from stgrad.frontend.objects import set_field

    found, name = lookup.value, lookup.name
    if isinstance(found, functools.cached_property):
        value = frame.call(found.func, (record,), {})
        if isinstance(record, Record):
            set_field(frame, record, name, value)
        return value
    if isinstance(found, classmethod):
        return types.MethodType(found.__func__, cls)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, functools.singledispatchmethod):
        return GenericMethod(found, record)
    if isinstance(found, functools.partialmethod):
        return frame.call(functools.partial, (types.MethodType(found.func, record), *found.args), found.keywords)
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, record)
    value, answered = asked(frame, found, "__get__", record, cls)
    if answered:
        return value
    if callable(found) and not isinstance(found, type) and hasattr(type(found), "__get__"):
        return types.MethodType(found, record)
    return found if callable(found) else frame.stand_in(lookup)


__all__ = ["asked", "given", "governs"]
