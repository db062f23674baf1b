"""Derivatives and functions over a batch: `vmap` and `batch_jacobian`; names and meaning are JAX's and TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from stgrad.api import named, parameter_names
from stgrad.as_python import as_python
from stgrad.budgets import Budget
from stgrad.compressed import items_of
from stgrad.directional import options_of
from stgrad.errors import MemoryBudgetError
from stgrad.jacobians import Row, beside
from stgrad.mapping import checked_axes, mapped_of
from stgrad.request import Around, Options
from stgrad.transformed import Transformed


def vmap(
    f: Callable[..., Any] | None = None, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None, jit: bool = True,
    parallel: bool = False, precise: bool = False, without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Any:  # fmt: skip
    """The function over a batch: for each item of the arguments its result, stacked; as in JAX.

    Args:
        f: a function of numbers and arrays with any result.
        in_axes: along which axis the arguments are mapped: an int (negative ones count from the end), None for what is the same for all items, or a tuple
            with one of those for each argument by position, or a structure of them that is a prefix of the argument. Keyword arguments are
            mapped along axis 0.
        out_axes: at which axis of the results the items are stacked: an int, or a prefix of the structure of the result; None for what does not
            depend on the item, and is returned once.
        axis_size: the number of items; it is needed only where no argument is mapped.
        parallel: run the items on threads. The other options are those of `grad`; `memory` is a budget for each reverse sweep in f, one item at a time.

    Returns:
        A function with the arguments of f. It is one program, a loop over the items, that can be differentiated, mapped again, and called in
        functions that are. Unlike a list of results it needs results of equal shapes. Writes of f to a mapped argument go to the batch, as in a loop.

    Raises:
        ShapeError: axes that the arguments or the results do not have, a result that is not the same for all items where `out_axes` says None.
        ValueError: mapped axes of different sizes, when it runs.

    >>> import numpy as np
    >>> import stgrad
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> stgrad.vmap(np.dot, (0, None), jit=False)(rows, np.array([1.0, 10.0]))
    array([21., 43.])

    Gradients for each example of a batch:

    >>> def loss(w, x, y):
    ...     return (w @ x - y) ** 2
    >>> each = stgrad.vmap(stgrad.grad(loss), (None, 0, 0), jit=False)
    >>> each(np.array([1.0, 0.5]), rows, np.array([2.0, 4.0]))
    array([[0., 0.],
           [6., 8.]])
    """
    options, axes = replace(options_of((jit, parallel, precise, named(without), checked, memory)), plain=False), checked_axes(in_axes, axis_size)
    if parallel and options.memory is not None:
        raise MemoryBudgetError("`vmap` with threads takes no memory budget", reason="several items are worked on at once", hint="leave out one of both")
    if f is None:
        return lambda function: _mapped(function, axes, out_axes, options)
    return _mapped(f, axes, out_axes, options)


def batch_jacobian(
    f: Callable[..., Any] | None = None, argnums: int | str = 0, has_aux: bool = False, *, jit: bool = True, parallel: bool = False,
    precise: bool = False, without: Collection[str] = (), checked: bool | None = None, memory: int | str | Budget | None = None,
) -> Any:  # fmt: skip
    """The Jacobian of each item of a batch, of a function of the whole batch, as TensorFlow's `batch_jacobian`.

    Args:
        f: a function that takes an array of shape `(b, *n)`, perhaps among other arguments, and returns one of shape `(b, *m)`, where what belongs to an
            item depends on that item alone; where it does not, the derivatives in all items are added up.
        argnums: the argument, by position or name.
        has_aux: whether f returns `(value, auxiliary data)`; then the result is `(Jacobian, auxiliary data)`. The options are those of `grad`.

    Returns:
        A function with the arguments of f; its result has the shape `(b, *m, *n)`. It takes a reverse sweep for each number of one item's result.

    Raises:
        ShapeError: the result or the argument is no array with an axis for the items.

    >>> import numpy as np
    >>> import stgrad
    >>> each = stgrad.batch_jacobian(lambda x: x**2 * x[:, ::-1], jit=False)
    >>> each(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[[ 4.,  1.],
            [ 4.,  4.]],
    <BLANKLINE>
           [[24.,  9.],
            [16., 24.]]])
    """
    options = options_of((jit, parallel, precise, named(without), checked, memory))
    if f is None:
        return lambda function: _each_item(function, argnums, has_aux, options)
    return _each_item(f, argnums, has_aux, options)


def _each_item(f: Any, argnums: int | str, has_aux: bool, options: Options) -> Transformed:
    if not callable(f):
        raise TypeError(f"batch_jacobian takes a function, not {type(f).__name__}; options go by keyword: @stgrad.batch_jacobian(argnums=...)")
    if not isinstance(argnums, (int, str)):
        raise TypeError("batch_jacobian: argnums is one argument, by position or name")
    f = as_python(f)
    names = parameter_names(f, (argnums,))
    make, args = (beside, (_items, 0, names)) if has_aux else (_items, (names,))
    return Transformed(Around(make, "Jacobian of each item", "batch_jacobian", f, names, args).request(), options)


def _items(f: Any, names: tuple[str, ...]) -> Callable[..., Any]:
    return items_of(f, Row(f, names))


def _mapped(f: Any, axes: Any, out_axes: Any, options: Options) -> Any:
    if not callable(f):
        raise TypeError(f"vmap takes a function, not {type(f).__name__}; options go by keyword: @stgrad.vmap(in_axes=...)")
    if hasattr(type(f), "over_batch"):
        return f.over_batch(axes, out_axes)
    return Transformed(Around(mapped_of, "map over a batch", "vmap", as_python(f), (), (axes, out_axes)).request(), options)


__all__ = ["batch_jacobian", "vmap"]
