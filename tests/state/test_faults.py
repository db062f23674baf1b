"""Whatever happens to the cache, results are right and no more than a warning is seen: killed writers, full and read-only disks, old entries."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import math
    import numpy as np
    import stgrad
    scale = 2.0
    table = np.array([1.0, 2.0])
    def f(x): return scale * math.sin(x) * np.sum(table)
    def h(x, y): return np.sum(x * y) * scale
    print(stgrad.grad(f, jit={jit})(0.5), *stgrad.grad(h, jit={jit})(np.ones(2), 3.0))
"""


def start(folder: Path, code: str, **env: str) -> subprocess.Popen[str]:
    path = folder / "main.py"
    path.write_text(textwrap.dedent(code))
    ours = {"STGRAD_CACHE_DIR": str(folder / "cache"), "STGRAD_PROGRAM_CACHE": "1", "STGRAD_CHECK": "0"}
    known = {**os.environ, **ours, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(path)]
    return subprocess.Popen(command, env={**known, **env}, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(folder: Path, code: str, **env: str) -> tuple[int, list[str], str]:
    process = start(folder, code, **env)
    out, err = process.communicate(timeout=300)
    return process.returncode, out.splitlines(), err


def program(jit: bool) -> str:
    return textwrap.dedent(PROGRAM).format(jit=jit)


@pytest.fixture
def expected(tmp_path) -> str:
    code, lines, err = run(tmp_path, program(False), STGRAD_CACHE_DIR=str(tmp_path / "clean"))
    assert code == 0 and not err
    return lines[0]


def quiet(err: str) -> bool:
    """Whether nothing was said but one warning of the cache."""
    lines = [line for line in err.splitlines() if "Warning" in line]
    return not lines or len(lines) == 1 and "CacheWarning" in lines[0]


def children(folder: Path, kind: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.state.faults", str(folder), kind]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *rest = json.loads(done.stdout)
    assert first["calls"] >= rest[-1]["at"] > 8
    return rest


def right(told: dict[str, Any]) -> bool:
    return told.get("found") == pytest.approx([6.0 * math.cos(0.5), 6.0, 6.0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_at_each_call_of_the_file_system(tmp_path):
    """What it leaves behind is no harm to the next one."""
    told = children(tmp_path, "kill")
    assert sum(t["stopped"]["status"] == 9 for t in told) > 4
    assert [t["at"] for t in told if not right(t["next"]) or t["next"]["said"]] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_disk_that_is_full_from_each_call_on(tmp_path):
    told = children(tmp_path, "full")
    assert [t for t in told if not right(t["stopped"]) or t["stopped"]["said"] not in ([], ["CacheWarning"])] == []
    assert any(t["stopped"]["said"] for t in told)
    assert [t["at"] for t in told if not right(t["next"]) or t["next"]["said"]] == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="mounts a small disk")
@pytest.mark.parametrize(("options", "jit"), [("size=8k", False), ("size=16k", True), ("ro", False)])
def test_a_small_disk(tmp_path, expected, options, jit):
    disk = tmp_path / "cache"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, check=False).returncode:
        pytest.skip("no permission to mount")
    try:
        code, lines, err = run(tmp_path, program(jit))
        assert code == 0 and lines == [expected] and quiet(err), err
    finally:
        subprocess.run(["umount", disk], check=True)


def test_no_folder_can_be_written(tmp_path, expected):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, lines, err = run(tmp_path, program(False), STGRAD_CACHE_DIR=str(blocked / "cache"), TMPDIR=str(blocked), HOME=str(blocked))
    assert code == 0 and lines == [expected] and quiet(err), err


def test_entries_of_an_older_version(tmp_path, expected):
    """Another layout under the very name of an entry: what cannot be read is a miss."""
    run(tmp_path, program(False))
    for path in (tmp_path / "cache").glob("*.json"):
        content = json.loads(path.read_text())
        for entry in content["variants"]:
            entry["captures"] = [[place, name, was, variable] for _, place, name, was, variable in entry["captures"]]
            entry["text"] = entry["text"].replace("return", "return 7.0 *")
        path.write_text(json.dumps(content))
    assert run(tmp_path, program(False)) == (0, [expected], "")


def test_an_entry_with_a_kind_of_look_up_that_is_not_known(tmp_path, expected):
    run(tmp_path, program(False))
    for path in (tmp_path / "cache").glob("*.json"):
        path.write_text(path.read_text().replace('["name"', '["word"'))
    assert run(tmp_path, program(False)) == (0, [expected], "")


def test_eight_processes_on_a_cold_cache_of_which_some_are_killed(tmp_path, expected):
    running = [start(tmp_path, program(False)) for _ in range(8)]
    for process in running[:3]:
        process.kill()
    for process in running[3:]:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out.splitlines(), err) == (0, [expected], "")
    for process in running[:3]:
        process.communicate()
    assert run(tmp_path, program(False)) == (0, [expected], "")
