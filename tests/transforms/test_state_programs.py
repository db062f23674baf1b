"""Random time loops over arrays: carried, kept, swapped, written in place, seen under two names; gradients against a complex step."""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stgrad
from stgrad import runtime
from stgrad.errors import StgradError

N, T = 4, 3


class Generator:
    """Programs over the vectors x, y, z, a matrix A and rows e[t]; every vector has N elements."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.vectors = ["x", "y", "z"]
        self.lines = ["def f(x, y, z, A, e, c, n):", "    total = 0.0"]

    def vector(self) -> str:
        return self.rng.choice(self.vectors)

    def value(self, row: str) -> str:
        v = self.vector
        return self.rng.choice([
            f"np.sin({v()}) * {v()}", f"{v()} * 0.5 + c * {v()}", f"np.tanh(A @ {v()})", f"A @ {v()}", f"A.T @ {v()} * {row}", f"{v()} + {row}",
            f"{v()} / np.sqrt(1.0 + np.sum({v()} * {v()}))", f"{v()}.copy()", f"{v()}", f"{v()}[::-1] * {v()}", f"np.cos({v()})", f"{v()} @ A * 0.3",
        ])  # fmt: skip

    def statement(self, indent: str, row: str, depth: int) -> list[str]:
        v, kind = self.vector, self.rng.random()
        if kind < 0.5:
            name = self.rng.choice(["x", "y", "z", "u", "w"])
            line = f"{indent}{name} = {self.value(row)}"
            self.vectors += [name] if name not in self.vectors else []
            return [line]
        if kind < 0.57:
            return self.filled(indent)
        if kind < 0.63:
            a, b = v(), v()
            return [f"{indent}{a}, {b} = {b}, {a}"]
        if kind < 0.7:
            target = v()
            return [f"{indent}{target}[1:-1] = {v()}[:-2] * c + {target}[2:] * {v()}[1:-1]"]
        if kind < 0.76:
            return [f"{indent}{v()}[{self.rng.randrange(N)}] = {v()}[1] * c"]
        if kind < 0.82:
            return [f"{indent}{v()} *= {v()}[::-1]"]
        if kind < 0.9:
            return [f"{indent}total += np.sum({v()} * {v()})"]
        if depth and kind < 0.95:
            before = list(self.vectors)
            inner = self.statement(indent + "    ", row, 0)
            self.vectors = before
            return [f"{indent}if t == 1:", *inner]
        return [f"{indent}total += np.log(1.0 + np.sum({v()} ** 2))"]

    def filled(self, indent: str) -> list[str]:
        """A new array, filled element by element, seen under another name before, while or after that."""
        v, name = self.vector, self.rng.choice(["x", "y", "z"])
        lines = [f"new = {self.rng.choice([f'{v()}.copy()', 'np.zeros(N) + 0.0 * x', f'{v()} * c'])}"]
        if self.rng.random() < 0.3:
            lines.append(self.rng.choice(["total += np.sum(new * new)", f"{name} = new", f"{v()} = {v()} * new", "part = new[1:]"]))
        again = " * new[i]" if self.rng.random() < 0.3 else ""
        lines += ["for i in range(1, N - 1):", f"    new[i] = {v()}[i - 1] * {v()}[i + 1]{again} + c * {v()}[i]"]
        if self.rng.random() < 0.3:
            lines.append(self.rng.choice(["new[0] = new[1] * c", "total += np.sum(new ** 2)", "new *= new"]))
        return [indent + line for line in (*lines, f"{name} = new")]

    def loop(self, indent: str, counter: str, depth: int) -> list[str]:
        start, stop = self.rng.choice([("", "n"), ("", "n"), ("1, ", "n + 1"), ("", "0")])
        before = list(self.vectors)
        body = [s for _ in range(self.rng.randint(2, 6)) for s in self.statement(indent + "    ", "e[t]", 1)]
        if depth and self.rng.random() < 0.3:
            body += self.loop(indent + "    ", "k", 0)
        self.vectors = before
        return [f"{indent}for {counter} in range({start}{stop}):", *body]

    def program(self) -> str:
        for _ in range(self.rng.randint(0, 2)):
            self.lines += self.statement("    ", "e[0]", 0)
        self.lines.append("    t = 0")
        for _ in range(self.rng.randint(1, 2)):
            self.lines += self.loop("    ", "t", 1)
        a, b = self.vector(), self.vector()
        return "\n".join([*self.lines, f"    return total + np.sum({a} * {b}) + np.sum({self.vector()})", ""])


def build(text: str, seed: int) -> Callable[..., Any]:
    name = f"<states {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace: dict[str, Any] = {"np": np, "N": N}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102
    return namespace["f"]  # type: ignore[no-any-return]


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    vectors = [rng.uniform(0.2, 1.0, N) for _ in range(3)]
    return (*vectors, rng.uniform(-0.5, 0.5, (N, N)), rng.uniform(0.2, 1.0, (T + 2, N)), 0.6, T)


def poisoned(shape: Any, dtype: Any = np.float64) -> Any:
    """Memory that nobody may read before it is written."""
    return np.full(shape, np.nan if np.dtype(dtype).kind in "fc" else -(10**6), dtype)


@pytest.fixture(autouse=True)
def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "empty", poisoned)


def check(seed: int, jit: bool = False) -> str:
    text, args = Generator(seed).program(), arguments(seed)
    f = build(text, seed)
    rng = np.random.default_rng(seed + 1)
    directions = [rng.standard_normal(np.shape(a)) for a in args[:6]]
    h = 1e-30
    moved = [a + 1j * h * d for a, d in zip(args[:6], directions, strict=True)]
    with np.errstate(all="ignore"):
        try:
            want = f(*[np.array(m) for m in moved[:5]], complex(moved[5]), args[6]).imag / h
        except UnboundLocalError:
            return "skipped"
    given = [np.copy(a) if np.ndim(a) else a for a in args]
    try:
        found = stgrad.grad(f, (0, 1, 2, 3, 4, 5), jit=jit)(*given)
    except StgradError as refusal:
        return f"refused {type(refusal).__name__}"
    got = sum(float(np.sum(g * d)) for g, d in zip(found, directions, strict=True))
    size = 1.0 + abs(want) + sum(float(np.sum(np.abs(g))) for g in found)
    if not np.isfinite(size) or size > 1e10:
        return "skipped"
    assert abs(got - want) <= 1e-9 * size, f"seed {seed}: {got!r}, should be {want!r}\n{text}"
    assert all(np.array_equal(a, b) for a, b in zip(args, given, strict=True)), f"seed {seed}: an argument has changed\n{text}"
    return "ok"


def check_second(seed: int) -> str:
    """Reverse over reverse against differences of the gradient."""
    text, args = Generator(seed).program(), arguments(seed)
    f, rng = build(text, seed), np.random.default_rng(seed + 1)
    u, v = ([rng.standard_normal(np.shape(a)) for a in args[:6]] for _ in range(2))
    g = stgrad.grad(f, (0, 1, 2, 3, 4, 5), jit=False)

    def along(*given: Any) -> Any:
        first = stgrad.grad(f, (0, 1, 2, 3, 4, 5))(*given[:7])
        return sum([np.sum(first[k] * given[7 + k]) for k in range(6)])

    def moved(h: float) -> float:
        return sum(float(np.sum(a * b)) for a, b in zip(g(*(a + h * d for a, d in zip(args[:6], u, strict=True)), args[6]), v, strict=True))

    try:
        found = stgrad.grad(along, (0, 1, 2, 3, 4, 5), jit=False)(*args, *v)
    except (StgradError, UnboundLocalError):
        return "refused"
    got = sum(float(np.sum(a * b)) for a, b in zip(found, u, strict=True))
    size = 1.0 + sum(float(np.sum(np.abs(a))) for a in found)
    if size > 1e6:
        return "skipped"
    wants = [(moved(h) - moved(-h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    if np.ptp(wants) > 1e-3 * size:
        return "skipped"
    want = min(wants, key=lambda w: abs(w - got))
    assert np.isfinite(got) and abs(got - want) <= 1e-5 * size, f"seed {seed}: second order {got!r}, should be {want!r}\n{text}"
    return "ok"


@pytest.mark.parametrize("seed", [*range(40), 880010, 880019])  # the last two: extents tested where a loop runs, used before it
def test_random_time_loops(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_second_order(seed: int) -> None:
    check_second(seed)


def test_most_programs_count() -> None:
    assert sum(check(seed) == "ok" for seed in range(30)) > 20


if __name__ == "__main__":
    from collections import Counter

    first, count = int(sys.argv[1]), int(sys.argv[2])
    if "--jit" not in sys.argv:
        runtime.empty = np.empty = poisoned
    one = check_second if "--second" in sys.argv else lambda seed: check(seed, "--jit" in sys.argv)
    print(Counter(one(seed) for seed in range(first, first + count)))
