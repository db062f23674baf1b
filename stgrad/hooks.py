"""Marks in user code that change its derivative: `stop_gradient` and `custom_gradient`. Run as they stand, they change no value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def stop_gradient(x: Any) -> Any:
    """The value of x as a constant: no derivative passes through.

    Args:
        x: a number or an array of any shape.

    Returns:
        x itself.

    >>> stop_gradient(2.0)
    2.0
    """
    return x


class custom_gradient:  # noqa: N801  (a decorator, named as in TensorFlow)
    """A function with a derivative of its own.

    The decorated function returns `(value, pullback)`. The pullback takes the cotangent of the value (one argument for each, if the value
    is a tuple) and returns the cotangents of the positional arguments: one, or a tuple. `None` means zero. It is ordinary code: it is
    read into the generated adjoint, and differentiated itself at second order.

    >>> @custom_gradient
    ... def clip_gradient(x):
    ...     def pullback(g):
    ...         return min(max(g, -1.0), 1.0)
    ...     return x, pullback
    >>> clip_gradient(3.0)
    3.0
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.__name__: str = getattr(function, "__name__", "function")
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value alone."""
        return self.function(*args, **kwargs)[0]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)
