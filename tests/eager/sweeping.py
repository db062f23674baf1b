"""How the tests let tapes run: settings of `stgrad.eager.repeats`, for one test at a time."""

from __future__ import annotations

from dataclasses import replace

from stgrad.eager import repeats
from stgrad.eager.record import state

SETTINGS = {
    "interpreted": repeats.Settings(enabled=False),
    "compiled": repeats.Settings(seen=0, seconds=0.0, shortest=1, checks=1, trials=0, wait=True, jit=False, strict=True),
}


def set_settings(monkeypatch, settings):
    for name, value in vars(replace(settings)).items():
        monkeypatch.setattr(repeats.settings, name, value)
    monkeypatch.setattr(repeats, "_entries", {})
    monkeypatch.setattr(repeats, "_refused", set())
    monkeypatch.setattr(repeats._Count, "programs", 0)
    monkeypatch.setattr(state, "new_structures", 0)
