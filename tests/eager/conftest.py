"""Tests of the eager API: nothing may stay on the recorder stack after a test."""

from __future__ import annotations

import matplotlib
import pytest

from stgrad.eager.record import state

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def clean_stack():
    yield
    left, state.recorders = state.recorders, ()
    assert left == (), "a recorder was left active"
