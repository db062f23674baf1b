"""The structure of a recording as a key: equal keys mean the same operations, wired alike, on the same shapes, dtypes and attributes.

Values are not in it: those of tensors, of arrays and of Python floats among the arguments are inputs of what is made for a key.
Integers, axes, shapes, slices and names are. It takes a fraction of a microsecond a node, as nearly all of it is loops in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from stgrad.eager.dtypes import DType
from stgrad.eager.recording import Node
from stgrad.eager.tensor import Tensor

Key = tuple[Any, ...]

VALUES = frozenset({Tensor, float, complex, np.float32, np.float64, np.complex64, np.complex128})
_STATIC = frozenset({int, str, bool, type(None), type(Ellipsis), DType})
_id, _value = attrgetter("_id"), attrgetter("_a")
_shape, _dtype = attrgetter("shape"), attrgetter("dtype")
_operation = attrgetter("key")


class UnrepeatableError(Exception):
    """An argument has no description that could be compared."""


def fingerprint(nodes: Sequence[Node], targets: Sequence[int], sources: Sequence[int]) -> Key | None:
    """The key of a recording with the ids of its targets and sources; None where something in it cannot be described."""
    ops, results, inputs, args, kwargs = zip(*nodes)
    flat = tuple(chain.from_iterable(inputs))
    try:
        made = list(map(_id, results))
        several: Any = None
    except AttributeError:  # operations with several results
        made = [y._id for result in results for y in (result if type(result) is tuple else (result,))]
        several = tuple([len(result) if type(result) is tuple else 0 for result in results])
    ids = [*map(_id, flat), *made]
    first: dict[int, int] = {}
    links = tuple(map(first.setdefault, ids, range(len(ids))))
    arrays = tuple(map(_value, flat))
    kinds = tuple(map(type, chain.from_iterable(args)))
    try:
        return (
            tuple(map(_operation, ops)),
            links,
            several,
            tuple(map(_shape, arrays)),
            tuple(map(_dtype, arrays)),
            kinds,
            tuple(map(len, args)),
            () if VALUES.issuperset(kinds) else _statics(args, kinds),
            tuple(map(_keywords, kwargs)) if any(kwargs) else None,
            tuple([first.get(t, -1) for t in targets]),
            tuple([first.get(s, -1) for s in sources]),
        )
    except UnrepeatableError:
        return None


def _statics(args: tuple[Any, ...], kinds: tuple[type, ...]) -> tuple[Any, ...]:
    return tuple([x if kind in _STATIC else describe(x) for x, kind in zip(chain.from_iterable(args), kinds) if kind not in VALUES])


def _keywords(kwargs: Any) -> Any:
    return tuple([(name, describe(value)) for name, value in kwargs.items()]) if kwargs else None


def describe(x: Any) -> Any:
    """What of an argument belongs to the structure. Containers keep their form, floats inside them and in keywords their value.

    Raises UnrepeatableError for what cannot be told.
    """
    kind = type(x)
    if kind in _STATIC:
        return (kind, x)
    if kind is Tensor:
        return (Tensor, x._a.shape, x._a.dtype)
    if kind is float:
        return (float, x.hex())
    if kind is tuple or kind is list:
        return (kind, *[describe(e) for e in x])
    if kind is slice:
        return (slice, describe(x.start), describe(x.stop), describe(x.step))
    if kind is np.ndarray:
        return (np.ndarray, x.shape, x.dtype)
    if isinstance(x, (np.integer, np.bool_, np.dtype, type)):
        return (kind, x)
    raise UnrepeatableError(kind.__name__)
