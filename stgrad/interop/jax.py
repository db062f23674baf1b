"""Functions of NumPy inside JAX's programs: `function`, under `jax.grad`, `jax.jit` and `jax.vmap`.

The function and its derivatives are stgrad's compiled ones, called from JAX's program by `jax.pure_callback`; the pullback is a function of the same
kind, so that reverse mode goes to any order. Forward mode (`jax.jvp`, `jax.jacfwd`) is not there: JAX has none for `custom_vjp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stgrad.api import jit
from stgrad.differentials import vjp


def function(f: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of JAX's.

    Args:
        f: takes numbers, arrays, and structures of them, and returns such. It must not have effects. Python ints, bools and strings are compiled in.
        result: what f returns, as `jax.ShapeDtypeStruct`s in its structure, or a function from the arguments to that. Without it f is run once at ones,
            when JAX reads the program.

    Returns:
        A function with the parameters of f, for arrays of JAX. Under `jax.vmap` items are computed one after the other.

    >>> norm = function(lambda x: np.sqrt(np.sum(x**2)))
    >>> print(jax.jit(jax.grad(norm))(jax.numpy.array([3.0, 4.0])))
    [0.6 0.8]
    """
    bridge = _Bridge(f, result)

    def of_arrays(*args: Any) -> Any:
        return bridge(*args)

    of_arrays.__name__ = getattr(f, "__name__", "function")
    of_arrays.__doc__ = getattr(f, "__doc__", None)
    return of_arrays


class _Bridge:
    """A function that JAX calls back; its pullback is another one."""

    def __init__(self, f: Callable[..., Any], result: Any = None) -> None:
        self._f, self._result = f, result
        self._compiled = jit(f)
        self._shapes: dict[Any, Any] = {}
        self._pullback: _Bridge | None = None

    @property
    def pullback(self) -> _Bridge:
        """The cotangents of the arguments, as a function of the arguments and the cotangents of the result."""
        if self._pullback is None:
            f = self._f

            def pulled(args: Any, cotangents: Any) -> Any:
                return vjp(f, *args)[1](cotangents)

            self._pullback = _Bridge(pulled, lambda args, cotangents: tuple(map(_form_of_bars, args)))
        return self._pullback

    def __call__(self, *args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args, is_leaf=lambda leaf: leaf is None)
        moving = [_is_operand(leaf) for leaf in leaves]
        fixed = [None if moves else leaf for leaf, moves in zip(leaves, moving, strict=True)]
        operands = [jax.numpy.asarray(leaf) for leaf, moves in zip(leaves, moving, strict=True) if moves]

        def arguments(values: Any) -> Any:
            given = iter(values)
            return jax.tree.unflatten(structure, [next(given) if moves else known for moves, known in zip(moving, fixed, strict=True)])

        return self._differentiable(arguments)(*operands)

    def _differentiable(self, arguments: Callable[[Any], Any]) -> Any:
        """The call as a function of its operands, with the derivative that JAX is to use."""

        @jax.custom_vjp
        def call(*operands: Any) -> Any:
            form = self._form(arguments, operands)
            return jax.pure_callback(lambda *values: _like(self._compiled(*arguments(map(_value, values))), form), form, *operands, vmap_method="sequential")

        def forward(*operands: Any) -> Any:
            return call(*operands), operands

        def backward(operands: Any, cotangents: Any) -> Any:
            bars = jax.tree.leaves(self.pullback(arguments(operands), cotangents))
            given = iter(bars)
            return tuple(next(given) if _is_float(x) else np.zeros(x.shape, jax.dtypes.float0) for x in operands)

        call.defvjp(forward, backward)
        return call

    def _form(self, arguments: Callable[[Any], Any], operands: Any) -> Any:
        """Shapes and dtypes of the result."""
        if callable(self._result):
            return self._result(*arguments(operands))
        if self._result is not None:
            return self._result
        key = str([(x.shape, x.dtype) for x in operands]), str(arguments([None] * len(operands)))
        if key not in self._shapes:
            value = self._compiled(*arguments(_value(np.ones(x.shape, x.dtype)) for x in operands))
            self._shapes[key] = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jax.dtypes.canonicalize_dtype(np.result_type(leaf))), value)
        return self._shapes[key]


def _is_operand(leaf: Any) -> bool:
    return isinstance(leaf, (float, complex, np.ndarray, np.generic, jax.Array))


def _is_float(x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.inexact))


def _form_of_bars(arg: Any) -> Any:
    """The form of an argument's cotangents; nothing for one without floats, as `vjp` has it."""
    forms = jax.tree.map(_form_of_bar, arg)
    return forms if jax.tree.leaves(forms) else None


def _form_of_bar(leaf: Any) -> Any:
    """The form of an argument's cotangent; nothing for what has none."""
    if not _is_operand(leaf):
        return None
    array = jax.numpy.asarray(leaf)
    return jax.ShapeDtypeStruct(array.shape, array.dtype) if _is_float(array) else None


def _value(array: Any) -> Any:
    """What the function gets: an array of NumPy's, or a number."""
    return np.asarray(array)[()]


def _like(value: Any, form: Any) -> Any:
    """A result in the form that was said."""
    forms, structure = jax.tree.flatten(form)
    leaves = [np.asarray(leaf, each.dtype) for leaf, each in zip(jax.tree.leaves(value), forms, strict=True)]
    return jax.tree.unflatten(structure, leaves)


__all__ = ["function"]
