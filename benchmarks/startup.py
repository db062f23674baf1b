"""Cold start, warm start and peak memory: first calls in fresh processes with an empty and with a filled cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = ("stgrad", "primal", "jax")


def started(name: str, size: str, wanted: tuple[str, ...] = VARIANTS) -> list[dict[str, Any]]:
    """A row for each variant: the first call cold and warm."""
    rows = []
    for variant in wanted:
        with tempfile.TemporaryDirectory() as cache:
            cold = first_call(name, variant, size, cache)
            warm = first_call(name, variant, size, cache)
        if cold is not None and warm is not None:
            rows.append({"program": name, "size": size, "variant": variant, "cold": cold, "warm": warm})
    return rows


def memory(name: str, smallest: str, largest: str, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Peak memory that the largest size adds to the smallest one's, in MB, by variant: with a warm cache, imports cancel."""
    grown = {}
    with tempfile.TemporaryDirectory() as cache:
        for variant in wanted:
            for size in (smallest, largest):
                first_call(name, variant, size, cache)
            peaks = [row["peak MB"] for size in (smallest, largest) if (row := first_call(name, variant, size, cache)) is not None]
            if len(peaks) == 2:
                grown[variant] = peaks[1] - peaks[0]
    return {"program": name, "size": largest, "grown MB": grown}


def first_call(name: str, variant: str, size: str, cache: str) -> dict[str, Any] | None:
    """What `benchmarks.first` measured in a process whose caches live in `cache`; None if it failed."""
    environment = dict(
        os.environ,
        STGRAD_CACHE_DIR=cache,
        NUMBA_CACHE_DIR=f"{cache}/numba",
        JAX_COMPILATION_CACHE_DIR=f"{cache}/jax",
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        PYTHONPATH=f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    )
    command = [sys.executable, "-m", "benchmarks.first", name, variant, size]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    return json.loads(ran.stdout) if ran.returncode == 0 else None
