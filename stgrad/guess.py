"""Types of arguments where nobody gave an example: from annotations, defaults, and how the code uses them."""

from __future__ import annotations

import inspect
from typing import Any

import gast
import numpy as np

from stgrad import source as sources
from stgrad.ir import Dim, Type
from stgrad.request import Derivative, innermost, signature_of

_ANNOTATIONS = {"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}


def guess_specs(function: Any, signature: inspect.Signature) -> dict[str, Any]:
    """A specification for every parameter: float unless something says otherwise.

    A parameter that is indexed, iterated over or asked for its shape is a float64 array of the largest rank seen; one that counts
    a loop or indexes is an int.
    """
    tree = sources.load(sources.unwrap(function).function).tree
    uses = _Uses()
    for statement in tree.body:
        uses.visit(statement)
    return {name: _guess(p, uses) for name, p in signature.parameters.items()}


def guess_specs_of(request: Derivative, signature: inspect.Signature) -> dict[str, Any]:
    """The same for the program of a request: where that takes the arguments of a function all together, they are put together."""
    around = request.around
    if around is None:
        return guess_specs(innermost(request.function), signature)
    function = innermost(around.function)
    known = guess_specs(function, signature_of(function))
    own = tuple(known.values())
    along = tuple(known[name] for name in around.wrt if name in known)
    behind = (along if len(along) > 1 else along[0],) if around.behind and along else ()
    given = {"args": (*own, *behind), "kwargs": {}, "primals": own, "tangents": along}
    return {name: given.get(name) for name in signature.parameters}


def _guess(parameter: inspect.Parameter, uses: _Uses) -> Any:
    name, default = parameter.name, parameter.default
    if parameter.kind is parameter.VAR_POSITIONAL:
        return ()
    if parameter.kind is parameter.VAR_KEYWORD:
        return {}
    annotation = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    if annotation in _ANNOTATIONS:
        return Type(_ANNOTATIONS[annotation], weak=True, value=Dim(name) if annotation == "int" else None)
    if "ndarray" in str(parameter.annotation) or "NDArray" in str(parameter.annotation) or name in uses.ranks:
        return Type("float64", tuple(Dim(f"{name}.{i}") for i in range(max(uses.ranks.get(name, 1), 1))), array=True)
    if default is not parameter.empty and not isinstance(default, (int, float, np.generic)):
        return default
    if name in uses.integers or type(default) is int:
        return Type("int64", weak=True, value=Dim(name))
    return Type("float64", weak=True)


class _Uses(gast.NodeVisitor):  # type: ignore[misc]
    """Ranks of names that are used as arrays, and names that are used as integers."""

    def __init__(self) -> None:
        self.ranks: dict[str, int] = {}
        self.integers: set[str] = set()

    def _array(self, node: Any, rank: int) -> None:
        if isinstance(node, gast.Name):
            self.ranks[node.id] = max(self.ranks.get(node.id, 0), rank)

    def visit_Subscript(self, node: Any) -> None:  # noqa: N802
        entries = node.slice.elts if isinstance(node.slice, gast.Tuple) else [node.slice]
        self._array(node.value, len([e for e in entries if not (isinstance(e, gast.Constant) and e.value is None)]))
        for entry in entries:
            if isinstance(entry, gast.Name):
                self.integers.add(entry.id)
        if isinstance(node.value, gast.Attribute) and node.value.attr == "shape" and isinstance(node.slice, gast.Constant):
            self._array(node.value.value, int(node.slice.value) + 1)
        self.generic_visit(node)

    def visit_Attribute(self, node: Any) -> None:  # noqa: N802
        if node.attr in ("shape", "size", "sum", "mean", "copy", "dot", "ndim"):
            self._array(node.value, 1)
        if node.attr == "T":
            self._array(node.value, 2)
        self.generic_visit(node)

    def visit_Call(self, node: Any) -> None:  # noqa: N802
        name = node.func.id if isinstance(node.func, gast.Name) else getattr(node.func, "attr", "")
        for arg in node.args:
            if isinstance(arg, gast.Name):
                if name == "range":
                    self.integers.add(arg.id)
                elif name in ("len", "sum", "mean", "zeros_like", "dot", "prod", "cumsum", "enumerate", "zip"):
                    self._array(arg, 1)
        self.generic_visit(node)

    def visit_For(self, node: Any) -> None:  # noqa: N802
        self._array(node.iter, 1)
        self.generic_visit(node)

    def visit_BinOp(self, node: Any) -> None:  # noqa: N802
        if isinstance(node.op, gast.MatMult):
            self._array(node.left, 2)
            self._array(node.right, 1)
        self.generic_visit(node)
