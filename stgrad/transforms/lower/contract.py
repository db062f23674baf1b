"""Temporaries lose the axes along which each element is used in the trip that makes it.

Before: `for i: t[i] = a[i] * b[i]; y[i] = t[i] + c[i]` with `t` dead afterwards; after: `t` is a local scalar.
An axis goes if all accesses stand in one loop and have that loop's plain variable there.

    >>> import numpy as np
    >>> import stgrad
    >>> from stgrad.testing.passes import show_pass
    >>> def spread(x):
    ...     y = np.exp(x)
    ...     return np.sum(y), np.sum(y * y)
    >>> show_pass("contract", stgrad.jit(spread), np.ones(4))
    n = x.shape[0]
    sum_y = 0.0
    t = 0.0
    y = np.empty(n)
    for i in range(n):
        t2 = runtime.exp(x[i])
        sum_y = runtime.radd(sum_y, t2)
        t = runtime.radd(t, t2 * t2)
        y[i] = t2
    return sum_y, t
    ->
    n = x.shape[0]
    sum_y = 0.0
    t = 0.0
    for i in range(n):
        y_i = runtime.exp(x[i])
        sum_y = runtime.radd(sum_y, y_i)
        t = runtime.radd(t, y_i * y_i)
    return sum_y, t
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stgrad.transforms.lower.nest import Access, Axis, Buffer, Entry, Fixed, Loop, Node, leaves


def contract(tree: list[Node], buffers: Mapping[str, Buffer]) -> dict[str, tuple[bool, ...]]:
    """For every local buffer that is not needed in memory: which of its axes stay."""
    uses: dict[str, list[tuple[tuple[int, ...], Access]]] = {}
    for path, access in _uses(tree, ()):
        if access.buffer in buffers and not buffers[access.buffer].escapes:
            uses.setdefault(access.buffer, []).append((path, access))
    unset = _read_unset(tree)
    return {name: _kept(found, len(buffers[name].dims)) for name, found in uses.items() if name not in unset}


def _read_unset(tree: list[Node]) -> set[str]:
    """Buffers that are read before they are set: elements of `np.empty`, which are whatever its memory holds."""
    unset: set[str] = set()
    made: set[str] = set()
    for leaf in (leaf for node in tree for leaf in leaves(node)):
        accesses = tuple(leaf.accesses())
        unset.update(a.buffer for a in accesses if a.buffer not in made and (not a.write or a.mode))
        made.update(a.buffer for a in accesses if a.write)
    return unset


def _uses(nodes: list[Node], path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Access]]:
    for node in nodes:
        if isinstance(node, Loop):
            yield from _uses(node.body, (*path, id(node)))
        else:
            for access in node.accesses():
                yield path, access


def _kept(found: list[tuple[tuple[int, ...], Access]], rank: int) -> tuple[bool, ...]:
    shared = 0
    paths = [path for path, _ in found]
    while all(len(p) > shared and p[shared] == paths[0][shared] for p in paths):
        shared += 1
    return tuple(not _agrees([a.index[k] for _, a in found if a.index is not None], len(found), shared) for k in range(rank))


def _agrees(entries: list[Entry], total: int, shared: int) -> bool:
    first = entries[0] if entries else None
    if len(entries) != total or any(e != first for e in entries):
        return False
    if isinstance(first, Fixed):
        return True
    return isinstance(first, Axis) and first.depth < shared and first.scale == 1
