"""Settings of the whole suite: one cache of compiled code, no deadlines where a first call compiles."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# Before stgrad is imported: a second run of the suite finds its native code again.
os.environ.setdefault("STGRAD_CACHE_DIR", str(Path(__file__).parents[1] / ".stgrad_cache"))
os.environ.setdefault("STGRAD_PROGRAM_CACHE", "0")  # the compiler itself is under test
os.environ.setdefault("STGRAD_CHECK", "1")  # the program is verified after every pass
os.environ.setdefault("STGRAD_PLAIN", "0")  # what the compiler refuses is refused; `tests/plain` turns it on
os.environ.setdefault("STGRAD_MODE", "reverse")  # sweeps back are what most tests are about, of a few numbers too
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

gc.set_threshold(50_000, 20, 100)  # a compiler makes many small objects that live: searching for cycles among them took a tenth of the time and more

settings.register_profile("stgrad", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("stgrad")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file of tests has left (programs and Numba's tables, gigabytes in the end) is not searched for cycles again and again by those behind it."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
