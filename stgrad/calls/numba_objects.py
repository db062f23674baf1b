"""Containers and objects of Numba as arguments: the plain ones that they stand for, which programs read.

    List([1.0, 2.0])  ->  [1.0, 2.0]         an instance of a `jitclass`  ->  one of the class as it was written, with the same arrays

Contract: what a program writes to a number in them is not seen outside, as with plain lists and objects; gradients have the plain form.
"""

from __future__ import annotations

import functools
from typing import Any


def numba_type(value: Any) -> Any:
    """Numba's type of one of its typed containers or of an instance of a `jitclass`; None for all else."""
    if type(value).__module__ == "builtins":
        return None
    kind = getattr(value, "_numba_type_", None)
    return kind if type(kind).__name__ in ("ListType", "DictType", "ClassInstanceType") else None


def plain(value: Any) -> Any:
    """The plain list, dict or object that a value stands for; anything else as it is."""
    kind = numba_type(value)
    if kind is None:
        return value
    if type(kind).__name__ == "ListType":
        return [plain(v) for v in value]
    if type(kind).__name__ == "DictType":
        return {k: plain(v) for k, v in value.items()}
    made: Any = object.__new__(_class_of(kind))
    vars(made).update({name: plain(getattr(value, name)) for name in kind.struct})
    return made


@functools.cache
def _class_of(kind: Any) -> type:
    """The class that a `jitclass` was made of, as far as instances show it: methods, properties and static methods."""
    methods: dict[str, Any] = {name: method.py_func for name, method in kind.jit_methods.items() if name != "__init__"}
    for name, accessors in kind.jit_props.items():
        methods[name] = property(*(accessors[key].py_func if key in accessors else None for key in ("get", "set")))
    methods |= {name: staticmethod(method.py_func) for name, method in kind.jit_static_methods.items()}
    return type(kind.classname, (), {"__module__": kind.jit_methods["__init__"].py_func.__module__, **methods})
