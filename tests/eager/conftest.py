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


def pytest_collection_modifyitems(items):
    """What runs eagerly says so; the tests of that expect the warning."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::stgrad.eager.RunsEagerlyWarning"), append=False)
