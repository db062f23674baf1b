"""What a value is, written as JSON, so that another process can tell whether it has the same one.

`Identity` describes values: numbers by value, functions by their code, arrays by what a program knows of them, modules and
library functions by name. It also numbers the functions and objects it meets, in an order that depends on the description alone: that
is how a place inside a value is named for another process. What it cannot describe for certain raises `Unknown`.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import types
from typing import Any

import numpy as np

from stgrad.captures import holds_arrays, items_of
from stgrad.hooks import custom_gradient
from stgrad.source import is_dispatcher

LIBRARIES = frozenset({"builtins", "math", "cmath", "operator", "functools", "itertools", "numpy", "scipy", "stgrad", "typing", "collections"})
_NUMBERS = (bool, int, float, complex, str, type(None), type(Ellipsis))
# A class with these can hand out values that no capture shows.
_DYNAMIC = ("__getattr__", "__getitem__", "__len__", "__iter__", "__bool__", "__contains__", "__array__", "__next__")

Described = Any  # lists, strings, numbers: JSON


class Unknown(Exception):
    """A value of which nothing certain can be said."""


class Identity:
    """Describes values; `places` lists the functions, modules and objects met so far."""

    def __init__(self) -> None:
        self.places: list[Any] = []
        self._seen: set[int] = set()

    def describe(self, value: Any) -> Described:
        """A JSON value that is equal for equal values.

        >>> Identity().describe((1.5, "l2"))
        ['tuple', ['float', '1.5'], ['str', 'l2']]
        """
        if isinstance(value, _NUMBERS) and type(value) in _NUMBERS:
            return [type(value).__name__, value if isinstance(value, str) else repr(value)]
        if isinstance(value, (np.generic, np.dtype)):
            return [f"np.{type(value).__name__}", repr(value)]
        if isinstance(value, np.ndarray):
            return ["array", *_plain_array(value)]
        if holds_arrays(value) and id(value) not in self._seen:
            return self._followed(value)
        if id(value) in self._seen:
            return ["place", next(i for i, place in enumerate(self.places) if place is value)]
        if type(value) in (tuple, list) or isinstance(value, tuple) and hasattr(value, "_fields"):
            return [class_name(type(value)), *map(self._item, value)]
        if type(value) is dict:
            return ["dict", *([self._item(k), self._item(v)] for k, v in value.items())]
        return self._named(value)

    def _followed(self, value: Any) -> Described:
        """A container whose arrays are parameters: a place, so that its items have one."""
        described = self._placed(value, [class_name(type(value))])
        for key, item in items_of(value):
            described += [self._item(key), self.describe(item)]
        return described

    def _item(self, value: Any) -> Described:
        if isinstance(value, np.ndarray) or holds_arrays(value):
            raise Unknown("an array in a container")
        return self.describe(value)

    def _named(self, value: Any) -> Described:
        if isinstance(value, types.ModuleType):
            return self._placed(value, ["module", value.__name__])
        if _library(value):
            return ["library", getattr(value, "__module__", None) or "", _qualified(value)]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, functools.partial):
            return ["partial", *map(self._item, (value.func, value.args, value.keywords))]
        if isinstance(value, types.MethodType):
            return ["method", self.describe(value.__func__), self.describe(value.__self__)]
        if isinstance(value, staticmethod):
            return ["static", self.describe(value.__func__)]
        return self._object(value)

    def _function(self, function: types.FunctionType) -> Described:
        described = self._placed(function, ["function", function.__module__, function.__qualname__, code_digest(function.__code__)])
        return [*described, self._item(function.__defaults__), self._item(function.__kwdefaults__)]

    def _object(self, value: Any) -> Described:
        request = getattr(value, "derivative", None)
        if hasattr(type(value), "_stgrad_call_") and request is not None:
            options = [request.mode, list(request.wrt), request.single, request.has_aux, *request_options(request)]
            return ["derivative", options, self.describe(request.function)]
        if isinstance(value, custom_gradient):
            return self._placed(value, ["custom", self.describe(value.function)])
        if is_dispatcher(value):
            return ["njit", self.describe(value.py_func)]
        if isinstance(value, type) or any(hasattr(type(value), name) for name in (*_DYNAMIC, "_stgrad_call_")):
            raise Unknown(f"a {type(value).__name__}")
        return self._placed(value, ["object", class_name(type(value))])

    def _placed(self, value: Any, described: Described) -> Described:
        self._seen.add(id(value))
        self.places.append(value)
        return described


def request_options(request: Any) -> list[Any]:
    """The fields of a derivative that a later version adds, in order."""
    known = ("function", "mode", "wrt", "single", "has_aux")
    return [repr(value) for name, value in sorted(vars(request).items()) if name not in known]


def class_name(cls: type) -> str:
    """`tuple`, `list`, or the full name of a class.

    >>> class_name(tuple)
    'tuple'
    """
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _plain_array(value: np.ndarray[Any, Any]) -> list[Any]:
    if type(value) is not np.ndarray or value.dtype.kind not in "fciub":
        raise Unknown(f"a {type(value).__name__} of {value.dtype}")
    return [value.dtype.name, [n == 1 for n in value.shape]]


def _qualified(value: Any) -> str:
    return str(getattr(value, "__qualname__", getattr(value, "__name__", "")))


def _library(value: Any) -> bool:
    """A function or class that a library's version stands for."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)) and not _dispatched(value):
        return False
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, (types.ModuleType, type(None))):
        return False  # a method of an object
    module = getattr(value, "__module__", None) or "numpy" * isinstance(value, np.ufunc)
    return module.split(".")[0] in LIBRARIES and bool(_qualified(value)) and "<" not in _qualified(value)


def _dispatched(value: Any) -> bool:
    return type(value).__name__ == "_ArrayFunctionDispatcher" and type(value).__module__.startswith("numpy")


def code_digest(code: types.CodeType) -> str:
    """16 hex digits of a function's instructions, constants, positions and text."""
    return hashlib.sha256(repr(_code_facts(code)).encode()).hexdigest()[:16]


def _code_facts(code: types.CodeType) -> tuple[Any, ...]:
    lines = linecache.getlines(code.co_filename)
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    text = tuple(lines[code.co_firstlineno - 1 : last])
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount, code.co_flags)
    constants = tuple(map(_constant, code.co_consts))
    return code.co_code, names, constants, code.co_firstlineno, code.co_linetable, text


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _code_facts(value)
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    return repr(value)
