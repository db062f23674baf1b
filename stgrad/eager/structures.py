"""Nested structures of tensors: flattening, rebuilding, and what an unconnected source gets."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from stgrad.eager.tensor import Tensor


class UnconnectedGradients(enum.Enum):
    """What `gradient` gives for a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


def unconnected(value: Any) -> UnconnectedGradients:
    if type(value) is UnconnectedGradients:
        return value
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}; use tf.UnconnectedGradients.NONE or ZERO") from None


def flatten(structure: Any) -> list[Any]:
    """The leaves of nested lists, tuples, dictionaries and namedtuples; None is a leaf."""
    if isinstance(structure, Tensor):
        return [structure]
    return optree.tree_leaves(structure, none_is_leaf=True)


def flatten_with(structure: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves, and the function that puts new leaves in their places."""
    if isinstance(structure, Tensor):
        return [structure], lambda leaves: leaves[0]
    leaves, spec = optree.tree_flatten(structure, none_is_leaf=True)
    return leaves, lambda new: optree.tree_unflatten(spec, new)


def map_structure(fn: Callable[..., Any], *structures: Any) -> Any:
    """`fn` applied to the leaves of structures of the same form."""
    return optree.tree_map(fn, *structures, none_is_leaf=True)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """ValueError where the forms differ."""
    one, two = (optree.tree_structure(nest, none_is_leaf=True) for nest in (nest1, nest2))
    if one != two:
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {nest1!r} Second structure: {nest2!r}")


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    return optree.tree_unflatten(optree.tree_structure(structure, none_is_leaf=True), list(flat_sequence))


def form(structure: Any) -> str:
    """The structure without its leaves, as text."""
    return str(optree.tree_structure(structure, none_is_leaf=True))


def is_nested(structure: Any) -> bool:
    return not optree.tree_is_leaf(structure, none_is_leaf=True)


def check_sources(flat: list[Any]) -> None:
    """TensorFlow's errors for leaves that are no tensors."""
    for leaf in flat:
        if leaf is None:
            raise TypeError("Cannot convert the argument `type_value`: None to a TensorFlow DType.")
        if not hasattr(leaf, "_id"):
            raise AttributeError(
                f"{type(leaf).__name__!r} object has no attribute 'dtype': gradients are taken of and for tensors and "
                f"variables, not {leaf!r}; "
                "make it a tf.constant or tf.Variable, and use that in the computation"
            )


def result(grads: dict[int, Any], source: Any, mode: UnconnectedGradients) -> Any:
    """The gradient of one source as a tensor, None, or zeros."""
    value = source._a
    found = grads.get(source._id)
    if found is None or value.dtype.kind not in "fc":
        return Tensor(np.zeros(value.shape, value.dtype)) if mode is UnconnectedGradients.ZERO else None
    return found if type(found) is Tensor else Tensor(found)
