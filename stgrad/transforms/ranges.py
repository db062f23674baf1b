"""Bounds of reversed loops, as functions that the compiler reads and splices."""

from __future__ import annotations

from typing import Any


def minus_one(n: Any) -> Any:
    return n - 1


def plus_one(n: Any) -> Any:
    return n + 1


def reversed_bounds(start: Any, stop: Any, step: Any) -> Any:
    trips = -((start - stop) // step)
    return start + (trips - 1) * step, start - step
