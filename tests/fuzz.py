"""Random programs of views, stores, loops and branches, differentiated and held against a complex step.

`python -m tests.fuzz --programs 5000 --seed 0` runs them in plain Python and prints counts; a program that goes wrong is printed. The programs
have 4 to 25 statements over two vectors, a matrix and a scalar, with row, strided, reversed and overlapping views, copies, stores and augmented
assignments through any name, updates that overlap themselves, rebinding in loops and branches, swaps, loops of zero trips and helpers
that write to their arguments.
"""

from __future__ import annotations

import argparse
import collections
import linecache
import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import stgrad
from stgrad.errors import StgradError
from stgrad.printer import to_source
from stgrad.program import array_program, compile_program, spec_of
from stgrad.transforms.pipeline import Trace

N, M = 4, 3  # extents of the vectors and of the matrix (M, N)
TINY = 1e-30
PARAMETERS = ("x", "y", "A", "c")
HELPERS = '''
def scale_first(a, b):
    a[0] = b[1] * 0.5
    a[1:] += b[:-1]


def mix(a, b):
    a *= b
    b[-1] = a[0] * 0.7


def blend(a, b, s):
    r = a * s + b
    r[1] = s * 0.3
    return r


def last_two(a):
    return a[-2:], a[-1] * 0.5


def row_update(m, s):
    for i in range(m.shape[0]):
        r = m[i]
        r[1:] *= s
        r[0] += r[-1]
    return m[1]
'''


@dataclass
class Names:
    """Names in scope that surely have a value, by kind. Vectors have N items, short ones N - 1."""

    vectors: list[str] = field(default_factory=lambda: ["x", "y"])
    shorts: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=lambda: ["A"])
    scalars: list[str] = field(default_factory=lambda: ["c"])

    def copy(self) -> Names:
        return Names(list(self.vectors), list(self.shorts), list(self.matrices), list(self.scalars))


class Generator:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = Names()
        self.lines: list[str] = []
        self.indent = 1
        self.budget = rng.randint(4, 25)
        self.fresh = 0
        self.loops: list[str] = []

    def program(self) -> str:
        while self.budget > 0:
            self.statement()
        self.emit(f"return {self.result()}")
        return HELPERS + "\n\ndef f(x, y, A, c):\n" + "\n".join(self.lines) + "\n"

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def new(self, kind: str) -> str:
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def pick(self, items: list[str]) -> str:
        return self.rng.choice(items[-4:] if self.rng.random() < 0.6 else items)

    # ------------------------------------------------------------- expressions

    def scalar(self) -> str:
        r, names = self.rng, self.names
        choices: list[Callable[[], str]] = [
            lambda: self.pick(names.scalars),
            lambda: f"{self.pick(names.vectors)}[{self.position()}]",
            lambda: f"{self.pick(names.matrices)}[{self.row()}, {self.position()}]",
            lambda: f"{r.choice(['0.5', '1.5', '-0.7'])} * {self.pick(names.scalars)}",
            lambda: f"np.sum({self.vector()}) * 0.3",
            lambda: f"np.sin({self.pick(names.scalars)})",
            lambda: f"np.dot({self.pick(names.vectors)}, {self.pick(names.vectors)}) * 0.2",
        ]
        return r.choice(choices)()

    def position(self) -> str:
        if self.loops and self.rng.random() < 0.5:
            return self.rng.choice(self.loops)
        return str(self.rng.randint(-N, N - 1))

    def row(self) -> str:
        if self.loops and self.rng.random() < 0.5:
            return self.rng.choice(self.loops)
        return str(self.rng.randint(-M, M - 1))

    def view(self) -> str:
        """A view of N items, or a name of one."""
        r, names = self.rng, self.names
        return r.choice(
            [
                lambda: self.pick(names.vectors),
                lambda: f"{self.pick(names.matrices)}[{self.row()}]",
                lambda: f"{self.pick(names.vectors)}[::-1]",
                lambda: f"{self.pick(names.matrices)}[{self.row()}, :]",
            ]
        )()

    def short_view(self) -> str:
        """A view of N - 1 items."""
        r, names = self.rng, self.names
        return r.choice(
            [
                lambda: f"{self.pick(names.vectors)}[1:]",
                lambda: f"{self.pick(names.vectors)}[:-1]",
                lambda: f"{self.pick(names.matrices)}[:, {self.position()}]",
                lambda: f"{self.pick(names.matrices)}[{self.row()}, 1:]",
                lambda: f"{self.pick(names.shorts)}" if names.shorts else f"{self.pick(names.vectors)}[-2::-1]",
            ]
        )()

    def vector(self) -> str:
        r = self.rng
        return r.choice(
            [
                lambda: self.view(),
                lambda: f"{self.view()} * {self.scalar()}",
                lambda: f"{self.view()} * {self.view()}",
                lambda: f"{self.view()} + {self.view()} * 0.5",
                lambda: f"np.sin({self.view()})",
                lambda: f"np.tanh({self.view()}) - {self.scalar()}",
                lambda: f"{self.view()} - {self.view()}",
            ]
        )()

    def short(self) -> str:
        r = self.rng
        return r.choice(
            [
                lambda: self.short_view(),
                lambda: f"{self.short_view()} * {self.short_view()}",
                lambda: f"{self.short_view()} * {self.scalar()}",
                lambda: f"np.cos({self.short_view()})",
            ]
        )()

    def result(self) -> str:
        parts = [f"np.sum({v} * {w})" for v, w in zip(self.names.vectors[-3:], self.names.vectors, strict=False)]
        parts += [f"np.sum({m})" for m in self.names.matrices[-2:]] + self.names.scalars[-2:]
        parts += [f"np.sum({s} * {s})" for s in self.names.shorts[-1:]]
        return " + ".join(self.rng.sample(parts, min(len(parts), self.rng.randint(1, 5))))

    # ------------------------------------------------------------- statements

    def statement(self) -> None:
        self.budget -= 1
        kinds = [
            (self.bind_vector, 5),
            (self.bind_view, 4),
            (self.bind_scalar, 3),
            (self.store, 6),
            (self.augment, 6),
            (self.overlap, 4),
            (self.swap, 2),
            (self.helper, 3),
            (self.matrix_statement, 2),
            (self.container, 1),
        ]
        if self.indent < 4:
            kinds += [(self.for_loop, 3), (self.while_loop, 1), (self.branch, 3)]
        self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def target(self, names: list[str], kind: str) -> str:
        """A new name, or one to rebind."""
        return self.rng.choice(names) if self.rng.random() < 0.5 else self.new(kind)

    def bound(self, names: list[str], name: str) -> None:
        if name not in names:
            names.append(name)

    def bind_vector(self) -> None:
        value = self.vector() if self.rng.random() < 0.8 else f"{self.view()}.copy()"
        name = self.target(self.names.vectors, "v")
        self.emit(f"{name} = {value}")
        self.bound(self.names.vectors, name)

    def bind_view(self) -> None:
        if self.rng.random() < 0.4:
            value, name = self.short_view(), self.target(self.names.shorts, "s") if self.names.shorts else self.new("s")
            self.emit(f"{name} = {value}")
            self.bound(self.names.shorts, name)
        else:
            value, name = self.view(), self.target(self.names.vectors, "v")
            self.emit(f"{name} = {value}")
            self.bound(self.names.vectors, name)

    def bind_scalar(self) -> None:
        value, name = self.scalar(), self.target(self.names.scalars, "a")
        if self.rng.random() < 0.2:
            value = f"{value} if {self.condition()} else {self.scalar()}"
        self.emit(f"{name} = {value}")
        self.bound(self.names.scalars, name)

    def store(self) -> None:
        r, names = self.rng, self.names
        r.choice(
            [
                lambda: self.emit(f"{self.pick(names.vectors)}[{self.position()}] = {self.scalar()}"),
                lambda: self.emit(f"{self.pick(names.vectors)}[:] = {self.vector()}"),
                lambda: self.emit(f"{self.pick(names.matrices)}[{self.row()}] = {self.vector()}"),
                lambda: self.emit(f"{self.pick(names.matrices)}[{self.row()}, {self.position()}] = {self.scalar()}"),
                lambda: self.emit(f"{self.pick(names.vectors)}[::2] = {self.view()}[1::2]"),
                lambda: self.emit(f"{self.pick(names.matrices)}[:, {self.position()}] = {self.short()} * 1.0"),  # NumPy gets A[:, 3] = A[1, 1:] wrong
                lambda: self.emit(f"{self.pick(names.vectors)}[1:] = {self.scalar()}"),
            ]
        )()

    def augment(self) -> None:
        r, names = self.rng, self.names
        op = r.choice(["+=", "-=", "*="])
        r.choice(
            [
                lambda: self.emit(f"{self.pick(names.vectors)} {op} {self.vector()}"),
                lambda: self.emit(f"{self.pick(names.vectors)}[{self.position()}] {op} {self.scalar()}"),
                lambda: self.emit(f"{self.pick(names.matrices)}[{self.row()}] {op} {self.vector()}"),
                lambda: self.emit(f"{self.pick(names.matrices)}[{self.row()}, 1:] {op} {self.short()}"),
                lambda: self.emit(f"{self.pick(names.shorts or names.vectors)} {op} {self.scalar()}"),
                lambda: self.emit(f"{self.pick(names.scalars)} {op} {self.scalar()}"),
                lambda: self.emit(f"{self.pick(names.matrices)} {op} {self.scalar()}"),
            ]
        )()

    def overlap(self) -> None:
        """One array on both sides of an update, at different places."""
        v = self.pick(self.names.vectors)
        op = self.rng.choice(["=", "+=", "-=", "*="])
        left, right = self.rng.choice([("1:", ":-1"), (":-1", "1:"), (":", "::-1"), ("::2", "1::2"), ("1:3", "2:"), ("2:", ":2")])
        factor = self.rng.choice(["", " * 0.5", f" * {self.scalar()}"])
        self.emit(f"{v}[{left}] {op} {v}[{right}]{factor}")

    def swap(self) -> None:
        names = self.names.vectors
        if len(names) >= 3 and self.rng.random() < 0.3:
            a, b, c = self.rng.sample(names, 3)
            self.emit(f"{a}, {b}, {c} = {b}, {c}, {a}")
        elif self.rng.random() < 0.3 and len(self.names.scalars) > 1:
            a, b = self.rng.sample(self.names.scalars, 2)
            self.emit(f"{a}, {b} = {b}, {a} * {self.scalar()}")
        else:
            a, b = self.rng.sample(names, 2)
            self.emit(f"{a}, {b} = {b}, {a}")

    def helper(self) -> None:
        r, names = self.rng, self.names
        a, b = self.pick(names.vectors), self.view()
        kind = r.randrange(5)
        if kind == 0:
            self.emit(f"scale_first({a}, {b})")
        elif kind == 1:
            self.emit(f"mix({self.view()}, {self.view()})")
        elif kind == 2:
            name = self.target(names.vectors, "v")
            self.emit(f"{name} = blend({a}, {b}, {self.scalar()})")
            self.bound(names.vectors, name)
        elif kind == 3:
            name, pair = self.new("a"), self.new("p")
            self.emit(f"{pair}, {name} = last_two({b})")
            self.emit(f"{pair}[0] = {self.scalar()}")
            self.bound(names.scalars, name)
        else:
            name = self.new("v")
            self.emit(f"{name} = row_update({self.pick(names.matrices)}, {self.scalar()})")
            self.bound(names.vectors, name)

    def matrix_statement(self) -> None:
        r, names = self.rng, self.names
        m = self.pick(names.matrices)
        value = r.choice([m, f"{m}.copy()", f"{m} * {self.scalar()}", f"{m} * {self.view()}", f"{m}[::-1]", f"{m}[:, ::-1]", f"np.tanh({m})"])
        name = self.target(names.matrices, "M")
        self.emit(f"{name} = {value}")
        self.bound(names.matrices, name)

    def container(self) -> None:
        a, b = self.pick(self.names.vectors), self.view()
        name, result = self.new("items"), self.new("v")
        self.emit(f"{name} = [{a}, {b}]")
        self.emit(f"{name}[0][1:] *= {self.scalar()}")
        self.emit(f"{result} = {name}[{self.rng.randrange(2)}]")
        self.bound(self.names.vectors, result)

    # ------------------------------------------------------------- compound statements

    def body(self, lines: int) -> None:
        """Statements of a block; names first bound in it do not leave it."""
        outer = self.names
        self.names = outer.copy()
        self.indent += 1
        for _ in range(lines):
            self.statement()
        self.indent -= 1
        self.names = outer

    def for_loop(self) -> None:
        name = f"i{len(self.loops)}"
        bounds = self.rng.choice(["3", "2", "0", "1, 3", "2, -1, -1", "0, 3, 2", "len(x) - 2"])
        self.emit(f"for {name} in range({bounds}):")
        self.loops.append(name)
        self.body(self.rng.randint(1, 4))
        self.loops.pop()

    def while_loop(self) -> None:
        name = self.new("k")
        self.emit(f"{name} = 0")
        self.emit(f"while {name} < {self.rng.randint(0, 3)}:")
        self.indent += 1
        self.emit(f"{name} += 1")
        self.indent -= 1
        self.body(self.rng.randint(1, 3))

    def condition(self) -> str:
        if self.loops and self.rng.random() < 0.5:
            return f"{self.rng.choice(self.loops)} % 2 == 0"
        return self.rng.choice(["flag", "not flag", "flag and not other", "other"]) if self.rng.random() < 0.8 else "len(x) > 2"

    def branch(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.body(self.rng.randint(1, 3))
        if self.rng.random() < 0.6:
            self.emit("else:")
            self.body(self.rng.randint(1, 3))


# --------------------------------------------------------------------------- running


def generate(seed: int) -> str:
    """The text of a module with the helpers and the program `f(x, y, A, c, flag, other)`."""
    text = Generator(random.Random(seed)).program()
    return text.replace("def f(x, y, A, c):", "def f(x, y, A, c, flag, other):")


def build(text: str, seed: int) -> Callable[..., Any]:
    """The function of a program's text, with source that can be found."""
    path = f"<random program {seed}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    namespace: dict[str, Any] = {"np": np, "__name__": f"random_program_{seed}"}
    exec(compile(text, path, "exec"), namespace)  # noqa: S102
    return namespace["f"]  # type: ignore[no-any-return]


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    flags = bool(seed % 2), bool(seed // 2 % 2)
    return rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), rng.uniform(-1, 1, (M, N)), float(rng.uniform(-1, 1)), *flags


def copies(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def direction(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed + 10**6)
    return [rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), rng.uniform(-1, 1, (M, N)), float(rng.uniform(-1, 1))]


def inner(a: Any, b: Any) -> Any:
    return sum(np.sum(u * v) for u, v in zip(a, b, strict=True))


def complex_step(f: Callable[..., Any], args: tuple[Any, ...], v: list[Any]) -> Any:
    moved = [a + 1j * TINY * d for a, d in zip(args, v, strict=False)]
    return np.imag(f(*moved, *args[4:])) / TINY


@dataclass
class Outcome:
    """What became of one program: 'ok', 'skipped' (overflow), 'refused', 'wrong' or 'crashed', and the details."""

    kind: str
    detail: str = ""


def off(got: Any, want: Any, size: float, what: str) -> str:
    if abs(got - want) <= 1e-8 * max(1.0, abs(want)) + 1e-9 * size:
        return ""
    return f"{what}: {got!r}, should be {want!r}"


def gradient_by_stages(f: Callable[..., Any], args: tuple[Any, ...], stages: tuple[str, ...], jit: bool) -> Iterator[tuple[str, list[Any]]]:
    """The gradient by the array-level program ('optimised'), the lowered one ('specialised'), and with Numba."""
    g = stgrad.grad(f, (0, 1, 2, 3), jit=jit)
    specs = {name: spec_of(value, name) for name, value in zip((*PARAMETERS, "flag", "other"), args, strict=True)}
    for stage in stages:
        given = copies(args)
        if stage == "optimised":
            function = array_program(g, specs, Trace()).function
            text = to_source(function)
        else:
            program = compile_program(g, specs)
            function, text = program.function, program.text
        namespace: dict[str, Any] = {}
        exec(compile(text, f"<{stage}>", "exec"), namespace)  # noqa: S102
        yield stage, list(namespace[function.name](*given))
        unchanged(args, given)
    if jit:
        given = copies(args)
        yield "compiled", list(g(*given))
        unchanged(args, given)


def unchanged(before: tuple[Any, ...], after: list[Any]) -> None:
    if any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        raise AssertionError("the caller's arrays were changed")


def check_first(f: Callable[..., Any], args: tuple[Any, ...], seed: int, stages: tuple[str, ...], jit: bool) -> Outcome:
    v = direction(seed)
    with np.errstate(all="ignore"):
        want = complex_step(f, args, v)
    if not np.isfinite(want) or abs(want) > 1e12:
        return Outcome("skipped", "overflow")
    for name, found in gradient_by_stages(f, args, stages, jit):
        size = sum(float(np.sum(np.abs(u))) for u in found)
        if not np.isfinite(size) or size > 1e14:
            return Outcome("skipped", "overflow in the gradient")
        if problem := off(inner(found, v), want, size, name):
            return Outcome("wrong", problem)
    return Outcome("ok")


def second_order(f: Callable[..., Any], jit: bool) -> Callable[..., Any]:
    """The gradient of <g, v>, where g is the gradient of f."""
    g = stgrad.grad(f, (0, 1, 2, 3), jit=jit)

    def projected(x, y, A, c, vx, vy, vA, vc, flag, other):  # type: ignore[no-untyped-def]  # noqa: N803
        x_bar, y_bar, A_bar, c_bar = g(x, y, A, c, flag, other)  # noqa: N806
        return np.sum(x_bar * vx) + np.sum(y_bar * vy) + np.sum(A_bar * vA) + c_bar * vc

    return stgrad.grad(projected, (0, 1, 2, 3), jit=jit)  # type: ignore[no-any-return]


def check_second(f: Callable[..., Any], args: tuple[Any, ...], seed: int, jit: bool) -> Outcome:
    """Against differences of the gradient program, which the first order found right."""
    u, v = direction(seed), direction(seed + 1)
    g = stgrad.grad(f, (0, 1, 2, 3), jit=False)
    candidates = []
    for h in (1e-3, 1e-4, 1e-5, 1e-6):
        plus, minus = ([a + s * h * d for a, d in zip(args, u, strict=False)] for s in (1, -1))
        candidates.append((inner(g(*plus, *args[4:]), v) - inner(g(*minus, *args[4:]), v)) / (2 * h))
    found = list(second_order(f, jit)(*copies(args[:4]), *v, *args[4:]))
    got, size = inner(found, u), sum(float(np.sum(np.abs(w))) for w in found)
    best = min(candidates, key=lambda d: abs(d - got))
    if not np.isfinite(size) or size > 1e9:
        return Outcome("skipped", "overflow")
    if abs(best - got) <= 1e-5 * max(1.0, abs(best), size):
        return Outcome("ok")
    return Outcome("wrong", f"second order: {got!r}, should be {best!r}")


def check(seed: int, *, order: int = 1, stages: tuple[str, ...] = ("optimised", "specialised"), jit: bool = False) -> tuple[str, Outcome]:
    """The text of a program, and whether its gradient is right."""
    text = generate(seed)
    f, args = build(text, seed), arguments(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with np.errstate(all="ignore"):
                f(*copies(args))
            found = check_first(f, args, seed, stages, jit)
            if found.kind == "ok" and order > 1:
                found = check_second(f, args, seed, jit)
        except StgradError as refusal:
            internal = type(refusal).__name__ == "InternalError"
            return text, Outcome("crashed" if internal else "refused", f"{type(refusal).__name__}: {refusal}")
        except Exception as problem:  # noqa: BLE001  (a crash of the generated program is what is looked for)
            return text, Outcome("crashed", f"{type(problem).__name__}: {problem}")
    return text, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--stages", nargs="*", default=["optimised", "specialised"])
    parser.add_argument("--show", type=int, default=3, help="how many wrong programs to print in full")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    for number in range(options.programs):
        seed = options.seed + number
        text, found = check(seed, order=options.order, stages=tuple(options.stages), jit=options.jit)
        counts[found.kind] += 1
        if found.kind in ("wrong", "crashed"):
            print(f"seed {seed}: {found.kind}: {found.detail}", flush=True)
            if counts["wrong"] + counts["crashed"] <= options.show:
                print(text[len(HELPERS) :], flush=True)
        if found.kind == "refused":
            reasons[found.detail.splitlines()[0]] += 1
        if (number + 1) % 100 == 0:
            print(f"{number + 1} programs, {dict(counts)}, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{options.programs} programs from seed {options.seed}, order {options.order}: {dict(counts)}")
    for reason, count in reasons.most_common():
        print(f"  refused {count}: {reason}")


if __name__ == "__main__":
    main()
