"""Random programs that fill tables element by element, for what the reverse sweep saves, makes again and reads back.

Nested counted loops up and down, `while` loops, branches on counters and on values, elements of a table and of a vector read and
overwritten at counters plus constants (also from the end), minima and maxima, numbers carried from trip to trip. `pair` gives a program and
its twin for complex numbers, so that a complex step says what the derivative is.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

HEAD = """
def {name}(x, y):
    n = x.shape[0]
    table = np.zeros((n + 2, n + 2){dtype})
    u = np.zeros(n + 2{dtype})
    for p in range(n):
        u[p] = x[p]
    s = 0.5 * y
    c = 1.0
"""
TAIL = """
    for p in range(n + 2):
        for q in range(n + 2):
            s = s + 0.1 * (p + 1) * table[p, q] * (q + 2)
        s = s + u[p] * (p + 1)
    return s + c
"""
RANGES = ("range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range({i})", "range({i} + 1)", "range({i}, n)", "range(0, n, 2)")
PLACES = ("{i}", "{i}", "{i} - 1", "{i} + 1", "n - {i}", "0", "1", "n", "-1", "2 * {i} // 2")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, size: int = 26) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.fresh = iter(range(10**6))
        self.left = size

    def text(self) -> str:
        self.block("    ", [], ["s", "c"], 0)
        return "\n".join(self.lines)

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def block(self, indent: str, counters: list[str], scalars: list[str], depth: int) -> None:
        known = list(scalars)
        for _ in range(self.random.randint(2, 5)):
            self.statement(indent, counters, known, depth)

    def statement(self, indent: str, counters: list[str], known: list[str], depth: int) -> None:
        self.left -= 1
        kind = self.pick("let", "let", "store", "store", "sum", "carry", "best", "if", "for", "for", "while")
        if self.left < 0 and kind in ("if", "for", "while"):
            kind = "store"
        if kind in ("for", "while") and depth > 2:
            kind = "store"
        if kind == "let":
            name = f"t{next(self.fresh)}"
            self.lines.append(f"{indent}{name} = {self.value(counters, known)}")
            known.append(name)
        elif kind == "best":
            name = f"t{next(self.fresh)}"
            self.lines.append(f"{indent}{name} = {self.pick('max', 'min')}({self.atom(counters, known)}, {self.atom(counters, known)})")
            known.append(name)
        elif kind == "store":
            mode = self.pick("=", "=", "=", "+=", "*=")
            value = self.pick(self.value(counters, known), *known)
            self.lines.append(f"{indent}{self.element(counters)} {mode} {value}")
        elif kind == "sum":
            self.lines.append(f"{indent}s = s + {self.value(counters, known)}")
        elif kind == "carry":
            self.lines.append(f"{indent}c = np.sin(c) * 0.5 + {self.value(counters, known)}")
        else:
            self.compound(kind, indent, counters, known, depth)

    def compound(self, kind: str, indent: str, counters: list[str], known: list[str], depth: int) -> None:
        inner = indent + "    "
        if kind == "if":
            self.lines.append(f"{indent}if {self.condition(counters, known)}:")
            self.block(inner, counters, known, depth)
            if self.pick(True, False):
                self.lines.append(f"{indent}else:")
                self.block(inner, counters, known, depth)
            return
        name = f"i{next(self.fresh)}"
        if kind == "for":
            chosen = self.pick(*RANGES[:3], *(RANGES if counters else ()))
            self.lines.append(f"{indent}for {name} in {chosen.format(i=self.pick(*counters, 'n') if counters else 'n')}:")
            self.block(inner, [*counters, name], known, depth + 1)
        else:
            self.lines += [f"{indent}{name} = 0", f"{indent}while {name} < n:"]
            self.block(inner, [*counters, name], known, depth + 1)
            self.lines.append(f"{inner}{name} = {name} + 1")

    def place(self, counters: list[str]) -> str:
        return str(self.pick(*PLACES).format(i=self.pick(*counters, *counters, "1") if counters else "1"))

    def element(self, counters: list[str]) -> str:
        return self.pick(f"table[{self.place(counters)}, {self.place(counters)}]", f"u[{self.place(counters)}]")

    def atom(self, counters: list[str], known: list[str]) -> str:
        return self.pick(*known, self.element(counters), self.element(counters), "y")

    def value(self, counters: list[str], known: list[str]) -> str:
        a, b = self.atom(counters, known), self.atom(counters, known)
        return self.pick(f"np.sin({a}) * {b} * 0.5", f"np.cos({a} * {b})", f"{a} / (2.0 + {b} * {b})", f"0.5 * {a} - {b}", f"np.sin({a})", f"{a} * 0.25")

    def condition(self, counters: list[str], known: list[str]) -> str:
        if counters and self.pick(True, False):
            i, j = self.pick(*counters), self.pick(*counters, "n - 2", "2")
            return f"{i} {self.pick('==', '!=', '<', '<=', '>', '>=')} {j}"
        return f"less({self.atom(counters, known)}, {self.atom(counters, known)})"


def less(a: Any, b: Any) -> Any:
    return a < b


def pair(seed: int, size: int = 26) -> tuple[str, Callable[..., Any], Callable[..., Any]]:
    """The text of a program, the program, and its twin for complex numbers."""
    body = Writer(seed, size).text()
    real = HEAD.format(name="program", dtype="") + body + TAIL
    twin = HEAD.format(name="program", dtype=", dtype=complex") + body + TAIL
    complex_names = {
        "less": lambda a, b: np.real(a) < np.real(b),
        "max": lambda a, b: b if np.real(b) > np.real(a) else a,
        "min": lambda a, b: b if np.real(b) < np.real(a) else a,
    }
    return real, _function(real, f"table_{seed}", {"less": less}), _function(twin, f"twin_{seed}", complex_names)


def _function(text: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, **names}
    exec(compile(text, file, "exec"), namespace)
    function: Callable[..., Any] = namespace["program"]
    return function


def slope(twin: Callable[..., Any], x: Any, y: float, dx: Any, dy: float) -> float:
    """The derivative along a direction by a complex step."""
    h = 1e-30
    return float(np.imag(twin(x + 1j * h * dx, y + 1j * h * dy)) / h)
