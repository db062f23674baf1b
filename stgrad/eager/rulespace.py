"""Derivative rules run on tensors: twins of the rule functions whose `np`, `scipy` and `math` take tensors.

A rule is written for arrays. To record what it computes, for the derivative of a derivative, the same code object runs with
other globals: the libraries are wrapped so that a call with a tensor among its arguments is an operation on tensors, and fresh arrays are
tensors too, because rules write into them (`r = np.zeros(shape); r[index] = y_bar`). Writing gives the tensor a new value and a
new identity; what was recorded before keeps the old ones.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager.dispatch import apply, bind
from stgrad.eager.tensor import Tensor

_FRESH = {np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.eye, np.identity, np.copy}
_PLAIN = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.broadcast_shapes, np.dtype, np.errstate, np.finfo, np.promote_types}  # fmt: skip
_twins: dict[Any, Any] = {}
_spaces: dict[int, dict[str, Any]] = {}


def twin(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule with globals that know tensors."""
    found = _twins.get(rule)
    if found is None:
        found = _twins[rule] = _copy(rule)
    return found  # type: ignore[no-any-return]


def _copy(function: Any) -> Any:
    if not isinstance(function, types.FunctionType):
        return function
    space = _space(function.__globals__)
    copied = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def _space(module: dict[str, Any]) -> dict[str, Any]:
    """The globals of a module with libraries wrapped and functions of rule modules twinned; made once."""
    space = _spaces.get(id(module))
    if space is None:
        space = _spaces[id(module)] = _Space(module)
        space.update({name: value for name, value in module.items() if name.startswith("__")})
        for name, value in module.items():
            if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in ("numpy", "scipy", "math"):
                space[name] = _Library(value)
            elif isinstance(value, types.FunctionType) and ".rules" in value.__module__ and not name.startswith("__"):
                space[name] = twin(value)
            elif name not in space:
                space[name] = _wrap(value) if isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math" else value
    return space


class _Space(dict[str, Any]):
    """A module's globals."""

    def __init__(self, module: dict[str, Any]) -> None:
        super().__init__()
        self.module = module  # keeps the id in `_spaces` alive


class _Library:
    """A module whose functions take tensors."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = _wrap(getattr(self._module, name))
        setattr(self, name, value)
        return value


def _wrap(value: Any) -> Any:
    """A library's function for tensors; ufuncs and constants as they are (ufuncs find tensors by NumPy's protocol)."""
    if isinstance(value, types.ModuleType):
        return _Library(value)
    if isinstance(value, (np.ufunc, type)) or not callable(value):
        return value
    if value in _FRESH:
        return _fresh(value)
    if value in _PLAIN:
        return lambda *args, **kwargs: value(*[_plain(x) for x in args], **{k: _plain(v) for k, v in kwargs.items()})
    return _on_tensors(value)


def _plain(x: Any) -> Any:
    return x._a if type(x) is Tensor else x


def _fresh(function: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if function is np.copy and type(args[0]) is Tensor:
            return args[0].__copy__() if not _holds(args) else apply(bind(np.positive), args[:1])
        return Tensor(function(*[_plain(x) for x in args], **{k: _dtype(v) for k, v in kwargs.items()}))

    return make


def _dtype(value: Any) -> Any:
    return getattr(value, "dtype", value) if not isinstance(value, type) and not isinstance(value, (Tensor, np.ndarray)) else _plain(value)


def _on_tensors(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if _holds(args) or _holds(kwargs.values()):
            return apply(bind(function), args, {k: _dtype(v) for k, v in kwargs.items()})
        return function(*args, **kwargs)

    return call


def _holds(values: Any) -> bool:
    return any(type(x) is Tensor or (isinstance(x, (list, tuple)) and _holds(x)) for x in values)


assert math is not None
