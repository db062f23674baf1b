"""Tests of the eager API: nothing may stay on the recorder stack after a test.

Tapes are interpreted unless a test says otherwise. The tests of the modules in COMPILED run twice: the second time each reverse sweep is
compiled at once (without Numba), compared with the interpreted one, and what would be a silent return to the interpreter is an error.
"""

from __future__ import annotations

import matplotlib
import pytest
from sweeping import SETTINGS, set_settings

from stgrad.eager import plan, repeats
from stgrad.eager.record import state

matplotlib.use("Agg")
COMPILED = {"test_tape", "test_gradient", "test_jacobians", "test_rules_on_tensors", "test_custom", "test_guides", "test_keras"}


def pytest_generate_tests(metafunc):
    if metafunc.module.__name__.rpartition(".")[2] in COMPILED:
        metafunc.fixturenames.append("sweeps")
        metafunc.parametrize("sweeps", ["interpreted", "compiled"], indirect=True)


@pytest.fixture
def sweeps(request):
    return request.param


@pytest.fixture(autouse=True)
def how_tapes_run(request, monkeypatch):
    """Settings of its own for each test, and no structures from before."""
    how = request.getfixturevalue("sweeps") if "sweeps" in request.fixturenames else "interpreted"
    set_settings(monkeypatch, SETTINGS[how])
    if how == "compiled":
        monkeypatch.setattr(plan, "SHORTEST", 1)
    yield
    repeats.worker.wait()


@pytest.fixture(autouse=True)
def clean_stack():
    yield
    left, state.recorders = state.recorders, ()
    assert left == (), "a recorder was left active"


def pytest_collection_modifyitems(items):
    """What runs eagerly says so; the tests of that expect the warning."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::stgrad.eager.RunsEagerlyWarning"), append=False)
