"""Random programs of elementwise, slice, view, store and reduction statements: the lowered form has equal values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from lowering import Builder, check

from stgrad.ir import Var

UNARY = ["np.sin", "np.tanh", "np.negative", "np.square", "np.absolute", "np.floor"]
BINARY = ["np.add", "np.subtract", "np.multiply", "np.maximum", "np.minimum"]
SLICES = [
    slice(1, None),
    slice(None, -1),
    slice(1, -1),
    slice(2, None),
    slice(None, -2),
    slice(None),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(1, 4),
    slice(-3, None),
]


class Generator:
    """Appends random statements to a builder; array names fall into pools by shape."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.b = Builder(x=("n",), y=("n",), A=("n", "m"), B=("n", "m"), w=("m",), c=0.5)
        self.arrays = [p for p in self.b.params if p.name != "c"]
        self.scalars: list[Any] = [Var("c"), 0.5, 2]
        self.owned: list[Var] = []  # arrays that may be written

    def pick(self, shape: tuple[int, ...] | None = None) -> Var:
        fitting = [a for a in self.arrays if shape is None or self.shape(a) == shape]
        return self.rng.choice(fitting[-6:] if self.rng.random() < 0.7 else fitting)

    def shape(self, a: Var) -> tuple[int, ...]:
        return np.shape(self.b.env[a.name])

    def add(self, var: Var) -> None:
        value = self.b.env[var.name]
        if not isinstance(value, np.ndarray):
            self.scalars.append(var)
        elif value.size and value.ndim:
            self.arrays.append(var)

    def other(self, a: Var) -> Any:
        """An operand that broadcasts against an array."""
        choice = self.rng.random()
        if choice < 0.2:
            return self.rng.choice(self.scalars)
        if choice < 0.35 and len(self.shape(a)) == 2:
            rows = [v for v in self.arrays if self.shape(v) in (self.shape(a)[1:], (self.shape(a)[0], 1))]
            if rows:
                return self.rng.choice(rows)
        return self.pick(self.shape(a))

    def index(self, a: Var) -> Any:
        items = []
        for extent in self.shape(a):
            if self.rng.random() < 0.15:
                items.append(self.rng.choice([0, -1, 1]) if extent > 2 else 0)
            else:
                items.append(self.rng.choice(SLICES))
        return items[0] if len(items) == 1 else tuple(items)

    def step(self) -> None:
        b, rng = self.b, self.rng
        kind = rng.choice(
            [
                "unary",
                "binary",
                "binary",
                "view",
                "view",
                "store",
                "store",
                "add",
                "add",
                "copy",
                "zeros",
                "reduce",
                "where",
                "transpose",
                "keep",
                "mean",
                "overlap",
                "dot",
            ]
        )
        a = self.pick()
        if kind == "unary":
            self.add(b(rng.choice(UNARY), a))
        elif kind == "binary":
            pair = [a, self.other(a)]
            self.add(b(rng.choice(BINARY), *(pair if rng.random() < 0.7 else pair[::-1])))
        elif kind == "view":
            self.view(a)
        elif kind in ("store", "add"):
            self.write("set" if kind == "store" else "add")
        elif kind == "overlap":
            self.overlap()
        elif kind in ("copy", "zeros"):
            made = b("np.copy" if kind == "copy" else "np.zeros_like", a, to=b.names.fresh("v"))
            self.owned.append(made)
            self.add(made)
        elif kind == "where":
            self.add(b("np.where", b("np.less", a, self.pick(self.shape(a))), a, 0.5))
        elif kind == "transpose" and len(self.shape(a)) == 2:
            self.add(b("np.transpose", b("np.transpose", a)))
        elif kind == "dot" and len(self.shape(a)) == 1:
            self.add(b("np.dot", a, self.pick(self.shape(a))))
        else:
            self.reduce(a, kind)

    def reduce(self, a: Var, kind: str) -> None:
        op = "np.mean" if kind == "mean" else self.rng.choice(["np.sum", "np.max", "np.min", "np.sum"])
        axis = self.rng.choice([None, *range(len(self.shape(a)))])
        self.add(self.b(op, a, axis=axis, keepdims=kind == "keep" and axis is not None))

    def view(self, a: Var) -> None:
        view = self.b("getitem", a, self.index(a))
        self.add(view)
        if a in self.owned and isinstance(self.b.env[view.name], np.ndarray):
            self.owned.append(view)

    def write(self, mode: str) -> None:
        if not self.owned:
            return
        target = self.rng.choice(self.owned)
        index = self.index(target)
        region = np.shape(self.b.env[target.name][self.b.value(_operand(index))])
        fitting = [a for a in self.arrays if self.shape(a) == region]
        value = self.rng.choice(fitting) if fitting and self.rng.random() < 0.8 else self.rng.choice(self.scalars)
        self.b.store(target, index, value, mode)

    def overlap(self) -> None:
        """`v[1:] = f(v[:-1])`, in both directions."""
        if not self.owned:
            return
        target = self.rng.choice(self.owned)
        if len(self.shape(target)) == 0 or self.shape(target)[0] < 3:
            return
        pair = [slice(1, None), slice(None, -1)]
        self.rng.shuffle(pair)
        read = self.b("getitem", target, pair[0])
        value = self.b("np.multiply", read, 0.5) if self.rng.random() < 0.6 else read
        self.b.store(target, pair[1], value, self.rng.choice(["set", "add"]))


def _operand(index: Any) -> Any:
    from lowering import operand

    return operand(index)


def program(seed: int, length: int) -> Builder:
    generator = Generator(seed)
    with np.errstate(all="ignore"):
        for _ in range(length):
            generator.step()
    return generator.b


@pytest.mark.parametrize("seed", range(36))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    b = program(seed, rng.randrange(4, 25))
    names = [n for n in b.env if n not in ("x", "y", "A", "B", "w", "c")]
    results = rng.sample(names, min(len(names), rng.randrange(1, 5)))
    fresh = Builder(x=("n",), y=("n",), A=("n", "m"), B=("n", "m"), w=("m",), c=0.5)
    args = [fresh.env[p.name] for p in b.params]
    check(b.function(*map(Var, results)), *args, jit=seed % 12 == 0)
