"""Random projects, edited between calls and between processes, against differences of the function as it is: `python -m tests.state.sequences`.

A project has the modules `base`, `mid` and `m`; `m.f` adds up terms, each of which looks at something outside in its own way and place. A sequence of
edits changes values, functions, classes, objects, cells, containers and modules in memory, or the files, after which all modules are
imported anew as in a new process. After each edit a gradient that was there from the start and a new one, which finds programs on disk,
must be the derivative; where the function raises, they raise too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import stgrad
import stgrad.loader
import stgrad.program  # noqa: F401  (before a process is forked)
from tests.state.runner import X, load, slope

# What is declared, the term, and statements that change it. {i} numbers the piece, {a} is a number, {p} the place of its names.
PIECES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("k{i} = {a}", "{p}k{i} * x", ("{p}k{i} = {a}", "{p}k{i} = int({a})", "{p}k{i} = np.float64({a})", "{p}k{i} = -0.0", "del {p}k{i}")),
    ("def act{i}(v): return {a} * v * v", "{p}act{i}(x)", ("{p}act{i} = lambda v: {a} * v", "{p}act{i}.__code__ = (lambda v: {a} * v * v * v).__code__")),
    (
        "def opt{i}(v, k={a}, *, j={a}): return k * v * v + j * v",
        "{p}opt{i}(x)",
        ("{p}opt{i}.__defaults__ = ({a},)", "{p}opt{i}.__kwdefaults__['j'] = {a}", "{p}opt{i}.__kwdefaults__ = {{'j': {a}}}", "{p}opt{i}.__defaults__ = None"),
    ),
    (
        "class A{i}:\n    k = {a}\n    def act(self, v): return self.k * v * v\n"
        "class B{i}(A{i}):\n    def act(self, v): return {a} * v + super().act(v)\nobj{i} = B{i}()",
        "{p}obj{i}.act(x)",
        (
            "{p}A{i}.k = {a}",
            "{p}B{i}.k = {a}",
            "{p}obj{i}.k = {a}",
            "vars({p}obj{i}).clear()",
            "{p}A{i}.act = lambda self, v: {a} * v",
            "{p}B{i}.act = lambda self, v: {a} * v",
            "{p}obj{i}.act = lambda v: {a} * v",
            "{p}obj{i} = {p}A{i}()",
            "{p}obj{i}.__class__ = {p}A{i}",
            "{p}obj{i}.__class__ = {p}B{i}",
            "del {p}B{i}.act",
        ),
    ),
    (
        "class O{i}: pass\no{i} = O{i}()\no{i}.k = {a}",
        "({p}o{i}.k if hasattr({p}o{i}, 'k') else {a}) * x + getattr({p}o{i}, 'j', {a}) * x",
        ("{p}o{i}.k = {a}", "vars({p}o{i}).clear()", "{p}o{i}.j = {a}", "{p}O{i}.k = {a}", "{p}O{i}.j = {a}", "{p}O{i}.k = property(lambda self: {a})"),
    ),
    (
        "cfg{i} = {{'a': {a}, 'b': [{a}, {a}]}}",
        "{p}cfg{i}['a'] * x + sum(v * x for v in {p}cfg{i}['b']) + {p}cfg{i}.get('c', {a}) * x",
        (
            "{p}cfg{i}['a'] = {a}",
            "{p}cfg{i}['b'][1] = {a}",
            "{p}cfg{i}['b'].append({a})",
            "{p}cfg{i}['c'] = {a}",
            "{p}cfg{i} = {{'a': {a}, 'b': []}}",
            "{p}cfg{i}.pop('c', None)",
            "{p}cfg{i}['b'] = ({a},)",
        ),
    ),
    (
        "def make{i}(k):\n    def inner(v): return k * v * v\n    return inner\ncl{i} = make{i}({a})",
        "{p}cl{i}(x)",
        ("{p}cl{i}.__closure__[0].cell_contents = {a}", "{p}cl{i} = {p}make{i}({a})", "{p}cl{i} = {p}make{i}(int({a}))"),
    ),
    (
        "from functools import partial\ndef pf{i}(k, v, j): return k * v * v + j * v\npart{i} = partial(pf{i}, {a}, j={a})",
        "{p}part{i}(x)",
        ("{p}part{i}.keywords['j'] = {a}", "{p}part{i} = {p}partial({p}pf{i}, {a}, j={a})", "{p}pf{i}.__code__ = (lambda k, v, j: k * j * v).__code__"),
    ),
    (
        "import numpy as np\nw{i} = np.array([{a}, {a}])",
        "np.sum({p}w{i} * x)",
        ("{p}w{i}[0] = {a}", "{p}w{i} = np.array([{a}, {a}, {a}])", "{p}w{i} = np.full((2, 1), {a})", "{p}w{i} = np.array([1, 2])", "{p}w{i}.shape = (1, -1)"),
    ),
    (
        "import math",
        "{p}math.sin(x) * {p}math.pi",
        (
            "import types\n{p}math = types.SimpleNamespace(sin=math.cos, pi={a})",
            "import types\n{p}math = types.SimpleNamespace(sin=lambda v: {a} * v, pi=3)",
            "{p}math = math",
        ),
    ),
    ("", "abs(x) * {a}", ("{p}abs = lambda v: {a} * v", "import builtins\n{p}abs = builtins.abs", "del {p}abs")),
    (
        "import enum\nclass E{i}(enum.Enum):\n    A = {a}\n    B = {a}1\nmode{i} = E{i}.A",
        "(x * x if {p}mode{i} is {p}E{i}.A else {p}mode{i}.value * x)",
        ("{p}mode{i} = {p}E{i}.B", "{p}mode{i} = {p}E{i}.A"),
    ),
    (
        "from dataclasses import dataclass\n@dataclass\nclass D{i}:\n    k: float = {a}\n    def act(self, v): return self.k * v\nd{i} = D{i}()",
        "{p}d{i}.act(x) + {p}D{i}({a}).act(x)",
        ("{p}d{i}.k = {a}", "{p}D{i}.act = lambda self, v: {a} * v * v", "{p}d{i} = {p}D{i}({a})", "{p}D{i}.k = {a}"),
    ),
    (
        "from typing import NamedTuple\nclass N{i}(NamedTuple):\n    k: float\n    def act(self, v): return self.k * v\nn{i} = N{i}({a})",
        "{p}n{i}.act(x) * {p}n{i}.k",
        ("{p}n{i} = {p}N{i}({a})", "{p}N{i}.act = lambda self, v: {a} * v"),
    ),
    (
        "import functools\ndef wrap{i}(fn):\n    @functools.wraps(fn)\n    def inner(v): return {a} * fn(v)\n    return inner\n"
        "@wrap{i}\ndef dec{i}(v): return v * v",
        "{p}dec{i}(x)",
        ("{p}dec{i} = {p}wrap{i}({p}dec{i})", "{p}dec{i} = {p}dec{i}.__wrapped__", "{p}dec{i}.__wrapped__.__code__ = (lambda v: {a} * v).__code__"),
    ),
    (
        "class P{i}:\n    rate = {a}\n    @property\n    def k(self): return self.rate\n    @staticmethod\n    def st(v): return {a} * v\n"
        "    @classmethod\n    def cl(cls, v): return cls.rate * v\np{i} = P{i}()",
        "{p}p{i}.k * x + {p}P{i}.st(x) + {p}p{i}.cl(x)",
        (
            "{p}P{i}.rate = {a}",
            "{p}p{i}.rate = {a}",
            "{p}P{i}.st = staticmethod(lambda v: {a} * v * v)",
            "{p}P{i}.k = {a}",
            "{p}P{i}.k = property(lambda self: {a})",
        ),
    ),
    (
        "class S{i}:\n    __slots__ = ('k',)\n    def __call__(self, v): return self.k * v * v\ns{i} = S{i}()\ns{i}.k = {a}",
        "{p}s{i}(x)",
        ("{p}s{i}.k = {a}", "{p}S{i}.__call__ = lambda self, v: {a} * v", "{p}s{i} = lambda v: {a} * v * v"),
    ),
)
PLACES = ("same", "module", "from", "inner", "inner module", "helper", "maybe")
NUMBERS = (0.5, 1.0, 2.0, 3.0, -1.5, 4.0, 0.0)


@dataclass
class Term:
    """A piece in a place."""

    piece: int
    place: str
    number: int
    seed: int


@dataclass
class Project:
    """The terms of a function, and the numbers in its files."""

    terms: list[Term]

    def files(self) -> dict[str, str]:
        base, mid, top, terms = [], ["import base", "import numpy as np"], ["import base, mid", "import numpy as np"], []
        for term in self.terms:
            rng = random.Random(term.seed)
            declared, expression = (_filled(text, term.number, rng, "{p}") for text in PIECES[term.piece][:2])
            (top if term.place == "same" else base).append(declared)
            names = sorted(set(_names(expression)))
            inner = "    pass"
            prefix = "base."
            if term.place in ("from", "inner", "same"):
                prefix = ""
            if term.place == "from" and names:
                top.append(f"from base import {', '.join(names)}")
            elif term.place == "inner" and names:
                inner = f"    from base import {', '.join(names)}"
            elif term.place == "inner module":
                inner = "    import base"
            elif term.place == "maybe":
                inner = "    try:\n        import base\n    except ImportError:\n        return 0.0"
            home = mid if term.place == "helper" else top
            home.append(f"def t{term.number}(x):\n{inner}\n    return {expression.replace('{p}', prefix)}")
            terms.append(f"{'mid.' if term.place == 'helper' else ''}t{term.number}(x)")
        top.append(f"def f(x): return {' + '.join(terms)}")
        return {"base": "\n".join(base), "mid": "\n".join(mid), "m": "\n".join(top)}

    def edit(self, rng: random.Random) -> str:
        """A statement that changes something in memory."""
        term = rng.choice(self.terms)
        statement = _filled(rng.choice(PIECES[term.piece][2]), term.number, rng, "{p}")
        place = "m." if term.place == "same" else rng.choice(("base.", "base.", "m.", "mid."))
        return statement.replace("{p}", place)

    def rewrite(self, rng: random.Random) -> None:
        """Change the files: other numbers, another place, another piece."""
        term = rng.choice(self.terms)
        kind = rng.random()
        if kind < 0.6:
            term.seed = rng.randrange(1000)
        elif kind < 0.8:
            term.place = rng.choice(PLACES)
        else:
            term.piece = rng.randrange(len(PIECES))


def _names(expression: str) -> list[str]:
    return re.findall(r"\{p\}(\w+)", expression)


def _filled(text: str, number: int, rng: random.Random, place: str) -> str:
    parts = text.split("{a}")
    filled = parts[0] + "".join(f"{rng.choice(NUMBERS)}{part}" for part in parts[1:])
    return filled.format(i=number, p=place)


def outcome(f: Any) -> Any:
    """A number, or the class of what was raised."""
    try:
        return float(f(X))
    except (stgrad.errors.StgradError, ArithmeticError, AttributeError, ImportError, LookupError, NameError, TypeError, ValueError) as error:
        return type(error)


def agree(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, type):
        return isinstance(found, type)
    return isinstance(found, float) and math.isclose(found, wanted, rel_tol=1e-5, abs_tol=1e-6)


def sequence(seed: int, folder: Path, edits: int = 6, jit: bool = False, fork: bool = False) -> list[str]:
    """Run one sequence; what went wrong, as a script of what was done. With `fork` each life is a process of its own."""
    rng = random.Random(seed)
    project = Project([Term(rng.randrange(len(PIECES)), rng.choice(PLACES), i, rng.randrange(1000)) for i in range(rng.randint(1, 4))])
    for life in range(3):
        if life:
            project.rewrite(rng)
        label = f"{seed}_{life}"
        told = _forked(project, folder, label, edits, jit) if fork else live(project, folder, label, edits, jit)
        if told:
            return told
    return []


def live(project: Project, folder: Path, label: str, edits: int, jit: bool) -> list[str]:
    """Import the project and edit it in memory; what went wrong."""
    rng, files = random.Random(label), project.files()
    for name in files:
        (folder / f"{name}.py").unlink(missing_ok=True)
    for name in ("base", "mid"):
        sys.modules.pop(name, None)
    told = [f"# life {label}", *(f"# {name}.py\n{text}" for name, text in files.items())]
    m = load(folder, files)
    names = {"m": m, "base": sys.modules["base"], "mid": sys.modules["mid"], "np": np, "math": math}
    lasting = stgrad.grad(m.f, jit=jit)
    for step in range(edits + 1):
        if step:
            told.append(_edit(project, rng, names, folder, f"{label}_{step}"))
        if not _right(m, lasting, jit, told):
            return told
    return []


def _forked(project: Project, folder: Path, label: str, edits: int, jit: bool) -> list[str]:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(live(project, folder, label, edits, jit), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as found:
        told: list[str] = json.loads(found.read() or '["the process died"]')
    os.waitpid(pid, 0)
    return told


def _edit(project: Project, rng: random.Random, names: dict[str, Any], folder: Path, label: str) -> str:
    statement = project.edit(rng)
    path = folder / f"edit_{label}.py"
    path.write_text(statement)
    code = compile(statement, path, "exec")
    try:
        exec(code, names)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return f"{statement}  # raised"
    return statement


def _right(m: ModuleType, lasting: Any, jit: bool, told: list[str]) -> bool:
    wanted = outcome(lambda x: slope(m.f, x))
    for name, gradient in (("the first", lasting), ("the first again", lasting), ("the first once more", lasting), ("a new", stgrad.grad(m.f, jit=jit))):
        found = outcome(gradient)
        if not agree(found, wanted):
            told.append(f"# {name} gradient is {found}, not {wanted}")
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--fork", action="store_true", help="a process for each life of a project")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, "")
    end, count = time.monotonic() + 60.0 * options.minutes, 0
    while time.monotonic() < end:
        told = sequence(options.seed + count, options.folder, jit=options.jit, fork=options.fork)
        if told:
            print(f"seed {options.seed + count}:", *told, sep="\n", flush=True)
        count += 1
    print(f"{count} sequences from seed {options.seed}")


if __name__ == "__main__":
    main()
