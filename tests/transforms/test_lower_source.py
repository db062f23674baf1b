"""Random functions with loops, branches, views and overlapping stores: lowered, they agree with Python.

The gradient program of each is compared before and after lowering as well, stacks included.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from lowering import same

from stgrad.errors import StgradError
from stgrad.frontend import read
from stgrad.ir import Function
from stgrad.printer import to_source
from stgrad.program import Derivative, array_program, spec_of
from stgrad.transforms.lower import lower
from stgrad.transforms.pipeline import Trace
from stgrad.verify import verify

PAIRS = [("1:", ":-1"), (":-1", "1:"), ("1:-1", "2:"), ("1:-1", ":-2"), ("2:", ":-2")]
SIZE = 9


class Writer:
    """Writes the source of one function of vectors x, y, z, matrices A, B, a float c, indices p and an integer T."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.vectors, self.matrices, self.scalars = ["x", "y", "z"], ["A", "B"], ["c"]
        self.counters: list[str] = []
        self.count = 0
        self.indent = 1

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def position(self) -> str:
        return self.rng.choice(["0", "1", "-1", *self.counters])

    def pick(self, *weighted: tuple[float, Callable[[], str]]) -> str:
        total = self.rng.random() * sum(w for w, _ in weighted)
        for weight, make in weighted:
            total -= weight
            if total < 0:
                return make()
        return weighted[0][1]()

    def vector(self) -> str:
        r = self.rng
        return self.pick(
            (5, lambda: r.choice(self.vectors)),
            (1, lambda: f"{r.choice(self.matrices)}[{self.position()}]"),
            (1, lambda: f"({self.vector()} {r.choice('+-*')} {self.vector()})"),
            (1, lambda: f"np.{r.choice(['sin', 'tanh', 'cos'])}({self.vector()})"),
            (0.7, lambda: f"({self.vector()} * {self.scalar()})"),
            (0.5, lambda: f"np.where({self.vector()} > 0.1, {self.vector()}, {self.scalar()})"),
            (0.4, lambda: f"np.sum({self.matrix()}, axis=0)"),
            (0.4, lambda: f"({self.vector()})[::-1]"),
        )

    def scalar(self) -> str:
        r = self.rng
        return self.pick(
            (3, lambda: r.choice(self.scalars)),
            (2, lambda: r.choice(["0.5", "2.0", "3", "0.1"])),
            (1.5, lambda: f"{r.choice(self.vectors)}[{self.position()}]"),
            (1.5, lambda: f"np.{r.choice(['sum', 'mean', 'max'])}({self.vector()})"),
            (1, lambda: f"np.dot({r.choice(self.vectors)}, {r.choice(self.vectors)})"),
            (1, lambda: f"np.sin({self.scalar()})"),
        )

    def matrix(self) -> str:
        r = self.rng
        return self.pick(
            (5, lambda: r.choice(self.matrices)),
            (1.5, lambda: f"({self.matrix()} {r.choice('+-*')} {self.matrix()})"),
            (1.5, lambda: f"({self.matrix()} {r.choice('+-*')} {self.vector()})"),
            (1, lambda: f"np.tanh({self.matrix()})"),
            (1, lambda: f"({self.matrix()} * {self.scalar()})"),
        )

    def statement(self, depth: int) -> None:
        kinds = [
            self.bind_vector,
            self.bind_scalar,
            self.overlap,
            self.element,
            self.row,
            self.stencil,
            self.alias,
            self.scale,
            self.masked,
            self.gather,
        ]
        if depth < 2 and self.rng.random() < 0.2:
            self.rng.choice([self.loop, self.branch])(depth)
        else:
            self.rng.choice(kinds)()

    def bind_vector(self) -> None:
        name = self.rng.choice([self.fresh("v"), *self.vectors])
        self.emit(f"{name} = {self.vector()} * 0.9 + 0.0")
        self.vectors += [name] if name not in self.vectors else []

    def bind_scalar(self) -> None:
        name = self.fresh("s")
        self.emit(f"{name} = {self.scalar()} * 1.0")
        if len(self.scalars) > 1:
            other = self.rng.choice(self.scalars[1:])
            self.emit(f"{other} = {other} * 0.5 + {name}")
        self.scalars.append(name)

    def overlap(self) -> None:
        (a, b), r = self.rng.choice(PAIRS), self.rng
        self.emit(
            f"{r.choice(self.vectors)}[{a}] {r.choice(['=', '+=', '*=', '-='])} {r.choice(['0.5 * ', ''])}{r.choice(self.vectors)}[{b}]"
        )

    def element(self) -> None:
        self.emit(f"{self.rng.choice(self.vectors)}[{self.position()}] {self.rng.choice(['=', '+='])} {self.scalar()}")

    def row(self) -> None:
        self.emit(f"{self.rng.choice(self.matrices)}[{self.position()}] {self.rng.choice(['=', '+=', '*='])} {self.vector()}")

    def stencil(self) -> None:
        a, b = self.rng.choice(self.matrices), self.rng.choice(self.matrices)
        mode = self.rng.choice(["=", "+="])
        self.emit(f"{a}[1:-1, 1:-1] {mode} 0.2 * ({b}[:-2, 1:-1] + {b}[2:, 1:-1] + {b}[1:-1, :-2] - {b}[1:-1, 2:])")

    def alias(self) -> None:
        name = self.fresh("v")
        self.emit(f"{name} = {self.rng.choice([*self.vectors, self.rng.choice(self.matrices) + '[' + self.position() + ']'])}")
        self.vectors.append(name)

    def scale(self) -> None:
        self.emit(f"{self.rng.choice(self.vectors)} {self.rng.choice(['+=', '*='])} {self.scalar()}")

    def masked(self) -> None:
        name = self.rng.choice(self.vectors)
        self.emit(f"{name}[{name} < 0.0] = 0.25")

    def gather(self) -> None:
        name = self.fresh("v")
        self.emit(f"{name} = {self.rng.choice(self.vectors)}[p]")
        self.emit(f"{self.rng.choice(self.vectors)}[p] += {name}")

    def loop(self, depth: int) -> None:
        counter = self.fresh("t")
        self.emit(f"for {counter} in range({self.rng.choice(['3', 'T', '1, 4', 'T, 0, -1'])}):")
        self.counters.append(counter)
        self.block(depth)
        self.counters.pop()

    def branch(self, depth: int) -> None:
        self.emit(f"if {self.scalar()} > {self.scalar()}:")
        self.block(depth)
        if self.rng.random() < 0.5:
            self.emit("else:")
            self.block(depth)

    def block(self, depth: int) -> None:
        names = (list(self.vectors), list(self.matrices), list(self.scalars))
        self.indent += 1
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth + 1)
        self.indent -= 1
        self.vectors, self.matrices, self.scalars = names

    def source(self, length: int, result: str) -> str:
        for _ in range(length):
            self.statement(0)
        pool = [*self.rng.sample(self.vectors, 2), self.rng.choice(self.matrices), self.rng.choice(self.scalars)]
        returned = ", ".join(f"{v} * 1.0" for v in pool) if result == "all" else " + ".join(f"np.sum({v} * 1.0)" for v in pool)
        return "\n".join(["import numpy as np", "def f(x, y, z, A, B, c, p, T):", *self.lines, f"    return {returned}", ""])


def define(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)  # noqa: S102
    return space


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    arrays: dict[str, Any] = {n: rng.normal(size=SIZE) for n in "xyz"} | {n: rng.normal(size=(SIZE, SIZE)) for n in "AB"}
    return arrays | {"c": 0.7, "p": np.array([0, 3, 3, 1, -1, 2, 5, 8, 4]), "T": 3}


def run(fn: Function, name: str, *, jit: bool = False) -> Any:
    call = define(to_source(fn), name)[fn.name]
    if jit:
        call = numba.njit(error_model="numpy")(call)
    args = arguments()
    with np.errstate(all="ignore"):
        return call(*args.values()), list(args.values())


@pytest.mark.parametrize("seed", range(24))
def test_functions_agree_with_python(seed: int) -> None:
    writer = Writer(seed)
    function = define(writer.source(writer.rng.randrange(3, 14), "all"), f"<primal {seed}>")["f"]
    args = arguments()
    with np.errstate(all="ignore"):
        want = (function(**args), list(args.values()))
    lowered = lower(read(function, {k: spec_of(v, k) for k, v in arguments().items()}).function)
    verify(lowered)
    for jit in (False, True) if seed % 20 == 0 else (False,):
        got = run(lowered, f"<lowered {seed}>", jit=jit)
        for a, b in zip([*want[0], *want[1]], [*got[0], *got[1]], strict=True):
            same(np.asarray(a), np.asarray(b), 1e-9)


@pytest.mark.parametrize("seed", range(100, 118))
def test_gradients_agree_before_and_after_lowering(seed: int) -> None:
    writer = Writer(seed)
    function = define(writer.source(writer.rng.randrange(3, 12), "sum"), f"<loss {seed}>")["f"]
    request = Derivative(function, "value_and_grad", ("x", "y", "A", "c"), single=False)
    try:
        program = array_program(request, {k: spec_of(v, k) for k, v in arguments().items()}, Trace()).function
    except StgradError as refused:
        pytest.skip(str(refused).splitlines()[0])
    lowered = lower(program)
    verify(lowered)
    want, _ = run(program, f"<gradient {seed}>")
    for jit in (False, True) if seed % 15 == 0 else (False,):
        got, _ = run(lowered, f"<lowered gradient {seed}>", jit=jit)
        same(tuple(map(np.asarray, want)), tuple(map(np.asarray, got)), 1e-7)
