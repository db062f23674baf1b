"""Mutation testing: `python -m tests.mutation --mutants 40` changes one thing in a copy of the package, and looks whether a test notices.

A mutant has one operator, comparison, guard, constant or order of arguments changed, at a place drawn at random from `stgrad/rules`, `stgrad/transforms` and
`stgrad/frontend`. The tests most likely to notice run first: the samples of the rules of that file, the test file of the same name, the golden files, random
programs, then a sample of the corpus. Tools such as mutmut and cosmic-ray run a whole suite for each mutant of whole files; here a suite
takes minutes, and a random draw is the point. Every result is a line of JSON; the package itself is never touched.
"""

from __future__ import annotations

import ast
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parents[1]
FOLDERS = ("rules", "analysis", "transforms", "syntax", "frontend")
console = Console(soft_wrap=True)

# --------------------------------------------------------------------------- mutants

SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of one expression: the text of `file` from `start` to `end` (bytes) becomes `after`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str
    kind: str


def changed(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The kinds of change of an expression, and what each gives."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
        new = _copy(node)
        new.op = SWAPS[type(node.op)]()
        yield "operator", new
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        new = _copy(node)
        new.ops[0] = SWAPS[type(node.ops[0])]()
        yield "comparison", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "sign" if isinstance(node.op, ast.USub) else "guard", node.operand
    elif isinstance(node, ast.IfExp):
        yield "guard", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        yield "constant", ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Call) and len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        new = _copy(node)
        new.args[0], new.args[1] = new.args[1], new.args[0]
        yield "order", new


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def mutants(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of a file; annotations, decorators, messages of errors and samples are left alone."""
    content = path.read_bytes()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _expressions(ast.parse(content)):
        for kind, new in changed(node):
            start, end = starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
            before, after = content[start:end].decode(), f"({ast.unparse(ast.fix_missing_locations(new))})"
            found.append(Mutant(str(path.relative_to(root)), node.lineno, start, end, before, after, kind))
    return found


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions of function bodies and of the module's level that compute something."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef) and any("samples(" in ast.unparse(d) for d in node.decorator_list):
            continue  # the rules' own tests
        if isinstance(node, ast.expr):
            yield node
        for name, value in ast.iter_fields(node):
            skipped = name in ("annotation", "returns", "decorator_list", "bases") or isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert))
            if not skipped:
                left += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]


def applied(mutant: Mutant, content: bytes) -> bytes:
    return content[: mutant.start] + mutant.after.encode() + content[mutant.end :]


# --------------------------------------------------------------------------- tests


def likely(file: str, programs: list[str], rng: random.Random) -> list[str]:
    """Arguments of pytest: the tests most likely to notice a change of a file first."""
    path = Path(file)
    found = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests").glob(f"*/test_*{path.stem}*.py"))]
    if path.parts[1] == "rules":
        found = _samples(path.stem) + found
    found += ["tests/test_golden.py", "tests/transforms/test_loop_programs.py", "tests/test_random_programs.py"]
    if path.parts[1] == "frontend":
        found += ["tests/frontend/test_refusals.py"]
    return found + rng.sample(programs, min(60, len(programs)))


def _samples(stem: str) -> list[str]:
    """The tests of the rules that a file registers."""
    from stgrad import rules

    rules.load_scipy()
    forms = {name: (r.partials, r.adjoint, r.composite) for name, r in rules.TABLE.items() if r.samples and not name.startswith("stgrad.")}
    here = (name for name, functions in sorted(forms.items()) if any(f is not None and f.__module__.endswith(f".{stem}") for f in functions))
    return [f"tests/rules/test_rules.py::test_rule[{name}]" for name in here]


def corpus() -> list[str]:
    """The tests of the corpus at all stages, in plain Python."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_programs.py", "-p", "no:cacheprovider"],
        cwd=ROOT, env=_environment(ROOT), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in listed.stdout.splitlines() if "::test_gradient[" in line]


def _environment(root: Path) -> dict[str, str]:
    own = {"PYTHONPATH": str(root), "STGRAD_PROGRAM_CACHE": "0", "STGRAD_CACHE_DIR": str(root / ".stgrad_cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own}


def verdict(root: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """'killed', 'survived' or 'timeout', and the test that failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=root, env=_environment(root), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    if run.returncode in (0, 5):
        return "survived", ""
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "killed", failed[0][:160] if failed else run.stdout[-160:]


# --------------------------------------------------------------------------- the command


def drawn(count: int, seed: int) -> list[Mutant]:
    """Mutants at random, each place as likely as any other."""
    found = [m for folder in FOLDERS for path in sorted((ROOT / "stgrad" / folder).rglob("*.py")) for m in mutants(path, ROOT)]
    return random.Random(seed).sample(found, min(count, len(found)))


def run(chosen: list[Mutant], seed: int, limit: float, out: Path, until: Callable[[], bool]) -> collections.Counter[str]:
    """Results of mutants in a copy of the package, one after the other."""
    counts: collections.Counter[str] = collections.Counter()
    programs = corpus()
    with tempfile.TemporaryDirectory(prefix="stgrad-mutation-") as folder, out.open("a") as file:
        root = Path(folder)
        for name in ("stgrad", "tests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", root)
        for number, mutant in enumerate(track(chosen, console=console, description="mutants")):
            if until():
                break
            path = root / mutant.file
            right = path.read_bytes()
            path.write_bytes(applied(mutant, right))
            start = time.monotonic()
            kind, test = verdict(root, likely(mutant.file, programs, random.Random(seed + number)), limit)
            path.write_bytes(right)
            counts[kind] += 1
            seconds = round(time.monotonic() - start, 1)
            file.write(json.dumps({"result": kind, "test": test, "seconds": seconds, **asdict(mutant)}) + "\n")
            file.flush()
            if kind == "survived":
                console.print(f"survived: {mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}", markup=False, highlight=False)
    return counts


def main(
    count: Annotated[int, typer.Option("--mutants", help="how many")] = 20,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
    minutes: Annotated[float, typer.Option(help="how long, at most")] = 1e9,
    limit: Annotated[float, typer.Option(help="seconds for one mutant")] = 600.0,
    out: Annotated[Path, typer.Option(help="a file for every result, as JSON lines")] = Path("mutation.jsonl"),
) -> None:
    """Change the package at random places and count the changes that no test notices."""
    end = time.monotonic() + minutes * 60
    counts = run(drawn(count, seed), seed, limit, out, lambda: time.monotonic() > end)
    console.print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()), highlight=False)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    app()
