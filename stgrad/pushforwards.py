"""Derivatives that push tangents forward: in a direction, gradients of few numbers, Jacobians column by column, Hessians times a vector.

Like those of `stgrad.jacobians`, each is plain Python that the compiler reads. What stands for the tangent program of a function in there
is a `Pushforward` of `stgrad.tangent_calls`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad.jacobians import Pullback, each_row, filled, numbers, settled
from stgrad.request import Derivative
from stgrad.tangent_calls import (
    WIDTH,
    Along,
    Cheaper,
    Every,
    Gradient,
    Places,
    Point,
    Pushforward,
    Rows,
    Series,
    Shaped,
    Tangent,
    Tried,
    slope,
)
from stgrad.transformed import Transformed


def pushforward_of(tangent: Tangent) -> Callable[..., Any]:
    """Value and tangent of a function."""

    def pushforward(primals: Any, tangents: Any) -> Any:
        return tangent(primals, {}, tangents)

    return pushforward


def series_of(series: Series) -> Callable[..., Any]:
    """The value of a function and the coefficients of its power series, for those of its arguments."""

    def expansion(primals: Any, orders: Any) -> Any:
        return series(primals, {}, orders)

    return expansion


def linear_of(tangent: Tangent) -> Callable[..., Any]:
    """The tangent alone."""

    def linear(primals: Any, tangents: Any) -> Any:
        return tangent(primals, {}, tangents)[1]

    return linear


def units(point: Any, chosen: Any) -> Any:
    """For each of the chosen numbers the direction in which it grows alone."""
    return [[np.ones_like(point[k]) if i == k else None for i in range(len(point))] for k in chosen]


def columns(push: Pushforward, args: Any, kwargs: Any, point: Any, k: int, block: Any) -> Any:
    """The tangents of all results in the directions of the k-th argument, an array; `block` are empty arrays for them, one for each result."""
    size = np.size(point[k])
    before, after = [None for _ in point[:k]], [None for _ in point[k + 1 :]]
    seeds = [np.zeros(size, dtype=np.result_type(point[k])) for _ in range(WIDTH)]
    for i in range(0, size, WIDTH):
        for w in range(WIDTH):
            seeds[w][min(i + w, size - 1)] = 1.0
        tangents = push(args, kwargs, [before + [np.reshape(s, np.shape(point[k]))] + after for s in seeds])[1]
        for w in range(WIDTH):
            for target, t in zip(block, [v for v in numbers(tangents[w])]):  # noqa: B905, C416
                target[..., min(i + w, size - 1)] = t
            seeds[w][min(i + w, size - 1)] = 0.0
    return block


def blocks_of(push: Pushforward, args: Any, kwargs: Any, point: Any) -> Any:
    """The value of a function, its structure with None for what is no float, and for each number of the point the derivatives of its floats."""
    scalars = [k for k in range(len(point)) if np.ndim(point[k]) == 0]
    arrays = [k for k in range(len(point)) if np.ndim(point[k]) > 0]
    value, tangents = push(args, kwargs, units(point, scalars) + ([[None for _ in point]] if arrays else []))
    tree = tangents[0]
    blocks = {k: numbers(t) for k, t in zip(scalars, tangents)}  # noqa: B905
    for k in arrays:
        empty = [np.zeros(np.shape(v) + (np.size(point[k]),), dtype=dtype_of(v, point[k])) for v in numbers(tree)]
        filled_ = columns(push, args, kwargs, point, k, empty)
        if np.ndim(point[k]) > 1:
            blocks[k] = [np.reshape(b, np.shape(v) + np.shape(point[k])) for b, v in zip(filled_, numbers(tree))]  # noqa: B905
        else:
            blocks[k] = filled_
    return value, tree, [blocks[k] for k in range(len(point))]


def gradient_parts(f: Callable[..., Any], names: tuple[str, ...], single: bool, has_aux: bool) -> tuple[Gradient, Point, Shaped]:
    return Gradient(f, names, single, has_aux), Point(f, names), Shaped(f, names, single)


def product_of(f: Callable[..., Any], names: tuple[str, ...], chosen: tuple[int, ...]) -> Callable[..., Any]:
    """The Hessian times a vector: the gradient program pushed forward, or, where that is refused, the gradient of its product with the vector."""
    gradient = Transformed(Derivative(f, "grad", names, single=False))
    along = Along(gradient, names, False)

    def weighed(primals: Any, tangents: Any) -> Any:
        return slope(gradient(*primals), tangents)

    backwards = Transformed(Derivative(weighed, "grad", ("primals",)))

    def linear(primals: Any, tangents: Any) -> Any:
        found = along(primals, {}, tangents)
        if found is None:
            back = backwards(primals, tangents)
            return tuple([back[i] for i in chosen])
        return found

    return linear


def product_along(f: Callable[..., Any], names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    """The same as a function of the arguments and, behind them, the vector."""
    gradient = Transformed(Derivative(f, "grad", names, single))
    along = Along(gradient, names, False)

    def weighed(args: Any, kwargs: Any, v: Any) -> Any:
        return slope(gradient(*args, **kwargs), v)

    backwards = Transformed(Derivative(weighed, "grad", ("args",)))
    places = Places(f, names)

    def product_of_both(*args: Any, **kwargs: Any) -> Any:
        point, v = args[:-1], args[-1]
        found = along(point, kwargs, (v,) if single else v)
        if found is None:
            back = backwards(point, kwargs, v)
            found = tuple([back[i] for i in places(point, kwargs)])
            return found[0] if single else found
        return found

    return product_of_both


def jacobian_of(every: Every, push: Pushforward, point_of: Point, shaped: Shaped) -> Callable[..., Any]:
    """For each number of the result, in its structure, the structure of the arguments: a column for each number of the arguments."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return by_columns(every(args, kwargs), push, args, kwargs, point_of, shaped)

    return jacobian


def rows_of_all(f: Callable[..., Any], rows: Rows, pullback: Pullback, single: bool) -> Callable[..., Any]:
    """The same with a row for each number of the result."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        return by_rows(rows, pullback, f, args, kwargs, single)

    return jacobian


def gradient_of(push: Gradient, point_of: Point, shaped: Shaped, with_value: bool) -> Callable[..., Any]:
    """The gradient, a direction for each number of the arguments."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, _, blocks = blocks_of(push, args, kwargs, point_of(args, kwargs))
        found = shaped(args, kwargs, [block[0] for block in blocks])
        if with_value:
            return value, found
        return (found, value[1]) if push.has_aux else found

    return gradient


def cheaper_of(
    f: Callable[..., Any], every: Tried, push: Pushforward, point_of: Point, shaped: Shaped, cheaper: Cheaper, rows: Rows, pullback: Pullback, single: bool
) -> Callable[..., Any]:
    """The Jacobian by columns or by rows, whichever are fewer."""
    always = Every(f, every.names)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        y = settled(f(*copy.deepcopy(args), **copy.deepcopy(kwargs)))  # it may write to them
        mode = cheaper(args, kwargs, y)
        if mode == "reverse":
            return by_rows(rows, pullback, f, args, kwargs, single)
        if mode == "forward":
            tried = every(args, kwargs)
            if isinstance(tried, str):
                return by_rows(rows, pullback, f, args, kwargs, single)
            return by_columns(tried, push, args, kwargs, point_of, shaped)
        inputs = sum([np.size(v) for v in point_of(args, kwargs)])
        outputs = sum([np.size(v) for v in numbers(y)])
        if inputs <= WIDTH * outputs:
            found = by_columns(always(args, kwargs), push, args, kwargs, point_of, shaped)
        else:
            found = by_rows(rows, pullback, f, args, kwargs, single)
        return found

    return jacobian


def by_columns(found: Any, push: Any, args: Any, kwargs: Any, point_of: Any, shaped: Any) -> Any:
    point = point_of(args, kwargs)
    if found is None:  # one direction after the other
        _, tree, blocks = blocks_of(push, args, kwargs, point)
    else:
        tree = found[1][0]
        blocks = [[columns_as(b, point[k]) for b in numbers(found[1][k])] for k in range(len(point))]
    return filled(tree, [shaped(args, kwargs, [block[j] for block in blocks]) for j in range(len(numbers(tree)))])


def columns_as(block: Any, x: Any) -> Any:
    """Columns for the numbers of x, with the axes of x in place of the last one; a number is a zero that is known."""
    if np.ndim(block) == 0:
        return np.zeros_like(x) if np.ndim(x) else block
    if np.result_type(block) != dtype_of(block, x):
        block = block.astype(dtype_of(block, x))
    return np.reshape(block, np.shape(block)[:-1] + np.shape(x)) if np.ndim(x) > 1 else block


def dtype_of(y: Any, x: Any) -> Any:
    """The type of the derivatives of y in x: that of x, as rows have it, and complex where y is."""
    return np.result_type(y) if np.issubdtype(np.result_type(y), np.complexfloating) else np.result_type(x)


def by_rows(rows: Any, pullback: Any, f: Any, args: Any, kwargs: Any, single: Any) -> Any:
    found = rows(args, kwargs)
    if found is None:
        return each_row(pullback, f, args, kwargs, single)
    leaf = numbers(found[0])
    trees = [filled(tree, [rows_as(b, leaf[k]) for b in numbers(tree)]) for k, tree in enumerate(found[1])]
    return filled(found[0], [tree[0] if single else tree for tree in trees])


def rows_as(block: Any, y: Any) -> Any:
    """Rows for the numbers of y, with the axes of y in front; a number is a zero that is known, or the only one."""
    if np.ndim(y) == 0:
        return block
    if np.ndim(block) == 0:
        return np.zeros_like(y)
    last = np.ndim(block) - 1
    turned = np.transpose(block, (last,) + tuple(range(last))).copy()
    return np.reshape(turned, np.shape(y) + np.shape(block)[:-1]) if np.ndim(y) > 1 else turned
