"""Pickling with functions by value, for saved models.

Functions and classes of installed packages go by reference; all others by value, with the globals their code names, so that they
run in a process that cannot import them. Modules go as `RestoredModule`: attributes and functions without the class.
"""

from __future__ import annotations

import builtins
import importlib
import itertools
import marshal
import pickle
import sys
import sysconfig
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stgrad.eager.custom import forget_gradient
from stgrad.eager.function import Function
from stgrad.eager.logs import logger
from stgrad.eager.module import Module

_keep_gradients = [True]
_live: dict[str, Any] = {}  # custom gradients of this process, by key
_keys: dict[int, str] = {}
_count = itertools.count()
_PACKAGES = tuple({sysconfig.get_path(p) for p in ("stdlib", "platstdlib", "purelib", "platlib")})


@contextmanager
def custom_gradients(keep: bool) -> Iterator[None]:
    """Within the block, functions with custom gradients are saved with or without them."""
    _keep_gradients.append(keep)
    try:
        yield
    finally:
        _keep_gradients.pop()


class Pickler(pickle.Pickler):
    """A pickler for saved models."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.FunctionType):
            return self._function(obj)
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, Function) and obj._method_of is not None:
            reference, function = obj._method_of
            return _restore_method, (reference(), function)
        if isinstance(obj, Function):
            return _restore_tf_function, (obj.python_function, obj.input_signature, obj._autograph, obj._reduce)
        if isinstance(obj, type):
            return NotImplemented if _installed(obj) else _class_by_value(obj)
        if isinstance(obj, Module) and not _installed(type(obj)):
            return RestoredModule, (), _module_state(obj)
        return NotImplemented

    def _function(self, f: Any) -> Any:
        forward = getattr(f, "_custom_gradient_of", None)
        if forward is not None and not _keep_gradients[-1]:
            key = _keys.setdefault(id(f), f"{f.__module__}.{f.__qualname__}.{next(_count)}")
            _live[key] = f
            return _without_gradient, (forward, key)
        if _installed(f):
            return NotImplemented
        return (
            _new_function,
            (marshal.dumps(f.__code__), f.__name__, len(f.__closure__ or ())),
            _function_state(f),
            None,
            None,
            _set_function_state,
        )


def _installed(obj: Any) -> bool:
    """Whether an object can be imported by name anywhere this project is installed."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    if module is None:
        return False
    found: Any = module
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not obj:
        return False
    file = getattr(module, "__file__", None)
    return (
        file is None
        and module.__name__ != "__main__"
        or module.__name__.split(".")[0] == "stgrad"
        or bool(file and file.startswith(_PACKAGES))
    )


# ------------------------------------------------------------------ functions


def _function_state(f: Any) -> dict[str, Any]:
    names = _names(f.__code__)
    return {
        "globals": {n: f.__globals__[n] for n in names if n in f.__globals__},
        "closure": [_cell(c) for c in f.__closure__ or ()],
        "defaults": f.__defaults__,
        "kwdefaults": f.__kwdefaults__,
        "dict": {k: v for k, v in f.__dict__.items() if k != "__wrapped__"},
        "qualname": f.__qualname__,
        "module": f.__module__,
    }


def _names(code: types.CodeType) -> set[str]:
    """The global names of a code object and those inside it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


class _Empty:
    """Stands for an empty cell."""


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Empty


def _new_function(code: bytes, name: str, cells: int) -> Any:
    space = {"__builtins__": builtins, "__name__": "saved_model"}
    return types.FunctionType(marshal.loads(code), space, name, None, tuple(types.CellType() for _ in range(cells)) or None)


def _set_function_state(f: Any, state: dict[str, Any]) -> None:
    f.__globals__.update(state["globals"])
    for cell, value in zip(f.__closure__ or (), state["closure"]):
        if value is not _Empty:
            cell.cell_contents = value
    f.__defaults__, f.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    f.__qualname__, f.__module__ = state["qualname"], state["module"]
    f.__dict__.update(state["dict"])


def _restore_tf_function(python_function: Any, signature: Any, autograph: bool, reduce_retracing: bool) -> Function:
    return Function(python_function, signature, autograph, reduce_retracing)


def _restore_method(instance: Any, function: Function) -> Any:
    return function.__get__(instance)


def _without_gradient(forward: Any, key: str) -> Any:
    """A custom-gradient function saved without its gradient: the one of this process if it is still there, else one that has none."""
    if key in _live:
        return _live[key]
    logger.warning(
        "Importing a function (%s) with ops with unsaved custom gradients. Will likely fail if a gradient is requested.", forward.__name__
    )
    return forget_gradient(forward)


# ------------------------------------------------------------------ classes and modules


def _class_by_value(cls: type) -> Any:
    skip = ("__dict__", "__weakref__", "__doc__")
    return (
        _new_class,
        (type(cls), cls.__name__, cls.__bases__),
        {k: v for k, v in vars(cls).items() if k not in skip},
        None,
        None,
        _set_class_state,
    )


def _new_class(meta: Any, name: str, bases: Any) -> Any:
    return types.new_class(name, bases, {"metaclass": meta})


def _set_class_state(cls: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        try:
            setattr(cls, name, value)
        except AttributeError:  # __slots__ descriptors and the like are there already
            continue


def _module_state(obj: Any) -> dict[str, Any]:
    """The attributes of a module, and the functions of its classes below `Module`."""
    functions: dict[str, Any] = {}
    for cls in reversed(type(obj).__mro__):
        if not _installed(cls):
            functions |= {n: f for n, f in vars(cls).items() if isinstance(f, (Function, types.FunctionType)) and n != "__init__"}
    return {"attributes": dict(vars(obj)), "functions": functions, "class": type(obj).__name__}


class RestoredModule(Module):
    """A loaded module: attributes and functions, without the class they came from."""

    def __init__(self) -> None:
        super().__init__("restored")
        self.__dict__["_functions"] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["attributes"])
        self.__dict__["_functions"] = state["functions"]
        self.__dict__["_class"] = state["class"]

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name].__get__(self)
        raise AttributeError(f"the loaded {self.__dict__.get('_class', 'object')!r} has no attribute {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "__call__" not in self.__dict__["_functions"]:
            raise TypeError("the loaded object is not callable: its class had no `__call__`")
        return self.__getattr__("__call__")(*args, **kwargs)
