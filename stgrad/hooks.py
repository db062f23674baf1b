"""Marks in user code that change its derivative: `stop_gradient`, `custom_gradient`, `custom_vjp`, `custom_jvp`, `insert_grad_of`.

Run as they stand, they change no value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def stop_gradient(x: T) -> T:
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


class _Ruled:
    """A function and which of its arguments its rule takes as they are."""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TypeError(f"{type(self).__name__} takes a function, not {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self.__name__: str = getattr(fun, "__name__", "function")
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value alone."""
        return self.fun(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str:
        return self.fun.__qualname__  # found by name, as functions are


class custom_vjp(_Ruled):  # noqa: N801  (a decorator, named as in JAX)
    """A function with a reverse rule of its own, as in JAX.

    Args:
        fun: the function. Arguments and result are numbers, arrays, and tuples, lists or dicts of them.
        nondiff_argnums: positions of arguments that have no derivative; `bwd` gets them first.

    The rule is given by `f.defvjp(fwd, bwd)`. `fwd` has the arguments of f and returns `(value, residuals)`; `bwd(*nondiff, residuals, cotangent)`
    returns a tuple with a cotangent for each of the other arguments, of its structure, shape and dtype; None stands for zero. Both are ordinary code: they are
    read into the generated adjoint, and differentiated themselves at second order. A call of f in its own rule, with its own arguments, costs nothing.

    Raises (where a derivative is asked for):
        NotDifferentiableError: in forward mode, which has no use for the rule; or f reads a value with a derivative that is no argument.
        ShapeError, TypeInferenceError: the rule returns what does not fit the arguments or the value.

    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> def forward(x):
    ...     return x, None
    >>> def backward(_, g):
    ...     return (min(max(g, -1.0), 1.0),)
    >>> clip_gradient.defvjp(forward, backward)
    >>> clip_gradient(3.0)
    3.0
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule: `fwd(*args) -> (value, residuals)`, `bwd(*nondiff, residuals, cotangent) -> cotangents`."""
        self.fwd, self.bwd = fwd, bwd


class custom_jvp(_Ruled):  # noqa: N801  (a decorator, named as in JAX)
    """A function with a forward rule of its own, as in JAX; reverse mode transposes it.

    Args:
        fun: the function. Arguments and result are numbers, arrays, and tuples, lists or dicts of them.
        nondiff_argnums: positions of arguments that have no derivative; the rule gets them first.

    The rule is given by the decorator `@f.defjvp`: `rule(*nondiff, primals, tangents)` returns `(value, tangent)`, the tangent with the structure, shapes
    and dtypes of the value, and linear in the tangents. `f.defjvps(...)` takes one function for each argument. A call of f in its own rule, with its own
    arguments, costs nothing.

    Raises (where a derivative is asked for):
        NotDifferentiableError: in reverse mode, if the tangent is not linear in the tangents; or f reads a value with a derivative that is no argument.
        ShapeError, TypeInferenceError: the rule returns what does not fit the value.

    >>> import math
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return math.log1p(math.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), x_dot / (1.0 + math.exp(-x))
    >>> log1pexp(0.0) == math.log(2.0)
    True
    """

    jvp: Callable[..., Any] | None = None
    jvps: tuple[Callable[..., Any] | None, ...] = ()

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule, `jvp(*nondiff, primals, tangents) -> (value, tangent)`; a decorator."""
        self.jvp, self.jvps = jvp, ()
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule by one function for each argument, `jvp(tangent, value, *args)`, which returns its share; None where that is zero."""
        if self.nondiff_argnums:
            raise TypeError("defjvps does not go with nondiff_argnums: use defjvp")
        self.jvp, self.jvps = None, jvps


class insert_grad_of:  # noqa: N801  (named as in Tangent)
    """Code of the user in the backward pass: `with insert_grad_of(x) as dx:`, as in Tangent.

    Args:
        x: a variable of the function: a number, an array of any shape, or a structure of them.

    Where the reverse sweep comes to this place, `dx` is the adjoint that x has here, from everything behind the block, and the block runs. It may print it,
    test it, raise, or bind `dx` to another value of the same shape and dtype, which the sweep goes on with. The function and its value know nothing
    of the block: it is no part of the program without a derivative, and in plain Python it runs with a `dx` of zeros. Higher derivatives are those of the
    gradient as it is computed. Names that the block binds are its own.

    Raises (where a derivative is asked for):
        NotDifferentiableError: in forward mode, which has no adjoints.
        UnsupportedSyntaxError: the block is left by a jump, binds names that are used outside, or x is no variable.

    >>> def f(x):
    ...     with insert_grad_of(x) as dx:
    ...         dx = min(dx, 1.0)
    ...     return x * x
    >>> f(3.0)
    9.0
    """

    def __init__(self, x: Any) -> None:
        self.x = x

    def __enter__(self) -> Any:
        return _zeros_like(self.x)

    def __exit__(self, *problem: object) -> None:
        return None


def _zeros_like(x: Any) -> Any:
    """An adjoint of x that is zero; None for what has none."""
    if isinstance(x, dict):
        return {k: _zeros_like(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        items = [_zeros_like(v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0 * x if isinstance(x, (float, complex, np.inexact)) else None
