"""What arguments are to a program: integers that are compiled in, and cotangents that are passed behind them."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stgrad.calls import wrapper
from stgrad.contents import is_short
from stgrad.ir import Dim, Type
from stgrad.values import Record, closed, leaves, map_leaves, opened


def equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:
        return a is b


def likenesses(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the same structure, types and extents that keep no array alive: each is one number, seen again and again.

    >>> likenesses({"x": np.ones((2, 3))})["x"].shape
    (2, 3)
    """

    def one(leaf: Any, _: str) -> Any:
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape) if type(leaf) is np.ndarray else leaf

    return {name: closed(map_leaves(one, opened(value))) for name, value in arguments.items()}


LONGEST = 64  # extents that are compiled in: such a program may have a line for each item


class Known(enum.IntEnum):
    """What a program knows of its arguments beside their types."""

    TYPES = 0
    INTEGERS = 1
    EXTENTS = 2  # and integers


class Extents(enum.Enum):
    """What a program knows of the extents of arrays.

    The first one that is called knows those that are short: loops over the coordinates of a point have no bound to read and no index to test. Where
    those of its arguments are others in another call, the second one is for any.
    """

    ANY = enum.auto()
    CAPTURED = enum.auto()  # the short ones of captured arrays
    SHORT = enum.auto()  # those of arguments, too


def short_programs(jit: bool, check_nan: bool) -> bool:
    """Whether the first program may be for the short extents of its arguments alone: compiled ones, but for `STGRAD_SHORT=0` in the environment.

    Not where a NaN is looked for, which is told by its place in an array.
    """
    return jit and not check_nan and os.environ.get("STGRAD_SHORT") != "0"


def fixed_spec(spec: Any, value: Any, known: Known = Known.INTEGERS) -> Any:
    """A specification with integers and bools compiled in, and extents of arrays where they are to be known."""

    def fixed(leaf: Type, v: Any) -> Any:
        if leaf.array:
            return _with_extents(leaf, v, lambda n: n <= LONGEST) if known is Known.EXTENTS else leaf
        return v if leaf.dtype in ("int64", "bool") and leaf.weak else leaf

    return _map_spec(fixed, spec, value)


def short_spec(spec: Any, value: Any) -> Any:
    """A specification with short extents compiled in."""
    return _map_spec(lambda leaf, v: _with_extents(leaf, v, is_short) if leaf.array else leaf, spec, value)


def _with_extents(type_: Type, value: Any, known: Callable[[int], bool]) -> Type:
    return replace(type_, dims=tuple(Dim(None, n) if known(n) else dim for dim, n in zip(type_.dims, np.shape(value), strict=True)))


def _map_spec(change: Callable[[Type, Any], Any], spec: Any, value: Any) -> Any:
    if isinstance(spec, Type):
        return change(spec, value)
    if isinstance(spec, (tuple, list)):
        items = [_map_spec(change, s, v) for s, v in zip(spec, value, strict=True)]
        return type(spec)(*items) if hasattr(spec, "_fields") else type(spec)(items)
    if isinstance(spec, dict):
        return {k: _map_spec(change, s, value[k]) for k, s in spec.items()}
    if isinstance(spec, Record):
        return Record(spec.cls, {k: _map_spec(change, s, getattr(value, k)) for k, s in spec.fields.items()})
    return spec


def fixed_nodes(nodes: Sequence[Any], arguments: Mapping[str, Any], known: Known) -> list[Any]:
    """Descriptions of what such a program is for."""
    return [fixed_node(n, v, known) for n, v in zip(nodes, arguments.values(), strict=True)]


def known_extents(node: wrapper.Array) -> dict[int, int]:
    """The extents that decide a program, by axis."""
    return {axis: n for axis, n in enumerate(node.extents or ()) if n is not None and n != 1}


def knows_extents(node: wrapper.Node) -> bool:
    """Whether a program is for arguments of certain extents alone."""
    match node:
        case wrapper.Array():
            return bool(known_extents(node))
        case wrapper.Items():
            return any(map(knows_extents, node.items))
        case wrapper.Keys() | wrapper.Attributes():
            return any(knows_extents(n) for _, n in node.items)
    return False


def fixed_node(node: Any, value: Any, known: Known = Known.INTEGERS) -> Any:
    """The description of what such a program is for."""

    def fixed(leaf: Any, v: Any) -> Any:
        if isinstance(leaf, wrapper.Scalar) and leaf.type in (int, bool):
            return wrapper.Static(v)
        return _array_of(leaf, v, lambda n: n <= LONGEST) if known is Known.EXTENTS else leaf

    return node if known is Known.TYPES else _map_node(fixed, node, value)


def short_nodes(nodes: Sequence[Any], arguments: Mapping[str, Any]) -> list[Any]:
    """Descriptions of what a program is for that knows short extents."""
    return [_map_node(lambda leaf, v: _array_of(leaf, v, is_short), n, v) for n, v in zip(nodes, arguments.values(), strict=True)]


def _array_of(node: Any, value: Any, known: Callable[[int], bool]) -> Any:
    return replace(node, extents=tuple(n if known(n) else None for n in value.shape)) if isinstance(node, wrapper.Array) else node


def _map_node(change: Callable[[Any, Any], Any], node: Any, value: Any) -> Any:
    if isinstance(node, wrapper.Items):
        return wrapper.Items(node.type, tuple(_map_node(change, n, v) for n, v in zip(node.items, value, strict=True)))
    if isinstance(node, wrapper.Keys):
        return wrapper.Keys(tuple((k, _map_node(change, n, value[k])) for k, n in node.items))
    if isinstance(node, wrapper.Attributes):
        return wrapper.Attributes(node.type, tuple((k, _map_node(change, n, getattr(value, k))) for k, n in node.items))
    return change(node, value)


_DOUBLE = (float, np.float64)


def _alike(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.ndim > 0 and a.dtype.kind in "fc" and a.dtype == b.dtype and a.shape == b.shape


def seeds(cotangents: Any, value: Any) -> list[Any]:
    """Cotangents leaf by leaf, with the dtype and shape of the value's leaves.

    Raises ValueError where a shape is another one, TypeError where the structure is.
    """
    if type(value) in _DOUBLE and type(cotangents) in _DOUBLE:
        return [float(cotangents)]
    if type(value) is type(cotangents) is np.ndarray and _alike(value, cotangents):
        return [cotangents]
    given, wanted = list(leaves(opened(cotangents))), list(leaves(opened(value)))
    if len(given) != len(wanted):
        raise TypeError(f"the cotangents have {len(given)} leaves, the value has {len(wanted)}")
    found = []
    for g, v in zip(given, wanted, strict=True):
        if v is None or isinstance(v, str):
            continue
        dtype = np.result_type(v)
        if dtype.kind not in "fc":
            continue
        array = np.zeros(np.shape(v), dtype) if g is None else np.asarray(g, dtype=dtype)
        if array.shape != np.shape(v):
            raise ValueError(f"a cotangent has shape {array.shape}, its value has {np.shape(v)}")
        found.append(array if array.ndim else dtype.type(array) if dtype != np.float64 else float(array))
    return found


def passed(nodes: list[Any]) -> list[Any]:
    """The descriptions of what flat arguments are passed for, in order."""
    return [leaf for node in nodes for leaf in _arrays(node)]


def _arrays(node: Any) -> list[Any]:
    """The descriptions of the leaves that are passed on, in order."""
    if isinstance(node, wrapper.Items):
        return [leaf for n in node.items for leaf in _arrays(n)]
    if isinstance(node, (wrapper.Keys, wrapper.Attributes)):
        return [leaf for _, n in node.items for leaf in _arrays(n)]
    return [] if isinstance(node, wrapper.Static) else [node]


def flattened(nodes: Any, values: tuple[Any, ...]) -> list[Any]:
    """The arguments that `nodes` describe, leaf by leaf."""
    return [leaf for node, value in zip(nodes, values, strict=True) for leaf in wrapper.leaves(node, value)]


def hashable(node: Any) -> Any:
    """A description as a key of a dictionary."""
    try:
        hash(node)
    except TypeError:
        return repr(node)
    return node
