"""Sums of columns of a Jacobian, and of its rows, as programs that are read: what `stgrad.sparse` computes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.jacobians import Pullback, numbers
from stgrad.stubs import Stub
from stgrad.tangent_calls import WIDTH, Point, Pushforward
from stgrad.values import Sym


def part_of(seeds: Any, like: Any, c: Any) -> Any:
    """One row of the seeds of an array or number, in its shape."""
    return np.reshape(seeds[c], np.shape(like)) if np.ndim(like) > 1 else seeds[c] if np.ndim(like) == 1 else seeds[c, 0]


def compressed_of(push: Pushforward, point_of: Point) -> Callable[..., Any]:
    """The tangents of all results in the directions that `seeds` has as rows, an array for each number or array of the arguments."""

    def compressed(seeds: Any, args: Any, kwargs: Any) -> Any:
        point, count = point_of(args, kwargs), np.shape(seeds[0])[0]
        tree = push(args, kwargs, [[None for _ in point]])[1][0]
        found = [np.zeros((count, np.size(v))) for v in numbers(tree)]
        for i in range(0, count, WIDTH):
            directions = [[part_of(seeds[k], point[k], min(i + w, count - 1)) for k in range(len(point))] for w in range(WIDTH)]
            tangents = push(args, kwargs, directions)[1]
            for w in range(WIDTH):
                for target, t in zip(found, [v for v in numbers(tangents[w])]):  # noqa: B905, C416
                    target[min(i + w, count - 1)] = np.ravel(t)
        return found

    return compressed


def compressed_rows_of(f: Callable[..., Any], pullback: Pullback) -> Callable[..., Any]:
    """The cotangents of all arguments for the rows of `seeds`, an array for each number or array of the result."""

    def compressed(seeds: Any, args: Any, kwargs: Any) -> Any:
        y = numbers(f(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
        count = np.shape(seeds[0])[0]
        like = numbers(pullback(args, kwargs, [np.zeros_like(v) for v in y]))
        found = [np.zeros((count, np.size(v))) for v in like]
        for i in range(count):
            gradients = pullback(args, kwargs, [part_of(seeds[k], y[k], i) for k in range(len(y))])
            for target, g in zip(found, numbers(gradients)):  # noqa: B905
                target[i] = np.ravel(g)
        return found

    return compressed


def items_of(f: Callable[..., Any], pullback: Pullback) -> Callable[..., Any]:
    """For each number of one item of the result the gradients of all items, in one sweep."""
    arrays = Arrays()

    def batch_jacobian(*args: Any, **kwargs: Any) -> Any:
        y = f(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        x = arrays(y, pullback(args, kwargs, [np.zeros_like(v) for v in numbers(y)])[0])
        rows = np.reshape(y, (np.shape(y)[0], -1))
        found = np.zeros(np.shape(rows) + np.shape(x)[1:], dtype=np.result_type(y))
        for j in range(np.shape(rows)[1]):
            seed = np.zeros_like(rows)
            seed[:, j] = 1.0
            found[:, j] = pullback(args, kwargs, [np.reshape(seed, np.shape(y))])[0]
        return np.reshape(found, np.shape(y) + np.shape(x)[1:])

    return batch_jacobian


class Arrays(Stub):
    """`arrays(y, x)`: x, where both are arrays with an axis for the items."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        for what, value in zip(("result", "argument"), args, strict=True):
            if not isinstance(value, Sym) or not value.type.rank:
                raise errors.ShapeError(f"batch_jacobian: the {what} is no array with an axis for the items", frame.builder.loc)
        return args[1]
