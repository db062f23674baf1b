"""Generic functions of `functools`: the class of an argument is known when the program is read, and so is what is registered for it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stgrad import errors
from stgrad.frontend.frame import Frame
from stgrad.frontend.values import Value
from stgrad.lookups import look


def meaning(function: Any) -> Callable[..., Value] | None:
    """The handler of what a function of `functools.singledispatch` looks for the one of a class with, and of `function.__get__`, which binds that."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.FunctionType) and function.__name__ == "__get__":
        return lambda frame, instance, cls=None: owner if instance is None else types.MethodType(owner, instance)
    if not isinstance(function, types.FunctionType) or function.__module__ != "functools" or function.__qualname__ != "singledispatch.<locals>.dispatch":
        return None
    return lambda frame, cls: look("call", function, (cls,))


@dataclass(frozen=True)
class GenericMethod:
    """`record.method` where the method is one of `functools.singledispatchmethod`."""

    method: functools.singledispatchmethod[Any]
    owner: Value

    def _stgrad_call_(self, frame: Frame, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        if not args:
            raise errors.TypeInferenceError("a generic method takes at least 1 positional argument", frame.builder.loc)
        found = look("call", self.method.dispatcher.dispatch, (frame.call(type, args[:1], {}),))
        if not isinstance(found, types.FunctionType):
            hint = "register functions"
            raise errors.UnsupportedSyntaxError("a generic method that is a static method or one of the class is not supported", frame.builder.loc, hint=hint)
        return frame.call(found, (self.owner, *args), kwargs)


__all__ = ["GenericMethod", "meaning"]
