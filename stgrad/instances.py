"""Instances of users' classes as structures: their attributes, and an instance with other ones.

Dataclasses count, and plain classes whose instances keep their attributes in a `__dict__`. Classes written in C, and those
that find or set attributes in a way of their own, do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

_DYNAMIC = ("__getattr__", "__getattribute__", "__setattr__")
_LIBRARIES = ("numpy", "scipy", "numba", "stgrad", "builtins", "functools", "random", "enum", "logging", "threading")


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an instance, by name; None for what is no such instance, or holds itself.

    >>> attributes_of(SimpleNamespace(a=1.0))
    {'a': 1.0}
    """
    if not is_instance(value):
        return None
    found = dict(vars(value)) if hasattr(value, "__dict__") else {f.name: getattr(value, f.name) for f in fields(value)}
    return None if any(_reaches(item, value, 0) for item in found.values()) else found


def is_instance(value: Any) -> bool:
    cls = type(value)
    if cls is SimpleNamespace:
        return True
    if isinstance(value, type) or cls.__module__.split(".")[0] in _LIBRARIES or cls.__new__ is not object.__new__:
        return False
    if is_dataclass(value):
        return cls.__getattribute__ is object.__getattribute__ and not hasattr(cls, "__getattr__")
    plain = hasattr(value, "__dict__") and type(cls) is type and issubclass(cls, object) and cls.__flags__ & (1 << 9)
    return bool(plain) and not any(name in vars(c) for c in cls.__mro__[:-1] for name in (*_DYNAMIC, "__slots__"))


def _reaches(value: Any, target: Any, depth: int) -> bool:
    """Whether a value leads back to an instance, or too deep to tell."""
    if value is target or depth > 20:
        return True
    if isinstance(value, (list, tuple)):
        return any(_reaches(v, target, depth + 1) for v in value)
    if isinstance(value, dict):
        return any(_reaches(v, target, depth + 1) for v in value.values())
    return is_instance(value) and hasattr(value, "__dict__") and any(_reaches(v, target, depth + 1) for v in vars(value).values())


def make(cls: type, attributes: Mapping[str, Any]) -> Any:
    """An instance with these attributes; `__init__` does not run."""
    instance = cls.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(instance, name, value)
    return instance


def maker(cls: type, names: tuple[str, ...]) -> Callable[..., Any]:
    """A function that takes the attributes by position."""
    return lambda *values: make(cls, dict(zip(names, values, strict=True)))
