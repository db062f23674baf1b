"""Operations of the eager API in NumPy, for the compiler: what it reads in place of a call of `tf.sin` or `tf.reduce_sum`.

Each body takes arrays and numbers where the operation takes tensors, with TensorFlow's argument names and its convention at kinks. What
has no body here is refused by the compiler, and the function that uses it runs eagerly.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from stgrad import errors, hooks
from stgrad.eager.translations import arrays, control, elementwise, linalg, losses, nn, windows  # noqa: F401  (they fill the table)
from stgrad.eager.translations.bodies import BODIES
from stgrad.eager.translations.layers import READ, layer
from stgrad.frontend import arrays as methods
from stgrad.frontend.builtins import HANDLERS
from stgrad.frontend.library import LIBRARY

_installed: list[bool] = []


def install() -> None:
    """Tell the compiler the bodies, and that it must not read the rest of this package. Once, when the first function is compiled."""
    if _installed:
        return
    _installed.append(True)
    from stgrad.eager import custom, keras

    for name, function in BODIES.items():
        LIBRARY[operation(name)] = function
    HANDLERS[custom.CustomGradient.__call__] = _custom
    HANDLERS[keras.layers.Layer.__call__] = layer
    HANDLERS[keras.layers.Embedding.__call__] = layer
    HANDLERS[keras.losses.Loss.__call__] = losses.loss
    for name in ("read_value", "value"):  # of variables
        methods.METHODS.setdefault(name, lambda frame, array: array)
    read = {member for name in READ for cls in getattr(keras.layers, name).__mro__[:-3] for member in vars(cls).values() if callable(member)}
    for function in _own_functions():
        if function not in LIBRARY and function not in HANDLERS and function not in read:
            HANDLERS[function] = _refusal(function)


def operation(name: str) -> Any:
    """A function of `stgrad.eager` by its dotted name."""
    found: Any = sys.modules["stgrad.eager"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _custom(frame: Any, made: Any, *args: Any, **kwargs: Any) -> Any:
    """A function made by `tf.custom_gradient`: the compiler has the same."""
    return frame.call(hooks.custom_gradient(made._custom_gradient_of), args, kwargs)


def _own_functions() -> list[Any]:
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("stgrad.eager") and not m.__name__.startswith(__name__)]
    found = {}
    for module in modules:
        for value in list(vars(module).values()):
            members = vars(value).values() if isinstance(value, type) and value.__module__.startswith("stgrad.eager") else (value,)
            for member in members:
                plain = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if isinstance(plain, types.FunctionType) and plain.__module__.startswith("stgrad.eager"):
                    found[plain] = None
    return list(found)


def _refusal(function: Any) -> Any:
    def refused(frame: Any, *args: Any, **kwargs: Any) -> Any:
        raise errors.UnknownFunctionError(
            f"`{function.__qualname__}` of stgrad.eager has no translation for the compiler", frame.builder.loc
        )

    return refused
