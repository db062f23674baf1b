"""A random program and its arguments, by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from .blocks import Blocks
from .kinds import Array, Bool, Float, Int, Items, Keys, Kind, Record
from .library import module


@dataclass(frozen=True)
class Draft:
    """A program as text, and its arguments by name: JSON values, arrays as (dtype, nested lists), in `described`."""

    text: str
    args: dict[str, Any]
    float32: bool = False


def generate(seed: int) -> Draft:
    """The program of a seed: a module whose function `f` returns a float."""
    rng = random.Random(seed)
    writer = Blocks(rng, wild=rng.random() < 0.2)
    kinds = parameters(rng)
    for name, kind in kinds.items():
        writer.bound(name, kind)
    if any(isinstance(k, Record) for k in kinds.values()):
        writer.library.add("Pair")
    for _ in range(rng.choice([2, 3, 3, 4, 4, 5, 6, 8, 11])):
        writer.statement()
    writer.emit(f"return {writer.result()}")
    body = f"def f({', '.join(kinds)}):\n" + "\n".join(writer.lines)
    values = np.random.default_rng(seed)
    small = rng.random() < 0.04
    return Draft(module(writer.library, body), {n: value_of(k, values, small) for n, k in kinds.items()}, small)


def parameters(rng: random.Random) -> dict[str, Kind]:
    """Names and kinds of the arguments; `x` is always there."""
    n = rng.choice([3, 4, 4, 5, 2, 3, 1, 0 if rng.random() < 0.3 else 3])
    m = n if rng.random() < 0.4 else rng.choice([1, 2, 3, 4, 5])
    rows = rng.choice([2, 3, m, n or 2, 1])
    extents = [n, m, rows, 2]
    found: dict[str, Kind] = {"x": Array((n,))}
    vector = Array((m or 2,))
    offered: list[tuple[float, str, Kind]] = [
        (0.6, "y", Array((m,))), (0.4, "A", Array((rows, m))), (0.12, "B", Array((rng.choice(extents), rng.choice(extents)))),
        (0.15, "T", Array((2, rng.choice(extents), rng.choice(extents)))), (0.7, "c", Float()), (0.3, "d", Float()),
        (0.35, "n", Int(n, n)), (0.25, "k", Int(*[rng.choice([0, 1, 1, 2])] * 2)), (0.35, "flag", Bool()),
        (0.1, "idx", Array((rng.choice([1, 2, 3]),), "int", max(min(n, m), 1))), (0.06, "mask", Array((n,), "bool")),
        (0.07, "pair", Items(rng.choice(["list", "tuple"]), (vector, rng.choice([vector, Float()])))),
        (0.06, "params", Keys((("a", vector), ("b", Float())))), (0.05, "point", Record("Pair", (("u", Float()), ("v", vector)))),
    ]  # fmt: skip
    for p, name, kind in offered:
        if rng.random() < p:
            found[name] = kind
    return found


@dataclass
class Pair:
    """Stands for the class of this name in the program, in arguments."""

    u: Any
    v: Any


def value_of(kind: Kind, rng: np.random.Generator, small: bool) -> Any:
    """A value of a parameter's kind."""
    if isinstance(kind, Float):
        return float(rng.uniform(-1, 1))
    if isinstance(kind, Bool):
        return bool(rng.integers(2))
    if isinstance(kind, Int):
        return kind.low
    if isinstance(kind, Array):
        shape: Any = kind.shape
        if kind.dtype == "int":
            return rng.integers(0, kind.below, shape)
        if kind.dtype == "bool":
            return rng.uniform(size=shape) < 0.5
        return rng.uniform(-1, 1, shape).astype(np.float32 if small else np.float64)
    if isinstance(kind, Items):
        items = [value_of(k, rng, small) for k in kind.items]
        return items if kind.type == "list" else tuple(items)
    if isinstance(kind, Keys):
        return {key: value_of(k, rng, small) for key, k in kind.items}
    assert isinstance(kind, Record)
    return Pair(*(value_of(k, rng, small) for _, k in kind.items))
