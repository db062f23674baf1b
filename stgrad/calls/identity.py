"""What a value is, written as JSON, so that another process can tell whether it has the same one.

`Identity` describes values: numbers by value, functions by their code, arrays by what a program knows of them, modules and
library functions by name. It also numbers the functions and objects it meets, in an order that depends on the description alone: that
is how a place inside a value is named for another process. What it cannot describe for certain raises `Unknown`.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import linecache
import sys
import types
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from stgrad.checkpoints import checkpoint
from stgrad.contents import form_of, holds_arrays, is_numeric, items_of
from stgrad.hooks import custom_gradient, custom_jvp, custom_vjp
from stgrad.lookups import ABSENT, LIBRARIES, root_of
from stgrad.registered import registration_of
from stgrad.source import is_dispatcher
from stgrad.stubs import Stub

_NUMBERS = (bool, int, float, complex, str, bytes, range, type(None), type(Ellipsis))
_UFUNCS = ("numpy", "scipy.special")  # where ufuncs are looked for by name: they do not say where they are from
_HEAP, _NOT_MADE = 1 << 9, 1 << 7  # flags of classes: made by a program; without instances that are made by a call
_NAMED = (type, np.ufunc, types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)
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
        if type(value) in (set, frozenset):
            return [type(value).__name__, *sorted(map(self.describe, value), key=repr)]
        return ["absent"] if value is ABSENT else self._named(value)

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
            return self._module(value)
        if registration_of(value) is not None:
            raise Unknown("a function with a registered gradient")
        found = _library(value)
        if found is not None:
            return ["library", *found]
        if isinstance(value, types.FunctionType):
            return self._placed(value, ["function", value.__module__, value.__qualname__, code_digest(value.__code__)])
        if isinstance(value, types.CodeType):
            return ["code"]  # that of a function, which is described by it
        if isinstance(value, functools.partial):
            return [*self._placed(value, ["partial"]), self.describe(value.func)]  # what it holds is looked up
        if isinstance(value, types.MethodType):
            return [*self._placed(value, ["method"]), self.describe(value.__func__), self.describe(value.__self__)]
        if isinstance(value, (staticmethod, classmethod)):
            return [type(value).__name__, self.describe(value.__func__)]
        if isinstance(value, property):
            return ["property", *map(self.describe, (value.fget, value.fset))]
        if isinstance(value, type):
            return self._placed(value, ["class", class_name(value), *map(class_name, value.__mro__[1:])])
        return self._object(value)

    def _module(self, module: types.ModuleType) -> Described:
        if sys.modules.get(module.__name__) is not module:
            raise Unknown(f"a module {module.__name__} that another one has replaced")
        return self._placed(module, ["module", module.__name__])

    def _object(self, value: Any) -> Described:
        request = getattr(value, "derivative", None) if hasattr(type(value), "_stgrad_call_") else None
        if request is not None:
            options = [request.mode, list(request.wrt), request.single, request.has_aux, *request_options(request)]
            return ["derivative", options, self.describe(request.function)]
        if isinstance(value, Stub) or _is_record_of_ours(value):
            return [*self._placed(value, ["ours", class_name(type(value))]), *([name, self._item(v)] for name, v in sorted(vars(value).items()))]
        if isinstance(value, checkpoint):
            return self._placed(value, ["checkpoint", self.describe(value.fun)])
        if isinstance(value, custom_gradient):
            return self._placed(value, ["custom", self.describe(value.function)])
        if isinstance(value, (custom_vjp, custom_jvp)):
            rules = (value.fwd, value.bwd) if isinstance(value, custom_vjp) else (value.jvp, *value.jvps)
            return [*self._placed(value, [type(value).__name__, list(value.nondiff_argnums)]), *map(self.describe, (value.fun, *rules))]
        if is_dispatcher(value):
            return [*self._placed(value, ["njit"]), self.describe(value.py_func)]
        if isinstance(value, enum.Enum):
            return [*self._placed(value, ["enum", value.name, class_name(type(value))]), self.describe(value.value)]
        if not _is_plain(type(value)) or any(hasattr(type(value), name) for name in (*_DYNAMIC, "_stgrad_call_")):
            raise Unknown(f"a {type(value).__name__}")
        return [*self._placed(value, ["object"]), self.describe(type(value))]

    def _placed(self, value: Any, described: Described) -> Described:
        self._seen.add(id(value))
        self.places.append(value)
        return described


def request_options(request: Any) -> list[Any]:
    """The fields of a derivative that a later version adds, in order."""
    known = ("function", "mode", "wrt", "single", "has_aux", "around")
    return [repr(value) for name, value in sorted(vars(request).items()) if name not in known]


def class_name(cls: type) -> str:
    """`tuple`, `list`, or the full name of a class; of a class of tuples with the names of its items, which another one of that name may not have.

    >>> class_name(tuple)
    'tuple'
    """
    if cls.__module__ == "builtins":
        return cls.__name__
    fields = getattr(cls, "_fields", None)
    return f"{cls.__module__}.{cls.__qualname__}" + (f"({', '.join(map(str, fields))})" if isinstance(fields, tuple) else "")


def _plain_array(value: np.ndarray[Any, Any]) -> list[Any]:
    if type(value) is not np.ndarray or not is_numeric(value):  # no parameter carries what it holds
        raise Unknown(f"a {type(value).__name__} of {value.dtype}")
    return [value.dtype.name, list(form_of(value)[1:])]


def _is_record_of_ours(value: Any) -> bool:
    """Whether a value is one of the compiler's own records that nothing changes."""
    cls: Any = type(value)
    return is_dataclass(value) and hasattr(value, "__dict__") and root_of(cls) == "stgrad" and bool(cls.__dataclass_params__.frozen)


def _qualified(value: Any) -> str:
    return str(getattr(value, "__qualname__", getattr(value, "__name__", "")))


def _is_plain(cls: type) -> bool:
    """Whether instances hold nothing but attributes."""
    return cls is types.SimpleNamespace or getattr(cls, "__new__", None) is object.__new__ and bool(cls.__flags__ & _HEAP) and not cls.__flags__ & _NOT_MADE


def _library(value: Any) -> list[str] | None:
    """Where a library has a function or class under its name: its version stands for it. None for anything else, whatever its name."""
    if not isinstance(value, _NAMED) and not _dispatched(value):
        return None
    name = _qualified(value)
    if isinstance(value, np.ufunc):
        return next(([module, name] for module in _UFUNCS if _resolved(module, name) is value), None)
    if isinstance(value, types.FunctionType):
        module = value.__globals__.get("__name__")
        return [str(module), name, _version(root_of(value))] if root_of(value) in LIBRARIES and "<" not in name else None
    owner: Any = getattr(value, "__self__", None)
    if isinstance(value, types.BuiltinFunctionType) and isinstance(owner, type):
        owner = _library(owner)  # object.__new__
        return None if owner is None else [*owner, value.__name__]
    if isinstance(value, (types.WrapperDescriptorType, types.MethodDescriptorType)):
        owner = _library(value.__objclass__)
        return None if owner is None else [*owner, value.__name__]
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or root_of(value) not in LIBRARIES or not name or _resolved(module, name) is not value:
        return None
    return [module, name, _version(root_of(value))]


def _resolved(module: str, name: str) -> Any:
    """What a module has under a qualified name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _version(package: str) -> str:
    """Of a library that the key of a program does not name."""
    return str(getattr(sys.modules.get(package), "__version__", "")) if package == "scipy" else ""


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
