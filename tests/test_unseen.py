"""The unseen programs at their smallest size: each gradient is right, and so are the adjoints written by hand beside them.

Those that take seconds to differentiate are left to `python -m benchmarks.unseen`, which checks every program at its natural size.
"""

from __future__ import annotations

import numpy as np
import pytest

import stgrad
from benchmarks.one import difference
from benchmarks.unseen import report
from benchmarks.unseen.one import disagreement
from benchmarks.unseen.program import load

PROGRAMS = load()
LONG = set(
    "cfd_flux gmm hand resnet bundle_residual cavity_flow lstm_model vadv nbody lenet adi srad lavamd channel_flow deriche lattice_boltzmann lotka_rk45".split()
)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LONG])
def test_gradient(name: str) -> None:
    program = PROGRAMS[name]
    args = program.args(small=True)
    wrt = program.wrt(args)
    value, bars = stgrad.value_and_grad(program.function, wrt, jit=False)(*args)
    assert np.allclose(value, program.function(*args))
    assert disagreement(program.function, args, bars, wrt) == ""
    if program.by_hand is not None:
        expected = [np.asarray(a) for a in program.by_hand.py_func(*args)]
        assert difference(expected, [np.asarray(value), *map(np.asarray, bars)], 1e-8) == ""


def test_a_wrong_gradient_is_seen() -> None:
    assert disagreement(lambda x: float(np.sum(x * x)), (np.ones(3),), (np.full(3, 2.0),), (0,)) == ""
    assert "off by" in disagreement(lambda x: float(np.sum(x * x)), (np.ones(3),), (np.array([2.0, 2.0, 2.1]),), (0,))


def test_the_section_shows_the_worst_first(tmp_path) -> None:
    def row(name, ratio):
        spread = {"low": ratio, "median": ratio, "high": ratio}
        times = {"stgrad": spread, "stgrad.jit": {**spread, "median": 1.0}}
        about = {"program": name, "suite": "s", "primal": "stgrad.jit", "first call": 1.0, "failures": {}}
        return {**about, "seconds": times, "over primal": spread, "over by hand": None}

    page = tmp_path / "benchmarks.md"
    page.write_text("# Benchmarks\n\ntimes\n")
    report.page([row("slow", 8.0), row("slower", 2.0)], page)
    report.page([row("fast", 2.0), row("slow", 8.0)], page)
    text = page.read_text()
    assert text.count(report.HEADING) == 1 and text.startswith("# Benchmarks\n\ntimes\n") and "slower" not in text
    assert "geometric mean 4.00 of 2 programs, worst 8.00 (slow)" in text
    assert text.index("| slow |") < text.index("| fast |")
