"""Derivatives that are programs of others: Jacobians, Hessians, their products with a vector, derivatives of each element.

Each is plain Python around the pullback of a function, which the compiler reads as any other program: so all of it is compiled, prints as
source, and can be differentiated again. `Pullback` is what stands for the pullback while such a program is read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from stgrad import errors
from stgrad.as_python import first_of
from stgrad.request import Derivative
from stgrad.stubs import Stub
from stgrad.transformed import Transformed
from stgrad.values import Growing, Sym, leaves, map_leaves


class Pullback(Stub):
    """`pullback(args, kwargs, cotangents)` in a program that is read: the cotangents of the chosen arguments, a tuple."""

    def __init__(self, f: Callable[..., Any], names: tuple[str, ...], has_aux: bool = False) -> None:
        self.transformed = Transformed(Derivative(f, "vjp", names, False, has_aux))

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        from stgrad.nested import call_inline

        positional, keywords, cotangents = args
        value, found = call_inline(self.transformed, frame, tuple(positional), keywords, seeds=(cotangents,))
        return self.checked(value, found)

    def checked(self, value: Any, found: Any) -> Any:
        return found


class Row(Pullback):
    """The same for cotangents of ones: a row of the Jacobian. One real number each cannot tell how both parts of a complex result depend on a real argument."""

    def checked(self, value: Any, found: Any) -> Any:
        return checked_rows(self.transformed.derivative.function, value, found)


def checked_rows(f: Any, value: Any, found: Any) -> Any:
    """Derivatives of f that were found backwards; refused where they are real, and the result is complex."""
    from stgrad.program import last_line

    if any(map(is_complex, leaves(value))) and any(isinstance(leaf, Sym) and not is_complex(leaf) for leaf in leaves(found)):
        raise errors.NotDifferentiableError(
            "the result is complex, and rows of its derivatives in real arguments are those of its real part alone",
            last_line(f),
            hint="use stgrad.jacfwd, or return the real and the imaginary part: np.real(z), np.imag(z)",
        )
    return found


def is_complex(leaf: Any) -> bool:
    return isinstance(leaf, complex) or isinstance(leaf, Sym) and leaf.type.dtype.startswith("complex")


# --------------------------------------------------------------------------- structures; these functions are read, too


def numbers(tree: Any) -> list[Any]:
    """The numbers and arrays of a structure that are no integers, in order; what has no derivative is None or left out."""
    if tree is None or isinstance(tree, (str, bool, int)):
        return []
    if hasattr(tree, "__dataclass_fields__"):
        return numbers([getattr(tree, name) for name in tree.__dataclass_fields__])
    if hasattr(tree, "__dict__"):
        return numbers(list(vars(tree).values()))
    if isinstance(tree, dict):
        return numbers(list(tree.values()))
    if isinstance(tree, (tuple, list)):
        found: list[Any] = []
        for item in tree:
            found = found + numbers(item)
        return found
    return [tree] if np.issubdtype(np.result_type(tree), np.inexact) else []


class Filled(Stub):
    """`filled(tree, items)` in a program that is read: the structure of a tree with other items for its numbers, None for the rest."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        tree, items = args
        rest = iter(items)
        return map_leaves(lambda leaf, _: next(rest) if frame.call(numbers, (leaf,), {}) else None, tree)


class Settled(Stub):
    """`settled(y)` in a program that is read: a result as it is; refused where it has a list of run-time length, which has no Jacobian."""

    def _stgrad_call_(self, frame: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
        if any(isinstance(leaf, Growing) for leaf in leaves(args[0])):
            raise errors.TypeInferenceError(
                "the Jacobian of a function that returns a list whose length it decides as it runs is not supported", hint="return np.array(...) of it"
            )
        return args[0]


filled = Filled()
settled = Settled()


def beside(f: Callable[..., Any], make: Callable[..., Any], behind: int, *args: Any) -> Callable[..., Any]:
    """What `make` gives of the first of two results, and the second one as it is; `behind` its last arguments are not those of f."""
    derivative = make(first_of(f), *args)

    def with_aux(*args: Any, **kwargs: Any) -> Any:
        aux = f(*copy.deepcopy(args[: len(args) - behind]), **copy.deepcopy(kwargs))[1]  # it may write to them
        return derivative(*args, **kwargs), aux

    return with_aux


def beside_point(f: Callable[..., Any], make: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The same of what takes the arguments of f as a tuple."""
    derivative = make(first_of(f), *args)

    def with_aux(primals: Any, tangents: Any) -> Any:
        aux = f(*copy.deepcopy(primals))[1]
        return derivative(primals, tangents), aux

    return with_aux


def zeros(tree: Any) -> list[Any]:
    return [np.zeros_like(v) for v in numbers(tree)]


# --------------------------------------------------------------------------- the programs


def each_row(pullback: Any, f: Any, args: Any, kwargs: Any, single: Any) -> Any:
    """For each number of the result, in its structure, the structure of the arguments: arrays of the shapes of both."""
    y = settled(f(*copy.deepcopy(args), **copy.deepcopy(kwargs)))  # it may write to them
    return filled(y, [rows_of(pullback, args, kwargs, y, k, single) for k in range(len(numbers(y)))])


def rows_of(pullback: Any, args: Any, kwargs: Any, y: Any, k: int, single: bool) -> Any:
    """The derivatives of one leaf of the result: one sweep for each of its elements."""
    leaf = numbers(y)[k]
    before, after = zeros(y)[:k], zeros(y)[k + 1 :]
    if np.ndim(leaf) == 0:
        found = pullback(args, kwargs, [*before, np.ones_like(leaf), *after])
        return found[0] if single else found
    shapes = pullback(args, kwargs, zeros(y))
    blocks = [np.zeros((np.size(leaf),) + np.shape(g), dtype=np.result_type(g)) for g in numbers(shapes)]
    for i in range(np.size(leaf)):
        seed = np.zeros(np.size(leaf), dtype=np.result_type(leaf))
        seed[i] = 1.0
        found = pullback(args, kwargs, [*before, np.reshape(seed, np.shape(leaf)), *after])
        for block, g in zip(blocks, numbers(found)):  # noqa: B905
            block[i] = g
    if np.ndim(leaf) > 1:
        blocks = [np.reshape(b, np.shape(leaf) + np.shape(g)) for b, g in zip(blocks, numbers(shapes))]  # noqa: B905
    tree = filled(shapes, blocks)
    return tree[0] if single else tree


def elementwise_of(f: Callable[..., Any], pullback: Pullback, single: bool) -> Callable[..., Any]:
    """The derivative of the sum of all results: of each element, where one depends on the same one of the argument alone."""

    def elementwise(*args: Any, **kwargs: Any) -> Any:
        y = settled(f(*copy.deepcopy(args), **copy.deepcopy(kwargs)))  # it may write to them
        found = pullback(args, kwargs, [np.ones_like(v) for v in numbers(y)])
        return found[0] if single else found

    return elementwise


def product(gradients: Any, tangents: Any) -> Any:
    """The real inner product of two structures with the same numbers."""
    total = 0.0
    for g, v in zip(numbers(gradients), numbers(tangents)):  # noqa: B905
        total = total + np.sum(np.real(np.conj(g) * v))
    return total
