"""The cheapest cut of a directed graph with capacities, after Dinic (1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

ENDLESS = 1 << 60


class Network:
    """A graph under construction; its nodes are any hashable objects."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.heads: list[int] = []  # of edges; edge e and its reverse e ^ 1 are neighbours
        self.left: list[int] = []  # capacity that is left
        self.edges: list[list[int]] = []

    def number(self, node: Hashable) -> int:
        if node not in self.numbers:
            self.numbers[node] = len(self.edges)
            self.edges.append([])
        return self.numbers[node]

    def join(self, tail: Hashable, head: Hashable, capacity: int) -> None:
        for a, b, c in ((tail, head, capacity), (head, tail, 0)):
            self.edges[self.number(a)].append(len(self.heads))
            self.heads.append(self.number(b))
            self.left.append(c)

    def near(self, source: Hashable, sink: Hashable) -> frozenset[Hashable]:
        """The nodes on the side of the source of the cheapest cut; the smallest such side."""
        start, end = self.number(source), self.number(sink)
        while True:
            levels = self._levels(start)
            if end not in levels:
                return frozenset(n for n, i in self.numbers.items() if i in levels)
            self._fill(start, end, levels)

    def _levels(self, start: int) -> dict[int, int]:
        """Distances over edges with capacity left."""
        found, waiting = {start: 0}, deque([start])
        while waiting:
            node = waiting.popleft()
            for edge in self.edges[node]:
                head = self.heads[edge]
                if self.left[edge] and head not in found:
                    found[head] = found[node] + 1
                    waiting.append(head)
        return found

    def _fill(self, start: int, end: int, levels: dict[int, int]) -> None:
        """Send as much as the shortest paths take."""
        following = [0] * len(self.edges)
        path: list[int] = []
        while True:
            node = self.heads[path[-1]] if path else start
            if node == end:
                flow = min(self.left[e] for e in path)
                for e in path:
                    self.left[e] -= flow
                    self.left[e ^ 1] += flow
                path = path[: next(i for i, e in enumerate(path) if not self.left[e])]
                continue
            edge = self._open(node, levels, following)
            if edge is not None:
                path.append(edge)
            elif path:
                path.pop()
                following[self.heads[path[-1]] if path else start] += 1
            else:
                return

    def _open(self, node: int, levels: dict[int, int], following: list[int]) -> int | None:
        edges = self.edges[node]
        while following[node] < len(edges):
            edge = edges[following[node]]
            if self.left[edge] and levels.get(self.heads[edge]) == levels[node] + 1:
                return edge
            following[node] += 1
        return None
