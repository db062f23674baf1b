"""Classes of names that may share memory, whatever the order of statements."""

from __future__ import annotations

from collections.abc import Mapping

from stgrad.ir.core import Assign, Block, Pop, Push, Type, Var
from stgrad.ir.ops import sources
from stgrad.ir.walks import walk


class Classes:
    """Connected components of array names and stacks that may share memory."""

    def __init__(self, block: Block, types: Mapping[str, Type], *, moved: bool = False) -> None:
        self._parent: dict[str, str] = {}
        self._shared: set[str] = set()
        for stmt in walk(block):
            if isinstance(stmt, Assign):
                targets = [t.name for t in stmt.targets if t.name in types and types[t.name].array]
                for source in sources(stmt, types, moved=moved) if targets else ():
                    for target in targets:
                        self._unite(target, source)
            elif isinstance(stmt, Push) and isinstance(stmt.value, Var) and types[stmt.value.name].array:
                self._unite(stmt.stack, stmt.value.name)
            elif isinstance(stmt, Pop) and types[stmt.target.name].array:
                self._unite(stmt.stack, stmt.target.name)

    def find(self, name: str) -> str:
        root = name
        while self._parent.get(root, root) != root:
            root = self._parent[root]
        while self._parent.get(name, name) != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def alone(self, name: str) -> bool:
        """Whether no other name shares an array's memory."""
        return name not in self._shared

    def own(self) -> OwnClasses:
        """A copy for a pass that makes arrays share memory as it rewrites."""
        found = OwnClasses((), {})
        found._parent, found._shared = dict(self._parent), set(self._shared)
        return found

    def _unite(self, a: str, b: str) -> None:
        self._shared |= {a, b}
        self._parent[self.find(a)] = self.find(b)

    def same(self, a: str, b: str) -> bool:
        return self.find(a) == self.find(b)


class OwnClasses(Classes):
    """Classes that grow."""

    def unite(self, a: str, b: str) -> None:
        """Let two names share memory from here on."""
        self._unite(a, b)


__all__ = ["Classes", "OwnClasses"]
