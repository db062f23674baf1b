"""A recording without its values: its operations as steps of a straight-line program, and where each value is found in the nodes.

Only the nodes between sources and targets count. Tensors become names with types (extents that are equal in the recording have one
symbol), Python floats and arrays among the arguments become names too, everything else is written into the program. Nothing here
refers to a tensor, so what is kept for a structure keeps no recording alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stgrad.eager.bodies import body_of
from stgrad.eager.dispatch import Elementwise, General
from stgrad.eager.dtypes import DType
from stgrad.eager.recording import Node
from stgrad.eager.tensor import Tensor
from stgrad.ir import Const, Dim, Operand, Pack, Slice, Type, Var
from stgrad.straight import Layout, Step, layout_of

_FLOATS = frozenset({"float32", "float64", "complex64", "complex128"})
_OTHERS = frozenset({"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})


class UncompiledError(Exception):
    """A node that stays with the interpreter."""


@dataclass(frozen=True)
class Fact:
    """One node: its place, the step it is (None: the interpreter pulls it back), the names it makes, the active names it reads."""

    index: int
    step: Step | None
    made: tuple[str, ...]
    read: tuple[str, ...]
    kind: Any = None  # the operation's name, and those of its keywords


@dataclass
class Facts:
    """All that is known of a recording for given sources and targets."""

    facts: list[Fact] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=dict)  # expressions in `n`, the nodes
    layouts: dict[str, Layout] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def facts_of(nodes: Sequence[Node], targets: Sequence[int], sources: Sequence[int]) -> Facts:
    """What a recording is, for these ids of targets and sources."""
    reader = _Reader()
    for index in _between(nodes, targets, sources):
        reader.node(index, nodes[index])
    names = reader.names
    found = reader.found
    found.targets = tuple(dict.fromkeys(names[t] for t in targets if t in names))
    found.sources = tuple(dict.fromkeys(names[s] for s in sources if s in names))
    return found


def _ids(y: Any) -> tuple[int, ...]:
    return tuple([o._id for o in y]) if type(y) is tuple else (y._id,)


def _between(nodes: Sequence[Node], targets: Sequence[int], sources: Sequence[int]) -> list[int]:
    """The nodes that depend on a source and on which a target depends."""
    active, wanted = set(sources), set(targets)
    forward = []
    for i, (_, y, inputs, _, _) in enumerate(nodes):
        if any(x._id in active for x in inputs):
            active.update(_ids(y))
            forward.append(i)
    chosen = []
    for i in reversed(forward):
        if not wanted.isdisjoint(_ids(nodes[i][1])):
            wanted.update([x._id for x in nodes[i][2] if x._id in active])
            chosen.append(i)
    return chosen[::-1]


class _Reader:
    """The walk over the nodes; used up in `facts_of`."""

    def __init__(self) -> None:
        self.found = Facts()
        self.names: dict[int, str] = {}
        self.symbols: dict[int, str] = {}
        self.counts = {"x": 0, "y": 0, "c": 0}

    def node(self, index: int, node: Node) -> None:
        op, y, inputs, args, kwargs = node
        for i, x in enumerate(inputs):
            if x._id not in self.names:
                self.names[x._id] = self.value("x", x._a, f"n[{index}][2][{i}]._a")
        read = tuple(dict.fromkeys(self.names[x._id] for x in inputs if x._a.dtype.kind in "fc"))
        outputs = y if type(y) is tuple else (y,)
        several = type(y) is tuple
        made = tuple([self.value("y", o._a, f"n[{index}][1]{f'[{k}]' if several else ''}._a") for k, o in enumerate(outputs)])
        self.names.update(zip([o._id for o in outputs], made))
        self.found.facts.append(Fact(index, self.step(index, op, made, read, args, kwargs), made, read, _kind(op, kwargs)))

    def step(self, index: int, op: Any, made: tuple[str, ...], read: tuple[str, ...], args: Any, kwargs: Any) -> Step | None:
        try:
            if not isinstance(op, (Elementwise, General)):
                return None
            for name in (*made, *read):
                if self.found.types[name].dtype not in _FLOATS | _OTHERS:
                    return None
            operands = tuple([self.operand(x, f"n[{index}][3][{i}]") for i, x in enumerate(args)])
            keywords = tuple([(k, self.operand(v, f"n[{index}][4][{k!r}]")) for k, v in (kwargs or {}).items()])
        except UncompiledError:
            return None
        return Step(body_of(op.fn, args) or op.name, made, operands, keywords)

    def operand(self, x: Any, place: str) -> Operand:
        kind = type(x)
        if kind is Tensor:
            return Var(self.names[x._id])
        if kind is tuple or kind is list:
            return Pack(tuple([self.operand(e, f"{place}[{i}]") for i, e in enumerate(x)]))
        if kind is slice:
            return Slice(Const(x.start), Const(x.stop), Const(x.step))
        if kind is float or kind is complex or isinstance(x, (np.ndarray, np.inexact)):
            return Var(self.value("c", x, place))
        if isinstance(x, np.integer):
            return Const(int(x))
        if kind is DType:
            return Const(x.dtype)
        if x is None or x is Ellipsis or isinstance(x, (int, str, np.dtype)):
            return Const(x)
        raise UncompiledError

    def value(self, letter: str, value: Any, place: str) -> str:
        """A name for a value of the recording."""
        name = f"{letter}{self.counts[letter]}"
        self.counts[letter] += 1
        self.found.types[name] = self.type_of(value)
        if type(value) is np.ndarray and not value.ndim:
            place, value = f"{place}[()]", value[()]
        self.found.access[name] = place
        self.found.layouts[name] = layout_of(value)
        return name

    def type_of(self, value: Any) -> Type:
        if type(value) is float or type(value) is complex:
            return Type("float64" if type(value) is float else "complex128", weak=True)
        if not value.ndim:
            return Type(value.dtype.name)
        if 0 in value.shape:
            return Type("empty", array=True)
        return Type(value.dtype.name, tuple([self.extent(n) for n in value.shape]), array=True)

    def extent(self, n: int) -> Dim:
        return Dim(None, 1) if n == 1 else Dim(self.symbols.setdefault(n, f"s{len(self.symbols)}"))


def _kind(op: Any, kwargs: Any) -> Any:
    return (op.name, tuple(kwargs) if kwargs else ())
