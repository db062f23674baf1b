"""Classes in functions stand aside while the function is rewritten: `class C: ...` is `C = <the class>`, which reading makes (`frontend.local_classes`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gast  # type: ignore[import-untyped,unused-ignore]

from stgrad.syntax.assigned import parameters
from stgrad.syntax.build import assign, at


@dataclass(frozen=True, eq=False)
class LocalClass:
    """A class statement as it was written."""

    node: Any
    parameters: frozenset[str]  # of the functions around it

    @property
    def first_line(self) -> int:
        """The line where its code begins: that of its first decorator."""
        return int(min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)]))


def set_apart_classes(tree: gast.FunctionDef) -> gast.FunctionDef:
    """A function with constants in place of the classes in it. Changes the tree."""
    return _Classes().visit(tree)


class _Classes(gast.NodeTransformer):  # type: ignore[misc,unused-ignore]
    parameters: frozenset[str] = frozenset()

    def visit_FunctionDef(self, node: Any) -> Any:
        outer = self.parameters
        self.parameters = outer | parameters(node)
        self.generic_visit(node)
        self.parameters = outer
        return node

    def visit_ClassDef(self, node: Any) -> Any:
        return assign(node, node.name, at(node, gast.Constant(LocalClass(node, self.parameters), None)))
