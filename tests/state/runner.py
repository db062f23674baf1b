"""A process that differentiates the programs of `changes`, as they stand or after their change: `python -m tests.state.runner FOLDER [changed]`.

It prints a JSON object: for each program the derivative, the one by differences, and whether the program came from disk.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import stgrad
from stgrad.calls import program_cache
from tests.state.changes import CHANGES, IMPORTS

X = 1.3
H = 1e-5
# What these change is a file; a process that is new has no code in memory that it could differ from.
PROGRAMS = {name: ({"m": text}, change) for name, (text, change) in CHANGES.items() if "reload" not in name} | IMPORTS


def slope(f: Any, x: float = X) -> float:
    """Central differences, extrapolated once."""
    slopes = [(f(x + h) - f(x - h)) / (2.0 * h) for h in (H, 2.0 * H)]
    return float((4.0 * slopes[0] - slopes[1]) / 3.0)


def load(folder: Path, files: dict[str, str]) -> ModuleType:
    """Import `m` of a project, as if it were the first one."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text + "\n")
    for name in [n for n in sys.modules if n.split(".")[0] in ("m", "cfg", "pack")]:
        del sys.modules[name]
    sys.path[0] = str(folder)
    importlib.invalidate_caches()
    return importlib.import_module("m")


def run(folder: Path, changed: bool) -> dict[str, Any]:
    hits: list[bool] = []
    find = program_cache.find

    def watched(*args: Any) -> Any:
        found = find(*args)
        hits.append(found is not None)
        return found

    program_cache.find = watched
    results = {}
    for i, (name, (files, change)) in enumerate(PROGRAMS.items()):
        m = load(folder / f"p{i}", files)
        if changed:
            path = folder / f"p{i}" / "change.py"
            path.write_text(change)
            exec(compile(change, path, "exec"), {"m": m, "math": math, "np": np, "stgrad": stgrad})
        hits.clear()
        found = float(stgrad.grad(m.f, jit=False)(X))
        results[name] = [found, slope(m.f), any(hits)]
    return results


if __name__ == "__main__":
    sys.path.insert(0, "")
    print(json.dumps(run(Path(sys.argv[1]), "changed" in sys.argv[2:])))
