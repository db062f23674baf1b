"""A sample of the random edits of projects; `python -m tests.state.sequences --minutes M FOLDER` runs new ones, `--fork` with a process for each life."""

from __future__ import annotations

import sys

import pytest

from tests.state.sequences import sequence


@pytest.mark.parametrize("seed", range(8))
def test_random_edits(tmp_path, monkeypatch, seed):
    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("STGRAD_PROGRAM_CACHE", "1")
    monkeypatch.setenv("STGRAD_CHECK", "0")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert not (told := sequence(seed, tmp_path, edits=3)), "\n".join(told)
    finally:
        for name in ("m", "base", "mid"):
            sys.modules.pop(name, None)


def test_an_edit_that_goes_unnoticed_is_told(tmp_path, monkeypatch):
    """The test itself can fail."""
    from stgrad.lookups import Lookup

    monkeypatch.setenv("STGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(Lookup, "holds", lambda self: True)
    monkeypatch.setattr("stgrad.calls.sentry.available", lambda: False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tests.state.sequences.PIECES", (("k{i} = {a}", "{p}k{i} * x", ("{p}k{i} = 77.0",)),))
    monkeypatch.setattr("tests.state.sequences.PLACES", ("module",))
    try:
        assert any("gradient is" in line for line in sequence(0, tmp_path))
    finally:
        for name in ("m", "base", "mid"):
            sys.modules.pop(name, None)
