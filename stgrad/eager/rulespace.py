"""Derivative rules run on tensors: twins of the rule functions whose `np`, `scipy` and `math` take tensors.

A rule is written for arrays. To record what it computes, for the derivative of a derivative, the same code object runs with
other globals: the libraries are wrapped so that a call with a tensor among its arguments is an operation on tensors, and fresh arrays are
`Scratch`, because rules write into them (`r = np.zeros(shape); r[index] = y_bar`): each write makes another tensor.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.eager import operators, protocols
from stgrad.eager.dispatch import apply, bind, settled
from stgrad.eager.dtypes import DType
from stgrad.eager.indexing import PUT, write
from stgrad.eager.tensor import Tensor
from stgrad.rules.core import lookup

_FRESH = {np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.eye, np.identity, np.copy}
_PLAIN = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type}
_PLAIN |= {np.broadcast_shapes, np.dtype, np.errstate, np.finfo, np.promote_types}
_twins: dict[Any, Any] = {}
_spaces: dict[int, dict[str, Any]] = {}


def twin(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule with globals that know tensors."""
    found = _twins.get(rule)
    if found is None:
        found = _twins[rule] = _copy(rule)
    return found


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
                space[name] = twin(value) if lookup(value) is None else _on_tensors(value)
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


class Scratch:
    """An array that a rule made and may write into: stands for a tensor, another one after each write."""

    __slots__ = ("_t",)
    __array_priority__ = 200

    def __init__(self, tensor: Tensor) -> None:
        self._t = tensor

    def _read(self) -> Tensor:
        return self._t

    def __getitem__(self, index: Any) -> Any:
        return self._t[_settled_index(index)]

    def __setitem__(self, index: Any, values: Any) -> None:
        self._t = write(self._t, _settled_index(index), settled(values))

    def add_at(self, index: Any, values: Any) -> None:
        """np.add.at(self, index, values)."""
        index, values = _settled_index(index), settled(values)
        shape = self._t._a[_bare_index(index)].shape
        if np.shape(values) != shape:
            values = np.broadcast_to(values, shape)
        values = values if type(values) is Tensor else Tensor(np.asarray(values))
        self._t = self._t + apply(PUT, (values, _bare_index(index), self._t._a.shape))

    def __bool__(self) -> bool:
        return bool(self._t)

    def __len__(self) -> int:
        return len(self._t)

    def __iter__(self) -> Any:
        return iter(self._t)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._t, name)


operators.install(Tensor, Scratch)
protocols.install(Tensor, Scratch)


def _settled_index(index: Any) -> Any:
    return tuple([settled(i) for i in index]) if isinstance(index, tuple) else settled(index)


def _bare_index(index: Any) -> Any:
    return tuple([getattr(i, "_a", i) for i in index]) if isinstance(index, tuple) else getattr(index, "_a", index)


def _plain(x: Any) -> Any:
    x = settled(x) if isinstance(x, Scratch) else x
    return x._a if type(x) is Tensor else x


def _fresh(function: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if function is np.copy:
            return Scratch(apply(bind(np.positive), (_tensor(args[0]),)))
        return Scratch(Tensor(function(*[_plain(x) for x in args], **{k: _dtype(v) for k, v in kwargs.items()})))

    return make


def _tensor(x: Any) -> Tensor:
    x = settled(x) if isinstance(x, Scratch) else x
    return x if type(x) is Tensor else Tensor(np.asarray(x))


def _dtype(value: Any) -> Any:
    """A keyword's value for NumPy: DTypes as NumPy's, tensors as they are."""
    return value.dtype if type(value) is DType else value


def _on_tensors(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if _holds(args) or _holds(kwargs.values()):
            read = tuple([_deep(x) for x in args])
            result = apply(bind(function), read, {k: _dtype(_deep(v)) for k, v in kwargs.items()})
            return Scratch(result) if type(result) is Tensor else result
        return function(*args, **{k: _dtype(v) for k, v in kwargs.items()})

    return call


def _deep(x: Any) -> Any:
    if isinstance(x, Scratch):
        return x._t
    return type(x)([_deep(e) for e in x]) if type(x) in (list, tuple) else x


def _holds(values: Any) -> bool:
    return any(type(x) in (Tensor, Scratch) or (isinstance(x, (list, tuple)) and _holds(x)) for x in values)
