"""What changes between two processes is noticed: a program on disk serves only where everything is as it was when it was made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Nothing certain can be said about these, so they are not kept: user code that runs while a program is made, library objects with a state.
NOT_KEPT = {
    "a dynamic attribute",
    "a class of a container",
    "a NamedTuple's method",
    "an equality of its own",
    "a length of its own",
    "an index of its own",
    "members of its own",
    "a truth of its own",
    "a number of its own",
    "a view of a dict",
    "a chain of dicts",
    "a dict of a class",
    "the environment",
    "a getter",
    "a class that joins another",
    "a class that joins one of two others",
    "a test of a class's own",
    "a text of its own",
}


def run(folder: Path, *options: str, cache: str = "cache") -> dict[str, list[float]]:
    env = {**os.environ, "STGRAD_CACHE_DIR": str(folder / cache), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.state.runner", str(folder), *options]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wrong(results: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: r for name, r in results.items() if r[0] != pytest.approx(r[1], rel=1e-6)}


def test_changes_between_processes(tmp_path):
    before = run(tmp_path)
    assert not wrong(before)
    changed = run(tmp_path, "changed")
    assert not wrong(changed)
    again = run(tmp_path, "changed")
    assert not wrong(again)
    assert NOT_KEPT == {name for name, (_, _, hit) in again.items() if not hit}
