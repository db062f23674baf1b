"""Functions that cannot be read, with derivatives that the user gives: `register_gradient`.

    foreign function  ->  Registration: its vjp or jvp, what it returns, and a key by which generated code finds it

A registration is one object for good; what is given again is changed in it, which programs that were made of it notice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any


@dataclass(eq=False)
class Registration:
    """A foreign function and its rule; `abstract` is an example of its result, or makes one, None where the function itself does."""

    function: Any
    key: str
    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    abstract: Any = None


_REGISTERED: dict[int, Registration] = {}  # by the identity of the function, which is kept alive here


def register_gradient(function: Any, vjp: Callable[..., Any] | None = None, *, jvp: Callable[..., Any] | None = None, abstract: Any = None) -> Any:
    """Give a function that stgrad cannot read a derivative: one written in C (ctypes, cffi), of SciPy, of any package.

    Args:
        function: what programs call: any callable. It is called from compiled code through Python, which costs 1 to 2 us; it must
            not write to its arguments. Arguments are numbers, arrays and tuples of them, the result is a number, an array, or a tuple of these.
        vjp: `vjp(y, y_bar, *args, **kwargs)`: result, its cotangent and the arguments -> a tuple with a cotangent for each argument by position, of its shape
            and dtype; None is zero. For one argument the cotangent alone will do. Without it a decorator is returned.
        jvp: in its place, `jvp(y, primals, tangents)` -> the tangent of the result. Each is transposed for the other mode, so it must be linear.
        abstract: an example of the result (only its dtype and rank count), or a function of the arguments that makes one. Without it the function is called
            once with examples of the arguments, arrays of 3 along each axis.

    Returns:
        The function `vjp`, or a decorator for it; with `jvp`, `function`.

    Raises:
        ValueError: the function has a rule of stgrad's own already (where a derivative is asked for).
        TypeError: it cannot be called, or the result has another dtype or rank than the example.

    >>> import ctypes, ctypes.util
    >>> cube_root = ctypes.CDLL(ctypes.util.find_library("m")).cbrt
    >>> cube_root.argtypes, cube_root.restype = [ctypes.c_double], ctypes.c_double
    >>> @register_gradient(cube_root)
    ... def cube_root_vjp(y, y_bar, x):
    ...     return y_bar / (3.0 * y * y)
    """
    if not callable(function):
        raise TypeError(f"register_gradient takes a function, not {type(function).__name__}")
    if vjp is not None and jvp is not None:
        raise TypeError("register_gradient takes a vjp or a jvp: each is transposed for the other mode")
    if vjp is None and jvp is None:
        return lambda rule: register_gradient(function, rule, abstract=abstract)
    registration = registration_of(function)
    if registration is None:
        registration = _REGISTERED[id(function)] = Registration(function, key_of(function, _name_of(function)))
        if isinstance(function, FunctionType):
            function.__code__ = function.__code__.replace()  # programs that read it are made again: they look at its code
    registration.vjp, registration.jvp, registration.abstract = vjp, jvp, abstract
    return function if vjp is None else vjp


def registration_of(function: Any) -> Registration | None:
    """What is registered for a function."""
    if isinstance(function, (MethodType, BuiltinMethodType)):  # made anew by each look-up
        return next((r for r in _REGISTERED.values() if type(r.function) is type(function) and r.function == function), None)
    return _REGISTERED.get(id(function))


def key_of(value: Any, name: str | None = None) -> str:
    """A key by which generated code finds a value that has no text: its name, or one of this process."""
    from stgrad.runtime.keeping import KEPT  # not before it is needed: with it comes Numba

    found = next((k for k, v in KEPT.items() if v is value), None)
    if found is None:
        found = name or f"#{len(KEPT)}"
        KEPT[found] = value
    return found


def _name_of(function: Any) -> str | None:
    """`module:name`, where that is the function."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", getattr(function, "__name__", None))
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__" or "<" in name:
        return None
    from stgrad.runtime.keeping import attribute

    return f"{module}:{name}" if attribute(sys.modules.get(module), name) is function else None


__all__ = ["Registration", "key_of", "register_gradient", "registration_of"]
