"""Reductions over shards: what one shard gives, how two results become one, and the one tree by which all of them do.

The tree hangs on the numbers of the shards alone: shards [0, n) are split behind the largest power of two below n, and so on in both parts.
An aligned block of 2^k shards is a subtree of it, whatever n is. So blocks can be of any such size, run anywhere, finish in any order and be run twice:
the sums are the same bit for bit. `Tree` adds blocks in the order of their numbers and needs to keep one result for each level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stgrad.errors import ShardError
from stgrad.values import leaves, map_leaves

Partial = tuple[Any, Any]  # of some shards: the value (or all of the result), and what is linear in its derivatives; both with records for instances


@dataclass(frozen=True)
class Reduction:
    """`lift` makes the state of one shard, `combine` that of neighbours, `finish` the result for n shards; `scalar`: it needs values that are numbers."""

    lift: Callable[[Partial], Any]
    combine: Callable[[Any, Any], Any]
    finish: Callable[[Any, int], Partial]
    scalar: bool = False


def both(f: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """f of the leaves of two equal structures; None where they have None.

    Raises ShardError where the structures or shapes differ.
    """
    others = list(leaves(b))
    if len(others) != len(list(leaves(a))):
        raise ShardError("shards have results of different structures", reason="their sum has none", hint="return the same structure for every shard")
    left = iter(others)

    def merged(x: Any, _: str) -> Any:
        y = next(left)
        if np.shape(x) != np.shape(y):
            raise ShardError(
                f"shards have results of different shapes, {np.shape(x)} and {np.shape(y)}",
                reason="they are added up",
                hint="return a number, or use `distributed.map` for a list of results",
            )
        return None if x is None else f(x, y)

    return map_leaves(merged, a)


def scaled(a: Any, factor: Any) -> Any:
    """A structure with all numbers times a factor."""
    return a if factor == 1.0 else map_leaves(lambda x, _: None if x is None else x * factor, a)


def _identity(partial: Any) -> Any:
    return partial


def _plus(x: Any, y: Any) -> Any:
    return x + y


def _added(a: Partial, b: Partial) -> Partial:
    return both(_plus, a[0], b[0]), both(_plus, a[1], b[1])


def _multiplied(a: Partial, b: Partial) -> Partial:
    return a[0] * b[0], both(_plus, scaled(a[1], b[0]), scaled(b[1], a[0]))


def _larger(a: Partial, b: Partial) -> Partial:
    return a if a[0] >= b[0] or math.isnan(a[0]) else b  # the first of equal ones


def _smaller(a: Partial, b: Partial) -> Partial:
    return a if a[0] <= b[0] or math.isnan(a[0]) else b


def _weighed(partial: Partial) -> tuple[Any, float, Any]:
    return partial[0], 1.0, partial[1]


def _log_added(a: tuple[Any, float, Any], b: tuple[Any, float, Any]) -> tuple[Any, float, Any]:
    """(m, s, G): the sum of exp(v) is s exp(m), that of exp(v) g is G exp(m)."""
    top = max(a[0], b[0])
    p, q = (1.0 if m == top else math.exp(m - top) for m in (a[0], b[0]))
    return top, a[1] * p + b[1] * q, both(_plus, scaled(a[2], p), scaled(b[2], q))


REDUCTIONS = {
    "sum": Reduction(_identity, _added, lambda state, _: state),
    "mean": Reduction(_identity, _added, lambda state, n: (scaled(state[0], 1.0 / n), scaled(state[1], 1.0 / n))),
    "prod": Reduction(_identity, _multiplied, lambda state, _: state, scalar=True),
    "max": Reduction(_identity, _larger, lambda state, _: state, scalar=True),
    "min": Reduction(_identity, _smaller, lambda state, _: state, scalar=True),
    "logsumexp": Reduction(_weighed, _log_added, lambda state, _: (state[0] + math.log(state[1]), scaled(state[2], 1.0 / state[1])), scalar=True),
    "list": Reduction(lambda partial: [partial[0]], lambda a, b: a + b, lambda state, _: (state, ())),
}


@dataclass
class Need:
    """In place of a state: shards of these kinds have no program yet; each kind has one example."""

    examples: dict[Any, tuple[Any, ...]]


def combined(reduction: Reduction, a: Any, b: Any) -> Any:
    """The state of neighbours; what is needed by one of them is needed by both."""
    if isinstance(a, Need) and isinstance(b, Need):
        return Need(a.examples | b.examples)
    if isinstance(a, Need) or isinstance(b, Need):
        return a if isinstance(a, Need) else b
    return reduction.combine(a, b)


@dataclass(frozen=True)
class Span:
    """The state of `count` neighbouring blocks from `first` on, a subtree where they are more than one."""

    first: int
    count: int
    state: Any


def joined(spans: Iterable[Span], combine: Callable[[Any, Any], Any]) -> list[Span]:
    """Spans in order, with those added up that are the two halves of a subtree.

    >>> [span.state for span in joined([Span(3, 1, "d"), Span(2, 1, "c"), Span(5, 1, "f"), Span(0, 2, "(a b)"), Span(4, 1, "e")], "({} {})".format)]
    ['((a b) (c d))', '(e f)']
    """
    done: list[Span] = []
    for span in sorted(spans, key=lambda s: s.first):
        while done and _halves(done[-1], span):
            left = done.pop()
            span = Span(left.first, 2 * left.count, combine(left.state, span.state))
        done.append(span)
    return done


def _halves(left: Span, right: Span) -> bool:
    return left.count == right.count and left.first + left.count == right.first and left.first % (2 * left.count) == 0


class Tree:
    """The states of blocks, added in the order of their numbers; all but the last have the same number of shards, a power of two.

    >>> tree = Tree(lambda a, b: f"({a} {b})")
    >>> for shard in "abcdefg":
    ...     tree.add(shard)
    >>> tree.result()
    '(((a b) (c d)) ((e f) g))'
    """

    def __init__(self, combine: Callable[[Any, Any], Any]) -> None:
        self._combine = combine
        self._stack: list[tuple[int, Any]] = []  # (blocks, their state): ever smaller powers of two, as the digits of a binary counter

    def add(self, state: Any, count: int = 1) -> None:
        """The state of the next block, or of as many as a subtree has."""
        while self._stack and self._stack[-1][0] == count:
            count, state = 2 * count, self._combine(self._stack.pop()[1], state)
        self._stack.append((count, state))

    def result(self) -> Any:
        """The state of all blocks; there must be one."""
        state = self._stack[-1][1]
        for _, before in reversed(self._stack[:-1]):
            state = self._combine(before, state)
        return state
